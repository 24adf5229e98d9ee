//! What the hub promises at its doors.

#![expect(clippy::expect_used, reason = "a test that cannot go on says so")]

mod adding;
mod agent;
mod always;
mod answering;
mod approvals;
mod doors;
mod editing;
mod feed;
mod holding;
mod interface;
mod ruling;
mod signing_in;
mod trying;
mod world;
