//! Renewing: under the store's lock, after a look at what others have written, with nothing deleted when it is refused.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use crate::challenge::Challenge;
use crate::client::{AuthMethod, Client, ClientOrigin};
use crate::credential::{Credential, unix};
use crate::error::{Advice, AuthError, ErrorKind, Result};
use crate::grant::refresh;
use crate::sign_in::{Current, SignIn};

impl SignIn {
    /// What the store has; renewed if it is still the token that is `stale`, or if it is time.
    pub(super) async fn load_or_renew(self: Arc<Self>, stale: Option<String>) -> Result<Option<Arc<Current>>> {
        let kept = match self.kept().await {
            Ok(kept) => kept,
            // A server that wants no login must not fail because of it; one that does will say so, and then it is told.
            Err(error) => {
                tracing::warn!(resource = %self.resource, "the kept login cannot be read: {error}");
                None
            }
        };
        let Some(kept) = kept else {
            self.loaded.store(true, Ordering::Release);
            return Ok(self.current.load_full());
        };
        let now = unix((self.ports.clock)());
        let current = Current::new(kept)?;
        let is_stale = stale.as_ref() == Some(&current.fingerprint);
        if !current.is_due(now) && !is_stale {
            return self.adopt(current.credential).map(Some);
        }
        if !self.can_renew(&current.credential) {
            // Nothing can be done ahead: the server decides when it is over.
            return self.adopt(current.credential).map(Some);
        }
        self.renew_under_lock(current.fingerprint).await.map(Some)
    }

    /// A token that is not the `stale` one, if there is a way to it without a person.
    pub(super) async fn renewed(
        self: &Arc<Self>,
        stale: Option<String>,
        challenge: Option<&str>,
    ) -> Result<Option<Arc<Current>>> {
        let this = Arc::clone(self);
        let challenge = challenge.map(Challenge::read).unwrap_or_default();
        self.renewal
            .join(move || async move {
                let kept = match this.kept().await? {
                    Some(kept) => Current::new(kept)?,
                    None if this.settings.needs_person() => return Ok(None),
                    None => return this.obtained(&challenge, &[]).await.map(Some),
                };
                if stale.as_ref() != Some(&kept.fingerprint) {
                    return this.adopt(kept.credential).map(Some);
                }
                if !this.settings.needs_person() {
                    return this.obtained(&challenge, &kept.credential.requested).await.map(Some);
                }
                this.renew_under_lock(kept.fingerprint).await.map(Some)
            })
            .await
    }

    /// The lock is held from the look at the store until the new token is in it: whoever waits for it finds the new one.
    async fn renew_under_lock(&self, stale: String) -> Result<Arc<Current>> {
        let held = self.ports.store.lock(&self.name).await?;
        let outcome = self.renew_locked(&stale).await;
        drop(held);
        outcome
    }

    async fn renew_locked(&self, stale: &str) -> Result<Arc<Current>> {
        let kept = self.kept().await?.ok_or_else(|| self.login_required("the login was given up elsewhere"))?;
        if kept.fingerprint() != stale {
            return self.adopt(kept);
        }
        if let Some((refused, error)) = &*self.refused.lock().unwrap_or_else(PoisonError::into_inner)
            && refused == stale
        {
            return Err(error.again());
        }
        let client = self.client_of(&kept);
        match self.new_token(&kept, &client).await {
            Ok(new) => {
                self.ports.store.write(&self.name, new.to_text(), new.facts(&self.resource)).await?;
                self.adopt(new)
            }
            Err(error) if matches!(error.kind(), ErrorKind::Refused(_)) && !error.is_passing() => {
                // Another program may have renewed it without our lock: then the login is still good.
                match self.kept().await? {
                    Some(other) if other.fingerprint() != stale => self.adopt(other),
                    _ => {
                        let error = AuthError::new(
                            ErrorKind::LoginRequired,
                            format!("the login can no longer be renewed: {error}"),
                        )
                        .with_advice(Advice::LogIn);
                        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) =
                            Some((stale.to_owned(), error.again()));
                        Err(error)
                    }
                }
            }
            Err(error) => Err(error),
        }
    }

    async fn new_token(&self, kept: &Credential, client: &Client) -> Result<Credential> {
        if self.settings.needs_person() {
            refresh(&self.ports, kept, client).await
        } else {
            self.granted_again(kept, client).await
        }
    }

    fn can_renew(&self, credential: &Credential) -> bool {
        !self.settings.needs_person() || credential.refresh_token.is_some()
    }

    /// The client of a login, with what only the settings know of it.
    pub(super) fn client_of(&self, credential: &Credential) -> Client {
        let mut client = credential.client.clone();
        if client.origin == ClientOrigin::Configured
            && let Some(configured) = &self.settings.client
            && configured.id == client.id
        {
            client.secret.clone_from(&configured.secret);
            client.key.clone_from(&configured.key);
            if client.key.is_some() {
                client.method = AuthMethod::PrivateKey;
            }
        }
        client
    }

    /// What the store has. Something that cannot be read as a login is an error: it is not thrown away.
    async fn kept(&self) -> Result<Option<Credential>> {
        match self.ports.store.read(&self.name).await? {
            None => Ok(None),
            Some(text) => match Credential::from_text(&text) {
                Some(credential) => Ok(Some(credential)),
                None => Err(AuthError::store(format!("the kept login to {} cannot be read", self.resource))
                    .with_advice(Advice::LogIn)),
            },
        }
    }
}
