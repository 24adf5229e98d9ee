//! The hub as its person starts it: who comes in, over what, and what is left of it on the disk.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::sync::Arc;
use std::time::Instant;

use helve_testkit::Scenario;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};

use crate::running_hub::{Agent, Hub, Visitor, exchange, pem};
use crate::support::{PATIENCE, TestEnv, with_servers};

const ALLOW: &str = "[[rules]]\ntool = \"echo/*\"\naction = \"allow\"\n";

#[test]
fn beyond_this_machine_a_hub_is_reached_by_https_alone() {
    let environment = TestEnv::new();
    insta::assert_snapshot!(environment.run(&["hub", "--http", "0.0.0.0:0"]), @r"
    exit status 2
    --- stderr
    error: 0.0.0.0:0 can be reached from other machines, without https
    hint: give it a certificate with --tls-cert and --tls-key
    hint: or put a proxy with https in front, and name its address with --public
    hint: or listen at 127.0.0.1
    ");
    for public in ["http://hub.example.com", "https://hub.example.com/mcp", "https://", "hub.example.com"] {
        let said = environment.run(&["hub", "--public", public]);
        assert!(said.contains("exit status 2") && said.contains("https://hub.example.com"), "{public}: {said}");
    }
    environment.write("project/cert.pem", "nothing").write("project/key.pem", "nothing");
    insta::assert_snapshot!(environment.run(&["hub", "--tls-cert", "cert.pem", "--tls-key", "key.pem"]), @r"
    exit status 2
    --- stderr
    error: there is no certificate in [ROOT]/project/cert.pem
    hint: it is a file in PEM, with a line -----BEGIN CERTIFICATE-----
    ");
}

/// Behind a proxy whoever connects is the proxy, which is a user of this machine; what it says of others decides nothing.
#[test]
fn behind_a_proxy_everybody_brings_a_token_or_a_session() {
    let environment = with_servers(&[("echo", Scenario::modern())], ALLOW);
    let hub = Hub::start(&environment, &["--public", "https://hub.example.com"]);
    assert!(hub.link.starts_with("https://hub.example.com/sign-in/"), "{}", hub.link);
    let token = hub.token("laptop", &[]);
    let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } })
    .to_string();
    let bearer = format!("Bearer {token}");
    let ours = ("host", "hub.example.com");
    let json = ("content-type", "application/json");
    let accepts = ("accept", "application/json, text/event-stream");
    let forwarded = [("forwarded", "for=127.0.0.1;proto=http;host=localhost"), ("x-forwarded-for", "127.0.0.1")];
    for more in [None, Some(forwarded[0]), Some(forwarded[1]), Some(("x-real-ip", "127.0.0.1"))] {
        let mut headers = vec![ours, json, accepts];
        headers.extend(more);
        assert_eq!(hub.ask("POST", "/mcp", &headers, &message).status, 401, "{more:?}");
        assert_eq!(hub.ask("GET", "/metrics", &headers, "").status, 401, "{more:?}");
        assert_eq!(hub.ask("GET", "/", &headers, "").status, 401, "{more:?}");
        headers.push(("authorization", &bearer));
        assert_eq!(hub.ask("POST", "/mcp", &headers, &message).status, 200, "{more:?}");
        assert_eq!(hub.ask("GET", "/api/v1/tokens", &headers, "").status, 403, "{more:?}");
    }
    let path = hub.link.strip_prefix("https://hub.example.com").expect("a path");
    let signed_in = hub.ask("GET", path, &[ours], "");
    let cookie = signed_in.header("set-cookie").expect("a cookie");
    assert!(cookie.starts_with("__Host-hub=") && cookie.contains("; Secure"), "{cookie}");
    // A page that was not loaded by https is none of ours.
    let own = cookie.split(';').next().expect("a value");
    let page = hub.ask("GET", "/tokens", &[ours, ("cookie", own)], "").body;
    let csrf = page.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a token");
    let form = format!("csrf={csrf}&name=made&kind=agent&days=7");
    for (origin, status) in
        [("http://hub.example.com", 403), ("https://evil.example", 403), ("https://hub.example.com", 200)]
    {
        let headers =
            [ours, ("cookie", own), ("origin", origin), ("content-type", "application/x-www-form-urlencoded")];
        assert_eq!(hub.ask("POST", "/tokens", &headers, &form).status, status, "{origin}");
    }
}

