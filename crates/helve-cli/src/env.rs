//! What the program knows about the machine and the person: variables, directories, terminal. Nothing else looks.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use helve_config::{Environment, Platform};

/// The variables that steer helve itself.
pub(crate) mod variable {
    /// How many processes of helve stand above this one; helve sets it for every server it starts.
    pub(crate) const HELVE_DEPTH: &str = helve_wire::Nesting::VARIABLE;
    /// Through which servers this one was started; helve sets it, too.
    pub(crate) const HELVE_TRAIL: &str = helve_wire::Nesting::TRAIL;
    /// The key that the vault is sealed with: 32 bytes as base64 or hex. No server gets it.
    pub(crate) const HELVE_VAULT_KEY: &str = "HELVE_VAULT_KEY";
    /// A token that agents bring to `helve serve`. No server gets it.
    pub(crate) const HELVE_SERVE_TOKEN: &str = "HELVE_SERVE_TOKEN";
    /// Which log lines are shown, by target: `helve_wire=debug,helve=info`.
    pub(crate) const HELVE_LOG: &str = "HELVE_LOG";
    /// Not empty: no colours.
    pub(crate) const NO_COLOR: &str = "NO_COLOR";
    /// Neither empty nor `0`: colours even where there is no terminal.
    pub(crate) const CLICOLOR_FORCE: &str = "CLICOLOR_FORCE";
    /// `dumb` is a terminal without colours.
    pub(crate) const TERM: &str = "TERM";
    /// How wide the terminal is, for who wants it otherwise.
    pub(crate) const COLUMNS: &str = "COLUMNS";
    /// Where what helve remembers lives, instead of `~/.local/state`.
    pub(crate) const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
    /// Where what helve may forget lives, instead of `~/.cache`.
    pub(crate) const XDG_CACHE_HOME: &str = "XDG_CACHE_HOME";
    /// Where sockets live.
    pub(crate) const XDG_RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";
}

/// The name of helve's directory inside each of the XDG directories.
const OWN_DIRECTORY: &str = "helve";

/// Narrower terminals are treated as if they were this wide: a table of three letters helps nobody.
const MIN_COLUMNS: usize = 40;

/// What `main` read.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) working_directory: PathBuf,
    /// This very program.
    pub(crate) executable: Option<PathBuf>,
    pub(crate) temporary_directory: PathBuf,
    pub(crate) clock: fn() -> SystemTime,
    pub(crate) stdin_is_terminal: bool,
    /// The session has a terminal, whatever standard input is.
    pub(crate) has_terminal: bool,
    pub(crate) stdout_is_terminal: bool,
    pub(crate) stderr_is_terminal: bool,
    /// What the terminal says about its width.
    pub(crate) columns: Option<usize>,
}

/// The surroundings and what follows from them.
#[derive(Debug)]
pub(crate) struct Env {
    surroundings: Surroundings,
    pub(crate) directories: Directories,
}

/// The first file of this name in the directories that `path` lists.
pub(crate) fn find_in(path: &OsStr, program: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|directory| directory.join(program)).find(|path| path.is_file())
}

/// Where helve keeps its own things; `None` where nobody said where home is.
#[derive(Debug)]
pub(crate) struct Directories {
    /// The person's `helve.toml`.
    pub(crate) config: Option<PathBuf>,
    /// What must not be lost: trust, approvals, pins.
    pub(crate) state: Option<PathBuf>,
    /// What may be lost.
    pub(crate) cache: Option<PathBuf>,
    /// Sockets.
    pub(crate) runtime: Option<PathBuf>,
}

impl Env {
    pub(crate) fn new(surroundings: Surroundings) -> Self {
        let find = |name: &str| {
            let found = surroundings.variables.iter().find(|(key, _)| key == name);
            // XDG demands absolute paths; others do not count.
            found.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
        };
        let below_home = |path: &str| surroundings.home.as_ref().map(|home| home.join(path));
        let own = |directory: Option<PathBuf>| directory.map(|directory| directory.join(OWN_DIRECTORY));
        let directories = Directories {
            config: own(find(helve_config::environment::variable::XDG_CONFIG_HOME).or_else(|| below_home(".config"))),
            state: own(find(variable::XDG_STATE_HOME).or_else(|| below_home(".local/state"))),
            cache: own(find(variable::XDG_CACHE_HOME).or_else(|| below_home(".cache"))),
            runtime: own(find(variable::XDG_RUNTIME_DIR)),
        };
        Self { surroundings, directories }
    }

