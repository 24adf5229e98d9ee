//! What is known about the places that a call names, where its decision depends on that: what a native tool finds, and
//! the directories that a server was given.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use helve_model::json::RawJson;
use helve_model::{ErrorCode, ServerSpec, TransportSpec};
use helve_policy::{Directories, Whereabouts};

use super::CallContext;
use crate::catalog::ToolEntry;
use crate::error::CallError;
use crate::settings::Surroundings;
use crate::tool::Tool;

/// How many of a server's roots count.
const MAX_ROOTS: usize = 64;

/// False when the decision is the same wherever the arguments lead.
pub(super) fn matter(tool: &ToolEntry, context: &CallContext) -> bool {
    match tool.native() {
        Some(_) => tool.policy().looks_at_places(context.called_by()),
        None => tool.policy().looks_at_arguments(),
    }
}

/// What is known of a server's: the directories that it was given, on its connection or in the course of this call.
pub(super) fn given(tool: &ToolEntry, context: &CallContext) -> Whereabouts {
    Whereabouts { roots: roots(tool, context), ..Whereabouts::default() }
}

/// What a native tool finds.
pub(super) async fn find(
    tool: &ToolEntry,
    native: &dyn Tool,
    arguments: &RawJson,
    timeout: Duration,
) -> Result<Whereabouts, CallError> {
    let finding = AssertUnwindSafe(async { native.places(arguments).await }).catch_unwind();
    match tokio::time::timeout(timeout, finding).await {
        Ok(Ok(places)) => Ok(Whereabouts { places, ..Whereabouts::default() }),
        Ok(Err(_)) => Err(CallError::new(ErrorCode::ToolError, "the tool panicked").at(tool.name())),
        Err(_) => {
            let message = format!("timed out after {timeout:?}, before it was sent");
            Err(CallError::new(ErrorCode::Timeout, message).at(tool.name()))
        }
    }
}

fn roots(tool: &ToolEntry, context: &CallContext) -> Directories {
    let given = tool.handle.as_ref().and_then(|handle| handle.roots());
    let mut roots = given.map(|given| Directories::clone(&given)).unwrap_or_default();
    let answers = context.relayed.as_ref().and_then(|relayed| relayed.responses.as_ref());
    let answers = answers.and_then(|answers| answers.parse::<serde_json::Map<String, serde_json::Value>>().ok());
    for answer in answers.iter().flat_map(|answers| answers.values()) {
        add_roots(&mut roots, answer);
    }
    roots
}

/// The directories of an answer to `roots/list`.
pub(crate) fn read_roots(answer: &RawJson) -> Directories {
    let mut roots = Directories::default();
    if let Ok(answer) = answer.parse() {
        add_roots(&mut roots, &answer);
    }
    roots
}

fn add_roots(roots: &mut Directories, answer: &serde_json::Value) {
    let listed = answer.get("roots").and_then(serde_json::Value::as_array);
    for root in listed.into_iter().flatten().take(MAX_ROOTS) {
        if let Some(uri) = root.get("uri").and_then(serde_json::Value::as_str) {
            roots.add_uri(uri);
        }
    }
}

/// Where a server runs, by its entry and by what its host knows of the machine: relative paths start there.
#[must_use]
pub fn directories(spec: &ServerSpec, surroundings: &Surroundings) -> Directories {
    let TransportSpec::Stdio(stdio) = &spec.transport else { return Directories::default() };
    let own = surroundings.working_directory.as_deref();
    let directory = match (&stdio.working_directory, own) {
        (Some(directory), Some(own)) => Some(own.join(directory)),
        (Some(directory), None) => Some(directory.clone()),
        (None, own) => own.map(ToOwned::to_owned),
    };
    let mut directories = Directories::new(directory.as_deref());
    // Its name may lead through links.
    if let Some(real) = directory.and_then(|directory| fs_err::canonicalize(directory).ok()) {
        directories.add(&real);
    }
    let named = stdio.environment.get("HOME").map(|home| std::path::PathBuf::from(home.expose()));
    let home = named.or_else(|| {
        let home = surroundings.environment.iter().find(|(name, _)| name == "HOME");
        home.map(|(_, home)| home.into())
    });
    directories.with_home(home.as_deref())
}
