//! Paths, signals and abstract sockets: Landlock.
//!
//! Every right of the version that the plan counted with is handled and must be enforced; a kernel that has less ends the stage.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2, readlink};
use rustix::io::Errno;

use crate::rules::{Access, Calls, NetworkRule, Rules};
use crate::stage::StageError;

const ABI_OF_TCP: u8 = 4;
const ABI_OF_SCOPES: u8 = 6;

/// The newest version that the kernel has, as far as it is known here; 0 for none. Found out by use: this process may run
/// nothing afterwards.
pub(crate) fn abi_by_use() -> u8 {
    let used = Ruleset::default().handle_access(AccessFs::Execute).and_then(Ruleset::create);
    match used.and_then(landlock::RulesetCreated::restrict_self) {
        Ok(status) if status.ruleset == RulesetStatus::FullyEnforced => match status.landlock {
            LandlockStatus::Available { effective_abi, .. } => effective_abi as u8,
            LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
        },
        Ok(_) | Err(_) => 0,
    }
}

/// Puts the rules in force, for this process and all it becomes and starts.
pub(crate) fn restrict(rules: &Rules) -> Result<(), StageError> {
    let failed = |error: landlock::RulesetError| StageError::new("Landlock", error);
    let abi = ABI::from(i32::from(rules.landlock_abi));
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))
        .map_err(failed)?;
    if rules.landlock_abi >= ABI_OF_TCP && rules.network == NetworkRule::Closed {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi)).map_err(failed)?;
    }
    if rules.landlock_abi >= ABI_OF_SCOPES {
        let scopes = if rules.unix { BitFlags::from(Scope::Signal) } else { Scope::from_all(abi) };
        ruleset = ruleset.scope(scopes).map_err(failed)?;
    }
    let mut created = ruleset.create().map_err(failed)?;
    for grant in &rules.grants {
        let Some((file, is_directory)) = open_exactly(&grant.path)? else { continue };
        let rights = rights(grant.access, abi, is_directory, rules.unix);
        created = created.add_rule(PathBeneath::new(file, rights)).map_err(failed)?;
    }
    // Its own directory there, and nobody else's: the number stays this process's when it becomes the program.
    if rules.calls == Calls::Most
        && let Ok(own) = open("/proc/self", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
    {
        let rights = AccessFs::ReadFile | AccessFs::ReadDir;
        created = created.add_rule(PathBeneath::new(own, rights)).map_err(failed)?;
    }
    let status = created.restrict_self().map_err(failed)?;
    if status.ruleset != RulesetStatus::FullyEnforced || !status.no_new_privs {
        return Err(StageError::new("Landlock", "the kernel did not enforce all of it"));
    }
    Ok(())
}

/// The file at this very path: what became a link since the plan was made was made by somebody. `None` when it is gone.
fn open_exactly(path: &Path) -> Result<Option<(OwnedFd, bool)>, StageError> {
    let failed = |error: Errno| match error {
        Errno::LOOP => StageError::at("somebody put a link on the way to", path, error),
        error => StageError::at("cannot open", path, error),
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // As in a sandbox of ours.
        Err(Errno::NOSYS) => open_and_compare(path, flags),
        opened => opened,
    };
    let file = match opened {
        Ok(file) => file,
        // What the user may not reach needs no rule.
        Err(Errno::NOENT | Errno::ACCESS) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let about = fstat(&file).map_err(failed)?;
    let is_directory = FileType::from_raw_mode(about.st_mode) == FileType::Directory;
    Ok(Some((file, is_directory)))
}

/// The same where links cannot be forbidden: where the path led is asked afterwards.
fn open_and_compare(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let file = open(path, flags, Mode::empty())?;
    let real = readlink(format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::new())?;
    if real.as_bytes() == path.as_os_str().as_bytes() { Ok(file) } else { Err(Errno::LOOP) }
}

fn rights(access: Access, abi: ABI, is_directory: bool, unix: bool) -> BitFlags<AccessFs> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    // Devices and control of devices are nobody's to make.
    let mut write = AccessFs::from_write(abi) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    if !unix {
        write &= !BitFlags::from(AccessFs::MakeSock);
    }
    let mut rights = match access {
        Access::List => AccessFs::ReadDir.into(),
        Access::Read => read,
        Access::Run => read | AccessFs::Execute,
        Access::Write => read | write,
        Access::WriteRun => read | write | AccessFs::Execute,
    };
    let resolve_unix = BitFlags::from(AccessFs::ResolveUnix) & AccessFs::from_all(abi);
    if unix {
        rights |= resolve_unix;
    } else {
        rights &= !resolve_unix;
    }
    if is_directory { rights } else { rights & AccessFs::from_file(abi) }
}

#[cfg(test)]
mod tests {
    use rustix::fs::OFlags;

    use super::{open_and_compare, open_exactly};

    #[test]
    fn a_link_on_the_way_is_refused_by_either_way() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs_err::create_dir(root.join("real")).unwrap();
        fs_err::write(root.join("real/file"), "").unwrap();
        fs_err::os::unix::fs::symlink("real", root.join("link")).unwrap();
        fs_err::os::unix::fs::symlink("file", root.join("real/other")).unwrap();
        for (path, expected) in
            [("real", true), ("real/file", true), ("link", false), ("link/file", false), ("real/other", false)]
        {
            assert_eq!(open_exactly(&root.join(path)).is_ok(), expected, "{path}");
            assert_eq!(open_and_compare(&root.join(path), OFlags::PATH | OFlags::CLOEXEC).is_ok(), expected, "{path}");
        }
        assert!(open_exactly(&root.join("gone")).unwrap().is_none());
        let said = open_exactly(&root.join("link/file")).unwrap_err().to_string();
        assert!(said.starts_with("somebody put a link on the way to"), "{said}");
    }
}
