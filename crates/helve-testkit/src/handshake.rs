//! Owns the two ways in: `initialize` and `server/discover`.

use serde_json::{Value, json};

use crate::call::Call;
use crate::fixture::skills;
use crate::meta::{self, TASKS_EXTENSION};
use crate::peer::Handshake;
use crate::recorder::RecordedEvent;
use crate::scenario::{Contents, DualRule, Era, Scenario};

/// Agrees on a legacy version: the client's if it is known, the newest otherwise.
pub(crate) fn initialize(call: &Call) {
    let scenario = call.peer.scenario();
    let params = call.params();
    let asked = params["protocolVersion"].as_str().unwrap_or_default();
    if asked.is_empty() || !params["capabilities"].is_object() || !params["clientInfo"]["name"].is_string() {
        let text = "initialize without protocolVersion, capabilities or clientInfo";
        call.peer.recorder().add(RecordedEvent::Violation(text.to_string()));
        return call.error(-32602, text);
    }
    let known = scenario.legacy_versions.iter().any(|version| version == asked);
    let agreed = match &scenario.forced_version {
        Some(version) => version.clone(),
        None if known => asked.to_string(),
        None => scenario.legacy_versions.last().cloned().unwrap_or_default(),
    };
    {
        let mut state = call.connection.state();
        state.legacy_version = Some(agreed.clone());
        state.client_capabilities = params["capabilities"].clone();
        state.last_handshake = Some(Handshake::Initialize);
    }
    let mut result = json!({
        "protocolVersion": agreed,
        "capabilities": legacy_capabilities(scenario, &agreed),
        "serverInfo": meta::server_info(),
    });
    if let Some(instructions) = &scenario.instructions {
        result["instructions"] = json!(instructions);
    }
    call.result(&result);
}

/// Says what a modern client may want to know beforehand.
pub(crate) fn discover(call: &Call) {
    let scenario = call.peer.scenario();
    call.connection.state().last_handshake = Some(Handshake::Discover);
    let mut versions = scenario.modern_versions.clone();
    if scenario.era == Era::Dual && scenario.dual_rule != DualRule::FirstHandshake {
        versions.extend(scenario.legacy_versions.iter().rev().cloned());
    }
    let mut result = json!({ "supportedVersions": versions, "capabilities": modern_capabilities(scenario) });
    if let Some(instructions) = &scenario.instructions {
        result["instructions"] = json!(instructions);
    }
    call.cacheable(&result);
}

fn common_capabilities(scenario: &Scenario) -> Value {
    let offers = scenario.offers;
    let mut capabilities = json!({});
    if offers.tools {
        capabilities["tools"] = json!({ "listChanged": true });
    }
    if offers.resources {
        capabilities["resources"] = json!({ "subscribe": offers.subscriptions, "listChanged": true });
    }
    if offers.prompts {
        capabilities["prompts"] = json!({ "listChanged": true });
    }
    if offers.logging {
        capabilities["logging"] = json!({});
    }
    capabilities
}

fn legacy_capabilities(scenario: &Scenario, version: &str) -> Value {
    let mut capabilities = common_capabilities(scenario);
    if scenario.offers.completions && version != "2024-11-05" {
        capabilities["completions"] = json!({});
    }
    if scenario.offers.tasks && version == "2025-11-25" {
        capabilities["tasks"] = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    }
    capabilities
}

fn modern_capabilities(scenario: &Scenario) -> Value {
    let mut capabilities = common_capabilities(scenario);
    if scenario.offers.completions {
        capabilities["completions"] = json!({});
    }
    if scenario.offers.tasks {
        capabilities["extensions"][TASKS_EXTENSION] = json!({});
    }
    if scenario.contents == Contents::Fixture {
        capabilities["extensions"][skills::EXTENSION] = json!({ "directoryRead": true });
    }
    capabilities
}
