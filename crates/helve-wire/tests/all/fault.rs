//! Bad peers: each costs only its own calls a coded error with a hint, and nobody else anything.

mod cancel;
#[cfg(warden)]
mod exit;
mod flood;
mod frame;
#[cfg(warden)]
mod fuzz;
#[cfg(warden)]
mod leak;
#[cfg(warden)]
mod memory;
mod page;
mod question;
mod stall;
mod subscription;
mod task;
mod time;
#[cfg(warden)]
mod tree;

use std::time::{Duration, Instant};

/// How soon a call must fail once there is a reason.
const AT_ONCE: Duration = Duration::from_millis(100);

/// The output of a future that must be there at once.
async fn at_once<T>(what: &str, future: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let output = future.await;
    let took = started.elapsed();
    assert!(took < AT_ONCE, "{what} took {took:?}");
    output
}
