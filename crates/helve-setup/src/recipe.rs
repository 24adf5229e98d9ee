//! What a host is made of: settings, surroundings, plan, approvals; so that several can be made of the same.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use helve::{
    CallError, Confining, Host, HostBuilder, HostSettings, KeptProgram, Plan, Recorder, SecretSource, Surroundings,
};
use helve_config::{Configuration, Settings};
use helve_model::name::parse_written;
use helve_model::{DisabledReason, ErrorCode, QualifiedName, SecretSet};
use helve_policy::Approval;
#[cfg(warden)]
use helve_wire::launch::WardenLauncher;
use helve_wire::launch::{Launcher, PlainLauncher};
use helve_wire::{ClientCapabilities, Nesting};

use crate::builtins::ShippedTools;
use crate::code::INTERPRETERS;
use crate::environment::Environment;
use crate::error::SetupError;
use crate::keep::{self, Place};
use crate::notice::Notice;
use crate::secrets::Secrets;
use crate::setup::Setup;
use crate::store::approvals::ApprovalFile;

/// The directory below the cache directory that tool lists are kept in.
const LISTS: &str = "tools";

/// The directory below the cache directory that large results are kept in.
const RESULTS: &str = "results";

/// The directory below the cache directory that confined servers have theirs in.
const SANDBOXES: &str = "sandbox";

/// Events that a host keeps for a slow listener, where it is one of many.
const EVENTS_KEPT_FOR_ONE: usize = 8;

/// How often a host that stays asks whether its servers are there.
const PING_EVERY: Duration = Duration::from_secs(30);

/// Which servers are needed from the start; the others wait until a call wants them.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// All that are on.
    All,
    /// These.
    Only(&'a [String]),
    /// Whichever a call turns out to need.
    OnDemand,
}

/// How long a host runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// It does one thing and ends.
    Short,
    /// It runs until it is stopped: lists are followed, connections are kept alive.
    Long,
}

/// What a host is made of, so that several can be made of the same.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// Times and limits.
    pub settings: HostSettings,
    /// Servers and rules.
    pub plan: Plan,
    surroundings: Surroundings,
    approvals: Vec<Approval>,
    builtins: Arc<ShippedTools>,
    mcp: bool,
}

impl Setup {
    /// What a host is to have, from the configuration.
    ///
    /// # Errors
    /// `CONFIG` when it is not known which rules there are.
    pub fn host_plan(&self, configuration: &Configuration, wanted: Wanted<'_>) -> Result<Plan, SetupError> {
        self.check_rules_are_known(configuration)?;
        let mut plan = self.plan(configuration)?;
        self.warn_of_depth(&plan);
        for planned in &mut plan.servers {
            let spec = &mut planned.spec;
            spec.lazy = match wanted {
                Wanted::All => spec.lazy,
                Wanted::Only(names) => !names.iter().any(|name| name == spec.name.as_str()),
                Wanted::OnDemand => true,
            };
            // What nobody asked for must not fail the host.
            spec.required = spec.required && !spec.lazy;
        }
        Ok(plan)
    }

    /// Says why a helve that was started by itself again and again starts nothing.
    fn warn_of_depth(&self, plan: &Plan) {
        let depth = plan.servers.iter().find_map(|planned| match planned.held {
            Some(DisabledReason::Nested(depth)) => Some(depth),
            _ => None,
        });
        if let Some(depth) = depth
            && self.itself.is_first_warning()
        {
            self.notices.hear(Notice::TooDeep(depth));
        }
    }

    /// The time that the person gave the whole counts for every server, whatever time its own entry gives it.
    pub fn hurry(&self, plan: &mut Plan) {
        if self.choices.timeout.is_some() {
            for planned in &mut plan.servers {
                planned.spec.call_timeout = None;
                planned.spec.startup_timeout = None;
            }
        }
    }

    /// The directory tool lists are kept in.
    #[must_use]
    pub fn lists_directory(&self) -> Option<PathBuf> {
        self.environment.directories().cache.as_ref().map(|cache| cache.join(LISTS))
    }

    /// The directory that results are kept in whole where agents get a part of them.
    fn spill_directory(&self) -> Option<PathBuf> {
        self.environment.directories().cache.as_ref().map(|cache| cache.join(RESULTS))
    }

