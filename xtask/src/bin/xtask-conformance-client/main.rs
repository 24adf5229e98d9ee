//! The client the official suite tests: a small program on helve's wire that does what each scenario waits for.
//!
//! The suite gives the server's address as the last argument and the rest in the environment.

#![expect(clippy::disallowed_methods, reason = "a program reads its own environment")]
#![expect(clippy::print_stderr, reason = "the suite keeps what the client says")]
#![expect(clippy::print_stdout, reason = "the last word tells that the client came to its end")]

mod sign_in;

use std::env;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use helve_model::json::{RawJson, scan};
use helve_model::{CallKind, ErrorCode, HttpFlavour, ServerName};
use helve_policy::Permit;
use helve_wire::{
    BoxFuture, CallOptions, ClientCapabilities, ClientInfo, ConnectOptions, HttpTarget, PeerHandler, PeerQuestion,
    ProtocolChoice, QuestionKind, RpcError, Session, Times, connect_http,
};

const SERVER: &str = "suite";
const PATIENCE: Duration = Duration::from_secs(25);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => {
            println!("{}", xtask::CLIENT_DONE);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error:?}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<()> {
    let address = env::args().next_back().context("the last argument is the server's address")?;
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").context("MCP_CONFORMANCE_SCENARIO names the scenario")?;
    let outcome = visit(&address, &scenario).await;
    if !sign_in::has_to_be_refused(&scenario) {
        return outcome;
    }
    // There the right end is the right error, before anything was sent that should not be.
    match outcome {
        Ok(()) => Err(anyhow!("the scenario {scenario} ended well, and must not")),
        Err(error) => match error.downcast_ref::<helve_wire::Error>() {
            Some(wire) if wire.code() == ErrorCode::AuthRequired => {
                eprintln!("refused, as it has to be: {wire}");
                Ok(())
            }
            _ => Err(error),
        },
    }
}

async fn visit(address: &str, scenario: &str) -> Result<()> {
    let protocol = match env::var("MCP_CONFORMANCE_PROTOCOL_VERSION") {
        Ok(version) => ProtocolChoice::Pinned(version),
        Err(_) => ProtocolChoice::Auto,
    };
    let options = ConnectOptions::new(server()?).with(|options| {
        options.client = ClientInfo::new("helve-conformance", env!("CARGO_PKG_VERSION"));
        options.handler = Arc::new(FillsInDefaults);
        options.protocol = protocol;
        options.startup = PATIENCE;
    });
    let mut target = HttpTarget::new(address)?;
    if let Some(headers) = sign_in::headers(server()?, address, scenario)? {
        target = target.with_header_source(headers);
    }
    let session = connect_http(&target, HttpFlavour::Auto, options).await?;
    let outcome = play(&session, scenario).await;
    session.close().await;
    outcome
}

async fn play(session: &Session, scenario: &str) -> Result<()> {
    let tools = session.list_tools(times()).await?;
    for warning in &tools.warnings {
        eprintln!("{warning}");
    }
    match scenario {
        "tools_call" => call(session, "add_numbers", r#"{"a":5,"b":3}"#).await,
        "elicitation-sep1034-client-defaults" => call(session, "test_client_elicitation_defaults", "{}").await,
        "sse-retry" => call(session, "test_reconnection", "{}").await,
        "http-standard-headers" => {
            for tool in &tools.items {
                call(session, tool.name().as_str(), "{}").await?;
            }
            for resource in session.list_resources(times()).await?.items {
                session.read_resource(&permit(CallKind::Resource, resource.uri(), "{}")?, options()).await?;
            }
            for prompt in session.list_prompts(times()).await?.items {
                session.get_prompt(&permit(CallKind::Prompt, prompt.name(), "{}")?, options()).await?;
            }
            Ok(())
        }
        "http-custom-headers" => {
            let context = context()?.context("MCP_CONFORMANCE_CONTEXT holds the calls")?;
            let calls = context.member("toolCalls").and_then(|calls| calls.elements()).context("no toolCalls")?;
            for wanted in calls {
                let name = wanted.member_str("name").context("a call without name")?;
                let arguments = wanted.member("arguments").context("a call without arguments")?;
                call(session, &name, arguments.as_str()).await?;
            }
            Ok(())
        }
        "sep-2322-client-request-state" | "http-invalid-tool-headers" => {
            let arguments = if scenario.starts_with("http") { r#"{"region":"us-west1"}"# } else { "{}" };
            for tool in &tools.items {
                call(session, tool.name().as_str(), arguments).await?;
            }
            Ok(())
        }
        "json-schema-2020-12-preservation" => {
            let tool = tools.items.iter().find(|tool| tool.name().as_str() == "json_schema_2020_12_tool");
            let schema = tool.and_then(|tool| tool.view().input_schema).context("the tool has no schema")?;
            call(session, "json_schema_echo", &format!(r#"{{"schema":{schema}}}"#)).await
        }
        scenario if scenario.starts_with("auth/") => {
            for tool in &tools.items {
                call(session, tool.name().as_str(), "{}").await?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// What the suite hands over beside the address.
fn context() -> Result<Option<RawJson>> {
    match env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => Ok(Some(RawJson::checked(text)?)),
        Err(_) => Ok(None),
    }
}

/// A line for whoever reads the suite's records.
fn say(text: &str) {
    eprintln!("{text}");
}

async fn call(session: &Session, tool: &str, arguments: &str) -> Result<()> {
    let outcome = session.call_tool(&permit(CallKind::Tool, tool, arguments)?, options()).await?;
    eprintln!("{tool}: {}", outcome.open()?.to_text());
    Ok(())
}

fn permit(kind: CallKind, subject: &str, arguments: &str) -> Result<Permit> {
    xtask::allowed::permit(SERVER, kind, subject, arguments)
}

fn server() -> Result<ServerName> {
    ServerName::new(SERVER).map_err(|error| anyhow!(error))
}

fn times() -> Times {
    Times::exactly(PATIENCE)
}

fn options() -> CallOptions {
    CallOptions::default().with(|options| options.times = times())
}

/// Accepts every form, with the defaults its fields name.
struct FillsInDefaults;

impl PeerHandler for FillsInDefaults {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities { elicitation_form: true, ..ClientCapabilities::default() }
    }

    fn question(&self, question: PeerQuestion) -> BoxFuture<'_, Result<RawJson, RpcError>> {
        let answer = match question.kind {
            QuestionKind::Elicitation => Ok(accept(question.params.as_ref())),
            QuestionKind::Sampling | QuestionKind::Roots | QuestionKind::Task(_) => {
                Err(RpcError::method_not_found(question.kind.method()))
            }
        };
        Box::pin(async move { answer })
    }
}

fn accept(params: Option<&RawJson>) -> RawJson {
    let properties = params.and_then(|params| params.member("requestedSchema")?.member("properties"));
    let properties = properties.unwrap_or_else(RawJson::empty_object);
    let mut fields = Vec::new();
    for member in scan::members(properties.as_str()).into_iter().flatten().map_while(Result::ok) {
        let field = RawJson::part_of(properties.shared(), member.value);
        let value = match (field.member("default"), field.member_str("type").as_deref()) {
            (Some(default), _) => default.as_str().to_owned(),
            (None, Some("boolean")) => "true".to_owned(),
            (None, _) => continue,
        };
        fields.push(format!("\"{}\":{value}", member.raw_key));
    }
    RawJson::assembled(format!(r#"{{"action":"accept","content":{{{}}}}}"#, fields.join(",")))
}
