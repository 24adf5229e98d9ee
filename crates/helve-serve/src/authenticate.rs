//! The principal behind a request: the port behind which tokens, users or anything else an embedder has decide, and the two that ship.

use std::fmt;

use helve_policy::Scope;
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;

use crate::principal::{Peer, Principal};

/// The user whom nothing on the machine keeps out.
const SUPERUSER: u32 = 0;

/// Decides who sends a request. It is asked for each one, after host name and origin were found to be ours and before the
/// body is read.
pub trait Authenticate: fmt::Debug + Send + Sync {
    /// On whose behalf the request comes.
    ///
    /// # Errors
    /// When nobody that may come in: what was missing. What cannot be told is an error.
    fn authenticate(&self, credentials: &RequestCredentials<'_>) -> Result<Principal, Unauthenticated>;

    /// What this principal may see and call at most, whatever the rules allow. It is asked after
    /// [`Authenticate::authenticate`] let it in.
    fn scope(&self, _principal: &Principal) -> Scope {
        Scope::everything(None)
    }

    /// True when the user a connection belongs to decides. A listener that cannot tell it then refuses to start.
    fn wants_user(&self) -> bool;
}

/// What a request brings.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RequestCredentials<'a> {
    /// The other end of its connection.
    pub peer: Peer,
    /// The bearer token it carries. It is a secret.
    pub bearer: Option<&'a str>,
}

/// Why somebody may not come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unauthenticated {
    /// It takes a token that is known here.
    Token,
    /// It takes another user of the machine.
    User,
}

/// Lets in users of this machine: one and the superuser, or anybody.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalUsers {
    /// Only this user and the superuser may come in. A connection whose user is unknown may not. `None`: anybody may.
    pub only: Option<u32>,
}

/// Lets in whoever brings one of these tokens.
#[derive(Debug)]
pub struct KnownTokens(Vec<(Principal, SecretString)>);

impl<'a> RequestCredentials<'a> {
    /// What a connection and a header bring.
    #[must_use]
    pub const fn new(peer: Peer, bearer: Option<&'a str>) -> Self {
        Self { peer, bearer }
    }
}

impl KnownTokens {
    /// These tokens, each with the name its holder is known by.
    #[must_use]
    pub fn new<N: fmt::Display>(tokens: impl IntoIterator<Item = (N, SecretString)>) -> Self {
        Self(tokens.into_iter().map(|(name, token)| (Principal::token(name), token)).collect())
    }
}

impl Authenticate for LocalUsers {
    fn authenticate(&self, credentials: &RequestCredentials<'_>) -> Result<Principal, Unauthenticated> {
        let peer = credentials.peer;
        let is_let_in = |owner: u32| peer.user.is_some_and(|user| user == owner || user == SUPERUSER);
        if self.only.is_none_or(is_let_in) { Ok(peer.principal()) } else { Err(Unauthenticated::User) }
    }

    fn wants_user(&self) -> bool {
        true
    }
}

impl Authenticate for KnownTokens {
    fn authenticate(&self, credentials: &RequestCredentials<'_>) -> Result<Principal, Unauthenticated> {
        let brought = credentials.bearer.ok_or(Unauthenticated::Token)?;
        // All are compared, each in full: the time taken tells nothing about any of them.
        let matching = self.0.iter().fold(None, |found, (principal, token)| {
            let is_equal = bool::from(brought.as_bytes().ct_eq(token.expose_secret().as_bytes()));
            if is_equal { Some(principal) } else { found }
        });
        matching.cloned().ok_or(Unauthenticated::Token)
    }

    fn wants_user(&self) -> bool {
        false
    }
}
