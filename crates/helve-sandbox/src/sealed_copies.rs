//! Copies that lie over files: what was looked at before the start is what the program reads, whatever is written to the file
//! meanwhile. They live in memory that belongs to this mount namespace alone, read-only.
//!
//! A file that is *replaced* outside (another file renamed over it) takes its cover with it: the kernel removes mounts from
//! what is unlinked, in every namespace. Whoever relies on a cover looks afterwards whether the file is still the same.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, open};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};

use crate::rules::Rules;
use crate::stage::StageError;

/// The most that covers one file; as long as what is hashed of one.
const MAX_COPY: u64 = 64 << 20;

/// A copy, and the path of the file that it is a copy of.
#[derive(Debug)]
pub struct SealedCopy {
    /// Where it really is: no link on the way.
    pub path: PathBuf,
    /// What it holds, sealed.
    pub content: File,
}

/// Lays the copies over their files, for this process and all it becomes and starts.
pub(crate) fn cover(rules: &Rules, copies: &[SealedCopy]) -> Result<(), StageError> {
    if copies.is_empty() {
        return Ok(());
    }
    let Some(scratch) = &rules.scratch else {
        return Err(StageError::new("cannot cover its files", "there is no room for copies"));
    };
    let failed = |what: &'static str| move |error: rustix::io::Errno| StageError::at(what, scratch, error);
    mount(c"helve", scratch, c"tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0700")
        .map_err(failed("cannot make room for copies at"))?;
    for (number, SealedCopy { path, content }) in copies.iter().enumerate() {
        let copy = scratch.join(number.to_string());
        let mode = Mode::RUSR | Mode::XUSR | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file = File::from(open(&copy, flags, mode).map_err(failed("cannot make a copy in"))?);
        let mut content = content;
        let length = content.rewind().and_then(|()| std::io::copy(&mut content.take(MAX_COPY), &mut file));
        length.map_err(|error| StageError::new(format!("cannot copy `{}`", path.display()), error))?;
        drop(file);
        mount_bind(&copy, path).map_err(|error| StageError::at("cannot cover", path, error))?;
    }
    // The covers stay; the way to them goes.
    unmount(scratch, UnmountFlags::DETACH).map_err(failed("cannot clear"))
}
