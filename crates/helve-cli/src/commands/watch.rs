//! `helve watch`: a resource of which its server tells when it changes; each change as it comes.

use helve_model::ReadOutcome;
use helve_setup::{Lifetime, Wanted};

use super::read;
use crate::context::Context;
use crate::failure::Failure;
use crate::inputs;
use crate::offer_requests::check_server;
use crate::printer::{Line, Style};
use crate::progress::Meter;
use crate::questions::QuestionArgs;
use crate::running::{Manner, with_host};
use crate::watching::{EventArgs, Reporter, Subject, Told, meaning};

/// Tell when a resource changes, until Ctrl-C
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The server has to offer subscriptions; `helve poll` looks at a resource again and again instead.
A connection that broke is made again, and the resource then may have changed.")]
pub(crate) struct Args {
    /// The server
    #[arg(value_name = "SERVER")]
    server: String,

    /// The resource, or a template with variables in braces
    #[arg(value_name = "URI")]
    uri: String,

    /// The variables of a template
    #[arg(value_name = "KEY=VALUE")]
    words: Vec<String>,

    /// Read the resource at each change, and print what it holds
    #[arg(long)]
    read: bool,

    #[command(flatten)]
    events: EventArgs,

    #[command(flatten)]
    questions: QuestionArgs,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let uri = read::uri(&args.uri, &args.words)?;
    let configuration = inputs::load(context, |server| server.as_str() == args.server)?;
    context.report_problems_of(&configuration, |server| server.as_str() == args.server);
    check_server(context, &configuration, &context.setup.plan(&configuration)?, &args.server)?;
    let subject = Subject::Resource { server: &args.server, uri: &uri };
    let mut reporter = Reporter::new(context, &args.events, subject)?;
    let manner = Manner { lifetime: Lifetime::Long, ..Manner::answering(&args.questions) };
    let only = [args.server.clone()];
    with_host(context, &configuration, Wanted::Only(&only), manner, async |host| {
        let watcher = host.watcher();
        let subscribing = Box::pin(watcher.subscribe(&args.server, &uri, ""));
        Meter::new(context).during(&uri, subscribing).await?;
        let watching = format!("watching {uri} of `{}`; Ctrl-C ends it", args.server);
        context.printer.say(&Line::styled(Style::Dim, watching));
        loop {
            let event = watcher.next().await;
            let Some(mut told) = meaning(context, &event)? else { continue };
            let read = if args.read {
                let call = context.call().with(|context| context.uncut = true);
                match host.read_resource(&args.server, &uri, &call).await {
                    Ok(read) => Some(read.outcome.raw().clone()),
                    // It may be gone and come back.
                    Err(error) => {
                        context.printer.warning(error.chain());
                        None
                    }
                }
            } else {
                None
            };
            told = Told { content: read.as_ref().or(told.content), ..told };
            let goes_on =
                reporter.tell(&told, |raw| read::show(context, &ReadOutcome::new(raw.clone()).contents())).await?;
            if !goes_on {
                return Ok(());
            }
        }
    })
}
