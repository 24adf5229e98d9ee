//! Adding a server: what was understood, what came of a test.

use std::collections::HashMap;

use helve::StartStep;
use helve_config::edit::NewTransport;
use helve_model::ServerStatus;
use helve_model::sandbox::{Choice as Sandboxed, Profile};
use helve_page::view::{
    Add, Choice, Failure, FileVersion, Problem, Sandbox, SecretSlot, Step, StepState, TestRun, Tone, Understood,
    UnderstoodKind,
};
use helve_setup::Trial;
use helve_store::Moment;
use http::StatusCode;

use super::{Fields, field};
use crate::actor::Actor;
use crate::error::{Details, HubError, TextProblem};
use crate::hub::Hub;
use crate::verbs::add::{self, AddRequest, Understanding};
use crate::verbs::draft::Slot;
use crate::verbs::files::may_change_programs;
use crate::verbs::sealing;
use crate::verbs::trial_steps::{self, StepEnd};
use crate::verbs::trials::{RunningTrial, TrialState};

/// So many of the last lines of stderr are shown.
const STDERR_LINES: usize = 40;

/// What was posted.
pub(super) fn request(fields: &Fields) -> AddRequest {
    let text = |key: &str| field(fields, key).to_owned();
    let secret = |(key, value): &(String, String)| {
        Some((key.strip_prefix("secret:")?.to_owned(), value.clone())).filter(|(_, value)| !value.is_empty())
    };
    AddRequest {
        typed: text("typed"),
        entry: text("entry"),
        name: text("name"),
        scope: text("scope"),
        sandbox: text("sandbox"),
        secrets: fields.iter().filter_map(secret).collect(),
        version: text("version"),
        shown: text("shown"),
    }
}

/// The screen before anything was typed.
pub(super) fn empty(hub: &Hub, typed: &str) -> Add {
    let programs_refused = may_change_programs(hub, &Actor::Session).err().map(|error| error.message().to_owned());
    Add { typed: typed.to_owned(), programs_refused, ..Add::default() }
}

/// What was understood, with what came of a test; what is wrong, if it was not. With the status that says so.
pub(super) fn view(
    hub: &Hub,
    request: &AddRequest,
    test: Option<&RunningTrial>,
    refusal: Option<&HubError>,
) -> (StatusCode, Add) {
    let mut view = empty(hub, &request.typed);
    let mut status = refusal.map_or(StatusCode::OK, HubError::status);
    let state = test.map(|one| (one, one.state()));
    let mut run = None;
    match &state {
        // Nothing was started: what is wrong stands above.
        Some((_, TrialState::Ended(ended))) if ended.is_err() => {
            if let Err(error) = ended.as_ref() {
                status = error.status();
                view.problems = problems(error);
            }
        }
        Some((one, state)) => run = Some(test_run(hub, one, state)),
        None => {}
    }
    match add::understand(hub, &Actor::Session, request) {
        Ok(understanding) => {
            view.typed.clone_from(&understanding.typed);
            view.understood = Some(understood(hub, request, understanding, run));
        }
        Err(error) => {
            view.problems = problems(&error);
            // A name that cannot be had takes nothing else away: what was understood stands below, under another one.
            let unnamed = AddRequest { name: String::new(), ..request.clone() };
            if !request.name.is_empty()
                && let Ok(understanding) = add::understand(hub, &Actor::Session, &unnamed)
            {
                view.typed.clone_from(&understanding.typed);
                view.understood = Some(understood(hub, &unnamed, understanding, None));
            }
        }
    }
    if let Some(error) = refusal {
        view.problems.extend(problems(error));
    }
    (status, view)
}

/// A test as it is now.
pub(super) fn followed(hub: &Hub, one: &RunningTrial) -> TestRun {
    test_run(hub, one, &one.state())
}

fn test_run(hub: &Hub, one: &RunningTrial, state: &TrialState) -> TestRun {
    match state {
        TrialState::Running(steps, began) => running(one, steps, *began, hub.now()),
        TrialState::Ended(ended) => match ended.as_ref() {
            Ok(trial) => test(trial),
            Err(error) => TestRun {
                failure: Some(Failure {
                    code: error.code().to_owned(),
                    message: error.message().to_owned(),
                    hints: error.hints().to_vec(),
                    stderr: Vec::new(),
                }),
                ..TestRun::default()
            },
        },
    }
}

