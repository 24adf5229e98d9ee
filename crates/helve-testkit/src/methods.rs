//! Owns which methods exist in which era, and under which offer.

use serde_json::json;

use crate::call::{Call, CallEra};
use crate::fixture::skills;
use crate::scenario::Contents;
use crate::{catalog, listen, prompts, resources, tasks, tools};

/// Serves every request but the handshakes.
pub(crate) fn serve(call: &Call) {
    let offers = call.peer.scenario().offers;
    let modern = call.is_modern();
    let tasks_known = offers.tasks
        && match &call.era {
            CallEra::Legacy { version } => version == "2025-11-25",
            CallEra::Modern { .. } => true,
        };
    let has_skills = modern && call.peer.scenario().contents == Contents::Fixture;
    match call.method.as_str() {
        "ping" if !modern => call.result(&json!({})),
        "logging/setLevel" if !modern && offers.logging => set_level(call),
        "tools/list" if offers.tools => catalog::tools(call),
        "tools/call" if offers.tools => tools::call(call),
        "resources/list" if offers.resources => catalog::resources(call),
        "resources/templates/list" if offers.resources => catalog::templates(call),
        "resources/read" if offers.resources => resources::read(call),
        "resources/subscribe" if !modern && offers.resources => resources::subscribe(call),
        "resources/unsubscribe" if !modern && offers.resources => resources::unsubscribe(call),
        "prompts/list" if offers.prompts => catalog::prompts(call),
        "prompts/get" if offers.prompts => prompts::get(call),
        "completion/complete" if offers.completions => prompts::complete(call),
        "subscriptions/listen" if modern => listen::listen(call),
        "skills/list" if has_skills => skills::list(call),
        "skills/get" if has_skills => skills::get(call),
        "resources/directory/read" if has_skills => skills::read_directory(call),
        "tasks/get" if tasks_known => tasks::get(call),
        "tasks/cancel" if tasks_known => tasks::cancel(call),
        "tasks/result" if tasks_known && !modern => tasks::result(call),
        "tasks/list" if tasks_known && !modern => tasks::list(call),
        "tasks/update" if tasks_known && modern => tasks::update(call),
        method => call.error(-32601, &format!("Method not found: {method}")),
    }
}

fn set_level(call: &Call) {
    let params = call.params();
    let Some(level) = params["level"].as_str() else { return call.error(-32602, "level is missing") };
    call.connection.state().log_level = Some(level.to_string());
    call.result(&json!({}));
}
