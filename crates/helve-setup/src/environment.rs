//! What a setup is told about the machine and the person: variables, directories, the program itself, a clock. Nothing
//! here looks for them: whoever runs the program reads them once, and hands them in.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use helve_config::Platform;
use helve_model::Origin;
use helve_wire::Proxies;
use helve_wire::launch::WardenProgram;

use crate::setup::Choices;

/// The variables that steer helve itself, wherever it runs.
pub mod variable {
    /// How many processes of helve stand above this one; helve sets it for every server it starts.
    pub const HELVE_DEPTH: &str = helve_wire::Nesting::VARIABLE;
    /// Through which servers this one was started; helve sets it, too.
    pub const HELVE_TRAIL: &str = helve_wire::Nesting::TRAIL;
    /// The key that the vault is sealed with: 32 bytes as base64 or hex. No server gets it.
    pub const HELVE_VAULT_KEY: &str = "HELVE_VAULT_KEY";
    /// A token that agents bring to a gateway. No server gets it.
    pub const HELVE_SERVE_TOKEN: &str = "HELVE_SERVE_TOKEN";
    /// Where what helve remembers lives, instead of `~/.local/state`.
    pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
    /// Where what helve may forget lives, instead of `~/.cache`.
    pub const XDG_CACHE_HOME: &str = "XDG_CACHE_HOME";
    /// Where the bus of the person's session listens: the system's keyring is reached by it.
    pub const DBUS_SESSION_BUS_ADDRESS: &str = "DBUS_SESSION_BUS_ADDRESS";
    /// Where sockets live.
    pub const XDG_RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";
}

/// The name of helve's directory inside each of the XDG directories.
const OWN_DIRECTORY: &str = "helve";

/// What is known about the machine and the person.
#[derive(Debug, Clone)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
    home: Option<PathBuf>,
    working_directory: PathBuf,
    temporary_directory: PathBuf,
    program: Option<OwnProgram>,
    clock: fn() -> SystemTime,
    certificates: fn() -> &'static [Vec<u8>],
    /// What this machine is called.
    device: Option<String>,
    directories: OwnDirectories,
}

/// Where helve keeps its own things; `None` where nobody said where home is.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OwnDirectories {
    /// The person's `helve.toml`.
    pub config: Option<PathBuf>,
    /// What must not be lost: trust, approvals, pins.
    pub state: Option<PathBuf>,
    /// What may be lost.
    pub cache: Option<PathBuf>,
    /// Sockets.
    pub runtime: Option<PathBuf>,
}

/// This very program, and what it can be started as. A program that embeds helve and is none of these needs not say it:
/// its servers are then held by plain process groups, and none is kept in the background.
#[derive(Debug, Clone)]
pub struct OwnProgram {
    /// Where it lies.
    pub path: PathBuf,
    /// The words behind its name that make it a warden.
    pub warden: Vec<OsString>,
    /// True when a word, or a text of words, may make it a server. Cheap: asked for every word of every entry.
    pub may_serve: fn(&str) -> bool,
    /// True when these words behind its name make it a server.
    pub serves: fn(&[String]) -> bool,
    /// The words that make it the process that keeps servers, with these choices, until nobody has come for so long.
    pub keeps: fn(&Choices, Duration) -> Vec<OsString>,
}

impl OwnProgram {
    /// How it is started as a warden.
    #[must_use]
    pub fn as_warden(&self) -> WardenProgram {
        WardenProgram { path: self.path.clone(), leading: self.warden.clone() }
    }
}

impl Environment {
    /// A machine with nothing on it and nobody at it; relative paths begin in this directory.
    pub fn new(working_directory: impl Into<PathBuf>) -> Self {
        Self {
            variables: Vec::new(),
            home: None,
            working_directory: working_directory.into(),
            temporary_directory: PathBuf::from("/"),
            program: None,
            clock: || SystemTime::UNIX_EPOCH,
            certificates: || &[],
            device: None,
            directories: OwnDirectories::default(),
        }
    }

    /// The person's variables.
    #[must_use]
    pub fn with_variables(mut self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.variables = variables.into_iter().collect();
        self.find_directories();
        self
    }

