//! Owns the server on FastMCP that frameworks and agents visit twice, directly and through helve: how it is installed and
//! started, and the notes it keeps of what arrived.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::servers::{Era, Server, Transport};
use crate::install::{Pin, python};

/// It is an agent of its own in the visits of clients as well; both come from one place.
pub(crate) const FASTMCP: &[Pin] = &[("fastmcp", "4.1.2"), ("mcp", "2.3.0")];

const SCRIPT: &str = include_str!("../../interop/workshop.py");

/// The variable that names the file for its notes.
pub(crate) const NOTES: &str = "HELVE_NOTES";

/// The server, installed.
#[derive(Debug)]
pub(crate) struct Workshop {
    /// The interpreter that has FastMCP.
    pub(crate) python: PathBuf,
    script: PathBuf,
}

impl Workshop {
    pub(crate) fn install(directory: &Path) -> Result<Self> {
        let home = directory.join("agents-python");
        let python = python(&home, FASTMCP)?.join("python");
        let script = home.join("workshop.py");
        fs_err::write(&script, SCRIPT)?;
        Ok(Self { python, script })
    }

    /// The words that start it with this transport.
    pub(crate) fn arguments(&self, transport: &str) -> Vec<String> {
        vec![self.script.display().to_string(), transport.to_owned()]
    }

    /// It listens, with a port of its own choice.
    pub(crate) fn over_http(&self) -> Server {
        Server {
            name: "workshop",
            transport: Transport::Http("/mcp"),
            program: self.python.clone(),
            arguments: self.arguments("http"),
            environment: Vec::new(),
            era: Era::Modern,
        }
    }
}

/// How many notes begin with this word.
pub(crate) fn noted(notes: &Path, word: &str) -> usize {
    let text = fs_err::read_to_string(notes).unwrap_or_default();
    text.lines().filter(|line| line.starts_with(word)).count()
}
