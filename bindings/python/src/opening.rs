//! From what a Python program says to a host: which files are read, what the program adds to them, and what the process knows about
//! machine and person. This file alone looks at the environment.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use helve::wire::EraPreference;
use helve::{ErrorCode, Host, Recorder, SamplingLimits};
use helve_config::trust::{TrustRequest, TrustStore as _};
use helve_config::{
    Blocker, CommandLine, Configuration, Diagnostic, Dialect, ExplicitFile, FilePlace, LoadRequest, Settings, Severity,
    discover, read_text,
};
use helve_model::{Layer, ServerSpec};
use helve_setup::store::trust::TrustFile;
use helve_setup::store::{MemoryStateStore, StateStore, Stores};
use helve_setup::{Choices, ConfiguredRoots, Environment, Lifetime, OwnProgram, Recipe, Setup, SetupError, Wanted};
use serde::Deserialize;

use crate::callbacks::{PythonApprover, PythonElicitor, PythonLog, PythonRecorder, PythonSampler};
use crate::mailbox::Home;

/// The verb that makes the program a warden.
const WARDEN_VERB: &str = "__warden";

/// Where a program's own servers are said to be written.
const PROGRAM: &str = "Host(…).toml";

/// What a Python program says about its host, as `helve._host` writes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Opening {
    /// Files to read instead of those that are found.
    config: Vec<PathBuf>,
    /// The form of those files, where their names do not say it.
    dialect: Option<String>,
    /// Servers, rules and settings, as a `helve.toml` says them.
    document: Option<String>,
    /// Nothing of the person's is read: no file that is found, nothing that is remembered.
    alone: bool,
    /// No server of any file.
    empty: bool,
    /// Where relative paths begin; `None`: where the process is.
    directory: Option<PathBuf>,
    /// The program that came with this package.
    program: PathBuf,
    approve: bool,
    elicit: bool,
    sample: bool,
    log: bool,
    record: bool,
}

/// A host that runs, and what it was made of.
pub(crate) struct Opened {
    pub(crate) host: Host,
    pub(crate) setup: Arc<Setup>,
    pub(crate) settings: Settings,
}

impl Opening {
    /// Starts the host.
    ///
    /// # Errors
    /// Whatever keeps the configuration from being used, or a required server from coming.
    pub(crate) async fn open(self, home: Arc<Home>) -> Result<Opened, SetupError> {
        let environment = environment(&self)?;
        let mut setup = Setup::new(environment).with_choices(Choices {
            files: self.config.clone(),
            dialect: self.dialect.as_deref().map(dialect).transpose()?,
            only_files: self.alone,
            ..Choices::default()
        });
        if self.alone {
            // What the person trusts, approved and pinned is about their own configuration.
            setup = setup.with_state_store(Arc::new(MemoryStateStore::default()) as Arc<dyn StateStore>);
        }
        let setup = Arc::new(setup);
        // Files are read, which may take a while.
        let (recipe, configuration) = {
            let (setup, document, empty) = (Arc::clone(&setup), self.document.clone(), self.empty);
            let read = tokio::task::spawn_blocking(move || recipe(&setup, document.as_deref(), empty));
            read.await.map_err(|error| SetupError::machine(error.to_string()))??
        };
        let stores = setup.stores().ok();
        let host = self.start(&recipe, &configuration, stores, home).await?;
        Ok(Opened { host, setup, settings: configuration.settings })
    }

    async fn start(
        &self,
        recipe: &Recipe,
        configuration: &Configuration,
        stores: Option<Stores>,
        home: Arc<Home>,
    ) -> Result<Host, SetupError> {
        let settings = &configuration.settings;
        let has_roots = !settings.roots.value.is_empty();
        let mut recipe = recipe.clone();
        if self.record {
            recipe = recipe.with_recorder(Arc::new(PythonRecorder(Arc::clone(&home))) as Arc<dyn Recorder>);
        }
        let mut builder = recipe.builder();
        if self.approve {
            builder = builder.approver(PythonApprover { home: Arc::clone(&home), stores });
        }
        if self.elicit {
            builder = builder.elicitor(PythonElicitor(Arc::clone(&home)));
        }
        if self.sample {
            builder = builder.sampler(PythonSampler(Arc::clone(&home)), SamplingLimits::default());
        }
        if has_roots {
            builder = builder.roots(ConfiguredRoots(settings.roots.value.clone()));
        }
        if self.log {
            builder = builder.log_sink(PythonLog(home));
        }
        // Somebody answers: servers that can ask in the older era alone are spoken to in that.
        if self.elicit || self.sample || has_roots {
            builder = builder.era_preference(EraPreference::Legacy);
        }
        Ok(builder.start().await?)
    }
}

/// The servers of a document in the form of `helve.toml`.
///
/// # Errors
/// `CONFIG` for whatever is wrong with it.
pub(crate) fn servers(setup: &Setup, document: &str) -> Result<Vec<ServerSpec>, SetupError> {
    Ok(command_line(setup, document)?.servers)
}

