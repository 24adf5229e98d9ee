//! Tools that are functions: their schemas, what they return, and how they fail.

use helve::{
    CallContext, Caller, ErrorCode, FunctionTool, Host, Narrowing, Outcome, Scope, Structured, ToolContext,
    ToolFailure, Toolbox,
};
use helve_model::Definition as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// The name to greet.
    who: String,
    /// How often.
    #[serde(default)]
    times: Option<u8>,
}

#[derive(Serialize)]
struct Sum {
    sum: i64,
}

fn agent() -> CallContext {
    CallContext::new(Caller::Agent)
}

fn anything<W: Future<Output: helve::ToolOutput> + Send + 'static>(
    name: &str,
    work: impl Fn(Value, ToolContext) -> W + Send + Sync + 'static,
) -> FunctionTool {
    FunctionTool::with_schema(name, "Does something", json!({}), work).only_reads()
}

async fn host(toolbox: Toolbox) -> Host {
    Host::builder().toolbox(toolbox).start().await.unwrap()
}

#[tokio::test]
async fn the_schema_is_that_of_the_argument_and_is_kept_to() {
    let greet = |arguments: Greet, _| async move { format!("hello {} times {:?}", arguments.who, arguments.times) };
    let greet = FunctionTool::new("greet", "Greets somebody", greet).only_reads();
    let host = host(Toolbox::new("manners").with(greet)).await;
    let tool = host.resolve("manners/greet").unwrap();
    insta::assert_snapshot!(tool.definition().raw(), @r#"{"name":"greet","description":"Greets somebody","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"times":{"default":null,"description":"How often.","format":"uint8","maximum":255,"minimum":0,"type":["integer","null"]},"who":{"description":"The name to greet.","type":"string"}},"required":["who"],"title":"Greet","type":"object"},"annotations":{"readOnlyHint":true}}"#);
    let called = host.call("manners/greet", json!({"who": "you", "times": 2}), agent()).await.unwrap();
    assert_eq!(called.to_text(), "hello you times Some(2)");
    for wrong in [json!({}), json!({"who": 3}), json!({"who": "you", "times": 256}), json!([])] {
        let error = host.call("manners/greet", &wrong, agent()).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidParams, "{wrong}");
    }
    host.shutdown().await;
}

#[tokio::test]
async fn whatever_a_function_returns_is_a_result() {
    let toolbox = Toolbox::new("all")
        .with(anything("text", |_, _| async { "a text" }))
        .with(anything("value", |_, _| async { json!({"a": [1]}) }))
        .with(anything("structured", |_, _| async { Structured(Sum { sum: 5 }) }))
        .with(anything("nothing", |_, _| async {}))
        .with(anything("outcome", |_, _| async { Outcome::failure("it smells") }))
        .with(anything("failed", |_, _| async { "7 up".parse::<u8>().map(|number| number.to_string()) }))
        .with(anything("unrunnable", |_, _| async {
            Err::<(), _>(ToolFailure::new(ErrorCode::ServerUnavailable, "the disk is not there").with_hint("insert it"))
        }));
    let host = host(toolbox).await;
    let mut said = String::new();
    for name in ["text", "value", "structured", "nothing", "outcome", "failed", "unrunnable"] {
        let called = host.call(&format!("all/{name}"), json!({}), agent()).await;
        let shown =
            called.map_or_else(|error| crate::support::shown(&error), |called| called.outcome.raw().to_string());
        said.push_str(&format!("{name}: {shown}\n"));
    }
    insta::assert_snapshot!(said, @r#"
    text: {"content":[{"type":"text","text":"a text"}]}
    value: {"content":[{"type":"text","text":"{\"a\":[1]}"}],"structuredContent":{"a":[1]}}
    structured: {"content":[{"type":"text","text":"{\"sum\":5}"}],"structuredContent":{"sum":5}}
    nothing: {"content":[{"type":"text","text":"done"}]}
    outcome: {"content":[{"type":"text","text":"it smells"}],"isError":true}
    failed: {"content":[{"type":"text","text":"invalid digit found in string"}],"isError":true}
    unrunnable: SERVER_UNAVAILABLE: the disk is not there
      hint: insert it
    "#);
    host.shutdown().await;
}

#[tokio::test]
async fn a_scope_on_the_call_holds_at_every_door_and_in_what_the_tool_calls() {
    let toolbox = Toolbox::new("kitchen")
        .with(anything("look", |_, _| async { "soup" }))
        .with(anything("taste", |_, _| async { "salty" }))
        .with(anything("scope", |_, context: ToolContext| async move {
            context
                .call()
                .scope
                .leaves_out(&helve_model::name::parse_slash("kitchen/taste").unwrap())
                .map_or("all", |_| "not all")
        }));
    let host = host(toolbox).await;
    let scope = Scope::everything(None).narrow(&Narrowing::without(["kitchen/taste"])).unwrap();
    let mut context = agent();
    context.scope = scope;
    assert!(host.call("kitchen/look", json!({}), context.clone()).await.is_ok());
    assert_eq!(host.call("kitchen/scope", json!({}), context.clone()).await.unwrap().to_text(), "not all");
    let error = host.call("kitchen/taste", json!({"not": "checked first"}), context.clone()).await.unwrap_err();
    insta::assert_snapshot!(crate::support::shown(&error), @"DENIED: `kitchen/taste` may not be called: `kitchen/taste` takes it from the tools of this agent");
    insta::assert_snapshot!(error.to_agent().message(), @"`kitchen/taste` is refused (DENIED): it is not among the tools of this agent");
    let prepared = host.connect("kitchen/taste", &context).await.unwrap();
    assert_eq!(prepared.invoke(json!({}), context).await.unwrap_err().code(), ErrorCode::Denied);
    host.shutdown().await;
}

#[tokio::test]
async fn a_server_without_a_name_is_refused_and_nothing_is_started() {
    let error = Host::builder().server(helve::ServerSpec::stdio("", "true")).start().await.unwrap_err();
    insta::assert_snapshot!(crate::support::shown(&error), @"CONFIG: a server has no name");
}
