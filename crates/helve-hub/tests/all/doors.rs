//! Every kind of credential at every route: what comes in where.

use http::StatusCode;

use crate::world::{Brings, OWNER, World};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"x","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// Every route with what it answers to: nothing, an agent's token, an admin token, a cookie, a wrong token.
const TABLE: &[(&str, &str, [u16; 5])] = &[
    ("POST", "/mcp", [401, 200, 401, 401, 401]),
    ("POST", "/s/nobody/mcp", [401, 404, 401, 401, 401]),
    ("GET", "/feed", [401, 200, 401, 401, 401]),
    ("POST", "/feed", [401, 405, 401, 401, 401]),
    ("GET", "/healthz", [200, 200, 200, 200, 200]),
    ("GET", "/readyz", [200, 200, 200, 200, 200]),
    ("GET", "/metrics", [401, 401, 200, 401, 401]),
    ("GET", "/assets/none", [404, 404, 404, 404, 404]),
    ("GET", "/sign-in/guess", [401, 401, 401, 401, 401]),
    ("GET", "/", [401, 401, 401, 200, 401]),
    ("GET", "/servers", [401, 401, 401, 200, 401]),
    ("GET", "/servers/nobody", [401, 401, 401, 404, 401]),
    ("GET", "/calls", [401, 401, 401, 200, 401]),
    ("GET", "/calls/999", [401, 401, 401, 404, 401]),
    ("GET", "/calls/export", [401, 401, 401, 200, 401]),
    ("GET", "/tokens", [401, 401, 401, 200, 401]),
    ("GET", "/changes", [401, 401, 401, 200, 401]),
    ("GET", "/hub", [401, 401, 401, 200, 401]),
    ("GET", "/live/overview", [401, 401, 401, 200, 401]),
    ("GET", "/live/servers", [401, 401, 401, 200, 401]),
    ("GET", "/live/calls", [401, 401, 401, 200, 401]),
    ("GET", "/approvals", [401, 401, 401, 200, 401]),
    ("GET", "/approvals/A-NONE", [401, 401, 401, 404, 401]),
    ("GET", "/live/approvals", [401, 401, 401, 200, 401]),
    ("POST", "/approvals/A-NONE/allow", [401, 401, 401, 403, 401]),
    ("POST", "/approvals/A-NONE/deny", [401, 401, 401, 403, 401]),
    ("GET", "/approvals/A-NONE/always", [401, 401, 401, 404, 401]),
    ("POST", "/approvals/A-NONE/always", [401, 401, 401, 403, 401]),
    ("GET", "/live/test/guess", [401, 401, 401, 404, 401]),
    ("POST", "/servers/nobody/disable", [401, 401, 401, 403, 401]),
    ("GET", "/servers/nobody/log", [401, 401, 401, 404, 401]),
    ("GET", "/servers/nobody/calls", [401, 401, 401, 404, 401]),
    ("GET", "/changes/99", [401, 401, 401, 404, 401]),
    ("POST", "/sign-out", [401, 401, 401, 403, 401]),
    ("GET", "/no-such-page", [401, 401, 401, 404, 401]),
    ("GET", "/servers/new", [401, 401, 401, 200, 401]),
    ("GET", "/servers/nobody/settings", [401, 401, 401, 404, 401]),
    ("GET", "/servers/nobody/tools/nothing", [401, 401, 401, 404, 401]),
    ("GET", "/rules", [401, 401, 401, 200, 401]),
    ("GET", "/trust", [401, 401, 401, 404, 401]),
    ("GET", "/callback", [401, 401, 401, 400, 401]),
    ("GET", "/live/server/nobody", [401, 401, 401, 404, 401]),
    ("GET", "/live/log/nobody", [401, 401, 401, 404, 401]),
    ("GET", "/live/try/guess", [401, 401, 401, 404, 401]),
    // A form without the session's own token is forged, whoever sends it.
    ("POST", "/tokens", [401, 401, 401, 403, 401]),
    ("POST", "/tokens/x/revoke", [401, 401, 401, 403, 401]),
    ("POST", "/servers/nobody/restart", [401, 401, 401, 403, 401]),
    ("POST", "/servers/nobody/enable", [401, 401, 401, 403, 401]),
    ("POST", "/servers/nobody/remove", [401, 401, 401, 403, 401]),
    ("POST", "/sign-out-everywhere", [401, 401, 401, 403, 401]),
    ("POST", "/servers/new", [401, 401, 401, 403, 401]),
    ("POST", "/servers/nobody/settings", [401, 401, 401, 403, 401]),
    ("POST", "/servers/nobody/tools/nothing", [401, 401, 401, 403, 401]),
    ("POST", "/servers/nobody/pins", [401, 401, 401, 403, 401]),
    ("POST", "/servers/nobody/pins/accept", [401, 401, 401, 403, 401]),
    ("POST", "/servers/nobody/sign-in", [401, 401, 401, 403, 401]),
    ("POST", "/servers/nobody/sign-out", [401, 401, 401, 403, 401]),
    ("POST", "/rules", [401, 401, 401, 403, 401]),
    ("POST", "/rules/forget", [401, 401, 401, 403, 401]),
    ("POST", "/trust", [401, 401, 401, 403, 401]),
    ("POST", "/changes/1/undo", [401, 401, 401, 403, 401]),
    ("GET", "/api/v1/status", [401, 403, 200, 200, 401]),
    ("GET", "/api/v1/servers", [401, 403, 200, 200, 401]),
    ("GET", "/api/v1/servers/nobody", [401, 403, 404, 404, 401]),
    ("GET", "/api/v1/servers/nobody/tools", [401, 403, 404, 404, 401]),
    ("GET", "/api/v1/servers/nobody/log", [401, 403, 404, 404, 401]),
    ("DELETE", "/api/v1/servers/nobody", [401, 403, 404, 403, 401]),
    ("POST", "/api/v1/servers/nobody/enable", [401, 403, 404, 403, 401]),
    ("POST", "/api/v1/servers/nobody/disable", [401, 403, 404, 403, 401]),
    ("POST", "/api/v1/servers/nobody/restart", [401, 403, 404, 403, 401]),
    ("POST", "/api/v1/tools/nobody/nothing/call", [401, 403, 404, 403, 401]),
    ("GET", "/api/v1/approvals", [401, 403, 200, 200, 401]),
    ("GET", "/api/v1/approvals/A-NONE", [401, 403, 404, 404, 401]),
    ("POST", "/api/v1/approvals/A-NONE/allow", [401, 403, 404, 403, 401]),
    ("POST", "/api/v1/approvals/A-NONE/deny", [401, 403, 404, 403, 401]),
    ("GET", "/api/v1/approvals/A-NONE/always", [401, 403, 404, 404, 401]),
    ("POST", "/api/v1/approvals/A-NONE/always", [401, 403, 400, 403, 401]),
    ("GET", "/api/v1/calls", [401, 403, 200, 200, 401]),
    ("GET", "/api/v1/calls/999", [401, 403, 404, 404, 401]),
    ("GET", "/api/v1/audit", [401, 403, 200, 200, 401]),
    ("GET", "/api/v1/audit/export", [401, 403, 200, 200, 401]),
    ("POST", "/api/v1/explain", [401, 403, 400, 403, 401]),
    ("GET", "/api/v1/tokens", [401, 403, 200, 200, 401]),
    ("POST", "/api/v1/tokens", [401, 403, 400, 403, 401]),
    ("DELETE", "/api/v1/tokens/nobody", [401, 403, 404, 403, 401]),
    ("GET", "/api/v1/changes", [401, 403, 200, 200, 401]),
    ("GET", "/api/v1/changes/99", [401, 403, 404, 404, 401]),
    ("POST", "/api/v1/understand", [401, 403, 400, 403, 401]),
    ("POST", "/api/v1/servers", [401, 403, 400, 403, 401]),
    ("POST", "/api/v1/test", [401, 403, 400, 403, 401]),
    ("GET", "/api/v1/servers/nobody/settings", [401, 403, 404, 404, 401]),
    ("PUT", "/api/v1/servers/nobody/settings", [401, 403, 400, 403, 401]),
    ("GET", "/api/v1/servers/nobody/definitions", [401, 403, 404, 404, 401]),
    ("POST", "/api/v1/servers/nobody/pins", [401, 403, 400, 403, 401]),
    // A login is a person's own.
    ("POST", "/api/v1/servers/nobody/sign-in", [401, 403, 403, 403, 401]),
    ("POST", "/api/v1/servers/nobody/sign-out", [401, 403, 403, 403, 401]),
    ("GET", "/api/v1/rules", [401, 403, 200, 200, 401]),
    ("POST", "/api/v1/rules/check", [401, 403, 400, 403, 401]),
    ("DELETE", "/api/v1/rules/kept/none", [401, 403, 404, 403, 401]),
    ("GET", "/api/v1/files", [401, 403, 200, 200, 401]),
    ("PUT", "/api/v1/files", [401, 403, 400, 403, 401]),
    ("GET", "/api/v1/trust", [401, 403, 200, 200, 401]),
    ("POST", "/api/v1/trust", [401, 403, 400, 403, 401]),
    ("GET", "/api/v1/changes/99/undo", [401, 403, 404, 404, 401]),
    ("POST", "/api/v1/changes/99/undo", [401, 403, 400, 403, 401]),
    ("GET", "/api/v1/openapi.json", [401, 403, 200, 200, 401]),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_credential_at_every_route() {
    // A stranger through a proxy: the machine's word about who comes counts for nothing.
    let world = World::new(None).await;
    for (method, path, expected) in TABLE {
        let brought = [Brings::Nothing, Brings::Agent, Brings::Admin, Brings::Cookie, Brings::Wrong];
        for (brings, expected) in brought.into_iter().zip(expected) {
            let body = if path.ends_with("/mcp") { INITIALIZE } else { "" };
            let (status, text) = world.ask(method, path, brings, Some(OWNER), body).await;
            assert_eq!(status.as_u16(), *expected, "{method} {path} with {brings:?}: {text}");
            if *expected == 401 {
                assert!(!text.contains("csrf") && !text.contains("hv_"), "{method} {path}: {text}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_of_the_document_is_in_the_table() {
    let world = World::new(None).await;
    let (_, text) = world.ask("GET", "/api/v1/openapi.json", Brings::Admin, None, "").await;
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            let shape = |path: &str| path.split('/').count();
            let fits = |known: &str| {
                let parts = path.split('/').zip(known.split('/'));
                shape(path) == shape(known)
                    && parts.into_iter().all(|(part, known)| part.starts_with('{') || part == known)
            };
            let is_known =
                TABLE.iter().any(|(known_method, known, _)| known_method.eq_ignore_ascii_case(method) && fits(known));
            assert!(is_known, "{method} {path} is not in the table");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_loopback_the_owner_is_let_in_as_an_agent_and_nowhere_else() {
    let world = World::new(Some(OWNER)).await;
    let mcp = |user| world.ask("POST", "/mcp", Brings::Nothing, user, INITIALIZE);
    assert_eq!(mcp(Some(OWNER)).await.0, StatusCode::OK);
    assert_eq!(mcp(Some(OWNER + 1)).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(mcp(None).await.0, StatusCode::UNAUTHORIZED);
    for path in ["/", "/api/v1/tokens", "/live/overview"] {
        assert_eq!(
            world.ask("GET", path, Brings::Nothing, Some(OWNER), "").await.0,
            StatusCode::UNAUTHORIZED,
            "{path}"
        );
    }
    assert_eq!(world.ask("GET", "/metrics", Brings::Nothing, Some(OWNER), "").await.0, StatusCode::OK);
    assert_eq!(world.ask("GET", "/metrics", Brings::Nothing, Some(OWNER + 1), "").await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_the_session_works_and_one_of_another_origin_does_not() {
    let world = World::new(None).await;
    let (_, page) = world.ask("GET", "/tokens", Brings::Cookie, None, "").await;
    let csrf = page.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a token");
    let body = format!("csrf={csrf}&name=made-here&kind=agent&days=7");
    let post = || World::request("POST", "/tokens").header("cookie", &world.cookie);
    let mut secret = String::new();
    for (origin, expected) in
        [("http://evil.example", 403), ("http://127.0.0.1:9", 403), ("http://127.0.0.1:7333", 200)]
    {
        let (status, text) = world.send(post().header("origin", origin), None, &body).await;
        assert_eq!(status.as_u16(), expected, "{origin}: {text}");
        // `hv_`, 16 digits, `_`, 64 digits.
        let digits = |part: &str| part.chars().take_while(char::is_ascii_hexdigit).collect::<String>();
        let shown = text.split('_').map(digits).find(|digits| digits.len() == 64);
        assert_eq!(shown.is_some(), expected == 200, "a token is shown once, here");
        secret.push_str(&shown.unwrap_or_default());
    }
    let cross = post().header("sec-fetch-site", "cross-site");
    assert_eq!(world.send(cross, None, &body).await.0, StatusCode::FORBIDDEN);
    let (_, again) = world.ask("GET", "/tokens", Brings::Cookie, None, "").await;
    assert!(again.contains("made-here") && !again.contains(&secret), "it is never shown again");
    let rebound =
        http::Request::builder().method("GET").uri("/").header("host", "evil.example").header("cookie", &world.cookie);
    assert_eq!(world.send(rebound, None, "").await.0, StatusCode::FORBIDDEN, "a name that is not ours");
}

/// Under `no-referrer` a browser sends `Origin: null` with the page's own forms, and the door refuses them all.
#[tokio::test]
async fn a_page_lets_its_own_forms_say_where_they_come_from() {
    let world = World::new(None).await;
    let request = World::request("GET", "/").header("cookie", &world.cookie).body(bytes::Bytes::new());
    let peer = helve_serve::Peer { connection: 7, user: None };
    let response = std::sync::Arc::clone(&world.hub).handle(request.expect("a request"), peer).await;
    assert_eq!(response.headers()["referrer-policy"], "same-origin");
}
