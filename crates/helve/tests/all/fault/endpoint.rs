//! Endpoints that cannot be used: closing at once, wanting credentials.

use std::time::Duration;

use helve::HostEvent;
use helve_model::{ConfigText, ErrorCode, ServerSpec, TransportSpec};
use helve_testkit::{HttpFault, HttpFaultKind, HttpScript, Scenario};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::support::{builder, call, host, http, shown, status};

const MINUTE: Duration = Duration::from_secs(60);

/// Time stands still while anything can be done, and jumps to the next moment something is due: ten minutes are short.
#[tokio::test(start_paused = true)]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn an_endpoint_that_closes_at_once_is_tried_at_most_twelve_times_a_minute() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (seen, mut connections) = tokio::sync::mpsc::unbounded_channel();
    let closing = tokio::spawn(async move {
        loop {
            drop(listener.accept().await.unwrap());
            seen.send(Instant::now()).unwrap();
        }
    });
    let begun = Instant::now();
    let host = builder([http("closing", &url)]).start().await.unwrap();
    let mut times = Vec::new();
    while begun.elapsed() < MINUTE * 10 {
        times.push(connections.recv().await.unwrap());
    }
    let within = |start: &Instant| times.iter().filter(|at| (*start..*start + MINUTE).contains(*at)).count();
    let most = times.iter().map(within).max().unwrap();
    assert!((5..=12).contains(&most), "{most} connections in a minute; {} in ten", times.len());
    // It has not given up either.
    assert!(times.len() > 12, "{}", times.len());
    assert_eq!(status(&host, "closing").split(':').next(), Some("failed (TRANSPORT_ERROR"));
    host.shutdown().await;
    closing.abort();
}

fn with_token(mut spec: ServerSpec, token: ConfigText) -> ServerSpec {
    if let TransportSpec::Http(http) = &mut spec.transport {
        http.headers.insert("Authorization".to_owned(), token);
    }
    spec
}

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn a_server_that_wants_credentials_says_which_variable_to_look_at() {
    let refusal = HttpFaultKind::unauthorized(Some(r#"Bearer realm="tools""#));
    let script = HttpScript::json().fault(HttpFault::any(refusal));
    let server = Scenario::dual().http(script).serve_http().await.unwrap();
    let token = ConfigText::expanded("Bearer ${GITHUB_TOKEN}", "Bearer s3cret");
    let host = host([
        with_token(http("expanded", server.url()), token),
        with_token(http("written", server.url()), ConfigText::hidden("Bearer s3cret")),
        http("bare", server.url()),
    ])
    .await;
    assert_eq!(status(&host, "bare"), r#"needs-auth (Bearer realm="tools")"#);
    let mut words = String::new();
    for name in ["expanded/echo", "mcp__written__echo", "bare:echo"] {
        let error = call(&host, name, "{}").await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::AuthRequired);
        words.push_str(&shown(&error));
        words.push('\n');
    }
    assert!(!words.contains("s3cret"));
    insta::assert_snapshot!(words, @r#"
    AUTH_REQUIRED: the server `expanded` wants credentials
      hint: it said: Bearer realm="tools"
      hint: set its `Authorization` header
      hint: the server did not accept `Authorization: Bearer ${GITHUB_TOKEN}` of the embedding program: check the variable it refers to
    AUTH_REQUIRED: the server `written` wants credentials
      hint: it said: Bearer realm="tools"
      hint: set its `Authorization` header
      hint: the server did not accept the `Authorization` header of the embedding program
    AUTH_REQUIRED: the server `bare` wants credentials
      hint: it said: Bearer realm="tools"
      hint: set its `Authorization` header
      hint: no credentials are configured: add `Authorization = "Bearer ${VARIABLE}"` to `headers` of the server at the embedding program
    "#);
    let tried = server.requests();
    // Nothing but a person can change that, so it is not tried again.
    for name in ["expanded", "written", "bare"] {
        assert_eq!(call(&host, &format!("{name}/echo"), "{}").await.unwrap_err().code(), ErrorCode::AuthRequired);
    }
    assert_eq!(server.requests(), tried);
    host.shutdown().await;
}

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn credentials_that_came_in_the_meantime_are_taken_at_a_reconnection() {
    let script = HttpScript::json().fault(HttpFault::any(HttpFaultKind::unauthorized(None)).times(1));
    let server = Scenario::modern().http(script).serve_http().await.unwrap();
    let host = host([http("a", server.url())]).await;
    assert_eq!(status(&host, "a"), "needs-auth");
    let mut events = host.events();
    host.reconnect_server("a").await.unwrap();
    call(&host, "a/echo", "{}").await.unwrap();
    let Some(HostEvent::Status { status, .. }) = events.next().await else { panic!("a status first") };
    assert_eq!(status.to_string(), "pending (reconnecting)");
    host.shutdown().await;
}

#[tokio::test]
#[cfg_attr(not(feature = "http"), ignore = "needs a server over HTTP")]
async fn a_token_that_runs_out_in_the_middle_is_told_with_the_call() {
    let refusal = HttpFaultKind::unauthorized(Some("Bearer error=\"invalid_token\""));
    let script = HttpScript::json().fault(HttpFault::rpc("tools/call", refusal).times(1));
    let server = Scenario::modern().http(script).serve_http().await.unwrap();
    let token = ConfigText::expanded("Bearer ${GITHUB_TOKEN}", "Bearer s3cret");
    let host = host([with_token(http("a", server.url()), token)]).await;
    let error = call(&host, "a/echo", "{}").await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r#"
    AUTH_REQUIRED: the server wants credentials: Bearer error="invalid_token"
      hint: set its `Authorization` header
      hint: the server did not accept `Authorization: Bearer ${GITHUB_TOKEN}` of the embedding program: check the variable it refers to
    "#);
    host.shutdown().await;
}
