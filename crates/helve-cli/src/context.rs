//! What every verb is handed: the surroundings, the options, the printer, and the way to configuration and memory.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use helve::{CallContext, CallSource, Door};
use helve_config::trust::{TrustRequest, TrustStore as _};
use helve_config::{
    Code, CommandLine, Configuration, ConfiguredServer, Diagnostic, Environment, ExplicitFile, Request, Setting,
    Severity, discover,
};
use helve_model::{ErrorCode, Layer, Origin, ServerName};
use helve_policy::Caller;

use crate::env::Env;
use crate::failure::Failure;
use crate::itself::Itself;
use crate::options::GlobalOptions;
use crate::printer::Printer;
use crate::questions::Asked;
use crate::sign_ins::Credentials;
use crate::store::Stores;
use crate::store::approvals::ApprovalFile;
use crate::store::trust::TrustFile;

/// Names less like the one that was typed than this are not suggested.
const SIMILARITY: f64 = 0.75;

/// An error about a name lists the others up to this many.
const MAX_LISTED_NAMES: usize = 12;

/// Of `--timeout`, at most this much, and at most a tenth, is left for telling why a server did not start.
const LAST_WORDS: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(crate) struct Context {
    /// Itself, for work that another thread does.
    shared: Weak<Self>,
    pub(crate) env: Env,
    pub(crate) options: GlobalOptions,
    pub(crate) printer: Printer,
    /// What came of the questions that servers asked.
    pub(crate) asked: Arc<Asked>,
    /// Held by whoever asks the person something, and by whoever draws on the terminal meanwhile.
    pub(crate) turn: Arc<Mutex<()>>,
    /// Which servers are this very program, and how deep it runs.
    pub(crate) itself: Itself,
    /// What the configuration knows of `env`.
    pub(crate) environment: Environment,
    /// The same with what the person answered since.
    answered: Mutex<Environment>,
    /// The person has heard that what they trusted cannot be read.
    has_warned: AtomicBool,
    /// What earlier versions knew has been looked at.
    has_retired: AtomicBool,
    /// The servers whose mistakes the person has read.
    pub(crate) told: Mutex<Vec<ServerName>>,
    /// The problems of configurations that were told.
    pub(crate) reported: Mutex<HashSet<String>>,
    /// Who is signed in where; one for all hosts, so that a login is renewed once for all of them.
    credentials: OnceLock<Option<Credentials>>,
}

impl Context {
    pub(crate) fn new(env: Env, options: GlobalOptions) -> Arc<Self> {
        let printer = Printer::new(&env, &options);
        let environment = env.for_configuration();
        let answered = Mutex::new(environment.clone());
        Arc::new_cyclic(|shared| Self {
            shared: Weak::clone(shared),
            env,
            options,
            printer,
            asked: Arc::default(),
            turn: Arc::default(),
            itself: Itself::default(),
            environment,
            answered,
            has_warned: AtomicBool::new(false),
            has_retired: AtomicBool::new(false),
            told: Mutex::default(),
            reported: Mutex::default(),
            credentials: OnceLock::new(),
        })
    }

    /// Itself, for whoever outlives the call it was handed to.
    pub(crate) fn shared(&self) -> Option<Arc<Self>> {
        self.shared.upgrade()
    }

