//! Signing in to one server: what goes with each request, and what is done when the server refuses it.
//!
//! The rule of renewal: one at a time in this process, one at a time on this machine (a lock of the store), read what others
//! may have written, renew, replace whole; in a task that no caller can cancel. A refusal deletes nothing: the login may
//! have been renewed elsewhere, and only a person gives it up.

mod obtain;
mod renew;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue, Method};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use crate::challenge::Challenge;
use crate::credential::{Credential, Facts, RecordName, unix};
use crate::dpop;
use crate::error::{Advice, AuthError, ErrorKind, Result};
use crate::flight::Flight;
use crate::ports::Ports;
use crate::resource::canonical_resource;
use crate::settings::Settings;
use crate::token::TokenType;

pub use obtain::LoggedOut;

/// A token is renewed this many seconds before its end, or at a tenth of its life, whichever is later.
const AHEAD: u64 = 30;

/// Signing in to one server. Cheap to ask before each request: with a fresh token nothing is read and nothing is sent.
#[derive(Debug)]
pub struct SignIn {
    settings: Settings,
    ports: Ports,
    /// The resource the login is kept under.
    resource: String,
    name: RecordName,
    current: ArcSwapOption<Current>,
    /// How many tokens there have been.
    generation: AtomicU64,
    /// The store has been looked at.
    loaded: AtomicBool,
    renewal: Flight<Option<Arc<Current>>>,
    /// The renewal that was refused: it is not tried again.
    refused: Mutex<Option<(String, AuthError)>>,
    /// What the server wants the next proof to repeat.
    nonce: Mutex<Option<String>>,
}

/// A token as it goes out.
#[derive(Debug)]
pub(crate) struct Current {
    credential: Credential,
    authorization: HeaderValue,
    fingerprint: String,
    /// From then on it is renewed before it is used.
    due: Option<u64>,
}

/// What a server said when it refused a request.
#[derive(Debug)]
pub struct RefusedRequest<'a> {
    /// 401 or 403.
    pub status: u16,
    /// `WWW-Authenticate`, several joined with commas.
    pub challenge: Option<&'a str>,
    /// The `Authorization` header of the request that was refused.
    pub sent: Option<&'a HeaderValue>,
    /// What the server wants the next proof to repeat.
    pub nonce: Option<&'a HeaderValue>,
    /// How often this very request was refused before.
    pub earlier: usize,
}

/// What follows from a refusal.
#[derive(Debug)]
pub enum Next {
    /// There is something better now: send the request again.
    Repeat,
    /// A person has to sign in.
    NeedsPerson(AuthError),
    /// Nobody can do anything now.
    Fail(AuthError),
}

impl SignIn {
    /// Signing in to one server, with what is known about it.
    #[must_use]
    pub fn new(settings: Settings, ports: Ports) -> Arc<Self> {
        let resource = canonical_resource(&settings.server);
        let name = RecordName::login(&resource, settings.account.as_deref());
        Arc::new(Self {
            settings,
            ports,
            resource,
            name,
            current: ArcSwapOption::empty(),
            generation: AtomicU64::new(0),
            loaded: AtomicBool::new(false),
            renewal: Flight::default(),
            refused: Mutex::new(None),
            nonce: Mutex::new(None),
        })
    }

    /// The headers of the next request.
    ///
    /// # Errors
    /// When the token has ended and cannot be renewed.
    pub async fn headers(self: &Arc<Self>, method: &Method, address: &Url) -> Result<Vec<(HeaderName, HeaderValue)>> {
        let now = unix((self.ports.clock)());
        let current = self.current.load_full();
        let current = match current {
            Some(current) if !current.is_due(now) => Some(current),
            None if self.loaded.load(Ordering::Acquire) => None,
            // Rare and large: kept out of every request's own size.
            current => Box::pin(self.usable(current, now)).await?,
        };
        match current {
            Some(current) => self.headers_of(&current, method, address, now),
            None => Ok(Vec::new()),
        }
    }

    /// Decides what follows when the server refuses a request.
    pub async fn refused(self: &Arc<Self>, refusal: &RefusedRequest<'_>) -> Next {
        let challenge = refusal.challenge.map(Challenge::read).unwrap_or_default();
        if let Some(nonce) = refusal.nonce.and_then(dpop::nonce_of) {
            self.remember_nonce(nonce);
            if challenge.error.as_deref() == Some("use_dpop_nonce") {
                return Next::Repeat;
            }
        }
        let current = self.current.load_full();
        match (refusal.status, &current) {
            (403, _) if !challenge.wants_more_scopes() => Next::Fail(AuthError::new(
                ErrorKind::Refused("access_denied".to_owned()),
                "the server does not allow this to the account that is signed in",
            )),
            (403, current) => self.more_scopes(current.as_deref(), &challenge).await,
            // Somebody else has renewed it meanwhile.
            (_, Some(current)) if refusal.sent != Some(&current.authorization) => Next::Repeat,
            (_, Some(_)) if refusal.earlier > 0 => {
                Next::NeedsPerson(self.login_required("the server does not accept the token that was just renewed"))
            }
            (_, current) => {
                let stale = current.as_ref().map(|current| current.fingerprint.clone());
                match self.renewed(stale.clone(), refusal.challenge).await {
                    Ok(Some(new)) if Some(&new.fingerprint) != stale.as_ref() => Next::Repeat,
                    Ok(_) => Next::NeedsPerson(self.login_required("nobody is signed in to this server")),
                    Err(error) if *error.kind() == ErrorKind::LoginRequired => Next::NeedsPerson(error),
                    Err(error) => Next::Fail(error),
                }
            }
        }
    }

