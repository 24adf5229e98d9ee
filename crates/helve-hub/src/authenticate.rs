//! Agents that come in: those with an agent's token; on a hub that only this machine reaches, its own user too.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use helve_model::{Principal, PrincipalKind};
use helve_policy::Scope;
use helve_serve::{Authenticate, RequestCredentials, Unauthenticated};
use helve_store::{Moment, TokenKind};

use crate::tokens::Tokens;

/// The user whom nothing on the machine keeps out.
const SUPERUSER: u32 = 0;

/// Decides who comes in at the doors for agents.
pub struct HubAuthenticate {
    tokens: Arc<Tokens>,
    /// This user of the machine needs no token. `None`: everybody does.
    owner: Option<u32>,
    clock: fn() -> SystemTime,
}

impl HubAuthenticate {
    /// For these tokens. `owner` comes in without one, if the machine says who comes; behind a proxy it says nothing.
    #[must_use]
    pub const fn new(tokens: Arc<Tokens>, owner: Option<u32>, clock: fn() -> SystemTime) -> Self {
        Self { tokens, owner, clock }
    }
}

impl Authenticate for HubAuthenticate {
    fn authenticate(&self, credentials: &RequestCredentials<'_>) -> Result<Principal, Unauthenticated> {
        if let Some(bearer) = credentials.bearer {
            let holder = self.tokens.holder(bearer, Moment::from((self.clock)())).ok_or(Unauthenticated::Token)?;
            return if holder.kind == TokenKind::Agent { Ok(holder.principal) } else { Err(Unauthenticated::Token) };
        }
        let Some(owner) = self.owner else { return Err(Unauthenticated::Token) };
        match credentials.peer.user {
            Some(user) if user == owner || user == SUPERUSER => Ok(Principal::LOCAL),
            _ => Err(Unauthenticated::Token),
        }
    }

    fn scope(&self, principal: &Principal) -> Scope {
        match principal.kind() {
            PrincipalKind::Token => self.tokens.scope(principal),
            _ => Scope::everything(None),
        }
    }

    fn wants_user(&self) -> bool {
        self.owner.is_some()
    }
}

impl fmt::Debug for HubAuthenticate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HubAuthenticate").field("owner", &self.owner).finish_non_exhaustive()
    }
}
