//! A tool's identity, and its spellings.
//!
//! The identity of a tool is the pair (server, tool): the server as configured, the tool as the server says it.
//! A spelling is a view of that pair. `spelling` renders one identity, [`NameTable`] makes the views of a whole
//! catalog injective and turns any of them back.

mod spelling;
mod table;

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

pub use spelling::{CODE_PREFIX, PROVIDER_PREFIX, Spelling, begins_with_server, function_name, parse_slash};
pub use table::{MAX_PROVIDER_NAME, NameTable, Resolution, is_plain, unique_names};

/// The name of a server, as its configuration gives it. What is read is never empty ([`ServerName::new`]); a program that
/// makes one of an empty text gets a server that no host takes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerName(Arc<str>);

/// The name of a tool, exactly as its server says it. May be any text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName(Arc<str>);

/// The identity of a tool: which server, and what that server calls it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QualifiedName {
    /// The server the tool belongs to.
    pub server: ServerName,
    /// The server's own name for it.
    pub tool: ToolName,
}

/// A server name was empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmptyServerName;

impl ServerName {
    /// A server name; refused when empty.
    ///
    /// # Errors
    /// [`EmptyServerName`] when `name` is empty.
    pub fn new(name: impl AsRef<str>) -> Result<Self, EmptyServerName> {
        let name = name.as_ref();
        if name.is_empty() { Err(EmptyServerName) } else { Ok(Self(Arc::from(name))) }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ServerName {
    fn from(name: &str) -> Self {
        Self(Arc::from(name))
    }
}

impl From<String> for ServerName {
    fn from(name: String) -> Self {
        Self(Arc::from(name))
    }
}

impl ToolName {
    /// A tool name, whatever the server chose.
    pub fn new(name: impl AsRef<str>) -> Self {
        Self(Arc::from(name.as_ref()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl QualifiedName {
    /// The identity of `tool` on `server`.
    #[must_use]
    pub const fn new(server: ServerName, tool: ToolName) -> Self {
        Self { server, tool }
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for ServerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

impl fmt::Display for QualifiedName {
    /// The `server/tool` spelling, helve's own.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Piece by piece: lists show thousands of them.
        formatter.write_str(&spelling::escape_server(self.server.as_str()))?;
        formatter.write_str("/")?;
        formatter.write_str(self.tool.as_str())
    }
}

impl fmt::Debug for QualifiedName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}/{:?}", self.server, self.tool)
    }
}

impl fmt::Display for EmptyServerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a server name must not be empty")
    }
}

impl std::error::Error for EmptyServerName {}

impl Borrow<str> for ServerName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
#[path = "name_tests.rs"]
mod tests;
