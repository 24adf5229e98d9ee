//! HTTP+SSE against a server whose every byte is chosen.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use helve_model::json::RawJson;
use tokio::sync::broadcast;

use super::*;
use crate::transport::http::fake::{Fake, PATIENCE, Recorder, Seen, accepted, answer, json};
use helve_model::sync::lock;

/// A server that answers every POST with what `respond` says, on the stream that was opened last.
async fn serve(endpoint: &'static str, respond: impl Fn(&Seen) -> Vec<String> + Send + Sync + 'static) -> Fake {
    let (said, _) = broadcast::channel::<String>(1_024);
    let respond = Arc::new(respond);
    Fake::start(move |seen, mut reply| {
        let (said, respond) = (said.clone(), Arc::clone(&respond));
        async move {
            if seen.verb == "GET" {
                let mut hears = said.subscribe();
                reply.begin_events().await;
                reply.chunk(&format!(": welcome\n\nevent: endpoint\ndata: {endpoint}\n\n")).await;
                while reply.is_open() {
                    let text = hears.recv().await.unwrap();
                    if text == "hang up" {
                        reply.close();
                        break;
                    }
                    reply.chunk(&text).await;
                }
            } else {
                for text in respond(&seen) {
                    said.send(text).unwrap();
                }
                reply.write(accepted()).await;
            }
            reply
        }
    })
    .await
}

fn message(text: &str) -> String {
    format!("event: message\ndata: {text}\n\n")
}

fn result(id: u64) -> String {
    message(&crate::transport::http::fake::result(id))
}

struct Client {
    link: SseLink,
    recorder: Arc<Recorder>,
    next_id: AtomicU64,
}

async fn connect(url: &str) -> Result<Client> {
    connect_with(url, &Limits::default()).await
}

async fn connect_with(url: &str, limits: &Limits) -> Result<Client> {
    let recorder = Arc::new(Recorder::default());
    let dispatcher = Arc::new(Dispatcher::new(Arc::clone(&recorder) as Arc<dyn crate::PeerHandler>, limits));
    let link = SseLink::connect(HttpTarget::new(url)?, dispatcher, limits, PATIENCE).await?;
    Ok(Client { link, recorder, next_id: AtomicU64::new(1) })
}

impl Client {
    async fn call(&self, times: Times) -> Result<RawJson> {
        let id = self.next_id.fetch_add(1, Ordering::SeqCst);
        let request = Outgoing {
            wants_progress: true,
            id,
            method: "tools/call",
            subject: Some("echo"),
            headers: Vec::new(),
            protocol_version: None,
            body: format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call"}}"#).into_bytes(),
            cancellable: true,
            cancel_meta: "",
        };
        match self.link.exchange(request, times, None).await? {
            Answer::Result(result) => Ok(result),
            Answer::Refused(refusal) => Err(Error::new(ErrorCode::ToolError, "refused").with_source(refusal)),
            Answer::Failed(error) => Err(error),
        }
    }
}

fn patient() -> Times {
    Times::exactly(PATIENCE)
}

