//! Streamable HTTP against a server whose every byte is chosen.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use helve_model::json::RawJson;
use secrecy::SecretString;

use super::*;
use crate::Error;
use crate::era::speech::Speech;
use crate::handler::Progress;
use crate::transport::http::fake::{
    EVENTS_HEAD, Fake, PATIENCE, Recorder, Reply, accepted, answer, chunk, json, result,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

pub(crate) struct Client {
    pub(crate) link: StreamableLink,
    pub(crate) recorder: Arc<Recorder>,
    next_id: AtomicUsize,
}

impl Client {
    pub(crate) fn new(url: &str, era: Era) -> Self {
        Self::with(HttpTarget::new(url).unwrap(), era, &Limits::default())
    }

    pub(crate) fn with(target: HttpTarget, era: Era, limits: &Limits) -> Self {
        let recorder = Arc::new(Recorder::default());
        let dispatcher = Arc::new(Dispatcher::new(Arc::clone(&recorder) as Arc<dyn crate::PeerHandler>, limits));
        let link = StreamableLink::new(target, dispatcher, limits).unwrap();
        let (version, speech): (_, &'static dyn Speech) = match era {
            Era::Legacy => ("2025-11-25", &crate::era::legacy::Legacy),
            Era::Modern => ("2026-07-28", &crate::era::modern::Modern),
        };
        link.set_protocol(HttpProtocol { version: version.into(), speech });
        Self { link, recorder, next_id: AtomicUsize::new(1) }
    }

    pub(crate) fn in_session(&self, id: &'static str) {
        self.link.poster.set_session(Some(http::HeaderValue::from_static(id)));
    }

    pub(crate) async fn call(&self) -> Result<RawJson> {
        self.call_within(Times::exactly(PATIENCE)).await
    }

    pub(crate) async fn call_within(&self, times: Times) -> Result<RawJson> {
        let body = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call"}}"#);
        self.send("tools/call", Some("echo"), body, times, None).await
    }

    async fn send(
        &self,
        method: &str,
        subject: Option<&str>,
        body: impl Fn(u64) -> String,
        times: Times,
        listener: Option<Listener>,
    ) -> Result<RawJson> {
        let id = self.next_id.fetch_add(1, Ordering::SeqCst) as u64;
        let request = Outgoing {
            wants_progress: true,
            id,
            method,
            subject,
            headers: vec![("Mcp-Param-Region".into(), "eu".into())],
            protocol_version: None,
            body: body(id).into_bytes(),
            cancellable: method != "initialize",
            cancel_meta: "",
        };
        match self.link.exchange(request, times, listener).await? {
            Answer::Result(result) => Ok(result),
            Answer::Refused(refusal) => Err(Error::new(ErrorCode::ToolError, "refused").with_source(refusal)),
            Answer::Failed(error) => Err(error),
        }
    }

    pub(crate) async fn initialize(&self) -> Result<RawJson> {
        let body = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize"}}"#);
        self.send("initialize", None, body, Times::exactly(PATIENCE), None).await
    }
}

/// Everything a person reads, and what a program branches on.
pub(crate) fn shown(error: &Error) -> String {
    let may_have_run = if error.may_have_run() { "may have run" } else { "did not run" };
    format!("{} ({may_have_run}): {error}\n{}", error.code(), error.hints().join("\n"))
}

pub(crate) fn event(text: &str) -> String {
    format!("event: message\ndata: {text}\n\n")
}

pub(crate) fn progress(token: u64, number: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{number}}}}}"#
    )
}

