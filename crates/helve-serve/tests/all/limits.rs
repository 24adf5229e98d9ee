//! What one principal can cost another: nothing. And what it hears when it holds as much as it may.

use std::sync::Arc;

use helve_model::Action;
use helve_serve::Limits;
use helve_serve::face::http::Body;
use helve_testkit::Scenario;
use http::Response;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::http_agent::{HttpAgent, Messages};
use crate::support::{agent_of, call, everything, rule, ruled, serve, stdio_server};

fn hanging() -> Value {
    call("one__sleep", json!({"ms": 600_000}))
}

/// Calls of this session that hang.
fn hang(agent: &Arc<HttpAgent>, count: u64) -> Vec<JoinHandle<Response<Body>>> {
    let one = |id: u64| {
        let agent = Arc::clone(agent);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": hanging()});
        tokio::spawn(async move { agent.post(&message, &[]).await })
    };
    (1..=count).map(one).collect()
}

async fn all(tasks: Vec<JoinHandle<Response<Body>>>) -> Vec<Response<Body>> {
    let mut responses = Vec::new();
    for task in tasks {
        responses.push(task.await.unwrap());
    }
    responses
}

#[tokio::test]
async fn s8_hanging_calls_of_one_leave_room_for_another() {
    let one = stdio_server("one", &Scenario::modern());
    let (gateway, face) = serve(ruled(vec![one], vec![]), Limits::default()).await;
    let mut open = Vec::new();
    for _ in 0..5 {
        let mut session = agent_of(&face, 1000);
        session.initialize(json!({})).await;
        open.extend(hang(&Arc::new(session), 20));
    }
    // Streams of those that got a turn; those that got none have been refused by then.
    let open = all(open).await;
    let mut quiet = agent_of(&face, 1001);
    quiet.initialize(json!({})).await;
    for id in 1..20 {
        let (echoed, _) = quiet.ask(id, "tools/call", call("one__echo", json!({"x": id}))).await;
        assert_eq!(echoed["result"]["structuredContent"], json!({"x": id}), "{echoed}");
    }
    // Another session of the same principal is refused, not left waiting: the principal has all it may have.
    let mut sibling = agent_of(&face, 1000);
    sibling.initialize(json!({})).await;
    let (refused, _) = sibling.ask(1, "tools/call", call("one__echo", json!({}))).await;
    insta::assert_snapshot!(refused["error"], @r#"{"code":-32000,"data":{"code":"LIMIT_EXCEEDED","error":"the same user or token has as many calls on their way to this server as it may have","hints":[],"limit":"serverCalls","retryAfterMs":1000,"server":"one","tool":"echo"},"message":"the same user or token has as many calls on their way to this server as it may have"}"#);
    drop(open);
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn s8_one_session_leaves_room_for_others_of_its_principal() {
    let one = stdio_server("one", &Scenario::modern());
    let (gateway, face) = serve(ruled(vec![one], vec![]), Limits::default()).await;
    let mut greedy = agent_of(&face, 1000);
    greedy.initialize(json!({})).await;
    let open = all(hang(&Arc::new(greedy), 60)).await;
    let mut sibling = agent_of(&face, 1000);
    sibling.initialize(json!({})).await;
    let (echoed, _) = sibling.ask(1, "tools/call", call("one__echo", json!({"x": 1}))).await;
    assert_eq!(echoed["result"]["structuredContent"], json!({"x": 1}), "{echoed}");
    drop(open);
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn s8_sessions_of_one_never_keep_another_out() {
    let limits = Limits { sessions: 100, sessions_per_principal: 50, ..Limits::default() };
    let one = stdio_server("one", &Scenario::modern());
    let (gateway, face) = serve(ruled(vec![one], vec![]), limits).await;
    let mut early = agent_of(&face, 1001);
    early.initialize(json!({})).await;
    for _ in 0..300 {
        agent_of(&face, 1000).initialize(json!({})).await;
    }
    assert_eq!(face.sessions(), 51);
    let mut late = agent_of(&face, 1001);
    late.initialize(json!({})).await;
    for quiet in [&early, &late] {
        let (echoed, _) = quiet.ask(1, "tools/call", call("one__echo", json!({"x": 1}))).await;
        assert_eq!(echoed["result"]["structuredContent"], json!({"x": 1}), "{echoed}");
    }
    gateway.host().shutdown().await;
}

/// Every session of the principal is in use: the next one is refused, with when to try again.
#[tokio::test]
async fn s8_a_refused_session_hears_when_to_try_again() {
    let limits = Limits { sessions_per_principal: 1, ..Limits::default() };
    let one = stdio_server("one", &Scenario::modern());
    let (gateway, face) = serve(ruled(vec![one], vec![]), limits).await;
    let mut busy = agent_of(&face, 1000);
    busy.initialize(json!({})).await;
    let stream = busy.get(&[]).await;
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}});
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": params});
    let refused = agent_of(&face, 1000).post(&message, &[]).await;
    assert_eq!((refused.status().as_u16(), &refused.headers()["retry-after"]), (429, &"1".parse().unwrap()));
    let refused = Messages::new(refused).next().await.unwrap();
    insta::assert_snapshot!(refused, @r#"{"error":{"code":-32000,"data":{"code":"LIMIT_EXCEEDED","error":"the same user or token has as many sessions as it may have","hints":[],"limit":"sessions","retryAfterMs":1000},"message":"the same user or token has as many sessions as it may have"},"id":7,"jsonrpc":"2.0"}"#);
    agent_of(&face, 1001).initialize(json!({})).await;
    drop(stream);
    agent_of(&face, 1000).initialize(json!({})).await;
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn s22_parked_calls_of_one_count_for_nobody_else() {
    let mut one = stdio_server("one", &Scenario::legacy());
    one.shared = Some(true);
    let limits = Limits { parked_calls: 8, ..Limits::default() };
    let (gateway, face) = serve(ruled(vec![one], vec![rule("one/echo", Action::Ask, None)]), limits).await;
    let (greedy, quiet) = (agent_of(&face, 1000), agent_of(&face, 1001));
    let echo = call("one__echo", json!({"x": 1}));
    for id in 0..8 {
        let (asked, _) = greedy.modern(id, "tools/call", echo.clone(), &everything()).await;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    }
    let (refused, _) = greedy.modern(9, "tools/call", echo.clone(), &everything()).await;
    insta::assert_snapshot!(refused["error"], @r#"{"code":-32000,"data":{"code":"LIMIT_EXCEEDED","error":"the same user or token has as many calls waiting for an answer as it may have","hints":[],"limit":"parkedCalls","retryAfterMs":1000},"message":"the same user or token has as many calls waiting for an answer as it may have"}"#);
    let (asked, _) = quiet.modern(1, "tools/call", echo, &everything()).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    gateway.host().shutdown().await;
}

/// S22: what calls say that wait for an answer is counted in bytes, for each principal.
#[tokio::test]
async fn s22_calls_that_wait_are_bounded_in_bytes() {
    let mut one = stdio_server("one", &Scenario::legacy());
    one.shared = Some(true);
    let limits = Limits { parked_bytes: 1 << 20, ..Limits::default() };
    let (gateway, face) = serve(ruled(vec![one], vec![rule("one/echo", Action::Ask, None)]), limits).await;
    let (greedy, quiet) = (agent_of(&face, 1000), agent_of(&face, 1001));
    let echo = call("one__echo", json!({"x": "x".repeat(300_000)}));
    let mut states = Vec::new();
    for id in 0..3 {
        let (asked, _) = greedy.modern(id, "tools/call", echo.clone(), &everything()).await;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        states.push(asked["result"]["requestState"].clone());
    }
    let (refused, _) = greedy.modern(9, "tools/call", echo.clone(), &everything()).await;
    assert_eq!(refused["error"]["data"]["limit"], "parkedBytes", "{refused}");
    let (asked, _) = quiet.modern(1, "tools/call", echo.clone(), &everything()).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    // One that is gone on with makes room.
    let mut again = echo.clone();
    again["requestState"] = states.remove(0);
    again["inputResponses"] = json!({"question-1": {"action": "decline"}});
    greedy.modern(10, "tools/call", again, &everything()).await;
    let (asked, _) = greedy.modern(11, "tools/call", echo, &everything()).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    gateway.host().shutdown().await;
}

#[tokio::test]
async fn s22_unanswered_forms_stop_no_allowed_tool() {
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let mut one = stdio_server("one", &scenario);
        one.shared = Some(true);
        let source = ruled(vec![one], vec![rule("one/echo", Action::Ask, None)]);
        let (gateway, face) = serve(source, Limits::default()).await;
        let agent = agent_of(&face, 1000);
        for id in 0..100 {
            let (asked, _) = agent.modern(id, "tools/call", call("one__echo", json!({"x": id})), &everything()).await;
            assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        }
        let mut session = agent_of(&face, 1000);
        session.initialize(everything()).await;
        let session = Arc::new(session);
        let mut forms = Vec::new();
        for id in 1..=100 {
            let params = call("one__echo", json!({"x": id}));
            let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            let mut messages = Messages::new(session.post(&message, &[]).await);
            let mut first = messages.next().await.unwrap();
            // Once it is told that the server, which all agents share, cannot ask it anything.
            if first["method"] == "notifications/message" {
                first = messages.next().await.unwrap();
            }
            assert_eq!(first["method"], "elicitation/create");
            forms.push(messages);
        }
        let (allowed, _) = session.ask(900, "tools/call", call("one__fail", json!({"message": "no"}))).await;
        assert_eq!(allowed["result"]["isError"], true, "{allowed}");
        let (allowed, _) =
            agent.modern(901, "tools/call", call("one__fail", json!({"message": "no"})), &everything()).await;
        assert_eq!(allowed["result"]["isError"], true, "{allowed}");
        drop(forms);
        gateway.host().shutdown().await;
    }
}

/// Answers that nobody reads count for whoever asked for them, and for nobody else.
#[tokio::test]
async fn s8_unread_answers_are_bounded_for_each_principal() {
    let limits = Limits { unread_bytes: 1 << 20, ..Limits::default() };
    let one = stdio_server("one", &Scenario::modern());
    let (gateway, face) = serve(ruled(vec![one], vec![]), limits).await;
    let (greedy, quiet) = (agent_of(&face, 1000), agent_of(&face, 1001));
    let large = call("one__echo", json!({"x": "x".repeat(300_000)}));
    let mut unread = Vec::new();
    for id in 0..2 {
        // Twice in the result: as text and as structured content.
        unread.push(greedy.modern_response(id, "tools/call", large.clone(), &json!({})).await);
    }
    let refused = Messages::new(unread.pop().unwrap()).next().await.unwrap();
    assert_eq!(refused["error"]["data"]["limit"], "answerBytes", "{refused}");
    let (small, _) = greedy.modern(4, "tools/call", call("one__echo", json!({"x": 1})), &json!({})).await;
    assert_eq!(small["result"]["structuredContent"], json!({"x": 1}), "{small}");
    let (other, _) = quiet.modern(5, "tools/call", large.clone(), &json!({})).await;
    assert!(other["result"]["structuredContent"].is_object(), "{other}");
    // Read, they count no longer.
    for response in unread {
        assert!(Messages::new(response).next().await.unwrap()["result"].is_object());
    }
    let (again, _) = greedy.modern(6, "tools/call", large, &json!({})).await;
    assert!(again["result"]["structuredContent"].is_object(), "{again}");
    gateway.host().shutdown().await;
}

/// Large requests count for whoever sends them until they are answered.
#[tokio::test]
async fn s8_bytes_of_requests_are_bounded_for_each_principal() {
    let limits = Limits { request_bytes: 1 << 20, ..Limits::default() };
    let one = stdio_server("one", &Scenario::modern());
    let (gateway, face) = serve(ruled(vec![one], vec![]), limits).await;
    let (greedy, quiet) = (agent_of(&face, 1000), agent_of(&face, 1001));
    let sleep = call("one__sleep", json!({"ms": 600_000, "x": "x".repeat(400_000)}));
    let mut open = Vec::new();
    for id in 0..2 {
        open.push(greedy.modern_response(id, "tools/call", sleep.clone(), &json!({})).await);
    }
    let refused = greedy.modern_response(2, "tools/call", sleep.clone(), &json!({})).await;
    assert_eq!((refused.status().as_u16(), &refused.headers()["retry-after"]), (429, &"1".parse().unwrap()));
    let refused = Messages::new(refused).next().await.unwrap();
    assert_eq!(refused["error"]["data"]["limit"], "requestBytes", "{refused}");
    let large = call("one__echo", json!({"x": "x".repeat(400_000)}));
    let (other, _) = quiet.modern(3, "tools/call", large.clone(), &json!({})).await;
    assert!(other["result"]["structuredContent"].is_object(), "{other}");
    drop(open);
    let (again, _) = greedy.modern(4, "tools/call", large, &json!({})).await;
    assert!(again["result"]["structuredContent"].is_object(), "{again}");
    gateway.host().shutdown().await;
}

/// A principal with as many busy connections as it may have is turned away on the next one; another is not.
#[tokio::test]
async fn s8_connections_of_one_leave_room_for_another() {
    let limits = Limits { connections: 8, ..Limits::default() };
    let one = stdio_server("one", &Scenario::modern());
    let (gateway, face) = serve(ruled(vec![one], vec![]), limits).await;
    let come = |user: u32, connection: u64| {
        let mut agent = agent_of(&face, user);
        agent.peer.connection = connection;
        let place = face.connected(agent.peer);
        (agent, place)
    };
    let mut open = Vec::new();
    for connection in 0..4 {
        let (agent, place) = come(1000, connection);
        let listen = json!({"notifications": {"toolsListChanged": true}});
        open.push((agent.modern_response(1, "subscriptions/listen", listen, &json!({})).await, place));
    }
    let (next, _place) = come(1000, 4);
    let refused = next.modern_response(1, "tools/list", json!({}), &json!({})).await;
    assert_eq!((refused.status().as_u16(), &refused.headers()["connection"]), (429, &"close".parse().unwrap()));
    let (quiet, _quiet_place) = come(1001, 5);
    let (listed, _) = quiet.modern(1, "tools/list", json!({}), &json!({})).await;
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    drop(open);
    let (again, _) = next.modern(2, "tools/list", json!({}), &json!({})).await;
    assert!(again["result"]["tools"].is_array(), "{again}");
    gateway.host().shutdown().await;
}
