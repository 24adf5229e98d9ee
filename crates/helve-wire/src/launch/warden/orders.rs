//! What the warden is told by signals, and how it is woken from a wait that costs nothing.

use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{flag, low_level};

use super::KILL;

/// Signals that are passed on to the tree as `SIGTERM`. The first is the host's order; the others would end the warden and
/// set the tree free, unless they are ignored.
const TERMINATE: [i32; 4] = [SIGTERM, SIGINT, SIGHUP, SIGQUIT];

/// Orders that arrived and were not taken yet.
pub(super) struct Orders {
    terminate: Arc<AtomicBool>,
    kill: Arc<AtomicBool>,
    wake: UnixStream,
}

impl Orders {
    /// From here on signals are orders. Before, they end the warden, which has no tree yet.
    pub(super) fn receive() -> io::Result<Self> {
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let orders = Self { terminate: Arc::default(), kill: Arc::default(), wake };
        let ignored = ignored();
        let terminate: Vec<i32> = TERMINATE.into_iter().filter(|signal| !ignored.contains(signal)).collect();
        for signal in &terminate {
            flag::register(*signal, Arc::clone(&orders.terminate))?;
        }
        flag::register(KILL.as_raw(), Arc::clone(&orders.kill))?;
        // After the flags: who is woken finds the flag set.
        for signal in terminate.into_iter().chain([KILL.as_raw(), SIGCHLD]) {
            low_level::pipe::register(signal, waker.try_clone()?)?;
        }
        Ok(orders)
    }

    /// Readable when an order arrived or a child ended since the last [`Self::clear`].
    pub(super) fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Forgets the wake-ups so far. Look at orders and children afterwards, not before.
    pub(super) fn clear(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.wake.read(&mut bytes), Ok(length) if length == bytes.len()) {}
    }

    /// Whether the tree is to be asked to end; once for each order.
    pub(super) fn take_terminate(&self) -> bool {
        self.terminate.swap(false, Ordering::SeqCst)
    }

    /// Whether the tree is to be killed; there is no way back.
    pub(super) fn kill(&self) -> bool {
        self.kill.load(Ordering::SeqCst)
    }
}

/// Signals that whoever started us had us ignore, as `nohup` does with `SIGHUP`. They end nobody, and the server is to ignore
/// them as well: it would not once they had a handler here. The host's own order is not among them.
#[expect(
    clippy::disallowed_methods,
    reason = "nobody is shown the error: where this cannot be known, every signal is an order"
)]
fn ignored() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    [SIGINT, SIGHUP, SIGQUIT].into_iter().filter(|signal| mask >> (signal - 1) & 1 == 1).collect()
}
