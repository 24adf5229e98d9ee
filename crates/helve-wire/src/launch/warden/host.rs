//! Noticing that the host is gone.
//!
//! Not by a parent-death signal: that fires when the *thread* that started the warden ends, and the threads of an
//! async runtime come and go. Not by the end of the server's input either: a host that closes it is alive and waits
//! for the server to finish, and a forked helper of a dead host may keep it open.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, getppid, pidfd_open};

/// How often to look whether the host lives, on kernels that cannot tell us (before 5.3).
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// The process that started this warden.
pub(super) struct Host {
    id: Pid,
    handle: Option<OwnedFd>,
}

impl Host {
    pub(super) fn new(id: Pid) -> Self {
        Self { id, handle: pidfd_open(id, PidfdFlags::empty()).ok() }
    }

    /// True once the host has ended. A parent's number changes only by its end, and a handle opened while the number
    /// was our parent's is the host's.
    pub(super) fn is_gone(&self) -> bool {
        getppid() != Some(self.id)
    }

    /// Readable when the host has ended.
    pub(super) fn ended(&self) -> Option<BorrowedFd<'_>> {
        self.handle.as_ref().map(OwnedFd::as_fd)
    }

    /// How long one may sleep without looking.
    pub(super) fn look_again(&self) -> Option<Duration> {
        if self.handle.is_some() { None } else { Some(LOOK_AGAIN) }
    }
}
