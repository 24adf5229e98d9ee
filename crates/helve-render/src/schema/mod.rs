//! A schema as it is read, once for those who show it and those who check by it: the JSON tree, where its references
//! lead, the types it describes.

pub mod document;
pub mod json;
pub mod limits;
pub mod types;
