//! Directories that no program has for its own: windows into the kernel and into other processes, and the temporary files of
//! everybody. What lies in them may be opened one by one; they are never opened because a program happens to lie or to run there.

use std::path::{Component, Path};

use crate::protected_places::{PlaceOwner, is_below};
use crate::rules::Access;

const PROCESSES: &str = "/proc";
const KERNEL: &str = "/sys";
const DEVICES: &str = "/dev";

/// Never opened whole unless somebody names them.
const SHARED: [&str; 6] = [PROCESSES, KERNEL, DEVICES, "/run", "/tmp", "/var/tmp"];

/// The shared directory that a grant of this path (without links) would open whole.
pub(crate) fn opened_by(path: &Path) -> Option<&'static Path> {
    SHARED.iter().map(Path::new).find(|shared| is_below(shared, path))
}

/// Why an entry may not name this path, if it may not: the directory that it reaches, and who might name it all the same.
///
/// Other processes are nobody's to open, this host's own among them: their variables hold what no server is given. Nor can anybody
/// write to the kernel, or a project open devices.
pub(crate) fn refused(path: &Path, access: Access) -> Option<(&'static Path, PlaceOwner)> {
    let [processes, kernel, devices] = [PROCESSES, KERNEL, DEVICES].map(Path::new);
    let is_in = |directory: &Path| is_below(path, directory) || is_below(directory, path);
    let is_of_a_process = is_below(processes, path)
        || path.strip_prefix(processes).is_ok_and(|rest| rest.components().next().is_some_and(is_number));
    if is_of_a_process || (access.is_writable() && is_in(processes)) {
        Some((processes, PlaceOwner::Helve))
    } else if access.is_writable() && is_in(kernel) {
        Some((kernel, PlaceOwner::Helve))
    } else if is_in(devices) {
        Some((devices, PlaceOwner::Person))
    } else {
        None
    }
}

fn is_number(part: Component<'_>) -> bool {
    part.as_os_str().as_encoded_bytes().iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{opened_by, refused};
    use crate::protected_places::PlaceOwner;
    use crate::rules::Access;

    #[test]
    fn what_is_opened_whole() {
        for (path, expected) in [
            ("/tmp", true),
            ("/", true),
            ("/var", true),
            ("/proc", true),
            ("/var/tmp/mine", false),
            ("/proc/cpuinfo", false),
            ("/dev/null", false),
            ("/tmpx", false),
        ] {
            assert_eq!(opened_by(Path::new(path)).is_some(), expected, "{path}");
        }
    }

    #[test]
    fn what_an_entry_may_not_name() {
        let asked = |path: &str, access| refused(Path::new(path), access).map(|(_, owner)| owner);
        for path in ["/", "/proc", "/proc/1", "/proc/4711/environ"] {
            assert_eq!(asked(path, Access::Read), Some(PlaceOwner::Helve), "{path}");
        }
        for path in ["/proc/sys/kernel/core_pattern", "/sys/kernel/uevent_helper", "/sys"] {
            assert_eq!(asked(path, Access::Write), Some(PlaceOwner::Helve), "{path}");
        }
        for path in ["/dev", "/dev/sda", "/dev/shm"] {
            assert_eq!(asked(path, Access::Read), Some(PlaceOwner::Person), "{path}");
        }
        for path in ["/proc/net/dev", "/sys/class", "/srv/data", "/tmp", "/procession"] {
            assert_eq!(asked(path, Access::Read), None, "{path}");
        }
    }
}
