//! The entry of a server: as a form, or as the text of its file. Both are edits of the same file.

use std::collections::HashMap;
use std::time::Duration;

use helve_config::edit::{Change, NewServer, NewTransport, WrittenServer, written_server};
use helve_config::{Dialect, FileContent, read_text};
use helve_model::ServerKey;
use helve_model::sandbox::Choice;
use helve_setup::name_in_file;
use serde::Deserialize;

use super::files::{self, Edit, FileText};
use super::sealing::{self, Sealed};
use super::servers::{configured, edited};
use crate::actor::Actor;
use crate::error::{HubError, TextProblem};
use crate::hub::Hub;

/// The entry of a server.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its name in the file.
    pub(crate) name: String,
    pub(crate) file: FileText,
    /// What a form can show, with marks for secrets; `None`: only the text says it.
    pub(crate) form: Option<WrittenServer>,
}

/// What a form sends; what is left out stays.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SettingsForm {
    pub(crate) command: Option<String>,
    pub(crate) arguments: Option<Vec<String>>,
    pub(crate) environment: Option<Vec<(String, String)>>,
    pub(crate) working_directory: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) headers: Option<Vec<(String, String)>>,
    /// An empty list is left out: all tools are there.
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) disabled_tools: Option<Vec<String>>,
    /// Nothing, or 0: as the settings say.
    pub(crate) call_timeout_seconds: Option<f64>,
    pub(crate) sandbox: Option<String>,
}

/// The entry of a server as it is now.
pub(crate) fn get(hub: &Hub, _actor: &Actor, name: &str) -> Result<Entry, HubError> {
    let configuration = hub.setup.read_configuration();
    let (server, place) = configured(&configuration, name)?;
    let name = name_in_file(server).to_owned();
    let file = files::open(hub, &place)?;
    let mut form = written_server(&place, file.plain(), &name);
    if let Some(written) = &mut form {
        for (name, value) in sealing::pairs_mut(&mut written.server) {
            if sealing::is_plain_secret(name, value) {
                *value = hub.masks.mark(value);
            }
        }
    }
    Ok(Entry { name, file, form })
}

/// Changes an entry as a form says.
pub(crate) fn save_form(
    hub: &Hub,
    actor: &Actor,
    name: &str,
    version: &str,
    form: &SettingsForm,
) -> Result<Option<i64>, HubError> {
    let Entry { name, file, .. } = get(hub, actor, name)?;
    let written = written_server(&file.place, file.plain(), &name)
        .ok_or_else(|| HubError::conflict("this entry can be edited as text only"))?;
    let (server, sealed, cleared) = changed(hub, &name, &written, form, file.place.dialect == Dialect::Helve)?;
    let edit = Edit {
        place: &file.place,
        version: Some(version),
        make: &|text| {
            let text = edited(&file.place, text, &name, &Change::Update(server.clone()))?;
            if cleared.is_empty() {
                Ok(text)
            } else {
                edited(&file.place, &text, &name, &Change::Clear(cleared.clone()))
            }
        },
        verb: "changed",
        object: format!("server {name}"),
        undoes: None,
        sandbox: None,
        sent: None,
    };
    // What would be refused keeps no secret either.
    if file.version == version {
        files::check(hub, actor, &file.place, file.plain(), &(edit.make)(file.plain())?)?;
        sealing::keep(hub, &sealed)?;
    }
    files::write(hub, actor, &edit)
}

