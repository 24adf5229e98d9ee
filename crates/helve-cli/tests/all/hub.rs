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

<<<<<<< HEAD
=======
/// A hub that runs; killed when dropped.
pub(crate) struct Hub<'a> {
    environment: &'a TestEnv,
    child: Child,
    /// The link that it printed.
    link: String,
}

impl<'a> Hub<'a> {
    pub(crate) fn start(environment: &'a TestEnv, options: &[&str]) -> Self {
        let mut words = vec!["hub", "--http", "127.0.0.1:0", "--no-browser"];
        words.extend(options);
        let mut command = environment.command(&words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("started");
        let mut link = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut link).expect("a line");
        Self { environment, child, link: link.trim().to_owned() }
    }

    /// `127.0.0.1:4711`, wherever the world thinks it is.
    pub(crate) fn address(&self) -> String {
        let status = self.environment.json(&["hub", "status"]);
        status["listens"].as_str().expect("an address").to_owned()
    }

    fn token(&self, name: &str, more: &[&str]) -> String {
        let mut words = vec!["hub", "token", "make", name];
        words.extend(more);
        self.environment.stdout(&words).trim().to_owned()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        exchange(&mut self.connect(), method, path, headers, body)
    }

    /// Calls a tool as an agent of the older era does.
    fn call(&self, token: Option<&str>, tool: &str, arguments: &Value) -> Value {
        let mut agent = Agent::new(self, token);
        agent.request("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    fn tools(&self, token: Option<&str>) -> Vec<String> {
        let listed = Agent::new(self, token).request("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect()
    }

    fn cookie(&self) -> String {
        let path = self.link.splitn(4, '/').nth(3).expect("a path");
        let answer = self.ask("GET", &format!("/{path}"), &[], "");
        answer.header("set-cookie").expect("a cookie").split(';').next().expect("a value").to_owned()
    }
}

impl Drop for Hub<'_> {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

struct Agent<'a> {
    hub: &'a Hub<'a>,
    path: &'static str,
    token: Option<String>,
    session: Option<String>,
}

impl<'a> Agent<'a> {
    fn new(hub: &'a Hub<'a>, token: Option<&str>) -> Self {
        Self::at(hub, "/mcp", token)
    }

    fn at(hub: &'a Hub<'a>, path: &'static str, token: Option<&str>) -> Self {
        let mut agent = Self { hub, path, token: token.map(ToOwned::to_owned), session: None };
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let answer = agent.post(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }));
        assert_eq!(answer.status, 200, "{}", answer.body);
        agent.session = answer.header("mcp-session-id").map(ToOwned::to_owned);
        agent.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        agent
    }

    fn headers(&self) -> Vec<(String, String)> {
        let mut headers = vec![("accept".to_owned(), "application/json, text/event-stream".to_owned())];
        headers.extend(self.token.as_ref().map(|token| ("authorization".to_owned(), format!("Bearer {token}"))));
        headers.extend(self.session.as_ref().map(|session| ("mcp-session-id".to_owned(), session.clone())));
        headers
    }

    fn post(&self, message: &Value) -> Answer {
        let mut headers = self.headers();
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        self.hub.ask("POST", self.path, &headers, &message.to_string())
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
        let data = answer.body.lines().filter_map(|line| line.strip_prefix("data: ")).rfind(|data| !data.is_empty());
        serde_json::from_str(data.unwrap_or(&answer.body))
            .unwrap_or_else(|_| panic!("{} {}", answer.status, answer.body))
    }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }
}

fn exchange(
    stream: &mut (impl std::io::Read + std::io::Write),
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let has_host = headers.iter().any(|(name, _)| *name == "host");
    let host = if has_host { "" } else { "host: localhost\r\n" };
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let request =
        format!("{method} {path} HTTP/1.1\r\n{host}{more}connection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut bytes = Vec::new();
    // A peer that ends a safe connection without a word has said all the same.
    drop(stream.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    Answer { status, head: head.replace('\r', ""), body: body.to_owned() }
}

>>>>>>> w-packages
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