/// A test that runs: what is done, and what is under way.
fn running(one: &RunningTrial, heard: &[(StartStep, Moment)], began: Moment, now: Moment) -> TestRun {
    let mut since = began;
    let mut steps = Vec::new();
    let mut took = |at: Moment| {
        let took = u64::try_from(at.since(since).as_micros()).unwrap_or(u64::MAX);
        since = at;
        Some(took)
    };
    for (step, at) in heard {
        let (what, detail) = match step {
            StartStep::Launched => (trial_steps::START, None),
            StartStep::Greeted { version, era } => (trial_steps::AGREE, Some(format!("{version} ({era})"))),
            _ => continue,
        };
        steps.push(Step { what: what.to_owned(), state: StepState::Done, detail, took_us: took(*at) });
    }
    let is_greeted = heard.iter().any(|(step, _)| matches!(step, StartStep::Greeted { .. }));
    let rest: &[&str] = match (heard.is_empty(), is_greeted) {
        (true, _) => &[trial_steps::BEGIN, trial_steps::AGREE, trial_steps::LIST],
        (false, false) => &[trial_steps::AGREE, trial_steps::LIST],
        (false, true) => &[trial_steps::LIST],
    };
    for (index, what) in rest.iter().enumerate() {
        let state = if index == 0 { StepState::Running } else { StepState::Waiting };
        let took_us = if index == 0 { took(now) } else { None };
        steps.push(Step { what: (*what).to_owned(), state, detail: None, took_us });
    }
    TestRun { id: one.id.clone(), is_running: true, steps, failure: None, tools: Vec::new() }
}

/// What is wrong with a text, as pages show it.
pub(super) fn problems(error: &HubError) -> Vec<Problem> {
    match error.details() {
        Details::Problems(problems) => problems.iter().map(problem).collect(),
        _ => {
            let hint = error.hints().first().cloned();
            vec![Problem { message: error.message().to_owned(), hint, ..Problem::default() }]
        }
    }
}

pub(super) fn problem(problem: &TextProblem) -> Problem {
    Problem {
        line: problem.at.map(|(line, _)| line),
        column: problem.at.map(|(_, column)| column),
        message: problem.message.clone(),
        hint: problem.hints.first().cloned(),
        is_warning: problem.is_warning,
    }
}

fn understood(hub: &Hub, request: &AddRequest, found: Understanding, test: Option<TestRun>) -> Understood {
    let environment = hub.setup.environment();
    let pairs = sealing::pairs(&found.server).clone();
    let kind = match &found.server.transport {
        NewTransport::Program { command, arguments, working_directory, .. } => UnderstoodKind::Program {
            words: std::iter::once(command).chain(arguments).cloned().collect(),
            resolved: environment.find_program(command).map(|path| environment.shown(&path)),
            directory: Some(
                working_directory.clone().unwrap_or_else(|| environment.shown(environment.working_directory())),
            ),
            variables: pairs,
        },
        NewTransport::Address { url, .. } => UnderstoodKind::Http { url: url.clone(), headers: pairs },
    };
    let chosen = found.sandbox.unwrap_or(Sandboxed::Off);
    let missing = if chosen == Sandboxed::Off { None } else { hub.setup.why_not_confined() };
    let sandbox = match (&missing, chosen) {
        (Some(why), _) => Sandbox { word: "cannot be had here".into(), tone: Tone::Bad, details: vec![why.clone()] },
        (None, Sandboxed::Off) => Sandbox { word: "not confined".into(), tone: Tone::Warn, details: Vec::new() },
        (None, Sandboxed::In(profile)) => Sandbox { word: profile.to_string(), tone: Tone::Good, details: Vec::new() },
    };
    let scope = |target: &add::Target| Choice {
        value: target.scope.clone(),
        label: environment.shown(&target.place.path),
        help: Some(match target.scope.as_str() {
            "user" => "yours, everywhere".to_owned(),
            "project" => "everybody's in this project".to_owned(),
            "local" => "yours in this project".to_owned(),
            _ => "the file that the hub was started with".to_owned(),
        }),
        is_chosen: target.scope == found.target.scope,
    };
    let entry = |name: &String| Choice {
        value: name.clone(),
        label: name.clone(),
        help: None,
        is_chosen: *name == found.entry,
    };
    let slot = |slot: &Slot| SecretSlot {
        name: slot.name.clone(),
        description: slot.description.clone(),
        goes_to: slot.goes_to.clone(),
        is_filled: slot.is_filled,
        // What was typed is not shown again, and need not be typed again: its mark comes back with the form.
        mark: request.secrets.get(&slot.name).filter(|value| !value.is_empty()).map(|value| {
            if hub.masks.unmasked(value, &HashMap::new()).is_ok_and(|plain| plain != *value) {
                value.clone()
            } else {
                hub.masks.remember(value)
            }
        }),
    };
    Understood {
        came_as: found.came_as.clone(),
        name: found.name.clone(),
        entries: if found.entries.len() > 1 { found.entries.iter().map(entry).collect() } else { Vec::new() },
        kind,
        sandboxes: sandboxes(chosen),
        sandbox,
        secrets: found.slots.iter().map(slot).collect(),
        scopes: found.targets.iter().map(scope).collect(),
        file: FileVersion {
            path: found.file.name.clone(),
            version: found.file.version.clone(),
            locked: found.file.locked.clone(),
        },
        text: found.text.clone(),
        warnings: found.warnings.clone(),
        refused: found.refused.clone(),
        shown: found.shown.clone(),
        test,
    }
}

