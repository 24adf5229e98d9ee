//! Owns what templates cannot write in a line: charts as SVG with presentation attributes, trees, forms that nest.

mod chart;
mod form;
mod image;
mod tree;

pub(crate) use chart::{bars, mark_class, spark, strip, times};
pub(crate) use form::form;
pub(crate) use image::image;
pub(crate) use tree::tree;
