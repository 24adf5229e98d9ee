//! Getting a token in the first place: with a person, in one process or two, or without one. And giving it up again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use secrecy::SecretString;

use crate::challenge::Challenge;
use crate::client::{self, Choice, Client, choose};
use crate::credential::{AskedLogin, Credential, Facts, RecordName, unix};
use crate::discovery::discover;
use crate::dpop::DpopKey;
use crate::error::{Advice, AuthError, ErrorKind, Result};
use crate::grant::{Pending, Wanted, client_credentials, identity_assertion, jwt_bearer};
use crate::login::{LoginWish, Page, Way, Without, prepare, with_person};
use crate::ports::{Body, HttpRequest, Person, Purpose};
use crate::reception::RedirectAnswer;
use crate::scopes::ScopeSources;
use crate::settings::Grant;
use crate::sign_in::{Current, SignIn};
use crate::token::{TokenAnswer, TokenEndpoint};

/// How long a login that has begun in one process can be finished in another, in seconds.
const PENDING_LIFE: u64 = 600;

/// What giving up a login came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedOut {
    /// There was a login.
    pub was_signed_in: bool,
    /// The authorization server has been told, and took it back.
    pub revoked: bool,
}

impl SignIn {
    /// Signs in, with a person where one is needed.
    ///
    /// # Errors
    /// When there is no token in the end. An earlier login is still there then.
    pub async fn login(self: &Arc<Self>, wish: &LoginWish, person: &dyn Person) -> Result<Facts> {
        let challenge = wish.challenge.as_deref().map(Challenge::read).unwrap_or_default();
        let before = self.requested_before(&challenge).await;
        if !self.settings.needs_person() {
            let current = self.obtained(&challenge, &before).await?;
            return Ok(current.credential.facts(&self.resource));
        }
        let credential = with_person(&self.ports, &self.settings, wish, &before, person).await?;
        self.keep(credential).await
    }

    /// Begins a login that is finished by [`SignIn::finish`], perhaps in another process.
    ///
    /// # Errors
    /// When there is no page to send the person to.
    pub async fn begin(self: &Arc<Self>, wish: &LoginWish) -> Result<Page> {
        if !self.settings.needs_person() {
            return Err(AuthError::settings("this server is signed in to without a person"));
        }
        let challenge = wish.challenge.as_deref().map(Challenge::read).unwrap_or_default();
        let before = self.requested_before(&challenge).await;
        let found = discover(self.ports.http.as_ref(), &self.settings, &challenge).await?;
        let without = Without { scopes: false, kept_client: wish.fresh };
        let begun =
            prepare(&self.ports, &self.settings, wish, &challenge, &found, &before, without, Way::Pasting).await?;
        let facts = Facts {
            resource: Some(self.resource.clone()),
            issuer: Some(begun.pending.issuer.clone()),
            expires: Some(begun.pending.started.saturating_add(PENDING_LIFE)),
            ..Facts::default()
        };
        self.ports.store.write(&self.pending(), begun.pending.to_text(), facts).await?;
        Ok(begun.page)
    }

    /// Finishes a login with the address that the browser was sent to.
    ///
    /// # Errors
    /// When no login has begun, or the address is not its answer.
    pub async fn finish(self: &Arc<Self>, pasted: &str) -> Result<Facts> {
        let name = self.pending();
        let none = || {
            AuthError::new(
                ErrorKind::TimedOut,
                "no login to this server is under way: begin one first; it stays open for 10 minutes",
            )
            .with_advice(Advice::LogIn)
        };
        let text = self.ports.store.read(&name).await?.ok_or_else(none)?;
        let pending = Pending::from_text(&text).ok_or_else(none)?;
        if unix((self.ports.clock)()) > pending.started.saturating_add(PENDING_LIFE) {
            self.ports.store.remove(&name).await?;
            return Err(none());
        }
        let answer = RedirectAnswer::from_pasted(pasted).ok_or_else(|| {
            AuthError::new(
                ErrorKind::BadAnswer,
                "this is not the address the browser was sent to: it has to have `state` and `code` in it",
            )
        })?;
        let code = pending.code(&answer)?;
        // From here on the code is used up, whatever comes of it.
        self.ports.store.remove(&name).await?;
        let credential = pending.redeem(&self.ports, code).await?;
        self.keep(credential).await
    }

    /// Gives the login up: tells the authorization server, then forgets it.
    ///
    /// # Errors
    /// When the store cannot be changed.
    pub async fn logout(self: &Arc<Self>, keep_client: bool) -> Result<LoggedOut> {
        let held = self.ports.store.lock(&self.name).await?;
        let kept = self.ports.store.read(&self.name).await?;
        let credential = kept.as_ref().and_then(Credential::from_text);
        let mut revoked = false;
        if let Some(credential) = &credential {
            revoked = self.revoke(credential).await.unwrap_or(false);
            if !keep_client {
                client::forget(self.ports.store.as_ref(), &credential.issuer).await?;
            }
        }
        self.ports.store.remove(&self.name).await?;
        self.ports.store.remove(&self.pending()).await?;
        self.current.store(None);
        self.loaded.store(true, Ordering::Release);
        drop(held);
        Ok(LoggedOut { was_signed_in: kept.is_some(), revoked })
    }