    /// The same, standing elsewhere. A path with `..` in it would find the wrong project around it.
    pub(crate) fn standing_in(mut self, directory: &Path) -> Self {
        let directory = self.surroundings.working_directory.join(directory);
        self.surroundings.working_directory = fs_err::canonicalize(&directory).unwrap_or(directory);
        self
    }

    pub(crate) fn working_directory(&self) -> &Path {
        &self.surroundings.working_directory
    }

    /// Every variable that a program helve starts may have: what opens helve itself is for helve alone.
    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        let is_own = |name: &OsStr| name == variable::HELVE_VAULT_KEY || name == variable::HELVE_SERVE_TOKEN;
        self.surroundings.variables.iter().filter(|(name, _)| !is_own(name)).cloned().collect()
    }

    /// This very program, which can also be a warden.
    pub(crate) fn executable(&self) -> Option<&Path> {
        self.surroundings.executable.as_deref()
    }

    pub(crate) fn temporary_directory(&self) -> PathBuf {
        self.surroundings.temporary_directory.clone()
    }

    pub(crate) const fn clock(&self) -> fn() -> SystemTime {
        self.surroundings.clock
    }

    pub(crate) fn now(&self) -> SystemTime {
        (self.surroundings.clock)()
    }

    /// The file a program's name means.
    pub(crate) fn find_program(&self, program: &str) -> Option<PathBuf> {
        if program.contains('/') {
            let path = self.working_directory().join(program);
            return path.is_file().then_some(path);
        }
        find_in(self.variable_os("PATH")?, program)
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.surroundings.home.as_deref()
    }

    /// A variable; one that is not Unicode counts as unset.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variable_os(name).and_then(OsStr::to_str)
    }

    pub(crate) fn variable_os(&self, name: &str) -> Option<&OsStr> {
        let found = self.surroundings.variables.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// True when a person can be asked: they see the question and their answer is read, from their terminal where
    /// standard input is something else.
    pub(crate) const fn can_ask(&self) -> bool {
        let surroundings = &self.surroundings;
        surroundings.stderr_is_terminal && (surroundings.stdin_is_terminal || surroundings.has_terminal)
    }

    pub(crate) const fn stdin_is_terminal(&self) -> bool {
        self.surroundings.stdin_is_terminal
    }

    pub(crate) const fn stdout_is_terminal(&self) -> bool {
        self.surroundings.stdout_is_terminal
    }

    pub(crate) const fn stderr_is_terminal(&self) -> bool {
        self.surroundings.stderr_is_terminal
    }

    /// How wide lines on stdout may be; `None` when it is no terminal, and lines are as long as they are.
    pub(crate) fn width(&self) -> Option<usize> {
        if !self.stdout_is_terminal() {
            return None;
        }
        let said = self.variable(variable::COLUMNS).and_then(|columns| columns.parse().ok());
        said.or(self.surroundings.columns).filter(|columns| *columns > 0).map(|columns| columns.max(MIN_COLUMNS))
    }

    /// What the configuration may know. Variables that are not Unicode cannot be referred to.
    pub(crate) fn for_configuration(&self) -> Environment {
        let variables = self.surroundings.variables.iter();
        let texts = variables.filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        let platform = if cfg!(target_os = "macos") { Platform::MacOs } else { Platform::Linux };
        let environment = Environment::new(self.working_directory()).with_platform(platform).with_variables(texts);
        match self.home() {
            Some(home) => environment.with_home(home),
            None => environment,
        }
    }

    /// A path as a person would write it here: relative below the working directory, with `~` below home.
    pub(crate) fn shown(&self, path: &Path) -> String {
        shown_from(self.working_directory(), self.home(), path)
    }
}

/// A path as a person would write it who stands in a directory.
pub(crate) fn shown_from(working_directory: &Path, home: Option<&Path>, path: &Path) -> String {
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
impl Surroundings {
    /// A machine with nothing on it and nobody at it, for tests to fill.
    pub(crate) fn empty() -> Self {
        Self {
            variables: Vec::new(),
            home: None,
            working_directory: PathBuf::from("/"),
            executable: None,
            temporary_directory: PathBuf::from("/"),
            clock: || SystemTime::UNIX_EPOCH,
            stdin_is_terminal: false,
            has_terminal: false,
            stdout_is_terminal: false,
            stderr_is_terminal: false,
            columns: None,
        }
    }
}

#[cfg(test)]
#[path = "env_tests.rs"]
mod tests;
