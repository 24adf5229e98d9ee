//! What a configuration leaves to the person: `${input:…}` is asked for at a terminal, once for a run, and only for
//! servers that lack nothing else.

use std::collections::HashSet;
use std::path::Path;

use helve_config::trust::ServerTrust;
use helve_config::{Blocker, Configuration, ConfiguredServer, Input};
use helve_model::{ErrorCode, ServerName};
use helve_setup::file_of;

use crate::context::Context;
use crate::failure::Failure;
use crate::prompt;

/// So often an answer may be none of the choices.
const MAX_ATTEMPTS: usize = 3;

/// Loads the configuration for a verb that starts servers, and asks for what those that are meant need. Where nobody
/// can be asked they stay off, and the configuration says how to give what they need.
pub(crate) fn load(context: &Context, is_meant: impl Fn(&ServerName) -> bool) -> Result<Configuration, Failure> {
    let configuration = context.load_with_hubs()?;
    let questions = questions(&configuration, is_meant);
    if questions.is_empty() || !context.console.can_ask() {
        return Ok(configuration);
    }
    for input in questions {
        if let (Some(file), Some(answer)) = (file_of(&input.origin), ask(context, input)?) {
            context.remember_answer(file, &input.id, &answer);
        }
    }
    context.load()
}

/// What is to be asked, each input of a file once. An input is its file's alone: another file that declares the same id
/// can neither word the question nor suggest the answer.
fn questions(configuration: &Configuration, is_meant: impl Fn(&ServerName) -> bool) -> Vec<&Input> {
    let asking: HashSet<(Option<&Path>, &str)> = configuration
        .servers
        .iter()
        .filter(|server| is_meant(&server.name) && lacks_only_answers(server))
        .flat_map(|server| &server.blockers)
        .filter_map(|blocker| match blocker {
            Blocker::NeedsInput { id, origin, .. } => Some((file_of(origin), id.as_str())),
            _ => None,
        })
        .collect();
    let mut asked = HashSet::new();
    let key = |input: &&Input| (file_of(&input.origin).map(Path::to_path_buf), input.id.clone());
    let is_wanted = |input: &&Input| asking.contains(&(file_of(&input.origin), input.id.as_str()));
    configuration.inputs.iter().filter(is_wanted).filter(|input| asked.insert(key(input))).collect()
}

/// Nobody should answer for nothing, and nobody gives a secret to a project that is not trusted.
fn lacks_only_answers(server: &ConfiguredServer) -> bool {
    server.trust != ServerTrust::Untrusted
        && server.disabled_by.is_none()
        && server.spec.as_ref().is_some_and(|spec| spec.enabled)
        && server.blockers.iter().all(|blocker| matches!(blocker, Blocker::NeedsInput { .. }))
}

/// The answer; `None` when the person gives none.
fn ask(context: &Context, input: &Input) -> Result<Option<String>, Failure> {
    let what = if input.description.is_empty() { &input.id } else { &input.description };
    let choices = if input.options.is_empty() { String::new() } else { format!(" ({})", input.options.join(", ")) };
    let suggested = input.default.as_ref().filter(|_| !input.secret);
    let default = suggested.map(|default| format!(" [{default}]")).unwrap_or_default();
    let question = format!("{what}{choices}{default}:");
    for _ in 0..MAX_ATTEMPTS {
        let answer =
            if input.secret { prompt::ask_hidden(context, &question)? } else { prompt::ask(context, &question)? };
        let answer = if answer.is_empty() { input.default.clone().unwrap_or_default() } else { answer };
        if answer.is_empty() {
            return Ok(None);
        }
        if input.options.is_empty() || input.options.contains(&answer) {
            return Ok(Some(answer));
        }
    }
    Err(Failure::new(ErrorCode::Config, format!("the input `{}` was given none of its choices", input.id)))
}
