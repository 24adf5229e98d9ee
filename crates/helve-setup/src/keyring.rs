//! The system's keyring, as far as helve needs it: one item of its own, and items that other programs keep. Owns how long it may
//! take: it is asked on a thread of its own, for two seconds at most, and one that did not answer is left alone for a while.
//!
//! It is the Secret Service of a desktop, spoken to over the session bus by the few calls below. The crates that speak it bring
//! fifty others along, and one that waits for an answer can wait for ever.

#[cfg(feature = "keyring")]
mod bus;
#[cfg(feature = "keyring")]
mod message;
#[cfg(feature = "keyring")]
mod secret_service;

use std::fmt;
#[cfg(feature = "keyring")]
use std::sync::{Mutex, PoisonError, mpsc};
#[cfg(feature = "keyring")]
use std::time::{Duration, Instant};

use secrecy::SecretString;

use crate::environment::{Environment, variable};

/// How long it may take altogether.
#[cfg(feature = "keyring")]
const TIME: Duration = Duration::from_secs(2);
/// How long it is left alone once it did not answer.
#[cfg(feature = "keyring")]
const LEFT_ALONE: Duration = Duration::from_secs(60);

/// What an item is known by.
pub(crate) type Attributes = Vec<(&'static str, String)>;

/// The keyring of the person's session.
#[derive(Debug)]
pub struct Keyring {
    /// Where the session's bus listens, as its own variable spells it.
    #[cfg_attr(not(feature = "keyring"), expect(dead_code, reason = "nobody asks it"))]
    bus: Option<String>,
    /// When it did not answer. Held by whoever waits, so that many who want something wait once.
    #[cfg(feature = "keyring")]
    silent_since: Mutex<Option<Instant>>,
}

/// Why the keyring gave nothing, in words that follow "the system's keyring …".
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "keyring"), expect(dead_code, reason = "there is one problem then"))]
pub(crate) enum KeyringProblem {
    #[cfg(not(feature = "keyring"))]
    NotBuilt,
    NoBus,
    NoService,
    Silent,
    Locked,
    /// It would forget with the end of the session.
    Volatile,
    Failed(String),
}

impl Keyring {
    /// The one of the session that these surroundings belong to. Nothing is asked yet.
    pub(crate) fn new(environment: &Environment) -> Self {
        let named = environment.variable(variable::DBUS_SESSION_BUS_ADDRESS).filter(|address| !address.is_empty());
        let usual = || {
            let socket = std::path::Path::new(environment.variable(variable::XDG_RUNTIME_DIR)?).join("bus");
            (socket.is_absolute() && socket.exists()).then(|| format!("unix:path={}", socket.display()))
        };
        Self {
            bus: named.map(str::to_owned).or_else(usual),
            #[cfg(feature = "keyring")]
            silent_since: Mutex::new(None),
        }
    }

    /// The value of the first item that has one of these sets of attributes.
    #[cfg(feature = "keyring")]
    pub(crate) fn find(&self, any_of: Vec<Attributes>) -> Result<Option<SecretString>, KeyringProblem> {
        self.ask(move |service| {
            for attributes in &any_of {
                if let Some(found) = service.find(attributes)? {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        })
    }

    /// Keeps an item, and makes sure that it is given back.
    #[cfg(feature = "keyring")]
    pub(crate) fn keep(
        &self,
        label: &'static str,
        attributes: Attributes,
        value: SecretString,
    ) -> Result<(), KeyringProblem> {
        use secrecy::ExposeSecret as _;
        self.ask(move |service| {
            service.keep(label, &attributes, &value)?;
            match service.find(&attributes)? {
                Some(found) if found.expose_secret() == value.expose_secret() => Ok(()),
                _ => Err(KeyringProblem::Failed("does not give back what it was given".to_owned())),
            }
        })
    }

    /// Asks on a thread that nobody waits for longer than [`TIME`].
    #[cfg(feature = "keyring")]
    fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut secret_service::SecretService) -> Result<T, KeyringProblem> + Send + 'static,
    ) -> Result<T, KeyringProblem> {
        let Some(bus) = self.bus.clone() else { return Err(KeyringProblem::NoBus) };
        let mut silent_since = self.silent_since.lock().unwrap_or_else(PoisonError::into_inner);
        if silent_since.is_some_and(|since| since.elapsed() < LEFT_ALONE) {
            return Err(KeyringProblem::Silent);
        }
        let (sender, receiver) = mpsc::channel();
        let end = Instant::now() + TIME;
        let asking = std::thread::Builder::new().name("keyring".to_owned()).spawn(move || {
            let outcome = secret_service::SecretService::open(&bus, end).and_then(|mut service| work(&mut service));
            drop(sender.send(outcome));
        });
        if asking.is_err() {
            return Err(KeyringProblem::Failed("cannot be asked: no thread can be started".to_owned()));
        }
        let outcome = receiver.recv_timeout(TIME).unwrap_or(Err(KeyringProblem::Silent));
        *silent_since = matches!(outcome, Err(KeyringProblem::Silent)).then(Instant::now);
        outcome
    }

    /// Nothing.
    #[cfg(not(feature = "keyring"))]
    pub(crate) fn find(&self, _: Vec<Attributes>) -> Result<Option<SecretString>, KeyringProblem> {
        Err(KeyringProblem::NotBuilt)
    }

    /// Nowhere.
    #[cfg(not(feature = "keyring"))]
    pub(crate) fn keep(&self, _: &'static str, _: Attributes, _: SecretString) -> Result<(), KeyringProblem> {
        Err(KeyringProblem::NotBuilt)
    }
}

impl KeyringProblem {
    /// What a person can do.
    pub(crate) const fn hint(&self) -> &'static str {
        match self {
            #[cfg(not(feature = "keyring"))]
            Self::NotBuilt => "use a helve that was built with the feature `keyring`",
            Self::NoBus => "run it in the desktop session, or set DBUS_SESSION_BUS_ADDRESS",
            Self::NoService => "start the program that keeps it, such as gnome-keyring or KWallet",
            Self::Silent => "look whether it waits for you to unlock it, then try again",
            Self::Locked => "unlock it, then try again",
            Self::Volatile | Self::Failed(_) => "look at it with the program of your desktop",
        }
    }
}

impl fmt::Display for KeyringProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            #[cfg(not(feature = "keyring"))]
            Self::NotBuilt => "is not part of this helve",
            Self::NoBus => "cannot be reached: this is not a desktop session",
            Self::NoService => "is not there: no program keeps one",
            Self::Silent => "did not answer within 2 s",
            Self::Locked => "is locked",
            Self::Volatile => "keeps nothing beyond this session",
            Self::Failed(what) => what,
        })
    }
}

#[cfg(all(test, feature = "keyring"))]
#[path = "keyring_tests.rs"]
mod tests;
