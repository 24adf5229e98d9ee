//! Drives the peer with hand-written lines and raw HTTP: no MCP client library has a say here.

mod client;
mod eras;
mod tools;
