//! What is wrong with rules and lists as they were written.

use std::fmt;

use helve_model::text::one_line;
use helve_model::{Action, Listed, Origin, Rule};

use crate::party;

/// A rule or list entry that cannot mean what was written. Until it is put right it restricts all it might have
/// restricted, and allows nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it was written.
    pub origin: Origin,
    /// What is wrong, and what follows.
    pub message: String,
    /// What to write instead.
    pub hint: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.origin, self.message)
    }
}

impl Problem {
    pub(crate) fn unreadable_name(rule: &Rule, reason: &str) -> Self {
        let consequence = match rule.action {
            Action::Allow => "it allows nothing",
            Action::Deny => "it denies every tool it might mean",
            Action::Ask => "it asks for every tool it might mean",
        };
        Self::of_rule(
            rule,
            format!("the tool glob `{}` cannot be read ({reason}); {consequence}", one_line(&rule.tool)),
            "write a glob such as `github/create_*`; a `[`, `{`, `*` or `?` that means itself has a `\\` before it"
                .to_owned(),
        )
    }

    pub(crate) fn unsplittable_name(rule: &Rule) -> Self {
        Self::unreadable_name(rule, "it does not say where the server's name ends")
    }

    pub(crate) fn bare_name(rule: &Rule) -> Self {
        let tool = one_line(&rule.tool);
        Self::of_rule(
            rule,
            format!("`{tool}` names no server; it allows nothing, since any server could have such a tool"),
            format!("write `SERVER/{tool}`, or `*/{tool}` if you mean every server"),
        )
    }

    pub(crate) fn protocol_method(rule: &Rule) -> Self {
        Self::of_rule(
            rule,
            format!("`{}` names a method of the protocol's own; the rule opens nothing", one_line(&rule.tool)),
            "rules for methods open what a vendor added; for tools, resources and prompts leave out `kind`, or name it"
                .to_owned(),
        )
    }

    pub(crate) fn unreadable_who(rule: &Rule, reason: &str) -> Self {
        let consequence = match rule.action {
            Action::Allow => "the rule allows nothing",
            Action::Deny => "the rule denies it to everybody",
            Action::Ask => "the rule asks for everybody",
        };
        Self::of_rule(
            rule,
            format!("{} cannot be read ({reason}); {consequence}", party::in_words(rule)),
            "write `token:` and a glob over names of tokens, `local`, or a list of them".to_owned(),
        )
    }

    pub(crate) fn allows_an_agent(rule: &Rule) -> Self {
        Self::of_rule(
            rule,
            format!("{} is what a client calls itself; the rule allows nothing", party::in_words(rule)),
            "give the agent a token and write `token:NAME`; rules that deny or ask may name an agent".to_owned(),
        )
    }

    pub(crate) fn project_allows_somebody(rule: &Rule) -> Self {
        Self::of_rule(
            rule,
            "a project cannot allow something to somebody; the rule allows nothing".to_owned(),
            "leave out `who`, or put the rule into your own file".to_owned(),
        )
    }

    pub(crate) fn ambiguous_name(rule: &Rule, meanings: &[String]) -> Self {
        let meanings: Vec<String> = meanings.iter().map(|meaning| format!("`{}`", one_line(meaning))).collect();
        Self::of_rule(
            rule,
            format!("`{}` could mean {}; it allows nothing", one_line(&rule.tool), meanings.join(" or ")),
            "write the one you mean".to_owned(),
        )
    }

    pub(crate) fn unreadable_pattern(rule: &Rule, reason: &str) -> Self {
        let consequence = match rule.action {
            Action::Allow => "the rule allows nothing",
            Action::Deny => "the rule denies whatever the arguments are",
            Action::Ask => "the rule asks whatever the arguments are",
        };
        let pattern = one_line(rule.pattern.as_deref().unwrap_or_default());
        Self::of_rule(
            rule,
            format!("the pattern `{pattern}` cannot be read ({reason}); {consequence}"),
            "write `KEY=GLOB`, or a glob over any string argument".to_owned(),
        )
    }

    pub(crate) fn unreadable_list_entry(entry: &Listed, reason: &str) -> Self {
        Self {
            origin: entry.origin.clone(),
            message: format!(
                "the glob `{}` cannot be read ({reason}); a list that allows ignores it, in `disabled_tools` it \
                 stands for every tool",
                one_line(&entry.glob)
            ),
            hint: "write the tool's own name, or a glob such as `create_*`".to_owned(),
        }
    }

    fn of_rule(rule: &Rule, message: String, hint: String) -> Self {
        Self { origin: rule.origin.clone(), message, hint }
    }
}