    /// The person's home directory.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self.find_directories();
        self
    }

    /// Where files lie that nobody needs for long.
    #[must_use]
    pub fn with_temporary_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.temporary_directory = directory.into();
        self
    }

    /// The program that is running.
    #[must_use]
    pub fn with_program(mut self, program: OwnProgram) -> Self {
        self.program = Some(program);
        self
    }

    /// What time it is.
    #[must_use]
    pub const fn with_clock(mut self, clock: fn() -> SystemTime) -> Self {
        self.clock = clock;
        self
    }

    /// The authorities (DER) that the system trusts, asked for once they are needed.
    #[must_use]
    pub const fn with_certificates(mut self, certificates: fn() -> &'static [Vec<u8>]) -> Self {
        self.certificates = certificates;
        self
    }

    /// What this machine is called.
    #[must_use]
    pub fn with_device(mut self, name: impl Into<String>) -> Self {
        self.device = Some(name.into());
        self
    }

    /// What this machine is called, where somebody said so.
    #[must_use]
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// The same, standing elsewhere. A path with `..` in it would find the wrong project around it.
    #[must_use]
    pub fn standing_in(mut self, directory: &Path) -> Self {
        let directory = self.working_directory.join(directory);
        self.working_directory = fs_err::canonicalize(&directory).unwrap_or(directory);
        self
    }

    fn find_directories(&mut self) {
        let find = |name: &str| {
            // XDG demands absolute paths; others do not count.
            self.variable_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let below_home = |path: &str| self.home.as_ref().map(|home| home.join(path));
        let own = |directory: Option<PathBuf>| directory.map(|directory| directory.join(OWN_DIRECTORY));
        self.directories = OwnDirectories {
            config: own(find(helve_config::environment::variable::XDG_CONFIG_HOME).or_else(|| below_home(".config"))),
            state: own(find(variable::XDG_STATE_HOME).or_else(|| below_home(".local/state"))),
            cache: own(find(variable::XDG_CACHE_HOME).or_else(|| below_home(".cache"))),
            runtime: own(find(variable::XDG_RUNTIME_DIR)),
        };
    }

    /// Where relative paths begin.
    #[must_use]
    pub fn working_directory(&self) -> &Path {
        &self.working_directory
    }

    /// helve's own directories.
    #[must_use]
    pub const fn directories(&self) -> &OwnDirectories {
        &self.directories
    }

    /// Every variable that a program helve starts may have: what opens helve itself is for helve alone.
    #[must_use]
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let is_own = |name: &OsStr| name == variable::HELVE_VAULT_KEY || name == variable::HELVE_SERVE_TOKEN;
        self.variables.iter().filter(|(name, _)| !is_own(name)).cloned().collect()
    }

    /// The program that is running.
    #[must_use]
    pub const fn program(&self) -> Option<&OwnProgram> {
        self.program.as_ref()
    }

    /// Where the program that is running lies.
    #[must_use]
    pub fn executable(&self) -> Option<&Path> {
        self.program.as_ref().map(|program| program.path.as_path())
    }

    /// Where files lie that nobody needs for long.
    #[must_use]
    pub fn temporary_directory(&self) -> &Path {
        &self.temporary_directory
    }

    /// The clock.
    #[must_use]
    pub const fn clock(&self) -> fn() -> SystemTime {
        self.clock
    }

    /// The authorities (DER) that the system trusts.
    #[must_use]
    pub const fn certificates(&self) -> fn() -> &'static [Vec<u8>] {
        self.certificates
    }

    /// The proxies that the person uses, by the variables that most programs know; `None` where none is set. A project's
    /// `.env` does not count.
    #[must_use]
    pub fn proxies(&self) -> Option<Proxies> {
        let find =
            |names: [&str; 2]| names.into_iter().find_map(|name| self.variable(name).filter(|text| !text.is_empty()));
        let all = find(["all_proxy", "ALL_PROXY"]);
        let http = find(["http_proxy", "HTTP_PROXY"]).or(all);
        let https = find(["https_proxy", "HTTPS_PROXY"]).or(all);
        let is_any = http.is_some() || https.is_some();
        is_any.then(|| Proxies::new(http, https, find(["no_proxy", "NO_PROXY"])))
    }

    /// What time it is.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        (self.clock)()
    }

    /// The file a program's name means.
    #[must_use]
    pub fn find_program(&self, program: &str) -> Option<PathBuf> {
        if program.contains('/') {
            let path = self.working_directory.join(program);
            return path.is_file().then_some(path);
        }
        find_in(self.variable_os("PATH")?, program)
    }

    /// The person's home directory.
    #[must_use]
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// A variable; one that is not Unicode counts as unset.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variable_os(name).and_then(OsStr::to_str)
    }

    /// A variable as it is.
    #[must_use]
    pub fn variable_os(&self, name: &str) -> Option<&OsStr> {
        let found = self.variables.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// What the configuration may know. Variables that are not Unicode cannot be referred to.
    #[must_use]
    pub fn for_configuration(&self) -> helve_config::Environment {
        let texts = self.variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        let platform = if cfg!(target_os = "macos") { Platform::MacOs } else { Platform::Linux };
        let environment = helve_config::Environment::new(&self.working_directory);
        let environment = environment.with_platform(platform).with_variables(texts);
        match self.home() {
            Some(home) => environment.with_home(home),
            None => environment,
        }
    }

    /// A path as a person would write it here: relative below the working directory, with `~` below home.
    #[must_use]
    pub fn shown(&self, path: &Path) -> String {
        shown_from(&self.working_directory, self.home(), path)
    }

    /// A place in a configuration, as a person would write it.
    #[must_use]
    pub fn shown_origin(&self, origin: &Origin) -> String {
        match origin {
            Origin::File { path, line, .. } => format!("{}:{line}", self.shown(path)),
            Origin::BuiltIn | Origin::CommandLine | Origin::Program => origin.to_string(),
        }
    }
}

/// The first file of this name in the directories that `path` lists.
#[must_use]
pub fn find_in(path: &OsStr, program: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|directory| directory.join(program)).find(|path| path.is_file())
}

/// A path as a person would write it who stands in a directory.
#[must_use]
pub fn shown_from(working_directory: &Path, home: Option<&Path>, path: &Path) -> String {
    if let Ok(inside) = path.strip_prefix(working_directory)
        && !inside.as_os_str().is_empty()
    {
        return inside.to_string_lossy().into_owned();
    }
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(inside) if inside.as_os_str().is_empty() => "~".to_owned(),
        Some(inside) => format!("~/{}", inside.to_string_lossy()),
        None => path.to_string_lossy().into_owned(),
    }
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
