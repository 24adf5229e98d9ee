//! Places that no profile opens: keys, passwords, browsers, the configuration of agents, and helve's own state.
//!
//! Landlock gives whole trees and cannot carve anything out of one. So these places are kept closed by never giving a tree
//! that contains one of them, nor anything below one of them.
//!
//! Every start asks for every grant whether it reaches one of them, so paths are compared as bytes, not part by part. For that
//! they are spelled plainly first: without doubled or trailing slashes and without `.`.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::files::Files;

/// Below the home directory.
const IN_HOME: &[&str] = &[
    // Keys and passwords.
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".boto",
    ".kube",
    ".docker",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".git-credentials",
    ".vault-token",
    ".terraformrc",
    ".terraform.d",
    ".password-store",
    ".s3cfg",
    ".oci",
    ".databrickscfg",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/git/credentials",
    ".config/gcloud",
    ".config/doctl",
    ".config/flyctl",
    ".fly",
    ".config/op",
    ".config/1Password",
    ".config/Bitwarden",
    ".config/Bitwarden CLI",
    ".config/keybase",
    ".config/rclone",
    ".config/helm",
    ".config/sops",
    ".config/age",
    ".config/containers/auth.json",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".local/share/pass",
    ".gnome2/keyrings",
    ".kde/share/apps/kwallet",
    "Library/Keychains",
    // What a person typed.
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".local/share/fish/fish_history",
    // Browsers and mail.
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".var/app/org.mozilla.firefox",
    ".var/app/com.google.Chrome",
    "snap/firefox",
    "snap/chromium",
    "Library/Application Support/Firefox",
    "Library/Application Support/Google/Chrome",
    "Library/Safari",
    "Library/Cookies",
    // Other agents.
    ".claude",
    ".claude.json",
    ".codex",
    ".cursor",
    ".gemini",
    ".codeium",
    ".windsurf",
    ".kiro",
    ".copilot",
    ".continue",
    ".aider.conf.yml",
    ".config/Claude",
    ".config/Code/User",
    ".config/Cursor",
    ".config/github-copilot",
    ".config/goose",
    ".config/opencode",
    ".local/share/opencode",
    ".config/zed",
    ".mcporter",
    "Library/Application Support/Claude",
    "Library/Application Support/Code/User",
];

/// Of the system: what only some users can read anyway, kept closed for them as well.
const OF_THE_SYSTEM: &[&str] =
    &["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private"];

/// Whose a protected place is: who may open it all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceOwner {
    /// A person's own configuration may name it, exactly.
    Person,
    /// helve's own: nobody.
    Helve,
}

/// A place that is kept closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) owner: PlaceOwner,
}

/// The places that are kept closed, under every name they have.
#[derive(Debug, Clone, Default)]
pub(crate) struct Protected {
    places: Vec<Place>,
}

impl Protected {
    /// Those of a home directory, of the system, and `own`.
    pub(crate) fn new(home: Option<&Path>, own: &[PathBuf], files: &dyn Files) -> Self {
        let mut protected = Self::default();
        if let Some(home) = home {
            for place in IN_HOME {
                protected.add(&home.join(place), PlaceOwner::Person, files);
            }
        }
        for place in OF_THE_SYSTEM {
            protected.add(Path::new(place), PlaceOwner::Person, files);
        }
        for place in own {
            protected.add(place, PlaceOwner::Helve, files);
        }
        protected
    }

    /// A place as it is spelled, where its directory really is, and where it leads itself.
    fn add(&mut self, path: &Path, owner: PlaceOwner, files: &dyn Files) {
        let first = self.places.len();
        self.insert(first, path, owner);
        if let Some((real, _)) = files.resolve(path) {
            self.insert(first, &real, owner);
        }
        // It may not exist yet: its nearest ancestor that does says where it will be.
        for parent in path.ancestors().skip(1) {
            if let (Some((real, _)), Ok(missing)) = (files.resolve(parent), path.strip_prefix(parent)) {
                self.insert(first, &real.join(missing), owner);
                break;
            }
        }
    }

    /// Another name of the place whose first name is at `first`.
    fn insert(&mut self, first: usize, path: &Path, owner: PlaceOwner) {
        let path = plain(path);
        if !self.places.iter().skip(first).any(|place| place.path.as_os_str() == path.as_os_str()) {
            self.places.push(Place { path, owner });
        }
    }

    /// The protected place that a grant of this path (without links) would open: one that it contains, or that contains it.
    pub(crate) fn reached_from(&self, path: &Path) -> Option<&Place> {
        let path = &plain(path);
        let mut reached = self.places.iter().filter(|place| is_below(&place.path, path) || is_below(path, &place.path));
        let first = reached.next()?;
        // helve's own first: nobody may name those.
        Some(std::iter::once(first).chain(reached).find(|place| place.owner == PlaceOwner::Helve).unwrap_or(first))
    }

    /// True when `path` is one of the places that a person may name, or lies below one, and reaches nothing of helve's.
    pub(crate) fn is_nameable(&self, path: &Path) -> bool {
        let path = &plain(path);
        let helves = |place: &Place| place.owner == PlaceOwner::Helve;
        let reaches = |place: &Place| is_below(&place.path, path) || is_below(path, &place.path);
        !self.places.iter().any(|place| helves(place) && reaches(place))
            && self.places.iter().any(|place| is_below(path, &place.path))
            // Exactly: not a directory that happens to contain others besides.
            && !self.places.iter().any(|place| place.path != *path && is_below(&place.path, path))
    }

    #[cfg(test)]
    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }
}

/// The one plain spelling of a path. What `..` leads to is for whoever follows links to say: it stays.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    let is_plain = bytes.len() > 1
        && bytes
            .strip_prefix(b"/")
            .is_some_and(|rest| rest.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b".")));
    // Nearly every path is: what is found by following links always.
    if is_plain { path.to_owned() } else { path.components().collect() }
}

/// True when a path is a directory or lies in it, both spelled plainly.
pub(crate) fn is_below(path: &Path, directory: &Path) -> bool {
    let (path, directory) = (path.as_os_str().as_bytes(), directory.as_os_str().as_bytes());
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b'/') || directory.ends_with(b"/"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::{is_below, plain};

    proptest! {
        /// Byte by byte and part by part say the same.
        #[test]
        fn below_is_what_paths_say_it_is(path in "/[ab./]{0,8}", directory in "/[ab./]{0,8}") {
            let (path, directory) = (Path::new(&path), Path::new(&directory));
            prop_assert_eq!(is_below(&plain(path), &plain(directory)), path.starts_with(directory));
            prop_assert_eq!(plain(path).into_os_string(), path.components().collect::<std::path::PathBuf>().into_os_string());
        }
    }
}
