//! What the person who runs a gateway is told of its agents: who came, who went, what was refused and why.

use std::fmt;
use std::sync::Arc;

use helve::{CallError, RefusalListener};
use helve_model::json::RawJson;
use helve_model::text::cut;
use helve_model::{Principal, PrincipalKind};

/// How many characters of a name that an agent gives itself are shown.
const SHOWN_CHARACTERS: usize = 60;

/// Hears what happens at the door. Called in passing, so it must be quick.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn notice(&self, notice: AgentNotice<'_>);
}

/// Something happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum AgentNotice<'a> {
    /// An agent came.
    Came(&'a Visitor),
    /// An agent is gone.
    Left(&'a Visitor),
    /// Something that an agent asked for was refused: why, and what can be done about it.
    Refused(&'a Visitor, &'a CallError),
    /// A request did not get in, for this reason.
    Barred(&'a str),
}

/// An agent's name, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    /// What it calls itself, on one line; `None`: it did not say.
    pub name: Option<String>,
    /// Whose it is.
    pub principal: Principal,
}

impl Visitor {
    /// Somebody of whom no more is known.
    pub(crate) const fn of(principal: Principal) -> Self {
        Self { name: None, principal }
    }

    /// The same, by the name and version it gives.
    pub(crate) fn introduced(mut self, client_info: Option<&RawJson>) -> Self {
        let said = |key: &str| {
            let text = client_info?.member_str(key)?;
            Some(cut(&text, SHOWN_CHARACTERS).into_owned()).filter(|text| !text.trim().is_empty())
        };
        if let Some(name) = said("name") {
            self.name = Some(match said("version") {
                Some(version) => format!("{name} {version}"),
                None => name,
            });
        }
        self
    }
}

impl fmt::Display for Visitor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => formatter.write_str(name)?,
            None => formatter.write_str("an agent")?,
        }
        match self.principal.kind() {
            // The only one there is, or one that nothing is known of.
            PrincipalKind::Person | PrincipalKind::Connection => Ok(()),
            _ => write!(formatter, " ({})", self.principal),
        }
    }
}

/// Passes on what is refused to one agent.
pub(crate) struct Refusals {
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) visitor: Visitor,
}

impl RefusalListener for Refusals {
    fn refused(&self, error: &CallError) {
        self.observer.notice(AgentNotice::Refused(&self.visitor, error));
    }
}

impl fmt::Debug for dyn Observer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Observer")
    }
}
