//! A host for one command: started with no more servers than the verb needs, bounded by `--timeout`, ended by Ctrl-C.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use helve::{
    CallError, Confining, Host, HostBuilder, HostEvent, HostSettings, KeptProgram, Plan, ServerReport, Surroundings,
};
use helve_config::{Configuration, Settings};
use helve_model::name::parse_slash;
use helve_model::{DisabledReason, ErrorCode, PendingReason, QualifiedName, ServerStatus};
use helve_policy::Approval;
use helve_wire::launch::{Launcher, PlainLauncher, WardenLauncher, WardenProgram};
use helve_wire::{ClientCapabilities, EraPreference, Nesting};
use tokio::signal::unix::{SignalKind, signal};

use crate::approve::TerminalApprover;
use crate::builtins::Builtins;
use crate::context::Context;
use crate::failure::Failure;
use crate::keep::{self, Place};
use crate::plan::plan;
use crate::questions::{CommandLineElicitor, NobodyCalled, QuestionArgs};
use crate::roots::ConfiguredRoots;
use crate::sampler::{self, CommandSampler};
use crate::secrets::Secrets;
use crate::store::approvals::ApprovalFile;

/// The verb that makes this program a warden: see `main`.
pub(crate) const WARDEN_VERB: &str = "__warden";

/// The directory below the cache directory that tool lists are kept in.
const LISTS: &str = "tools";

/// The directory below the cache directory that large results are kept in.
const RESULTS: &str = "results";

/// The directory below the cache directory that confined servers have theirs in.
const SANDBOXES: &str = "sandbox";

/// Events that a host keeps for a slow listener, where it is one of many.
const EVENTS_KEPT_FOR_ONE: usize = 64;

/// Longer than any start-up time-out: servers answer for themselves.
const SETTLING: Duration = Duration::from_secs(3_600);

/// How long a question that is given up may take to leave the terminal as it was.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Which servers a verb needs from the start; the others wait until a call wants them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted<'a> {
    /// All that are on.
    All,
    /// These.
    Only(&'a [String]),
    /// Whichever a call turns out to need.
    OnDemand,
}

/// What a host is started with, beside the servers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manner<'a> {
    /// It runs until it is stopped: lists are followed, connections are kept alive.
    pub(crate) stays: bool,
    /// It tells how servers are doing, and keeps to `--timeout` itself: one that does not come, required or not, is part
    /// of the answer.
    pub(crate) reports: bool,
    /// It calls something, and this is how it answers what it is asked meanwhile.
    pub(crate) questions: Option<&'a QuestionArgs>,
}

impl<'a> Manner<'a> {
    /// One that calls something and ends.
    pub(crate) fn answering(questions: &'a QuestionArgs) -> Self {
        Self { questions: Some(questions), ..Self::default() }
    }

    /// One that tells how servers are doing.
    pub(crate) fn reporting() -> Self {
        Self { reports: true, ..Self::default() }
    }
}

/// Runs a verb with a host, and ends every server behind it.
pub(crate) fn with_host<T>(
    context: &Context,
    configuration: &Configuration,
    wanted: Wanted<'_>,
    manner: Manner<'_>,
    body: impl AsyncFnOnce(&Host) -> Result<T, Failure>,
) -> Result<T, Failure> {
    block_on(hosted(context, configuration, wanted, manner, body))
}

/// The same for a verb that has more to do.
pub(crate) async fn hosted<T>(
    context: &Context,
    configuration: &Configuration,
    wanted: Wanted<'_>,
    manner: Manner<'_>,
    body: impl AsyncFnOnce(&Host) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let host = bounded(context, start(context, configuration, wanted, manner)).await?;
    let work = async {
        match manner.questions {
            Some(_) => telling_warnings(context, &host, body(&host)).await,
            None => body(&host).await,
        }
    };
    let result = if manner.reports { interruptible(work).await } else { bounded(context, work).await };
    host.shutdown().await;
    if let Some(questions) = manner.questions {
        context.asked.report_unused(&context.printer, &questions.answers);
    }
    result
}

/// Says, while something is called, what is not as it should be: a question that was declined for the person, most often.
async fn telling_warnings<T>(context: &Context, host: &Host, work: impl Future<Output = T>) -> T {
    let mut events = host.events();
    let tell = |event: HostEvent| {
        if let HostEvent::Warning { server, message } = event {
            context.printer.warning(format!("the server `{server}`: {message}"));
        }
    };
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => {
                while let Some(event) = events.try_next() {
                    tell(event);
                }
                return done;
            }
            Some(event) = events.next() => tell(event),
        }
    }
}

