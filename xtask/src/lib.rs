//! What the chores and their helper programs share.

pub mod allowed;
pub mod table;

/// The last line of a conformance client that came to its end: the suite itself does not tell.
pub const CLIENT_DONE: &str = "conformance client: done";
