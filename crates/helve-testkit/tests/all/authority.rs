//! The fake authorization server, asked by hand: a login step by step, rotation with reuse detection, the gate.

use std::collections::BTreeMap;

use helve_testkit::Scenario;
use helve_testkit::authority::{Authority, ChallengeKind, DeviceKind, Switches, visit};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const VERIFIER: &str = "verifier-verifier-verifier-verifier-verifier";
/// SHA-256 of it in the alphabet of URLs, by another program.
const CHALLENGE: &str = "fD3GLJ_KzCDB0w6uDOSFNNdflrHwtv8Cizh6P5pJkfQ";

async fn post(authority: &Authority, path: &str, kind: &str, body: &str, bearer: Option<&str>) -> (u16, String, Value) {
    let host = authority.base().replace("http://", "");
    let mut stream = TcpStream::connect(&host).await.unwrap();
    let authorization = bearer.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\nAccept: application/json, text/event-stream\r\n{authorization}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let start = body.find('{').unwrap_or(body.len());
    let end = body.rfind('}').map_or(start, |end| end + 1);
    (status, head.to_owned(), serde_json::from_str(&body[start..end]).unwrap_or(Value::Null))
}

async fn form(authority: &Authority, path: &str, members: &[(&str, &str)]) -> (u16, Value) {
    let escaped = |text: &str| text.replace(':', "%3A").replace('/', "%2F");
    let body: Vec<String> = members.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
    let (status, _, value) = post(authority, path, "application/x-www-form-urlencoded", &body.join("&"), None).await;
    (status, value)
}

fn members(url: &str) -> BTreeMap<String, String> {
    let (_, query) = url.split_once('?').unwrap();
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Registers, authorizes, and gives the members of the token request.
async fn code(authority: &Authority) -> (String, String) {
    let redirect = "http://127.0.0.1:1/callback";
    let wish = json!({"redirect_uris": [redirect], "client_name": "hand"}).to_string();
    let (status, _, client) = post(authority, "/register", "application/json", &wish, None).await;
    assert_eq!(status, 201);
    let client = client["client_id"].as_str().unwrap().to_owned();
    let page = format!(
        "{}/authorize?client_id={client}&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback&state=s&code_challenge={CHALLENGE}&code_challenge_method=S256&resource=r",
        authority.base()
    );
    let back = members(&visit(&page).await.unwrap().url);
    assert_eq!(back["state"], "s");
    (client, back["code"].clone())
}

async fn tokens(authority: &Authority) -> (String, Value) {
    let (client, code) = code(authority).await;
    let (status, token) = form(
        authority,
        "/token",
        &[
            ("grant_type", "authorization_code"),
            ("client_id", &client),
            ("code", &code),
            ("redirect_uri", "http://127.0.0.1:1/callback"),
            ("code_verifier", VERIFIER),
            ("resource", "r"),
        ],
    )
    .await;
    assert_eq!(status, 200, "{token}");
    (client, token)
}

#[tokio::test]
async fn a_login_opens_the_gate() {
    let authority = Authority::start(&Scenario::modern(), Switches::default()).await.unwrap();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let (status, head, _) = post(&authority, "/mcp", "application/json", ping, None).await;
    assert_eq!(status, 401);
    assert!(head.contains("oauth-protected-resource/mcp"), "{head}");
    let (_, token) = tokens(&authority).await;
    let access = token["access_token"].as_str().unwrap();
    let (status, _, _) = post(&authority, "/mcp", "application/json", ping, Some(access)).await;
    assert_ne!(status, 401);
    authority.end_access_tokens();
    let (status, _, _) = post(&authority, "/mcp", "application/json", ping, Some(access)).await;
    assert_eq!(status, 401);
}

#[tokio::test]
async fn a_code_and_a_verifier_work_once_and_together() {
    let authority = Authority::start(&Scenario::modern(), Switches::default()).await.unwrap();
    let (client, code) = code(&authority).await;
    let ask = |verifier: &'static str| {
        let (client, code, authority) = (client.clone(), code.clone(), &authority);
        async move {
            let (_, answer) = form(
                authority,
                "/token",
                &[
                    ("grant_type", "authorization_code"),
                    ("client_id", &client),
                    ("code", &code),
                    ("redirect_uri", "http://127.0.0.1:1/callback"),
                    ("code_verifier", verifier),
                    ("resource", "r"),
                ],
            )
            .await;
            answer
        }
    };
    assert_eq!(ask("wrong").await["error"], "invalid_grant");
    assert_eq!(ask(VERIFIER).await["error"], "invalid_grant", "it was used up");
}

