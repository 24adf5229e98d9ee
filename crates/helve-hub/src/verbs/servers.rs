//! Servers: how they are doing, and what a person changes of them. Files are the truth: an entry is changed where it is
//! written, if that is a file of helve's own, and every change names the version of the file it was made on.

use helve::ServerReport;
use helve_config::edit::{Change, EditError, edit_text};
use helve_config::{Configuration, ConfiguredServer, FilePlace};
use helve_model::{Definition as _, ServerStatus, TransportSpec};
use helve_setup::{file_of, name_in_file};
use helve_store::NewChange;

use super::files::{self, Edit, may_change_programs};
use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::{Hub, definition_tokens};

/// A server, as it is shown.
#[derive(Debug, Clone)]
pub(crate) struct ServerInfo {
    pub(crate) report: ServerReport,
    /// What its definitions cost a model.
    pub(crate) tokens: u64,
    /// Where its entry is, as a person would write it.
    pub(crate) origin: String,
    /// Why its entry cannot be edited here.
    pub(crate) locked: Option<String>,
    /// The sandbox that its entry names.
    pub(crate) sandbox: Option<String>,
}

/// What a person does to a server's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    On,
    Off,
    Remove,
}

/// All servers.
pub(crate) fn list(hub: &Hub, _actor: &Actor) -> Vec<ServerInfo> {
    let configuration = hub.setup.read_configuration();
    let snapshot = hub.host().snapshot();
    let reports = hub.host().status();
    let info = |report: ServerReport| {
        let entry = snapshot.server(report.name.as_str());
        let tokens =
            entry.map_or(0, |entry| entry.tools().map(|tool| definition_tokens(tool.definition().raw())).sum());
        let sandbox = entry.and_then(|entry| match &entry.spec().transport {
            TransportSpec::Stdio(_) => {
                let named = entry.spec().sandbox.as_ref().map(|sandbox| sandbox.profile.to_string());
                Some(named.unwrap_or_else(|| "off".to_owned()))
            }
            _ => None,
        });
        let locked = match configuration.server(report.name.as_str()) {
            Some(server) => match place_of(&configuration, server) {
                Ok(place) => hub.setup.locked(&place),
                Err(error) => Some(error.message().to_owned()),
            },
            None => Some("it is in no file".to_owned()),
        };
        ServerInfo { origin: hub.setup.environment().shown_origin(&report.origin), tokens, sandbox, locked, report }
    };
    reports.into_iter().map(info).collect()
}

/// One server.
pub(crate) fn get(hub: &Hub, actor: &Actor, name: &str) -> Result<ServerInfo, HubError> {
    let found = list(hub, actor).into_iter().find(|info| info.report.name.as_str() == name);
    found.ok_or_else(|| HubError::not_found(format!("there is no server {name:?}")))
}

/// Ends a server and starts it again.
pub(crate) async fn restart(hub: &Hub, actor: &Actor, name: &str) -> Result<(), HubError> {
    let name = hub.server_name(name)?;
    hub.host().reconnect_server(name.as_str()).await?;
    hub.store.add_change(NewChange {
        at: hub.now(),
        actor: actor.name(),
        verb: "restarted".to_owned(),
        object: format!("server {name}"),
        ..NewChange::default()
    })?;
    Ok(())
}

/// Switches a server on or off, or removes its entry. `version` is that of the file it was decided on; `None` takes the
/// file as it is.
pub(crate) fn switch(
    hub: &Hub,
    actor: &Actor,
    name: &str,
    switch: Switch,
    version: Option<&str>,
) -> Result<(), HubError> {
    let configuration = hub.setup.read_configuration();
    let server = configuration
        .server(name)
        .ok_or_else(|| HubError::not_found(format!("there is no server {name:?} in a file")))?;
    // A program that is switched on is run.
    let is_program = server.spec.as_ref().is_none_or(|spec| matches!(spec.transport, TransportSpec::Stdio(_)));
    if is_program && switch == Switch::On {
        may_change_programs(hub, actor)?;
    }
    let place = place_of(&configuration, server)?;
    let (change, verb) = match switch {
        Switch::On => (Change::Enable, "switched on"),
        Switch::Off => (Change::Disable, "switched off"),
        Switch::Remove => (Change::Remove, "removed"),
    };
    let in_file = name_in_file(server);
    let edit = Edit {
        place: &place,
        version,
        make: &|text| edited(&place, text, in_file, &change),
        verb,
        object: format!("server {in_file}"),
        undoes: None,
        sandbox: None,
        sent: None,
    };
    files::write(hub, actor, &edit).map(drop)
}

/// The text of a file after a change of one server.
pub(crate) fn edited(place: &FilePlace, text: &str, server: &str, change: &Change) -> Result<String, HubError> {
    edit_text(place, text, server, change).map_err(edit_error)
}

/// Why a file could not be edited.
pub(super) fn edit_error(error: EditError) -> HubError {
    match error {
        EditError::NoSuchServer { .. } => HubError::not_found(error.to_string()),
        EditError::File(error) => HubError::failed(error.to_string()),
        other => HubError::conflict(other.to_string()),
    }
}

/// The file that a server's entry is in.
pub(crate) fn place_of(configuration: &Configuration, server: &ConfiguredServer) -> Result<FilePlace, HubError> {
    let path = file_of(&server.origin).ok_or_else(|| HubError::conflict("it is in no file"))?;
    let file = configuration.files.iter().find(|file| file.place.path == path);
    file.map(|file| file.place.clone()).ok_or_else(|| HubError::conflict("its file was not read"))
}

/// A server of the configuration, with the file of its entry.
pub(crate) fn configured<'a>(
    configuration: &'a Configuration,
    name: &str,
) -> Result<(&'a ConfiguredServer, FilePlace), HubError> {
    let server = configuration
        .server(name)
        .ok_or_else(|| HubError::not_found(format!("there is no server {name:?} in a file")))?;
    Ok((server, place_of(configuration, server)?))
}

impl ServerInfo {
    /// Why it is as it is.
    pub(crate) fn reason(&self) -> Option<String> {
        match &self.report.status {
            ServerStatus::Connected => self.report.list_error.clone(),
            ServerStatus::Disabled(reason) => Some(reason.to_string()),
            ServerStatus::Pending(reason) => Some(reason.to_string()),
            ServerStatus::Failed(failure) => Some(failure.message.clone()),
            ServerStatus::NeedsAuth { challenge } => challenge.clone(),
        }
    }
}
