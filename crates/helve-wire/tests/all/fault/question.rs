//! What a peer asks: what it was not offered is refused, too much at once as well, and nobody waits for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use helve_model::CallKind;
use helve_model::json::RawJson;
use helve_testkit::{RecordedEvent, Scenario};
use helve_wire::{
    BoxFuture, CallOptions, ClientCapabilities, ConnectOptions, Limits, PeerHandler, PeerQuestion, Result, RpcError,
    Times, connect_stream,
};
use tokio::sync::Semaphore;

use crate::hand::Hand;
use crate::support::*;

/// Answers when it is let.
struct Waiting {
    turns: Semaphore,
    dropped: Arc<AtomicBool>,
}

struct OnDrop(Arc<AtomicBool>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl PeerHandler for Waiting {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities { roots: true, ..ClientCapabilities::default() }
    }

    fn question(&self, _question: PeerQuestion) -> BoxFuture<'_, Result<RawJson, RpcError>> {
        let on_drop = OnDrop(Arc::clone(&self.dropped));
        Box::pin(async move {
            self.turns.acquire().await.unwrap().forget();
            drop(on_drop);
            Ok(RawJson::from_static(r#"{"roots":[]}"#))
        })
    }
}

fn waiting(limits: Limits) -> (Arc<Waiting>, ConnectOptions) {
    let waiting = Arc::new(Waiting { turns: Semaphore::new(0), dropped: Arc::default() });
    let handler = Arc::clone(&waiting) as Arc<dyn PeerHandler>;
    (
        waiting,
        options().with(|options| {
            options.handler = handler;
            options.limits = limits;
        }),
    )
}

#[tokio::test]
async fn what_was_not_offered_is_refused() {
    let peer = Scenario::legacy().in_process();
    let session = connect_stream(peer.stream, options()).await.unwrap();
    for kind in ["form", "url", "sampling", "roots"] {
        call(&session, "ask", &format!(r#"{{"kind":"{kind}"}}"#)).await.unwrap();
    }
    let answered: Vec<(String, i64)> = peer
        .recorder
        .recording()
        .entries
        .into_iter()
        .filter_map(|entry| match entry {
            RecordedEvent::Answered { method, answer } => Some((method, answer["error"]["code"].as_i64().unwrap())),
            _ => None,
        })
        .collect();
    let refused = |method: &str| (method.to_owned(), -32601);
    assert_eq!(
        answered,
        [
            refused("elicitation/create"),
            refused("elicitation/create"),
            refused("sampling/createMessage"),
            refused("roots/list")
        ]
    );
    // A method that no client has.
    let (_session, mut hand) = Hand::legacy(options()).await;
    hand.ask(r#""a""#, "secrets/list").await;
    let answer = hand.read().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&"a".into(), &(-32601).into()));
}

/// A person takes longer for a form than a server may for an answer: only the server's time counts.
#[tokio::test(start_paused = true)]
async fn time_for_an_answer_of_ours_is_not_the_servers() {
    let (person, options) = waiting(Limits::default());
    let peer = Scenario::legacy().in_process();
    let session = connect_stream(peer.stream, options).await.unwrap();
    let times = Times { idle: Duration::from_secs(30), total: Duration::from_secs(3_600) };
    let permit = permit(CallKind::Tool, "ask", r#"{"kind":"roots"}"#);
    let asking = session.call_tool(&permit, CallOptions::default().with(|options| options.times = times));
    let answering = async {
        tokio::time::sleep(Duration::from_secs(600)).await;
        person.turns.add_permits(1);
    };
    let (asked, ()) = tokio::join!(asking, answering);
    asked.unwrap();
    // With nothing to answer, it is the server's again.
    let permit = self::permit(CallKind::Tool, "sleep", r#"{"ms":60000}"#);
    let late =
        session.call_tool(&permit, CallOptions::default().with(|options| options.times = times)).await.unwrap_err();
    assert_eq!(late.code(), helve_model::ErrorCode::Timeout);
}

/// In the modern era an offer is part of each request; a server that asks for more has no answer to hope for.
#[tokio::test]
async fn what_was_not_offered_fails_a_modern_call() {
    let error = {
        let session = in_process(&Scenario::modern(), options()).await.unwrap();
        call(&session, "ask", r#"{"kind":"form"}"#).await.unwrap_err()
    };
    assert_eq!(error.rpc().unwrap().code, -32021, "the peer sees that it may not ask");
    let frame = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"q\":{\"method\":\"sampling/createMessage\",\"params\":{}}}}}\n";
    let session = in_process(&Scenario::modern().scripted("tools/call", frame), options()).await.unwrap();
    insta::assert_snapshot!(shown(&call(&session, "any", "{}").await.unwrap_err()), @r"
    PROTOCOL_ERROR: the server's result asks for `sampling/createMessage`, which it was not offered
      hint: the server does not follow the protocol; report it to its authors
      may have run
    ");
}

#[tokio::test]
async fn broken_questions_fail_the_call_that_asks() {
    let asked = async |result: &str| {
        let frame =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{{\"resultType\":\"input_required\"{result}}}}}\n");
        let listener = Arc::new(Listener::default());
        let session =
            in_process(&Scenario::modern().scripted("tools/call", &frame), listening(&listener)).await.unwrap();
        shown(&call(&session, "any", "{}").await.unwrap_err())
    };
    insta::assert_snapshot!(asked("").await, @r"
    PROTOCOL_ERROR: the server's result asks for input but says neither which nor in which state
      hint: the server does not follow the protocol; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(asked(r#","inputRequests":[]"#).await, @r"
    PROTOCOL_ERROR: the server's result asks in a form that is not an object
      hint: the server does not follow the protocol; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(asked(r#","inputRequests":{"a":nonsense b}"#).await, @r"
    PROTOCOL_ERROR: the server's result asks something without a method
      hint: the server does not follow the protocol; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(asked(r#","inputRequests":{"a":7}"#).await, @r"
    PROTOCOL_ERROR: the server's result asks something without a method
      hint: the server does not follow the protocol; report it to its authors
      may have run
    ");
}

/// A person may refuse; the call says so.
#[tokio::test]
async fn a_refused_question_fails_a_modern_call() {
    struct Refusing;
    impl PeerHandler for Refusing {
        fn capabilities(&self) -> ClientCapabilities {
            ClientCapabilities { elicitation_form: true, ..ClientCapabilities::default() }
        }
        fn question(&self, _question: PeerQuestion) -> BoxFuture<'_, Result<RawJson, RpcError>> {
            Box::pin(async { Err(RpcError { code: -1, message: "the person is out".into(), data: None }) })
        }
    }
    let session =
        in_process(&Scenario::modern(), options().with(|options| options.handler = Arc::new(Refusing))).await.unwrap();
    insta::assert_snapshot!(shown(&call(&session, "ask", "{}").await.unwrap_err()), @r"
    DENIED: the server asked for `elicitation/create` and was refused
      because: the person is out (-1)
      may have run
    ");
    assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
}

#[tokio::test]
async fn only_so_many_questions_at_once() {
    let (waiting, options) = waiting(Limits { questions_in_flight: 2, ..Limits::default() });
    let (_session, mut hand) = Hand::legacy(options).await;
    for id in ["1", "2", r#""three""#] {
        hand.ask(id, "roots/list").await;
    }
    let refused = hand.read().await;
    assert_eq!(refused["id"], "three");
    insta::assert_snapshot!(refused["error"], @r#"{"code":-32000,"message":"too many questions at once"}"#);
    waiting.turns.add_permits(2);
    let mut answered = [hand.read().await["id"].as_u64().unwrap(), hand.read().await["id"].as_u64().unwrap()];
    answered.sort_unstable();
    assert_eq!(answered, [1, 2]);
    // There is room again.
    hand.ask("4", "roots/list").await;
    waiting.turns.add_permits(1);
    assert_eq!(hand.read().await["id"], 4);
}

/// A question whose asker is gone is nobody's question any more.
#[tokio::test]
async fn questions_end_with_their_connection() {
    for close in [true, false] {
        let (waiting, options) = waiting(Limits::default());
        let (session, mut hand) = Hand::legacy(options).await;
        hand.ask("1", "roots/list").await;
        eventually("it is asked", || Arc::strong_count(&waiting.dropped) > 1).await;
        if close {
            session.close().await;
        } else {
            drop(hand);
            session.ended().await;
        }
        eventually("the question is withdrawn", || waiting.dropped.load(Ordering::Relaxed)).await;
    }
}

/// A bug of ours: it ends the connection, and with it everything that waits, instead of leaving it waiting.
#[tokio::test]
async fn a_handler_that_panics() {
    struct Panicking;
    impl PeerHandler for Panicking {
        fn notification(&self, _notification: helve_wire::Notification) {
            panic!("on purpose");
        }
    }
    let session =
        in_process(&Scenario::legacy(), options().with(|options| options.handler = Arc::new(Panicking))).await.unwrap();
    let error = call(&session, "log", r#"{"level":"error"}"#).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    TRANSPORT_ERROR: the connection ended
      may have run
    ");
    assert_eq!(session.ended().await.code(), helve_model::ErrorCode::TransportError);
}

#[tokio::test]
async fn a_ping_is_answered_in_the_legacy_era() {
    let (_session, mut hand) = Hand::legacy(options()).await;
    for id in ["1", r#""p-1""#, "null", "1.50"] {
        hand.ask(id, "ping").await;
        let answer = hand.read().await;
        assert_eq!(answer["id"], serde_json::from_str::<serde_json::Value>(id).unwrap());
        assert_eq!(answer["result"], serde_json::json!({}));
    }
}

/// A modern server must not ask, and a modern client must not answer.
#[tokio::test]
async fn nothing_is_answered_in_the_modern_era() {
    let listener = Arc::new(Listener::default());
    let (session, mut hand) = Hand::modern(listening(&listener)).await;
    for method in ["ping", "roots/list", "sampling/createMessage", "elicitation/create", "secrets/list"] {
        hand.ask("7", method).await;
    }
    // Whatever was written would come before this.
    let last = tokio::spawn({
        let session = session.clone();
        async move { call(&session, "last", "{}").await }
    });
    let id = hand.request("tools/call").await;
    hand.answer(id, "{}").await;
    assert!(last.await.unwrap().is_ok());
    assert_eq!(listener.asked.lock().unwrap().len(), 0);
    assert_eq!(session.diagnostics().unmatched, 5);
}

#[tokio::test]
async fn the_state_of_a_request_comes_back_byte_for_byte() {
    let listener = Arc::new(Listener::default());
    let peer = Scenario::modern().in_process();
    let session = connect_stream(peer.stream, listening(&listener)).await.unwrap();
    call(&session, "ask", r#"{"kind":"mixed","rounds":5}"#).await.unwrap();
    call(&session, "ask", r#"{"rounds":3,"state_only":true}"#).await.unwrap();
    call(&session, "ask", r#"{"rounds":2,"no_state":true}"#).await.unwrap();
    let entries = peer.recorder.recording().entries;
    let states = entries.iter().filter(|entry| matches!(entry, RecordedEvent::RequestState { .. })).count();
    let exact = RecordedEvent::RequestState { same_value: true, same_bytes: true };
    assert_eq!((states, entries.iter().filter(|entry| **entry == exact).count()), (8, 8));
    assert_eq!(peer.recorder.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_that_asks_in_circles() {
    let listener = Arc::new(Listener::default());
    let limits = Limits { rounds: 3, ..Limits::default() };
    let peer = Scenario::modern().in_process();
    let session =
        connect_stream(peer.stream, listening(&listener).with(|options| options.limits = limits)).await.unwrap();
    assert!(!call(&session, "ask", r#"{"rounds":3}"#).await.unwrap().is_error());
    listener.asked.lock().unwrap().clear();
    let error = call(&session, "ask", r#"{"rounds":1000}"#).await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r"
    LIMIT_EXCEEDED: the server asked for input more than 3 times in one call
      hint: the server may be asking in circles; raise the limit `rounds` if it is not
      may have run
    ");
    assert_eq!(listener.asked.lock().unwrap().len(), 3, "a person is not bothered with a question too many");
    assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
}
