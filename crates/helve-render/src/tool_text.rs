//! Owns what this crate needs to know of a tool: a few borrowed texts.

/// A tool as its server describes it; schemas as the JSON text they came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolText<'a> {
    /// The name to show, in whatever spelling the caller uses.
    pub name: &'a str,
    /// The name for people.
    pub title: Option<&'a str>,
    /// What the tool does, in the server's words.
    pub description: Option<&'a str>,
    /// `inputSchema`.
    pub input_schema: &'a str,
    /// `outputSchema`.
    pub output_schema: Option<&'a str>,
}

impl<'a> ToolText<'a> {
    /// A tool of which only the name and the input are known.
    pub fn new(name: &'a str, input_schema: &'a str) -> Self {
        Self { name, title: None, description: None, input_schema, output_schema: None }
    }
}
