//! The program as a person runs it: a home, a project, a command line; what it says and where, and its exit status.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails loudly")]

mod adding;
mod approving;
mod asking;
mod bridging;
mod calling;
mod completing;
mod connecting;
mod docs;
mod expanding;
mod guarding;
mod hostile;
mod hub;
mod hub_programs;
mod importing;
mod itself;
mod keeping;
mod leaking;
mod offering;
#[cfg(sandbox)]
mod programs;
mod reporting;
mod ruling;
mod running_hub;
#[cfg(sandbox)]
mod sandbox;
mod seeds;
mod signing_in;
mod spokes;
mod starting;
mod support;
mod switching;
mod terminal;
mod trusting;
mod usage;
mod watching;