/// Runs a future on a small runtime of its own.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::other("no runtime could be started").cause(&error))?;
    let result = runtime.block_on(future);
    // Somebody may still be typing an answer that nobody waits for.
    runtime.shutdown_timeout(LAST_WORDS);
    result
}

/// What a host is to have, from the configuration.
///
/// # Errors
/// `CONFIG` when it is not known which rules there are.
pub(crate) fn host_plan(context: &Context, configuration: &Configuration, wanted: Wanted<'_>) -> Result<Plan, Failure> {
    context.check_rules_are_known(configuration)?;
    let mut plan = plan(context, configuration)?;
    warn_of_depth(context, &plan);
    for planned in &mut plan.servers {
        let spec = &mut planned.spec;
        spec.lazy = match wanted {
            Wanted::All => spec.lazy,
            Wanted::Only(names) => !names.iter().any(|name| name == spec.name.as_str()),
            Wanted::OnDemand => true,
        };
        // What nobody asked for must not fail the verb.
        spec.required = spec.required && !spec.lazy;
    }
    Ok(plan)
}

/// Says why a helve that was started by itself again and again starts nothing.
fn warn_of_depth(context: &Context, plan: &Plan) {
    let depth = plan.servers.iter().find_map(|planned| match planned.held {
        Some(DisabledReason::Nested(depth)) => Some(depth),
        _ => None,
    });
    if let Some(depth) = depth
        && context.itself.is_first_warning()
    {
        let message = format!("nothing is started: helve runs as a server of helve, {depth} deep");
        context.printer.warning(message);
        context.printer.hint("one of the servers leads back to helve: remove it, or switch it off");
    }
}

/// Waits until servers have come or failed, not longer than `--timeout`. True when all have.
pub(crate) async fn settled(context: &Context, host: &Host) -> bool {
    host.settled(context.options.timeout.unwrap_or(SETTLING)).await
}

/// The servers that `--timeout` was too short for.
pub(crate) fn late(context: &Context, reports: &[ServerReport]) -> Option<Failure> {
    let limit = context.options.timeout?;
    let is_late = |report: &&ServerReport| match &report.status {
        ServerStatus::Pending(reason) => *reason != PendingReason::Lazy,
        ServerStatus::Failed(failure) => failure.code == ErrorCode::Timeout,
        _ => false,
    };
    let names: Vec<String> = reports.iter().filter(is_late).map(|report| format!("`{}`", report.name)).collect();
    if names.is_empty() {
        return None;
    }
    let message = format!("not ready within {} s: {}", limit.as_secs_f64(), names.join(", "));
    Some(Failure::new(ErrorCode::Timeout, message).hint("`--timeout` sets how long everything may take"))
}