/// The sandboxes there are.
pub(super) fn sandboxes(chosen: Sandboxed) -> Vec<Choice> {
    let choice = |choice: Sandboxed| Choice {
        value: choice.to_string(),
        label: choice.to_string(),
        help: Some(
            match choice {
                Sandboxed::Off => "it may do whatever you may",
                Sandboxed::In(Profile::Standard) => {
                    "reads the system, its runtime and its directory; writes a cache of its own; reaches the network"
                }
                Sandboxed::In(Profile::Offline) => "the same without the network; writes nothing that lasts",
                Sandboxed::In(Profile::Strict) => "reads the system and what its entry names; no network",
            }
            .to_owned(),
        ),
        is_chosen: choice == chosen,
    };
    Sandboxed::ALL.into_iter().map(choice).collect()
}

/// What came of a test, step by step.
pub(super) fn test(trial: &Trial) -> TestRun {
    let report = &trial.report;
    let step = |(what, end, detail): (&str, StepEnd, Option<String>)| Step {
        what: what.to_owned(),
        state: match end {
            StepEnd::Done => StepState::Done,
            StepEnd::Failed => StepState::Failed,
            StepEnd::NotTried => StepState::Waiting,
        },
        detail,
        took_us: None,
    };
    let lines: Vec<String> = report.stderr.iter().flat_map(|text| text.lines()).map(ToOwned::to_owned).collect();
    let stderr: Vec<String> = lines.iter().skip(lines.len().saturating_sub(STDERR_LINES)).cloned().collect();
    let hints = || report.hints.iter().map(ToString::to_string).collect::<Vec<_>>();
    let failure = match &report.status {
        ServerStatus::Connected => report.list_error.clone().map(|message| ("PROTOCOL_ERROR".to_owned(), message)),
        ServerStatus::Failed(failure) => Some((failure.code.as_str().to_owned(), failure.message.clone())),
        ServerStatus::NeedsAuth { .. } => {
            Some(("AUTH_REQUIRED".to_owned(), "it wants a login: save it, then sign in on its page".to_owned()))
        }
        _ if trial.is_late => Some(("TIMEOUT".to_owned(), "it did not come in time".to_owned())),
        other => Some(("SERVER_UNAVAILABLE".to_owned(), other.to_string())),
    };
    TestRun {
        id: String::new(),
        is_running: false,
        steps: trial_steps::steps(trial).into_iter().map(step).collect(),
        failure: failure.map(|(code, message)| Failure { code, message, hints: hints(), stderr }),
        tools: trial.tools.clone(),
    }
}
