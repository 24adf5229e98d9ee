//! Owns which other clients are measured beside ours: what is installed, and how each is run.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use crate::install::{Pin, npm, python};

/// mcporter wants Node 24, which comes as a package; the TypeScript SDK runs on the same.
const NODE_CLIENTS: &[Pin] = &[("@modelcontextprotocol/client", "2.4.0"), ("mcporter", "0.12.3"), ("node", "24.9.0")];

const PYTHON_CLIENTS: &[Pin] = &[("fastmcp", "4.1.0")];

/// Our scripts on these libraries; the first has to lie beside the packages it imports.
const TYPESCRIPT: &str = include_str!("../../interop/bench-client.mjs");
const PYTHON: &str = include_str!("../../interop/bench-client.py");

/// Installs the clients below `directory` and says how they are run, in the words of the benchmark.
pub(crate) fn install(directory: &Path) -> Result<Value> {
    let modules = npm(&directory.join("bench-clients"), NODE_CLIENTS)?;
    let typescript = directory.join("bench-clients/bench-client.mjs");
    fs_err::write(&typescript, TYPESCRIPT)?;
    let bin = python(&directory.join("fastmcp"), PYTHON_CLIENTS)?;
    let fastmcp = directory.join("fastmcp/bench-client.py");
    fs_err::write(&fastmcp, PYTHON)?;
    let node = modules.join("node/bin/node");
    Ok(json!({
        "fastmcp": {"command": [bin.join("python"), fastmcp], "manner": "script"},
        "mcporter": {"command": [node, modules.join("mcporter/dist/cli.js")], "manner": "mcporter"},
        "typescript": {"command": [node, typescript], "manner": "script"},
    }))
}
