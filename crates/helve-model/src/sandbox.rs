//! What a program may touch, in the words that a configuration has for it: profiles, the network, limits. `helve-sandbox` turns
//! these very types into rules, so that what is written and what is enforced cannot drift apart.

mod host_pattern;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use host_pattern::{BadHostPattern, HostPattern};

/// The sandbox of one server, as it is written; or as helve chose it where nothing is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSpec {
    /// The profile, or none.
    pub profile: Choice,
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
    /// What its processes may use.
    pub limits: Limits,
    /// True: do not start unless all of it is enforced; false: start with what the machine can enforce.
    pub required: Option<bool>,
    /// Nobody wrote it: what the person said yes to when they trusted the server, or what their settings propose.
    pub is_default: bool,
}

/// A profile, or no sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Choice {
    /// No sandbox.
    Off,
    /// This profile.
    In(Profile),
}

/// A set of rules with a name. "No sandbox" is not among them: that is not a profile at all.
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

/// What processes may use. `None` leaves a limit as it is.
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

impl SandboxSpec {
    /// A profile, and nothing besides.
    #[must_use]
    pub const fn new(profile: Choice) -> Self {
        Self {
            profile,
            read: Vec::new(),
            write: Vec::new(),
            exec: Vec::new(),
            network: None,
            unix: false,
            limits: Limits::NONE,
            required: None,
            is_default: false,
        }
    }

    /// What holds where nobody wrote anything.
    #[must_use]
    pub fn by_default(profile: Choice) -> Self {
        Self { is_default: true, ..Self::new(profile) }
    }

    /// True when there is one.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        !matches!(self.profile, Choice::Off)
    }
}

impl Choice {
    /// Everything that can be chosen, from none to the narrowest.
    pub const ALL: [Self; 4] =
        [Self::Off, Self::In(Profile::Standard), Self::In(Profile::Offline), Self::In(Profile::Strict)];

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::In(profile) => profile.as_str(),
        }
    }

    /// The profile, if one was chosen.
    #[must_use]
    pub const fn profile(self) -> Option<Profile> {
        match self {
            Self::Off => None,
            Self::In(profile) => Some(profile),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Choice {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|choice| choice.as_str() == text).ok_or(())
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
    /// Nothing is limited.
    pub const NONE: Self =
        Self { memory: None, processes: None, open_files: None, file_size: None, processor_seconds: None };

    /// Each limit that is set, in words; bytes in megabytes, as they are written.
    pub fn words(&self) -> impl Iterator<Item = String> + use<> {
        let Self { memory, processes, open_files, file_size, processor_seconds } = *self;
        let megabytes = |bytes: Option<u64>| bytes.map(|bytes| bytes >> 20);
        [
            (megabytes(memory), "MB of memory"),
            (processes, "processes"),
            (open_files, "open files"),
            (megabytes(file_size), "MB a file"),
            (processor_seconds, "s of processor time"),
        ]
        .into_iter()
        .filter_map(|(limit, what)| Some(format!("at most {} {what}", limit?)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Profile};

    #[test]
    fn every_choice_is_read_as_it_is_written() {
        for choice in Choice::ALL {
            assert_eq!(choice.as_str().parse(), Ok(choice));
        }
        assert_eq!("offlin".parse::<Choice>(), Err(()));
        assert_eq!("strict".parse(), Ok(Profile::Strict));
        assert_eq!("off".parse::<Profile>(), Err(()));
    }
}
