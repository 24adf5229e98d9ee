//! Whose call it is, and whether a rule speaks of them: `who` as written, compiled and matched.
//!
//! A principal is what the door found out; its id is matched. What a client calls itself is its own word: a rule that
//! asks for it never makes a decision milder.

use helve_model::text::one_line;
use helve_model::{Action, Principal, PrincipalKind, Rule, Who};

use crate::glob::{Bits, GlobId, Globs, GlobsBuilder};
use crate::tool_policy::Caller;

/// What a principal is matched as that came in without a token.
const LOCAL: &str = "local";

/// The caller of a call: its kind, on whose behalf, and what it calls itself.
///
/// A kind of caller alone stands for the person's own.
#[derive(Debug, Clone, Copy)]
pub struct CalledBy<'a> {
    /// The kind of caller.
    pub caller: Caller,
    /// On whose behalf.
    pub principal: &'a Principal,
    /// What the client calls itself, where it says so.
    pub agent: Option<&'a str>,
}

impl<'a> CalledBy<'a> {
    /// A caller on behalf of a principal, of which nothing else is known.
    #[must_use]
    pub const fn new(caller: Caller, principal: &'a Principal) -> Self {
        Self { caller, principal, agent: None }
    }
}

impl From<Caller> for CalledBy<'static> {
    fn from(caller: Caller) -> Self {
        static LOCAL: Principal = Principal::LOCAL;
        Self::new(caller, &LOCAL)
    }
}

/// Which globs of `who` match one party.
#[derive(Debug, Default)]
pub(crate) struct PartyMatches {
    surely: Bits,
    /// What it may be besides, for rules that restrict.
    perhaps: Option<Bits>,
}

impl PartyMatches {
    pub(crate) fn of(globs: &Globs, party: CalledBy<'_>) -> Self {
        let mut matches = Self::default();
        let id = party.principal.id();
        match party.principal.kind() {
            PrincipalKind::Token => globs.matches(id, &mut matches.surely),
            PrincipalKind::Person | PrincipalKind::LocalUser | PrincipalKind::Program => {
                globs.matches(LOCAL, &mut matches.surely);
            }
            // Nothing is known of it: nothing is allowed to it by name, and what is denied to anybody may mean it.
            _ => {
                let mut perhaps = Bits::default();
                globs.matches(LOCAL, &mut perhaps);
                matches.perhaps = Some(perhaps);
            }
        }
        if let Some(agent) = party.agent {
            globs.matches(&format!("agent:{agent}"), &mut matches.surely);
        }
        matches
    }

    pub(crate) fn hold(&self, globs: &Globs, who: GlobId, action: Action) -> bool {
        let restricts = action != Action::Allow;
        globs.holds(who, &self.surely, action)
            || (restricts && self.perhaps.as_ref().is_some_and(|perhaps| globs.holds(who, perhaps, action)))
    }
}

/// Adds whom a rule is for; `None`: everybody.
pub(crate) fn add(builder: &mut GlobsBuilder, rule: &Rule) -> Option<GlobId> {
    let texts: Vec<String> = rule.who.iter().map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| builder.add_any(&texts))
}

/// True for a rule that asks what a client calls itself.
pub(crate) fn names_an_agent(rule: &Rule) -> bool {
    rule.who.iter().any(|who| matches!(who, Who::Agent(_)))
}

/// Whom a rule is for, in words.
pub(crate) fn in_words(rule: &Rule) -> String {
    rule.who.iter().map(|who| format!("`{}`", one_line(&who.to_string()))).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
#[path = "party_tests.rs"]
mod tests;
