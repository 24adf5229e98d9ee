//! Tools written in Rust: beside the servers, under the same policy, in the same records.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use helve::{
    Builtins, CallContext, CallEnd, CallError, Plan, Planned, Tool, ToolContext, ToolFailure, Toolbox, definition,
};
use helve_model::json::RawJson;
use helve_model::{Action, BuiltinSpec, ErrorCode, Outcome, ServerName, ServerSpec, ToolDefinition, TransportSpec};
use helve_policy::{Caller, Permit};
use helve_testkit::Scenario;
use helve_wire::BoxFuture;
use serde_json::json;

use crate::support::{builder, call, json, recorded, rule, shown, spec, status, stdio};

/// Adds two numbers, or does what its name says.
#[derive(Clone)]
pub(crate) struct Native {
    pub(crate) name: &'static str,
    pub(crate) described: Arc<AtomicUsize>,
}

impl Native {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, described: Arc::default() }
    }
}

impl Tool for Native {
    fn definition(&self) -> ToolDefinition {
        self.described.fetch_add(1, Ordering::Relaxed);
        let number = json!({ "type": "integer" });
        let schema = json!({ "type": "object", "properties": { "a": number, "b": number } });
        definition(self.name, "Adds", &schema, &json!({ "readOnlyHint": self.name == "add" }))
    }

    fn call<'a>(&'a self, permit: &'a Permit, _: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        assert_ne!(self.name, "panics", "as it says");
        Box::pin(async move {
            match self.name {
                "hangs" => std::future::pending().await,
                "panics_later" => panic!("as it says"),
                "breaks" => Err(ToolFailure::new(ErrorCode::Config, "no such database").with_hint("make one")),
                _ => {
                    let number = |name| permit.arguments().member(name).and_then(|n| n.parse::<i64>().ok());
                    let sum = number("a").unwrap_or(0) + number("b").unwrap_or(0);
                    let text = format!(r#"{{"content":[{{"type":"text","text":"{sum}"}}]}}"#);
                    Ok(Outcome::new(RawJson::assembled(text)))
                }
            }
        })
    }
}