#[tokio::test]
async fn a_refresh_token_that_comes_twice_ends_the_login() {
    let authority = Authority::start(&Scenario::modern(), Switches::default()).await.unwrap();
    let (client, token) = tokens(&authority).await;
    let refresh = token["refresh_token"].as_str().unwrap();
    let ask = |refresh: String| {
        let (client, authority) = (client.clone(), &authority);
        async move {
            let members = [
                ("grant_type", "refresh_token"),
                ("client_id", &*client),
                ("refresh_token", &*refresh),
                ("resource", "r"),
            ];
            form(authority, "/token", &members).await.1
        }
    };
    let second = ask(refresh.to_owned()).await;
    assert_eq!(ask(refresh.to_owned()).await["error"], "invalid_grant");
    assert_eq!((authority.refreshes(), authority.reuses()), (1, 1));
    let newest = second["refresh_token"].as_str().unwrap().to_owned();
    assert_eq!(ask(newest).await["error"], "invalid_grant", "the whole login is revoked");
}

#[tokio::test]
async fn a_code_waits_until_it_is_typed_and_is_asked_about_slowly() {
    let switches = Switches { device: DeviceKind::Offered, device_interval: 0, ..Switches::default() };
    let authority = Authority::start(&Scenario::modern(), switches).await.unwrap();
    let grant = "urn:ietf:params:oauth:grant-type:device_code";
    let register = async |grants: &[&str]| {
        let wish = json!({"redirect_uris": [], "grant_types": grants}).to_string();
        let (_, _, client) = post(&authority, "/register", "application/json", &wish, None).await;
        client["client_id"].as_str().unwrap().to_owned()
    };
    let other = register(&["authorization_code"]).await;
    let (_, refused) = form(&authority, "/device_authorization", &[("client_id", &other)]).await;
    assert_eq!(refused["error"], "unauthorized_client");
    let client = register(&[grant]).await;
    let (status, given) = form(&authority, "/device_authorization", &[("client_id", &client)]).await;
    assert_eq!(status, 200, "{given}");
    let code = given["device_code"].as_str().unwrap();
    let ask = async || {
        let members = [("grant_type", grant), ("client_id", client.as_str()), ("device_code", code)];
        form(&authority, "/token", &members).await.1
    };
    assert_eq!(ask().await["error"], "authorization_pending");
    assert_eq!(visit(given["verification_uri_complete"].as_str().unwrap()).await.unwrap().status, 200);
    assert!(ask().await["access_token"].is_string());
    assert_eq!(ask().await["error"], "invalid_grant", "once");
    for (device, error) in [(DeviceKind::Denied, "access_denied"), (DeviceKind::Expired, "expired_token")] {
        authority.set(|switches| switches.device = device);
        let (_, given) = form(&authority, "/device_authorization", &[("client_id", &client)]).await;
        let code = given["device_code"].as_str().unwrap();
        let members = [("grant_type", grant), ("client_id", client.as_str()), ("device_code", code)];
        assert_eq!(form(&authority, "/token", &members).await.1["error"], error);
    }
    authority.set(|switches| (switches.device, switches.device_interval) = (DeviceKind::Offered, 60));
    let (_, given) = form(&authority, "/device_authorization", &[("client_id", &client)]).await;
    let members = [
        ("grant_type", grant),
        ("client_id", client.as_str()),
        ("device_code", given["device_code"].as_str().unwrap()),
    ];
    assert_eq!(form(&authority, "/token", &members).await.1["error"], "slow_down", "it came too soon");
    assert_eq!(authority.hasty_questions(), 1);
}

#[tokio::test]
async fn switches_change_what_is_said() {
    let switches = Switches { challenge: ChallengeKind::Absent, server_metadata: false, ..Switches::default() };
    let authority = Authority::start(&Scenario::modern(), switches).await.unwrap();
    let (_, head, _) = post(&authority, "/mcp", "application/json", "{}", None).await;
    assert!(!head.to_lowercase().contains("www-authenticate"), "{head}");
    let place = format!("{}/.well-known/oauth-authorization-server", authority.base());
    assert_eq!(visit(&place).await.unwrap().status, 404);
    authority.set(|switches| switches.server_metadata = true);
    let document: Value = serde_json::from_str(&visit(&place).await.unwrap().body).unwrap();
    assert_eq!(document["issuer"], authority.base());
    assert_eq!(authority.count("/.well-known/oauth-authorization-server"), 2);
}
