//! The hub's pages: a view goes in, HTML comes out.
//!
//! Nothing here reads a file, waits, looks at a clock or decides anything: [`view`] is plain data that the hub fills. All
//! texts are escaped and shown with their hidden characters visible, because servers write most of them.
//!
//! | question | answer |
//! |---|---|
//! | How does a screen look? | [`page`]: one function per screen, [`live`]: one per part that changes by itself |
//! | What does it show? | [`view`] |
//! | What did a form post? | [`posted`] |
//! | Which files does it load? | [`assets`], under [`CONTENT_SECURITY_POLICY`] |

#![warn(missing_docs)]

mod assets;
mod draw;
mod escape;
mod filters;
mod json_tree;
mod line_diff;
pub mod live;
pub mod page;
pub mod posted;
pub mod view;

pub use assets::{Asset, CONTENT_SECURITY_POLICY, assets};
pub use json_tree::json_tree;
pub use line_diff::line_diff;
