//! Everything about `helve-wire` that needs a peer: real processes, the fake peer in both eras, every fault.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]
#![expect(clippy::panic, reason = "a helper that fails fails its test")]

#[cfg(warden)]
mod alone;
mod era;
mod fault;
mod hand;
mod http;
#[cfg(warden)]
mod launch;
mod session;
mod support;
