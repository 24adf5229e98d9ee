//! Exact values that helve itself never says: what came out of the vault, out of a program that prints a secret, or out of a
//! token endpoint, and what was written under a name that looks secret. Everything helve tells about itself and its servers
//! passes here, log lines included. What a server answers is not changed here: its own secrets are taken out where it is heard.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use helve_model::SecretSet;

fn known() -> &'static SecretSet {
    static KNOWN: OnceLock<SecretSet> = OnceLock::new();
    KNOWN.get_or_init(SecretSet::new)
}

/// From now on this is not said. Numbers, host names, single plain words, short values and paths that exist are.
pub(crate) fn remember(value: &str) {
    if value.starts_with('/') && Path::new(value).exists() {
        return;
    }
    known().add(value);
}

/// A text without what must not be said.
pub(crate) fn hide(text: &str) -> Cow<'_, str> {
    known().hide(text)
}

/// stderr for log lines, which come whole.
#[derive(Debug)]
pub(crate) struct HidingStderr;

impl Write for HidingStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match str::from_utf8(bytes) {
            Ok(text) => io::stderr().lock().write_all(hide(text).as_bytes())?,
            Err(_) => io::stderr().lock().write_all(hide(&String::from_utf8_lossy(bytes)).as_bytes())?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
