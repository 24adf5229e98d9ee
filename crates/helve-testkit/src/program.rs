//! Owns finding the peer's binary from the tests of any crate: it is built on demand, since cargo builds no other package's
//! binaries for a test.
#![expect(clippy::disallowed_methods, reason = "a test asks cargo, which lives in the environment, to build the peer")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The built stdio binary, to be started with [`Scenario::to_json`](crate::Scenario::to_json) as its one argument.
///
/// The first use in a process runs `cargo build` for it, into the target directory and with the profile of the running test.
///
/// # Panics
///
/// If it cannot be built: no test that needs it can pass then.
pub fn peer_program() -> PathBuf {
    static BUILT: Mutex<Option<PathBuf>> = Mutex::new(None);
    built(&BUILT, "helve-testkit-peer", &[])
}

/// The built conformance fixture, to be started with `stdio` or `http`, and `--era` with `legacy`, `modern` or `dual`.
///
/// # Panics
///
/// As [`peer_program`].
pub fn fixture_program() -> PathBuf {
    static BUILT: Mutex<Option<PathBuf>> = Mutex::new(None);
    built(&BUILT, "helve-testkit-fixture", &[])
}

/// The built server on `rmcp`, to be started with `stdio` or `http`, and `legacy` or `modern` for one era only.
///
/// # Panics
///
/// As [`peer_program`].
pub fn rmcp_program() -> PathBuf {
    static BUILT: Mutex<Option<PathBuf>> = Mutex::new(None);
    built(&BUILT, "helve-testkit-rmcp", &["--features", "rmcp"])
}

fn built(place: &Mutex<Option<PathBuf>>, binary: &str, more: &[&str]) -> PathBuf {
    let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = &*place {
        return path.clone();
    }
    match build(binary, more) {
        Ok(path) => {
            *place = Some(path.clone());
            path
        }
        #[expect(clippy::panic, reason = "documented: this is called by tests only, and they cannot go on")]
        Err(error) => panic!("cannot build {binary}: {error}"),
    }
}

fn build(binary: &str, more: &[&str]) -> std::io::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", "helve-testkit", "--bin", binary, "--message-format", "json"]);
    command.arg("--manifest-path").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    command.args(more);
    let place = BuildPlace::of(&std::env::current_exe()?);
    if let Some(place) = place {
        command.arg("--target-dir").arg(place.target_directory).args(["--profile", &place.profile]);
        if let Some(triple) = place.triple {
            command.args(["--target", &triple]);
        }
    }
    let output = command.stdin(Stdio::null()).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(std::io::Error::other(format!("cargo build ended with {}\n{errors}", output.status)));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let executable = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let executable = executable
        .filter(|message| message["target"]["name"] == binary)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from));
    executable.ok_or_else(|| std::io::Error::other(format!("cargo named no executable\n{errors}")))
}

/// Where and how the running test was built.
#[derive(Debug, PartialEq, Eq)]
struct BuildPlace {
    target_directory: PathBuf,
    profile: String,
    triple: Option<String>,
}

impl BuildPlace {
    /// Reads it off the path of an executable: `<target>[/<triple>]/<profile>[/deps|/examples]/<name>`.
    fn of(executable: &Path) -> Option<Self> {
        let mut directory = executable.parent()?;
        if directory.file_name().is_some_and(|name| name == "deps" || name == "examples") {
            directory = directory.parent()?;
        }
        let profile = directory.file_name()?.to_str()?;
        // The directory of the profile `dev` has its old name; `test` shares it.
        let profile = if profile == "debug" { "dev" } else { profile };
        let above = directory.parent()?;
        // Cargo keeps this file at the top of a target directory and nowhere else.
        let is_top = |path: &Path| path.join(".rustc_info.json").is_file();
        let (target_directory, triple) = if is_top(above) {
            (above, None)
        } else {
            let top = above.parent().filter(|path| is_top(path))?;
            (top, Some(above.file_name()?.to_str()?.to_string()))
        };
        Some(Self { target_directory: target_directory.to_path_buf(), profile: profile.to_string(), triple })
    }
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