/// `--timeout` counts for every server, whatever time its own entry gives it.
pub(crate) fn hurry(context: &Context, plan: &mut Plan) {
    if context.options.timeout.is_some() {
        for planned in &mut plan.servers {
            planned.spec.call_timeout = None;
            planned.spec.startup_timeout = None;
        }
    }
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

/// The directory tool lists are kept in.
pub(crate) fn lists_directory(context: &Context) -> Option<PathBuf> {
    context.env.directories.cache.as_ref().map(|cache| cache.join(LISTS))
}

/// The directory that results are kept in whole where agents get a part of them.
fn spill_directory(context: &Context) -> Option<PathBuf> {
    context.env.directories.cache.as_ref().map(|cache| cache.join(RESULTS))
}

/// Tools as a setting names them; what is no `server/tool` is told, and left out.
fn cacheable(context: &Context, tools: &[String]) -> Vec<QualifiedName> {
    let parse = |tool: &String| {
        let name = parse_slash(tool);
        if name.is_none() {
            context.printer.warning(format!("`{tool}` in `cacheable_tools` is no tool: write server/tool"));
        }
        name
    };
    tools.iter().filter_map(parse).collect()
}

async fn start(
    context: &Context,
    configuration: &Configuration,
    wanted: Wanted<'_>,
    manner: Manner<'_>,
) -> Result<Host, Failure> {
    let yes = manner.questions.is_some_and(|questions| questions.yes);
    let mut recipe = Recipe::new(context, configuration, wanted, manner.stays)?;
    let settings = &configuration.settings;
    let sampler = match manner.questions {
        Some(questions) => CommandSampler::new(context, questions.sampler.as_deref(), settings)?,
        None => None,
    };
    // Whoever keeps servers has told them that they cannot ask for a model or for directories.
    if sampler.is_none() && settings.roots.value.is_empty() {
        recipe.take_kept(context, settings).await?;
    }
    // Not before: servers are kept under what their entries say.
    hurry(context, &mut recipe.plan);
    if manner.reports {
        recipe.plan.servers.iter_mut().for_each(|planned| planned.spec.required = false);
    }
    let mut builder = recipe.builder().approver(TerminalApprover::new(context, yes));
    if let Some(questions) = manner.questions {
        // Somebody answers: servers that can ask in the older era alone are spoken to in that.
        let answers = context.env.can_ask() || !questions.answers.is_empty();
        if answers || sampler.is_some() || !settings.roots.value.is_empty() {
            builder = builder.era_preference(EraPreference::Legacy);
        }
        builder = builder.elicitor(CommandLineElicitor::new(context, questions));
    } else {
        builder = builder.elicitor(NobodyCalled);
    }
    if let Some(sampler) = sampler {
        builder = builder.sampler(sampler, sampler::limits(settings));
    }
    if !settings.roots.value.is_empty() {
        builder = builder.roots(ConfiguredRoots(settings.roots.value.clone()));
    }
    let host = builder.start().await?;
    // Who reports says it where it belongs.
    if !manner.reports {
        for problem in host.rule_problems() {
            context.printer.warning(problem.to_string());
        }
    }
    Ok(host)
}

/// What a host is made of, so that several can be made of the same.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub(crate) settings: HostSettings,
    surroundings: Surroundings,
    pub(crate) plan: Plan,
    approvals: Vec<Approval>,
    builtins: Arc<Builtins>,
    mcp: bool,
}

impl Recipe {
    /// `stays`: the host runs until it is stopped, lists are followed, connections are kept alive.
    pub(crate) fn new(
        context: &Context,
        configuration: &Configuration,
        wanted: Wanted<'_>,
        stays: bool,
    ) -> Result<Self, Failure> {
        let settings = &configuration.settings;
        let keeps = settings.cache_tool_schemas.value;
        let host_settings = HostSettings {
            call_timeout: settings.call_timeout.value,
            startup_timeout: settings.startup_timeout.value,
            max_retries: settings.max_retries.value,
            schema_cache_ttl: keeps.then_some(settings.schema_cache_ttl.value),
            in_flight_per_server: settings.calls_per_server.value as usize,
            result_bytes: settings.result_bytes.value.map_or(usize::MAX, |bytes| bytes as usize),
            result_cache_ttl: settings.result_cache_ttl.value,
            validation: settings.validation.value,
            cacheable: cacheable(context, &settings.cacheable_tools.value),
            ping_interval: stays.then_some(Duration::from_secs(30)),
            follow_changes: stays,
            ..HostSettings::default()
        };
        let surroundings = Surroundings {
            environment: context.env.variables(),
            launcher: launcher(context),
            working_directory: Some(context.env.working_directory().to_owned()),
            cache_directory: lists_directory(context),
            spill_directory: spill_directory(context).filter(|_| settings.result_bytes.value.is_some()),
            confining: confining(context),
            sign_ins: context.credentials().map(|credentials| Arc::clone(&credentials.sign_ins)),
            secrets: Some(Arc::new(Secrets::new(context))),
            nesting: context.itself.nesting(&context.env).clone(),
            ..Surroundings::default()
        };
        let approvals = context.stores().and_then(|stores| stores.read::<ApprovalFile>())?;
        Ok(Self {
            settings: host_settings,
            surroundings,
            plan: host_plan(context, configuration, wanted)?,
            approvals: approvals.approvals().collect(),
            builtins: Arc::new(Builtins::new(&context.env)),
            mcp: !context.options.no_mcp,
        })
    }

    /// The same for one agent of many: every server is started at its first use only, and little is kept for listeners.
    pub(crate) fn on_demand(mut self) -> Self {
        self.settings.events_kept = EVENTS_KEPT_FOR_ONE;
        self.plan = self.plan.on_demand();
        self
    }

    /// Starts the program of a server, to be kept.
    pub(crate) async fn start_program(&self, name: &str) -> Result<KeptProgram, CallError> {
        match self.plan.servers.iter().find(|planned| planned.spec.name.as_str() == name && planned.held.is_none()) {
            Some(planned) => KeptProgram::start(planned, &self.surroundings).await,
            None => Err(CallError::new(ErrorCode::ServerNotFound, format!("there is no server `{name}`"))),
        }
    }

