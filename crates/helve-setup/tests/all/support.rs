//! A person with a home directory, a project and some files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use helve_setup::Environment;
use helve_testkit::{Scenario, peer_program};

/// Everything is below one directory, and goes with it.
pub(crate) struct Person {
    directory: tempfile::TempDir,
}

impl Person {
    /// With these lines in their own `helve.toml`.
    pub(crate) fn new(helve_toml: &str) -> Self {
        let person = Self { directory: tempfile::tempdir().unwrap() };
        person.write("home/.config/helve/helve.toml", helve_toml);
        fs_err::create_dir_all(person.path("project/.git")).unwrap();
        person
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }

    #[expect(clippy::disallowed_methods, reason = "a test hands in the variables that it has")]
    pub(crate) fn environment(&self) -> Environment {
        let path = std::env::var_os("PATH").map(|path| (OsString::from("PATH"), path));
        Environment::new(self.path("project")).with_variables(path).with_home(self.path("home"))
    }
}

/// The lines of a configuration that start a fake peer, which leaves a file behind when it is started.
pub(crate) fn peer(name: &str, more: &str, started: &Path) -> String {
    let program = quoted(&peer_program().to_string_lossy());
    let scenario = quoted(&Scenario::dual().to_json());
    let script = quoted("echo started >> \"$2\"; exec \"$0\" \"$1\"");
    let started = quoted(&started.to_string_lossy());
    format!("[servers.{name}]\ncommand = \"sh\"\nargs = [\"-c\", {script}, {program}, {scenario}, {started}]\n{more}\n")
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
