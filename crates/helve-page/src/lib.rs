//! The hub's pages: a view goes in, HTML comes out.
//!
//! Nothing here reads a file, waits, looks at a clock or decides anything: [`view`] is plain data that the hub fills. All
//! texts are escaped and shown with their hidden characters visible, because servers write most of them.

#![warn(missing_docs)]

pub mod view;
