//! Which values are secrets by their place, so that they are hidden even where a person wrote them out.

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
