//! A program that is run from an open descriptor: the very file that somebody looked at, whatever its name leads to by now.

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, open};

/// A program as an open file, in the state it has now.
///
/// It must be a program for the system itself. A script is opened by name by its interpreter, which a descriptor cannot
/// change.
#[derive(Debug, Clone)]
pub struct Executable {
    file: Arc<File>,
    state: State,
}

/// Which file it is, and that nobody has written or replaced it since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

/// Where a process finds a descriptor of another one, and which file that has to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Handover {
    process: u32,
    descriptor: i32,
    state: State,
}

impl Executable {
    /// The program in this file.
    ///
    /// # Errors
    /// The system does not say which file it is.
    pub fn new(file: Arc<File>) -> io::Result<Self> {
        let state = State::of(&file.metadata()?);
        Ok(Self { file, state })
    }

    /// The open file.
    #[cfg(warden)]
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Where this process, or a child until it runs something else, finds it.
    pub(super) fn path(&self) -> io::Result<PathBuf> {
        self.state.check(&self.file)?;
        Ok(descriptor_path("self", self.file.as_raw_fd()))
    }

    /// For a process further down, which opens it while this one lives and keeps it open.
    pub(super) fn hand_over(&self) -> Handover {
        Handover { process: std::process::id(), descriptor: self.file.as_raw_fd(), state: self.state }
    }
}

impl PartialEq for Executable {
    /// The same file, in the same state.
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state
    }
}

impl Eq for Executable {}

impl Handover {
    /// Opens the file; not another one that got the descriptor's number since, and not what somebody made of it.
    pub(super) fn open(&self) -> io::Result<Executable> {
        let path = descriptor_path(&self.process.to_string(), self.descriptor);
        let file = File::from(open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
        self.state.check(&file)?;
        Executable::new(Arc::new(file))
    }
}

impl State {
    fn of(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            size: about.len(),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    fn check(&self, file: &File) -> io::Result<()> {
        if Self::of(&file.metadata()?) == *self {
            return Ok(());
        }
        Err(io::Error::other("somebody wrote or replaced it while it was started"))
    }
}

fn descriptor_path(process: &str, descriptor: i32) -> PathBuf {
    PathBuf::from(format!("/proc/{process}/fd/{descriptor}"))
}

impl fmt::Display for Handover {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, descriptor, state: State { device, inode, size, changed } } = self;
        write!(formatter, "{process}:{descriptor}:{device}:{inode}:{size}:{}:{}", changed.0, changed.1)
    }
}

impl FromStr for Handover {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let mut numbers = text.split(':');
        let mut next = || numbers.next().ok_or_else(|| io::Error::other("a number is missing"));
        let number = |text: &str| text.parse::<i64>().map_err(io::Error::other);
        let unsigned = |text: &str| text.parse::<u64>().map_err(io::Error::other);
        Ok(Self {
            process: next()?.parse().map_err(io::Error::other)?,
            descriptor: next()?.parse().map_err(io::Error::other)?,
            state: State {
                device: unsigned(next()?)?,
                inode: unsigned(next()?)?,
                size: unsigned(next()?)?,
                changed: (number(next()?)?, number(next()?)?),
            },
        })
    }
}
