//! An agent's identity: its token, else the user its connection belongs to, else its connection.

pub use helve_model::{Principal, PrincipalKind};

/// What the listener knows about the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// A number no other connection of this process has.
    pub connection: u64,
    /// The user it belongs to, where the machine tells.
    pub user: Option<u32>,
}

impl Peer {
    /// The principal when no token says otherwise.
    pub(crate) fn principal(self) -> Principal {
        match self.user {
            Some(user) => Principal::local_user(user),
            None => Principal::connection(self.connection),
        }
    }
}
