//! What the store promises, on real files.

mod calls;
mod keeping;
