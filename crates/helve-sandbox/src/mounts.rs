//! Read-only mounts: what Landlock does not hold (modes, times, owners of files) a file system that cannot be written does.
//!
//! In a user namespace of its own the process sees the same tree, every mount of it read-only but the paths it may write.

use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount_bind_recursive, mount_change, mount_remount};
use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;

use crate::rules::Rules;
use crate::stage::StageError;

/// More mounts than any system has; a table beyond that is not walked.
const MAX_MOUNTS: usize = 20_000;

/// Leaves the namespaces of the host. This process must have one thread.
pub(crate) fn leave_namespaces(network: bool) -> Result<(), StageError> {
    let (user, group) = (geteuid(), getegid());
    let mut flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS;
    if network {
        flags |= UnshareFlags::NEWNET;
    }
    unshare(flags).map_err(|error| StageError::new("cannot make a user namespace", error))?;
    // The same user and group inside; nobody else exists.
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw())),
        ("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw())),
    ] {
        let written = open(file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
            .and_then(|file| rustix::io::write(file, text.as_bytes()));
        written.map_err(|error| StageError::at("cannot write", Path::new(file), error))?;
    }
    Ok(())
}

#[expect(deprecated, reason = "its successor is unsafe for flags of shared descriptors, which are not asked for here")]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}

/// What happens to mounts from here on stays in here.
pub(crate) fn part_from_host() -> Result<(), StageError> {
    let root = Path::new("/");
    mount_change(root, MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| StageError::at("cannot take its mounts apart from the host's, at", root, error))
}

/// Makes everything read-only but the writable grants. After [`part_from_host`].
pub(crate) fn make_read_only(rules: &Rules, covered: &[&Path]) -> Result<(), StageError> {
    let failed = |what: &str, path: &Path, error: Errno| StageError::at(what, path, error);
    let root = Path::new("/");
    let writable: Vec<&Path> =
        rules.grants.iter().filter(|grant| grant.access.is_writable()).map(|grant| grant.path.as_path()).collect();
    for path in &writable {
        match mount_bind_recursive(*path, *path) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(failed("cannot bind", path, error)),
        }
    }
    for Mount { point, flags } in mounts()? {
        let is_covered = covered.contains(&point.as_path());
        if !is_covered && writable.iter().any(|path| point.starts_with(path)) {
            continue;
        }
        match mount_remount(&point, flags | MountFlags::BIND | MountFlags::RDONLY, c"") {
            Ok(()) => {}
            // Covered by another mount, gone, or not to be reached by this user: nothing can be changed there, and that is
            // looked at.
            Err(Errno::NOENT | Errno::ACCESS | Errno::INVAL | Errno::NOTDIR) if !is_writable(&point) => {}
            Err(error) => return Err(failed("cannot make read-only", &point, error)),
        }
    }
    if is_writable(root) {
        return Err(failed("cannot make read-only", root, Errno::ROFS));
    }
    // The working directory is still the one of the host's mounts.
    let here = rustix::process::getcwd(Vec::new()).map_err(|error| failed("cannot find", Path::new("."), error))?;
    rustix::process::chdir(&here).map_err(|error| failed("cannot enter", Path::new("."), error))
}

/// True when what is mounted at a path can be reached and written.
fn is_writable(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|about| !about.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

struct Mount {
    point: PathBuf,
    /// The flags that it has and that a user namespace must not take from it.
    flags: MountFlags,
}

fn mounts() -> Result<Vec<Mount>, StageError> {
    let path = Path::new("/proc/self/mountinfo");
    let table = fs_err::read(path).map_err(|error| StageError::new("cannot read its mounts", error))?;
    Ok(table.split(|byte| *byte == b'\n').take(MAX_MOUNTS).filter_map(mount).collect())
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`: the fifth field is where, the sixth how.
fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let point = unescape(fields.nth(4)?);
    let options = std::str::from_utf8(fields.next()?).ok()?;
    let mut flags = MountFlags::empty();
    for option in options.split(',') {
        flags |= match option {
            "nosuid" => MountFlags::NOSUID,
            "nodev" => MountFlags::NODEV,
            "noexec" => MountFlags::NOEXEC,
            "noatime" => MountFlags::NOATIME,
            "nodiratime" => MountFlags::NODIRATIME,
            "relatime" => MountFlags::RELATIME,
            _ => MountFlags::empty(),
        };
    }
    Some(Mount { point: PathBuf::from(std::ffi::OsString::from_vec(point)), flags })
}

/// Spaces, tabs, line ends and backslashes are written as three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, behind)) = rest.split_first() {
        let octal = behind.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{mount, unescape};

    #[test]
    fn a_line_of_the_table_is_read() {
        let found = mount(b"36 35 98:0 / /mnt/a\\040b rw,nosuid,relatime master:1 - ext3 /dev/root rw,errors=continue")
            .unwrap();
        assert_eq!(found.point, std::path::Path::new("/mnt/a b"));
        assert_eq!(found.flags, rustix::mount::MountFlags::NOSUID | rustix::mount::MountFlags::RELATIME);
        assert!(mount(b"36 35").is_none());
    }

    #[test]
    fn escapes_are_undone_and_nothing_else_is() {
        assert_eq!(unescape(b"a\\134b\\0"), b"a\\b\\0");
        assert_eq!(unescape(b"\\"), b"\\");
    }
}
