//! `helve poll`: a tool called or a resource read again and again; what it says at first, and each time that is another.

use std::time::Duration;

use helve::{Host, Watcher};
use helve_config::Configuration;
use helve_model::json::RawJson;
use helve_model::{Outcome, QualifiedName, ReadOutcome};
use helve_setup::{Lifetime, Wanted};

use super::{call, read};
use crate::content::{self, SavePlace};
use crate::context::Context;
use crate::failure::Failure;
use crate::inputs;
use crate::offer_requests::check_server;
use crate::options::duration;
use crate::progress::Meter;
use crate::questions::QuestionArgs;
use crate::running::{Manner, with_host};
use crate::spelling;
use crate::watching::{EventArgs, Reporter, Subject, meaning};

/// Call a tool or read a resource again and again, and tell when it says something else
#[derive(Debug, clap::Args)]
#[command(after_help = "\
  helve poll server/tool key=value --every 10s
  helve poll SERVER URI --every 10s

What it says at first is printed and does not count as a change. Permission for a tool is asked for once, and again when
its definition changes. The shortest interval is one second.")]
pub(crate) struct Args {
    /// The tool, or the server of a resource
    #[arg(value_name = "TOOL")]
    target: String,

    /// The resource; key=value, key:=JSON or key=@FILE for a tool
    #[arg(value_name = "URI|KEY=VALUE")]
    words: Vec<String>,

    /// How often: 5s, 1m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5s")]
    every: Duration,

    /// All arguments of a tool as JSON, @FILE or - for stdin
    #[arg(long, value_name = "JSON")]
    args: Option<String>,

    #[command(flatten)]
    events: EventArgs,

    #[command(flatten)]
    questions: QuestionArgs,
}

/// What is polled.
enum Target<'a> {
    Resource { server: &'a str, uri: String },
    Tool { name: String, words: &'a [String] },
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let configuration = inputs::load(context, |server| spelling::may_mean(&args.target, server))?;
    context.report_problems_of(&configuration, |server| spelling::may_mean(&args.target, server));
    let target = target(&configuration, args)?;
    let only: Vec<String> = match &target {
        Target::Resource { server, .. } => {
            check_server(context, &configuration, &context.setup.plan(&configuration)?, server)?;
            vec![(*server).to_owned()]
        }
        Target::Tool { .. } => Vec::new(),
    };
    let wanted = if only.is_empty() { Wanted::OnDemand } else { Wanted::Only(&only) };
    let manner = Manner { lifetime: Lifetime::Long, ..Manner::answering(&args.questions) };
    with_host(context, &configuration, wanted, manner, async |host| match &target {
        Target::Resource { server, uri } => poll_resource(context, args, host, server, uri).await,
        Target::Tool { name, words } => poll_tool(context, args, host, name, words).await,
    })
}

/// A server followed by something that begins like a URI is a resource; all else is a tool.
fn target<'a>(configuration: &Configuration, args: &'a Args) -> Result<Target<'a>, Failure> {
    let is_server = configuration.servers.iter().any(|server| server.name.as_str() == args.target);
    match args.words.split_first() {
        Some((uri, rest)) if is_server && begins_like_a_uri(uri) => {
            if args.args.is_some() {
                return Err(Failure::usage("a resource has no arguments").hint("--args is for tools"));
            }
            Ok(Target::Resource { server: &args.target, uri: read::uri(uri, rest)? })
        }
        _ => {
            let (name, words) = spelling::tool_and_words(configuration, &args.target, &args.words);
            Ok(Target::Tool { name, words })
        }
    }
}

/// `scheme:something`; `key:=JSON` is an argument.
fn begins_like_a_uri(word: &str) -> bool {
    word.split_once(':').is_some_and(|(scheme, rest)| {
        let mut letters = scheme.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic())
            && letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.'))
            && !rest.is_empty()
            && !rest.starts_with('=')
    })
}

async fn poll_resource(context: &Context, args: &Args, host: &Host, server: &str, uri: &str) -> Result<(), Failure> {
    let reporter = Reporter::new(context, &args.events, Subject::Resource { server, uri })?;
    let watcher = host.watcher();
    let polling = Box::pin(watcher.poll_resource(server, uri, args.every, ""));
    let (_, first) = Meter::new(context).during(uri, polling).await?;
    let show = |raw: &RawJson| read::show(context, &ReadOutcome::new(raw.clone()).contents());
    follow(context, &watcher, reporter, &first, show).await
}

async fn poll_tool(context: &Context, args: &Args, host: &Host, name: &str, words: &[String]) -> Result<(), Failure> {
    let watcher = host.watcher();
    let polling = async {
        let limited = context.call().with(|call| call.timeout = context.options.timeout);
        let prepared = host.connect(name, &limited).await?;
        let tool = prepared.tool();
        let arguments = call::arguments(context, tool.name(), tool.input_schema(), words, args.args.as_deref()).await?;
        let (_, first) = watcher.poll_tool(&tool.name().to_string(), arguments, args.every, "").await?;
        Ok::<(QualifiedName, RawJson), Failure>((tool.name().clone(), first))
    };
    let (name, first) = Meter::new(context).during(name, Box::pin(polling)).await?;
    let (server, tool) = (name.server.as_str(), name.tool.as_str());
    let reporter = Reporter::new(context, &args.events, Subject::Tool { server, tool })?;
    follow(context, &watcher, reporter, &first, |raw| show_outcome(context, tool, raw)).await
}

async fn follow(
    context: &Context,
    watcher: &Watcher,
    mut reporter: Reporter<'_>,
    first: &RawJson,
    show: impl Fn(&RawJson) -> Result<(), Failure>,
) -> Result<(), Failure> {
    reporter.begin(first, &show)?;
    loop {
        let event = watcher.next().await;
        if let Some(told) = meaning(context, &event)?
            && !reporter.tell(&told, &show).await?
        {
            return Ok(());
        }
    }
}

fn show_outcome(context: &Context, tool: &str, raw: &RawJson) -> Result<(), Failure> {
    let view = Outcome::new(raw.clone()).open().map_err(|error| {
        Failure::new(helve_model::ErrorCode::ProtocolError, "the server's result is not valid JSON").cause(&error)
    })?;
    let text = content::to_text(&view, &mut SavePlace::new(context, None, tool))?;
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    context.printer.data(&format!("{text}{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_and_arguments_are_told_apart() {
        for uri in ["test://a", "file:///x?a=b", "urn:isbn:1", "a+b.c-d:e"] {
            assert!(begins_like_a_uri(uri), "{uri}");
        }
        for word in ["key=value", "key:=3", "key=http://x", "tool", "1a:b", "a:", ":b"] {
            assert!(!begins_like_a_uri(word), "{word}");
        }
    }

    #[test]
    fn the_usual_interval_is_the_libraries() {
        assert_eq!(duration("5s"), Ok(helve::DEFAULT_INTERVAL));
    }
}
