//! Which directory a path of a model belongs to, and what is said when it belongs to none or cannot be opened.

use std::fs::File;
use std::path::{Component, Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Stat, fstat, statat};
use rustix::io::Errno;

use super::beneath::{Beneath, LIST, Links, READ};
use super::path_arguments::Last;
use crate::answer::Trouble;
use crate::words::{printable, quoted};

/// The directories a server may touch, the first being where relative paths start.
#[derive(Debug)]
pub(super) struct Roots {
    roots: Vec<Root>,
}

#[derive(Debug)]
struct Root {
    /// As configured.
    named: PathBuf,
    /// With all links resolved, as other programs may call it.
    real: PathBuf,
    beneath: Beneath,
}

/// A path of a model, by the root it belongs to.
#[derive(Debug, Clone)]
pub(super) struct Place<'roots> {
    roots: &'roots Roots,
    root: &'roots Root,
    relative: PathBuf,
    /// As the model wrote it, for messages.
    written: String,
    links: Links,
}

impl Roots {
    /// Opens the directories; the first one that cannot be opened is named with the reason.
    pub(super) fn open(directories: &[PathBuf]) -> Result<Self, (PathBuf, Errno)> {
        let open = |named: &PathBuf| {
            let beneath = Beneath::new(named).map_err(|error| (named.clone(), error))?;
            let real = fs_err::canonicalize(named).unwrap_or_else(|_| named.clone());
            Ok(Root { named: plain(named), real, beneath })
        };
        Ok(Self { roots: directories.iter().map(open).collect::<Result<_, _>>()? })
    }

    /// Resolves paths the way systems without `openat2` do.
    #[cfg(test)]
    pub(super) fn walk_always(&mut self) {
        self.roots.iter_mut().for_each(|root| root.beneath.walk_always());
    }

    /// The directories, for a person or a model to read.
    pub(super) fn shown(&self) -> String {
        let shown: Vec<String> = self.roots.iter().map(|root| printable(&root.real.to_string_lossy())).collect();
        shown.join(", ")
    }

    /// Where a path is. It may still lead out: only opening it tells.
    pub(super) fn place(&self, path: &str) -> Result<Place<'_>, Trouble> {
        if path.is_empty() {
            return Err(Trouble::failed("the path is empty; `.` is the directory itself"));
        }
        if path.contains('\0') {
            return Err(Trouble::failed(format!("{} holds a NUL, which no path can", quoted(path))));
        }
        let asked = Path::new(path);
        if !asked.is_absolute() {
            let root = self.roots.first().ok_or_else(|| Trouble::failed("there is no directory to look in"))?;
            return Ok(Place {
                roots: self,
                root,
                relative: asked.to_path_buf(),
                written: path.to_owned(),
                links: Links::Follow,
            });
        }
        let places = self.roots.iter().filter_map(|root| {
            let relative = asked.strip_prefix(&root.named).or_else(|_| asked.strip_prefix(&root.real)).ok()?;
            Some(Place {
                roots: self,
                root,
                relative: relative.to_path_buf(),
                written: path.to_owned(),
                links: Links::Follow,
            })
        });
        // Of roots inside each other the outermost allows the most, such as a `..` out of the inner one.
        places.max_by_key(|place| place.relative.components().count()).ok_or_else(|| self.outside(path))
    }

    /// A place that was decided about, by its absolute path without links; no link is followed to it any more.
    pub(super) fn decided(&self, absolute: &Path, written: &str) -> Result<Place<'_>, Trouble> {
        let places = self.roots.iter().filter_map(|root| {
            let relative = absolute.strip_prefix(&root.real).ok()?.to_path_buf();
            Some(Place { roots: self, root, relative, written: written.to_owned(), links: Links::Refuse })
        });
        places.max_by_key(|place| place.relative.components().count()).ok_or_else(|| self.outside(written))
    }

    /// What a place is called, links resolved: by its absolute path first, then below each root, then by the names that
    /// roots were configured under. Empty where a name is not text.
    pub(super) fn spellings(&self, place: &Place<'_>) -> Vec<String> {
        let real = place.root.real.join(&place.relative);
        let mut spellings = vec![real.clone()];
        for root in &self.roots {
            let Ok(below) = real.strip_prefix(&root.real) else { continue };
            spellings.push(if below.as_os_str().is_empty() { PathBuf::from(".") } else { below.to_path_buf() });
            spellings.push(root.named.join(below));
        }
        // Joining nothing leaves a slash at the end.
        let text = |path: PathBuf| path.components().collect::<PathBuf>().into_os_string().into_string();
        let texts: Result<Vec<String>, _> = spellings.into_iter().map(text).collect();
        texts.unwrap_or_default()
    }

    fn outside(&self, path: &str) -> Trouble {
        Trouble::failed(format!("{} is outside the directories that may be used: {}", quoted(path), self.shown()))
    }
}