#[tokio::test]
async fn a_thousand_calls_use_one_connection() {
    let server = Fake::answering(|seen| json(&result(seen.id()))).await;
    let client = Client::new(&server.url, Era::Modern);
    for id in 1..=1_000 {
        assert_eq!(client.call().await.unwrap().as_str(), format!(r#"{{"id":{id}}}"#));
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_by_stream_use_their_connection_again() {
    let server = Fake::start(|seen, mut reply| async move {
        reply.begin_events().await;
        reply.chunk(&event(&result(seen.id()))).await;
        // The end comes in a packet of its own, after the caller has its answer.
        tokio::task::yield_now().await;
        reply.end_events().await;
        reply
    })
    .await;
    let client = Client::new(&server.url, Era::Legacy);
    for _ in 0..300 {
        client.call().await.unwrap();
    }
    // On a busy machine an end may be so late that it is not waited for.
    assert!(server.connections() <= 3, "{} connections", server.connections());
}

#[tokio::test]
async fn a_server_that_never_ends_its_streams_is_not_waited_for_again() {
    let server = Fake::start(|seen, mut reply| async move {
        reply.begin_events().await;
        reply.chunk(&event(&result(seen.id()))).await;
        reply.closed().await;
        reply
    })
    .await;
    let client = Client::new(&server.url, Era::Legacy);
    for _ in 0..20 {
        client.call().await.unwrap();
    }
    assert_eq!(server.connections(), 20);
}

#[tokio::test]
async fn many_calls_at_once() {
    let server = Fake::answering(|seen| json(&result(seen.id()))).await;
    let client = Arc::new(Client::new(&server.url, Era::Modern));
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let client = Arc::clone(&client);
        calls.spawn(async move { client.call().await.unwrap() });
    }
    assert_eq!(calls.join_all().await.len(), 64);
    assert!(server.connections() <= 64);
}

#[tokio::test]
async fn headers_of_the_modern_era() {
    let server = Fake::answering(|seen| json(&result(seen.id()))).await;
    let target = HttpTarget::new(&format!("{}?key=1", server.url)).unwrap();
    let target = target.with_bearer(&SecretString::from("t0k".to_owned())).unwrap();
    let client = Client::with(target, Era::Modern, &Limits::default());
    let body = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"prompts/get"}}"#);
    client.send("prompts/get", Some("grüße"), body, Times::default(), None).await.unwrap();
    let seen = &server.seen()[0];
    assert_eq!((seen.verb.as_str(), seen.path.as_str()), ("POST", "/mcp?key=1"));
    let header = |name: &str| seen.header(name).unwrap_or("-").to_owned();
    let names = [
        "accept",
        "accept-encoding",
        "content-type",
        "authorization",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-param-region",
        "mcp-session-id",
    ];
    insta::assert_snapshot!(names.map(|name| format!("{name}: {}", header(name))).join("\n"), @"
    accept: application/json, text/event-stream
    accept-encoding: identity
    content-type: application/json
    authorization: Bearer t0k
    mcp-protocol-version: 2026-07-28
    mcp-method: prompts/get
    mcp-name: =?base64?Z3LDvMOfZQ==?=
    mcp-param-region: eu
    mcp-session-id: -
    ");
    assert_eq!(header("host"), server.url.trim_start_matches("http://").trim_end_matches("/mcp"));
}

#[tokio::test]
async fn headers_of_the_legacy_era_and_the_session() {
    let server = Fake::answering(|seen| match seen.verb.as_str() {
        "POST" if seen.is("initialize") => {
            answer("200 OK", "content-type: application/json\r\nMcp-Session-Id: s1\r\n", &result(seen.id()))
        }
        "POST" => answer("200 OK", "content-type: application/json\r\nMcp-Session-Id: other\r\n", &result(seen.id())),
        _ => accepted(),
    })
    .await;
    let client = Client::new(&server.url, Era::Legacy);
    client.initialize().await.unwrap();
    assert_eq!(client.link.session_id().as_deref(), Some("s1"));
    client.call().await.unwrap();
    client.link.notify(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_vec()).await.unwrap();
    client.initialize().await.unwrap();
    client.link.close().await;
    let seen: Vec<String> = server
        .seen()
        .iter()
        .map(|seen| {
            let header = |name: &str| seen.header(name).unwrap_or("-").to_owned();
            format!(
                "{} {} {} {}",
                seen.verb,
                header("mcp-session-id"),
                header("mcp-protocol-version"),
                header("mcp-method")
            )
        })
        .collect();
    insta::assert_snapshot!(seen.join("\n"), @"
    POST - 2025-11-25 -
    POST s1 2025-11-25 -
    POST s1 2025-11-25 -
    POST - 2025-11-25 -
    DELETE s1 2025-11-25 -
    ");
    assert_eq!(client.call().await.unwrap_err().code(), ErrorCode::TransportError, "the link is closed");
}

#[tokio::test]
async fn a_probe_names_its_version_itself() {
    let server = Fake::answering(|seen| json(&result(seen.id()))).await;
    let dispatcher = Arc::new(Dispatcher::new(Arc::new(crate::NoHandler), &Limits::default()));
    let target = HttpTarget::new(&server.url).unwrap();
    let link = StreamableLink::new(target, dispatcher, &Limits::default()).unwrap();
    for (id, method, protocol_version) in [(1, "server/discover", Some("2026-07-28")), (2, "initialize", None)] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#).into_bytes();
        let headers = Vec::new();
        let probe = Outgoing {
            wants_progress: true,
            id,
            method,
            subject: None,
            headers,
            protocol_version,
            body,
            cancellable: false,
            cancel_meta: "",
        };
        link.exchange(probe, Times::default(), None).await.unwrap();
    }
    let seen = server.seen();
    assert_eq!(seen[0].header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(seen[0].header("mcp-method"), Some("server/discover"));
    assert_eq!((seen[1].header("mcp-protocol-version"), seen[1].header("mcp-method")), (None, None));
}

#[tokio::test]
async fn events_are_delivered_in_order_before_the_answer() {
    let server = Fake::start(|seen, mut reply| async move {
        if seen.is("tools/call") {
            let id = seen.id();
            reply.begin_events().await;
            reply.chunk("id: 1\nretry: 10\ndata: \n\n: comment\n\n").await;
            for number in 1..=20 {
                reply.chunk(&event(&progress(id, number))).await;
            }
            reply.chunk(&event(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#)).await;
            reply.chunk(&event(&result(id))).await;
            reply.end_events().await;
        }
        reply
    })
    .await;
    let client = Client::new(&server.url, Era::Legacy);
    let reports = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&reports);
    let on_progress: crate::ProgressCallback =
        Arc::new(move |progress: Progress| lock(&keep).push(progress.progress as u64));
    let body = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call"}}"#);
    client
        .send(
            "tools/call",
            None,
            body,
            Times::default(),
            Some(Listener::Call { on_progress: Some(on_progress), handler: None }),
        )
        .await
        .unwrap();
    assert_eq!(*lock(&reports), (1..=20).collect::<Vec<u64>>());
    assert_eq!(*lock(&client.recorder.heard), ["notifications/message"]);
}

#[tokio::test]
async fn a_batch_answers_and_speaks() {
    let server = Fake::answering(|seen| {
        json(&format!(r#"[{{"jsonrpc":"2.0","method":"notifications/message"}},{}]"#, result(seen.id())))
    })
    .await;
    let client = Client::new(&server.url, Era::Legacy);
    client.call().await.unwrap();
    assert_eq!(*lock(&client.recorder.heard), ["notifications/message"]);
}

#[tokio::test]
async fn a_question_on_the_stream_of_a_call_is_answered_by_a_post() {
    let (answered, has_answered) = tokio::sync::watch::channel(false);
    let server = Fake::start(move |seen, mut reply| {
        let (answered, mut has_answered) = (answered.clone(), has_answered.clone());
        async move {
            if seen.is("tools/call") {
                reply.begin_events().await;
                reply.chunk(&event(r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}"#)).await;
                has_answered.wait_for(|answered| *answered).await.unwrap();
                reply.chunk(&event(&result(seen.id()))).await;
                reply.end_events().await;
            } else {
                reply.write(accepted()).await;
                answered.send_replace(true);
            }
            reply
        }
    })
    .await;
    let client = Client::new(&server.url, Era::Legacy);
    client.call().await.unwrap();
    assert_eq!(lock(&client.recorder.asked)[0].during, Some(1));
    assert_eq!(server.seen()[1].body, r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#);
}

/// A three-event answer, cut after every byte: in the end comes the answer or an error, at once, and the next call works.
async fn cut_everywhere(era: Era) {
    let cut = Arc::new(AtomicUsize::new(0));
    let cut_at = Arc::clone(&cut);
    let server = Fake::start(move |seen, mut reply| {
        let cut = cut_at.load(Ordering::SeqCst);
        async move {
            let id = seen.id();
            let events = [event(&progress(id, 1)), event(&progress(id, 2)), event(&result(id))];
            let whole = format!("{EVENTS_HEAD}{}0\r\n\r\n", events.map(|event| chunk(&event)).concat());
            reply.write(&whole.as_bytes()[..cut.min(whole.len())]).await;
            if cut < whole.len() {
                reply.close();
            }
            reply
        }
    })
    .await;
    let client = Client::new(&server.url, era);
    let started = Instant::now();
    let mut answers = 0;
    for position in 0..2_000 {
        cut.store(position, Ordering::SeqCst);
        match client.call().await {
            Ok(_) => answers += 1,
            Err(error) => {
                assert_eq!(answers, 0, "no error after an answer was complete: {position}");
                assert_eq!(error.code(), ErrorCode::TransportError, "{position}: {error}");
                assert!(error.may_have_run());
            }
        }
        if answers > 20 {
            break;
        }
    }
    assert!(answers > 20, "the whole answer was never sent");
    assert!(started.elapsed() < PATIENCE, "an error must come at once");
}

#[tokio::test]
async fn a_stream_cut_at_every_byte_legacy() {
    cut_everywhere(Era::Legacy).await;
}

#[tokio::test]
async fn a_stream_cut_at_every_byte_modern() {
    cut_everywhere(Era::Modern).await;
}

/// A server that closes the stream of every call early, and gives the rest to whoever comes back for it.
async fn resuming(end_cleanly: bool) -> Fake {
    Fake::start(move |seen, mut reply| async move {
        match (seen.verb.as_str(), seen.header("last-event-id")) {
            ("GET", Some("event-1")) => {
                reply.begin_events().await;
                reply.chunk("id: event-2\ndata:\n\n").await;
                reply.close();
            }
            ("GET", Some("event-2")) => {
                reply.begin_events().await;
                reply.chunk(&format!("id: event-3\n{}", event(&result(1)))).await;
            }
            ("GET", _) => reply.write(answer("405 Method Not Allowed", "", "")).await,
            _ => {
                reply.begin_events().await;
                reply.chunk("id: event-1\nretry: 80\ndata: \n\n").await;
                if end_cleanly {
                    reply.end_events().await;
                } else {
                    reply.reset();
                }
            }
        }
        reply
    })
    .await
}

#[tokio::test]
async fn a_legacy_call_is_resumed_where_it_broke_off() {
    for end_cleanly in [true, false] {
        let server = resuming(end_cleanly).await;
        let client = Client::new(&server.url, Era::Legacy);
        client.in_session("s1");
        client.call().await.unwrap();
        let seen = server.seen();
        assert_eq!(seen.len(), 3);
        assert!(seen[1].at - seen[0].at >= Duration::from_millis(80), "the server asked for patience");
        assert!(seen[2].at - seen[1].at >= Duration::from_millis(80));
        for get in &seen[1..] {
            assert_eq!(get.header("mcp-session-id"), Some("s1"));
            assert_eq!(get.header("accept"), Some("text/event-stream"));
        }
    }
}

#[tokio::test]
async fn a_modern_call_is_never_resumed() {
    let server = resuming(true).await;
    let error = Client::new(&server.url, Era::Modern).call().await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @"
    TRANSPORT_ERROR (may have run): the connection ended before the server's answer was complete
    look into the server's log: it may have crashed
    ");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_resumption_the_server_refuses() {
    let server = Fake::start(|seen, mut reply| async move {
        if seen.verb == "GET" {
            reply.write(answer("404 Not Found", "", "")).await;
        } else {
            reply.begin_events().await;
            reply.chunk("id: 1\nretry: 1\ndata:\n\n").await;
            reply.close();
        }
        reply
    })
    .await;
    let client = Client::new(&server.url, Era::Legacy);
    client.in_session("s1");
    let error = client.call().await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @"
    TRANSPORT_ERROR (may have run): the server's answer broke off and cannot be resumed: the server answered 404 Not Found
    look into the server's log: it may have crashed or been restarted
    ");
    assert!(error.is_session_expired());
}

#[tokio::test]
async fn a_server_killed_in_mid_answer() {
    for (era, position) in [(Era::Legacy, ""), (Era::Legacy, "id: 7\n"), (Era::Modern, "id: 7\n")] {
        let (kill, killed) = tokio::sync::watch::channel(false);
        let server = Fake::start(move |seen, mut reply| {
            let kill = kill.clone();
            async move {
                reply.begin_events().await;
                reply.chunk(&format!("{position}{}", event(&progress(seen.id(), 1)))).await;
                kill.send_replace(true);
                std::future::pending::<Reply>().await
            }
        })
        .await;
        let client = Client::new(&server.url, era);
        let started = Instant::now();
        let mut killed = killed;
        let kill = async {
            killed.wait_for(|killed| *killed).await.unwrap();
            drop(server);
        };
        let (answer, ()) = tokio::join!(client.call(), kill);
        let error = answer.unwrap_err();
        assert_eq!(error.code(), ErrorCode::TransportError, "{era:?} {position}: {error}");
        assert!(error.may_have_run());
        assert!(started.elapsed() < Duration::from_secs(5), "{era:?} {position}: {:?}", started.elapsed());
    }
}

#[tokio::test]
async fn a_session_the_server_forgot() {
    let server = Fake::answering(|_| {
        let body = r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}"#;
        answer("404 Not Found", "content-type: application/json\r\n", body)
    })
    .await;
    let client = Client::new(&server.url, Era::Legacy);
    client.in_session("old");
    let error = client.call().await.unwrap_err();
    assert!(error.is_session_expired());
    assert_eq!(error.http_status(), Some(404));
    insta::assert_snapshot!(shown(&error), @"
    TRANSPORT_ERROR (did not run): the server no longer knows this session
    connect again
    ");
    let notified = client.link.notify(br#"{"jsonrpc":"2.0","method":"n"}"#.to_vec()).await;
    assert!(notified.unwrap_err().is_session_expired());
}

#[tokio::test]
async fn a_bad_request_in_a_session_may_be_about_the_session() {
    for (code, in_session, expired) in [
        (-32000, true, true),
        (-32600, true, true),
        (-32602, true, false),
        (-32601, true, false),
        (-32000, false, false),
    ] {
        let server = Fake::answering(move |seen| {
            let body = format!(r#"{{"id":{},"error":{{"code":{code},"message":"no valid session"}}}}"#, seen.id());
            answer("400 Bad Request", "content-type: application/json\r\n", &body)
        })
        .await;
        let client = Client::new(&server.url, Era::Legacy);
        if in_session {
            client.in_session("s1");
        }
        let error = client.call().await.unwrap_err();
        assert_eq!(error.is_session_expired(), expired, "{code} {in_session}");
        assert_eq!(error.rpc().unwrap().code, code);
        assert!(!error.may_have_run());
    }
}

#[tokio::test]
async fn a_method_nobody_knows_is_no_lost_session() {
    let server = Fake::answering(|seen| {
        let body = format!(r#"{{"id":{},"error":{{"code":-32601,"message":"no such method"}}}}"#, seen.id());
        answer("404 Not Found", "content-type: application/json\r\n", &body)
    })
    .await;
    let client = Client::new(&server.url, Era::Legacy);
    client.in_session("s1");
    let error = client.call().await.unwrap_err();
    assert_eq!(error.rpc().unwrap().code, -32601);
    assert!(!error.is_session_expired());
}

#[tokio::test]
async fn redirects_stay_within_the_origin() {
    let elsewhere = Fake::answering(|seen| json(&result(seen.id()))).await;
    let other = elsewhere.url.clone();
    let server = Fake::answering(move |seen| match seen.path.as_str() {
        "/mcp" => answer("307 Temporary Redirect", "Location: /mcp/\r\n", "moved"),
        "/mcp/" => answer("308 Permanent Redirect", "Location: final?a=b\r\n", ""),
        "/mcp/final?a=b" => json(&result(seen.id())),
        "/other" => answer("307 Temporary Redirect", &format!("Location: {other}\r\n"), ""),
        "/found" => answer("302 Found", "Location: /mcp/final?a=b\r\n", ""),
        "/loop" => answer("307 Temporary Redirect", "Location: /loop\r\n", ""),
        _ => answer("307 Temporary Redirect", "", ""),
    })
    .await;
    let origin = server.url.trim_end_matches("/mcp").to_owned();
    let call = async |path: &str| Client::new(&format!("{origin}{path}"), Era::Legacy).call().await;
    call("/mcp").await.unwrap();
    assert_eq!(server.connections(), 1);
    assert!(server.seen()[2].is("tools/call"), "the request arrives whole");

    let shown_without_ports = |error: Error| {
        let text = shown(&error).replace(&origin, "http://here").replace(elsewhere.url.as_str(), "http://there/mcp");
        format!("{text}\n{}", error.http_status().unwrap())
    };
    insta::assert_snapshot!(shown_without_ports(call("/other").await.unwrap_err()), @"
    PROTOCOL_ERROR (did not run): the server redirects to another origin: http://there/mcp
    if that is right, set the server's address to http://there/mcp
    307
    ");
    assert_eq!(elsewhere.connections(), 0);
    insta::assert_snapshot!(shown_without_ports(call("/found").await.unwrap_err()), @"
    PROTOCOL_ERROR (did not run): the server redirects with 302 Found, which loses the request, to http://here/mcp/final
    set the server's address to http://here/mcp/final
    302
    ");
    insta::assert_snapshot!(shown_without_ports(call("/loop").await.unwrap_err()), @"
    PROTOCOL_ERROR (did not run): the server redirects more than 5 times
    set the server's address to where it leads in the end
    307
    ");
    insta::assert_snapshot!(shown_without_ports(call("/nowhere").await.unwrap_err()), @"
    PROTOCOL_ERROR (did not run): the server redirects (307 Temporary Redirect) without saying where to

    307
    ");
}
