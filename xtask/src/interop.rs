//! Owns `cargo xtask interop`: visits to servers we did not write and by clients we did not write, over every transport, in
//! both eras.

mod agents;
pub(crate) mod behind;
mod besides;
mod command_lines;
mod fastmcp;
mod probe;
pub(crate) mod process;
mod program;
pub(crate) mod servers;
mod signatures;
mod sloppy;
mod visit;
pub(crate) mod workshop;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use helve_model::ToolDefinition;
use xtask::table;

use self::agents::Agents;
use self::command_lines::CommandLines;
use self::servers::{Era, Server, Transport};
use self::signatures::Parsers;
use self::visit::Found;
use self::workshop::Workshop;
use crate::programs::{build_unless, build_with, interop_directory};

/// Visit real servers from the registries, and have real clients visit `helve serve` (installs them under target/interop)
///
/// Agents' own command lines add helve and look at it, without a network.
/// The signatures of all their tools are then parsed by Python and by the TypeScript compiler.
#[derive(Debug, Args)]
pub(crate) struct Interop {
    /// Visit only servers with this name
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Have clients visit and nothing else; only those with the name given by `--only`
    #[arg(long)]
    agents: bool,
    /// Have clients visit through a spoke, through a hub, and nothing else; only those with the name given by `--only`
    #[arg(long, conflicts_with = "agents")]
    spokes: bool,
    /// Have the agents' own command lines add helve, and nothing else
    #[arg(long, conflicts_with_all = ["agents", "only", "spokes"])]
    command_lines: bool,
    /// Visit the server on FastMCP directly and through helve, and the sloppy servers, and nothing else
    #[arg(long, conflicts_with_all = ["agents", "only", "command_lines", "spokes"])]
    workshop: bool,
    /// Install the servers and clients and stop there
    #[arg(long)]
    install: bool,
    /// The program to visit, instead of the one that is built from this tree
    #[arg(long, value_name = "FILE")]
    helve: Option<PathBuf>,
}

/// How the visits went, one row for each.
#[derive(Debug, Default)]
struct Told {
    rows: Vec<Vec<String>>,
    bad: usize,
}

impl Interop {
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        let directory = interop_directory(root)?;
        let scratch = directory.join("scratch");
        fs_err::create_dir_all(&scratch)?;
        let mut told = Told::default();
        let command_lines = CommandLines::install(&directory)?;
        if self.command_lines {
            self.visit_by_command_line(root, &command_lines, &mut told)?;
            return told.end();
        }
        let workshop = Workshop::install(&directory)?;
        if self.workshop && !self.install {
            visit_workshop(&self.program(root)?, &workshop, &directory, &mut told)?;
            return told.end();
        }
        let servers = servers::install(&directory, &scratch)?;
        let parsers = Parsers::install(&directory)?;
        let agents = Agents::install(&directory)?;
        if self.install {
            return Ok(());
        }
        let mark = process::mark();
        if self.spokes {
            let helve = &self.program(root)?;
            let tell = |subject: &str, means: &str, outcome| told.add(subject, means, outcome);
            agents.visit_spokes(helve, &servers, self.only.as_deref(), &mark, tell)?;
            return told.end();
        }
        if !self.agents {
            self.visit_servers(&servers, &parsers, &scratch, &mark, &mut told)?;
        }
        if self.agents || self.only.is_none() {
            let helve = &self.program(root)?;
            if !self.agents {
                told.add("the program helve", "all", program::session(helve, &servers, &directory, &mark));
            }
            let rmcp = &build_with(root, "helve-testkit", &["rmcp-agent"], &["helve-testkit-rmcp-agent"])?[0];
            let tell = |subject: &str, means: &str, outcome| told.add(subject, means, outcome);
            agents.with_rmcp(rmcp).visit(helve, &servers, self.only.as_deref(), &mark, tell)?;
        }
        if !self.agents && self.only.is_none() {
            self.visit_by_command_line(root, &command_lines, &mut told)?;
        }
        told.end()
    }

    fn program(&self, root: &Path) -> Result<PathBuf> {
        build_unless(self.helve.as_deref(), root, "helve-cli", "helve")
    }

    fn visit_by_command_line(&self, root: &Path, command_lines: &CommandLines, told: &mut Told) -> Result<()> {
        if self.install {
            return Ok(());
        }
        let helve = &self.program(root)?;
        command_lines.visit(helve, |subject, means, outcome| told.add(subject, means, outcome))
    }

    fn visit_servers(
        &self,
        servers: &[Server],
        parsers: &Parsers,
        scratch: &Path,
        mark: &str,
        told: &mut Told,
    ) -> Result<()> {
        let is_wanted = |server: &&Server| self.only.as_deref().is_none_or(|only| only == server.name);
        let servers: Vec<&Server> = servers.iter().filter(is_wanted).collect();
        if servers.is_empty() {
            bail!("no such server: {}", self.only.as_deref().unwrap_or_default());
        }
        let mut tools: Vec<(&str, ToolDefinition)> = Vec::new();
        for server in &servers {
            let outcome = visit(server, mark).map(|found| {
                tools.extend(found.tools.into_iter().map(|tool| (server.name, tool)));
                found.words
            });
            told.add(server.name, transport(server), outcome);
        }
        for server in servers.iter().filter(|server| besides::has_more(server)) {
            let subject = format!("{} besides tools", server.name);
            told.add(&subject, transport(server), besides::visit(server, scratch, mark));
        }
        told.add("signatures", "", parsers.check(&tools));
        Ok(())
    }
}

fn visit_workshop(helve: &Path, workshop: &Workshop, directory: &Path, told: &mut Told) -> Result<()> {
    told.add("two sloppy servers", "stdio", sloppy::visit(helve, directory, &process::mark()));
    fastmcp::visit(workshop, helve, directory, |subject, means, outcome| told.add(subject, means, outcome))
}

impl Told {
    #[expect(clippy::print_stdout, reason = "the table of visits is what this chore is run for")]
    fn end(self) -> Result<()> {
        println!("{}", table::render(&["server or agent", "transport", "visit"], &[], &self.rows));
        if self.bad > 0 {
            bail!("{} of {} failed", self.bad, self.rows.len());
        }
        Ok(())
    }

    fn add(&mut self, subject: &str, means: &str, outcome: Result<String>) {
        let words = outcome.unwrap_or_else(|error| {
            self.bad += 1;
            format!("FAILED: {error:#}")
        });
        self.rows.push(vec![subject.to_owned(), means.to_owned(), words]);
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
