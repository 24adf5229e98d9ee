//! A file with a new server in it: what was typed becomes an entry, and every secret of it a place that is asked for.

use std::collections::HashMap;

use helve_config::edit::{Change, NewServer, NewTransport, Typed, carry, written_server};
use helve_config::{Dialect, FilePlace, read_text};
use helve_model::sandbox::Choice;
use helve_setup::secret_name;
use secrecy::SecretString;

use super::sealing::{self, Sealed};
use super::servers::edited;
use crate::error::HubError;
use crate::hub::Hub;

/// What stands for a question of a snippet until a person answers it.
const INPUT: &str = "helve-input-";

/// A value that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    /// Where it would go: `the variable TOKEN of the program npx`.
    pub(crate) goes_to: String,
    /// There is a value: in what was typed, or in the vault.
    pub(crate) is_filled: bool,
}

/// A draft of a file with the new server in it.
pub(super) struct Draft {
    pub(super) after: String,
    pub(super) server: NewServer,
    pub(super) slots: Vec<Slot>,
    pub(super) sealed: Vec<Sealed>,
    pub(super) warnings: Vec<String>,
}

/// The file with the new server in it, secrets out of it.
#[expect(clippy::too_many_arguments, reason = "everything that was chosen on the page")]
pub(super) fn draft(
    hub: &Hub,
    place: &FilePlace,
    before: &str,
    typed: &Typed,
    entry: &str,
    name: &str,
    sandbox: Option<Choice>,
    given: &HashMap<String, String>,
) -> Result<Draft, HubError> {
    let mut warnings = Vec::new();
    let mut inputs = Vec::new();
    let after = match typed {
        Typed::Server { server, .. } => edited(place, before, name, &Change::Add(server.clone()))?,
        Typed::Snippet(snippet) => {
            let environment = hub.setup.known_to_configuration();
            inputs = read_text(&snippet.place, &snippet.text, environment).inputs;
            let mut text = snippet.text.clone();
            for input in &inputs {
                text = text.replace(&format!("${{input:{}}}", input.id), &format!("{INPUT}{}", input.id));
            }
            let carried = carry(&snippet.place, &text, entry, environment)
                .map_err(|error| HubError::invalid(format!("this server cannot be taken over: {error}")))?;
            warnings.extend(carried.left_behind.iter().map(|what| format!("not taken over: {what}")));
            edited(place, before, name, &Change::Carry(Box::new(carried)))?
        }
    };
    let Some(written) = written_server(place, &after, name) else {
        return Err(HubError::invalid("only a program or an address can be added here"));
    };
    let mut server = written.server;
    let whom = match &server.transport {
        NewTransport::Program { command, .. } => format!("the program {command}"),
        NewTransport::Address { url, .. } => format!("every request to {}", host_of(url)),
    };
    let is_program = matches!(server.transport, NewTransport::Program { .. });
    let part = |key: &str| {
        if is_program { format!("the variable {key} of {whom}") } else { format!("the header {key} of {whom}") }
    };
    let can_seal = place.dialect == Dialect::Helve && hub.setup.credentials().is_some();
    let (mut slots, mut sealed): (Vec<Slot>, Vec<Sealed>) = (Vec::new(), Vec::new());
    for (key, value) in sealing::pairs_mut(&mut server) {
        let goes_to = part(key);
        let answer = given.get(key.as_str()).filter(|value| !value.is_empty());
        if let Some(answer) = answer {
            sealing::check_length(key, answer)?;
        }
        let input = inputs.iter().find(|input| value.contains(&format!("{INPUT}{}", input.id)));
        if let Some(input) = input {
            let mark = format!("{INPUT}{}", input.id);
            let kept_as = secret_name(name, &input.id);
            let answer = given.get(&input.id).filter(|value| !value.is_empty());
            let is_filled = answer.is_some() || input.default.is_some() || sealing::is_kept(hub, &kept_as);
            match answer.cloned().or_else(|| input.default.clone()) {
                Some(plain) if !input.secret => *value = value.replace(&mark, &plain),
                Some(secret) => {
                    *value = value.replace(&mark, &format!("${{secret:{kept_as}}}"));
                    sealed.push(Sealed { kept_as, value: SecretString::from(secret) });
                }
                None => *value = value.replace(&mark, &format!("${{secret:{kept_as}}}")),
            }
            slots.push(Slot {
                name: input.id.clone(),
                description: Some(input.description.clone()).filter(|words| !words.is_empty()),
                goes_to,
                is_filled,
            });
        } else if can_seal && sealing::is_plain_secret(key, value) {
            let (reference, one) = sealing::sealed(name, key, answer.map_or(value.as_str(), String::as_str));
            *value = reference;
            sealed.push(one);
            slots.push(Slot { name: key.clone(), description: None, goes_to, is_filled: true });
        } else if let Some(variable) = unset_variable(hub, value) {
            let kept_as = secret_name(name, key);
            if let Some(answer) = answer.filter(|_| can_seal) {
                *value = value.replace(&format!("${{{variable}}}"), &format!("${{secret:{kept_as}}}"));
                sealed.push(Sealed { kept_as, value: SecretString::from(answer.clone()) });
            }
            let description = format!("the variable {variable} is not set where the hub runs");
            let is_filled = answer.is_some();
            slots.push(Slot { name: key.clone(), description: Some(description), goes_to, is_filled });
        } else if value.is_empty() && helve_config::looks_secret(key) && can_seal {
            if let Some(answer) = answer {
                let (reference, one) = sealing::sealed(name, key, answer);
                *value = reference;
                sealed.push(one);
            }
            slots.push(Slot { name: key.clone(), description: None, goes_to, is_filled: answer.is_some() });
        } else if sealing::is_plain_secret(key, value) {
            warnings.push(format!("the value of {key} would be written into the file for everybody who can read it"));
        }
    }
    if is_program {
        server.sandbox = sandbox.filter(|choice| *choice != Choice::Off || server.sandbox.is_some());
    }
    let after = edited(place, &after, name, &Change::Update(server.clone()))?;
    Ok(Draft { after, server, slots, sealed, warnings })
}

/// The variable that a value refers to and nobody has set.
fn unset_variable(hub: &Hub, value: &str) -> Option<String> {
    let bodies = value.split("${").skip(1).filter_map(|rest| rest.split_once('}')).map(|(body, _)| body);
    let mut names = bodies.filter(|body| !body.contains(':'));
    names.find(|name| hub.setup.environment().variable(name).is_none()).map(ToOwned::to_owned)
}

/// The host of an address.
pub(super) fn host_of(url: &str) -> String {
    let authority =
        url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let end = if host.starts_with('[') { host.find(']').map(|end| end + 1) } else { host.find(':') };
    host.get(..end.unwrap_or(host.len())).unwrap_or_default().to_owned()
}
