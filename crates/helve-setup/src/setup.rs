//! What everything here begins with: the surroundings, the person's choices, and the way to configuration and memory.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use helve::Confining;
use helve_config::{
    Code, CommandLine, Configuration, Diagnostic, Dialect, ExplicitFile, LoadRequest, Setting, Severity, discover,
};
use helve_model::{ErrorCode, Hint, Layer, Origin};

use crate::credentials::Credentials;
use crate::environment::Environment;
use crate::error::SetupError;
use crate::itself::Itself;
use crate::keyring::Keyring;
use crate::notice::{LoggedNotices, Notice, NoticeSink};
use crate::store::approvals::ApprovalFile;
use crate::store::connections::Connections;
use crate::store::trust::TrustFile;
use crate::store::{StateStore, Stores};

/// Of [`Choices::timeout`], at most this much, and at most a tenth, is left for telling why a server did not start.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// What the person chose for this run, beside what files say.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// Files that are read too, and win over all others.
    pub files: Vec<PathBuf>,
    /// The form of those files, where their names do not say it.
    pub dialect: Option<Dialect>,
    /// Nothing but those files is read.
    pub only_files: bool,
    /// How long anything may take.
    pub timeout: Option<Duration>,
    /// Do without MCP servers altogether.
    pub no_mcp: bool,
}

/// From files to hosts: what is known about machine and person, and what was found out since.
#[derive(Debug)]
pub struct Setup {
    pub(crate) environment: Arc<Environment>,
    pub(crate) choices: Choices,
    pub(crate) notices: Arc<dyn NoticeSink>,
    /// Which servers are this very program, and how deep it runs.
    pub(crate) itself: Itself,
    /// What was written into other applications' files, read when it is first asked for.
    pub(crate) connections: OnceLock<Connections>,
    /// What the configuration knows of the environment.
    known_to_configuration: helve_config::Environment,
    /// The same with what the person answered since.
    answered: Mutex<helve_config::Environment>,
    /// Where trust, approvals and pins are kept, where that is not the person's own directory.
    state: Option<Arc<dyn StateStore>>,
    /// Told every secret value that is opened, so that nobody says it.
    on_secret: Option<fn(&str)>,
    /// Somebody has heard that what they trusted cannot be read.
    has_warned: AtomicBool,
    /// What earlier versions knew has been looked at.
    has_retired: AtomicBool,
    /// The program that prints the key of the vault, as the newest configuration says.
    vault_key: Mutex<VaultKey>,
    /// The system's keyring; one for all, so that one that hangs is waited for once.
    keyring: OnceLock<Arc<Keyring>>,
    /// The logins; one for all hosts, so that a login is renewed once for all of them.
    credentials: OnceLock<Option<Credentials>>,
    /// How servers are confined; one for all hosts, so that the machine is asked once what it can enforce.
    pub(crate) confining: OnceLock<Option<Confining>>,
}

/// What is known about the program that prints the key of the vault.
#[derive(Debug, Default, Clone)]
enum VaultKey {
    /// No configuration was read yet.
    #[default]
    Unknown,
    Printed(Option<String>),
}

impl Setup {
    /// For the person whose environment this is.
    pub fn new(environment: impl Into<Arc<Environment>>) -> Self {
        let environment = environment.into();
        let known_to_configuration = environment.for_configuration();
        Self {
            choices: Choices::default(),
            notices: Arc::new(LoggedNotices),
            itself: Itself::default(),
            connections: OnceLock::new(),
            answered: Mutex::new(known_to_configuration.clone()),
            known_to_configuration,
            environment,
            state: None,
            on_secret: None,
            has_warned: AtomicBool::new(false),
            has_retired: AtomicBool::new(false),
            vault_key: Mutex::default(),
            keyring: OnceLock::new(),
            credentials: OnceLock::new(),
            confining: OnceLock::new(),
        }
    }

    /// With what the person chose for this run.
    #[must_use]
    pub fn with_choices(mut self, choices: Choices) -> Self {
        self.choices = choices;
        self
    }

    /// With somebody who hears what the person should hear.
    #[must_use]
    pub fn with_notices(mut self, notices: Arc<dyn NoticeSink>) -> Self {
        self.notices = notices;
        self
    }

    /// With another place for trust, approvals, pins and what is sealed than the person's own directory.
    #[must_use]
    pub fn with_state_store(mut self, state: Arc<dyn StateStore>) -> Self {
        self.state = Some(state);
        self
    }

