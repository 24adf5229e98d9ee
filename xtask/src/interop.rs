//! Owns `cargo xtask interop`: visits to servers we did not write, over every transport, in both eras.

mod probe;
mod process;
mod servers;
mod visit;

use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use xtask::table;

use self::servers::{Era, Server, Transport};
use crate::programs::interop_directory;

/// Visit real servers from the registries (installs them under target/interop)
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
        servers.retain(|server| self.only.as_deref().is_none_or(|only| only == server.name));
        if servers.is_empty() {
            bail!("no such server: {}", self.only.as_deref().unwrap_or_default());
        }
        if self.install {
            return Ok(());
        }
        let mark = process::mark();
        let mut rows = Vec::new();
        let mut bad = 0;
        for server in &servers {
            let told = match visit(server, &mark) {
                Ok(words) => words,
                Err(error) => {
                    bad += 1;
                    format!("FAILED: {error:#}")
                }
            };
            rows.push(vec![server.name.to_owned(), transport(server).to_owned(), told]);
        }
        println!("{}", table::render(&["server", "transport", "visit"], &[], &rows));
        if bad > 0 {
            bail!("{bad} of {} visits failed", servers.len());
        }
        Ok(())
    }
}

fn visit(server: &Server, mark: &str) -> Result<String> {
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