    /// How servers are confined. `None` where nobody knows where this program or a cache is: then none is started that
    /// is to be.
    #[must_use]
    pub fn confining(&self) -> Option<Confining> {
        self.confining.get_or_init(|| self.new_confining()).as_ref().map(Confining::for_another_host)
    }

    fn new_confining(&self) -> Option<Confining> {
        let directories = self.environment.directories();
        let stage = self.environment.program()?.as_warden();
        let cache = directories.cache.as_ref()?;
        // All of helve's own but the directories of confined servers themselves.
        let own = [&directories.config, &directories.state].into_iter().flatten().cloned();
        let own = own.chain([LISTS, RESULTS, INTERPRETERS].map(|kept| cache.join(kept))).collect();
        Some(Confining::new(stage, cache.join(SANDBOXES), self.environment.home().map(Path::to_owned), own))
    }

    /// Tools as a setting names them; what is no `server/tool` is told, and left out.
    fn cacheable(&self, configuration: &Configuration) -> Vec<QualifiedName> {
        let tools = &configuration.settings.cacheable_tools.value;
        let is_place = |word: &str| configuration.hubs.iter().any(|hub| hub.place.as_str() == word);
        let parse = |tool: &String| {
            let name = parse_written(tool, is_place);
            if name.is_none() {
                self.notices.hear(Notice::NotATool { setting: "cacheable_tools", text: tool.clone() });
            }
            name
        };
        tools.iter().filter_map(parse).collect()
    }
}

impl Recipe {
    /// What a host of this configuration is made of.
    ///
    /// # Errors
    /// `CONFIG` when it is not known which rules there are; whatever keeps approvals and pins from being read.
    pub fn new(
        setup: &Setup,
        configuration: &Configuration,
        wanted: Wanted<'_>,
        lifetime: Lifetime,
    ) -> Result<Self, SetupError> {
        let settings = &configuration.settings;
        let keeps = settings.cache_tool_schemas.value;
        let stays = lifetime == Lifetime::Long;
        let host_settings = HostSettings::default().with(|host_settings| {
            host_settings.call_timeout = settings.call_timeout.value;
            host_settings.startup_timeout = settings.startup_timeout.value;
            host_settings.max_retries = settings.max_retries.value;
            host_settings.schema_cache_ttl = keeps.then_some(settings.schema_cache_ttl.value);
            host_settings.in_flight_per_server = settings.calls_per_server.value as usize;
            host_settings.result_bytes = settings.result_bytes.value.map_or(usize::MAX, |bytes| bytes as usize);
            host_settings.result_cache_ttl = settings.result_cache_ttl.value;
            host_settings.validation = settings.validation.value;
            host_settings.cacheable = setup.cacheable(configuration);
            host_settings.ping_interval = stays.then_some(PING_EVERY);
            host_settings.follow_changes = stays;
        });
        let environment = &setup.environment;
        let surroundings = Surroundings::default().with(|surroundings| {
            surroundings.environment = environment.variables().into();
            surroundings.launcher = launcher(environment);
            surroundings.working_directory = Some(environment.working_directory().to_owned());
            surroundings.cache_directory = setup.lists_directory();
            surroundings.spill_directory = setup.spill_directory().filter(|_| settings.result_bytes.value.is_some());
            surroundings.confining = setup.confining();
            surroundings.sign_ins = setup.credentials().map(|credentials| Arc::clone(&credentials.sign_ins));
            surroundings.secrets = Some(Arc::new(Secrets::new(setup)));
            surroundings.proxies = environment.proxies();
            surroundings.certificates = environment.certificates();
            surroundings.nesting = setup.itself.nesting(environment).clone();
        });
        let approvals = setup.stores().and_then(|stores| stores.read::<ApprovalFile>())?;
        Ok(Self {
            settings: host_settings,
            surroundings,
            plan: setup.host_plan(configuration, wanted)?,
            approvals: approvals.approvals().collect(),
            builtins: Arc::new(ShippedTools::new(environment)),
            mcp: !setup.choices.no_mcp,
        })
    }

