//! What is asked for: a profile, what is added to it, and how much of it has to be enforced.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::host_pattern::HostPattern;

/// A set of rules with a name. "No sandbox" is not among them: that is no policy at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The system, the program's runtime and the working directory can be read; a private temporary directory and a package
    /// cache of this program alone can be written; all of the network.
    Standard,
    /// The same without network; nothing but the temporary directory can be written.
    Offline,
    /// The system and what is named; an empty home; no network but named hosts.
    Strict,
}

/// Which of the network can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// Everything, this machine's own ports included.
    All,
    /// Nothing.
    None,
    /// These hosts, through a proxy.
    Hosts(Vec<HostPattern>),
}

/// How much may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// Somebody wrote `required`: everything, metadata of files included.
    All,
    /// What was written (a profile, a path, a host) has to be enforced; read-only mounts where they can be had.
    Written,
    /// What the machine has. Files are always enforced.
    Weaker,
}

/// What a process may use. `None` leaves a limit as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of address space, for each process.
    pub memory: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Open files, for each process.
    pub open_files: Option<u64>,
    /// Bytes of one file that is written.
    pub file_size: Option<u64>,
    /// Seconds of processor time, for each process.
    pub processor_seconds: Option<u64>,
}

/// What somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The profile.
    pub profile: Profile,
    /// Can be read besides.
    pub read: Vec<PathBuf>,
    /// Can be read and written besides, never executed.
    pub write: Vec<PathBuf>,
    /// Can be read, written and executed besides.
    pub exec: Vec<PathBuf>,
    /// The network; `None` as the profile has it.
    pub network: Option<Network>,
    /// Unix sockets may be made and connected to.
    pub unix: bool,
    /// What a process may use.
    pub limits: Limits,
    /// How much may be missing.
    pub demand: Demand,
    /// Whoever wrote the paths may name a protected place exactly, a person's own `~/.aws` for example.
    pub may_name_protected: bool,
}

impl Policy {
    /// A profile, and nothing besides.
    #[must_use]
    pub const fn new(profile: Profile) -> Self {
        Self {
            profile,
            read: Vec::new(),
            write: Vec::new(),
            exec: Vec::new(),
            network: None,
            unix: false,
            limits: Limits {
                memory: None,
                processes: None,
                open_files: None,
                file_size: None,
                processor_seconds: None,
            },
            demand: Demand::Written,
            may_name_protected: false,
        }
    }

    /// The network as it is asked for.
    #[must_use]
    pub fn network(&self) -> Network {
        match (&self.network, self.profile) {
            // An empty list of hosts is none.
            (Some(Network::Hosts(hosts)), _) if hosts.is_empty() => Network::None,
            (Some(network), _) => network.clone(),
            (None, Profile::Standard) => Network::All,
            (None, Profile::Offline | Profile::Strict) => Network::None,
        }
    }
}

impl Profile {
    /// Every profile, from the widest to the narrowest.
    pub const ALL: [Self; 3] = [Self::Standard, Self::Offline, Self::Strict];

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Offline => "offline",
            Self::Strict => "strict",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Profile {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == text).ok_or(())
    }
}

impl Limits {
    /// True when nothing is limited.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