    /// Does work that reads files on a thread of its own: whoever is served meanwhile does not wait for a disk, or for what
    /// somebody put on it. `None` when the program ends.
    pub(crate) async fn aside<T: Send + 'static>(&self, work: impl FnOnce(&Self) -> T + Send + 'static) -> Option<T> {
        let context = self.shared.upgrade()?;
        tokio::task::spawn_blocking(move || work(&context)).await.ok()
    }

    /// The person's logins and secrets; `None` where nothing can be kept.
    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.credentials.get_or_init(|| Credentials::new(&self.env)).as_ref()
    }

    /// Keeps an answer to `${input:id}` of a file for as long as helve runs.
    pub(crate) fn remember_answer(&self, file: &Path, id: &str, answer: &str) {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        *answered = answered.clone().with_answer(file, id, answer);
    }

    /// Loads the configuration. What is wrong with it is for the caller to [report](Self::report); only a file the
    /// person named has to be usable.
    pub(crate) fn load(&self) -> Result<Configuration, Failure> {
        let trust = match self.stores() {
            Ok(stores) => match stores.read::<TrustFile>() {
                Ok(file) => file,
                // Nobody's own servers stop because of it: nothing of a project is trusted, that is all.
                Err(failure) => {
                    if !self.has_warned.swap(true, Ordering::Relaxed) {
                        let message = failure.message();
                        self.printer.warning(format!("{message}; nothing of this project counts as trusted"));
                    }
                    TrustFile::default()
                }
            },
            Err(_) => TrustFile::default(),
        };
        let environment = self.answered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let configuration = helve_config::load(Request {
            environment: &environment,
            discover: !self.options.no_discover,
            files: self.explicit_files(),
            command_line: self.command_line(),
            trust: &|request: &TrustRequest| trust.is_trusted(request),
        });
        self.printer.words.learn(&configuration);
        match configuration.diagnostics.iter().find(|diagnostic| self.is_fatal(diagnostic)) {
            Some(diagnostic) => Err(self.fatal(diagnostic)),
            None => Ok(configuration),
        }
    }

    /// Nothing runs by rules that nobody knows: a rule that denies may be among those that could not be read.
    pub(crate) fn check_rules_are_known(&self, configuration: &Configuration) -> Result<(), Failure> {
        let Some(diagnostic) = configuration.broken_rules() else { return Ok(()) };
        let place = self.shown(&diagnostic.origin);
        let message = format!("nothing is started, because {place} cannot be used: {}", diagnostic.message);
        let failure = Failure::new(ErrorCode::Config, message);
        let failure = diagnostic.hints.iter().fold(failure, |failure, hint| failure.hint(hint));
        Err(failure.hint("a rule that denies may stand in it: repair it, or move it away"))
    }

    /// Says which servers were not started because nobody trusts them.
    pub(crate) fn report_untrusted(&self, names: &[String]) {
        if !names.is_empty() {
            let names = names.join(", ");
            self.printer.warning(format!("not started, because nobody has trusted this project yet: {names}"));
            self.printer.hint("`helve trust` shows what would run, and asks");
        }
    }

    /// In whose name calls are made: a person's, who can be asked, or a script's.
    pub(crate) const fn caller(&self) -> Caller {
        if self.env.can_ask() { Caller::Person } else { Caller::Script }
    }

    /// A call made from this command line.
    pub(crate) fn call(&self) -> CallContext {
        CallContext { source: CallSource::new(Door::CommandLine), ..CallContext::new(self.caller()) }
    }

    /// Where trust, approvals and pins are kept.
    pub(crate) fn stores(&self) -> Result<Stores, Failure> {
        let directory = self.env.directories.state.as_ref().ok_or_else(|| {
            Failure::other("there is no home directory to remember anything in").hint("set HOME or XDG_STATE_HOME")
        })?;
        let stores = Stores::new(directory);
        if !self.has_retired.swap(true, Ordering::Relaxed) {
            self.retire_old_answers(&stores);
        }
        Ok(stores)
    }

    /// Says, once, which answers of an earlier helve have ended and why. A file that cannot be read or written is told by
    /// whoever needs it.
    fn retire_old_answers(&self, stores: &Stores) {
        let tell = |ended: Result<Vec<String>, Failure>, why: &str| {
            if let Some(names) = ended.ok().filter(|names| !names.is_empty()) {
                self.printer.warning(format!("{why}: {}", names.join(", ")));
            }
        };
        tell(stores.retire::<TrustFile>(), "trust covers more than it did, so what you trusted before is asked again");
        tell(
            stores.retire::<ApprovalFile>(),
            "approvals are for one server and no longer for its name, so these are asked again",
        );
    }

    /// The project the person stands in, links resolved, as the stores spell it.
    pub(crate) fn project(&self) -> String {
        let root = discover::project_root(&self.environment);
        fs_err::canonicalize(&root).unwrap_or(root).to_string_lossy().into_owned()
    }

    /// The server a person means, or why there is none.
    pub(crate) fn server<'a>(
        &self,
        configuration: &'a Configuration,
        name: &str,
    ) -> Result<&'a ConfiguredServer, Failure> {
        configuration.select(name).ok_or_else(|| {
            let names: Vec<&str> = configuration.servers.iter().map(|server| server.name.as_str()).collect();
            let failure = Failure::new(ErrorCode::ServerNotFound, format!("there is no server `{name}`"));
            let failure = failure.at_server(name);
            match nearest(name, &names) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None if names.is_empty() => failure.hint("no server is configured: `helve add NAME -- COMMAND`"),
                None => failure.hint(format!("there are: {}", listed(&names))),
            }
        })
    }

    /// A place in a configuration, as a person would write it.
    pub(crate) fn shown(&self, origin: &Origin) -> String {
        match origin {
            Origin::File { path, line, .. } => format!("{}:{line}", self.env.shown(path)),
            Origin::BuiltIn | Origin::CommandLine | Origin::Program => origin.to_string(),
        }
    }

    /// Every file the configuration is or could be read from.
    pub(crate) fn candidate_files(&self) -> Vec<std::path::PathBuf> {
        let named = self.options.files.iter().map(|file| self.env.working_directory().join(file));
        if self.options.no_discover {
            return named.collect();
        }
        let own = helve_config::discover::own_files(&self.environment);
        let imported = helve_config::discover::imported_files(&self.environment, &helve_config::Import::All);
        named.chain(own.into_iter().chain(imported).map(|place| place.path)).collect()
    }

    fn explicit_files(&self) -> Vec<ExplicitFile> {
        let dialect = self.options.dialect;
        self.options.files.iter().map(|path| ExplicitFile { path: path.clone(), dialect }).collect()
    }

    fn command_line(&self) -> CommandLine {
        let mut command_line = CommandLine::default();
        if let Some(timeout) = self.options.timeout {
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
        let is_named = |file: &std::path::PathBuf| {
            path.as_ref() == file || path.as_ref() == self.env.working_directory().join(file).as_path()
        };
        diagnostic.severity == Severity::Error
            && matches!(diagnostic.code, Code::MissingFile | Code::Unreadable | Code::Syntax | Code::UnknownDialect)
            && self.options.files.iter().any(is_named)
    }

    fn fatal(&self, diagnostic: &Diagnostic) -> Failure {
        let message = match diagnostic.code {
            Code::Syntax => format!("{}: {}", self.shown(&diagnostic.origin), diagnostic.message),
            _ => diagnostic.message.clone(),
        };
        let failure = Failure::new(ErrorCode::Config, message);
        let failure = diagnostic.hints.iter().fold(failure, |failure, hint| failure.hint(hint));
        match diagnostic.code {
            Code::UnknownDialect => failure.hint("`--dialect` says it: `--dialect mcp-json`"),
            _ => failure,
        }
    }
}

/// The file a value was written in.
pub(crate) fn file_of(origin: &Origin) -> Option<&Path> {
    match origin {
        Origin::File { path, .. } => Some(path),
        Origin::BuiltIn | Origin::CommandLine | Origin::Program => None,
    }
}

/// The name that was probably meant.
pub(crate) fn nearest<'a>(wrong: &str, names: &[&'a str]) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    let similar = names.iter().map(|name| (strsim::jaro_winkler(&wrong, &name.to_lowercase()), *name));
    let near = similar.filter(|(similarity, _)| *similarity >= SIMILARITY);
    near.max_by(|(left, _), (right, _)| left.total_cmp(right)).map(|(_, name)| name)
}

fn listed(names: &[&str]) -> String {
    let mut text = names.iter().take(MAX_LISTED_NAMES).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_LISTED_NAMES {
        text.push_str(", …");
    }
    text
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