#[tokio::test]
async fn calls_notifications_and_questions() {
    let server = serve("/messages?session=1", |seen| match seen.id() {
        0 => vec![],
        1 if seen.is("tools/call") => vec![
            message(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#),
            message(r#"{"jsonrpc":"2.0","id":500,"method":"elicitation/create","params":{}}"#),
            "event: ping\ndata: now\n\n".to_owned(),
        ],
        500 => vec![result(1)],
        id => vec![result(id)],
    })
    .await;
    let client = connect(&server.url).await.unwrap();
    client.link.notify(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_vec()).await.unwrap();
    for _ in 0..100 {
        client.call(patient()).await.unwrap();
    }
    assert_eq!(*lock(&client.recorder.heard), ["notifications/message"]);
    let seen = server.seen();
    assert_eq!((seen[0].verb.as_str(), seen[0].header("accept")), ("GET", Some("text/event-stream")));
    assert!(seen[1..].iter().all(|seen| seen.verb == "POST" && seen.path == "/messages?session=1"));
    assert_eq!(seen[1].header("content-type"), Some("application/json"));
    let answer = seen.iter().find(|seen| seen.body.contains("accept")).unwrap();
    assert_eq!(answer.body, r#"{"jsonrpc":"2.0","id":500,"result":{"action":"accept"}}"#);
    // One for the stream, the others for messages: few, although an answer may come before the receipt of its question.
    assert!(server.connections() <= 6, "{} connections", server.connections());
}

#[tokio::test]
async fn endpoints_must_stay_within_the_origin() {
    let server = serve("https://elsewhere.example/\u{1b}messages", |_| vec![]).await;
    let error = connect(&server.url).await.err().unwrap();
    insta::assert_snapshot!(format!("{} {error}\n{}", error.code(), error.hints()[0]), @"
    PROTOCOL_ERROR the server names an endpoint outside its own origin: https://elsewhere.example/�messages
    check the server's address: that of an HTTP+SSE server often ends in /sse
    ");
    let absolute = serve("http://127.0.0.1:1/messages", |_| vec![]).await;
    assert!(connect(&absolute.url).await.is_err(), "another port is another origin");
}

#[tokio::test]
async fn servers_of_another_kind() {
    let problem = async |answer: String| {
        let server = Fake::answering(move |_| answer.clone()).await;
        let error = connect(&server.url).await.err().unwrap();
        format!("{} {error}", error.code())
    };
    insta::assert_snapshot!(problem(json("{}")).await, @"PROTOCOL_ERROR the server did not answer with a stream of events (application/json): {}");
    insta::assert_snapshot!(problem(answer("405 Method Not Allowed", "", "")).await, @"PROTOCOL_ERROR the server answered 405 Method Not Allowed (no content type, nothing to read)");
    insta::assert_snapshot!(problem(answer("401 Unauthorized", "WWW-Authenticate: Basic\r\n", "")).await, @"AUTH_REQUIRED the server wants credentials: Basic");
    let ended = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 0\r\n\r\n";
    insta::assert_snapshot!(problem(ended.to_owned()).await, @"PROTOCOL_ERROR the server ended its event stream");
}

#[tokio::test]
async fn a_server_that_never_names_its_endpoint() {
    let server = Fake::start(|_, mut reply| async move {
        reply.begin_events().await;
        reply.closed().await;
        reply
    })
    .await;
    let dispatcher = Arc::new(Dispatcher::new(Arc::new(crate::NoHandler), &Limits::default()));
    let target = HttpTarget::new(&server.url).unwrap();
    let time = Duration::from_millis(50);
    let error = SseLink::connect(target, dispatcher, &Limits::default(), time).await.unwrap_err();
    insta::assert_snapshot!(error, @"the server did not name its endpoint within 0.05 s");
}

#[tokio::test]
async fn when_the_stream_ends_the_connection_has_ended() {
    let server = serve("/messages", |seen| if seen.id() == 3 { vec!["hang up".to_owned()] } else { vec![] }).await;
    let client = connect(&server.url).await.unwrap();
    let started = Instant::now();
    let (first, second, third) = tokio::join!(client.call(patient()), client.call(patient()), client.call(patient()));
    for answer in [first, second, third] {
        let error = answer.unwrap_err();
        assert_eq!((error.code(), error.may_have_run()), (ErrorCode::TransportError, true));
    }
    assert!(started.elapsed() < Duration::from_secs(5));
    let error = client.call(patient()).await.unwrap_err();
    assert!(!error.may_have_run());
    insta::assert_snapshot!(format!("{} {error}\n{}", error.code(), error.hints()[0]), @"
    TRANSPORT_ERROR the server's event stream broke: error reading a body from connection
    connect again; the server may have been restarted
    ");
}

#[tokio::test]
async fn a_refused_message_fails_its_call_only() {
    let server = Fake::start(|seen, mut reply| async move {
        if seen.verb == "GET" {
            reply.begin_events().await;
            reply.chunk("event: endpoint\ndata: messages\n\n").await;
            reply.closed().await;
        } else if seen.id() == 1 {
            reply.write(answer("500 Internal Server Error", "content-type: text/plain\r\n", "oops")).await;
        } else {
            reply.write(accepted()).await;
        }
        reply
    })
    .await;
    let client = connect(&server.url).await.unwrap();
    let error = client.call(patient()).await.unwrap_err();
    insta::assert_snapshot!(format!("{} {error}", error.code()), @"TRANSPORT_ERROR the server answered 500 Internal Server Error (text/plain): oops");
    let error = client.call(Times::exactly(Duration::from_millis(500))).await.unwrap_err();
    assert_eq!((error.code(), error.may_have_run()), (ErrorCode::Timeout, true));
    let cancelled = server.wait_for(|seen| seen.is("notifications/cancelled")).await;
    assert_eq!(cancelled.json()["params"]["requestId"], 2);
}

#[tokio::test]
async fn an_answer_over_the_limit_fails_its_call_only() {
    let server = serve("/messages", |seen| match seen.id() {
        // The id stands at the end, as some servers write it.
        1 => vec![message(&format!(r#"{{"result":{{"a":"{}"}},"jsonrpc":"2.0","id":1}}"#, "x".repeat(100_000)))],
        id => vec![result(id)],
    })
    .await;
    let client = connect_with(&server.url, &Limits { event_bytes: 10_000, ..Limits::default() }).await.unwrap();
    let error = client.call(patient()).await.unwrap_err();
    assert_eq!((error.code(), error.may_have_run()), (ErrorCode::LimitExceeded, true));
    client.call(patient()).await.unwrap();
}

#[tokio::test]
async fn closing_ends_the_stream() {
    let server = serve("/messages", |_| vec![]).await;
    let client = connect(&server.url).await.unwrap();
    let close = async {
        server.wait_for(|seen| seen.is("tools/call")).await;
        client.link.close().await;
    };
    let (answer, ()) = tokio::join!(client.call(patient()), close);
    assert_eq!(answer.unwrap_err().message(), "the connection was closed");
}
