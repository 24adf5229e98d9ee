//! Which values are secrets by their name or place, so that they are hidden even where a person wrote them out.

use helve_model::{ConfigText, IdentitySpec, ServerSpec, TransportSpec};
use secrecy::SecretString;

use crate::document::{Node, Value};
use crate::source::Span;

/// Keys whose tables hold secrets, whatever the names in them.
const SECRET_TABLES: &[&str] = &["headers", "http_headers"];

/// Ends of names that speak of secrets: `API_KEY`, `accessToken`.
const ENDS: &[&str] = &["token", "secret", "key", "password", "passwd", "passphrase", "credential", "credentials"];

/// Last parts of names that speak of secrets when they stand alone: `GITHUB_PAT`, never `PATH` or `AUTH_TYPE`.
const WORDS: &[&str] = &["pat", "auth", "authorization", "pwd"];

/// True when a variable or key of that name holds a secret.
#[must_use]
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut parts = name.rsplit(['_', '-', '.']);
    let is_word = parts.clone().next().is_some_and(|last| WORDS.contains(&last));
    is_word
        || parts.any(|part| {
            let singular = part.strip_suffix('s').unwrap_or(part);
            ENDS.iter().any(|end| part.ends_with(end) || singular.ends_with(end))
        })
}

/// Headers that are secret whatever is in them.
const SECRET_HEADERS: &[&str] = &["authorization", "proxy-authorization", "cookie"];

/// True when a header of that name holds a secret.
pub(crate) fn is_secret_header(name: &str) -> bool {
    SECRET_HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known)) || looks_secret(name)
}

/// What of a server's entry is secret by its own name or place, late references filled: values of variables, headers,
/// arguments and parameters of its address that are called like secrets, and what refers to a variable that is.
#[must_use]
pub fn secrets_of(spec: &ServerSpec) -> Vec<SecretString> {
    let mut found = Found(Vec::new());
    match &spec.transport {
        TransportSpec::Stdio(stdio) => {
            for (name, text) in &stdio.environment {
                found.take(looks_secret(name), text);
            }
            let mut names_secret = false;
            for argument in &stdio.arguments {
                let (flag, value) = match argument.expose().split_once('=') {
                    Some((flag, value)) if flag.starts_with('-') => (flag, Some(value)),
                    _ => (argument.expose(), None),
                };
                let is_flag = flag.starts_with('-');
                let is_named = is_flag && looks_secret(flag.trim_start_matches('-'));
                match value {
                    Some(value) if is_named => found.add(value),
                    _ => found.take(names_secret && !is_flag, argument),
                }
                names_secret = is_named && value.is_none();
            }
        }
        TransportSpec::Http(http) => {
            found.address(http.url.expose());
            found.take(false, &http.url);
            for (name, text) in &http.headers {
                let is_secret = SECRET_HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known));
                found.take(is_secret || looks_secret(name), text);
                if is_secret {
                    found.credentials(text.expose());
                }
            }
        }
        TransportSpec::Builtin(builtin) => {
            builtin.options.values().flatten().for_each(|text| found.take(false, text));
        }
    }
    if let Some(oauth) = &spec.oauth {
        let of_client = [&oauth.client_secret, &oauth.client_key, &oauth.assertion];
        of_client.into_iter().flatten().for_each(|text| found.take(true, text));
        if let Some(IdentitySpec { client_secret, id_token, .. }) = &oauth.identity {
            client_secret.iter().chain([id_token]).for_each(|text| found.take(true, text));
        }
    }
    found.0
}

