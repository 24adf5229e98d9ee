//! `helve builtin`: the tools that ship inside, each set as an MCP server of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use helve::{Host, Planned};
use helve_model::{BuiltinSpec, ConfigText, Layer, Origin, ServerName, ServerSpec, ServerStatus, TransportSpec};
use helve_serve::{Gateway, Naming, Options, Peer, face};
use helve_setup::{ShippedTools, allow_all};
use indexmap::IndexMap;

use crate::context::Context;
use crate::failure::Failure;
use crate::running::{block_on, until_stopped};
use crate::stdio;

/// Serve the tools that ship inside as an MCP server, on standard input and output
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For an application that starts its servers itself:
  { \"mcpServers\": { \"files\": { \"command\": \"helve\", \"args\": [\"builtin\", \"filesystem\", \".\"] } } }")]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, clap::Subcommand)]
enum Kind {
    /// Files below these directories, and nothing else
    Filesystem {
        /// The directories; this one without any
        #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
        roots: Vec<PathBuf>,
        /// Files may be written, too
        #[arg(long)]
        writable: bool,
    },
    /// One SQLite database
    Sqlite {
        /// Its file
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        database: PathBuf,
        /// It may be written, too
        #[arg(long)]
        writable: bool,
    },
    /// The time, here and elsewhere
    Time,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let spec = spec(context, &args.kind)?;
    block_on(async {
        let builder = Host::builder()
            .server(Planned::from(spec))
            .builtins(Arc::new(ShippedTools::new(&context.env)))
            .rules(vec![allow_all()]);
        let host = builder.start().await?;
        if let Some(ServerStatus::Failed(failure)) = host.status().into_iter().map(|report| report.status).next() {
            return Err(Failure::new(failure.code, failure.message));
        }
        let gateway = Gateway::new(host.clone(), Options::default().with(|options| options.naming = Naming::None));
        let broken = |error: std::io::Error| Failure::other("the agent cannot be served").cause(&error);
        let (reader, writer) = (stdio::input().map_err(broken)?, stdio::output().map_err(broken)?);
        let peer = Peer { connection: 0, user: None };
        let served = tokio::select! {
            served = face::stream::serve(&gateway, peer, reader, writer) => match served {
                // An agent that has gone has got what it wanted.
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(broken(error)),
                _ => Ok(()),
            },
            stopped = until_stopped() => stopped,
        };
        host.shutdown().await;
        served
    })
}

/// What was written on the command line is what a configuration would say.
fn spec(context: &Context, kind: &Kind) -> Result<ServerSpec, Failure> {
    let mut options: IndexMap<String, Vec<ConfigText>> = IndexMap::new();
    let name = match kind {
        Kind::Filesystem { roots, writable } => {
            let roots = if roots.is_empty() { vec![context.env.working_directory().to_owned()] } else { roots.clone() };
            options.insert("roots".to_owned(), roots.iter().map(|root| text(root)).collect::<Result<_, _>>()?);
            options.insert("writable".to_owned(), vec![ConfigText::literal(writable.to_string())]);
            "filesystem"
        }
        Kind::Sqlite { database, writable } => {
            options.insert("database".to_owned(), vec![text(database)?]);
            options.insert("writable".to_owned(), vec![ConfigText::literal(writable.to_string())]);
            "sqlite"
        }
        Kind::Time => "time",
    };
    let transport = TransportSpec::Builtin(BuiltinSpec { kind: name.to_owned(), options });
    let server = ServerName::new(name).map_err(|problem| Failure::other(problem.to_string()))?;
    Ok(ServerSpec::new(server, transport, Origin::CommandLine, Layer::CommandLine))
}

fn text(path: &Path) -> Result<ConfigText, Failure> {
    let text = path.to_str().ok_or_else(|| Failure::usage(format!("{} is not text", path.display())))?;
    Ok(ConfigText::literal(text))
}