fn recipe(setup: &Setup, document: Option<&str>, empty: bool) -> Result<(Recipe, Configuration), SetupError> {
    let choices = setup.choices();
    let trust: TrustFile = setup.stores().and_then(|stores| stores.read()).unwrap_or_default();
    let configuration = helve_config::load(LoadRequest {
        environment: setup.known_to_configuration(),
        discover: !choices.only_files,
        files: choices.files.iter().map(|path| ExplicitFile { path: path.clone(), dialect: choices.dialect }).collect(),
        command_line: document.map(|document| command_line(setup, document)).transpose()?.unwrap_or_default(),
        trust: &|request: &TrustRequest| trust.is_trusted(request),
    });
    setup.check_named_files(&configuration)?;
    let mut recipe = Recipe::new(setup, &configuration, Wanted::All, Lifetime::Long)?;
    if empty {
        recipe.plan.servers.clear();
    }
    Ok((recipe, configuration))
}

/// What a program says, read as a file is. Nothing of it is left out: a mistake in it is the program's, and an error.
fn command_line(setup: &Setup, document: &str) -> Result<CommandLine, SetupError> {
    let environment = setup.known_to_configuration();
    let place = FilePlace {
        path: setup.environment().working_directory().join(PROGRAM),
        application: Dialect::Helve.name(),
        dialect: Dialect::Helve,
        layer: Layer::CommandLine,
        project: discover::project_root(environment),
    };
    let content = read_text(&place, document, environment);
    let of_servers = content.servers.iter().flat_map(|server| &server.diagnostics);
    let is_wrong = |diagnostic: &&Diagnostic| diagnostic.severity != Severity::Note;
    if let Some(diagnostic) = content.diagnostics.iter().chain(of_servers).find(is_wrong) {
        let error = SetupError::new(ErrorCode::Config, diagnostic.message.clone());
        return Err(diagnostic.hints.iter().fold(error, |error, hint| error.with_hint(hint)));
    }
    let mut specs = Vec::new();
    for server in content.servers {
        let refused = |reason: String| {
            SetupError::new(ErrorCode::Config, format!("the server `{}` cannot be used: {reason}", server.name))
        };
        match (server.blockers.first(), server.spec) {
            (None, Some(spec)) => specs.push(spec),
            (Some(Blocker::UnsetVariable { variable, .. }), _) => {
                return Err(refused(format!("{variable} is not set")));
            }
            (Some(Blocker::NeedsInput { id, .. }), _) => {
                return Err(refused(format!("nobody can be asked for `{id}`")));
            }
            (Some(Blocker::Unsupported(what)), _) => return Err(refused(what.clone())),
            (_, _) => return Err(refused("its entry has mistakes".to_owned())),
        }
    }
    Ok(CommandLine { servers: specs, rules: content.rules, settings: content.settings })
}

fn dialect(name: &str) -> Result<Dialect, SetupError> {
    Dialect::named(name).ok_or_else(|| {
        let names: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
        SetupError::new(ErrorCode::Config, format!("there is no dialect `{name}`"))
            .with_hint(format!("there are: {}", names.join(", ")))
    })
}

#[expect(clippy::disallowed_methods, reason = "a process has to read its surroundings somewhere: here, for each host")]
fn environment(opening: &Opening) -> Result<Environment, SetupError> {
    let directory = std::env::current_dir()
        .map_err(|error| SetupError::machine("the current directory cannot be found").with_cause(&error))?;
    let mut environment = Environment::new(directory)
        .with_variables(std::env::vars_os())
        .with_temporary_directory(std::env::temp_dir())
        .with_clock(SystemTime::now)
        .with_certificates(certificates)
        .with_program(OwnProgram {
            path: opening.program.clone(),
            warden: vec![WARDEN_VERB.into()],
            may_serve,
            serves: |words| words.iter().any(|word| may_serve(word)),
            // A host of a program lives as long as the program does: it has nobody keep its servers.
            keeps: |_, _| Vec::new(),
        });
    if let Some(home) = std::env::home_dir().filter(|home| home.is_absolute()) {
        environment = environment.with_home(home);
    }
    Ok(match &opening.directory {
        Some(directory) => environment.standing_in(directory),
        None => environment,
    })
}

/// True when a word, or a text of words, may name a verb by which the program serves.
fn may_serve(text: &str) -> bool {
    text.contains("serve") || text.contains("keep") || text.contains("hub") || text.contains('$')
}

/// The authorities that this system trusts.
fn certificates() -> &'static [Vec<u8>] {
    static KNOWN: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
        let found = rustls_native_certs::load_native_certs();
        found.certs.into_iter().map(|certificate| certificate.as_ref().to_vec()).collect()
    });
    &KNOWN
}
