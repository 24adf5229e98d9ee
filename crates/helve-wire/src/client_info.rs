//! The client's name and version.

use helve_model::json::ObjectWriter;

/// The client's name and version, told to every server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientInfo {
    /// The program's name.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// Its version.
    pub version: String,
}

impl ClientInfo {
    /// A client of this name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), title: None, version: version.into() }
    }

    pub(crate) fn to_json(&self) -> String {
        let named = ObjectWriter::new().text("name", &self.name).optional_text("title", self.title.as_ref());
        named.text("version", &self.version).into_text()
    }
}

impl Default for ClientInfo {
    fn default() -> Self {
        Self::new("helve", env!("CARGO_PKG_VERSION"))
    }
}
