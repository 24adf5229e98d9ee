//! What servers ask: how much of the model they get, which questions never reach a person, pages before a call, and
//! directories before the first one.

use std::sync::{Arc, Mutex};

use helve::{
    ElicitationAnswer, ElicitationRequest, Elicitor, Events, HostEvent, Root, RootsProvider, Sampler, SamplingCall,
    SamplingLimits,
};
use helve_model::ServerName;
use helve_model::json::RawJson;
use helve_testkit::{Recording, Scenario};
use helve_wire::BoxFuture;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::support::{PATIENCE, builder, call, http, json, shown, stdio};

const SAID: &str = r#"{"role":"assistant","content":{"type":"text","text":"yes"},"model":"scripted"}"#;

/// A model that notes what it is handed, and answers when it is let.
#[derive(Clone, Default)]
struct Model {
    handed: Arc<Mutex<Vec<RawJson>>>,
    is_asked: Arc<Notify>,
    waits_for: Option<Arc<Notify>>,
}

impl Sampler for Model {
    fn sample(&self, call: SamplingCall) -> BoxFuture<'_, Result<RawJson, String>> {
        Box::pin(async move {
            self.handed.lock().unwrap().push(call.request.raw);
            self.is_asked.notify_one();
            if let Some(word) = &self.waits_for {
                word.notified().await;
            }
            Ok(json(SAID))
        })
    }
}

async fn warning(events: &mut Events) -> String {
    loop {
        if let HostEvent::Warning { message, .. } = timeout(PATIENCE, events.next()).await.unwrap().unwrap() {
            return message;
        }
    }
}