#[test]
fn a_hub_speaks_https_with_a_certificate_of_its_own() {
    let environment = with_servers(&[("echo", Scenario::modern())], ALLOW);
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let certificate = pem("CERTIFICATE", own.cert.der());
    let key = pem("PRIVATE KEY", &own.signing_key.serialize_der());
    environment.write("project/cert.pem", &certificate).write("project/key.pem", &key);
    let hub = Hub::start(&environment, &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    assert!(hub.link.starts_with("https://127.0.0.1:"), "{}", hub.link);
    let mut roots = RootCertStore::empty();
    roots.add(own.cert.der().clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = Arc::new(config);
    let ask = |method: &str, path: &str, headers: &[(&str, &str)]| {
        let name = ServerName::try_from("localhost").expect("a name");
        let connection = ClientConnection::new(Arc::clone(&config), name).expect("a client");
        exchange(&mut StreamOwned::new(connection, hub.connect()), method, path, headers, "")
    };
    assert_eq!(ask("GET", "/healthz", &[]).status, 200);
    let path = format!("/{}", hub.link.splitn(4, '/').nth(3).expect("a path"));
    let signed_in = ask("GET", &path, &[]);
    let cookie = signed_in.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.starts_with("__Host-hub=") && cookie.contains("; Secure"), "{cookie}");
    let own = cookie.split(';').next().expect("a value");
    assert_eq!(ask("GET", "/", &[("cookie", own)]).status, 200);
    // What is not safe is not answered.
    assert_eq!(hub.ask("GET", "/healthz", &[], "").status, 0);
    // And one who says nothing at all does not keep the others waiting.
    let silent = hub.connect();
    assert_eq!(ask("GET", "/healthz", &[]).status, 200);
    drop(silent);
}

#[test]
fn a_rule_may_be_for_one_token() {
    let rules = "[[rules]]\ntool = \"echo/echo\"\nwho = \"token:ci-*\"\naction = \"allow\"\n\n\
                 [[rules]]\ntool = \"echo/echo\"\nwho = [\"token:web\", \"local\"]\naction = \"deny\"\n";
    let environment = with_servers(&[("echo", Scenario::modern())], rules);
    let hub = Hub::start(&environment, &[]);
    let (ci, web) = (hub.token("ci-1", &[]), hub.token("web", &[]));
    let name = "echo__echo".to_owned();
    assert!(hub.tools(Some(&ci)).contains(&name));
    assert!(!hub.tools(Some(&web)).contains(&name) && !hub.tools(None).contains(&name));
    let called = hub.call(Some(&ci), &name, &json!({ "a": 1 }));
    assert!(called["result"]["isError"] != true && called.get("result").is_some(), "{called}");
    for token in [Some(&*web), None] {
        let refused = hub.call(token, &name, &json!({ "a": 1 }));
        assert!(refused.get("error").is_some() || refused["result"]["isError"] == true, "{refused}");
    }
    let explained = |who: &str| environment.json(&["--json", "explain", "echo/echo", "--as", who])["action"].clone();
    assert_eq!([explained("token:ci-1"), explained("token:web"), explained("local")], ["allow", "deny", "deny"]);
    insta::assert_snapshot!(environment.run(&["explain", "echo/echo", "--as", "everybody"]), @r"
    exit status 2
    --- stderr
    error: --as cannot be `everybody`
    hint: write --as token:NAME, --as local or --as agent:NAME
    ");
}

/// Arguments and secrets: nowhere on the disk in clear, whatever a server's entry has recorded.
#[test]
fn what_calls_carry_is_nowhere_in_clear() {
    const ARGUMENT: &str = "canary-argument-4711-in-clear";
    const SECRET: &str = "canary-Secret-0815-in-clear";
    for record in ["", "record = \"all\"\n"] {
        let environment = with_servers(&[("echo", Scenario::modern())], ALLOW);
        let file = "home/.config/helve/helve.toml";
        let entry = format!("{record}env = {{ API_TOKEN = \"{SECRET}\" }}\n");
        let text = environment.read(file).replacen("[servers.echo]\n", &format!("[servers.echo]\n{entry}"), 1);
        environment.write(file, &text);
        let hub = Hub::start(&environment, &[]);
        let arguments = json!({ "text": ARGUMENT, "stolen": SECRET });
        let called = hub.call(None, "echo__echo", &arguments);
        assert!(called.to_string().contains(ARGUMENT), "{called}");
        let cookie = hub.cookie();
        let page = |path: &str| hub.ask("GET", path, &[("cookie", &cookie)], "").body;
        let started = Instant::now();
        while !page("/calls").contains("/calls/1\"") {
            assert!(started.elapsed() < PATIENCE, "the call was never recorded");
        }
        let shown = page("/calls/1");
        assert_eq!(shown.contains(ARGUMENT), !record.is_empty(), "what was asked for is shown, to people at the page");
        assert!(!shown.contains(SECRET), "a secret is never shown");
        let backup = environment.home().join("backup.db").display().to_string();
        let export = environment.home().join("export.jsonl").display().to_string();
        environment.stdout(&["hub", "backup", &backup]);
        environment.stdout(&["hub", "audit", "export", &export]);
        let metrics = hub.ask("GET", "/metrics", &[], "");
        assert_eq!(metrics.status, 200);
        assert!(!metrics.body.contains("canary"), "in the metrics");
        let check = || {
            for (path, text) in environment.files_below("home") {
                let is_own = path.ends_with("helve.toml");
                assert!(is_own || !text.contains("in-clear"), "in clear in {path}");
            }
        };
        check();
        drop(hub);
        check();
    }
}

#[test]
fn a_revoked_token_is_refused_at_once_and_its_stream_ends() {
    let environment = with_servers(&[("echo", Scenario::modern())], ALLOW);
    let hub = Hub::start(&environment, &[]);
    let token = hub.token("laptop", &[]);
    let agent = Agent::new(&hub, Some(&token));
    let mut stream = hub.connect();
    let more: String = agent.headers().iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    stream.write_all(format!("GET /mcp HTTP/1.1\r\nhost: localhost\r\n{more}\r\n").as_bytes()).expect("sent");
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    reader.read_line(&mut head).expect("a head");
    assert!(head.contains("200"), "{head}");
    let revoked = Instant::now();
    environment.stdout(&["hub", "token", "revoke", "laptop"]);
    let mut rest = Vec::new();
    drop(reader.read_to_end(&mut rest));
    assert_eq!(agent.post(&json!({ "jsonrpc": "2.0", "id": 5, "method": "ping" })).status, 401);
    // The program that revokes takes a while to start; what it does takes none.
    assert!(revoked.elapsed() < PATIENCE / 2, "it took {:?}", revoked.elapsed());
}

/// Whichever door a call comes through: the same decision, by the same rule, and the same in the record.
#[test]
fn every_door_meets_the_same_decision_and_leaves_the_same_record() {
    let rules = "[[rules]]\ntool = \"echo/echo\"\npattern = \"text=secret*\"\naction = \"deny\"\n\n\
                 [[rules]]\ntool = \"echo/echo\"\npattern = \"text=ask*\"\naction = \"ask\"\n\n\
                 [[rules]]\ntool = \"echo/echo\"\naction = \"allow\"\n";
    let environment = with_servers(&[("echo", Scenario::modern())], rules);
    let hub = Hub::start(&environment, &[]);
    let (agent, admin) = (hub.token("agent", &[]), format!("Bearer {}", hub.token("admin", &["--admin"])));
    let texts = ["fine", "secret", "ask me"];
    let make = |text: &str| {
        let arguments = json!({ "text": text });
        for (path, name) in [("/mcp", "echo__echo"), ("/s/echo/mcp", "echo")] {
            let call = json!({ "name": name, "arguments": arguments });
            let answer = Agent::at(&hub, path, Some(&agent)).request("tools/call", &call);
            let is_refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
            assert_eq!(is_refused, text != "fine", "{path} {text}: {answer}");
        }
        let headers = [("authorization", &*admin), ("content-type", "application/json")];
        let answer = hub.ask("POST", "/api/v1/tools/echo/echo/call", &headers, &arguments.to_string());
        assert_eq!(answer.status == 200, text == "fine", "{text}: {}", answer.body);
    };
    let page = Visitor::of(&hub);
    std::thread::scope(|scope| {
        scope.spawn(|| texts.map(make));
        // Each of the three that are held is refused by a person.
        for _ in 0..3 {
            page.clicks(&page.waits(1), "deny");
        }
    });
    let started = Instant::now();
    let calls = loop {
        let answer = hub.ask("GET", "/api/v1/calls", &[("authorization", &*admin)], "");
        let found: Value = serde_json::from_str(&answer.body).expect("JSON");
        let calls = found["calls"].as_array().cloned().unwrap_or_default();
        if calls.len() >= texts.len() * 3 {
            break calls;
        }
        assert!(started.elapsed() < PATIENCE, "not all were recorded: {found}");
    };
    assert_eq!(calls.len(), texts.len() * 3);
    // Whatever the door: of each decision there are three, by one rule, with one end.
    for decision in ["deny", "ask", "allow"] {
        let told: Vec<String> = calls
            .iter()
            .filter(|call| call["decision"] == decision)
            .map(|call| format!("{} {} {} {}", call["tool"], call["rule"], call["end"], call["code"]))
            .collect();
        assert_eq!(told.len(), 3, "{decision}: {calls:#?}");
        assert!(told.iter().all(|one| *one == told[0]), "{decision}: {told:#?}");
    }
}

/// The address of a socket holds about a hundred bytes; a home may be longer.
#[test]
fn a_hub_is_asked_however_long_the_path_of_its_home_is() {
    let environment = with_servers(&[("echo", Scenario::modern())], ALLOW);
    let long = environment.home().join("state-".repeat(30)).display().to_string();
    let environment = environment.with_variable("XDG_STATE_HOME", &long);
    let hub = Hub::start(&environment, &[]);
    assert!(environment.stdout(&["hub", "link"]).contains("/sign-in/"));
    assert!(!hub.tools(Some(&hub.token("laptop", &[]))).is_empty());
}

#[test]
fn a_hub_that_cannot_be_asked_says_so_and_does_not_start() {
    let environment = with_servers(&[("echo", Scenario::modern())], ALLOW);
    // Something else is where its socket would be, and does not go away.
    environment.write("home/.local/state/helve/hub/hub.sock/in-the-way", "");
    let said = environment.run(&["hub", "--http", "127.0.0.1:0", "--no-browser"]);
    assert!(said.starts_with("exit status 1") && !said.contains("panicked"), "{said}");
    assert!(said.contains("the hub's socket [ROOT]/home/.local/state/helve/hub/hub.sock cannot be had"), "{said}");
}
