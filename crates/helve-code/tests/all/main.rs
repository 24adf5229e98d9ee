//! Code mode with a real Python in its real sandbox. Where there is none, what was not run is told.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a helper that fails fails its test")]

mod escaping;
mod fidelity;
mod gate;
mod names;
mod pages;
mod places;
mod support;
