//! What the list of calls and the screen of one call show.

use super::{Choice, Moment, Paging, Tree};

/// The calls. At `/calls?…`; live at `/live/calls?…`; `/calls/export?…` has them as JSON lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calls {
    /// What is looked for; all of it is in the address.
    pub filter: CallFilter,
    /// The window as bars, oldest first, 120 at most.
    pub bars: Vec<Bar>,
    /// Calls of the window that fit.
    pub total: u64,
    /// The rows, newest first, 100 at most.
    pub rows: Vec<CallRow>,
    /// Where the list is cut.
    pub paging: Paging,
    /// New rows come in by themselves.
    pub is_live: bool,
    /// The same list, live or paused.
    pub toggle_live: String,
    /// The same as a file.
    pub export: String,
}

/// Filters, as in the address.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallFilter {
    /// `window`: the last hour, day, week, month.
    pub windows: Vec<Choice>,
    /// `who`.
    pub who: String,
    /// `agent`.
    pub agent: String,
    /// `server`.
    pub server: String,
    /// `tool`.
    pub tool: String,
    /// `decision`.
    pub decisions: Vec<Choice>,
    /// `end`.
    pub ends: Vec<Choice>,
}

/// One bar of the window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bar {
    /// As in `14:00 to 14:15`.
    pub said: String,
    /// Calls that were answered.
    pub answered: u64,
    /// Calls that were refused.
    pub refused: u64,
    /// Calls that failed.
    pub failed: u64,
}

/// One call of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallRow {
    /// Its id, for its own page.
    pub id: String,
    /// When.
    pub at: Moment,
    /// Whose: `local`, or the token's name.
    pub who: String,
    /// What the agent calls itself.
    pub agent: String,
    /// The server.
    pub server: String,
    /// The tool, resource or prompt.
    pub tool: String,
    /// What was decided.
    pub verdict: Verdict,
    /// How it ended.
    pub end: CallEnd,
    /// As in `TIMEOUT`; empty for an answer.
    pub code: String,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// Bytes of the answer.
    pub bytes_out: u64,
}

/// What a rule says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    #[default]
    Allow,
    /// A person is asked.
    Ask,
    /// It does not run.
    Deny,
    /// It ended before anything was decided.
    Undecided,
}

/// A decision with what decided.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decision {
    /// What was decided.
    pub verdict: Verdict,
    /// The rule in words, or what else decided.
    pub because: String,
    /// Where it is written, as in `~/.config/helve/helve.toml:9`.
    pub place: Option<String>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallEnd {
    /// The server answered.
    #[default]
    Answered,
    /// The tool says that it failed.
    ToolError,
    /// It was refused.
    Refused,
    /// It broke, or took too long.
    Failed,
    /// The caller took it back.
    Cancelled,
}

/// One call. At `/calls/ID`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Call {
    /// The call.
    pub row: CallRow,
    /// Whose it was, in full: the principal's id beside its name.
    pub principal: String,
    /// `tool`, `resource`, `prompt`.
    pub kind: String,
    /// What was decided, and by what.
    pub decision: Decision,
    /// Every step of the decision, in order.
    pub chain: Vec<ChainStep>,
    /// Where the time went, in order.
    pub times: Vec<TimeSpan>,
    /// Bytes of the arguments.
    pub bytes_in: u64,
    /// The digest of the arguments.
    pub digest: Option<String>,
    /// The trace it belongs to.
    pub trace: Option<String>,
    /// Its number in the chain of records.
    pub sequence: Option<u64>,
    /// What was kept of it.
    pub recorded: Recorded,
    /// The screen that tries the same tool.
    pub again: Option<String>,
}

/// What was kept of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded {
    /// The arguments.
    pub arguments: Option<Tree>,
    /// The answer.
    pub result: Option<Tree>,
    /// Why there is nothing, or that it was cut.
    pub said: String,
}

/// One step of a decision.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChainStep {
    /// What was looked at.
    pub what: String,
    /// What it said.
    pub said: String,
    /// Where it is written.
    pub place: Option<String>,
    /// Whether it decided.
    pub decided: bool,
}

/// A part of a call's time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimeSpan {
    /// As in `waited for an answer`, `the server`.
    pub what: String,
    /// Microseconds.
    pub us: u64,
}
