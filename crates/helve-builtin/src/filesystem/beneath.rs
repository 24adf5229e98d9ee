//! Opening paths beneath a directory and nowhere else: the one place where a path of a model meets the file system.
//!
//! On Linux the kernel does it in one step (`openat2`), so that nothing can change between the check and the use.
//! Where it cannot, the path is walked name by name, each opened in the directory before it without following links;
//! links are read and walked too, and `..` goes back to a directory that was opened before. Both refuse whatever leads
//! out: `..` too many, absolute links, the magic links of `/proc`.

use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

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

/// How paths are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resolver {
    #[cfg(target_os = "linux")]
    Kernel,
    Walk,
}

/// What becomes of links on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// They are followed, as long as they stay beneath.
    Follow,
    /// They are an error ([`Errno::LOOP`]).
    Refuse,
}

impl Beneath {
    /// The directory a person named; links on the way to it are followed.
    pub(super) fn new(directory: &Path) -> Result<Self, Errno> {
        let directory = openat(CWD, directory, DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let mut beneath = Self { directory, resolver: Resolver::Walk };
        #[cfg(target_os = "linux")]
        // Kernels before 5.6 do not know the call, and some sandboxes forbid what they do not know.
        if beneath.ask_kernel(Path::new(""), DIRECTORY | OFlags::CLOEXEC, Links::Follow).is_ok() {
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
    pub(super) fn open(&self, relative: &Path, flags: OFlags, links: Links) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC;
        match self.resolver {
            #[cfg(target_os = "linux")]
            Resolver::Kernel => self.ask_kernel(relative, flags, links),
            Resolver::Walk => self.walk(relative, flags, links),
        }
    }

    /// The directory `relative` is in, and its name there: for whatever must not follow a link.
    /// [`Errno::INVAL`] when the path does not end in a name.
    pub(super) fn parent<'path>(&self, relative: &'path Path, links: Links) -> Result<(OwnedFd, &'path OsStr), Errno> {
        let Some(Component::Normal(name)) = relative.components().next_back() else { return Err(Errno::INVAL) };
        let parent = relative.parent().unwrap_or(Path::new(""));
        Ok((self.open(parent, DIRECTORY, links)?, name))
    }

    #[cfg(target_os = "linux")]
    fn ask_kernel(&self, relative: &Path, flags: OFlags, links: Links) -> Result<OwnedFd, Errno> {
        use rustix::fs::{ResolveFlags, openat2};

        let path = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        let resolve = match links {
            Links::Follow => ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
            Links::Refuse => ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
        };
        for _ in 0..MAX_RACES {
            match openat2(&self.directory, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN) => {}
                answer => return answer,
            }
        }
        Err(Errno::AGAIN)
    }

    /// Where a path leads: the same without links and `..`. What does not exist is taken by its name.
    pub(super) fn resolve(&self, relative: &Path, follows_last: bool) -> Result<PathBuf, Errno> {
        let mut steps = Steps::begin(&self.directory, relative)?;
        while let Some(name) = steps.next()? {
            let is_last = steps.ahead.is_empty();
            match readlinkat(steps.here(), &name, Vec::new()) {
                _ if is_last && !follows_last => {}
                Ok(target) => {
                    steps.follow(&target)?;
                    continue;
                }
                Err(Errno::NOENT) => return steps.joined(&name),
                // It is something else than a link.
                Err(Errno::INVAL) => {}
                Err(error) => return Err(error),
            }
            if is_last {
                return steps.joined(&name);
            }
            match openat(steps.here(), &name, DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
                Ok(opened) => steps.passed.push((name, opened)),
                // `file/.` ends in something that is not a directory; opening it will say so.
                Err(Errno::NOTDIR) if steps.ahead.iter().all(|name| name == ".") => return steps.joined(&name),
                Err(error) => return Err(error),
            }
        }
        Ok(steps.passed.into_iter().map(|(name, _)| name).collect())
    }

    fn walk(&self, relative: &Path, flags: OFlags, refused: Links) -> Result<OwnedFd, Errno> {
        let mut steps = Steps::begin(&self.directory, relative)?;
        while let Some(name) = steps.next()? {
            let is_last = steps.ahead.is_empty();
            let wanted = if is_last { flags } else { DIRECTORY | OFlags::CLOEXEC };
            let target = match openat(steps.here(), &name, wanted | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(opened) if is_last => return Ok(opened),
                Ok(opened) => {
                    steps.passed.push((name, opened));
                    continue;
                }
                // What a link opened without following it gives differs by system and flags; asking for its target
                // tells a link from everything else.
                Err(error @ (Errno::LOOP | Errno::NOTDIR | Errno::MLINK)) => {
                    readlinkat(steps.here(), &name, Vec::new()).map_err(|_| error)?
                }
                Err(error) => return Err(error),
            };
            if refused == Links::Refuse || (is_last && flags.contains(OFlags::NOFOLLOW)) {
                return Err(Errno::LOOP);
            }
            steps.follow(&target)?;
        }
        // The path ended in a directory that is open already, by `..` or by saying nothing.
        openat(steps.here(), ".", flags, Mode::empty())
    }
}

/// A path on its way, name by name: the directories that were passed, and the names that lie ahead.
struct Steps<'root> {
    root: &'root OwnedFd,
    passed: Vec<(OsString, OwnedFd)>,
    /// The next one last.
    ahead: Vec<OsString>,
    links: usize,
}

impl<'root> Steps<'root> {
    fn begin(root: &'root OwnedFd, relative: &Path) -> Result<Self, Errno> {
        if relative.as_os_str().len() > MAX_PATH_BYTES {
            return Err(Errno::NAMETOOLONG);
        }
        let mut ahead = Vec::new();
        push_reversed(&mut ahead, relative)?;
        Ok(Self { root, passed: Vec::new(), ahead, links: 0 })
    }

    /// The directory in which the next name is looked up.
    fn here(&self) -> &OwnedFd {
        self.passed.last().map_or(self.root, |(_, directory)| directory)
    }

    /// The next name that leads on. `..` goes back to a directory that was passed, and never out.
    fn next(&mut self) -> Result<Option<OsString>, Errno> {
        while let Some(name) = self.ahead.pop() {
            if name == "." {
                continue;
            }
            if name == ".." {
                self.passed.pop().ok_or(Errno::XDEV)?;
                continue;
            }
            if self.passed.len() >= MAX_DEPTH {
                return Err(Errno::NAMETOOLONG);
            }
            return Ok(Some(name));
        }
        Ok(None)
    }

    /// The last name was a link: what it names lies ahead now.
    fn follow(&mut self, target: &CStr) -> Result<(), Errno> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::LOOP);
        }
        push_reversed(&mut self.ahead, Path::new(OsStr::from_bytes(target.to_bytes())))
    }

    /// The path of a name in the directory that was passed last, and of what lies ahead of it.
    fn joined(self, name: &OsStr) -> Result<PathBuf, Errno> {
        // Behind what does not exist there is nothing to go back to.
        if self.ahead.iter().any(|name| name == "..") {
            return Err(Errno::NOENT);
        }
        let passed = self.passed.iter().map(|(name, _)| name.as_os_str());
        let ahead = self.ahead.iter().rev().map(OsString::as_os_str).filter(|name| *name != ".");
        Ok(passed.chain([name]).chain(ahead).collect())
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
