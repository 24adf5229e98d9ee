//! What the hub promises at its doors.

mod doors;
mod world;
