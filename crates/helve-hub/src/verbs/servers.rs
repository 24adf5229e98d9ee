//! Servers: how they are doing, and what a person changes of them. Files are the truth: an entry is changed where it is
//! written, if that is a file of helve's own, and every change names the version of the file it was made on.

use std::path::Path;

use helve::ServerReport;
use helve_config::edit::{Change, EditError, edit_file};
use helve_config::trust::hash_content;
use helve_config::{Configuration, ConfiguredServer, Dialect, FilePlace};
use helve_model::{Definition as _, Layer, ServerStatus, TransportSpec};
use helve_setup::file_of;
use helve_store::{NewChange, hex};
use sha2::{Digest as _, Sha256};

use super::redacted::redacted;
use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::{Hub, Programs, definition_tokens};

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

/// The text of a file, in its version.
#[derive(Debug, Clone)]
pub(crate) struct FileText {
    pub(crate) text: String,
    pub(crate) version: String,
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
            Some(server) => place_of(hub, &configuration, server).err().map(|error| error.message().to_owned()),
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
    let place = place_of(hub, &configuration, server)?;
    let (change, verb) = match switch {
        Switch::On => (Change::Enable, "switched on"),
        Switch::Off => (Change::Disable, "switched off"),
        Switch::Remove => (Change::Remove, "removed"),
    };
    apply(hub, actor, &place, version, name_in_file(server), &change, verb)
}

/// Changes one entry of a file, and notes who did.
fn apply(
    hub: &Hub,
    actor: &Actor,
    place: &FilePlace,
    version: Option<&str>,
    name: &str,
    change: &Change,
    verb: &str,
) -> Result<(), HubError> {
    let before = read(place)?;
    if version.is_some_and(|version| version != before.version) {
        return Err(changed_meanwhile(hub, &place.path));
    }
    let expected = Some(hash_content(before.text.as_bytes()));
    let edited = edit_file(place, expected, name, change).map_err(|error| match error {
        EditError::ChangedMeanwhile(path) => changed_meanwhile(hub, &path),
        EditError::NoSuchServer { .. } => HubError::not_found(error.to_string()),
        EditError::File(error) => HubError::failed(error.to_string()),
        other => HubError::conflict(other.to_string()),
    })?;
    let diff = diff_text(&redacted(&edited.before), &redacted(&edited.after));
    hub.store.add_change(NewChange {
        at: hub.now(),
        actor: actor.name(),
        verb: verb.to_owned(),
        object: format!("server {name}"),
        file: Some(hub.setup.environment().shown(&edited.path)),
        before: Some(version_of(&edited.before)),
        after: Some(version_of(&edited.after)),
        diff,
        undoes: None,
    })?;
    Ok(())
}

/// May whoever asks have code run on this machine?
pub(crate) fn may_change_programs(hub: &Hub, actor: &Actor) -> Result<(), HubError> {
    actor.may_run_programs()?;
    match hub.options.programs {
        Programs::Allowed => Ok(()),
        Programs::Refused => Err(HubError::forbidden("programs cannot be added, changed or tested at this hub")),
    }
}

fn changed_meanwhile(hub: &Hub, path: &Path) -> HubError {
    let path = hub.setup.environment().shown(path);
    HubError::conflict(format!("{path} was changed since: nothing was written"))
}

/// The file that a server's entry is in, if it may be written here.
fn place_of(hub: &Hub, configuration: &Configuration, server: &ConfiguredServer) -> Result<FilePlace, HubError> {
    let path = file_of(&server.origin).ok_or_else(|| HubError::conflict("it is in no file"))?;
    let file = configuration.files.iter().find(|file| file.place.path == path);
    let place = file.map(|file| file.place.clone()).ok_or_else(|| HubError::conflict("its file was not read"))?;
    let shown = hub.setup.environment().shown(path);
    if place.dialect != Dialect::Helve && place.layer != Layer::Explicit {
        return Err(HubError::conflict(format!(
            "{shown} belongs to {}: it is shown, never written",
            place.dialect.title()
        )));
    }
    if place.layer == Layer::Project {
        return Err(HubError::conflict(format!("{shown} belongs to a project: it is edited at the machine")));
    }
    Ok(place)
}

fn read(place: &FilePlace) -> Result<FileText, HubError> {
    let text = fs_err::read_to_string(&place.path).map_err(|error| HubError::failed(error.to_string()))?;
    Ok(FileText { version: version_of(&text), text })
}

/// What names a version of a text.
pub(crate) fn version_of(text: &str) -> String {
    hex(&Sha256::digest(text))
}

fn name_in_file(server: &ConfiguredServer) -> &str {
    let name = server.name.as_str();
    name.strip_suffix(server.application).and_then(|name| name.strip_suffix('@')).unwrap_or(name)
}

/// A difference as it is kept: each line behind ` `, `-` or `+`, `~` where lines are left out.
pub(crate) fn diff_text(before: &str, after: &str) -> String {
    let diff = helve_page::line_diff(before, after);
    let line = |line: &helve_page::view::DiffLine| {
        let mark = match line.kind {
            helve_page::view::DiffKind::Same => ' ',
            helve_page::view::DiffKind::Removed => '-',
            helve_page::view::DiffKind::Added => '+',
            helve_page::view::DiffKind::Skipped => '~',
        };
        format!("{mark}{}\n", line.text)
    };
    diff.lines.iter().map(line).collect()
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
