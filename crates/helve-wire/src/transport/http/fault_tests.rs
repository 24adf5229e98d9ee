//! Servers that refuse, babble, break off, flood or lie over HTTP: each costs its own call an error that says what to do,
//! and the next call works.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};

use super::tests::{Client, Era, event, progress, shown};
use super::*;
use crate::Error;
use crate::handler::BoxFuture;
use crate::transport::http::fake::{EVENTS_HEAD, Fake, PATIENCE, accepted, answer, json, result};
use crate::transport::http::{AfterRefusal, HeaderSource, Outgoing, Refused};

async fn refusal_of(response: &'static str, era: Era) -> Error {
    let server = Fake::answering(move |_| response.to_owned()).await;
    Client::new(&server.url, era).call().await.unwrap_err()
}

#[tokio::test]
async fn credentials_are_asked_for() {
    let error = refusal_of(
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer resource_metadata=\"https://as.example/\"\r\ncontent-length: 0\r\n\r\n",
        Era::Modern,
    )
    .await;
    insta::assert_snapshot!(shown(&error), @r#"
    AUTH_REQUIRED (did not run): the server wants credentials: Bearer resource_metadata="https://as.example/"
    set its `Authorization` header
    "#);
    assert_eq!(error.challenge(), Some("Bearer resource_metadata=\"https://as.example/\""));
    let error = refusal_of("HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno", Era::Legacy).await;
    assert_eq!((error.challenge(), error.http_status()), (None, Some(401)));
    insta::assert_snapshot!(shown(&error), @"
    AUTH_REQUIRED (did not run): the server wants credentials and does not say which
    set the header this server authenticates with; its documentation names it
    ");
    let error = refusal_of(
        "HTTP/1.1 403 Forbidden\r\nWWW-Authenticate: Bearer error=\"insufficient_scope\"\r\ncontent-length: 0\r\n\r\n",
        Era::Modern,
    )
    .await;
    assert_eq!(error.challenge(), Some("Bearer error=\"insufficient_scope\""));
    insta::assert_snapshot!(shown(&error), @r#"
    AUTH_REQUIRED (did not run): the server refuses these credentials: Bearer error="insufficient_scope"
    log in again with the rights the server asks for
    "#);
}

/// A source of tokens that rotate.
#[derive(Default)]
struct Tokens {
    number: AtomicU64,
    asked: Mutex<Vec<String>>,
    challenges: Mutex<Vec<String>>,
    nonces: Mutex<Vec<String>>,
    has_more: bool,
}

impl HeaderSource for Tokens {
    fn headers<'a>(&'a self, request: Outgoing<'a>) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>>> {
        lock(&self.asked).push(format!("{} {}", request.method, request.address.path()));
        let value = format!("Bearer {}", self.number.load(Ordering::SeqCst));
        Box::pin(async move { Ok(vec![(AUTHORIZATION, HeaderValue::from_str(&value).unwrap())]) })
    }

    fn refused<'a>(&'a self, refused: Refused<'a>) -> BoxFuture<'a, AfterRefusal> {
        let (_, sent) = refused.headers.first().unwrap();
        let told = format!(
            "{} {:?} after {} sent {:?}",
            refused.status.as_u16(),
            refused.challenge.unwrap_or_default(),
            refused.earlier,
            sent
        );
        self.number.fetch_add(1, Ordering::SeqCst);
        lock(&self.challenges).push(told);
        let next = if self.has_more { AfterRefusal::Repeat } else { AfterRefusal::Leave };
        Box::pin(std::future::ready(next))
    }

    fn nonce(&self, nonce: &HeaderValue) {
        lock(&self.nonces).push(nonce.to_str().unwrap().to_owned());
    }
}

#[tokio::test]
async fn a_source_of_headers_is_told_of_a_401_once() {
    let server = Fake::answering(|seen| match seen.header("authorization") {
        Some("Bearer 1") => json(&result(seen.id())),
        _ => answer("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "no"),
    })
    .await;
    let tokens = Arc::new(Tokens { has_more: true, ..Tokens::default() });
    let target = HttpTarget::new(&server.url).unwrap().with_header_source(Arc::clone(&tokens) as Arc<dyn HeaderSource>);
    let client = Client::with(target, Era::Modern, &Limits::default());
    client.call().await.unwrap();
    client.call().await.unwrap();
    assert_eq!(*lock(&tokens.challenges), [r#"401 "Bearer" after 0 sent "Bearer 0""#]);
    assert_eq!(*lock(&tokens.asked), ["POST /mcp", "POST /mcp", "POST /mcp"]);
    assert_eq!((server.seen().len(), server.connections()), (3, 1));

    tokens.number.store(7, Ordering::SeqCst);
    assert_eq!(client.call().await.unwrap_err().code(), ErrorCode::AuthRequired);
    assert_eq!(server.seen().len(), 7, "repeated three times, not for ever");
}

#[tokio::test]
async fn a_source_of_headers_is_told_of_missing_scopes_and_of_nonces() {
    let server = Fake::answering(|seen| match seen.header("authorization") {
        Some("Bearer 1") => json(&result(seen.id())),
        _ => answer(
            "403 Forbidden",
            "WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"w\"\r\nDPoP-Nonce: n1\r\n",
            "no",
        ),
    })
    .await;
    let tokens = Arc::new(Tokens { has_more: true, ..Tokens::default() });
    let target = HttpTarget::new(&server.url).unwrap().with_header_source(Arc::clone(&tokens) as Arc<dyn HeaderSource>);
    Client::with(target, Era::Modern, &Limits::default()).call().await.unwrap();
    assert_eq!(
        *lock(&tokens.challenges),
        [r#"403 "Bearer error=\"insufficient_scope\", scope=\"w\"" after 0 sent "Bearer 0""#]
    );
    assert_eq!(*lock(&tokens.nonces), ["n1"]);
}

#[tokio::test]
async fn a_source_of_headers_is_not_told_of_a_plain_403() {
    let server = Fake::answering(|_| answer("403 Forbidden", "", "no")).await;
    let tokens = Arc::new(Tokens { has_more: true, ..Tokens::default() });
    let target = HttpTarget::new(&server.url).unwrap().with_header_source(Arc::clone(&tokens) as Arc<dyn HeaderSource>);
    let error = Client::with(target, Era::Modern, &Limits::default()).call().await.unwrap_err();
    assert_eq!((error.code(), server.seen().len()), (ErrorCode::AuthRequired, 1));
    assert!(lock(&tokens.challenges).is_empty());
}

#[tokio::test]
async fn a_source_without_better_headers_ends_the_call() {
    let server = Fake::answering(|_| answer("401 Unauthorized", "", "")).await;
    let target = HttpTarget::new(&server.url).unwrap().with_header_source(Arc::new(Tokens::default()));
    let error = Client::with(target, Era::Modern, &Limits::default()).call().await.unwrap_err();
    assert_eq!((error.code(), server.seen().len()), (ErrorCode::AuthRequired, 1));
}

#[tokio::test]
async fn answers_of_another_kind() {
    let html = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: 47\r\n\r\n<html>\n  <h1>Sign \x1b[31min</h1>\u{202e} please</html>";
    insta::assert_snapshot!(shown(&refusal_of(html, Era::Modern).await), @"
    PROTOCOL_ERROR (may have run): the server did not answer with JSON or events (text/html; charset=utf-8): <html> <h1>Sign �[31min</h1>� please</html>
    check the server's address: this looks like another kind of server
    ");
    let crashed = "HTTP/1.1 500 Internal Server Error\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\noops";
    let error = refusal_of(crashed, Era::Legacy).await;
    assert_eq!(error.http_status(), Some(500));
    insta::assert_snapshot!(shown(&error), @"
    TRANSPORT_ERROR (may have run): the server answered 500 Internal Server Error (text/plain): oops
    look into the server's log
    ");
    let busy = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 30\r\ncontent-length: 0\r\n\r\n";
    insta::assert_snapshot!(shown(&refusal_of(busy, Era::Legacy).await), @"
    TRANSPORT_ERROR (may have run): the server answered 503 Service Unavailable (no content type, nothing to read)
    try again later (the server says: 30)
    ");
    let limited = "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n";
    insta::assert_snapshot!(shown(&refusal_of(limited, Era::Legacy).await), @"
    TRANSPORT_ERROR (did not run): the server answered 429 Too Many Requests (no content type, nothing to read)
    try again later
    ");
    let elsewhere = "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n";
    insta::assert_snapshot!(shown(&refusal_of(elsewhere, Era::Legacy).await), @"
    PROTOCOL_ERROR (did not run): the server answered 405 Method Not Allowed (no content type, nothing to read)
    check the path of the server's address, which often ends in /mcp
    ");
    let silent = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
    insta::assert_snapshot!(shown(&refusal_of(silent, Era::Legacy).await), @"
    PROTOCOL_ERROR (may have run): the server took the request (202 Accepted) but gave no answer
    the server does not follow the protocol; report it to its authors
    ");
    let empty = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 0\r\n\r\n";
    insta::assert_snapshot!(shown(&refusal_of(empty, Era::Legacy).await), @"
    PROTOCOL_ERROR (may have run): the server took the request (200 OK) but gave no answer
    the server does not follow the protocol; report it to its authors
    ");
    let broken = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n{\"a\":1}";
    insta::assert_snapshot!(shown(&refusal_of(broken, Era::Legacy).await), @r#"
    PROTOCOL_ERROR (may have run): the server's answer is not the one to this request: {"a":1}
    the server does not follow JSON-RPC 2.0; report it to its authors
    "#);
    let no_http = "SSH-2.0-OpenSSH_9.2\r\n";
    insta::assert_snapshot!(shown(&refusal_of(no_http, Era::Legacy).await), @"
    PROTOCOL_ERROR (may have run): the server does not speak HTTP
    check the server's address, and its port
    ");
}

#[tokio::test]
async fn refusals_in_the_words_of_the_peer() {
    for (status, id, era) in [
        ("400 Bad Request", "\"id\":null,", Era::Modern),
        ("400 Bad Request", "", Era::Legacy),
        ("500 Internal Server Error", "\"id\":1,", Era::Modern),
        ("404 Not Found", "\"id\":99,", Era::Modern),
    ] {
        let server = Fake::answering(move |_| {
            let body = format!(r#"{{{id}"error":{{"code":-32022,"message":"no","data":{{"supported":["x"]}}}}}}"#);
            answer(status, "content-type: application/json\r\n", &body)
        })
        .await;
        let error = Client::new(&server.url, era).call().await.unwrap_err();
        let refusal = error.rpc().unwrap_or_else(|| panic!("{status} {id}: {error}"));
        assert_eq!((refusal.code, refusal.message.as_str()), (-32022, "no"));
        assert_eq!(refusal.data.as_ref().unwrap().as_str(), r#"{"supported":["x"]}"#);
    }
}

#[tokio::test]
async fn what_is_answered_to_a_notification_is_swallowed() {
    let server = Fake::answering(|seen| match seen.id() {
        0 => json(r#"{"jsonrpc":"2.0","result":{}}"#),
        id => json(&result(id)),
    })
    .await;
    let client = Client::new(&server.url, Era::Legacy);
    for _ in 0..3 {
        client.link.notify(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_vec()).await.unwrap();
    }
    client.call().await.unwrap();
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_notification_to_a_modern_server_names_its_method() {
    let server = Fake::answering(|_| accepted()).await;
    let client = Client::new(&server.url, Era::Modern);
    client.link.notify(br#"{"jsonrpc":"2.0","method":"notifications/x"}"#.to_vec()).await.unwrap();
    assert_eq!(server.seen()[0].header("mcp-method"), Some("notifications/x"));
}

#[tokio::test]
async fn a_packed_answer_is_not_unpacked() {
    let written = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&written);
    let server = Fake::start(move |_, mut reply| {
        let count = Arc::clone(&count);
        async move {
            reply.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 99999999\r\n\r\n").await;
            while reply.is_open() && reply.written < 99_999_999 {
                reply.write([0_u8; 4096]).await;
            }
            count.store(reply.written, Ordering::SeqCst);
            reply
        }
    })
    .await;
    let error = Client::new(&server.url, Era::Modern).call().await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @"
    PROTOCOL_ERROR (may have run): the server's answer is packed with `gzip`, which was not asked for
    switch compression off at the server or at the proxy before it
    ");
}

/// Answers with a body without end, and tells how much of it was taken.
async fn flood(head: &'static str, line: &'static str, unit: String) -> (Error, u64) {
    let (written, mut was_written) = tokio::sync::watch::channel(None);
    let unit = Arc::new(unit);
    let server = Fake::start(move |seen, mut reply| {
        let (written, unit) = (written.clone(), Arc::clone(&unit));
        async move {
            if seen.id() > 1 {
                reply.write(json(&result(seen.id()))).await;
                return reply;
            }
            reply.write(head).await;
            reply.write(line).await;
            while reply.is_open() && reply.written < 512 << 20 {
                reply.write(unit.as_bytes()).await;
            }
            written.send_replace(Some(reply.written));
            reply
        }
    })
    .await;
    let limits = Limits { message_bytes: 1 << 20, event_bytes: 1 << 20, ..Limits::default() };
    let client = Client::with(HttpTarget::new(&server.url).unwrap(), Era::Modern, &limits);
    let error = client.call().await.unwrap_err();
    client.call().await.unwrap();
    let written =
        tokio::time::timeout(PATIENCE, was_written.wait_for(Option::is_some)).await.unwrap().unwrap().unwrap();
    (error, written)
}

#[tokio::test]
async fn bodies_over_the_limit_are_not_read() {
    let megabyte = "x".repeat(1 << 20);
    let in_chunks = format!("{:x}\r\n{megabyte}\r\n", megabyte.len());
    for (what, head, line, unit) in [
        (
            "announced",
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 536870912\r\n\r\n",
            "",
            megabyte.clone(),
        ),
        (
            "chunked",
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
            "",
            in_chunks.clone(),
        ),
        ("until closed", "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n", "", megabyte),
        ("one event", EVENTS_HEAD, "6\r\ndata: \r\n", in_chunks),
    ] {
        let (error, written) = flood(head, line, unit).await;
        assert_eq!(error.code(), ErrorCode::LimitExceeded, "{what}: {error}");
        assert!(error.may_have_run());
        // What the server could write is what we took, and what the sockets between us hold.
        assert!(written < 24 << 20, "{what}: {written} bytes were taken");
    }
}

#[tokio::test]
async fn an_event_over_the_limit_that_concerns_nobody_here_is_skipped() {
    let server = Fake::start(|seen, mut reply| async move {
        reply.begin_events().await;
        let other = format!(r#"{{"jsonrpc":"2.0","id":77,"result":{{"a":"{}"}}}}"#, "x".repeat(5_000));
        reply.chunk(&event(&other)).await;
        reply.chunk(&event(&result(seen.id()))).await;
        reply.end_events().await;
        reply
    })
    .await;
    let limits = Limits { event_bytes: 1_000, ..Limits::default() };
    Client::with(HttpTarget::new(&server.url).unwrap(), Era::Legacy, &limits).call().await.unwrap();
}

#[tokio::test]
async fn nobody_listens() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let error = Client::new(&url, Era::Modern).call().await.unwrap_err();
    let origin = url.trim_end_matches("/mcp");
    insta::assert_snapshot!(shown(&error).replace(origin, "http://here"), @"
    TRANSPORT_ERROR (did not run): cannot connect to http://here: connection refused
    check the server's address, and that the server runs
    ");
    let unknown = Client::new("http://nobody.invalid/mcp", Era::Modern).call().await.unwrap_err();
    assert_eq!((unknown.code(), unknown.may_have_run()), (ErrorCode::TransportError, false));
}

#[tokio::test]
async fn a_reset_before_the_head_and_after_it() {
    let requests = Arc::new(AtomicUsize::new(0));
    let server = Fake::start(move |seen, mut reply| {
        let number = requests.fetch_add(1, Ordering::SeqCst);
        async move {
            match number {
                0 => reply.reset(),
                1 => {
                    reply
                        .write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 60\r\n\r\n{\"json")
                        .await;
                    reply.reset();
                }
                _ => reply.write(json(&result(seen.id()))).await,
            }
            reply
        }
    })
    .await;
    let client = Client::new(&server.url, Era::Legacy);
    insta::assert_snapshot!(shown(&client.call().await.unwrap_err()), @"
    TRANSPORT_ERROR (may have run): the connection broke before the server answered
    look into the server's log: it may have crashed
    ");
    insta::assert_snapshot!(shown(&client.call().await.unwrap_err()), @"
    TRANSPORT_ERROR (may have run): the connection ended before the server's answer was complete
    look into the server's log: it may have crashed
    ");
    client.call().await.unwrap();
}

#[tokio::test]
async fn a_server_that_closes_after_each_answer_costs_a_connection_each() {
    let server = Fake::start(|seen, mut reply| async move {
        let headers = "content-type: application/json\r\nconnection: close\r\n";
        reply.write(answer("200 OK", headers, &result(seen.id()))).await;
        reply.close();
        reply
    })
    .await;
    let client = Client::new(&server.url, Era::Modern);
    for _ in 0..50 {
        client.call().await.unwrap();
    }
    assert_eq!(server.connections(), 50);
}

#[tokio::test]
async fn comments_do_not_keep_a_call_alive() {
    let server = Fake::start(|_, mut reply| async move {
        reply.begin_events().await;
        while reply.is_open() {
            reply.chunk(": still here\n\n").await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        reply
    })
    .await;
    let client = Client::new(&server.url, Era::Modern);
    let times = Times { idle: Duration::from_millis(500), total: PATIENCE };
    let error = client.call_within(times).await.unwrap_err();
    assert_eq!((error.code(), error.may_have_run()), (ErrorCode::Timeout, true));
}

#[tokio::test]
async fn progress_keeps_a_call_alive() {
    let server = Fake::start(|seen, mut reply| async move {
        reply.begin_events().await;
        for number in 1..=8 {
            tokio::time::sleep(Duration::from_millis(200)).await;
            reply.chunk(&event(&progress(seen.id(), number))).await;
        }
        reply.chunk(&event(&result(seen.id()))).await;
        reply
    })
    .await;
    let client = Client::new(&server.url, Era::Modern);
    client.call_within(Times { idle: Duration::from_millis(1_500), total: PATIENCE }).await.unwrap();
}

/// A server that takes calls and never answers them.
async fn silent() -> Fake {
    Fake::start(|seen, mut reply| async move {
        if seen.is("tools/call") {
            reply.begin_events().await;
            reply.closed().await;
        } else {
            reply.write(accepted()).await;
        }
        reply
    })
    .await
}

#[tokio::test]
async fn giving_up_is_told_to_a_legacy_server() {
    let server = silent().await;
    let client = Client::new(&server.url, Era::Legacy);
    client.in_session("s1");
    let error = client.call_within(Times::exactly(Duration::from_millis(500))).await.unwrap_err();
    assert_eq!((error.code(), error.may_have_run()), (ErrorCode::Timeout, true));
    let cancelled = server.wait_for(|seen| seen.is("notifications/cancelled")).await;
    assert_eq!(cancelled.body, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    assert_eq!(cancelled.header("mcp-session-id"), Some("s1"));

    tokio::select! {
        _ = client.call() => panic!("nobody answers"),
        _ = server.wait_for(|seen| seen.id() == 2) => {}
    }
    server.wait_for(|seen| seen.is("notifications/cancelled") && seen.body.contains(":2}")).await;
}

#[tokio::test]
async fn giving_up_closes_the_stream_of_a_modern_server() {
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
    let client = Client::new(&server.url, Era::Modern);
    tokio::select! {
        _ = client.call() => panic!("nobody answers"),
        _ = server.wait_for(|seen| seen.id() == 1) => {}
    }
    tokio::time::timeout(PATIENCE, was_closed.wait_for(|closed| *closed)).await.unwrap().unwrap();
    assert_eq!(server.seen().len(), 1, "and says nothing");
}

#[tokio::test]
async fn a_time_out_before_anything_was_sent() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    // The server never answers the TLS greeting, so the request is never sent.
    let error =
        Client::new(&url, Era::Legacy).call_within(Times::exactly(Duration::from_millis(100))).await.unwrap_err();
    assert_eq!((error.code(), error.may_have_run()), (ErrorCode::Timeout, false));
}

#[tokio::test]
async fn closing_ends_what_is_in_flight() {
    let server = silent().await;
    let client = Client::new(&server.url, Era::Modern);
    let close = async {
        server.wait_for(|seen| seen.is("tools/call")).await;
        client.link.close().await;
    };
    let started = Instant::now();
    let (answer, ()) = tokio::join!(client.call(), close);
    let error = answer.unwrap_err();
    assert_eq!((error.code(), error.may_have_run()), (ErrorCode::TransportError, true));
    assert!(started.elapsed() < PATIENCE);
}

#[tokio::test]
async fn a_name_with_two_addresses_is_tried_at_both() {
    let server = Fake::answering(|seen| json(&result(seen.id()))).await;
    // Listens on 127.0.0.1 only; `localhost` may be ::1 first.
    let url = server.url.replace("127.0.0.1", "localhost");
    Client::new(&url, Era::Modern).call().await.unwrap();
}

#[test]
fn a_call_is_small() {
    let client = Client::new("http://localhost/", Era::Modern);
    let size = std::mem::size_of_val(&client.call());
    // Callers copy and hold it: what is rare lives elsewhere.
    assert!(size < 6 << 10, "{size} bytes");
}