impl Place<'_> {
    /// The same place by a path without links; what is not there yet is taken by its name.
    pub(super) fn resolve(&self, last: Last) -> Result<Self, Trouble> {
        let relative = self.root.beneath.resolve(&self.relative, last == Last::Followed);
        Ok(self.at(relative.map_err(|error| self.explain(error))?))
    }

    /// It is not what it was when it was decided about.
    pub(super) fn changed(&self) -> Trouble {
        Trouble::failed(format!("{} was changed while it was decided about; try again", self.shown()))
    }

    /// The path below its root.
    pub(super) fn relative(&self) -> &Path {
        &self.relative
    }

    /// As the model wrote it, in quotes.
    pub(super) fn shown(&self) -> String {
        quoted(&self.written)
    }

    /// Opens a directory to list it.
    pub(super) fn open_directory(&self) -> Result<OwnedFd, Trouble> {
        self.root.beneath.open(&self.relative, LIST, self.links).map_err(|error| self.explain(error))
    }

    /// Opens a regular file to read it. Everything else is refused, without being waited for.
    pub(super) fn open_file(&self) -> Result<(File, Stat), Trouble> {
        // A look first: opening a device can already do something.
        if self.ends_in_name() {
            let kind = FileType::from_raw_mode(self.look()?.st_mode);
            if !matches!(kind, FileType::RegularFile | FileType::Symlink) {
                return Err(self.not_a_file(kind));
            }
        }
        let opened = self.root.beneath.open(&self.relative, READ, self.links).map_err(|error| self.explain(error))?;
        let stat = fstat(&opened).map_err(|error| self.explain(error))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((File::from(opened), stat)),
            kind => Err(self.not_a_file(kind)),
        }
    }

    /// What is there; a link is looked at itself.
    pub(super) fn look(&self) -> Result<Stat, Trouble> {
        if !self.ends_in_name() {
            return fstat(self.open_directory()?).map_err(|error| self.explain(error));
        }
        let (parent, name) = self.parent()?;
        statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|error| self.explain(error))
    }

    /// The directory it is in and its name there: for whatever changes the directory.
    pub(super) fn parent(&self) -> Result<(OwnedFd, &std::ffi::OsStr), Trouble> {
        self.root.beneath.parent(&self.relative, self.links).map_err(|error| match error {
            Errno::INVAL => Trouble::failed(format!("{} does not end in a name", self.shown())),
            other => self.explain(other),
        })
    }

    /// The same root, another path below it.
    pub(super) fn at(&self, relative: PathBuf) -> Self {
        Self { relative, ..self.clone() }
    }

    /// What an error of the system means for the model.
    pub(super) fn explain(&self, error: Errno) -> Trouble {
        let shown = self.shown();
        Trouble::failed(match error {
            Errno::XDEV => return self.leads_outside(),
            Errno::NOENT if self.root_is_gone() => format!(
                "the directory {} was removed or replaced since it was opened; reconnect this server",
                quoted(&self.root.named.to_string_lossy())
            ),
            Errno::NOENT => format!("there is no {shown}"),
            Errno::ACCESS | Errno::PERM => format!("no permission for {shown}"),
            Errno::NOTDIR => format!("{shown} is not a directory, or passes something that is not"),
            Errno::ISDIR => format!("{shown} is a directory"),
            Errno::LOOP if self.links == Links::Refuse => {
                format!(
                    "{shown} is a link, or was changed while it was decided about; name what it points to, or try again"
                )
            }
            Errno::LOOP => format!("{shown} passes too many symbolic links"),
            Errno::NAMETOOLONG => format!("{shown} is too long for a path"),
            Errno::EXIST => format!("there is already something at {shown}"),
            Errno::NOTEMPTY => format!("the directory {shown} is not empty"),
            Errno::NOSPC | Errno::DQUOT => format!("no space left for {shown}"),
            Errno::ROFS => format!("{shown} is on a file system that cannot be written to"),
            Errno::AGAIN => format!("{shown} was being moved while it was opened; try again"),
            other => format!("{shown}: {other}"),
        })
    }

    pub(super) fn not_a_file(&self, kind: FileType) -> Trouble {
        Trouble::failed(match kind {
            FileType::Directory => format!("{} is a directory; list_directory shows what is in it", self.shown()),
            other => format!("{} is {}, not a file", self.shown(), described(other)),
        })
    }

    fn leads_outside(&self) -> Trouble {
        Trouble::failed(format!(
            "{} leads outside the directories that may be used: {}",
            self.shown(),
            self.roots.shown()
        ))
    }

    fn ends_in_name(&self) -> bool {
        matches!(self.relative.components().next_back(), Some(Component::Normal(_)))
    }

    /// True when the root itself is no longer in any directory.
    fn root_is_gone(&self) -> bool {
        fstat(self.root.beneath.directory()).is_ok_and(|stat| stat.st_nlink == 0)
    }
}

/// What kind of thing it is, as a word of our results.
pub(super) const fn kind_word(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "symlink",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        FileType::Unknown => "other",
    }
}

const fn described(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "something unknown",
    }
}

/// Without `.` inside, so that prefixes compare.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|component| *component != Component::CurDir).collect()
}
