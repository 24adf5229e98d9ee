//! Drives the peer with hand-written lines and raw HTTP: no MCP client library has a say here.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::string_slice,
    reason = "helpers of tests fail the test by panicking"
)]

mod authority;
mod client;
mod eras;
mod fixture;
mod fixture_asking;
mod fixture_tasks;
mod http;
mod http_client;
mod http_faults;
mod offers;
mod rmcp;
mod stdio;
mod stream_faults;
mod tools;
