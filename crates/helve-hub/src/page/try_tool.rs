//! Trying a tool: its form, what is asked, what came of it.

use std::sync::Arc;

use helve::{CallError, CallOutcome, ToolEntry};
use helve_model::json::RawJson;
use helve_model::{ContentBlock, ContentBody, ResourceBody};
use helve_page::json_tree;
use helve_page::view::{CallResult, Failure, Progress, ResultPart, TryOutcome, TryTool};
use helve_schema::{FilledForm, ToolForm};

use super::rules::decision;
use super::shown::bytes;
use super::{Fields, field};
use crate::error::HubError;
use crate::hub::Hub;
use crate::verbs::tools::{self, Consent, Try, TryState};

/// Characters of one text that are shown.
const MOST_TEXT: usize = 20_000;

/// Parts of an answer that are shown.
const MOST_PARTS: usize = 50;

/// What a post comes to: a screen, or a call that runs.
pub(super) enum Posted {
    Screen(Box<TryTool>),
    Begun(Arc<Try>),
}

/// The screen with the form, filled in as far as it is. `arguments` in the address fill it at first.
pub(super) fn view(hub: &Hub, server: &str, tool: &str, query: &Fields) -> Result<TryTool, HubError> {
    let entry = tools::tool(hub, server, tool)?;
    let form = ToolForm::read(entry.input_schema());
    let given = field(query, "arguments");
    let posted = if given.is_empty() { Vec::new() } else { form.prefill(given) };
    Ok(screen(hub, &entry, form.fill(&posted), TryOutcome::None))
}

/// What a form posted.
pub(super) fn post(
    hub: &Arc<Hub>,
    session: &str,
    server: &str,
    tool: &str,
    fields: &Fields,
) -> Result<Posted, HubError> {
    let entry = tools::tool(hub, server, tool)?;
    let filled = ToolForm::read(entry.input_schema()).fill(fields);
    let show =
        |filled: FilledForm, outcome: TryOutcome| Ok(Posted::Screen(Box::new(screen(hub, &entry, filled, outcome))));
    let pressed = field(fields, "do");
    if !matches!(pressed, "call" | "yes") {
        return show(filled, TryOutcome::None);
    }
    if filled.problems > 0 {
        let count = filled.problems;
        let problems = vec![if count == 1 {
            "One field has a problem.".to_owned()
        } else {
            format!("{count} fields have a problem.")
        }];
        return show(filled, TryOutcome::Invalid { problems });
    }
    let arguments = RawJson::checked(filled.arguments.clone())
        .map_err(|error| HubError::invalid(format!("the arguments are not valid JSON: {error}")))?;
    let consent = match tools::question(&entry, &arguments) {
        None => Consent::NotAsked,
        Some(question) if pressed == "yes" && question == field(fields, "question") => Consent::Given,
        Some(question) => {
            let tree = json_tree(&filled.arguments);
            return show(filled, TryOutcome::Ask { question, arguments: tree });
        }
    };
    let kept = fields.iter().filter(|(key, _)| key != "csrf" && key != "question").cloned().collect();
    tools::begin(hub, session, &entry, kept, arguments, consent).map(Posted::Begun)
}

/// A try as it is now.
pub(super) fn run(hub: &Hub, one: &Try) -> Result<TryTool, HubError> {
    let entry = tools::tool(hub, &one.about.server, &one.about.tool)?;
    let filled = ToolForm::read(entry.input_schema()).fill(&one.about.posted);
    let outcome = match one.state() {
        TryState::Running { done, total, message } => {
            TryOutcome::Running { id: one.id.clone(), progress: Progress { done, total, message } }
        }
        TryState::Ended(ended) => match ended.as_ref() {
            Ok(outcome) => TryOutcome::Done(result(outcome)),
            Err(error) => TryOutcome::Failed(failure(error)),
        },
    };
    Ok(screen(hub, &entry, filled, outcome))
}

fn screen(hub: &Hub, entry: &ToolEntry, form: FilledForm, outcome: TryOutcome) -> TryTool {
    let view = entry.view();
    let arguments = RawJson::checked(form.arguments.clone()).unwrap_or_else(|_| RawJson::empty_object());
    TryTool {
        server: entry.name().server.to_string(),
        tool: entry.name().tool.to_string(),
        title: view.title.clone(),
        description: view.description.clone(),
        risk: entry.policy().risk().to_string(),
        decision: decision(hub, &tools::foresee(entry, &arguments)),
        call_line: call_line(&entry.name().to_string(), &form.arguments),
        form,
        outcome,
    }
}

/// The same as a line for a shell.
pub(super) fn call_line(name: &str, arguments: &str) -> String {
    let mut words = vec!["helve".to_owned(), "call".to_owned(), name.to_owned()];
    let members = match serde_json::from_str(arguments) {
        Ok(serde_json::Value::Object(members)) => members,
        _ => serde_json::Map::new(),
    };
    for (key, value) in members {
        words.push(match value {
            // What begins with `@` would be a file, and what has a sign in its key something else.
            serde_json::Value::String(text) if !text.starts_with('@') && !key.contains([':', '=']) => {
                format!("{key}={text}")
            }
            other => format!("{key}:={other}"),
        });
    }
    shell_words::join(words)
}

fn result(outcome: &CallOutcome) -> CallResult {
    let raw = outcome.outcome.raw().as_str();
    let mut parts = Vec::new();
    match outcome.outcome.open() {
        Ok(view) => {
            parts.extend(view.content.iter().take(MOST_PARTS).map(part));
            if let Some(structured) = &view.structured {
                parts.push(ResultPart::Json(json_tree(structured.as_str())));
            }
        }
        Err(_) => parts.push(text(raw)),
    }
    CallResult {
        is_error: outcome.outcome.is_error(),
        took_us: u64::try_from(outcome.duration.as_micros()).unwrap_or(u64::MAX),
        bytes: raw.len() as u64,
        parts,
        call: None,
    }
}

fn part(block: &ContentBlock) -> ResultPart {
    match &block.body {
        ContentBody::Text(said) => {
            let is_json =
                said.trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde_json::Value>(said).is_ok();
            if is_json { ResultPart::Json(json_tree(said)) } else { text(said) }
        }
        ContentBody::Image(media) => {
            ResultPart::Image { media_type: media.mime_type.clone(), data: media.data.clone() }
        }
        ContentBody::Audio(media) => other(&media.mime_type, media.data.len()),
        ContentBody::ResourceLink(link) => ResultPart::Other { said: format!("resource {}", link.uri) },
        ContentBody::Resource(resource) => match &resource.body {
            ResourceBody::Text(said) => text(said),
            ResourceBody::Blob(data) => other(resource.mime_type.as_deref().unwrap_or(&resource.uri), data.len()),
        },
        ContentBody::Unknown { .. } => ResultPart::Json(json_tree(block.raw.as_str())),
    }
}

fn other(what: &str, base64: usize) -> ResultPart {
    ResultPart::Other { said: format!("{what}, {}", bytes((base64 / 4 * 3) as u64)) }
}

fn text(said: &str) -> ResultPart {
    let shown: String = said.chars().take(MOST_TEXT).collect();
    let left_out = said.get(shown.len()..).unwrap_or_default().chars().count() as u64;
    ResultPart::Text { text: shown, left_out }
}

fn failure(error: &CallError) -> Failure {
    Failure {
        code: error.code().as_str().to_owned(),
        message: error.chain(),
        hints: error.hints().iter().map(ToString::to_string).collect(),
        stderr: Vec::new(),
    }
}
