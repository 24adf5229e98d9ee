//! Opening paths beneath a directory and nowhere else: the one place where a path of a model meets the file system.
//!
//! On Linux the kernel does it in one step (`openat2`), so that nothing can change between the check and the use.
//! Where it cannot, the path is walked name by name, each opened in the directory before it without following links;
//! links are read and walked too, and `..` goes back to a directory that was opened before. Both refuse whatever leads
//! out: `..` too many, absolute links, the magic links of `/proc`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;

/// How long a walked path may be, as Linux has it.
const MAX_PATH_BYTES: usize = 4096;

/// How many symbolic links a path may pass, as Linux has it.
const MAX_LINKS: usize = 40;

/// How many directories a walked path may be deep; each is an open file while the walk lasts.
const MAX_DEPTH: usize = 256;

/// How often a path is tried again that somebody renamed meanwhile.
#[cfg(target_os = "linux")]
const MAX_RACES: usize = 16;

/// Enough to walk on from a directory.
#[cfg(target_os = "linux")]
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
#[cfg(not(target_os = "linux"))]
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// Opens a file to read it, whatever it turns out to be: a pipe without a writer does not hang, a terminal does not
/// become ours.
pub(super) const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Opens a directory to list it.
pub(super) const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// A directory that paths are opened beneath. It stays the same directory, whatever becomes of its name.
#[derive(Debug)]
pub(super) struct Beneath {
    directory: OwnedFd,
    resolver: Resolver,
}

/// Who resolves paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resolver {
    #[cfg(target_os = "linux")]
    Kernel,
    Walk,
}

impl Beneath {
    /// The directory a person named; links on the way to it are followed.
    pub(super) fn new(directory: &Path) -> Result<Self, Errno> {
        let directory = openat(CWD, directory, DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let mut beneath = Self { directory, resolver: Resolver::Walk };
        #[cfg(target_os = "linux")]
        // Kernels before 5.6 do not know the call, and some sandboxes forbid what they do not know.
        if beneath.ask_kernel(Path::new(""), DIRECTORY | OFlags::CLOEXEC).is_ok() {
            beneath.resolver = Resolver::Kernel;
        }
        Ok(beneath)
    }

    /// Walks, even where the kernel could do better.
    #[cfg(test)]
    pub(super) fn walk_always(&mut self) {
        self.resolver = Resolver::Walk;
    }

    pub(super) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Opens what is at `relative`, which must not lead out ([`Errno::XDEV`]). Nothing is created.
    pub(super) fn open(&self, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC;
        match self.resolver {
            #[cfg(target_os = "linux")]
            Resolver::Kernel => self.ask_kernel(relative, flags),
            Resolver::Walk => self.walk(relative, flags),
        }
    }

    /// The directory `relative` is in, and its name there: for whatever must not follow a link.
    /// [`Errno::INVAL`] when the path does not end in a name.
    pub(super) fn parent<'path>(&self, relative: &'path Path) -> Result<(OwnedFd, &'path OsStr), Errno> {
        let Some(Component::Normal(name)) = relative.components().next_back() else { return Err(Errno::INVAL) };
        let parent = relative.parent().unwrap_or(Path::new(""));
        Ok((self.open(parent, DIRECTORY)?, name))
    }

    #[cfg(target_os = "linux")]
    fn ask_kernel(&self, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        use rustix::fs::{ResolveFlags, openat2};

        let path = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..MAX_RACES {
            match openat2(&self.directory, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN) => {}
                answer => return answer,
            }
        }
        Err(Errno::AGAIN)
    }

    fn walk(&self, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut passed: Vec<OwnedFd> = Vec::new();
        let mut ahead: Vec<OsString> = Vec::new();
        let mut links = 0;
        if relative.as_os_str().len() > MAX_PATH_BYTES {
            return Err(Errno::NAMETOOLONG);
        }
        push_reversed(&mut ahead, relative)?;
        while let Some(name) = ahead.pop() {
            if name == "." {
                continue;
            }
            if name == ".." {
                passed.pop().ok_or(Errno::XDEV)?;
                continue;
            }
            if passed.len() >= MAX_DEPTH {
                return Err(Errno::NAMETOOLONG);
            }
            let here = passed.last().unwrap_or(&self.directory);
            let is_last = ahead.is_empty();
            let wanted = if is_last { flags } else { DIRECTORY | OFlags::CLOEXEC };
            let link = match openat(here, &name, wanted | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(opened) if is_last => return Ok(opened),
                Ok(opened) => {
                    passed.push(opened);
                    continue;
                }
                // What a link opened without following it gives differs by system and flags; asking for its target
                // tells a link from everything else.
                Err(error @ (Errno::LOOP | Errno::NOTDIR | Errno::MLINK)) => {
                    readlinkat(here, &name, Vec::new()).map_err(|_| error)?
                }
                Err(error) => return Err(error),
            };
            links += 1;
            if links > MAX_LINKS || (is_last && flags.contains(OFlags::NOFOLLOW)) {
                return Err(Errno::LOOP);
            }
            push_reversed(&mut ahead, Path::new(OsStr::from_bytes(link.as_bytes())))?;
        }
        // The path ended in a directory that is open already, by `..` or by saying nothing.
        let here = passed.last().unwrap_or(&self.directory);
        openat(here, ".", flags, Mode::empty())
    }
}

/// Puts the names of `path` on a stack, its first on top.
fn push_reversed(ahead: &mut Vec<OsString>, path: &Path) -> Result<(), Errno> {
    // `name/` and `name/.` mean a directory; the dot behind the name has it opened as one.
    let bytes = path.as_os_str().as_bytes();
    if bytes.ends_with(b"/") || bytes.ends_with(b"/.") {
        ahead.push(OsString::from("."));
    }
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => ahead.push(name.to_owned()),
            Component::ParentDir => ahead.push(OsString::from("..")),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    Ok(())
}
