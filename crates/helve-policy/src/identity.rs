//! Which server a yes was given to: where its entry comes from and what it runs. A name is not enough: another project may
//! mean another program by it.

use std::fmt;

use helve_model::{BuiltinSpec, ConfigText, HttpSpec, Layer, Origin, ServerSpec, StdioSpec, TransportSpec};
use sha2::{Digest as _, Sha256};

use crate::pin::{hexadecimal, read_hexadecimal};

/// Changed with the recipe, so that identities of different recipes never meet.
const RECIPE: &str = "helve server 1";

/// The hash of where a server comes from and what it runs.
///
/// The file counts for servers of a project alone: the person's own server is the same one in every file of theirs. What
/// runs counts as it is written, so that a rotated token changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerIdentity([u8; 32]);

impl ServerIdentity {
    /// The identity of a configured server.
    #[must_use]
    pub fn of(spec: &ServerSpec) -> Self {
        // Taken apart whole: a new field does not compile until somebody decides whether it says what runs.
        let ServerSpec {
            name,
            transport,
            origin,
            layer,
            enabled: _,
            required: _,
            lazy: _,
            one_at_a_time: _,
            shared: _,
            private_idle: _,
            protocol_version: _,
            startup_timeout: _,
            call_timeout: _,
            max_retries: _,
            validation: _,
            inherit_environment: _,
            leaves_results: _,
            record: _,
            sandbox: _,
            oauth: _,
            access: _,
        } = spec;
        let mut parts = Parts(Sha256::new());
        parts.add(RECIPE);
        parts.add(name.as_str());
        match (layer, origin) {
            (Layer::Project, Origin::File { path, .. }) => parts.add(&path.to_string_lossy()),
            (Layer::Project, _) => parts.add("a project"),
            (Layer::Defaults | Layer::User | Layer::Explicit | Layer::CommandLine, _) => parts.add("the person"),
        }
        match transport {
            TransportSpec::Stdio(StdioSpec { command, arguments, environment, working_directory }) => {
                parts.add("stdio");
                parts.text(command);
                parts.count(arguments.len());
                arguments.iter().for_each(|argument| parts.text(argument));
                parts.add(&working_directory.as_ref().map(|path| path.to_string_lossy()).unwrap_or_default());
                // A variable that is only passed on is there or not, and it is the same server.
                let said = environment.iter().filter(|(name, text)| text.written() != format!("${{{name}}}"));
                said.for_each(|(name, text)| parts.pair(name, text));
            }
            TransportSpec::Http(HttpSpec { url, headers, flavour }) => {
                parts.add("http");
                parts.text(url);
                parts.add(&format!("{flavour:?}"));
                headers.iter().for_each(|(name, text)| parts.pair(name, text));
            }
            TransportSpec::Builtin(BuiltinSpec { kind, options }) => {
                parts.add("builtin");
                parts.add(kind);
                for (option, values) in options {
                    parts.add(option);
                    parts.count(values.len());
                    values.iter().for_each(|value| parts.text(value));
                }
            }
        }
        Self(parts.0.finalize().into())
    }

    /// The identity that [`fmt::Display`] wrote.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        read_hexadecimal(text).map(Self)
    }
}

impl fmt::Display for ServerIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        hexadecimal(&self.0, formatter)
    }
}

impl fmt::Debug for ServerIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

/// Every part goes in with its length, so that no two lists of parts look alike.
struct Parts(Sha256);

impl Parts {
    fn add(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text.as_bytes());
    }

    fn count(&mut self, count: usize) {
        self.0.update((count as u64).to_le_bytes());
    }

    /// What was written; a secret that is written out counts by itself.
    fn text(&mut self, text: &ConfigText) {
        let written = text.written();
        self.add(written);
        if written.contains(ConfigText::HIDDEN) {
            self.add(text.expose());
        }
    }

    fn pair(&mut self, name: &str, text: &ConfigText) {
        self.add(name);
        self.text(text);
    }
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
