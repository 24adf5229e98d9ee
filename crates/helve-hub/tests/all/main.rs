//! What the hub promises at its doors.

#![expect(clippy::expect_used, reason = "a test that cannot go on says so")]

mod agent;
mod answering;
mod approvals;
mod doors;
mod world;