    /// With somebody who is told every secret value that is opened, so that it can be left out of whatever is said.
    #[must_use]
    pub const fn with_secret_listener(mut self, on_secret: fn(&str)) -> Self {
        self.on_secret = Some(on_secret);
        self
    }

    /// What is known about machine and person.
    #[must_use]
    pub const fn environment(&self) -> &Arc<Environment> {
        &self.environment
    }

    /// What the person chose for this run.
    #[must_use]
    pub const fn choices(&self) -> &Choices {
        &self.choices
    }

    /// Which servers are this very program, and how deep it runs.
    #[must_use]
    pub const fn itself(&self) -> &Itself {
        &self.itself
    }

    /// What the configuration knows of the environment.
    #[must_use]
    pub const fn known_to_configuration(&self) -> &helve_config::Environment {
        &self.known_to_configuration
    }

    /// The person's logins and secrets; `None` where nothing can be kept.
    pub fn credentials(&self) -> Option<&Credentials> {
        self.credentials.get_or_init(|| Credentials::new(self)).as_ref()
    }

    /// Where trust, approvals, pins and what is sealed are kept, where that is not the person's own directory.
    pub(crate) const fn state_store(&self) -> Option<&Arc<dyn StateStore>> {
        self.state.as_ref()
    }

    /// The system's keyring. Nothing is asked for it.
    pub(crate) fn keyring(&self) -> &Arc<Keyring> {
        self.keyring.get_or_init(|| Arc::new(Keyring::new(&self.environment)))
    }

    /// The program that prints the key of the vault. Whoever needs it before there was a configuration reads it for this.
    pub(crate) fn vault_key(&self) -> Option<String> {
        let known = self.vault_key.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match known {
            VaultKey::Printed(command) => command,
            VaultKey::Unknown => self.read_configuration().settings.vault_key.value,
        }
    }

    pub(crate) const fn on_secret(&self) -> Option<fn(&str)> {
        self.on_secret
    }

    /// Keeps an answer to `${input:id}` of a file for as long as this lives.
    pub fn remember_answer(&self, file: &Path, id: &str, answer: &str) {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        *answered = answered.clone().with_answer(file, id, answer);
    }

    /// Loads the configuration. What is wrong with it stands in its diagnostics.
    #[must_use]
    pub fn read_configuration(&self) -> Configuration {
        let trust = match self.stores() {
            Ok(stores) => match stores.read::<TrustFile>() {
                Ok(file) => file,
                // Nobody's own servers stop because of it: nothing of a project is trusted, that is all.
                Err(error) => {
                    if !self.has_warned.swap(true, Ordering::Relaxed) {
                        self.notices.hear(Notice::TrustUnreadable(error));
                    }
                    TrustFile::default()
                }
            },
            Err(_) => TrustFile::default(),
        };
        let environment = self.answered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut configuration = helve_config::load(LoadRequest {
            environment: &environment,
            discover: !self.choices.only_files,
            files: self.explicit_files(),
            command_line: self.command_line(),
            trust: &trust,
        });
        let vault_key = configuration.settings.vault_key.value.clone();
        *self.vault_key.lock().unwrap_or_else(PoisonError::into_inner) = VaultKey::Printed(vault_key);
        self.add_hub_servers(&mut configuration);
        configuration
    }

    /// Loads the configuration.
    ///
    /// # Errors
    /// `CONFIG` when a file that the person named cannot be used. What else is wrong stands in its diagnostics.
    pub fn load(&self) -> Result<Configuration, SetupError> {
        let configuration = self.read_configuration();
        self.check_named_files(&configuration)?;
        Ok(configuration)
    }

    /// Checks that the files which the person named can be used.
    ///
    /// # Errors
    /// `CONFIG` when one cannot.
    pub fn check_named_files(&self, configuration: &Configuration) -> Result<(), SetupError> {
        match configuration.diagnostics.iter().find(|diagnostic| self.is_fatal(diagnostic)) {
            Some(diagnostic) => Err(self.fatal(diagnostic)),
            None => Ok(()),
        }
    }

    /// Nothing runs by rules that nobody knows: a rule that denies may be among those that could not be read.
    ///
    /// # Errors
    /// `CONFIG` when a file that may hold rules cannot be used.
    pub fn check_rules_are_known(&self, configuration: &Configuration) -> Result<(), SetupError> {
        let Some(diagnostic) = configuration.broken_rules() else { return Ok(()) };
        let place = self.environment.shown_origin(&diagnostic.origin);
        let message = format!("nothing is started, because {place} cannot be used: {}", diagnostic.message);
        let error = SetupError::new(ErrorCode::Config, message);
        let error = diagnostic.hints.iter().fold(error, |error, hint| error.with_hint(hint));
        Err(error.with_hint("a rule that denies may stand in it: repair it, or move it away"))
    }