/// What a form makes of an entry: the entry, values for the vault, lists that are gone.
fn changed(
    hub: &Hub,
    name: &str,
    written: &WrittenServer,
    form: &SettingsForm,
    seals: bool,
) -> Result<(NewServer, Vec<Sealed>, Vec<ServerKey>), HubError> {
    let known: HashMap<String, String> =
        sealing::pairs(&written.server).iter().map(|(_, value)| (hub.masks.mark(value), value.clone())).collect();
    let mut sealed = Vec::new();
    let mut values = |pairs: &Option<Vec<(String, String)>>, old: &[(String, String)]| -> Result<_, HubError> {
        let Some(pairs) = pairs else { return Ok(old.to_vec()) };
        let mut new = Vec::new();
        for (key, value) in pairs {
            sealing::check_length(key, value)?;
            let plain = hub.masks.unmasked(value, &known).map_err(|_| {
                HubError::invalid(format!("the mark of {key} is not known any more: type its value anew"))
            })?;
            let is_typed = plain == *value && !old.contains(&(key.clone(), plain.clone()));
            if seals && is_typed && sealing::is_plain_secret(key, &plain) && hub.setup.credentials().is_some() {
                let (reference, one) = sealing::sealed(name, key, &plain);
                sealed.push(one);
                new.push((key.clone(), reference));
            } else {
                new.push((key.clone(), plain));
            }
        }
        Ok(new)
    };
    let or = |new: &Option<String>, old: &str| new.clone().unwrap_or_else(|| old.to_owned());
    let transport = match &written.server.transport {
        NewTransport::Program { command, arguments, environment, working_directory } => NewTransport::Program {
            command: or(&form.command, command),
            arguments: form.arguments.clone().unwrap_or_else(|| arguments.clone()),
            environment: values(&form.environment, environment)?,
            working_directory: match &form.working_directory {
                Some(directory) => Some(directory.clone()).filter(|directory| !directory.is_empty()),
                None => working_directory.clone(),
            },
        },
        NewTransport::Address { url, headers, flavour } => NewTransport::Address {
            url: or(&form.url, url),
            headers: values(&form.headers, headers)?,
            flavour: *flavour,
        },
    };
    if let NewTransport::Program { command, .. } = &transport
        && command.trim().is_empty()
    {
        return Err(HubError::invalid("a program has a command"));
    }
    let mut cleared = Vec::new();
    let mut list = |new: &Option<Vec<String>>, old: &Option<Vec<String>>, key: ServerKey| match new {
        Some(list) if list.is_empty() => {
            cleared.extend(old.as_ref().map(|_| key));
            None
        }
        Some(list) => Some(list.clone()),
        None => old.clone(),
    };
    let tools = list(&form.tools, &written.server.tools, ServerKey::Tools);
    let disabled_tools = list(&form.disabled_tools, &written.server.disabled_tools, ServerKey::DisabledTools);
    let call_timeout = match form.call_timeout_seconds {
        None => written.server.call_timeout,
        Some(0.0) => {
            cleared.extend(written.server.call_timeout.map(|_| ServerKey::CallTimeout));
            None
        }
        Some(seconds) => Some(
            Duration::try_from_secs_f64(seconds)
                .map_err(|_| HubError::invalid(format!("{seconds} is not a number of seconds")))?,
        ),
    };
    let sandbox = match form.sandbox.as_deref() {
        None | Some("") => written.server.sandbox,
        Some(word) => Some(choice(word)?),
    };
    let enabled = written.server.enabled;
    Ok((NewServer { transport, enabled, tools, disabled_tools, call_timeout, sandbox }, sealed, cleared))
}

/// A sandbox by its name.
pub(crate) fn choice(word: &str) -> Result<Choice, HubError> {
    word.parse().map_err(|_| HubError::invalid(format!("{word:?} is not a sandbox")))
}

/// A whole file by its name, with what is wrong with it.
pub(crate) fn file(hub: &Hub, _actor: &Actor, name: &str) -> Result<FileText, HubError> {
    files::find(hub, &hub.setup.read_configuration(), name)
}

/// A text for a file that came from a page, understood but not written.
pub(crate) fn draft(hub: &Hub, file: &FileText, sent: &str) -> Result<(FileContent, Vec<TextProblem>), HubError> {
    let text = file.unmasked(hub, sent)?;
    let content = read_text(&file.place, &text, hub.setup.known_to_configuration());
    let problems = files::problems(&content);
    Ok((content, problems))
}

/// Replaces the text of a file. `object` is what was edited in it.
pub(crate) fn save_text(
    hub: &Hub,
    actor: &Actor,
    file: &FileText,
    version: &str,
    sent: &str,
    object: String,
) -> Result<Option<i64>, HubError> {
    let edit = Edit {
        place: &file.place,
        version: Some(version),
        make: &|text| files::unmasked(hub, &file.place, text, sent),
        verb: "changed",
        object,
        undoes: None,
        sandbox: None,
        sent: Some(sent),
    };
    files::write(hub, actor, &edit)
}
