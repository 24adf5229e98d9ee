//! Whose something is: the principal it was made for, and the server it came from.

use std::fmt;

use crate::name::ServerName;

/// On whose behalf something is done. Everything that is kept for later is kept for one of these.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Principal {
    /// The program that has the host, and the person it works for.
    #[default]
    Local,
    /// Whoever holds this token; the number is its place among those that are accepted.
    Token(usize),
    /// Whoever this user of the machine is.
    User(u32),
    /// Whoever is at the other end of this connection.
    Connection(u64),
}

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

impl fmt::Display for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => formatter.write_str("local"),
            Self::Token(position) => write!(formatter, "token {position}"),
            Self::User(user) => write!(formatter, "user {user}"),
            Self::Connection(connection) => write!(formatter, "connection {connection}"),
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} at {}", self.principal, self.server)
    }
}
