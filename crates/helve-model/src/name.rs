//! A tool's identity, and its spellings.
//!
//! The identity of a tool is the pair (server, tool): the server as configured, the tool as the server says it. A server of
//! a hub has a place in front of its name; local ones have none.
//! A spelling is a view of that pair. `spelling` renders one identity, [`NameTable`] makes the views of a whole
//! catalog injective and turns any of them back.

mod place;
mod spelling;
mod table;

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

pub use place::{NotAPlaceName, PlaceName};
pub use spelling::{
    CODE_PREFIX, PLACED_CODE_PREFIX, PROVIDER_PREFIX, Spelling, begins_with_server, function_name, is_code_spelling,
    parse_placed, parse_slash, parse_written,
};
pub use table::{MAX_PROVIDER_NAME, NameTable, Resolution, is_plain, unique_names};

/// The name of a server, as its configuration gives it. What is read is never empty ([`ServerName::new`]); a program that
/// makes one of an empty text gets a server that no host takes.
///
/// A server of a hub is named `place/server`; two names are the same when their texts are. A place never has the name of a
/// local server, and a local server of that very text wins: whoever puts a catalog together sees to both.
#[derive(Clone)]
pub struct ServerName {
    text: Arc<str>,
    /// Bytes of the place that stands in front; 0 for a local server.
    place: u8,
}

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
        if name.is_empty() { Err(EmptyServerName) } else { Ok(Self::from(name)) }
    }

    /// The name of a hub's server, as a spoke has it; refused when empty.
    ///
    /// # Errors
    /// [`EmptyServerName`] when `server` is empty.
    pub fn placed(place: &PlaceName, server: impl AsRef<str>) -> Result<Self, EmptyServerName> {
        let server = server.as_ref();
        if server.is_empty() {
            return Err(EmptyServerName);
        }
        Ok(Self { text: Arc::from(format!("{place}/{server}")), place: place.bytes() })
    }

    /// The name as text: `place/server` for one of a hub.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The place it stands in; `None` for a local server.
    #[must_use]
    pub fn place(&self) -> Option<&str> {
        if self.place == 0 { None } else { self.text.get(..usize::from(self.place)) }
    }

    /// Its name where it is configured: without the place.
    #[must_use]
    pub fn without_place(&self) -> &str {
        if self.place == 0 { &self.text } else { self.text.get(usize::from(self.place) + 1..).unwrap_or_default() }
    }
}

impl PartialEq for ServerName {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for ServerName {}

impl Hash for ServerName {
    /// As a text does: names are looked up by text.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl PartialOrd for ServerName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ServerName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl From<&str> for ServerName {
    fn from(name: &str) -> Self {
        Self { text: Arc::from(name), place: 0 }
    }
}

impl From<String> for ServerName {
    fn from(name: String) -> Self {
        Self { text: Arc::from(name), place: 0 }
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
        formatter.write_str(&self.text)
    }
}

impl fmt::Debug for ServerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, formatter)
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
        formatter.write_str(&spelling::escaped(&self.server))?;
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
        &self.text
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
