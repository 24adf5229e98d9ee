//! Definitions: which ones are held fast, which changed, and a yes to a changed one.

use std::collections::{HashMap, HashSet};

use helve_model::{Definition as _, QualifiedName};
use helve_policy::pin::{DefinitionHash, diff};
use helve_setup::store::pins::PinFile;
use helve_store::{Moment, NewChange};

use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;

/// A definition that is another one than it was.
#[derive(Debug, Clone)]
pub(crate) struct Changed {
    pub(crate) tool: String,
    pub(crate) seen: Moment,
    /// What changed, one sentence each.
    pub(crate) said: Vec<String>,
    pub(crate) before: String,
    pub(crate) now: String,
    /// Names the new one.
    pub(crate) hash: String,
    /// It was pinned, so calls of it are held back.
    pub(crate) is_held: bool,
}

/// Holds the definition of a tool fast as it is now, or lets it go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pinning {
    Pin,
    Unpin,
}

/// What changed in the definitions of a server's tools, since they were pinned or since they were first seen.
pub(crate) fn changed(hub: &Hub, _actor: &Actor, server: &str) -> Result<Vec<Changed>, HubError> {
    let name = hub.server_name(server)?;
    let project = hub.setup.pin_project(&hub.setup.read_configuration(), &name);
    let Ok(stores) = hub.setup.stores() else { return Ok(Vec::new()) };
    let pins: PinFile = stores.read()?;
    let pinned: HashMap<String, String> = pins
        .of_server(project.as_deref(), &name)
        .map(|(tool, pin)| (tool.tool.to_string(), pin.definition.clone()))
        .collect();
    let seen = hub.store.definitions(server)?;
    let snapshot = hub.host().snapshot();
    let tools = snapshot.server(server).map(|entry| entry.all_tools().cloned().collect::<Vec<_>>()).unwrap_or_default();
    let mut found = Vec::new();
    for entry in tools {
        let tool = entry.name().tool.to_string();
        // Most were never anything else, and nothing has to be compared.
        if !pinned.contains_key(&tool) && seen.iter().filter(|known| known.seen.tool == tool).count() < 2 {
            continue;
        }
        let now = entry.definition().raw().as_str();
        let hash = DefinitionHash::of(now).to_string();
        let before = match pinned.get(&tool) {
            Some(pin) => Some(pin.clone()).filter(|pin| DefinitionHash::of(pin).to_string() != hash),
            // The one that was there last before this one.
            None => seen
                .iter()
                .filter(|known| known.seen.tool == tool && known.seen.hash != hash)
                .max_by_key(|known| known.last)
                .map(|known| known.seen.text.clone()),
        };
        let Some(before) = before else { continue };
        let first =
            seen.iter().find(|known| known.seen.tool == tool && known.seen.hash == hash).map(|known| known.first);
        found.push(Changed {
            said: diff(&before, now).iter().map(ToString::to_string).collect(),
            is_held: pinned.contains_key(&tool),
            seen: first.unwrap_or_else(|| hub.now()),
            now: now.to_owned(),
            before,
            hash,
            tool,
        });
    }
    Ok(found)
}

/// The tools of a server whose definition is held fast, as `server/tool`.
pub(crate) fn pinned(hub: &Hub, server: &str) -> Result<HashSet<String>, HubError> {
    let name = hub.server_name(server)?;
    let project = hub.setup.pin_project(&hub.setup.read_configuration(), &name);
    let Ok(stores) = hub.setup.stores() else { return Ok(HashSet::new()) };
    let pins: PinFile = stores.read()?;
    Ok(pins.of_server(project.as_deref(), &name).map(|(tool, _)| tool.to_string()).collect())
}

/// Pins or lets go. With `definition` only that one is pinned: nobody says yes to what they have not seen.
pub(crate) fn pin(
    hub: &Hub,
    actor: &Actor,
    server: &str,
    tool: &str,
    pinning: Pinning,
    definition: Option<&str>,
) -> Result<(), HubError> {
    let name = hub.server_name(server)?;
    let snapshot = hub.host().snapshot();
    let entry = snapshot
        .server(server)
        .and_then(|entry| entry.all_tools().find(|known| known.name().tool.as_str() == tool).cloned())
        .ok_or_else(|| HubError::not_found(format!("the server {server} has no tool {tool:?}")))?;
    let now = entry.definition().raw().as_str();
    if definition.is_some_and(|shown| shown != DefinitionHash::of(now).to_string()) {
        return Err(
            HubError::conflict("the definition has changed again: nothing was accepted").hint("look at it again")
        );
    }
    let project = hub.setup.pin_project(&hub.setup.read_configuration(), &name);
    let tool: QualifiedName = entry.name().clone();
    hub.setup.stores()?.update(|file: &mut PinFile| match pinning {
        Pinning::Pin => file.accept(project.as_deref(), &tool, now),
        Pinning::Unpin => {
            file.forget(|pin| pin.project == project && pin.tool().as_ref() == Some(&tool));
        }
    })?;
    let verb = match (pinning, definition) {
        (Pinning::Pin, Some(_)) => "accepted the new definition of",
        (Pinning::Pin, None) => "pinned",
        (Pinning::Unpin, _) => "unpinned",
    };
    hub.store.add_change(NewChange {
        at: hub.now(),
        actor: actor.name(),
        verb: verb.to_owned(),
        object: tool.to_string(),
        ..NewChange::default()
    })?;
    hub.edits.edited();
    Ok(())
}
