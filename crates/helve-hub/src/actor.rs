//! Whoever changes something at the hub, and what each kind of them may do.

use crate::error::HubError;

/// Whoever asks the hub to do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// A person at the page.
    Session,
    /// Whoever holds an admin token.
    Admin {
        /// The token's name.
        name: String,
        /// Whether it may answer approvals.
        approver: bool,
    },
    /// The user whose hub it is, at the machine itself.
    Operator,
}

impl Actor {
    /// The name under which changes are noted.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Session => "page".to_owned(),
            Self::Admin { name, .. } => format!("token:{name}"),
            Self::Operator => "local".to_owned(),
        }
    }

    /// Running code on this machine takes a person who has seen every word of it: no token can.
    ///
    /// # Errors
    /// When it is none.
    pub fn may_run_programs(&self) -> Result<(), HubError> {
        match self {
            Self::Session | Self::Operator => Ok(()),
            Self::Admin { .. } => {
                Err(HubError::forbidden("a program can be added, changed or tested on the page only")
                    .hint("sign in on the page: a token cannot run code on the hub's machine"))
            }
        }
    }
}