    /// Where trust, approvals and pins are kept.
    ///
    /// # Errors
    /// Nobody said where home is, nor brought another place.
    pub fn stores(&self) -> Result<Stores, SetupError> {
        let stores = match (&self.state, &self.environment.directories().state) {
            (Some(state), _) => Stores::new(Arc::clone(state)),
            (None, Some(directory)) => Stores::in_directory(directory),
            (None, None) => {
                return Err(SetupError::machine("there is no home directory to remember anything in")
                    .with_hint("set HOME or XDG_STATE_HOME"));
            }
        };
        if !self.has_retired.swap(true, Ordering::Relaxed) {
            self.retire_old_answers(&stores);
        }
        Ok(stores)
    }

    /// Says, once, which answers of an earlier helve have ended and why. A file that cannot be read or written is told by
    /// whoever needs it.
    fn retire_old_answers(&self, stores: &Stores) {
        let tell = |ended: Result<Vec<String>, SetupError>, notice: fn(Vec<String>) -> Notice| {
            if let Some(names) = ended.ok().filter(|names| !names.is_empty()) {
                self.notices.hear(notice(names));
            }
        };
        tell(stores.retire::<TrustFile>(), Notice::TrustEnded);
        tell(stores.retire::<ApprovalFile>(), Notice::ApprovalsEnded);
    }

    /// The project the person stands in, links resolved, as the stores spell it.
    #[must_use]
    pub fn project(&self) -> String {
        let root = discover::project_root(&self.known_to_configuration);
        fs_err::canonicalize(&root).unwrap_or(root).to_string_lossy().into_owned()
    }

    /// Every file the configuration is or could be read from.
    #[must_use]
    pub fn candidate_files(&self) -> Vec<PathBuf> {
        let named = self.choices.files.iter().map(|file| self.environment.working_directory().join(file));
        if self.choices.only_files {
            return named.collect();
        }
        let own = discover::own_files(&self.known_to_configuration);
        let imported = discover::imported_files(&self.known_to_configuration, &helve_config::Import::All);
        named.chain(own.into_iter().chain(imported).map(|place| place.path)).collect()
    }

    fn explicit_files(&self) -> Vec<ExplicitFile> {
        let dialect = self.choices.dialect;
        self.choices.files.iter().map(|path| ExplicitFile { path: path.clone(), dialect }).collect()
    }

    fn command_line(&self) -> CommandLine {
        let mut command_line = CommandLine::default();
        if let Some(timeout) = self.choices.timeout {
            let setting = |value| Setting { value, origin: Origin::CommandLine, layer: Layer::CommandLine };
            command_line.settings.call_timeout = Some(setting(timeout));
            // A server that does not come says why before the time of the whole is over.
            command_line.settings.startup_timeout = Some(setting(timeout - LAST_WORDS.min(timeout / 10)));
        }
        command_line
    }

    /// True for what makes a file unusable that the person named.
    fn is_fatal(&self, diagnostic: &Diagnostic) -> bool {
        let Origin::File { path, .. } = &diagnostic.origin else { return false };
        let is_named = |file: &PathBuf| {
            path.as_ref() == file || path.as_ref() == self.environment.working_directory().join(file).as_path()
        };
        diagnostic.severity == Severity::Error
            && matches!(diagnostic.code, Code::MissingFile | Code::Unreadable | Code::Syntax | Code::UnknownDialect)
            && self.choices.files.iter().any(is_named)
    }

    fn fatal(&self, diagnostic: &Diagnostic) -> SetupError {
        let message = match diagnostic.code {
            Code::Syntax => format!("{}: {}", self.environment.shown_origin(&diagnostic.origin), diagnostic.message),
            _ => diagnostic.message.clone(),
        };
        let error = SetupError::new(ErrorCode::Config, message);
        let error = diagnostic.hints.iter().fold(error, |error, hint| error.with_hint(hint));
        match diagnostic.code {
            Code::UnknownDialect => error.with_hint(Hint::NameDialect),
            _ => error,
        }
    }
}

/// The file a value was written in.
#[must_use]
pub fn file_of(origin: &Origin) -> Option<&Path> {
    match origin {
        Origin::File { path, .. } => Some(path),
        Origin::BuiltIn | Origin::CommandLine | Origin::Program => None,
    }
}
