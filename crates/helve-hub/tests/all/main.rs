//! What the hub promises at its doors.

#![expect(clippy::expect_used, reason = "a test that cannot go on says so")]

mod doors;
mod feed;
mod world;
