//! Tokens: how they are made, what they look like, and who holds one that counts now.
//!
//! `hv_<id>_<secret>`: the id finds the token, the secret proves it. Only a hash of the secret is kept; 256 bits of
//! randomness need no slow one.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use arc_swap::ArcSwap;
use helve_model::Principal;
use helve_model::sync::lock;
use helve_policy::{Narrowing, Scope};
use helve_store::{Moment, NewToken, Store, StoreError, Token, TokenKind, hex};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::error::HubError;

/// How a token begins, so that scanners for secrets find it.
const PREFIX: &str = "hv_";

const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;

/// How long a token counts where nobody says so.
const USUAL_LIFE: Duration = Duration::from_secs(90 * 24 * 3600);

/// No token counts longer.
const LONGEST_LIFE: Duration = Duration::from_secs(366 * 24 * 3600);

/// The longest name of a token.
const LONGEST_NAME: usize = 64;

/// A token that is asked for.
#[derive(Debug, Clone)]
pub struct TokenRequest {
    /// What people call it.
    pub name: String,
    /// What it opens.
    pub kind: TokenKind,
    /// Whether it may answer approvals.
    pub approver: bool,
    /// Only what reads.
    pub read_only: bool,
    /// Patterns of servers; none: all.
    pub servers: Vec<String>,
    /// Patterns of tools, `server/tool`; none: all.
    pub tools: Vec<String>,
    /// How long it counts.
    pub life: Option<Duration>,
}

/// A token that was just made: shown once.
pub struct MadeToken {
    /// Its name.
    pub name: String,
    /// The token itself.
    pub token: String,
    /// When it ends.
    pub expires: Option<Moment>,
}

/// The tokens that are known, as requests are checked against them.
#[derive(Debug, Default)]
pub struct Tokens {
    known: ArcSwap<HashMap<String, Known>>,
    /// By id, the hour in which each was last used and that is not in the store yet.
    used: Mutex<HashMap<String, i64>>,
}

#[derive(Debug, Clone)]
struct Known {
    token: Token,
    principal: Principal,
    scope: Scope,
}

/// A token that was brought and counts.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    /// The part of the token that is not secret.
    pub(crate) id: String,
    pub(crate) principal: Principal,
    pub(crate) name: String,
    pub(crate) kind: TokenKind,
    pub(crate) approver: bool,
}

impl Tokens {
    /// Reads all tokens from the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn load(&self, store: &Store) -> Result<(), StoreError> {
        let known = store.tokens()?.into_iter().map(|token| {
            let principal = Principal::token(&token.token.name);
            // A scope that cannot be read has nothing in it.
            let scope = scope_of(&token.token).unwrap_or_else(|_| nothing());
            (token.token.id.clone(), Known { token, principal, scope })
        });
        self.known.store(std::sync::Arc::new(known.collect()));
        Ok(())
    }

    /// Makes a token and keeps its hash.
    ///
    /// # Errors
    /// Its name cannot be a name or was used before, a pattern cannot be read, or the store cannot be written.
    pub fn make(&self, store: &Store, request: TokenRequest, now: Moment) -> Result<MadeToken, HubError> {
        let name = request.name.trim().to_owned();
        let is_name = |name: &str| {
            !name.is_empty()
                && name.len() <= LONGEST_NAME
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        if !is_name(&name) {
            return Err(HubError::invalid("a token's name has letters, digits, `-`, `_` and `.`, 64 at most"));
        }
        let life = request.life.unwrap_or(USUAL_LIFE);
        if life > LONGEST_LIFE || life.is_zero() {
            return Err(HubError::invalid("a token counts for a day at least and a year at most"));
        }
        if request.approver && request.kind == TokenKind::Agent {
            return Err(HubError::invalid("an agent's token cannot answer approvals: an agent would answer itself"));
        }
        let (id, secret) = (random(ID_BYTES)?, random(SECRET_BYTES)?);
        let token = NewToken {
            id: id.clone(),
            name: name.clone(),
            hash: hash(&secret),
            kind: request.kind,
            approver: request.approver,
            read_only: request.read_only,
            servers: request.servers,
            tools: request.tools,
            created: now,
            expires: Some(now.after(life)),
        };
        scope_of(&token).map_err(|problem| HubError::invalid(problem.to_string()))?;
        let expires = token.expires;
        store.add_token(token)?;
        self.load(store)?;
        Ok(MadeToken { name, token: format!("{PREFIX}{id}_{secret}"), expires })
    }

    /// Takes a token back; gives whose it was.
    ///
    /// # Errors
    /// There is none of that name that counts, or the store cannot be written.
    pub fn revoke(&self, store: &Store, name: &str, now: Moment) -> Result<Principal, HubError> {
        store.revoke_token(name, now)?;
        self.load(store)?;
        Ok(Principal::token(name))
    }

    /// Whoever holds the token that was brought, if it counts now.
    pub(crate) fn holder(&self, brought: &str, now: Moment) -> Option<Holder> {
        let (id, secret) = brought.strip_prefix(PREFIX)?.split_once('_')?;
        let known = self.known.load();
        let Known { token, principal, .. } = known.get(id)?;
        let fits = bool::from(hash(secret).ct_eq(&token.token.hash));
        let counts = token.revoked.is_none() && token.token.expires.is_none_or(|expires| now < expires);
        if !fits || !counts {
            return None;
        }
        let hour = now.seconds().div_euclid(3600);
        if token.used.is_none_or(|used| used.seconds().div_euclid(3600) < hour) {
            lock(&self.used).insert(id.to_owned(), now.micros());
        }
        let token = &token.token;
        Some(Holder {
            id: token.id.clone(),
            principal: principal.clone(),
            name: token.name.clone(),
            kind: token.kind,
            approver: token.approver,
        })
    }

    /// What the holder of a token may see and call at most.
    pub(crate) fn scope(&self, principal: &Principal) -> Scope {
        let known = self.known.load();
        let found = known.values().find(|known| known.principal == *principal);
        found.map_or_else(nothing, |known| known.scope.clone())
    }

    /// Puts down which tokens were used lately.
    pub(crate) fn note_used(&self, store: &Store) {
        let used = std::mem::take(&mut *lock(&self.used));
        if used.is_empty() {
            return;
        }
        let used = used.into_iter().map(|(id, micros)| (id, Moment::from_micros(micros))).collect();
        let noted = store.tokens_used(used).and_then(|()| self.load(store));
        if let Err(error) = noted {
            tracing::warn!(%error, "when tokens were used could not be noted");
        }
    }
}

/// A scope that has nothing.
fn nothing() -> Scope {
    Scope::everything(None).narrow(&Narrowing::only(Vec::<String>::new())).unwrap_or_default()
}

fn scope_of(token: &NewToken) -> Result<Scope, helve_policy::UnreadableNarrowing> {
    let mut scope = Scope::everything(None);
    if !token.servers.is_empty() {
        scope = scope.narrow(&Narrowing::only(token.servers.iter().map(|server| format!("{server}/*"))))?;
    }
    if !token.tools.is_empty() {
        scope = scope.narrow(&Narrowing::only(token.tools.iter().cloned()))?;
    }
    Ok(if token.read_only { scope.reading_only() } else { scope })
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret).into()
}

/// So many random bytes, as hexadecimal digits.
pub(crate) fn random(bytes: usize) -> Result<String, HubError> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|_| HubError::failed("the machine gives no random numbers"))?;
    Ok(hex(&random))
}

impl fmt::Debug for MadeToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MadeToken").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
