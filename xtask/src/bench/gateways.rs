//! Owns which other gateways are measured beside ours, and what is installed for it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

use crate::install::{Pin, npm, python};

const SUPERGATEWAY: Pin = ("supergateway", "4.0.0");
const MCP_PROXY_NODE: Pin = ("mcp-proxy", "6.7.19");
const MCP_PROXY_PYTHON: Pin = ("mcp-proxy", "0.13.0");
const FASTMCP: Pin = ("fastmcp", "4.1.2");

/// Installs the gateways below `directory`, each in a place of its own, and says where their programs are, in the words of
/// the benchmark. One that cannot be installed does not keep the others away: the benchmark names it with the reason.
#[expect(clippy::unnecessary_wraps, reason = "as the other clients are installed")]
pub(crate) fn install(directory: &Path) -> Result<Value> {
    let node =
        |place: &str, pin: Pin| npm(&directory.join(place), &[pin]).map(|modules| modules.join(".bin").join(pin.0));
    let python = |place: &str, pin: Pin| python(&directory.join(place), &[pin]).map(|bin| bin.join(pin.0));
    let told = |program: Result<PathBuf>| program.map_err(|error| format!("{error:#}"));
    Ok(json!([
        ["supergateway", told(node("supergateway", SUPERGATEWAY))],
        ["mcp-proxy-node", told(node("mcp-proxy-node", MCP_PROXY_NODE))],
        ["mcp-proxy-python", told(python("mcp-proxy-python", MCP_PROXY_PYTHON))],
        ["fastmcp", told(python("fastmcp-gateway", FASTMCP))],
    ]))
}
