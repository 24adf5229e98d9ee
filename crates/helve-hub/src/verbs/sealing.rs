//! Secrets on their way into an entry: a value that a person types goes to the vault, and the entry refers to it.

use helve_config::edit::{NewServer, NewTransport};
use helve_config::looks_secret;
use helve_setup::{secret_name, secret_record};
use secrecy::SecretString;
use serde_json::json;

use crate::error::HubError;
use crate::hub::Hub;

/// The longest value that is kept.
const LONGEST: usize = 64 << 10;

/// Headers that are secret whatever they are called.
const SECRET_HEADERS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// A value for the vault, and the name it is kept under.
#[derive(Clone)]
pub(crate) struct Sealed {
    pub(crate) kept_as: String,
    pub(crate) value: SecretString,
}

/// The variables or headers of a server.
pub(crate) const fn pairs(server: &NewServer) -> &Vec<(String, String)> {
    match &server.transport {
        NewTransport::Program { environment, .. } => environment,
        NewTransport::Address { headers, .. } => headers,
    }
}

/// The same, to be changed.
pub(crate) const fn pairs_mut(server: &mut NewServer) -> &mut Vec<(String, String)> {
    match &mut server.transport {
        NewTransport::Program { environment, .. } => environment,
        NewTransport::Address { headers, .. } => headers,
    }
}

/// Is a value of this name a secret that is written out?
pub(crate) fn is_plain_secret(name: &str, value: &str) -> bool {
    let is_secret = looks_secret(name) || SECRET_HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known));
    is_secret && !value.is_empty() && !value.contains("${")
}

/// A value that refers to the vault instead of saying a secret; the word before a token stays readable.
pub(crate) fn sealed(server: &str, name: &str, value: &str) -> (String, Sealed) {
    let kept_as = secret_name(server, name);
    let (before, secret) = match value.split_once(' ') {
        Some((scheme @ ("Bearer" | "Basic" | "Token"), secret)) => (format!("{scheme} "), secret),
        _ => (String::new(), value),
    };
    let sealed = Sealed { value: SecretString::from(secret.to_owned()), kept_as };
    (format!("{before}${{secret:{}}}", sealed.kept_as), sealed)
}

/// Puts values into the vault.
pub(crate) fn keep(hub: &Hub, sealed: &[Sealed]) -> Result<(), HubError> {
    if sealed.is_empty() {
        return Ok(());
    }
    let credentials = hub.setup.credentials().ok_or_else(no_vault)?;
    for Sealed { kept_as, value } in sealed {
        credentials.vault.write(&secret_record(kept_as), value, json!({ "kind": "secret" }))?;
    }
    Ok(())
}

/// Is there a value of this name in the vault?
pub(crate) fn is_kept(hub: &Hub, kept_as: &str) -> bool {
    let Some(credentials) = hub.setup.credentials() else { return false };
    credentials.vault.read(&secret_record(kept_as)).is_ok_and(|value| value.is_some())
}

/// Refuses a value that is too long.
pub(crate) fn check_length(name: &str, value: &str) -> Result<(), HubError> {
    if value.len() > LONGEST {
        return Err(HubError::invalid(format!("the value of {name} is longer than 64 KiB")));
    }
    Ok(())
}

fn no_vault() -> HubError {
    HubError::conflict("there is no home directory to keep a secret in").hint("set HOME, and start the hub again")
}

impl std::fmt::Debug for Sealed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Sealed({})", self.kept_as)
    }
}
