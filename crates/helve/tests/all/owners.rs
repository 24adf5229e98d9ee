//! Whose a result is that is kept: one principal's, who was told nothing else, and that nobody answered a question for.

use std::sync::Arc;
use std::time::Duration;

use helve::{Answerer, CallContext, Host, HostSettings};
use helve_model::json::RawJson;
use helve_model::{Principal, QualifiedName, ServerName, ServerSpec, ToolName};
use helve_policy::Caller;
use helve_testkit::Scenario;
use helve_wire::{BoxFuture, ClientCapabilities, PeerQuestion, Relayed, RpcError};

use crate::support::{PATIENCE, builder, json, stdio};

/// Says yes to every form.
struct Agreeing;

impl Answerer for Agreeing {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities { elicitation_form: true, ..ClientCapabilities::default() }
    }

    fn question<'a>(&'a self, _: &'a ServerName, _: PeerQuestion) -> BoxFuture<'a, Result<RawJson, RpcError>> {
        Box::pin(std::future::ready(Ok(json(r#"{"action":"accept","content":{"name":"me"}}"#))))
    }
}

/// A host that keeps the results of these tools of its server `a`.
async fn keeping(spec: ServerSpec, tools: &[&str]) -> Host {
    let name = |tool: &&str| QualifiedName::new(ServerName::new("a").unwrap(), ToolName::new(tool));
    let settings = HostSettings::default().with(|settings| {
        settings.call_timeout = PATIENCE;
        settings.result_cache_ttl = Some(Duration::from_secs(600));
        settings.cacheable = tools.iter().map(name).collect();
    });
    let host = builder([spec]).settings(settings).answerer(Arc::new(Agreeing)).start().await.unwrap();
    assert!(host.settled(PATIENCE).await);
    host
}

async fn is_kept(host: &Host, tool: &str, arguments: &str, context: CallContext) -> bool {
    host.call(tool, json(arguments), context).await.unwrap().from_cache
}

fn of(principal: Principal) -> CallContext {
    CallContext::new(Caller::Agent).with(|context| context.principal = principal)
}

#[tokio::test]
async fn s18_a_cached_result_is_one_principals() {
    let host = keeping(stdio("a", &Scenario::modern()), &["echo"]).await;
    let (one, other) = (|| of(Principal::token(0)), || of(Principal::token(1)));
    let kept = async |context: CallContext| is_kept(&host, "a/echo", r#"{"x":1}"#, context).await;
    assert!(!kept(one()).await);
    assert!(kept(one()).await, "the same principal gets it again");
    assert!(!kept(other()).await, "another principal does not");
    assert!(!kept(of(Principal::LOCAL)).await, "nor does the program itself");
    let meta = |text: &str| one().with(|context| context.meta = Some(json(text)));
    assert!(!kept(meta(r#"{"tenant":"a"}"#)).await && kept(meta(r#"{"tenant":"a"}"#)).await);
    assert!(!kept(meta(r#"{"tenant":"b"}"#)).await, "forwarded metadata counts");
    let more = |text: &str| one().with(|context| context.more = Some(json(text)));
    assert!(!kept(more(r#"{"as":"a"}"#)).await && kept(more(r#"{"as":"a"}"#)).await);
    assert!(!kept(more(r#"{"as":"b"}"#)).await, "unknown members count");
    let relayed = |text: &str| {
        one().with(|context| context.relayed = Some(Relayed { capabilities: Some(json(text)), ..Relayed::default() }))
    };
    assert!(!kept(relayed("{}")).await && kept(relayed("{}")).await);
    assert!(!kept(relayed(r#"{"roots":{}}"#)).await, "what the caller can do counts");
    host.shutdown().await;
}

#[tokio::test]
async fn s18_what_an_answer_unlocked_is_never_kept() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let host = keeping(stdio("a", &scenario), &["ask", "echo"]).await;
        let asked = || of(Principal::token(0)).with(|context| context.answerer = Some(Arc::new(Agreeing)));
        for _ in 0..2 {
            // A legacy server on one stream asks the host, a modern one whoever made the call.
            let called = host.call("a/ask", json(r#"{"kind":"form"}"#), asked()).await.unwrap();
            assert!(!called.from_cache && called.to_text().contains("accept"), "{called:?}");
        }
        let with = |relayed: Relayed| of(Principal::token(0)).with(|context| context.relayed = Some(relayed));
        let plain = || with(Relayed { capabilities: Some(json("{}")), ..Relayed::default() });
        let answers = Relayed { responses: Some(json(r#"{"a":{"action":"accept"}}"#)), ..plain().relayed.unwrap() };
        let state = Relayed { state: Some(json(r#""state""#)), ..plain().relayed.unwrap() };
        for unasked in [answers, state] {
            assert!(!is_kept(&host, "a/echo", "{}", with(unasked.clone())).await);
            assert!(!is_kept(&host, "a/echo", "{}", with(unasked)).await, "answers are not taken from the cache");
        }
        assert!(!is_kept(&host, "a/echo", "{}", plain()).await, "answers nobody asked for were kept for others");
        assert!(is_kept(&host, "a/echo", "{}", plain()).await);
        host.shutdown().await;
    }
}

#[tokio::test]
async fn s13_a_claim_that_nobody_believes_keeps_nothing() {
    let believed = |trust: bool| {
        let mut spec = stdio("a", &Scenario::legacy());
        spec.access.trust_annotations = trust;
        spec
    };
    for trust in [false, true] {
        let host = keeping(believed(trust), &[]).await;
        assert!(!is_kept(&host, "a/echo", "{}", of(Principal::LOCAL)).await);
        assert_eq!(is_kept(&host, "a/echo", "{}", of(Principal::LOCAL)).await, trust);
        host.shutdown().await;
    }
}
