//! Owns `cargo xtask interop`: visits to servers we did not write, over every transport, in both eras.

mod besides;
mod probe;
mod process;
mod program;
mod servers;
mod signatures;
mod visit;

use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use helve_model::ToolDefinition;
use xtask::table;

use self::servers::{Era, Server, Transport};
use self::signatures::Parsers;
use self::visit::Found;
use crate::programs::{build, interop_directory};

/// Visit real servers from the registries (installs them under target/interop)
///
/// The signatures of all their tools are then parsed by Python and by the TypeScript compiler.
#[derive(Debug, Args)]
pub(crate) struct Interop {
    /// Visit only servers with this name
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Install the servers and stop there
    #[arg(long)]
    install: bool,
}

impl Interop {
    #[expect(clippy::print_stdout, reason = "the table of visits is what this chore is run for")]
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        let directory = interop_directory(root)?;
        let scratch = directory.join("scratch");
        fs_err::create_dir_all(&scratch)?;
        let mut servers = servers::install(&directory, &scratch)?;
        let parsers = Parsers::install(&directory)?;
        servers.retain(|server| self.only.as_deref().is_none_or(|only| only == server.name));
        if servers.is_empty() {
            bail!("no such server: {}", self.only.as_deref().unwrap_or_default());
        }
        if self.install {
            return Ok(());
        }
        let mark = process::mark();
        let mut rows = Vec::new();
        let mut tools: Vec<(&str, ToolDefinition)> = Vec::new();
        let mut bad = 0;
        let mut tell = |subject: &str, means: &str, outcome: Result<String>| {
            let told = outcome.unwrap_or_else(|error| {
                bad += 1;
                format!("FAILED: {error:#}")
            });
            rows.push(vec![subject.to_owned(), means.to_owned(), told]);
        };
        for server in &servers {
            let outcome = visit(server, &mark).map(|found| {
                tools.extend(found.tools.into_iter().map(|tool| (server.name, tool)));
                found.words
            });
            tell(server.name, transport(server), outcome);
        }
        for server in servers.iter().filter(|server| besides::has_more(server)) {
            tell(&format!("{} besides tools", server.name), transport(server), besides::visit(server, &scratch, &mark));
        }
        tell("signatures", "", parsers.check(&tools));
        if self.only.is_none() {
            let session = build(root, "helve-cli", false, &["helve"])
                .and_then(|built| program::session(&built[0], &servers, &directory, &mark));
            tell("the program helve", "all", session);
        }
        println!("{}", table::render(&["server", "transport", "visit"], &[], &rows));
        if bad > 0 {
            bail!("{bad} of {} failed", rows.len());
        }
        Ok(())
    }
}

fn visit(server: &Server, mark: &str) -> Result<Found> {
    let answer = probe::ask(server, mark)?;
    if answer.era != server.era {
        bail!("expected the {} era, but server/discover was answered with {}", era(server.era), answer.words);
    }
    let found = visit::visit(server, mark)?;
    let leftovers = process::leftovers(mark)?;
    if !leftovers.is_empty() {
        bail!("left behind: {}", leftovers.join(", "));
    }
    Ok(found)
}

fn transport(server: &Server) -> &'static str {
    match server.transport {
        Transport::Stdio => "stdio",
        Transport::Http(_) => "Streamable HTTP",
        Transport::Sse(_) => "HTTP+SSE",
    }
}

fn era(era: Era) -> &'static str {
    match era {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
    }
}