pub(crate) fn toolbox(name: &str, tools: &[&'static str]) -> Toolbox {
    let empty = Toolbox::new(ServerName::new(name).unwrap());
    tools.iter().fold(empty, |toolbox, tool| toolbox.with(Native::new(tool)))
}

#[tokio::test]
async fn native_tools_take_the_way_of_every_call() {
    let rules = vec![rule("math/add", Action::Allow), rule("math/subtract", Action::Deny)];
    let host = builder([]).rules(rules).toolbox(toolbox("math", &["add", "subtract", "divide"])).start().await.unwrap();
    let mut events = host.events();
    assert_eq!(call(&host, "mcp__math__add", r#"{"a":1,"b":2}"#).await.unwrap().to_text(), "3");
    let invalid = call(&host, "math/add", r#"{"a":"one"}"#).await.unwrap_err();
    let denied = call(&host, "math/subtract", "{}").await.unwrap_err();
    let asked = call(&host, "math/divide", "{}").await.unwrap_err();
    let unknown = call(&host, "math/multiply", "{}").await.unwrap_err();
    let codes = [&invalid, &denied, &asked, &unknown].map(|error| error.code());
    let expected = [ErrorCode::InvalidParams, ErrorCode::Denied, ErrorCode::ApprovalRequired, ErrorCode::ToolNotFound];
    assert_eq!(codes, expected);
    for end in [CallEnd::Done].into_iter().chain(expected.map(CallEnd::Failed)) {
        let record = recorded(&mut events).await;
        assert_eq!((record.end, record.caller), (end, Caller::Agent));
    }
    host.shutdown().await;
}

#[tokio::test]
async fn a_native_tool_that_panics_breaks_or_hangs_costs_its_own_call() {
    let tools = ["add", "panics", "panics_later", "breaks", "hangs"];
    let host = builder([]).toolbox(toolbox("math", &tools)).start().await.unwrap();
    let mut words = String::new();
    for tool in &tools[1..] {
        let context = CallContext::new(Caller::Agent).with_timeout(Duration::from_millis(200));
        let error = host.call(&format!("math/{tool}"), json("{}"), context).await.unwrap_err();
        words.push_str(&shown(&error));
        words.push('\n');
    }
    insta::assert_snapshot!(words, @r"
    TOOL_ERROR: `math/panics` panicked
    TOOL_ERROR: `math/panics_later` panicked
    CONFIG: no such database
      hint: make one
    TIMEOUT: `math/hangs` timed out after 0.2 s
      hint: the call may have run: look before you repeat it
    ");
    assert_eq!(call(&host, "add", r#"{"a":4}"#).await.unwrap().to_text(), "4");
    host.shutdown().await;
}

#[tokio::test]
async fn a_toolbox_and_a_server_cannot_have_one_name() {
    let host = builder([stdio("math", &Scenario::dual())]).start().await.unwrap();
    let error = host.put_toolbox(toolbox("math", &["add"])).unwrap_err();
    assert_eq!(shown(&error), "CONFIG: a configured server has the name `math`, which native tools are to have");
    host.put_toolbox(toolbox("sums", &["add"])).unwrap();
    let changes = host.add_server(stdio("sums", &Scenario::dual())).await;
    assert_eq!(shown(&changes.errors[0].1), "CONFIG: there are two servers named `sums`");
    assert_eq!(call(&host, "sums/add", "{}").await.unwrap().to_text(), "0");
    host.shutdown().await;
}

#[tokio::test]
async fn a_tool_is_asked_once_what_it_is() {
    let tool = Native::new("add");
    let described = Arc::clone(&tool.described);
    let host = builder([]).start().await.unwrap();
    host.put_toolbox(Toolbox::new(ServerName::new("math").unwrap()).with(tool)).unwrap();
    for number in 0..3 {
        host.put_toolbox(toolbox(&format!("other{number}"), &["add"])).unwrap();
        call(&host, "math/add", "{}").await.unwrap();
    }
    assert_eq!(described.load(Ordering::Relaxed), 1);
    host.shutdown().await;
}

/// Opens `math`, unless told otherwise.
struct Shelf;

impl Builtins for Shelf {
    fn open(&self, spec: &ServerSpec, builtin: &BuiltinSpec) -> Result<Toolbox, CallError> {
        match builtin.kind.as_str() {
            "math" => Ok(toolbox(spec.name.as_str(), &["add"])),
            "panics" => panic!("as it says"),
            other => Err(CallError::new(ErrorCode::Config, format!("there is no `{other}`"))),
        }
    }
}

fn builtin(name: &str, kind: &str) -> ServerSpec {
    let builtin = BuiltinSpec { kind: kind.to_owned(), options: [].into_iter().collect() };
    spec(name, TransportSpec::Builtin(builtin))
}

#[tokio::test]
async fn built_in_servers_are_switched_and_fail_as_others_do() {
    let mut off = builtin("off", "math");
    off.enabled = false;
    let host = builder([]).builtins(Arc::new(Shelf)).start().await.unwrap();
    let specs = [builtin("math", "math"), builtin("broken", "history"), builtin("panics", "panics"), off];
    let plan = Plan::default().with(|plan| plan.servers = specs.into_iter().map(Planned::from).collect());
    let changes = host.set_servers(plan).await;
    assert_eq!(changes.added.len(), 4);
    let errors: Vec<String> = changes.errors.iter().map(|(name, error)| format!("{name}: {}", shown(error))).collect();
    insta::assert_snapshot!(errors.join("\n"), @r"
    broken: CONFIG: there is no `history`
    panics: SERVER_UNAVAILABLE: the built-in tools `panics` panicked while they were opened
    ");
    let statuses = ["math", "broken", "off"].map(|name| status(&host, name));
    insta::assert_snapshot!(statuses.join("\n"), @r"
    connected
    failed (CONFIG: there is no `history`)
    disabled (switched off in the configuration)
    ");
    assert_eq!(call(&host, "broken/add", "{}").await.unwrap_err().code(), ErrorCode::ServerUnavailable);
    assert_eq!(call(&host, "off/add", "{}").await.unwrap_err().code(), ErrorCode::ServerDisabled);
    assert_eq!(host.reconnect_server("off").await.unwrap_err().code(), ErrorCode::ServerDisabled);

    call(&host, "math/add", "{}").await.unwrap();
    host.toggle("math", false).unwrap();
    assert_eq!(call(&host, "math/add", "{}").await.unwrap_err().code(), ErrorCode::ServerDisabled);
    host.toggle("math", true).unwrap();
    host.toggle("off", true).unwrap();
    for name in ["math/add", "off/add"] {
        call(&host, name, "{}").await.unwrap();
    }
    assert_eq!(host.toggle("broken", true).unwrap_err().message(), "there is no `history`");
    assert_eq!(host.reconnect_server("broken").await.unwrap_err().code(), ErrorCode::Config);
    host.reconnect_server("math").await.unwrap();
    host.shutdown().await;
}

#[tokio::test]
async fn native_tools_stay_when_mcp_is_off() {
    let host = builder([stdio("a", &Scenario::dual())])
        .server(builtin("inside", "math"))
        .builtins(Arc::new(Shelf))
        .toolbox(toolbox("math", &["add"]))
        .mcp(false)
        .start()
        .await
        .unwrap();
    let names: Vec<String> = host.snapshot().tools().map(|tool| tool.name().to_string()).collect();
    assert_eq!(names, ["inside/add", "math/add"]);
    call(&host, "inside/add", "{}").await.unwrap();
    host.shutdown().await;
    assert_eq!(toolbox("math", &["add"]).definitions()[0].name().as_str(), "add");
}
