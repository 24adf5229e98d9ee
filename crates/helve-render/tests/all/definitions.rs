//! Reads the recorded definitions: the tools of servers that people use, as they listed them.

use std::io::Read as _;
use std::sync::Arc;

use flate2::read::GzDecoder;
use helve_render::{SearchIndex, ServerIndex, ToolText};
use serde_json::Value;

/// One server, recorded.
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) tools: Vec<Tool>,
}

/// One tool, recorded.
pub(crate) struct Tool {
    name: String,
    title: Option<String>,
    description: Option<String>,
    input_schema: String,
}

impl Tool {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn text(&self) -> ToolText<'_> {
        ToolText {
            name: &self.name,
            title: self.title.as_deref(),
            description: self.description.as_deref(),
            input_schema: &self.input_schema,
            output_schema: None,
        }
    }
}

/// All of them, sorted by server.
pub(crate) fn recorded() -> Vec<Server> {
    let mut text = String::new();
    GzDecoder::new(&include_bytes!("../search/definitions.jsonl.gz")[..]).read_to_string(&mut text).unwrap();
    text.lines().map(|line| server(&serde_json::from_str(line).unwrap())).collect()
}

/// Their index.
pub(crate) fn index(servers: &[Server]) -> SearchIndex {
    let part = |server: &Server| Arc::new(ServerIndex::new(&server.name, server.tools.iter().map(Tool::text)));
    SearchIndex::new(servers.iter().map(part))
}

fn server(recorded: &Value) -> Server {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let tools = recorded["tools"].as_array().unwrap().iter().map(|tool| Tool {
        name: text(&tool["name"]).unwrap(),
        title: text(&tool["title"]),
        description: text(&tool["description"]),
        input_schema: tool["inputSchema"].to_string(),
    });
    Server { name: text(&recorded["server"]).unwrap(), tools: tools.collect() }
}
