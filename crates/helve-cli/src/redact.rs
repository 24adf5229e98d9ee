//! Exact values that helve itself never says: what came out of the vault, out of a program that prints a secret, or out of a
//! token endpoint, and what was written under a name that looks secret. Everything helve tells about itself and its servers
//! passes here; what a server answers to a call does not.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};

/// Shorter values are words, not secrets: without them no sentence could be said.
const MIN_LENGTH: usize = 8;
/// Most values that are known; more than any configuration holds.
const MOST: usize = 10_000;
/// What stands in their place.
const HIDDEN: &str = "(hidden)";

#[derive(Debug, Default)]
struct Known {
    values: HashSet<String>,
    /// Every form of every value, the longest first.
    forms: Vec<String>,
}

fn known() -> MutexGuard<'static, Known> {
    static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
    KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on this is not said. Numbers, flags, single plain words and short values are.
pub(crate) fn remember(value: &str) {
    if !is_secret(value) {
        return;
    }
    let mut known = known();
    if known.values.len() >= MOST || !known.values.insert(value.to_owned()) {
        return;
    }
    known.forms.extend(forms(value));
    known.forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
}

/// A text without what must not be said.
pub(crate) fn hide(text: &str) -> Cow<'_, str> {
    let known = known();
    if known.forms.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut hidden = Cow::Borrowed(text);
    for form in &known.forms {
        if hidden.contains(form.as_str()) {
            hidden = Cow::Owned(hidden.replace(form.as_str(), HIDDEN));
        }
    }
    hidden
}

fn is_secret(value: &str) -> bool {
    let is_plain_word = value.len() < 16 && value.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_path = value.starts_with('/') && std::path::Path::new(value).exists();
    value.len() >= MIN_LENGTH && !is_plain_word && !is_number && !is_path
}

/// A value as it may be met: as it is, in JSON, in hex, in a URL, in base64 behind any number of bytes.
fn forms(value: &str) -> HashSet<String> {
    let bytes = value.as_bytes();
    let mut forms = HashSet::from([value.to_owned()]);
    let json = serde_json::Value::from(value).to_string();
    forms.insert(json.trim_matches('"').to_owned());
    forms.insert(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
    forms.insert(bytes.iter().map(|byte| format!("{byte:02X}")).collect());
    for lower in [false, true] {
        let percent = |byte: &u8| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(*byte).to_string(),
            byte if lower => format!("%{byte:02x}"),
            byte => format!("%{byte:02X}"),
        };
        forms.insert(bytes.iter().map(percent).collect());
    }
    for before in 0..3 {
        let padded: Vec<u8> = std::iter::repeat_n(0, before).chain(bytes.iter().copied()).collect();
        for engine in [BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD] {
            let encoded = engine.encode(&padded);
            // Only the characters that nothing before or behind can change.
            let from = (before * 8).div_ceil(6);
            let to = padded.len() * 8 / 6;
            forms.extend(encoded.get(from..to).filter(|form| form.len() >= MIN_LENGTH).map(str::to_owned));
        }
    }
    forms
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