    /// How deep its hosts run.
    pub(crate) const fn nesting(&self) -> &Nesting {
        &self.surroundings.nesting
    }

    /// Where these servers are kept, or would be.
    pub(crate) fn place(&self, context: &Context) -> Result<Option<Place>, Failure> {
        Place::of(context, &self.plan, &self.surroundings)
    }

    /// Takes servers from whoever keeps them; begins to keep them where the configuration says so.
    async fn take_kept(&mut self, context: &Context, settings: &Settings) -> Result<(), Failure> {
        if !settings.keep.value && Place::all(context).is_empty() {
            return Ok(());
        }
        let Some(place) = self.place(context)? else { return Ok(()) };
        if settings.keep.value
            && !place.is_alive().await
            && let Err(failure) = keep::start(context, &place, settings.keep_idle.value).await
        {
            context.printer.warning(format!("servers are not kept running: {}", failure.message()));
            return Ok(());
        }
        self.surroundings.keeper = Some(Arc::new(place.connector()));
        Ok(())
    }

    pub(crate) fn builder(&self) -> HostBuilder {
        Host::builder()
            .settings(self.settings.clone())
            .surroundings(self.surroundings.clone())
            .plan(self.plan.clone())
            .builtins(Arc::clone(&self.builtins) as Arc<dyn helve::Builtins>)
            .approvals(self.approvals.clone())
            .mcp(self.mcp)
    }
}

/// Not after Ctrl-C.
async fn interruptible<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::select! {
        biased;
        result = work => result,
        interrupted = tokio::signal::ctrl_c() => match interrupted {
            Ok(()) => Err(Failure::new(ErrorCode::Cancelled, "interrupted")),
            Err(error) => Err(Failure::other("Ctrl-C cannot be listened for").cause(&error)),
        },
    }
}

/// Not longer than `--timeout`, and not after Ctrl-C.
pub(crate) async fn bounded<T>(
    context: &Context,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let too_slow = async {
        match context.options.timeout {
            Some(limit) => {
                tokio::time::sleep(limit).await;
                limit
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        result = interruptible(work) => result,
        limit = too_slow => Err(timed_out(limit)),
    }
}

/// The time that `--timeout` gives is over.
pub(crate) fn timed_out(limit: Duration) -> Failure {
    let message = format!("timed out after {} s", limit.as_secs_f64());
    Failure::new(ErrorCode::Timeout, message).hint("`--timeout` sets how long everything may take")
}

/// Returns when this process is told to end.
pub(crate) async fn until_stopped() -> Result<(), Failure> {
    let deaf = |error| Failure::other("signals cannot be listened for").cause(&error);
    let mut terminate = signal(SignalKind::terminate()).map_err(deaf)?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.map_err(deaf),
        _ = terminate.recv() => Ok(()),
    }
}

/// Servers are held by a warden, so that not even a killed helve leaves one behind.
pub(crate) fn launcher(context: &Context) -> Arc<dyn Launcher> {
    match context.env.executable() {
        Some(path) => {
            Arc::new(WardenLauncher::new(WardenProgram { path: path.to_owned(), leading: vec![WARDEN_VERB.into()] }))
        }
        None => Arc::new(PlainLauncher),
    }
}

/// How servers are confined. `None` where nobody knows where this program or a cache is: then none is started that is to be.
pub(crate) fn confining(context: &Context) -> Option<Confining> {
    let directories = &context.env.directories;
    let stage = WardenProgram { path: context.env.executable()?.to_owned(), leading: vec![WARDEN_VERB.into()] };
    let cache = directories.cache.as_ref()?;
    // All of helve's own but the directories of confined servers themselves.
    let own = [&directories.config, &directories.state].into_iter().flatten().cloned();
    let own = own.chain([cache.join(LISTS), cache.join(RESULTS)]).collect();
    Some(Confining::new(stage, cache.join(SANDBOXES), context.env.home().map(Path::to_owned), own))
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let mut failure = Self::new(error.code(), error.chain()).with_may_have_run(error.may_have_run());
        if let Some(server) = error.server() {
            failure = failure.at_server(server.as_str());
        }
        if let Some(tool) = error.tool() {
            failure = failure.at_tool(tool.as_str());
        }
        error.hints().iter().fold(failure, |failure, hint| failure.hint(hint))
    }
}
