//! Which variables of the host's environment a server may see.
//!
//! The environment of a host is full of credentials, and a server is somebody else's code. So the rule is an
//! allowlist: where things are, how to speak to the person, and which proxy and certificates the network wants.
//! Everything else reaches a server only when its spec names it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;

/// Names that are passed on as they are.
const PASSED_ON: &[&str] = &[
    // User and places: programs find their configuration, caches and helpers with these.
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "USER",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    // How to speak: language, encoding, clock. `LC_*` is passed on by prefix.
    "LANG",
    "LANGUAGE",
    "TERM",
    "TZ",
    "__CF_USER_TEXT_ENCODING",
    // Which certificates to believe. Paths of files, not secrets; without them nothing that fetches over TLS works
    // on a network with a certificate authority of its own.
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// Names that begin like this are passed on as well.
const PASSED_ON_PREFIX: &str = "LC_";

/// Proxies are passed on unless they carry a password: package runners cannot start a server without them on networks
/// that have one.
const PROXIES: &[&str] =
    &["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "all_proxy", "http_proxy", "https_proxy", "no_proxy"];

/// Builds the complete environment of a server from the host's environment, which is handed in, and the variables the
/// server's spec names. What the spec names wins.
///
/// Not passed on, for example: tokens and keys of any kind, `XDG_RUNTIME_DIR`, `SSH_AUTH_SOCK` and
/// `DBUS_SESSION_BUS_ADDRESS` (the doors to the person's session), and `LD_PRELOAD` or `NODE_OPTIONS`.
pub fn child_environment(
    parent: impl IntoIterator<Item = (OsString, OsString)>,
    named: impl IntoIterator<Item = (OsString, OsString)>,
) -> ChildEnvironment {
    let inherited = parent.into_iter().filter(|(name, value)| is_passed_on(name, value));
    ChildEnvironment(inherited.chain(named).collect())
}

/// The complete environment of a process. `Debug` shows the names and never a value.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ChildEnvironment(BTreeMap<OsString, OsString>);

impl ChildEnvironment {
    /// The value of this name.
    #[must_use]
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.0.get(name.as_ref()).map(OsString::as_os_str)
    }

    /// Sets a variable, replacing an earlier value.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.0.insert(name.into(), value.into());
    }

    /// All variables, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl<Name: Into<OsString>, Value: Into<OsString>> FromIterator<(Name, Value)> for ChildEnvironment {
    fn from_iter<Variables: IntoIterator<Item = (Name, Value)>>(variables: Variables) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl fmt::Debug for ChildEnvironment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

fn is_passed_on(name: &OsStr, value: &OsStr) -> bool {
    // A shell function in disguise: bash would run it.
    if value.as_bytes().starts_with(b"()") {
        return false;
    }
    let Some(name) = name.to_str() else { return false };
    if PROXIES.contains(&name) {
        return !value.as_bytes().contains(&b'@');
    }
    PASSED_ON.contains(&name) || name.starts_with(PASSED_ON_PREFIX)
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
