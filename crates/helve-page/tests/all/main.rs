//! The pages at their border: a view goes in, HTML comes out.

mod hostile;
mod markup;
mod samples;
mod size;
mod snapshots;
mod vendored;
