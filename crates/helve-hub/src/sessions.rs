//! People at the page: a link that signs in once, a session that lasts while it is used, and a token in every form.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use helve_model::sync::lock;
use helve_store::Moment;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::error::HubError;
use crate::tokens::random;

const RANDOM_BYTES: usize = 32;

/// How long a link can be used.
const LINK_LIFE: Duration = Duration::from_secs(10 * 60);

/// How long a session lasts that nobody uses.
const IDLE: Duration = Duration::from_secs(12 * 3600);

/// So many sessions and links there are at most; the one idle longest makes room.
const MOST: usize = 64;

/// So many wrong links are looked at within [`ATTEMPTS_IN`].
const ATTEMPTS: u32 = 20;
const ATTEMPTS_IN: Duration = Duration::from_secs(60);

type Digest = [u8; 32];

/// Everybody who is signed in, and whoever may become so.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    /// By hash, until when each counts.
    links: HashMap<Digest, Moment>,
    sessions: HashMap<Digest, Session>,
    attempts: u32,
    attempts_since: Moment,
}

/// A person's session.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// What every form carries.
    pub(crate) csrf: String,
    used: Moment,
    /// What the last action came to, said once.
    said: Option<(bool, String)>,
}

impl Sessions {
    /// The secret of a link that signs in once.
    pub(crate) fn link(&self, now: Moment) -> Result<String, HubError> {
        let secret = random(RANDOM_BYTES)?;
        let mut open = lock(&self.0);
        open.links.retain(|_, until| now < *until);
        if open.links.len() >= MOST {
            open.links.clear();
        }
        open.links.insert(digest(&secret), now.after(LINK_LIFE));
        Ok(secret)
    }

    /// Spends a link; gives the secret of the session.
    ///
    /// # Errors
    /// It was never made, is spent or too old; or too many were tried.
    pub(crate) fn sign_in(&self, link: &str, now: Moment) -> Result<String, HubError> {
        let mut open = lock(&self.0);
        if now.since(open.attempts_since) > ATTEMPTS_IN || now < open.attempts_since {
            (open.attempts, open.attempts_since) = (0, now);
        }
        if open.attempts >= ATTEMPTS {
            return Err(HubError::forbidden("too many links were tried: wait a minute"));
        }
        let until = open.links.remove(&digest(link));
        if until.is_none_or(|until| now >= until) {
            open.attempts += 1;
            return Err(HubError::forbidden("this link was used already, or is too old"));
        }
        let (secret, csrf) = (random(RANDOM_BYTES)?, random(RANDOM_BYTES)?);
        open.sessions.retain(|_, session| now.since(session.used) < IDLE);
        if open.sessions.len() >= MOST
            && let Some(oldest) = open.sessions.iter().min_by_key(|(_, session)| session.used).map(|(key, _)| *key)
        {
            open.sessions.remove(&oldest);
        }
        open.sessions.insert(digest(&secret), Session { csrf, used: now, said: None });
        Ok(secret)
    }

    /// The session of a cookie, used now.
    pub(crate) fn find(&self, secret: &str, now: Moment) -> Option<Session> {
        let mut open = lock(&self.0);
        let session = open.sessions.get_mut(&digest(secret))?;
        if now.since(session.used) >= IDLE {
            return None;
        }
        session.used = now.max(session.used);
        Some(session.clone())
    }

    /// Does the session of a cookie still count? Looking does not use it.
    pub(crate) fn is_open(&self, secret: &str, now: Moment) -> bool {
        lock(&self.0).sessions.get(&digest(secret)).is_some_and(|session| now.since(session.used) < IDLE)
    }

    /// Leaves something to be said on the next page.
    pub(crate) fn say(&self, secret: &str, is_good: bool, text: String) {
        if let Some(session) = lock(&self.0).sessions.get_mut(&digest(secret)) {
            session.said = Some((is_good, text));
        }
    }

    /// What is to be said, once.
    pub(crate) fn take_said(&self, secret: &str) -> Option<(bool, String)> {
        lock(&self.0).sessions.get_mut(&digest(secret))?.said.take()
    }

    pub(crate) fn sign_out(&self, secret: &str) {
        lock(&self.0).sessions.remove(&digest(secret));
    }

    pub(crate) fn sign_out_everywhere(&self) {
        lock(&self.0).sessions.clear();
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.0).sessions.len()
    }
}

impl Session {
    /// Is this the token that the session's forms carry?
    pub(crate) fn is_own(&self, csrf: &str) -> bool {
        bool::from(self.csrf.as_bytes().ct_eq(csrf.as_bytes()))
    }
}

fn digest(secret: &str) -> Digest {
    Sha256::digest(secret).into()
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
