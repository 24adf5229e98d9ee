//! A host for one command: started with no more servers than the verb needs, bounded by `--timeout`, ended by Ctrl-C.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use helve::{CallError, Host, HostEvent, ServerReport};
use helve_config::Configuration;
use helve_model::{ErrorCode, PendingReason, ServerStatus};
use helve_setup::{ConfiguredRoots, Lifetime, Recipe, SetupError, Wanted};
use helve_wire::EraPreference;
use tokio::signal::unix::{SignalKind, signal};

use crate::approve::TerminalApprover;
use crate::context::Context;
use crate::failure::Failure;
use crate::questions::{CommandLineElicitor, NobodyCalled, QuestionArgs};
use crate::sampler::{self, CommandSampler};

/// Longer than any start-up time-out: servers answer for themselves.
const SETTLING: Duration = Duration::from_secs(3_600);

/// How long a question that is given up may take to leave the terminal as it was.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What a host is started with, beside the servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner<'a> {
    pub(crate) lifetime: Lifetime,
    /// It tells how servers are doing, and keeps to `--timeout` itself: one that does not come, required or not, is part
    /// of the answer.
    pub(crate) reports: bool,
    /// Lists that earlier runs kept are shown although their servers would rather be asked again.
    pub(crate) shows_aged_lists: bool,
    /// It calls something, and this is how it answers what it is asked meanwhile.
    pub(crate) questions: Option<&'a QuestionArgs>,
}

impl Default for Manner<'_> {
    fn default() -> Self {
        Self { lifetime: Lifetime::Short, reports: false, shows_aged_lists: false, questions: None }
    }
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
    let mut events = host.changes();
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

async fn start(
    context: &Context,
    configuration: &Configuration,
    wanted: Wanted<'_>,
    manner: Manner<'_>,
) -> Result<Host, Failure> {
    let yes = manner.questions.is_some_and(|questions| questions.yes);
    let mut recipe = Recipe::new(&context.setup, configuration, wanted, manner.lifetime)?;
    recipe.settings.shows_aged_lists = manner.shows_aged_lists;
    let settings = &configuration.settings;
    let sampler = match manner.questions {
        Some(questions) => CommandSampler::new(context, questions.sampler.as_deref(), settings)?,
        None => None,
    };
    // Whoever keeps servers has told them that they cannot ask for a model or for directories.
    if sampler.is_none() && settings.roots.value.is_empty() {
        recipe.take_kept(&context.setup, settings).await?;
    }
    // Not before: servers are kept under what their entries say.
    context.setup.hurry(&mut recipe.plan);
    if manner.reports {
        recipe.plan.servers.iter_mut().for_each(|planned| planned.spec.required = false);
    }
    let mut builder = recipe.builder().approver(TerminalApprover::new(context, yes));
    if let Some(questions) = manner.questions {
        // Somebody answers: servers that can ask in the older era alone are spoken to in that.
        let answers = context.console.can_ask() || !questions.answers.is_empty();
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
    // The report says it where it belongs.
    if !manner.reports {
        for problem in host.rule_problems() {
            context.printer.warning(problem.to_string());
        }
    }
    Ok(host)
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

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let mut failure = Self::new(error.code(), error.chain())
            .with_may_have_run(error.may_have_run())
            .with_challenge(error.challenge());
        if let Some(server) = error.server() {
            failure = failure.at_server(server.as_str());
        }
        if let Some(tool) = error.tool() {
            failure = failure.at_tool(tool.as_str());
        }
        error.hints().iter().fold(failure, |failure, hint| failure.hint(hint))
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        let failure = match error.code() {
            Some(code) => Self::new(code, error.message()),
            None => Self::other(error.message()),
        };
        let mut failure = failure.because_of(error.causes());
        if let Some(server) = error.server() {
            failure = failure.at_server(server.as_str());
        }
        if let Some(tool) = error.tool() {
            failure = failure.at_tool(tool.as_str());
        }
        error.hints().iter().fold(failure, |failure, hint| failure.hint(hint))
    }
}
