//! The person's logins: the vault they are kept in, and who is signed in where.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use helve::SignIns;
use helve::auth::Facts;
use helve::auth::ports::Store;
use helve_config::Configuration;
use helve_model::{ErrorCode, ServerName, ServerSpec};
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::context::Context;
use crate::env::{Env, variable};
use crate::failure::Failure;
use crate::vault::{Vault, VaultError, VaultStore};

/// The file that holds the vault's key, in the directory of the person's own configuration.
const KEY_FILE: &str = "vault.key";

/// Everything about logins that lives as long as the program.
#[derive(Debug)]
pub(crate) struct Credentials {
    pub(crate) vault: Arc<Vault>,
    pub(crate) store: Arc<VaultStore>,
    pub(crate) sign_ins: Arc<SignIns>,
}

impl Credentials {
    /// `None` where nobody said where home is: then nothing can be kept.
    pub(crate) fn new(env: &Env) -> Option<Self> {
        let state = env.directories.state.clone()?;
        let config = env.directories.config.clone()?;
        let given = env.variable(variable::HELVE_VAULT_KEY).filter(|key| !key.is_empty());
        let given = given.map(|key| SecretString::from(key.to_owned()));
        let vault = Arc::new(Vault::new(state, config.join(KEY_FILE), given, env.clock()));
        let store = Arc::new(VaultStore::new(Arc::clone(&vault)));
        let sign_ins = Arc::new(SignIns::new(Arc::clone(&store) as Arc<dyn Store>, env.clock()));
        Some(Self { vault, store, sign_ins })
    }

    /// What is known about the login to a server, without opening it; `None` when there is none, or the server is not one
    /// that is signed in to.
    pub(crate) fn facts(&self, spec: &ServerSpec) -> Result<Option<Facts>, Failure> {
        let Some(sign_in) = self.sign_ins.of(spec)? else { return Ok(None) };
        Ok(self.store.facts(sign_in.record())?)
    }
}

/// Who is signed in where, of the servers of a configuration. Nothing is opened for it.
#[derive(Debug, Default)]
pub(crate) struct Logins(BTreeMap<ServerName, Facts>);

impl Logins {
    /// A vault that cannot be read is told by whoever needs what is in it.
    pub(crate) fn of(context: &Context, configuration: &Configuration) -> Self {
        let Some(credentials) = context.credentials() else { return Self::default() };
        let specs = configuration.servers.iter().filter_map(|server| server.spec.as_ref());
        let known = specs.filter_map(|spec| Some((spec.name.clone(), credentials.facts(spec).ok()??)));
        Self(known.collect())
    }

    pub(crate) fn get(&self, name: &ServerName) -> Option<&Facts> {
        self.0.get(name)
    }
}

/// Where somebody is signed in, in a word.
pub(crate) fn issuer(facts: &Facts) -> String {
    facts.issuer.clone().unwrap_or_else(|| "yes".to_owned())
}

/// A login in words: where, as whom, until when, with which rights.
pub(crate) fn described(context: &Context, facts: &Facts) -> String {
    let mut parts = Vec::new();
    parts.extend(facts.account.as_ref().map(|account| format!("as {account}")));
    parts.extend(facts.issuer.as_ref().map(|issuer| format!("at {issuer}")));
    parts.push(match (facts.expires, facts.renewable) {
        (_, true) => "renewed by itself".to_owned(),
        (Some(end), false) => left(context, end),
        (None, false) => "until the server refuses it".to_owned(),
    });
    if !facts.scopes.is_empty() {
        parts.push(format!("with {}", facts.scopes.join(" ")));
    }
    parts.join(", ")
}

/// How long a login lasts that nothing can renew.
fn left(context: &Context, end: u64) -> String {
    let now = context.env.now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    match end.checked_sub(now) {
        None | Some(0) => "ended: sign in again".to_owned(),
        Some(seconds) if seconds < 3_600 => format!("for {} more minutes", seconds.div_ceil(60)),
        Some(seconds) if seconds < 48 * 3_600 => format!("for {} more hours", seconds / 3_600),
        Some(seconds) => format!("for {} more days", Duration::from_secs(seconds).as_secs() / 86_400),
    }
}

/// A login for programs.
pub(crate) fn as_json(facts: &Facts) -> Value {
    json!({
        "issuer": facts.issuer,
        "account": facts.account,
        "scopes": facts.scopes,
        "expires": facts.expires,
        "renewable": facts.renewable,
    })
}

impl From<VaultError> for Failure {
    fn from(error: VaultError) -> Self {
        let failure = Self::new(ErrorCode::Config, error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
