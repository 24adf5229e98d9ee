//! `pins.json`: the definition each tool had when the person last accepted it.

use helve_model::{QualifiedName, ServerName, ToolName};
use helve_policy::pin::DefinitionHash;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Stored, first_version};

/// Every definition that the person accepted.
#[derive(Debug, Serialize, Deserialize)]
pub struct PinFile {
    #[serde(default = "first_version")]
    version: u64,
    #[serde(default)]
    pins: Vec<Pin>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// One accepted definition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pin {
    /// The project the server belongs to; without one it is the person's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    server: String,
    tool: String,
    /// The definition as the server gave it, as JSON text: what changed can be shown only beside what was.
    pub definition: String,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

impl PinFile {
    /// All of them.
    #[must_use]
    pub fn pins(&self) -> &[Pin] {
        &self.pins
    }

    /// All of them for scripts, sorted by tool.
    pub fn as_json(&self) -> Vec<Value> {
        let mut pins: Vec<&Pin> = self.pins.iter().collect();
        pins.sort_by_key(|pin| (pin.tool(), pin.project.clone()));
        pins.into_iter().filter_map(Pin::as_json).collect()
    }

    /// The definitions that were accepted for a server's tools.
    pub fn of_server(&self, project: Option<&str>, server: &ServerName) -> impl Iterator<Item = (QualifiedName, &Pin)> {
        let is_meant = move |pin: &&Pin| pin.project.as_deref() == project && pin.server == server.as_str();
        self.pins.iter().filter(is_meant).filter_map(|pin| Some((pin.tool()?, pin)))
    }

    /// The definition that was accepted for a tool.
    pub fn get(&self, project: Option<&str>, tool: &QualifiedName) -> Option<&Pin> {
        self.pins.iter().find(|pin| pin.is(project, tool))
    }

    /// Accepts a definition, in place of the one before.
    pub fn accept(&mut self, project: Option<&str>, tool: &QualifiedName, definition: &str) {
        self.pins.retain(|pin| !pin.is(project, tool));
        self.pins.push(Pin {
            project: project.map(ToOwned::to_owned),
            server: tool.server.to_string(),
            tool: tool.tool.to_string(),
            definition: definition.to_owned(),
            unknown: Map::new(),
        });
    }

    /// Forgets every pin that `is_meant` picks; gives what was forgotten.
    pub fn forget(&mut self, is_meant: impl Fn(&Pin) -> bool) -> Vec<Pin> {
        self.pins.extract_if(.., |pin| is_meant(pin)).collect()
    }
}

impl Pin {
    /// What scripts see of it: the definition by its hash, which is what counts.
    pub fn as_json(&self) -> Option<Value> {
        let name = self.tool()?.to_string();
        let definition = DefinitionHash::of(&self.definition).to_string();
        Some(match &self.project {
            Some(project) => json!({ "name": name, "definition": definition, "project": project }),
            None => json!({ "name": name, "definition": definition }),
        })
    }

    /// The tool it is about; `None` when the file names no server.
    pub fn tool(&self) -> Option<QualifiedName> {
        Some(QualifiedName::new(ServerName::new(&self.server).ok()?, ToolName::new(&self.tool)))
    }

    fn is(&self, project: Option<&str>, tool: &QualifiedName) -> bool {
        self.project.as_deref() == project && self.tool().as_ref() == Some(tool)
    }
}

impl Stored for PinFile {
    const FILE: &'static str = "pins.json";
    const VERSION: u64 = 1;

    fn version(&mut self) -> &mut u64 {
        &mut self.version
    }
}

impl Default for PinFile {
    fn default() -> Self {
        Self { version: Self::VERSION, pins: Vec::new(), unknown: Map::new() }
    }
}
