//! `helve keep`: servers stay running in the background, so that the next command need not start them.

use std::time::Duration;

use helve_setup::keep::{self, KeeperReport, Place, Preface, Told};
use helve_setup::{Lifetime, Recipe, Wanted};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::options::duration;
use crate::printer::{Line, Table};
use crate::resident;
use crate::running::block_on;

/// Keep servers running in the background
///
/// Every command finds them there, as long as its configuration, its variables and its directory are the same.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Begin, for the configuration of this directory; servers are started when they are first used
    Start {
        /// End when nobody has come for so long: 10m, 1h [default: as `settings.keep_idle_seconds` says]
        #[arg(long, value_name = "TIME", value_parser = duration)]
        idle: Option<Duration>,
    },
    /// End, with all servers
    Stop {
        /// Not only for this configuration
        #[arg(long)]
        all: bool,
    },
    /// Which run, and with what
    Status,
    /// Do it here, in the foreground
    #[command(hide = true)]
    Run {
        #[arg(long, value_name = "TIME", value_parser = duration)]
        idle: Option<Duration>,
    },
}

impl Args {
    /// True for the process in the background itself.
    pub(crate) const fn is_run(&self) -> bool {
        matches!(self.what, What::Run { .. })
    }
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    match &args.what {
        What::Start { idle } => start(context, *idle),
        What::Stop { all } => stop(context, *all),
        What::Status => status(context),
        What::Run { idle } => resident(context, *idle),
    }
}

fn start(context: &Context, idle: Option<Duration>) -> Result<(), Failure> {
    let configuration = context.load()?;
    context.report_problems(&configuration);
    let idle = idle.unwrap_or(configuration.settings.keep_idle.value);
    let place = here(context)?;
    block_on(async {
        let running = ask(&place, Preface::Status).await;
        let is_new = running.is_none();
        let report = match running {
            Some(report) => report,
            None => keep::start(&context.setup, &place, idle).await?,
        };
        if context.printer.is_json() {
            return context.printer.json(&shown(&report));
        }
        let process = report.process;
        context.printer.say(&Line::plain(if is_new {
            format!("process {process} keeps the servers of this directory; it ends after {} without use", words(idle))
        } else {
            format!("process {process} keeps these servers already")
        }));
        Ok(())
    })
}

fn stop(context: &Context, all: bool) -> Result<(), Failure> {
    let places = if all { Place::all(&context.setup) } else { vec![here(context)?] };
    block_on(async {
        let mut stopped = Vec::new();
        for outcome in futures_util::future::join_all(places.iter().map(Place::stop)).await {
            stopped.extend(outcome?);
        }
        if context.printer.is_json() {
            return context.printer.json(&stopped.iter().map(shown).collect::<Vec<_>>());
        }
        for report in &stopped {
            context.printer.say(&Line::plain(format!("process {} has ended, with its servers", report.process)));
        }
        if stopped.is_empty() {
            context.printer.say(&Line::plain("nothing is kept".to_owned()));
        }
        Ok(())
    })
}

fn status(context: &Context) -> Result<(), Failure> {
    block_on(async {
        let mut reports = Vec::new();
        for place in Place::all(&context.setup) {
            reports.extend(ask(&place, Preface::Status).await);
        }
        if context.printer.is_json() {
            return context.printer.json(&reports.iter().map(shown).collect::<Vec<_>>());
        }
        if reports.is_empty() {
            context.printer.say(&Line::plain("nothing is kept".to_owned()));
            context.printer.hint("`helve keep start` keeps the servers of this directory running");
            return Ok(());
        }
        let mut table = Table::new(["process", "directory", "running", "servers"]);
        for report in &reports {
            let servers: Vec<String> = report.servers.iter().map(|(name, state)| format!("{name} ({state})")).collect();
            let directory = context.env.shown(std::path::Path::new(&report.directory));
            let running = words(Duration::from_secs(report.running_seconds));
            table.row([report.process.to_string(), directory, running, servers.join(", ")].map(Line::plain));
        }
        context.printer.table(&table)
    })
}

fn resident(context: &Context, idle: Option<Duration>) -> Result<(), Failure> {
    let configuration = context.load()?;
    let idle = idle.unwrap_or(configuration.settings.keep_idle.value);
    let recipe = Recipe::new(&context.setup, &configuration, Wanted::OnDemand, Lifetime::Long)?;
    let place = recipe.place(&context.setup)?.ok_or_else(nowhere)?;
    block_on(resident::run(context, &place, recipe, idle))
}

/// Where the servers of this configuration are kept, or would be.
fn here(context: &Context) -> Result<Place, Failure> {
    let configuration = context.load()?;
    let recipe = Recipe::new(&context.setup, &configuration, Wanted::OnDemand, Lifetime::Short)?;
    recipe.place(&context.setup)?.ok_or_else(nowhere)
}

fn nowhere() -> Failure {
    Failure::other("there is no place for a socket").hint("set HOME or XDG_RUNTIME_DIR")
}

async fn ask(place: &Place, what: Preface) -> Option<KeeperReport> {
    match place.ask(what).await.ok()? {
        Told::Report(report) => Some(report),
        Told::Ready(_) | Told::Failed(_) => None,
    }
}

fn shown(report: &KeeperReport) -> serde_json::Value {
    let servers: serde_json::Map<String, serde_json::Value> =
        report.servers.iter().map(|(name, state)| (name.clone(), state.as_str().into())).collect();
    json!({
        "process": report.process,
        "directory": report.directory,
        "running_seconds": report.running_seconds,
        "idle_seconds": report.idle_seconds,
        "connections": report.connections,
        "servers": servers,
    })
}

fn words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}
