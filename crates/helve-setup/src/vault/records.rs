//! The vault as the store of logins.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use helve::auth::ports::{BoxFuture, Store};
use helve::auth::{AuthError, Facts, RecordKind, RecordName, Result};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::error::VaultError;
use super::{CredentialSummary, Vault};

/// Logins, registrations and logins under way, in a vault.
#[derive(Debug)]
pub struct VaultStore {
    vault: Arc<Vault>,
    /// A key file was made: the person has to be told once.
    made_key: AtomicBool,
    /// Told every secret that comes by.
    on_secret: Option<fn(&str)>,
}

impl VaultStore {
    /// `on_secret` is told every secret that comes by, so that nobody says it.
    pub const fn new(vault: Arc<Vault>, on_secret: Option<fn(&str)>) -> Self {
        Self { vault, made_key: AtomicBool::new(false), on_secret }
    }

    /// True once, when a key file was made since.
    pub fn has_made_key(&self) -> bool {
        self.made_key.swap(false, Ordering::Relaxed)
    }

    /// What is known of a login, without opening it.
    pub fn facts(&self, name: &RecordName) -> std::result::Result<Option<Facts>, VaultError> {
        let name = name.to_string();
        Ok(self.vault.list()?.into_iter().find(|listed| listed.name == name).map(|listed| from_json(&listed)))
    }

    /// Every login, by its resource.
    pub fn logins(&self) -> std::result::Result<Vec<(String, Facts)>, VaultError> {
        let listed = self.vault.list()?.into_iter();
        let logins = listed.filter_map(|listed| {
            let resource = listed.name.strip_prefix("login ")?.to_owned();
            Some((resource, from_json(&listed)))
        });
        Ok(logins.collect())
    }

    /// Forgets a login by the name it has in [`VaultStore::logins`].
    pub fn forget(&self, resource: &str) -> std::result::Result<bool, VaultError> {
        self.vault.remove(&format!("login {resource}"))
    }

    /// What a record holds is for requests alone.
    fn never_say(&self, record: &SecretString) {
        let Some(on_secret) = self.on_secret else { return };
        let Ok(value) = serde_json::from_str::<Value>(record.expose_secret()) else { return };
        let client = value.get("client").unwrap_or(&value);
        let secrets = ["access_token", "refresh_token", "verifier", "dpop"].map(|name| value.get(name));
        secrets.into_iter().chain([client.get("secret")]).flatten().filter_map(Value::as_str).for_each(on_secret);
    }

    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Vault) -> std::result::Result<T, VaultError> + Send + 'static,
    ) -> Result<T> {
        let vault = Arc::clone(&self.vault);
        match tokio::task::spawn_blocking(move || work(&vault)).await {
            Ok(done) => done.map_err(to_auth),
            Err(_) => Err(AuthError::store("the vault was left in the middle of it")),
        }
    }
}

impl Store for VaultStore {
    fn read<'a>(&'a self, name: &'a RecordName) -> BoxFuture<'a, Result<Option<SecretString>>> {
        let name = name.to_string();
        Box::pin(async move {
            let record = self.aside(move |vault| vault.read(&name)).await?;
            record.iter().for_each(|record| self.never_say(record));
            Ok(record)
        })
    }

    fn write<'a>(&'a self, name: &'a RecordName, secret: SecretString, facts: Facts) -> BoxFuture<'a, Result<()>> {
        let (name, facts) = (name.to_string(), to_json(name.kind(), &facts));
        self.never_say(&secret);
        Box::pin(async move {
            if self.aside(move |vault| vault.write(&name, &secret, facts)).await? {
                self.made_key.store(true, Ordering::Relaxed);
            }
            Ok(())
        })
    }

    fn remove<'a>(&'a self, name: &'a RecordName) -> BoxFuture<'a, Result<()>> {
        let name = name.to_string();
        Box::pin(async move { self.aside(move |vault| vault.remove(&name).map(drop)).await })
    }

    fn lock<'a>(&'a self, name: &'a RecordName) -> BoxFuture<'a, Result<Box<dyn Send + Sync>>> {
        let name = name.to_string();
        Box::pin(async move { self.vault.place.turn(&name).await.map_err(to_auth) })
    }
}

fn to_auth(error: VaultError) -> AuthError {
    let message = match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    };
    AuthError::store(message)
}

fn to_json(kind: RecordKind, facts: &Facts) -> Value {
    let kind = match kind {
        RecordKind::Login => "login",
        RecordKind::Client => "client",
        _ => "pending",
    };
    json!({
        "kind": kind,
        "resource": facts.resource,
        "issuer": facts.issuer,
        "account": facts.account,
        "scopes": facts.scopes,
        "expires": facts.expires,
        "renewable": facts.renewable,
    })
}

fn from_json(listed: &CredentialSummary) -> Facts {
    let text = |name: &str| listed.facts.get(name).and_then(Value::as_str).map(str::to_owned);
    let scopes = listed.facts.get("scopes").and_then(Value::as_array);
    Facts {
        resource: text("resource"),
        issuer: text("issuer"),
        account: text("account"),
        scopes: scopes.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
        expires: listed.facts.get("expires").and_then(Value::as_u64),
        renewable: listed.facts.get("renewable").and_then(Value::as_bool).unwrap_or(false),
    }
}
