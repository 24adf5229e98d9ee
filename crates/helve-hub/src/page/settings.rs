//! The entry of a server: as a form, or as text.

use helve_config::edit::{NewServer, NewTransport};
use helve_model::sandbox::Choice as Sandboxed;
use helve_page::view::{Choice, FileVersion, Problem, SettingControl, SettingField, Settings, TextEditor};

use super::add::{problem, sandboxes};
use super::{Fields, field};
use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;
use crate::verbs::files::{self, FileText};
use crate::verbs::settings::{self, SettingsForm};

/// The entry as it is now.
pub(super) fn form(hub: &Hub, name: &str) -> Result<Settings, HubError> {
    let entry = settings::get(hub, &Actor::Session, name)?;
    let Some(written) = &entry.form else {
        return text(hub, name, None, Vec::new());
    };
    Ok(Settings::Form {
        fields: fields(&written.server, written.other_keys.iter().any(|key| key == "sandbox")),
        file: version(&entry.file),
        kept: written.other_keys.clone(),
    })
}

/// The text of its file, as it is or as it was sent.
pub(super) fn text(
    hub: &Hub,
    name: &str,
    sent: Option<(&str, &str)>,
    wrong: Vec<Problem>,
) -> Result<Settings, HubError> {
    let entry = settings::get(hub, &Actor::Session, name)?;
    Ok(Settings::Text(editor(hub, &entry.file, sent, wrong)))
}

/// An editor of a file. `sent` is a text that was not saved, and the version it was made on.
pub(super) fn editor(hub: &Hub, file: &FileText, sent: Option<(&str, &str)>, wrong: Vec<Problem>) -> TextEditor {
    let mut shown = version(file);
    let mut problems = wrong;
    let text = match sent {
        Some((text, made_on)) => {
            made_on.clone_into(&mut shown.version);
            text.to_owned()
        }
        None => match file.masked(hub) {
            Ok(text) => {
                problems.extend(files::problems(&file.content(hub)).iter().map(problem));
                text
            }
            Err(error) => {
                problems.extend(super::add::problems(&error));
                shown.locked = Some(error.hints().first().cloned().unwrap_or_else(|| error.message().to_owned()));
                String::new()
            }
        },
    };
    TextEditor { file: shown, text, problems }
}

pub(super) fn version(file: &FileText) -> FileVersion {
    FileVersion { path: file.name.clone(), version: file.version.clone(), locked: file.locked.clone() }
}

fn fields(server: &NewServer, has_sandbox_table: bool) -> Vec<SettingField> {
    let field = |key: &str, label: &str, help: &str, control: SettingControl| SettingField {
        key: key.to_owned(),
        label: label.to_owned(),
        help: (!help.is_empty()).then(|| help.to_owned()),
        control,
        problem: None,
    };
    let secrets =
        "A value of •••… is a secret that is not shown; a new secret is kept sealed, and the entry refers to it";
    let mut fields = match &server.transport {
        NewTransport::Program { command, arguments, environment, working_directory } => vec![
            field("command", "Command", "The program that is started", SettingControl::Line(command.clone())),
            field("arguments", "Arguments", "", SettingControl::Lines(arguments.clone())),
            field("environment", "Variables", secrets, SettingControl::Pairs(environment.clone())),
            field(
                "working_directory",
                "Directory",
                "Where it runs; empty: where the hub was started",
                SettingControl::Line(working_directory.clone().unwrap_or_default()),
            ),
        ],
        NewTransport::Address { url, headers, .. } => vec![
            field("url", "Address", "", SettingControl::Line(url.clone())),
            field("headers", "Headers", secrets, SettingControl::Pairs(headers.clone())),
        ],
    };
    if matches!(server.transport, NewTransport::Program { .. }) && !has_sandbox_table {
        let mut choices = sandboxes(server.sandbox.unwrap_or(Sandboxed::Off));
        if server.sandbox.is_none() {
            choices.iter_mut().for_each(|choice| choice.is_chosen = false);
            let label = "The entry says nothing".to_owned();
            choices.insert(0, Choice { value: String::new(), label, help: None, is_chosen: true });
        }
        fields.push(field("sandbox", "Sandbox", "What the program may touch", SettingControl::Choice(choices)));
    }
    let list = |list: &Option<Vec<String>>| SettingControl::Lines(list.clone().unwrap_or_default());
    fields.push(field("tools", "Only these tools", "Names or patterns; empty: all", list(&server.tools)));
    fields.push(field("disabled_tools", "Not these tools", "Names or patterns", list(&server.disabled_tools)));
    let seconds = server.call_timeout.map(|time| time.as_secs_f64().to_string()).unwrap_or_default();
    fields.push(field(
        "call_timeout_seconds",
        "A call may take",
        "Seconds without answer or progress; empty: as the settings say",
        SettingControl::Line(seconds),
    ));
    fields
}

/// What a form posted.
pub(super) fn posted(fields: &Fields) -> Result<SettingsForm, HubError> {
    let has = |key: &str| fields.iter().any(|(name, _)| name == key);
    let text = |key: &str| has(key).then(|| field(fields, key).trim().to_owned());
    // An argument may begin or end with a blank; an empty one cannot be told from an empty line.
    let lines = |key: &str| {
        has(key).then(|| field(fields, key).lines().filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect())
    };
    let pairs = |key: &str| -> Result<Option<Vec<(String, String)>>, HubError> {
        if !has(key) {
            return Ok(None);
        }
        let pair = |line: &str| match line.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
            _ => Err(HubError::invalid(format!("{line:?} is not NAME=value"))),
        };
        let lines = field(fields, key).lines().filter(|line| !line.trim().is_empty());
        lines.map(pair).collect::<Result<_, _>>().map(Some)
    };
    let call_timeout_seconds = match field(fields, "call_timeout_seconds").trim() {
        _ if !has("call_timeout_seconds") => None,
        "" => Some(0.0),
        number => {
            Some(number.parse().map_err(|_| HubError::invalid(format!("{number:?} is not a number of seconds")))?)
        }
    };
    Ok(SettingsForm {
        command: text("command"),
        arguments: lines("arguments"),
        environment: pairs("environment")?,
        working_directory: text("working_directory"),
        url: text("url"),
        headers: pairs("headers")?,
        tools: lines("tools"),
        disabled_tools: lines("disabled_tools"),
        call_timeout_seconds,
        sandbox: text("sandbox"),
    })
}
