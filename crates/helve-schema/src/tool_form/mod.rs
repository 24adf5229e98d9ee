//! Owns forms for the arguments of tools: from a schema and what was posted to fields, and to the arguments themselves.

mod filled;

pub use filled::{Control, FilledForm, FormEntry, FormField, FormOption, LineKind, Switch};