/// What is counted is what the model is asked for, in the request as it is handed over too.
#[tokio::test]
async fn no_more_tokens_are_asked_for_than_are_counted() {
    let model = Model::default();
    let limits = SamplingLimits { tokens: 40_000, ..SamplingLimits::default() };
    let host = builder([stdio("peer", &Scenario::legacy())]).sampler(model.clone(), limits).start().await.unwrap();
    let greedy = r#"{"kind":"sampling","params":{"maxTokens":300000}}"#;
    let first = call(&host, "peer/ask", greedy).await.unwrap();
    assert!(first.to_text().contains("scripted"), "{}", first.to_text());
    let handed = model.handed.lock().unwrap()[0].clone();
    assert_eq!(handed.member("maxTokens").unwrap().as_str(), "32768", "{handed}");
    let second = call(&host, "peer/ask", greedy).await.unwrap();
    insta::assert_snapshot!(second.to_text(), @r#"{"answers":[{"error":{"code":-1,"message":"it wants 32768 tokens and has 7232 of its 40000 left"}}]}"#);
    assert_eq!(model.handed.lock().unwrap().len(), 1);
    host.shutdown().await;
}

#[tokio::test]
async fn no_more_requests_are_open_at_once_than_may_be() {
    let goes_on = Arc::new(Notify::new());
    let model = Model { waits_for: Some(Arc::clone(&goes_on)), ..Model::default() };
    let limits = SamplingLimits { concurrent: 1, ..SamplingLimits::default() };
    let host = builder([stdio("peer", &Scenario::legacy())]).sampler(model.clone(), limits).start().await.unwrap();
    let mut events = host.events();
    let asking = host.clone();
    let first = tokio::spawn(async move { call(&asking, "peer/ask", r#"{"kind":"sampling"}"#).await });
    model.is_asked.notified().await;
    drop(call(&host, "peer/ask", r#"{"kind":"sampling"}"#).await.unwrap());
    insta::assert_snapshot!(warning(&mut events).await, @"was refused the model: no more than 1 of its sampling requests may be open at once");
    goes_on.notify_one();
    assert!(first.await.unwrap().unwrap().to_text().contains("scripted"));
    // The turn was given back.
    goes_on.notify_one();
    let third = call(&host, "peer/ask", r#"{"kind":"sampling"}"#).await.unwrap();
    assert!(third.to_text().contains("scripted"), "{}", third.to_text());
    host.shutdown().await;
}

/// Says yes to everything, and notes what it was asked.
#[derive(Clone)]
struct Person(Arc<Mutex<Vec<RawJson>>>, ElicitationAnswer);

impl Elicitor for Person {
    fn elicit(&self, request: ElicitationRequest) -> BoxFuture<'_, ElicitationAnswer> {
        self.0.lock().unwrap().push(request.params);
        Box::pin(std::future::ready(self.1.clone()))
    }
}

#[tokio::test]
async fn what_cannot_be_put_to_a_person_is_declined_and_told() {
    let person = Person(Arc::default(), ElicitationAnswer::Accept(None));
    let host = builder([stdio("peer", &Scenario::legacy())]).elicitor(person.clone()).start().await.unwrap();
    let mut events = host.events();
    let mut told = Vec::new();
    for arguments in [
        r#"{"params":{"requestedSchema":{"type":"object","properties":{"a":{"type":"object"}}}}}"#,
        r#"{"params":{"mode":"telepathy"}}"#,
        r#"{"kind":"url","params":{"url":"https://github.com@evil.example/"}}"#,
    ] {
        let asked = call(&host, "peer/ask", arguments).await.unwrap();
        assert!(asked.to_text().contains("decline"), "{}", asked.to_text());
        told.push(warning(&mut events).await);
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    asks what cannot be put to a person: the field `a` cannot be shown in a form: it is an object of its own; it was declined
    asks what cannot be put to a person: a question of the unknown mode "telepathy"; it was declined
    asks what cannot be put to a person: the URL has a user name before its host, as if it led elsewhere; it leads to evil.example; it was declined
    "#);
    assert!(person.0.lock().unwrap().is_empty());
    host.shutdown().await;
}

/// A call that is refused until the person has been to a page is made once more after the person said yes.
#[tokio::test]
async fn a_page_before_a_call() {
    let person = Person(Arc::default(), ElicitationAnswer::Accept(None));
    let host = builder([stdio("peer", &Scenario::legacy())]).elicitor(person.clone()).start().await.unwrap();
    let called = call(&host, "peer/ask", r#"{"kind":"url_error"}"#).await.unwrap();
    assert!(!called.outcome.is_error());
    assert_eq!(person.0.lock().unwrap()[0].member_str("url").as_deref(), Some("https://example.com/connect"));
    host.shutdown().await;

    let nobody = Person(Arc::default(), ElicitationAnswer::Decline);
    let host = builder([stdio("peer", &Scenario::legacy())]).elicitor(nobody.clone()).start().await.unwrap();
    let refused = call(&host, "peer/ask", r#"{"kind":"url_error"}"#).await.unwrap_err();
    insta::assert_snapshot!(shown(&refused), @r"
    DENIED: the server `peer` does not go on before a page is visited: example.com was not opened
      hint: run it at a terminal to be asked; the page is https://example.com/connect
    ");
    assert_eq!(nobody.0.lock().unwrap().len(), 1);
    host.shutdown().await;

    // One that wants it again and again is asked about once.
    let stubborn = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{\"code\":-32042,\"message\":\"Again\",\"data\":\
        {\"elicitations\":[{\"mode\":\"url\",\"message\":\"Go\",\"url\":\"https://example.com/\",\"elicitationId\":\"1\"}]}}}\n";
    let person = Person(Arc::default(), ElicitationAnswer::Accept(None));
    let scenario = Scenario::legacy().scripted("tools/call", stubborn);
    let host = builder([stdio("peer", &scenario)]).elicitor(person.clone()).start().await.unwrap();
    let refused = call(&host, "peer/echo", "{}").await.unwrap_err();
    assert_eq!(refused.rpc().map(|rpc| rpc.code), Some(-32042), "{refused:?}");
    assert_eq!(person.0.lock().unwrap().len(), 1);

    // A form is not a page.
    let form = stubborn
        .replace("\"mode\":\"url\"", "\"mode\":\"form\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}");
    let scenario = Scenario::legacy().scripted("tools/call", &form);
    let host = builder([stdio("peer", &scenario)]).elicitor(person.clone()).start().await.unwrap();
    let refused = call(&host, "peer/echo", "{}").await.unwrap_err();
    insta::assert_snapshot!(shown(&refused), @"DENIED: the server `peer` does not go on before a page is visited: it asks for something else than a page");
    assert_eq!(person.0.lock().unwrap().len(), 1);
    host.shutdown().await;
}

struct Here;

impl RootsProvider for Here {
    fn roots(&self, _: &ServerName) -> Vec<Root> {
        vec![Root { uri: "file:///srv/project".to_owned(), name: None }]
    }
}

/// A server that asks for its directories knows them before it is called, though it asks after its tools were listed.
#[tokio::test]
async fn directories_are_told_before_the_first_call() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record");
    let listed = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}}]}}\n\
        {\"jsonrpc\":\"2.0\",\"id\":\"directories\",\"method\":\"roots/list\"}\n";
    let scenario = Scenario::legacy().scripted("tools/list", listed).record_to(&record);
    let host = builder([stdio("peer", &scenario)]).roots(Here).start().await.unwrap();
    drop(call(&host, "peer/echo", "{}").await.unwrap());
    host.shutdown().await;
    let messages = Recording::load(&record).unwrap().messages();
    let told = messages.iter().position(|message| message["id"] == "directories").unwrap();
    let called = messages.iter().position(|message| message["method"] == "tools/call").unwrap();
    assert!(told < called, "{messages:?}");
    assert_eq!(messages[told]["result"]["roots"][0]["uri"], "file:///srv/project");
}

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn servers_hear_that_the_directories_are_others() {
    let server = Scenario::legacy().serve_http().await.unwrap();
    let host = builder([http("peer", server.url())]).roots(Here).start().await.unwrap();
    assert!(host.settled(PATIENCE).await);
    host.roots_changed().await;
    drop(server.recorder().wait_for_method("notifications/roots/list_changed", 1, PATIENCE).await.unwrap());
    let greeted = server.recorder().recording().messages();
    let initialize = greeted.iter().find(|message| message["method"] == "initialize").unwrap();
    assert_eq!(initialize["params"]["capabilities"]["roots"]["listChanged"], true);
    host.shutdown().await;
}
