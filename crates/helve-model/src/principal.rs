//! On whose behalf something is done: a stable id, what kind of party that is, and a name to show.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// On whose behalf something is done. Calls, permits, approvals, limits, records and everything that is kept for later
/// belong to one of these.
///
/// Two principals are the same when their ids are; the name is only shown.
#[derive(Debug, Clone)]
pub struct Principal {
    kind: PrincipalKind,
    id: Id,
    name: Option<Arc<str>>,
}

/// What kind of party a principal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PrincipalKind {
    /// The person that the host works for.
    Person,
    /// Whoever holds a token.
    Token,
    /// Another user of this machine, or the same one at another process.
    LocalUser,
    /// Whoever is at the other end of one connection, and nothing else is known of them.
    Connection,
    /// A program that works on its own.
    Program,
}

#[derive(Debug, Clone)]
enum Id {
    Fixed(&'static str),
    Made(Arc<str>),
}

impl Principal {
    /// The program that has the host, and the person it works for.
    pub const LOCAL: Self = Self { kind: PrincipalKind::Person, id: Id::Fixed("local"), name: None };

    /// Whoever holds the token of this name. The name is not the token.
    #[must_use]
    pub fn token(name: impl fmt::Display) -> Self {
        Self::made(PrincipalKind::Token, format!("token:{name}"))
    }

    /// A user of this machine, by number.
    #[must_use]
    pub fn local_user(user: u32) -> Self {
        Self::made(PrincipalKind::LocalUser, format!("user:{user}"))
    }

    /// Whoever is at the other end of this connection.
    #[must_use]
    pub fn connection(connection: u64) -> Self {
        Self::made(PrincipalKind::Connection, format!("connection:{connection}"))
    }

    /// A program that works on its own, by a name it is known by for good.
    #[must_use]
    pub fn program(name: impl fmt::Display) -> Self {
        Self::made(PrincipalKind::Program, format!("program:{name}"))
    }

    /// The principal that is known by this id; `None` when it is none that another run could know.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Self> {
        if id == Self::LOCAL.id() {
            return Some(Self::LOCAL);
        }
        match id.split_once(':')? {
            ("token", name) if !name.is_empty() => Some(Self::token(name)),
            ("user", number) => number.parse().ok().map(Self::local_user).filter(|user| user.id() == id),
            ("program", name) if !name.is_empty() => Some(Self::program(name)),
            _ => None,
        }
    }

    fn made(kind: PrincipalKind, id: String) -> Self {
        Self { kind, id: Id::Made(id.into()), name: None }
    }

    /// The same principal, shown under this name.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What kind of party it is.
    #[must_use]
    pub const fn kind(&self) -> PrincipalKind {
        self.kind
    }

    /// What it is known by, in this run and the next: the kind, and what tells it from others of its kind. Connections are
    /// the exception: their numbers mean nothing in another run.
    #[must_use]
    pub fn id(&self) -> &str {
        match &self.id {
            Id::Fixed(id) => id,
            Id::Made(id) => id,
        }
    }

    /// What a person is shown: its name, else its id.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.id())
    }
}

impl Default for Principal {
    fn default() -> Self {
        Self::LOCAL
    }
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Principal {}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl PartialOrd for Principal {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Principal {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.id().cmp(other.id())
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl fmt::Display for PrincipalKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Person => "person",
            Self::Token => "token",
            Self::LocalUser => "local user",
            Self::Connection => "connection",
            Self::Program => "program",
        })
    }
}

#[cfg(test)]
#[path = "principal_tests.rs"]
mod tests;
