//! Whose something is: the principal it was made for, and the server it came from.

use std::fmt;

use crate::name::ServerName;
use crate::principal::Principal;

/// Whose something is that is kept: a cached result, a task, a link. A store that is keyed by it cannot show one
/// principal what another one got, nor let one server speak for another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner {
    /// For whom it was made.
    pub principal: Principal,
    /// Which server it came from.
    pub server: ServerName,
}

impl Owner {
    /// What this server made for this principal.
    #[must_use]
    pub const fn new(principal: Principal, server: ServerName) -> Self {
        Self { principal, server }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} at {}", self.principal, self.server)
    }
}
