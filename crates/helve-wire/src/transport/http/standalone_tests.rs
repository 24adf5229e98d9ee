//! The stream on which a legacy server speaks unasked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::tests::{Client, Era, event};
use super::*;
use crate::transport::http::fake::{Fake, Reply, accepted, answer, json, result};

#[tokio::test]
async fn a_server_without_one() {
    for status in ["405 Method Not Allowed", "404 Not Found", "400 Bad Request"] {
        let server = Fake::answering(move |seen| match seen.verb.as_str() {
            "GET" => answer(status, "content-type: application/json\r\n", r#"{"error":{"code":-32700,"message":"x"}}"#),
            _ => json(&result(seen.id())),
        })
        .await;
        let client = Client::new(&server.url, Era::Legacy);
        assert!(!client.link.open_stream().await);
        client.call().await.unwrap();
        assert_eq!(server.seen().len(), 2);
    }
}

#[tokio::test]
async fn a_modern_server_is_not_asked_for_one() {
    let server = Fake::answering(|_| accepted()).await;
    assert!(!Client::new(&server.url, Era::Modern).link.open_stream().await);
    assert_eq!(server.seen().len(), 0);
}

/// Both the question of a call and its answer come on the server's own stream; the stream of the POST stays silent.
#[tokio::test]
async fn questions_and_answers_on_it() {
    let (said, hears) = tokio::sync::watch::channel(String::new());
    let server = Fake::start(move |seen, mut reply| {
        let (said, mut hears) = (said.clone(), hears.clone());
        async move {
            if seen.verb == "GET" {
                reply.begin_events().await;
                while reply.is_open() {
                    hears.changed().await.unwrap();
                    let message = hears.borrow_and_update().clone();
                    reply.chunk(&event(&message)).await;
                }
            } else if seen.is("tools/call") {
                reply.begin_events().await;
                said.send_replace(r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}"#.into());
                reply.closed().await;
            } else {
                reply.write(accepted()).await;
                said.send_replace(result(1));
            }
            reply
        }
    })
    .await;
    let client = Client::new(&server.url, Era::Legacy);
    client.in_session("s1");
    assert!(client.link.open_stream().await);
    client.call().await.unwrap();
    assert_eq!(lock(&client.recorder.asked)[0].during, None);
    let seen = server.seen();
    assert_eq!(seen[0].header("mcp-session-id"), Some("s1"));
    assert_eq!(seen[0].header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(seen[2].body, r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#);
}

#[tokio::test]
async fn it_is_opened_again_where_it_broke_off() {
    let opened = Arc::new(AtomicUsize::new(0));
    let server = Fake::start(move |_, mut reply| {
        let number = opened.fetch_add(1, Ordering::SeqCst);
        async move {
            reply.begin_events().await;
            let notification = event(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#);
            reply.chunk(&format!("retry: 60\nid: {number}\n{notification}")).await;
            match number {
                0 => reply.end_events().await,
                1 => reply.reset(),
                _ => return std::future::pending::<Reply>().await,
            }
            reply
        }
    })
    .await;
    let client = Client::new(&server.url, Era::Legacy);
    assert!(client.link.open_stream().await);
    server.wait_for(|seen| seen.header("last-event-id") == Some("1")).await;
    let seen = server.seen();
    let ids: Vec<Option<&str>> = seen.iter().map(|seen| seen.header("last-event-id")).collect();
    assert_eq!(ids, [None, Some("0"), Some("1")]);
    assert!(seen[1].at - seen[0].at >= Duration::from_millis(60), "the server asked for patience");
}

#[test]
fn patience_grows_with_every_failure() {
    let shown = |retry: Option<u64>| {
        let delays =
            (0..standalone::FAILURES).map(|failures| standalone::delay(retry.map(Duration::from_millis), failures));
        delays.map(|delay| format!("{}", delay.as_secs_f64())).collect::<Vec<_>>().join(" ")
    };
    insta::assert_snapshot!(shown(None), @"0.5 0.5 1 2 4 8 16 30 30 30");
    insta::assert_snapshot!(shown(Some(0)), @"0.05 0.05 0.1 0.2 0.4 0.8 1.6 3.2 6.4 12.8");
    insta::assert_snapshot!(shown(Some(90_000)), @"90 90 90 90 90 90 90 90 90 90");
}

#[tokio::test]
async fn closing_ends_it() {
    let (closed, mut was_closed) = tokio::sync::watch::channel(false);
    let server = Fake::start(move |_, mut reply| {
        let closed = closed.clone();
        async move {
            reply.begin_events().await;
            reply.closed().await;
            closed.send_replace(true);
            reply
        }
    })
    .await;
    let client = Client::new(&server.url, Era::Legacy);
    assert!(client.link.open_stream().await);
    client.link.close().await;
    was_closed.wait_for(|closed| *closed).await.unwrap();
    assert_eq!(server.connections(), 1);
}