    /// The server told what the next proof has to repeat.
    pub fn nonce(&self, nonce: &HeaderValue) {
        if let Some(nonce) = dpop::nonce_of(nonce) {
            self.remember_nonce(nonce);
        }
    }

    /// What is known about the login, from memory or the store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn facts(self: &Arc<Self>) -> Result<Option<Facts>> {
        if let Some(current) = self.current.load_full() {
            return Ok(Some(current.credential.facts(&self.resource)));
        }
        let kept = self.ports.store.read(&self.name).await?;
        Ok(kept.and_then(|text| Credential::from_text(&text)).map(|credential| credential.facts(&self.resource)))
    }

    /// The name the login is kept under.
    #[must_use]
    pub const fn record(&self) -> &RecordName {
        &self.name
    }

    /// A number that changes with the token.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// What of the login must not be said: its tokens, and what the client proves itself with.
    #[must_use]
    pub fn secrets(&self) -> Vec<SecretString> {
        let current = self.current.load_full();
        let credential = current.iter().map(|current| &current.credential);
        let of_login = |credential: &Credential| {
            let optional = [credential.refresh_token.clone(), self.client_of(credential).secret];
            [credential.access_token.clone()].into_iter().chain(optional.into_iter().flatten()).collect::<Vec<_>>()
        };
        credential.flat_map(of_login).collect()
    }

    fn headers_of(
        &self,
        current: &Current,
        method: &Method,
        address: &Url,
        now: u64,
    ) -> Result<Vec<(HeaderName, HeaderValue)>> {
        let authorization = (AUTHORIZATION, current.authorization.clone());
        match &current.credential.dpop {
            Some(key) if current.credential.token_type == TokenType::Dpop => {
                let nonce = self.nonce.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let token = current.credential.access_token.expose_secret();
                let proof = key.proof(method.as_str(), address, nonce.as_deref(), Some(token), now)?;
                Ok(vec![authorization, (dpop::PROOF, proof)])
            }
            _ => Ok(vec![authorization]),
        }
    }

    /// A token that can be used now: what the store has, renewed if it is time.
    async fn usable(self: &Arc<Self>, current: Option<Arc<Current>>, now: u64) -> Result<Option<Arc<Current>>> {
        let stale = current.as_ref().map(|current| current.fingerprint.clone());
        match self.renewal.join(|| Arc::clone(self).load_or_renew(stale)).await {
            Ok(current) => Ok(current),
            // It has not ended yet: whatever is wrong may be over by then.
            Err(error) => match current {
                Some(current) if !current.has_ended(now) || error.is_passing() => Ok(Some(current)),
                _ => Err(error),
            },
        }
    }

    /// The server wants scopes that the token does not have.
    async fn more_scopes(self: &Arc<Self>, current: Option<&Current>, challenge: &Challenge) -> Next {
        let wanted: Vec<&str> = challenge.scope.as_deref().unwrap_or_default().split_ascii_whitespace().collect();
        let had = current.map(|current| current.credential.requested.as_slice()).unwrap_or_default();
        let missing: Vec<&str> = wanted.iter().copied().filter(|scope| !had.iter().any(|has| has == scope)).collect();
        let error = if missing.is_empty() {
            // Asking for the same again would ask the person in vain.
            return Next::Fail(AuthError::new(
                ErrorKind::Refused("insufficient_scope".to_owned()),
                format!("the server wants the scopes {} although they were asked for", wanted.join(" ")),
            ));
        } else {
            self.login_required(&format!("the server wants more rights: {}", missing.join(" ")))
        };
        if self.settings.needs_person() {
            self.note_wanted(missing.into_iter().map(str::to_owned).collect()).await;
            return Next::NeedsPerson(error);
        }
        match self.obtained(challenge, had).await {
            Ok(_) => Next::Repeat,
            Err(error) => Next::Fail(error),
        }
    }

    fn login_required(&self, why: &str) -> AuthError {
        AuthError::new(ErrorKind::LoginRequired, why).with_advice(Advice::LogIn)
    }

    fn remember_nonce(&self, nonce: String) {
        *self.nonce.lock().unwrap_or_else(PoisonError::into_inner) = Some(nonce);
    }

    /// From now on this is the token.
    fn adopt(&self, credential: Credential) -> Result<Arc<Current>> {
        let current = Arc::new(Current::new(credential)?);
        self.current.store(Some(Arc::clone(&current)));
        self.generation.fetch_add(1, Ordering::Release);
        self.loaded.store(true, Ordering::Release);
        Ok(current)
    }
}

impl Current {
    fn new(credential: Credential) -> Result<Self> {
        let scheme = match credential.token_type {
            TokenType::Bearer => "Bearer",
            TokenType::Dpop => "DPoP",
        };
        let text = format!("{scheme} {}", credential.access_token.expose_secret());
        let mut authorization = HeaderValue::from_str(&text)
            .map_err(|_| AuthError::new(ErrorKind::BadAnswer, "the access token cannot be sent in a header"))?;
        authorization.set_sensitive(true);
        let due = credential.expires.map(|end| {
            let life = end.saturating_sub(credential.obtained);
            end.saturating_sub(AHEAD.min(life / 10))
        });
        // A token that nothing can renew is used until the server refuses it.
        Ok(Self { fingerprint: credential.fingerprint(), authorization, due, credential })
    }

    const fn is_due(&self, now: u64) -> bool {
        match self.due {
            Some(due) => due <= now,
            None => false,
        }
    }

    fn has_ended(&self, now: u64) -> bool {
        self.credential.expires.is_some_and(|end| end <= now)
    }
}