/// The arguments of a server's program that hold secrets, as a person knows them: a flag, or what is referred to. Every user of
/// the machine can read them in its list of processes.
#[must_use]
pub fn secret_arguments(spec: &ServerSpec) -> Vec<String> {
    let TransportSpec::Stdio(stdio) = &spec.transport else { return Vec::new() };
    let mut found = Vec::new();
    let mut flag_before: Option<&str> = None;
    for argument in &stdio.arguments {
        let written = argument.written();
        let flag = written.split('=').next().unwrap_or(written);
        let names_secret = flag.starts_with('-') && looks_secret(flag.trim_start_matches('-'));
        let late = argument.late_references().first().map(|reference| reference.source.to_string());
        let referred = names(written).find(|name| looks_secret(name)).map(|name| format!("${{{name}}}"));
        if names_secret && written.contains('=') {
            found.push(flag.to_owned());
        } else if let Some(flag) = flag_before.filter(|_| !written.starts_with('-')) {
            found.push(flag.to_owned());
        } else if let Some(source) = late.or(referred) {
            found.push(source);
        }
        flag_before = (names_secret && !written.contains('=')).then_some(flag);
    }
    found
}

/// Secrets that were found.
struct Found(Vec<SecretString>);

impl Found {
    fn add(&mut self, value: &str) {
        if !value.is_empty() {
            self.0.push(SecretString::from(value.to_owned()));
        }
    }

    /// A text that is secret by its place, by what it refers to, or because it was hidden where it was written.
    fn take(&mut self, is_secret: bool, text: &ConfigText) {
        let (written, value) = (text.written(), text.expose());
        let refers_to_secret = names(written).any(looks_secret);
        if !is_secret && !refers_to_secret && written != ConfigText::HIDDEN {
            return;
        }
        self.add(value);
        // Of `Bearer ${TOKEN}` the token, as it goes elsewhere too.
        if let Some((before, rest)) = written.split_once("${")
            && let Some((_, behind)) = rest.split_once('}')
            && !behind.contains("${")
            && let Some(inner) = value.strip_prefix(before).and_then(|value| value.strip_suffix(behind))
        {
            self.add(inner);
        }
    }

    /// Of `Bearer TOKEN` the token, of a cookie each value.
    fn credentials(&mut self, header: &str) {
        if let Some((_, token)) = header.split_once(' ') {
            self.add(token.trim());
        }
        for (_, value) in header.split(';').filter_map(|pair| pair.split_once('=')) {
            self.add(value.trim());
        }
    }

    /// The password in an address, and parameters that are called like secrets.
    fn address(&mut self, address: &str) {
        let Some((_, rest)) = address.split_once("://") else { return };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if let Some((_, password)) = authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':')) {
            self.add(password);
        }
        let query = rest.split_once('?').map(|(_, query)| query.split('#').next().unwrap_or_default());
        for (name, value) in
            query.into_iter().flat_map(|query| query.split('&')).filter_map(|pair| pair.split_once('='))
        {
            if looks_secret(name) {
                self.add(value);
            }
        }
    }
}

/// The variables that a text refers to.
fn names(written: &str) -> impl Iterator<Item = &str> {
    let bodies = written.split("${").skip(1).filter_map(|rest| rest.split_once('}')).map(|(body, _)| body);
    bodies.map(|body| body.strip_prefix("env:").unwrap_or(body)).map(|body| body.split(":-").next().unwrap_or(body))
}

/// The places of all secrets that are written out in a document; references are none.
pub(crate) fn places(root: &Node) -> Vec<Span> {
    let mut places = Vec::new();
    collect(root, false, &mut places);
    places
}

fn collect(node: &Node, is_secret: bool, places: &mut Vec<Span>) {
    match &node.value {
        Value::String(text) if is_secret && !text.contains(['$', '{']) => places.push(node.span),
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, is_secret, places)),
        Value::Table(entries) => {
            for entry in entries {
                let is_table = SECRET_TABLES.contains(&entry.key.as_str());
                let inner = match entry.node.value {
                    // The name of a variable is not a secret, and neither is a table of servers called `tokens`.
                    Value::String(_) => is_secret || (looks_secret(&entry.key) && !entry.key.contains("env_var")),
                    _ => is_table || (is_secret && entry.node.is_array()),
                };
                collect(&entry.node, inner, places);
            }
        }
        _ => {}
    }
}
