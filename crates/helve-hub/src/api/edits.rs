//! The routes of the API that add, edit, try and take back: each one verb, JSON in and out.

use std::sync::Arc;

use helve_config::edit::NewTransport;
use helve_model::json::RawJson;
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, number, read};
use crate::actor::Actor;
use crate::answer::{self, Body};
use crate::error::{HubError, TextProblem};
use crate::hub::Hub;
use crate::verbs::add::{self, AddRequest, Understanding};
use crate::verbs::always::{AlwaysDraft, AlwaysRequest};
use crate::verbs::draft::Slot;
use crate::verbs::files::FileText;
use crate::verbs::pins::{self, Pinning};
use crate::verbs::rules::{self, Foreseen};
use crate::verbs::settings::{self, SettingsForm};
use crate::verbs::trust::{self, WaitingFile};
use crate::verbs::{changes, files, sealing, sign_in, trial_steps};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewSettings {
    version: String,
    text: Option<String>,
    form: Option<SettingsForm>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewText {
    file: String,
    text: String,
    #[serde(default)]
    version: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pin {
    tool: String,
    action: PinAction,
    definition: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PinAction {
    Pin,
    Unpin,
    Accept,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Version {
    version: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trusting {
    file: String,
    version: String,
}

type Answered = Result<Response<Body>, HubError>;

fn ok(value: &Value) -> Answered {
    Ok(answer::json(StatusCode::OK, value.to_string()))
}

fn written(number: Option<i64>) -> Answered {
    ok(&json!({ "done": true, "change": number }))
}

/// Answers a request that is one of these; `None` where it is not.
pub(super) async fn dispatch(hub: &Arc<Hub>, actor: &Actor, call: &Call<'_>, path: &[&str]) -> Option<Answered> {
    Some(match (call.method.as_str(), path) {
        ("POST", ["understand"]) => understand(hub, actor, call).await,
        ("POST", ["servers"]) => save(hub, actor, call).await,
        ("POST", ["test"]) => test(hub, actor, call).await,
        ("GET", ["servers", name, "settings"]) => get_settings(hub, actor, name).await,
        ("PUT", ["servers", name, "settings"]) => put_settings(hub, actor, name, call).await,
        ("GET", ["servers", name, "definitions"]) => definitions(hub, actor, name).await,
        ("POST", ["servers", name, "pins"]) => pin(hub, actor, name, call).await,
        ("POST", ["servers", name, "sign-in"]) => match sign_in::begin(hub, actor, name).await {
            Ok(page) => ok(&json!({ "page": page.url, "issuer": page.issuer })),
            Err(error) => Err(error),
        },
        ("POST", ["servers", name, "sign-out"]) => match sign_in::end(hub, actor, name).await {
            Ok(()) => ok(&json!({ "done": true })),
            Err(error) => Err(error),
        },
        ("GET", ["rules"]) => list_rules(hub, actor).await,
        ("POST", ["rules", "check"]) => check(hub, actor, call).await,
        ("DELETE", ["rules", "kept", id]) => {
            let (id, actor) = ((*id).to_owned(), actor.clone());
            match hub.read(move |hub| rules::forget(hub, &actor, &id)).await {
                Ok(what) => ok(&json!({ "done": true, "taken_back": what })),
                Err(error) => Err(error),
            }
        }
        ("GET", ["files"]) => list_files(hub).await,
        ("PUT", ["files"]) => put_file(hub, actor, call).await,
        ("GET", ["trust"]) => {
            let actor = actor.clone();
            match hub.read(move |hub| Ok(trust::list(hub, &actor))).await {
                Ok(waiting) => ok(&json!({ "files": waiting.iter().map(waiting_json).collect::<Vec<_>>() })),
                Err(error) => Err(error),
            }
        }
        ("POST", ["trust"]) => say_yes(hub, actor, call).await,
        ("GET", ["changes", seq, "undo"]) => foresee_undo(hub, actor, seq).await,
        ("POST", ["changes", seq, "undo"]) => undo(hub, actor, seq, call).await,
        _ => return None,
    })
}

async fn understand(hub: &Arc<Hub>, actor: &Actor, call: &Call<'_>) -> Answered {
    let (request, actor): (AddRequest, _) = (read(&call.body)?, actor.clone());
    let found = hub.read(move |hub| add::understand(hub, &actor, &request)).await?;
    ok(&understanding_json(&found))
}

async fn save(hub: &Arc<Hub>, actor: &Actor, call: &Call<'_>) -> Answered {
    let (request, actor): (AddRequest, _) = (read(&call.body)?, actor.clone());
    let name = hub.read(move |hub| add::save(hub, &actor, &request)).await?;
    ok(&json!({ "done": true, "server": name }))
}

async fn test(hub: &Arc<Hub>, actor: &Actor, call: &Call<'_>) -> Answered {
    let request: AddRequest = read(&call.body)?;
    let trial = add::test(hub, actor, &request, |_| {}).await?;
    let steps = trial_steps::steps(&trial);
    let step = |(what, end, detail): &(&str, trial_steps::StepEnd, Option<String>)| json!({ "what": what, "end": format!("{end:?}").to_lowercase(), "detail": detail });
    ok(&json!({
        "status": trial.report.status.word(),
        "reason": trial.report.last_error,
        "steps": steps.iter().map(step).collect::<Vec<_>>(),
        "tools": trial.tools,
        "stderr": trial.report.stderr,
        "hints": trial.report.hints.iter().map(ToString::to_string).collect::<Vec<_>>(),
    }))
}

fn understanding_json(found: &Understanding) -> Value {
    let pairs: Vec<Value> =
        sealing::pairs(&found.server).iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let runs = match &found.server.transport {
        NewTransport::Program { command, arguments, working_directory, .. } => json!({
            "words": std::iter::once(command).chain(arguments).collect::<Vec<_>>(),
            "directory": working_directory, "variables": pairs,
        }),
        NewTransport::Address { url, .. } => json!({ "url": url, "headers": pairs }),
    };
    let slot = |slot: &Slot| json!({ "name": slot.name, "description": slot.description, "goes_to": slot.goes_to, "filled": slot.is_filled });
    json!({
        "came_as": found.came_as, "entries": found.entries, "entry": found.entry, "name": found.name, "would": runs,
        "sandbox": found.sandbox.map(|choice| choice.to_string()),
        "secrets": found.slots.iter().map(slot).collect::<Vec<_>>(),
        "scopes": found.targets.iter().map(|target| &target.scope).collect::<Vec<_>>(),
        "scope": found.target.scope, "file": found.file.name, "version": found.file.version, "text": found.text,
        "warnings": found.warnings, "refused": found.refused, "shown": found.shown,
    })
}

async fn get_settings(hub: &Arc<Hub>, actor: &Actor, name: &str) -> Answered {
    let (name, actor) = (name.to_owned(), actor.clone());
    let (entry, text) = hub
        .read(move |hub| {
            let entry = settings::get(hub, &actor, &name)?;
            let text = entry.file.masked(hub).ok();
            Ok((entry, text))
        })
        .await?;
    let form = entry.form.as_ref().map(|written| {
        let server = &written.server;
        let pairs = sealing::pairs(server);
        let transport = match &server.transport {
            NewTransport::Program { command, arguments, working_directory, .. } => json!({
                "command": command, "arguments": arguments, "environment": pairs, "working_directory": working_directory,
            }),
            NewTransport::Address { url, .. } => json!({ "url": url, "headers": pairs }),
        };
        json!({
            "transport": transport, "tools": server.tools, "disabled_tools": server.disabled_tools,
            "call_timeout_seconds": server.call_timeout.map(|time| time.as_secs_f64()),
            "sandbox": server.sandbox.map(|choice| choice.to_string()), "other_keys": written.other_keys,
        })
    });
    let FileText { name: file, version, locked, .. } = &entry.file;
    ok(&json!({
        "server": entry.name, "file": file, "version": version, "locked": locked, "text": text, "form": form,
    }))
}

async fn put_settings(hub: &Arc<Hub>, actor: &Actor, name: &str, call: &Call<'_>) -> Answered {
    let (sent, name, actor): (NewSettings, _, _) = (read(&call.body)?, name.to_owned(), actor.clone());
    let number = hub
        .read(move |hub| match (&sent.text, &sent.form) {
            (Some(text), None) => {
                let entry = settings::get(hub, &actor, &name)?;
                let object = format!("server {}", entry.name);
                settings::save_text(hub, &actor, &entry.file, &sent.version, text, object)
            }
            (None, Some(form)) => settings::save_form(hub, &actor, &name, &sent.version, form),
            _ => Err(HubError::invalid("either `text` or `form` says what is to be")),
        })
        .await?;
    written(number)
}

async fn definitions(hub: &Arc<Hub>, actor: &Actor, name: &str) -> Answered {
    let (name, actor) = (name.to_owned(), actor.clone());
    let changed = hub.read(move |hub| pins::changed(hub, &actor, &name)).await?;
    let one = |changed: &pins::Changed| {
        json!({
            "tool": changed.tool, "seen_us": changed.seen.micros(), "said": changed.said, "definition": changed.hash,
            "held": changed.is_held, "before": raw(&changed.before), "now": raw(&changed.now),
        })
    };
    ok(&json!({ "changed": changed.iter().map(one).collect::<Vec<_>>() }))
}

fn raw(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

async fn pin(hub: &Arc<Hub>, actor: &Actor, name: &str, call: &Call<'_>) -> Answered {
    let (sent, name, actor): (Pin, _, _) = (read(&call.body)?, name.to_owned(), actor.clone());
    hub.read(move |hub| {
        let (pinning, shown) = match sent.action {
            PinAction::Pin => (Pinning::Pin, None),
            PinAction::Unpin => (Pinning::Unpin, None),
            PinAction::Accept => {
                let shown = sent.definition.as_deref();
                (Pinning::Pin, Some(shown.ok_or_else(|| HubError::invalid("`definition` names what is accepted"))?))
            }
        };
        pins::pin(hub, &actor, &name, &sent.tool, pinning, shown)
    })
    .await?;
    ok(&json!({ "done": true }))
}

async fn list_rules(hub: &Arc<Hub>, actor: &Actor) -> Answered {
    let actor = actor.clone();
    let (list, kept) = hub.read(move |hub| Ok((rules::list(hub, &actor)?, rules::kept(hub, &actor)?))).await?;
    let one = |info: &rules::RuleInfo| {
        let rule = &info.rule.rule;
        json!({
            "action": rule.action.to_string(), "tool": rule.tool, "pattern": rule.pattern,
            "kind": rule.kind.map(|kind| kind.to_string()), "risk": rule.risk.map(|risk| risk.to_string()),
            "place": hub.setup.environment().shown_origin(&rule.origin),
            "trusted": info.rule.trust == helve_policy::Trust::Trusted,
            "calls": info.calls, "last_us": info.last.map(helve_store::Moment::micros),
        })
    };
    let answer = |(id, approval): &(String, helve_policy::Approval)| {
        json!({
            "id": id, "tool": approval.tool.to_string(), "kind": approval.kind.to_string(),
            "pattern": approval.pattern, "principal": approval.principal.id(),
        })
    };
    ok(&json!({
        "rules": list.iter().map(one).collect::<Vec<_>>(),
        "kept_answers": kept.iter().map(answer).collect::<Vec<_>>(),
    }))
}

async fn check(hub: &Arc<Hub>, actor: &Actor, call: &Call<'_>) -> Answered {
    let (sent, actor): (NewText, _) = (read(&call.body)?, actor.clone());
    let foreseen = hub
        .read(move |hub| {
            let file = settings::file(hub, &actor, &sent.file)?;
            rules::what_would_change(hub, &actor, &file, &sent.text)
        })
        .await?;
    ok(&foreseen_json(&foreseen))
}

fn foreseen_json(foreseen: &Foreseen) -> Value {
    let action = |action: Option<helve_model::Action>| action.map(|action| action.to_string());
    let flip = |flip: &rules::Flip| {
        json!({
            "who": flip.principal, "tool": flip.tool, "calls": flip.calls, "before": action(flip.before),
            "after": action(flip.after), "because": flip.because,
        })
    };
    json!({
        "calls": foreseen.calls, "flips": foreseen.flips.iter().map(flip).collect::<Vec<_>>(),
        "left_out": foreseen.left_out, "problems": foreseen.problems.iter().map(problem_json).collect::<Vec<_>>(),
    })
}

/// What an address asks for.
pub(super) fn always_request(query: &[(String, String)]) -> AlwaysRequest {
    let text = |key: &str| query.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
    let (who, argument) = (text("who").unwrap_or_default(), text("argument").unwrap_or_default());
    AlwaysRequest { who, argument, ..AlwaysRequest::default() }
}

/// A rule, before it is saved.
pub(super) fn always_json(draft: &AlwaysDraft) -> Value {
    let offered = |(name, value): &(String, String)| json!({ "name": name, "value": value });
    json!({
        "rule": draft.text, "file": draft.file.name, "version": draft.file.version, "locked": draft.file.locked,
        "who": if draft.is_for_caller { "caller" } else { "everybody" },
        "caller": draft.caller.as_ref().map(ToString::to_string), "argument": draft.argument,
        "arguments": draft.arguments.iter().map(offered).collect::<Vec<_>>(),
        "goes_before": draft.overrules, "held_by": draft.held_by, "would_change": foreseen_json(&draft.foreseen),
    })
}

/// What is wrong with a text.
pub(super) fn problem_json(problem: &TextProblem) -> Value {
    json!({
        "line": problem.at.map(|(line, _)| line), "column": problem.at.map(|(_, column)| column),
        "message": problem.message, "hints": problem.hints, "warning": problem.is_warning,
    })
}

async fn list_files(hub: &Arc<Hub>) -> Answered {
    let list = hub
        .read(|hub| {
            let files = files::list(hub, &hub.setup.read_configuration());
            let one = |file: &FileText| {
                let text = file.masked(hub).ok();
                json!({ "file": file.name, "version": file.version, "locked": file.locked, "text": text })
            };
            Ok(files.iter().map(one).collect::<Vec<_>>())
        })
        .await?;
    ok(&json!({ "files": list }))
}

async fn put_file(hub: &Arc<Hub>, actor: &Actor, call: &Call<'_>) -> Answered {
    let (sent, actor): (NewText, _) = (read(&call.body)?, actor.clone());
    let number = hub
        .read(move |hub| {
            let file = settings::file(hub, &actor, &sent.file)?;
            let object = format!("rules in {}", file.name);
            settings::save_text(hub, &actor, &file, &sent.version, &sent.text, object)
        })
        .await?;
    written(number)
}

fn waiting_json(file: &WaitingFile) -> Value {
    let one = |one: &trust::Waiting| {
        let part = |(what, line): &(String, String)| json!({ "what": what, "is": line });
        json!({
            "what": one.what, "words": one.words, "sandbox": one.sandbox,
            "covers": one.parts.iter().map(part).collect::<Vec<_>>(),
        })
    };
    json!({
        "file": file.file, "version": file.version, "refused": file.refused,
        "waiting": file.waiting.iter().map(one).collect::<Vec<_>>(),
    })
}

async fn say_yes(hub: &Arc<Hub>, actor: &Actor, call: &Call<'_>) -> Answered {
    let (sent, actor): (Trusting, _) = (read(&call.body)?, actor.clone());
    hub.read(move |hub| trust::trust(hub, &actor, &sent.file, &sent.version)).await?;
    ok(&json!({ "done": true }))
}

async fn foresee_undo(hub: &Arc<Hub>, actor: &Actor, seq: &str) -> Answered {
    let (seq, actor) = (number(seq)?, actor.clone());
    let undo = hub.read(move |hub| changes::foresee_undo(hub, &actor, seq)).await?;
    ok(&json!({
        "file": undo.file.name, "version": undo.file.version, "locked": undo.file.locked,
        "diff": files::diff_text(&undo.before, &undo.after), "values_left_out": undo.left_out,
    }))
}

async fn undo(hub: &Arc<Hub>, actor: &Actor, seq: &str, call: &Call<'_>) -> Answered {
    let (sent, seq, actor): (Version, _, _) = (read(&call.body)?, number(seq)?, actor.clone());
    let change = hub.read(move |hub| changes::undo(hub, &actor, seq, &sent.version)).await?;
    written(change)
}

/// Arguments as they were sent.
pub(super) fn arguments(body: &[u8]) -> Result<RawJson, HubError> {
    match body {
        b"" => Ok(RawJson::empty_object()),
        body => RawJson::checked(String::from_utf8_lossy(body))
            .map_err(|error| HubError::invalid(format!("the arguments are not valid JSON: {error}"))),
    }
}
