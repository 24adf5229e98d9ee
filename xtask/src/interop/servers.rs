//! Owns which real servers we meet: what is installed, how each is started, and what a good visit finds there.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::install::{Pin, npm, python};

/// The reference servers on the TypeScript SDK 1.x, and the SDK 2.x for our own small server.
const NODE_SERVERS: &[Pin] = &[
    ("@modelcontextprotocol/server-everything", "2026.8.31"),
    ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
    ("@modelcontextprotocol/server-memory", "2026.8.31"),
    ("@modelcontextprotocol/server", "2.4.0"),
    ("@modelcontextprotocol/node", "2.1.2"),
    ("zod", "4.6.7"),
];

/// On the Python SDK 2.x: both eras.
const TIME_SERVER: &[Pin] = &[("mcp-server-time", "2026.10.19"), ("mcp", "2.3.0")];

/// Its last release does not start with the Python SDK 2.x, so it gets an environment of its own.
const SQLITE_SERVER: &[Pin] = &[("mcp-server-sqlite", "2025.4.25"), ("mcp", "1.30.0")];

/// Our server on the TypeScript SDK 2.x; it has to lie beside the packages it imports.
const TYPESCRIPT_ECHO: &str = include_str!("../../interop/typescript-2-echo.mjs");

/// A server to visit.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) transport: Transport,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(&'static str, &'static str)>,
    /// Whether it answers `server/discover`.
    pub(crate) era: Era,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    /// Streamable HTTP at this path.
    Http(&'static str),
    /// The older HTTP+SSE, its stream at this path.
    Sse(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// Installs everything below `directory` and lists the visits; `scratch` is where the servers may keep files.
pub(crate) fn install(directory: &Path, scratch: &Path) -> Result<Vec<Server>> {
    let modules = npm(&directory.join("node-servers"), NODE_SERVERS)?;
    let time = python(&directory.join("time-server"), TIME_SERVER)?;
    let sqlite = python(&directory.join("sqlite-server"), SQLITE_SERVER)?;
    let echo = directory.join("node-servers/typescript-2-echo.mjs");
    fs_err::write(&echo, TYPESCRIPT_ECHO)?;

    let node = |name, transport, script: &Path, arguments: &[&str], era| {
        let script = script.display().to_string();
        let arguments = arguments.iter().map(ToString::to_string);
        let environment = if transport == Transport::Stdio { vec![] } else { vec![("PORT", "0")] };
        let arguments = std::iter::once(script).chain(arguments).collect();
        Server { name, transport, program: PathBuf::from("node"), arguments, environment, era }
    };
    let everything = modules.join("@modelcontextprotocol/server-everything/dist/index.js");
    let filesystem = modules.join("@modelcontextprotocol/server-filesystem/dist/index.js");
    let memory = modules.join("@modelcontextprotocol/server-memory/dist/index.js");
    let root = scratch.display().to_string();
    let database = scratch.join("interop.db").display().to_string();
    Ok(vec![
        node("everything", Transport::Stdio, &everything, &["stdio"], Era::Legacy),
        node("everything", Transport::Http("/mcp"), &everything, &["streamableHttp"], Era::Legacy),
        node("everything", Transport::Sse("/sse"), &everything, &["sse"], Era::Legacy),
        node("filesystem", Transport::Stdio, &filesystem, &[&root], Era::Legacy),
        Server {
            name: "time",
            transport: Transport::Stdio,
            program: time.join("mcp-server-time"),
            arguments: vec![],
            environment: vec![],
            era: Era::Modern,
        },
        Server {
            name: "sqlite",
            transport: Transport::Stdio,
            program: sqlite.join("mcp-server-sqlite"),
            arguments: vec!["--db-path".to_owned(), database],
            environment: vec![],
            era: Era::Legacy,
        },
        node("memory", Transport::Stdio, &memory, &[], Era::Legacy),
        node("typescript-2-echo", Transport::Stdio, &echo, &["stdio"], Era::Modern),
        node("typescript-2-echo", Transport::Http("/mcp"), &echo, &["http"], Era::Modern),
    ])
}
