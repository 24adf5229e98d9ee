//! `helve serve`: all servers as one MCP server, for any agent.

use std::sync::Arc;
use std::time::Duration;

use helve::Host;
use helve_serve::{Gateway, Naming, Options, face};
use tokio::signal::unix::{SignalKind, signal};

use crate::context::Context;
use crate::failure::Failure;
use crate::options::duration;
use crate::reload::Reloader;
use crate::running::{Manner, Wanted, block_on, start};
use crate::stdio;

/// How often the configuration files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Serve all servers as one MCP server, on standard input and output
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For an agent that starts its servers itself:
  claude mcp add helve -- helve serve
  { \"mcpServers\": { \"helve\": { \"command\": \"helve\", \"args\": [\"serve\"] } } }

Agents see only what they may call. Servers are started in the background: the first answer does not
wait for them, and their tools are announced when they come.")]
pub(crate) struct Args {
    /// Names of tools: mcp (mcp__server__tool), server (server__tool), none, your own
    #[arg(long, value_name = "PREFIX", default_value = "mcp", value_parser = Naming::from_word)]
    prefix: Naming,

    /// How long the first list waits for servers that are starting: 5s, 500ms
    #[arg(long, value_name = "TIME", value_parser = duration)]
    wait: Option<Duration>,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<(), Failure> {
    let configuration = context.load()?;
    context.report_problems(&configuration);
    block_on(async {
        let manner = Manner { stays: true, serves: true, ..Manner::default() };
        let host = start(context, &configuration, Wanted::All, manner).await?;
        let options = Options { naming: args.prefix, wait: args.wait, ..Options::default() };
        let gateway = Gateway::new(host.clone(), options);
        let served = tokio::select! {
            served = on_standard_streams(&gateway) => served,
            stopped = until_stopped() => stopped,
            failure = follow_configuration(context, &host) => Err(failure),
        };
        host.shutdown().await;
        served
    })
}

async fn on_standard_streams(gateway: &Arc<Gateway>) -> Result<(), Failure> {
    let broken = |error| Failure::other("the agent cannot be reached").cause(&error);
    let (reader, writer) = (stdio::input().map_err(broken)?, stdio::output().map_err(broken)?);
    match face::stream::serve(gateway, reader, writer).await {
        Ok(()) => Ok(()),
        // An agent that has gone has got what it wanted.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(broken(error)),
    }
}

async fn until_stopped() -> Result<(), Failure> {
    let deaf = |error| Failure::other("signals cannot be listened for").cause(&error);
    let mut terminate = signal(SignalKind::terminate()).map_err(deaf)?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.map_err(deaf),
        _ = terminate.recv() => Ok(()),
    }
}

async fn follow_configuration(context: &Context, host: &Host) -> Failure {
    let mut reloader = match Reloader::new(context) {
        Ok(reloader) => reloader,
        Err(failure) => return failure,
    };
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        reloader.look(context, host).await;
    }
}
