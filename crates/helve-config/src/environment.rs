//! What the caller knows about the machine and the person: variables, directories, platform, answers.
//!
//! This crate never looks for itself. A binary fills an [`Environment`] from the process; a test makes one up.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};

/// Variables of applications that say where their files are, or how long things may take.
pub mod variable {
    /// Where programs are looked up: one that lies in the project is the project's.
    pub const PATH: &str = "PATH";
    /// Where personal configuration lives, instead of `~/.config`.
    pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
    /// The same, as seen from inside a Flatpak; Zed looks here first.
    pub const FLATPAK_XDG_CONFIG_HOME: &str = "FLATPAK_XDG_CONFIG_HOME";
    /// Claude Code: the directory of `.claude.json`.
    pub const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
    /// Claude Code: given to the servers of a project's `.mcp.json`.
    pub const CLAUDE_PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";
    /// Claude Code: how long a server may take to start, in milliseconds.
    pub const MCP_TIMEOUT: &str = "MCP_TIMEOUT";
    /// Claude Code: how long a tool may take, in milliseconds.
    pub const MCP_TOOL_TIMEOUT: &str = "MCP_TOOL_TIMEOUT";
    /// Codex: the directory of `config.toml`, instead of `~/.codex`.
    pub const CODEX_HOME: &str = "CODEX_HOME";
    /// What the variables begin with that answer `${input:id}` where nobody can be asked: see [`super::input_variable`].
    pub const HELVE_INPUT_PREFIX: &str = "HELVE_INPUT_";
    /// opencode: one more configuration file.
    pub const OPENCODE_CONFIG: &str = "OPENCODE_CONFIG";
    /// opencode: one more directory with an `opencode.json`.
    pub const OPENCODE_CONFIG_DIR: &str = "OPENCODE_CONFIG_DIR";
}

/// Everything this crate may know about its surroundings.
#[derive(Clone)]
pub struct Environment {
    /// Where the person stands.
    pub working_directory: PathBuf,
    /// The person's home directory.
    pub home: Option<PathBuf>,
    /// Where `/etc` and `/Library` are; the root directory outside of tests.
    pub system_root: PathBuf,
    /// Which paths the applications use here.
    pub platform: Platform,
    variables: BTreeMap<String, SecretString>,
    /// By file and id: the same id in two files is two questions.
    answers: BTreeMap<(PathBuf, String), SecretString>,
}

/// The variable that answers `${input:id}`: `HELVE_INPUT_`, then the id in capitals, with `_` for what a variable's name
/// cannot have.
#[must_use]
pub fn input_variable(id: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    variable::HELVE_INPUT_PREFIX.chars().chain(id.chars().map(letter)).collect()
}

/// Which paths applications use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux and everything that follows the XDG directories.
    Linux,
    /// macOS.
    MacOs,
}

impl Environment {
    /// An environment that knows where the person stands, and nothing else.
    pub fn new(working_directory: impl Into<PathBuf>) -> Self {
        Self {
            working_directory: working_directory.into(),
            home: None,
            system_root: PathBuf::from("/"),
            platform: Platform::Linux,
            variables: BTreeMap::new(),
            answers: BTreeMap::new(),
        }
    }

    /// The same with a home directory.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// The same for another platform.
    #[must_use]
    pub const fn with_platform(mut self, platform: Platform) -> Self {
        self.platform = platform;
        self
    }

    /// The same with `/etc` and `/Library` elsewhere.
    #[must_use]
    pub fn with_system_root(mut self, root: impl Into<PathBuf>) -> Self {
        self.system_root = root.into();
        self
    }

    /// The same with these variables added.
    #[must_use]
    pub fn with_variables<Name, Value>(mut self, variables: impl IntoIterator<Item = (Name, Value)>) -> Self
    where
        Name: Into<String>,
        Value: Into<String>,
    {
        let added = variables.into_iter().map(|(name, value)| (name.into(), SecretString::from(value.into())));
        self.variables.extend(added);
        self
    }

    /// The same with the person's answer to `${input:id}` of one file. No other file gets it: another one may mean
    /// something else by the same id.
    #[must_use]
    pub fn with_answer(mut self, file: impl Into<PathBuf>, id: impl Into<String>, answer: impl Into<String>) -> Self {
        self.answers.insert((file.into(), id.into()), SecretString::from(answer.into()));
        self
    }

    /// The value of a variable.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|value| value.expose_secret())
    }

    pub(crate) fn answer(&self, file: &Path, id: &str) -> Option<&str> {
        self.answers.get(&(file.to_path_buf(), id.to_owned())).map(|value| value.expose_secret())
    }

    /// The directory for personal configuration: `$XDG_CONFIG_HOME`, or `~/.config`.
    #[must_use]
    pub fn config_home(&self) -> Option<PathBuf> {
        self.directory(variable::XDG_CONFIG_HOME).or_else(|| self.home.as_ref().map(|home| home.join(".config")))
    }

    /// A directory named by a variable; only absolute ones count, as XDG demands.
    pub(crate) fn directory(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// `path` with a leading `~` filled in.
    pub(crate) fn expand_home(&self, path: &str) -> PathBuf {
        match (path.strip_prefix('~'), &self.home) {
            (Some(""), Some(home)) => home.clone(),
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => PathBuf::from(path),
        }
    }
}

impl fmt::Debug for Environment {
    /// Names only: any value may be a secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Environment")
            .field("working_directory", &self.working_directory)
            .field("home", &self.home)
            .field("system_root", &self.system_root)
            .field("platform", &self.platform)
            .field("variables", &self.variables.keys())
            .field("answers", &self.answers.keys())
            .finish()
    }
}
