//! Where the values of late references come from: the vault, or a program of the person's own.

use std::sync::Arc;
use std::time::Duration;

use helve::{CallError, SecretSource};
use helve_config::{looks_secret, secrets_of};
use helve_model::name::PlaceName;
use helve_model::{ErrorCode, Hint, LateSource, SecretSet, ServerSpec};
use helve_wire::BoxFuture;
use secrecy::{ExposeSecret as _, SecretString};

use crate::hubs::hub_record;
use crate::keyring::Keyring;
use crate::program::{Bounds, Program};
use crate::setup::Setup;
use crate::vault::Vault;

/// What a program that prints a secret may cost.
const BOUNDS: Bounds = Bounds { time: Some(Duration::from_secs(10)), output: 64 << 10 };

/// The person's secrets.
#[derive(Debug)]
pub struct Secrets {
    vault: Option<Arc<Vault>>,
    keyring: Arc<Keyring>,
    /// How programs are started, with which variables.
    program: Program,
    /// The person's variables that are called like secrets, for servers that get all of them.
    inherited: Vec<SecretString>,
    /// Told every secret that comes by.
    on_secret: Option<fn(&str)>,
}

/// The name of a secret's record in the vault.
#[must_use]
pub fn secret_record(name: &str) -> String {
    format!("secret {name}")
}

/// What a server's secret is kept under.
#[must_use]
pub fn secret_name(server: &str, name: &str) -> String {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.');
    let whole = format!("{server}.{name}");
    whole.chars().map(|character| if is_part(character) { character } else { '-' }).take(128).collect()
}

impl Secrets {
    /// Those of the person whose setup this is.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        let vault = setup.credentials().map(|credentials| Arc::clone(&credentials.vault));
        let variables = setup.environment.variables().into_iter();
        let named = variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let inherited = named.filter(|(name, _)| looks_secret(name)).map(|(_, value)| SecretString::from(value));
        let program = Program::new(setup, "true", &[]);
        let keyring = Arc::clone(setup.keyring());
        Self { vault, keyring, program, inherited: inherited.collect(), on_secret: setup.on_secret() }
    }

    /// An item that another program keeps in the system's keyring. Most of them say `username`, some `account`.
    async fn in_keyring(&self, service: &str, account: &str) -> Result<SecretString, CallError> {
        let unusable = |message: String| CallError::new(ErrorCode::Config, message);
        let named = |name: &'static str| vec![("service", service.to_owned()), (name, account.to_owned())];
        let (keyring, any_of) = (Arc::clone(&self.keyring), vec![named("username"), named("account")]);
        let found = tokio::task::spawn_blocking(move || keyring.find(any_of)).await;
        match found {
            Ok(Ok(Some(value))) => Ok(value),
            Ok(Ok(None)) => Err(unusable(format!(
                "the system's keyring has no item of the service `{service}` and the account `{account}`"
            ))
            .with_hint("its attributes have to be `service`, and `username` or `account`")),
            Ok(Err(problem)) => Err(unusable(format!("the system's keyring {problem}")).with_hint(problem.hint())),
            Err(_) => Err(unusable("the keyring was left in the middle of it".to_owned())),
        }
    }

    async fn kept(&self, name: &str) -> Result<SecretString, CallError> {
        let missing = || {
            CallError::new(ErrorCode::Config, format!("there is no secret `{name}`"))
                .with_hint(Hint::KeepSecret { name: name.to_owned() })
        };
        self.record(secret_record(name), missing).await
    }

    /// The token of a hub, which was kept for this very address.
    async fn hub_token(&self, place: &PlaceName, url: &str) -> Result<SecretString, CallError> {
        let missing = || {
            CallError::new(ErrorCode::AuthRequired, format!("no token is kept for the hub `{place}` at {url}"))
                .with_hint(Hint::JoinAgain { place: place.clone() })
        };
        self.record(hub_record(place, url), missing).await
    }

    async fn record(&self, record: String, missing: impl FnOnce() -> CallError) -> Result<SecretString, CallError> {
        let unusable = |message: String| CallError::new(ErrorCode::Config, message);
        let Some(vault) = self.vault.clone() else { return Err(unusable("there is no vault".to_owned())) };
        let read = tokio::task::spawn_blocking(move || vault.read(&record)).await;
        match read {
            Ok(Ok(Some(value))) => Ok(value),
            Ok(Ok(None)) => Err(missing()),
            Ok(Err(error)) => {
                let ours = unusable(error.to_string());
                Err(error.hint().into_iter().fold(ours, |ours, hint| ours.with_hint(hint)))
            }
            Err(_) => Err(unusable("the vault was left in the middle of it".to_owned())),
        }
    }
}

/// The first line a program prints. No shell is involved.
pub(crate) async fn first_line(program: &Program, command: &str) -> Result<SecretString, CallError> {
    let unusable = |message: String| CallError::new(ErrorCode::Config, message);
    let words = shell_words::split(command).map_err(|error| unusable(format!("it is not a command: {error}")))?;
    let Some(program) = program.running(&words) else { return Err(unusable("it names no command".to_owned())) };
    match program.run(b"", BOUNDS).await {
        Ok(said) => {
            let text = String::from_utf8(said.stdout).map_err(|_| unusable("it did not print text".to_owned()))?;
            match text.lines().next().filter(|line| !line.is_empty()) {
                Some(line) => Ok(SecretString::from(line.to_owned())),
                None => Err(unusable("it printed nothing".to_owned())),
            }
        }
        Err(broken) => {
            let ours = unusable(broken.problem);
            let last = broken.stderr.trim().lines().next_back().map(str::to_owned);
            Err(last.into_iter().fold(ours, |ours, line| ours.with_hint(format!("it said: {line}"))))
        }
    }
}

impl SecretSource for Secrets {
    fn value<'a>(&'a self, source: &'a LateSource) -> BoxFuture<'a, Result<SecretString, CallError>> {
        Box::pin(async move {
            let value = match source {
                LateSource::Secret(name) => self.kept(name).await,
                LateSource::Hub { place, url } => self.hub_token(place, url).await,
                LateSource::Command(command) => first_line(&self.program, command).await,
                LateSource::Keyring { service, account } => self.in_keyring(service, account).await,
                _ => Err(CallError::new(ErrorCode::Config, "this helve does not know this kind of reference")),
            }?;
            if let Some(on_secret) = self.on_secret {
                on_secret(value.expose_secret());
            }
            Ok(value)
        })
    }

    fn own_values(&self, spec: &ServerSpec) -> Vec<SecretString> {
        let inherited = if spec.inherit_environment { self.inherited.as_slice() } else { &[] };
        let mut own = secrets_of(spec);
        own.extend(inherited.iter().cloned());
        // A place is not a secret, even where its variable is called `KEY`.
        let is_place = |value: &str| value.starts_with(['/', '~', '.']) && std::path::Path::new(value).exists();
        own.retain(|value| !SecretSet::is_plain(value.expose_secret()) && !is_place(value.expose_secret()));
        if let Some(on_secret) = self.on_secret {
            own.iter().for_each(|value| on_secret(value.expose_secret()));
        }
        own
    }
}
