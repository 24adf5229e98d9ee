//! What a configuration says about a server's sandbox: what its program may touch.

use std::fmt;
use std::path::PathBuf;

/// The sandbox of one server, as it is written; or as helve chose it where nothing is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSpec {
    /// The profile.
    pub profile: SandboxProfile,
    /// Can be read besides.
    pub read: Vec<PathBuf>,
    /// Can be written besides.
    pub write: Vec<PathBuf>,
    /// Can be written and executed besides.
    pub exec: Vec<PathBuf>,
    /// The network; `None` as the profile has it.
    pub network: Option<SandboxNetwork>,
    /// Unix sockets may be made and connected to.
    pub unix: bool,
    /// What its processes may use.
    pub limits: SandboxLimits,
    /// True: do not start unless all of it is enforced; false: start with what the machine can enforce.
    pub required: Option<bool>,
    /// Nobody wrote it: helve's choice for a project's server.
    pub is_default: bool,
}

/// A set of rules with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SandboxProfile {
    /// No sandbox.
    Off,
    /// Reads the system, its runtime and its working directory; writes what is its own; all of the network.
    Standard,
    /// The same without network, and with nothing to write but a temporary directory.
    Offline,
    /// The system, named paths and named hosts.
    Strict,
}

/// Which of the network can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxNetwork {
    /// Everything.
    All,
    /// Nothing.
    None,
    /// These hosts: `api.github.com`, `*.example.com:443`, `private:db.internal:5432`.
    Hosts(Vec<String>),
}

/// What processes may use; `None` leaves a limit as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Megabytes of address space, for each process.
    pub memory_mb: Option<u32>,
    /// Processes and threads.
    pub processes: Option<u32>,
    /// Open files, for each process.
    pub open_files: Option<u32>,
    /// Megabytes of one file.
    pub file_size_mb: Option<u32>,
    /// Seconds of processor time, for each process.
    pub processor_seconds: Option<u32>,
}

impl SandboxSpec {
    /// A profile, and nothing besides.
    #[must_use]
    pub fn new(profile: SandboxProfile) -> Self {
        Self {
            profile,
            read: Vec::new(),
            write: Vec::new(),
            exec: Vec::new(),
            network: None,
            unix: false,
            limits: SandboxLimits::default(),
            required: None,
            is_default: false,
        }
    }

    /// helve's choice where nobody wrote anything.
    #[must_use]
    pub fn by_default(profile: SandboxProfile) -> Self {
        Self { is_default: true, ..Self::new(profile) }
    }

    /// True when there is one.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.profile != SandboxProfile::Off
    }
}

impl SandboxProfile {
    /// Every profile, from none to the narrowest.
    pub const ALL: [Self; 4] = [Self::Off, Self::Standard, Self::Offline, Self::Strict];

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Standard => "standard",
            Self::Offline => "offline",
            Self::Strict => "strict",
        }
    }

    /// The profile of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == name)
    }
}

impl fmt::Display for SandboxProfile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
