//! Decides whether a call may run, and hands out the [`Permit`] without which the wire sends none.
//!
//! Pure: no input or output, no async, no clock.

#![warn(missing_docs)]

mod decision;
mod permit;
pub mod pin;
mod words;

pub use decision::{Decision, Request, RuleSet};
pub use permit::Permit;
