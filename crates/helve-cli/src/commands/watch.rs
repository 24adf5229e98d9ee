//! `helve watch`: a resource of which its server tells when it changes; each change as it comes.

use helve_model::ReadOutcome;
use helve_setup::{Lifetime, Wanted};

use super::read::{self, ResourceArgs};
use crate::context::Context;
use crate::failure::Failure;
use crate::offer_requests::load_for_server;
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
    #[command(flatten)]
    resource: ResourceArgs,

    /// Read the resource at each change, and print what it holds
    #[arg(long)]
    read: bool,

    #[command(flatten)]
    events: EventArgs,

    #[command(flatten)]
    questions: QuestionArgs,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let server = args.resource.server.as_str();
    let uri = args.resource.uri()?;
    let configuration = load_for_server(context, server)?;
    let subject = Subject::Resource { server, uri: &uri };
    let mut reporter = Reporter::new(context, &args.events, subject)?;
    let manner = Manner { lifetime: Lifetime::Long, ..Manner::answering(&args.questions) };
    let only = [server.to_owned()];
    with_host(context, &configuration, Wanted::Only(&only), manner, async |host| {
        let watcher = host.watcher();
        let subscribing = Box::pin(watcher.subscribe(server, &uri, ""));
        Meter::new(context).during(&uri, subscribing).await?;
        let watching = format!("watching {uri} of `{server}`; Ctrl-C ends it");
        context.printer.say(&Line::styled(Style::Dim, watching));
        loop {
            let event = watcher.next().await;
            let Some(mut told) = meaning(context, &event)? else { continue };
            let read = if args.read {
                let call = context.call().with(|context| context.uncut = true);
                match host.read_resource(server, &uri, &call).await {
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