    /// A token by a grant that needs no person.
    pub(super) async fn obtained(&self, challenge: &Challenge, before: &[String]) -> Result<Arc<Current>> {
        let found = discover(self.ports.http.as_ref(), &self.settings, challenge).await?;
        let scopes = ScopeSources {
            configured: self.settings.scopes.as_deref(),
            challenge: challenge.scope.as_deref(),
            resource: found.resource_scopes.as_deref(),
            before,
            server: None,
        }
        .choose();
        let choice = choose(self.ports.store.as_ref(), &self.settings, &found.server, true).await?;
        let Choice::Use(client) = choice else {
            return Err(AuthError::new(
                ErrorKind::ClientNeeded,
                "signing in without a person takes a client that was registered beforehand",
            )
            .with_advice(Advice::RegisterClient { issuer: found.server.issuer.clone(), redirect: String::new() }));
        };
        let dpop = if found.wants_dpop { Some(DpopKey::generate()?) } else { None };
        let endpoint = TokenEndpoint {
            ports: &self.ports,
            endpoint: &found.server.token_endpoint,
            issuer: &found.server.issuer,
            client: &client,
            dpop: dpop.as_ref(),
        };
        let wanted = Wanted { resource: found.resource.as_deref(), scopes: &scopes };
        let answer = self.granted(&endpoint, wanted).await?;
        let asked = AskedLogin {
            issuer: found.server.issuer,
            token_endpoint: found.server.token_endpoint,
            revocation_endpoint: found.server.revocation_endpoint,
            client,
            resource: found.resource,
            requested: scopes,
            dpop,
        };
        // What needs no person is got again, not renewed.
        let answer = TokenAnswer { refresh_token: None, ..answer };
        let credential = asked.answered(answer, unix((self.ports.clock)()));
        self.ports.store.write(&self.name, credential.to_text(), credential.facts(&self.resource)).await?;
        self.adopt(credential)
    }

    /// The same again, at the endpoint it was got from.
    pub(super) async fn granted_again(&self, old: &Credential, client: &Client) -> Result<Credential> {
        let endpoint = TokenEndpoint {
            ports: &self.ports,
            endpoint: &old.token_endpoint,
            issuer: &old.issuer,
            client,
            dpop: old.dpop.as_ref(),
        };
        let wanted = Wanted { resource: old.resource.as_deref(), scopes: &old.requested };
        let answer = self.granted(&endpoint, wanted).await?;
        let now = unix((self.ports.clock)());
        let mut new = Credential::from_text(&old.to_text())
            .ok_or_else(|| AuthError::store("a login cannot be read back as it was written"))?;
        new.granted = answer.scopes.clone().unwrap_or_else(|| old.granted.clone());
        new.obtained = now;
        new.expires = Credential::expiry(&answer, now);
        new.access_token = answer.access_token;
        new.token_type = answer.token_type;
        Ok(new)
    }

    async fn granted(&self, endpoint: &TokenEndpoint<'_>, wanted: Wanted<'_>) -> Result<TokenAnswer> {
        match &self.settings.grant {
            Grant::AuthorizationCode => Err(self.login_required("a person has to sign in")),
            Grant::ClientCredentials => client_credentials(endpoint, wanted).await,
            Grant::IdentityAssertion(provider) => identity_assertion(endpoint, provider, wanted).await,
            Grant::WorkloadIdentity { assertion } => jwt_bearer(endpoint, assertion, wanted).await,
        }
    }

    /// Tells the authorization server that a token is not needed any more (RFC 7009). `false`: it has no place for that, or
    /// did not take it.
    async fn revoke(&self, credential: &Credential) -> Result<bool> {
        let Some(endpoint) = &credential.revocation_endpoint else { return Ok(false) };
        let client = self.client_of(credential);
        let token = credential.refresh_token.as_ref().unwrap_or(&credential.access_token);
        let (form, headers) = crate::token::revocation(&client, token)?;
        let body = Some(Body::Form(form));
        let request = HttpRequest { purpose: Purpose::Revocation, url: endpoint.clone(), headers, body };
        Ok(self.ports.http.send(request).await?.status.is_success())
    }

    /// What a step up adds to, and what the server has wanted since the last login. A new login starts from nothing.
    async fn requested_before(&self, challenge: &Challenge) -> Vec<String> {
        let kept = self.ports.store.read(&self.name).await.ok().flatten();
        match kept.as_ref().and_then(Credential::from_text) {
            Some(kept) if challenge.wants_more_scopes() || !kept.wanted.is_empty() => {
                kept.requested.into_iter().chain(kept.wanted).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Notes that the server wants these scopes too, for the login that the person makes because of it. That it cannot be
    /// noted changes nothing about the refusal.
    pub(super) async fn note_wanted(&self, scopes: Vec<String>) {
        let noted = async {
            let held = self.ports.store.lock(&self.name).await?;
            let kept = self.ports.store.read(&self.name).await?;
            if let Some(mut kept) = kept.as_ref().and_then(Credential::from_text) {
                kept.wanted = scopes;
                self.ports.store.write(&self.name, kept.to_text(), kept.facts(&self.resource)).await?;
            }
            drop(held);
            Ok::<_, AuthError>(())
        };
        if let Err(error) = noted.await {
            tracing::debug!(resource = %self.resource, "what the server wants could not be noted: {error}");
        }
    }

    async fn keep(&self, credential: Credential) -> Result<Facts> {
        let facts = credential.facts(&self.resource);
        let text: SecretString = credential.to_text();
        let held = self.ports.store.lock(&self.name).await?;
        self.ports.store.write(&self.name, text, facts.clone()).await?;
        drop(held);
        drop(self.adopt(credential)?);
        Ok(facts)
    }

    fn pending(&self) -> RecordName {
        RecordName::pending(&self.resource, self.settings.account.as_deref())
    }
}
