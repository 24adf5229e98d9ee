//! What the hub promises at its doors.

#![expect(clippy::expect_used, reason = "a helper that fails fails its test")]

mod doors;
mod world;
