//! Reading files on a project's behalf: which kinds of file are opened, how much of them is read, and for how long.
//!
//! A project says which files helve opens, by name and through links, before anybody trusts it. So nothing is believed
//! of a file but what the open descriptor shows: it must be a regular file of a real file system, what counts is the
//! bytes that were read and not the size it claims, and the files of one load share one [`Budget`] of bytes and time.
//! What cannot be read so is [`Unread`], which says why; it is never an empty file.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

/// What opening a file costs of a budget at least, so that very many small files end as one large one does.
const FLOOR: u64 = 4 * 1024;

/// A file that somebody writes while it is read is read again this often.
const MAX_ATTEMPTS: usize = 3;

/// How much is read at once.
const PIECE: usize = 64 * 1024;

/// Longer names are of no use to any file system here; the system's own limit includes the final zero byte.
const MAX_PATH: usize = 4_095;

/// The kernel's own file systems: what looks like a file there is made up while it is read, without an end, or does
/// something when it is read.
#[cfg(target_os = "linux")]
const KERNEL_FILE_SYSTEMS: &[i64] = &[
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x6265_6570, // configfs
    0xcafe_4a11, // bpf
    0xde5e_81e4, // efivarfs
    0xf97c_ff8c, // selinuxfs
    0x4341_5d53, // smackfs
    0x6573_5543, // fusectl
    0x1980_0202, // mqueue
    0x4249_4e4d, // binfmt_misc
    0x6e73_6673, // nsfs
    0x0904_1934, // anonymous inodes
    0x1cd1,      // devpts
    0x6759_6969, // rpc_pipefs
    0x6e66_7364, // nfsd
    0x6165_676c, // pstore
    0x5049_4446, // pidfs
];

/// Why a file was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unread {
    /// There is no such file.
    Missing,
    /// It is something else than a regular file; what it is.
    NotAFile(&'static str),
    /// It belongs to the kernel, which makes it up.
    MadeUp,
    /// It has more than this many bytes.
    TooLarge(u64),
    /// The files of this load have more bytes together than may be read.
    TooMuch,
    /// Reading took longer than it may.
    TooSlow,
    /// Somebody wrote it meanwhile, each time.
    Changed,
    /// It is not UTF-8.
    NotText,
    /// A link leads to itself.
    Loop,
    /// Its name is too long.
    LongName,
    /// The system does not allow it.
    Denied,
    /// A part of its path is not a directory.
    NotADirectory,
    /// Any other failure of the system.
    Failed(io::ErrorKind),
}

/// What may be read on somebody's behalf: bytes, and time spent on reading.
#[derive(Debug)]
pub struct Budget {
    bytes: Cell<u64>,
    time: Cell<Duration>,
    /// What was made of a file's content: many may name one file, which is read once.
    known: RefCell<BTreeMap<Identity, Digested>>,
}

/// What is kept of a file that was hashed: the hash, and how the file begins.
pub(crate) type Digested = ([u8; 32], Vec<u8>);

/// What tells one state of one file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A regular file of a real file system, open for reading.
#[derive(Debug)]
pub struct Opened {
    file: File,
    identity: Identity,
}

/// The text of a file of at most `max` bytes.
///
/// # Errors
/// Why it was not read.
pub fn text(path: &Path, max: u64, budget: &Budget) -> Result<String, Unread> {
    String::from_utf8(bytes(path, max, budget)?).map_err(|_| Unread::NotText)
}

/// The content of a file of at most `max` bytes.
///
/// # Errors
/// Why it was not read.
pub fn bytes(path: &Path, max: u64, budget: &Budget) -> Result<Vec<u8>, Unread> {
    let mut attempts = 1;
    loop {
        let mut content = Vec::new();
        match open(path)?.pieces(max, budget, |piece| content.extend_from_slice(piece)) {
            Err(Unread::Changed) if attempts < MAX_ATTEMPTS => attempts += 1,
            Err(unread) => return Err(unread),
            Ok(_) => return Ok(content),
        }
    }
}

/// Opens a file without waiting for anything, if it is one to read from.
///
/// # Errors
/// Why not.
pub fn open(path: &Path) -> Result<Opened, Unread> {
    if path.as_os_str().len() > MAX_PATH {
        return Err(Unread::LongName);
    }
    // Opening a device can do something, so it is not tried; what counts is the descriptor all the same.
    regular(&path.metadata().map_err(|error| failed(&error))?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let descriptor = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| failed(&error.into()))?;
    let file = File::from(descriptor);
    let about = file.metadata().map_err(|error| failed(&error))?;
    regular(&about)?;
    real(&file)?;
    Ok(Opened { file, identity: Identity::of(&about) })
}

impl Opened {
    /// Hands over the content piece by piece; gives its length.
    ///
    /// # Errors
    /// Why the content is not the whole file as it is; what was handed over is worth nothing then.
    pub fn pieces(&mut self, max: u64, budget: &Budget, mut take: impl FnMut(&[u8])) -> Result<u64, Unread> {
        let start = Instant::now();
        let read = self.read_pieces(max, budget, start, &mut take);
        budget.spend_time(start.elapsed());
        let length = read?;
        if self.is_unchanged()? { Ok(length) } else { Err(Unread::Changed) }
    }

