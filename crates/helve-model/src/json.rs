//! Raw JSON that is kept as it came, and a fast way to look into it.
//!
//! helve relays far more JSON than it reads. [`RawJson`] keeps a value as the bytes that arrived, shared and never
//! copied; [`scan`] finds the members of an object or the elements of an array at memory speed, without judging the
//! syntax inside them. Syntax is checked when a typed view opens the value ([`RawJson::parse`]) and before it leaves
//! helve through a door ([`RawJson::check`]).

mod block;
pub mod canonical;
mod letters;
mod raw;
pub mod scan;
pub mod strict;
mod writer;

pub use letters::letters;
pub use raw::RawJson;
pub use writer::{ObjectWriter, quoted};

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
