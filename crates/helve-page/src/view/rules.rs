//! What the screen of the rules shows.

use super::{Choice, Decision, Moment, TextEditor, Verdict};

/// The rules. At `/rules`; the editor at `/rules?edit=FILE` posts `text`, `version` and `do` = `check` or `save` to
/// `/rules`; *explain* is a GET with `server`, `tool`, `arguments`, `as`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules {
    /// The rules, in the order in which they count.
    pub rules: Vec<RuleRow>,
    /// What holds where no rule says anything.
    pub otherwise: String,
    /// Answers that a person gave for always. Taken back with `id` at `/rules/forget`.
    pub kept: Vec<KeptAnswer>,
    /// The files that can be edited, and the link to each.
    pub files: Vec<Choice>,
    /// The editor, when a file is open.
    pub editor: Option<TextEditor>,
    /// What would change if the text were saved.
    pub what_would_change: Option<WhatWouldChange>,
    /// A call explained.
    pub explain: Explain,
}

/// One rule.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RuleRow {
    /// What it says.
    pub verdict: Verdict,
    /// The rule in words, as in `anybody may read in github`.
    pub words: String,
    /// The rule as written, as in `github/get_*`.
    pub written: String,
    /// Where.
    pub place: String,
    /// Calls it decided in the last 30 days.
    pub hits: u64,
    /// When it last did.
    pub last_hit: Option<Moment>,
    /// Why it never can, if so: another one stands before it.
    pub shadowed: Option<String>,
}

/// An answer that was given for always.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeptAnswer {
    /// Names it.
    pub id: String,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// For whom it holds.
    pub who: String,
    /// When it was given.
    pub since: Moment,
    /// What it is bound to, as in `these arguments`, `this definition`.
    pub bound_to: String,
}

/// A call and why it would be decided so.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explain {
    /// The server asked about.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// Its arguments, as JSON.
    pub arguments: String,
    /// As whom: `local`, `token:NAME`.
    pub who: Vec<Choice>,
    /// What is wrong with the question.
    pub problem: Option<String>,
    /// The decision.
    pub decision: Option<Decision>,
    /// Every step to it.
    pub steps: Vec<ExplainStep>,
}

/// One step of an explanation.
pub type ExplainStep = super::ChainStep;

/// What a draft would decide otherwise about the recorded calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WhatWouldChange {
    /// Calls that were looked at.
    pub calls: u64,
    /// As in `the last 30 days`.
    pub window: String,
    /// Decisions that would be others, most calls first, 100 at most.
    pub flips: Vec<Flip>,
    /// Flips that are not shown.
    pub left_out: u64,
}

/// A decision that would be another one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flip {
    /// Whose calls.
    pub who: String,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// How many calls.
    pub calls: u64,
    /// What was decided.
    pub before: Verdict,
    /// What would be.
    pub after: Verdict,
    /// The rule that would decide.
    pub rule: String,
    /// It depends on arguments that were not recorded.
    pub is_maybe: bool,
}
