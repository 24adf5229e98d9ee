//! What the chores and their helper programs share.

pub mod table;
