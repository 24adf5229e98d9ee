//! Owns what a visit is: connect by ourselves, list, call, read, close, with helve's wire and nothing else.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use helve_model::{CallKind, HttpFlavour, ServerName, ToolDefinition};
use helve_policy::Permit;
use helve_wire::launch::{PlainLauncher, ServerCommand, child_environment};
use helve_wire::{CallOptions, ConnectOptions, HttpTarget, Session, Times, connect_http, connect_stdio};

use super::process::{self, Listening};
use super::servers::{Era, Server, Transport};

/// Time for an interpreter to start on a busy machine, and for any answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a good visit finds.
struct Expected {
    tool: &'static str,
    arguments: &'static str,
    /// Part of the tool's text.
    answer: &'static str,
    resource: Option<&'static str>,
    prompt: Option<(&'static str, &'static str)>,
}

/// What a visit found.
#[derive(Debug)]
pub(crate) struct Found {
    /// In a few words.
    pub(crate) words: String,
    pub(crate) tools: Vec<ToolDefinition>,
}

/// Visits `server`.
pub(crate) fn visit(server: &Server, mark: &str) -> Result<Found> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let name = ServerName::new(server.name)?;
        let options = ConnectOptions::new(name).with(|options| options.startup = PATIENCE);
        match server.transport {
            Transport::Stdio => {
                let command = command(server, mark);
                look_around(server, connect_stdio(&PlainLauncher, &command, options).await?).await
            }
            Transport::Http(path) | Transport::Sse(path) => {
                let listening = Listening::start(server, mark)?;
                let address = format!("http://localhost:{}{path}", listening.port);
                let session = connect_http(&HttpTarget::new(&address)?, HttpFlavour::Auto, options).await?;
                look_around(server, session).await
            }
        }
    })
}

async fn look_around(server: &Server, session: Session) -> Result<Found> {
    let negotiated = session.greeting().negotiated.clone();
    let era = match negotiated.era {
        helve_wire::Era::Legacy => Era::Legacy,
        helve_wire::Era::Modern => Era::Modern,
    };
    // A server of both eras that was slow to start may have been greeted in both: then its last answer rules.
    ensure!(era == server.era || server.era == Era::Modern, "taken for {} by mistake", negotiated.era);

    let tools = session.list_tools(times()).await?;
    ensure!(tools.incomplete.is_none() && tools.warnings.is_empty(), "a bad list of tools: {:?}", tools.warnings);
    let expected = expected(server.name)?;
    let permit = permit(server, CallKind::Tool, expected.tool, expected.arguments)?;
    let outcome = session.call_tool(&permit, options()).await?.open()?;
    let text = outcome.to_text();
    ensure!(!outcome.is_error && text.contains(expected.answer), "{} answered {text:?}", expected.tool);

    let resources = session.list_resources(times()).await?.items.len();
    if let Some(uri) = expected.resource {
        let read = session.read_resource(&self::permit(server, CallKind::Resource, uri, "{}")?, options()).await?;
        ensure!(!read.contents().is_empty(), "{uri} is empty");
    }
    let prompts = session.list_prompts(times()).await?.items.len();
    if let Some((prompt, arguments)) = expected.prompt {
        let got = session.get_prompt(&self::permit(server, CallKind::Prompt, prompt, arguments)?, options()).await?;
        ensure!(!got.messages().is_empty(), "{prompt} has no message");
    }
    session.ping(times()).await?;
    session.close().await;
    let words =
        format!("{}: {} tools, {resources} resources, {prompts} prompts", negotiated.version, tools.items.len());
    Ok(Found { words, tools: tools.items })
}

fn expected(server: &str) -> Result<Expected> {
    Ok(match server {
        "everything" => Expected {
            tool: "get-sum",
            arguments: r#"{"a":2,"b":40}"#,
            answer: "42",
            resource: Some("demo://resource/dynamic/text/1"),
            prompt: Some(("args-prompt", r#"{"city":"Oslo"}"#)),
        },
        "filesystem" => Expected {
            tool: "list_allowed_directories",
            arguments: "{}",
            answer: "scratch",
            resource: None,
            prompt: None,
        },
        "memory" => Expected { tool: "read_graph", arguments: "{}", answer: "entities", resource: None, prompt: None },
        "time" => Expected {
            tool: "get_current_time",
            arguments: r#"{"timezone":"UTC"}"#,
            answer: "UTC",
            resource: None,
            prompt: None,
        },
        "sqlite" => Expected {
            tool: "read_query",
            arguments: r#"{"query":"SELECT 6 * 7 AS answer"}"#,
            answer: "42",
            resource: Some("memo://insights"),
            prompt: Some(("mcp-demo", r#"{"topic":"tea"}"#)),
        },
        "typescript-2-echo" => Expected {
            tool: "echo",
            arguments: r#"{"text":"over the wire"}"#,
            answer: "over the wire",
            resource: Some("greeting://world"),
            prompt: Some(("greet", r#"{"name":"Ada"}"#)),
        },
        other => bail!("nobody wrote down what a visit to {other} should find"),
    })
}

fn command(server: &Server, mark: &str) -> ServerCommand {
    let own = server.environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let named = own.chain([(OsString::from(process::MARK), OsString::from(mark))]);
    ServerCommand {
        program: server.program.clone().into(),
        args: server.arguments.iter().map(OsString::from).collect(),
        working_directory: None,
        environment: child_environment(std::env::vars_os(), named),
        ..ServerCommand::default()
    }
}

fn permit(server: &Server, kind: CallKind, subject: &str, arguments: &str) -> Result<Permit> {
    xtask::allowed::permit(server.name, kind, subject, arguments)
}

fn times() -> Times {
    Times::exactly(PATIENCE)
}

fn options() -> CallOptions {
    CallOptions::default().with(|options| options.times = times())
}
