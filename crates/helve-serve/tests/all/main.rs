//! What agents get through helve, against fake peers as servers.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper that fails fails its test")]

mod abandoned;
mod answers;
mod eras;
mod fault;
mod first_lists;
mod gate;
mod gate_property;
mod hostile_agent;
mod hostile_servers;
mod http;
mod http_agent;
mod http_streams;
mod interference;
mod limits;
mod matrix;
mod owners;
mod payload;
mod sharing;
mod stream;
mod support;
mod unknown;
