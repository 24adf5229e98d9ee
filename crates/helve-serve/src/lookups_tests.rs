//! A call looks up what it needs once, in both eras, where agents share a host and where there is one agent.

use std::sync::Arc;

use bytestring::ByteString;
use helve::{Answerer, CallError, Door, FunctionTool, Host, Toolbox};
use helve_model::Principal;
use helve_wire::BoxFuture;
use serde_json::{Value, json};

use super::counts;
use crate::agent::Agent;
use crate::era;
use crate::exchange::Exchange;
use crate::gate::{self, Passed};
use crate::gateway::{Gateway, HostPurpose, HostSource, Options};
use crate::outbox::{Nowhere, Outlet};

const LEGACY: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},"_meta":{"progressToken":7}}}"#;
const MODERN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

struct Source;

impl HostSource for Source {
    fn start(&self, _answerer: Arc<dyn Answerer>, _purpose: HostPurpose) -> BoxFuture<'_, Result<Host, CallError>> {
        Box::pin(host())
    }
}

async fn host() -> Result<Host, CallError> {
    let echo = |arguments: Value, _| async move { arguments.to_string() };
    let echo = FunctionTool::with_schema("echo", "Says it again", json!({"type": "object"}), echo);
    Host::builder().toolbox(Toolbox::new("native").with(echo.only_reads())).start().await
}

/// What one call looks up, as [`counts`] has it.
async fn looked_up(gateway: &Arc<Gateway>, message: &str) -> [usize; 4] {
    let standalone: Arc<dyn Outlet> = Arc::new(Nowhere);
    let agent = Arc::new(Agent::new(Principal::LOCAL, Door::Stream, Arc::clone(&standalone)));
    let exchange = Exchange { gateway: Arc::clone(gateway), agent, stream: standalone };
    let catalog = gateway.catalog();
    let name = catalog.names.first().unwrap();
    let message = message.replace("\"echo\"", &format!("\"{name}\""));
    counts();
    let Ok(Passed::Request(request)) = gate::read(&ByteString::from(message.as_str())) else { panic!("{message}") };
    let answer = era::answer(&exchange, &request).await.unwrap();
    assert!(answer.as_str().contains("hi"), "{answer}");
    counts()
}

#[tokio::test]
async fn a_call_looks_everything_up_once() {
    let alone = Gateway::new(host().await.unwrap(), Options::default());
    let shared = Gateway::shared(Arc::new(Source), Options::default()).await.unwrap();
    for gateway in [alone, shared] {
        // The first call makes the catalog.
        looked_up(&gateway, LEGACY).await;
        for message in [LEGACY, MODERN] {
            let [catalogs, snapshots, greetings, params] = looked_up(&gateway, message).await;
            assert_eq!((catalogs, snapshots), (1, 1), "{message}");
            assert!(greetings <= 1, "{greetings} greetings: {message}");
            assert!(params <= 2, "parameters gone through {params} times: {message}");
        }
    }
}