    fn read_pieces(
        &mut self,
        max: u64,
        budget: &Budget,
        start: Instant,
        take: &mut impl FnMut(&[u8]),
    ) -> Result<u64, Unread> {
        let mut buffer = vec![0; PIECE];
        let mut length: u64 = 0;
        loop {
            let count = match self.file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(&error)),
            };
            length = length.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
            if length > max {
                return Err(Unread::TooLarge(max));
            }
            budget.spend_bytes(u64::try_from(count).unwrap_or(u64::MAX))?;
            if start.elapsed() > budget.time.get() {
                return Err(Unread::TooSlow);
            }
            take(buffer.get(..count).unwrap_or_default());
        }
        budget.spend_bytes(FLOOR.saturating_sub(length))?;
        Ok(length)
    }

    /// True when nobody has written the file since it was opened.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn is_unchanged(&self) -> Result<bool, Unread> {
        Ok(Identity::of(&self.file.metadata().map_err(|error| failed(&error))?) == self.identity)
    }

    /// Which file this is, in which state.
    #[must_use]
    pub const fn identity(&self) -> Identity {
        self.identity
    }

    /// The descriptor.
    #[must_use]
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// The descriptor, to keep.
    #[must_use]
    pub fn into_file(self) -> File {
        self.file
    }
}

impl Identity {
    /// What the system says of a file.
    #[must_use]
    pub fn of(about: &std::fs::Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            size: about.len(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }
}

impl Budget {
    /// At most so many bytes, and so much time spent on reading them.
    #[must_use]
    pub const fn new(bytes: u64, time: Duration) -> Self {
        Self { bytes: Cell::new(bytes), time: Cell::new(time), known: RefCell::new(BTreeMap::new()) }
    }

    /// What was kept of this very file in this very state.
    pub(crate) fn known(&self, identity: Identity) -> Option<Digested> {
        self.known.borrow().get(&identity).cloned()
    }

    pub(crate) fn keep(&self, identity: Identity, digested: Digested) {
        self.known.borrow_mut().insert(identity, digested);
    }

    fn spend_bytes(&self, count: u64) -> Result<(), Unread> {
        let left = self.bytes.get();
        self.bytes.set(left.saturating_sub(count));
        if count > left { Err(Unread::TooMuch) } else { Ok(()) }
    }

    fn spend_time(&self, time: Duration) {
        self.time.set(self.time.get().saturating_sub(time));
    }
}

impl fmt::Display for Unread {
    /// The reason, as the end of a sentence about the file.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Missing => "it does not exist",
            Self::NotAFile(what) => return write!(formatter, "it is {what}, not a file"),
            Self::MadeUp => "it belongs to the kernel, not to a disk",
            Self::TooLarge(max) => return write!(formatter, "it is larger than {}", Size(*max)),
            Self::TooMuch => "the files of this project are too large together",
            Self::TooSlow => "reading it takes too long",
            Self::Changed => "it changes while it is read",
            Self::NotText => "it is not UTF-8",
            Self::Loop => "it is a link that leads to itself",
            Self::LongName => "its name is too long",
            Self::Denied => "permission denied",
            Self::NotADirectory => "a part of its path is not a directory",
            Self::Failed(_) => "reading it failed",
        };
        formatter.write_str(words)
    }
}

impl std::error::Error for Unread {}

/// A number of bytes in the largest unit that divides it.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KIB: u64 = 1024;
        const MIB: u64 = 1024 * KIB;
        match self.0 {
            bytes if bytes >= MIB && bytes.is_multiple_of(MIB) => write!(formatter, "{} MiB", bytes / MIB),
            bytes if bytes >= KIB && bytes.is_multiple_of(KIB) => write!(formatter, "{} KiB", bytes / KIB),
            bytes => write!(formatter, "{bytes} bytes"),
        }
    }
}

fn regular(about: &std::fs::Metadata) -> Result<(), Unread> {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = about.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(Unread::NotAFile(what))
}

/// Refuses the files that the kernel makes up.
#[cfg(target_os = "linux")]
fn real(file: &File) -> Result<(), Unread> {
    let about = rustix::fs::fstatfs(file).map_err(|error| failed(&error.into()))?;
    // The word is signed here and unsigned there; the numbers are 32 bits everywhere.
    let kind = word(about.f_type) & 0xffff_ffff;
    if KERNEL_FILE_SYSTEMS.contains(&kind) { Err(Unread::MadeUp) } else { Ok(()) }
}

#[cfg(target_os = "linux")]
fn word(kind: impl TryInto<i64>) -> i64 {
    kind.try_into().unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
const fn real(_: &File) -> Result<(), Unread> {
    Ok(())
}

fn failed(error: &io::Error) -> Unread {
    match error.kind() {
        io::ErrorKind::NotFound => Unread::Missing,
        io::ErrorKind::NotADirectory => Unread::NotADirectory,
        io::ErrorKind::PermissionDenied => Unread::Denied,
        io::ErrorKind::IsADirectory => Unread::NotAFile("a directory"),
        io::ErrorKind::InvalidFilename => Unread::LongName,
        // Its kind has no name in the standard library yet.
        _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => Unread::Loop,
        // A socket, or a device without its driver.
        _ if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => Unread::NotAFile("a device"),
        kind => Unread::Failed(kind),
    }
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