    /// The same, and every call that ends is recorded.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.surroundings.recorder = Some(recorder);
        self
    }

    /// Values of late references come from here, and lists are not kept: for a host that is there to try something.
    pub(crate) fn set_secrets(&mut self, secrets: Arc<dyn SecretSource>) {
        self.surroundings.secrets = Some(secrets);
        self.surroundings.cache_directory = None;
    }

    /// The same, and every secret that a server is started with is known here, too.
    #[must_use]
    pub fn with_known_secrets(mut self, known: Arc<SecretSet>) -> Self {
        self.surroundings.known_secrets = Some(known);
        self
    }

    /// The same for one agent of many: every server is started at its first use only, and little is kept for listeners.
    #[must_use]
    pub fn on_demand(mut self) -> Self {
        self.settings.events_kept = EVENTS_KEPT_FOR_ONE;
        self.plan = self.plan.on_demand();
        self
    }

    /// Starts the program of a server, to be kept.
    ///
    /// # Errors
    /// There is no such server, or it does not start.
    pub async fn start_program(&self, name: &str) -> Result<KeptProgram, CallError> {
        match self.plan.servers.iter().find(|planned| planned.spec.name.as_str() == name && planned.held.is_none()) {
            Some(planned) => KeptProgram::start(planned, &self.surroundings).await,
            None => Err(CallError::new(ErrorCode::ServerNotFound, format!("there is no server `{name}`"))),
        }
    }

    /// How deep its hosts run.
    #[must_use]
    pub const fn nesting(&self) -> &Nesting {
        &self.surroundings.nesting
    }

    /// Where these servers are kept, or would be.
    ///
    /// # Errors
    /// The key of the fingerprints cannot be read or made.
    pub fn place(&self, setup: &Setup) -> Result<Option<Place>, SetupError> {
        Place::of(setup, &self.plan, &self.surroundings)
    }

    /// Takes servers from whoever keeps them; begins to keep them where the configuration says so.
    ///
    /// # Errors
    /// The key of the fingerprints cannot be read or made.
    pub async fn take_kept(&mut self, setup: &Setup, settings: &Settings) -> Result<(), SetupError> {
        if !settings.keep.value && Place::all(setup).is_empty() {
            return Ok(());
        }
        let Some(place) = self.place(setup)? else { return Ok(()) };
        if settings.keep.value
            && !place.is_alive().await
            && let Err(error) = keep::start(setup, &place, settings.keep_idle.value).await
        {
            setup.notices.hear(Notice::NotKept(error));
            return Ok(());
        }
        self.surroundings.keeper = Some(Arc::new(place.connector()));
        Ok(())
    }

    /// Starts a host that asks nobody: what needs somebody's yes is refused, and so is what servers ask.
    ///
    /// # Errors
    /// Why a server does not come that has to be there.
    pub async fn start(&self) -> Result<Host, SetupError> {
        Ok(self.builder().start().await?)
    }

    /// A host of this, not started yet: whoever has somebody to ask adds an approver, an elicitor and so on.
    pub fn builder(&self) -> HostBuilder {
        Host::builder()
            .settings(self.settings.clone())
            .surroundings(self.surroundings.clone())
            .plan(self.plan.clone())
            .builtins(Arc::clone(&self.builtins) as Arc<dyn helve::Builtins>)
            .approvals(self.approvals.clone())
            .mcp(self.mcp)
    }
}

/// What a host is made of for the person whose environment this is: their files, what they trust, what they approved and
/// accepted, their logins and secrets. All servers that are on are started with it, and their lists are followed.
///
/// # Errors
/// `CONFIG` when it is not known which rules there are; whatever keeps trust, approvals and pins from being read.
pub fn from_environment(environment: impl Into<Arc<Environment>>) -> Result<Recipe, SetupError> {
    let setup = Setup::new(environment);
    let configuration = setup.load()?;
    Recipe::new(&setup, &configuration, Wanted::All, Lifetime::Long)
}

/// What servers are told that a verb which lists tools can answer: forms and pages, and directories where some are
/// configured. Lists are kept for whoever can do the same.
pub(crate) fn asker(settings: &Settings) -> ClientCapabilities {
    let has_roots = !settings.roots.value.is_empty();
    ClientCapabilities {
        elicitation_form: true,
        elicitation_url: true,
        roots: has_roots,
        roots_list_changed: has_roots,
        ..ClientCapabilities::default()
    }
}

/// Servers are held by a warden where this program can be one, so that not even a killed helve leaves one behind.
pub(crate) fn launcher(environment: &Environment) -> Arc<dyn Launcher> {
    match environment.program() {
        #[cfg(warden)]
        Some(program) => Arc::new(WardenLauncher::new(program.as_warden())),
        _ => Arc::new(PlainLauncher),
    }
}
