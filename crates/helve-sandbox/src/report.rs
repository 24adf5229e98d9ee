//! What is really enforced, in fields to branch on and in a line to read. Made by the plan, true of what runs: rules that
//! cannot be applied end the process.

use std::fmt;
use std::path::PathBuf;

use helve_model::sandbox::Profile;

/// What holds for one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The profile that was asked for.
    pub profile: Profile,
    /// Contents of files.
    pub files: Files,
    /// Modes, times and owners of files outside.
    pub metadata: Metadata,
    /// The network.
    pub network: NetworkHeld,
    /// Unix sockets cannot be made.
    pub unix_closed: bool,
    /// Signals reach the program's own processes alone.
    pub signals_closed: bool,
    /// The version of Landlock in use.
    pub landlock_abi: u8,
    /// What the profile or the entry would have opened and the plan did not.
    pub left_out: Vec<LeftOut>,
    /// Protected places that the entry names and that are open for it.
    pub protected_opened: Vec<PathBuf>,
}

/// How contents of files are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// Whatever is not granted cannot be read, written, run or removed.
    Full,
    /// The kernel is too old to stop the truncation of files that the user may write.
    TruncationOpen,
}

/// How modes, times and owners are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metadata {
    /// Read-only mounts.
    Full,
    /// The user's files outside can get other modes and times.
    Open,
}

/// How the network is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkHeld {
    /// Everything, this machine's ports included.
    All,
    /// Nothing.
    None,
    /// These hosts.
    Hosts(Vec<String>),
    /// Hosts were named, and this machine cannot hold a program to them.
    Open(Vec<String>),
}

/// Something that stayed closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// What.
    pub path: PathBuf,
    /// The protected place that it would have opened.
    pub protected: PathBuf,
}

impl Report {
    /// True when nothing that the profile promises is missing.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.files == Files::Full
            && self.metadata == Metadata::Full
            && self.signals_closed
            && !matches!(self.network, NetworkHeld::Open(_))
    }

    /// What is not held although it could be on another machine, in words.
    #[must_use]
    pub fn weaknesses(&self) -> Vec<&'static str> {
        let mut weak = Vec::new();
        if self.files == Files::TruncationOpen {
            weak.push("this kernel cannot stop the truncation of files");
        }
        if self.metadata == Metadata::Open {
            weak.push("modes and times of your files can be changed: this system gives no user namespaces");
        }
        if !self.signals_closed {
            weak.push("signals can reach your other processes: the kernel is older than 6.12");
        }
        if matches!(self.network, NetworkHeld::Open(_)) {
            weak.push("all of the network is open: this system gives no network namespaces");
        }
        weak
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: files {}", self.profile, self.files)?;
        write!(formatter, ", metadata {}", self.metadata)?;
        write!(formatter, ", network {}", self.network)?;
        write!(formatter, ", unix sockets {}", if self.unix_closed { "closed" } else { "open" })?;
        if !self.signals_closed {
            formatter.write_str(", signals open")?;
        }
        write!(formatter, ", kernel ABI {}", self.landlock_abi)
    }
}

impl fmt::Display for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Full => "full",
            Self::TruncationOpen => "full but for truncation",
        })
    }
}

impl fmt::Display for Metadata {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Full => "full",
            Self::Open => "open",
        })
    }
}

impl fmt::Display for NetworkHeld {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => formatter.write_str("all (this machine's ports too)"),
            Self::None => formatter.write_str("none"),
            Self::Hosts(hosts) => write!(formatter, "hosts ({})", hosts.join(" ")),
            Self::Open(hosts) => write!(formatter, "open (not held to {})", hosts.join(" ")),
        }
    }
}
