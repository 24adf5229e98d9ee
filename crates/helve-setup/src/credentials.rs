//! The person's logins: the vault they are kept in, and who is signed in where.

use std::collections::BTreeMap;
use std::sync::Arc;

use helve::SignIns;
use helve::auth::Facts;
use helve::auth::ports::Store;
use helve_config::Configuration;
use helve_model::{ErrorCode, LateSource, ServerName, ServerSpec};
use secrecy::{ExposeSecret as _, SecretString};

use crate::environment::variable;
use crate::error::SetupError;
use crate::program::Program;
use crate::secrets::first_line;
use crate::setup::Setup;
use crate::vault::{GivenKey, OpeningAsks, Vault, VaultError, VaultStore};

/// The file that holds the vault's key, in the directory of the person's own configuration.
const KEY_FILE: &str = "vault.key";

/// Everything about logins that lives as long as the program.
#[derive(Debug)]
#[non_exhaustive]
pub struct Credentials {
    /// What is sealed.
    pub vault: Arc<Vault>,
    /// Logins in it.
    pub store: Arc<VaultStore>,
    /// The logins.
    pub sign_ins: Arc<SignIns>,
}

impl Credentials {
    /// `None` where nobody said where home is: then nothing can be kept.
    pub(crate) fn new(setup: &Setup) -> Option<Self> {
        let (environment, on_secret) = (setup.environment(), setup.on_secret());
        let directories = environment.directories();
        let given = environment.variable(variable::HELVE_VAULT_KEY).filter(|key| !key.is_empty());
        if let (Some(on_secret), Some(key)) = (on_secret, given) {
            on_secret(key);
        }
        let variable =
            given.map(|key| GivenKey::Variable(variable::HELVE_VAULT_KEY, SecretString::from(key.to_owned())));
        let given = variable.or_else(|| printed_key(setup, on_secret));
        let key_file = directories.config.as_ref().map(|config| config.join(KEY_FILE));
        let vault = match (setup.state_store(), &directories.state) {
            (Some(store), _) => Vault::in_documents(Arc::clone(store), key_file, given, environment.clock()),
            (None, Some(state)) => Vault::new(state.clone(), key_file?, given, environment.clock()),
            (None, None) => return None,
        };
        let vault = Arc::new(vault.with_keyring(Arc::clone(setup.keyring())));
        let store = Arc::new(VaultStore::new(Arc::clone(&vault), on_secret));
        let sign_ins = SignIns::new(Arc::clone(&store) as Arc<dyn Store>, environment.clock())
            .with_system_certificates(environment.certificates())
            .with_proxies(environment.proxies());
        let sign_ins = Arc::new(sign_ins);
        Some(Self { vault, store, sign_ins })
    }

    /// What starting a server would ask somebody else for, beside the server itself: a program of the person's own, or the
    /// system's keyring.
    #[must_use]
    pub fn starting_asks(&self, spec: &ServerSpec) -> Vec<OpeningAsks> {
        let mut asks: Vec<OpeningAsks> = Vec::new();
        let mut opens_vault = self.facts(spec).is_ok_and(|login| login.is_some());
        for source in helve::late_sources(spec) {
            match source {
                LateSource::Command(_) => asks.push(OpeningAsks::Program),
                LateSource::Keyring { .. } => asks.push(OpeningAsks::Keyring),
                LateSource::Secret(_) => opens_vault = true,
                _ => {}
            }
        }
        asks.extend(opens_vault.then(|| self.vault.opening_asks()).flatten());
        asks.sort_unstable();
        asks.dedup();
        asks
    }

    /// What is known about the login to a server, without opening it; `None` when there is none, or the server is not one
    /// that is signed in to.
    ///
    /// # Errors
    /// The vault cannot be read, or the server's entry makes no sense.
    pub fn facts(&self, spec: &ServerSpec) -> Result<Option<Facts>, SetupError> {
        let Some(sign_in) = self.sign_ins.of(spec)? else { return Ok(None) };
        Ok(self.store.facts(sign_in.record())?)
    }
}

/// The key that a program of the person's own prints.
fn printed_key(setup: &Setup, on_secret: Option<fn(&str)>) -> Option<GivenKey> {
    let command = setup.vault_key()?;
    let program = Program::new(setup, "true", &[]);
    let unusable = |problem: String| {
        VaultError::new(format!("the key of the vault cannot be had: `vault_key` runs a program, and {problem}"))
            .with_hint("run that program by hand to see what it says")
    };
    Some(GivenKey::Printed(Box::new(move || {
        let (program, command) = (program.clone(), command.clone());
        // A runtime of its own: whoever opens the vault may be in one, or in none.
        let printing = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|error| error.to_string())?;
            runtime.block_on(first_line(&program, &command)).map_err(|error| error.message().to_owned())
        });
        let key = printing.join().map_err(|_| unusable("it was left in the middle of it".to_owned()))?;
        let key = key.map_err(unusable)?;
        if let Some(on_secret) = on_secret {
            on_secret(key.expose_secret());
        }
        Ok(key)
    })))
}

/// The logins of a configuration's servers. Nothing is opened for it.
#[derive(Debug, Default)]
pub struct Logins(BTreeMap<ServerName, Facts>);

impl Logins {
    /// A vault that cannot be read is told by whoever needs what is in it.
    #[must_use]
    pub fn of(setup: &Setup, configuration: &Configuration) -> Self {
        let Some(credentials) = setup.credentials() else { return Self::default() };
        let specs = configuration.servers.iter().filter_map(|server| server.spec.as_ref());
        let known = specs.filter_map(|spec| Some((spec.name.clone(), credentials.facts(spec).ok()??)));
        Self(known.collect())
    }

    /// The login to one server.
    #[must_use]
    pub fn get(&self, name: &ServerName) -> Option<&Facts> {
        self.0.get(name)
    }
}

impl From<VaultError> for SetupError {
    fn from(error: VaultError) -> Self {
        let ours = Self::new(ErrorCode::Config, error.to_string());
        match error.hint() {
            Some(hint) => ours.with_hint(hint),
            None => ours,
        }
    }
}
