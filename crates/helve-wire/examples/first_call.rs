//! Starts a server, lists its tools and calls one.
//!
//! ```console
//! cargo run --example first_call                                    # a small server that comes with helve
//! cargo run --example first_call -- SERVER [ARGUMENTS…]             # any program that speaks MCP on stdio
//! TOOL=echo ARGUMENTS='{"message":"hi"}' cargo run --example first_call -- SERVER
//! ```

#![expect(clippy::print_stdout, reason = "an example prints what it gets")]
#![expect(clippy::disallowed_methods, reason = "a program reads its own environment, and hands it in")]

use std::env;
use std::error::Error;
use std::ffi::OsString;

use helve_model::json::RawJson;
use helve_model::{CallKind, Principal, QualifiedName, ServerName, ToolName};
use helve_policy::{Decision, Request, RuleSet};
use helve_wire::launch::{PlainLauncher, ServerCommand, child_environment};
use helve_wire::{CallOptions, ConnectOptions, Times, connect_stdio};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = env::args_os().skip(1);
    let (program, args): (OsString, Vec<OsString>) = match words.next() {
        Some(program) => (program, words.collect()),
        None => (helve_testkit::peer_program().into(), vec![helve_testkit::Scenario::dual().to_json().into()]),
    };
    let command =
        ServerCommand { program, args, environment: child_environment(env::vars_os(), []), ..ServerCommand::default() };

    let server = ServerName::new("demo")?;
    let session = connect_stdio(&PlainLauncher, &command, ConnectOptions::new(server.clone())).await?;
    let negotiated = &session.greeting().negotiated;
    println!("connected: {} protocol, version {}", negotiated.era, negotiated.version);

    let tools = session.list_tools(Times::default()).await?;
    for tool in &tools.items {
        let view = tool.view();
        println!("  {:<20} {}", tool.name().as_str(), view.description.or(view.title).unwrap_or_default());
    }

    let request = Request {
        principal: Principal::LOCAL,
        name: QualifiedName::new(server, ToolName::new(env::var("TOOL").unwrap_or_else(|_| "echo".to_owned()))),
        kind: CallKind::Tool,
        arguments: RawJson::checked(env::var("ARGUMENTS").unwrap_or_else(|_| r#"{"message":"hello"}"#.to_owned()))?,
    };
    println!("calling {} with {}", request.name, request.arguments);
    let Decision::Allow(permit) = RuleSet::allow_all().decide(request) else { return Err("not allowed".into()) };
    let outcome = session.call_tool(&permit, CallOptions::default()).await?;
    println!("{}", outcome.open()?.to_text());

    session.close().await;
    Ok(())
}
