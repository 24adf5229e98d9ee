//! A hub that runs as a program, whoever asks it over HTTP, and an agent of either era.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::support::{PATIENCE, TestEnv};

/// A hub that runs; killed when dropped.
pub(crate) struct Hub<'a> {
    environment: &'a TestEnv,
    child: Child,
    /// The link that it printed.
    pub(crate) link: String,
}

impl<'a> Hub<'a> {
    pub(crate) fn start(environment: &'a TestEnv, options: &[&str]) -> Self {
        Self::start_at(environment, "127.0.0.1:0", options)
    }

    /// The same at this address.
    pub(crate) fn start_at(environment: &'a TestEnv, address: &str, options: &[&str]) -> Self {
        let mut words = vec!["hub", "--http", address, "--no-browser"];
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

    /// Ends it in the middle of whatever it does (SIGKILL).
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("there");
        self.child.wait().expect("ended");
    }

    pub(crate) fn token(&self, name: &str, more: &[&str]) -> String {
        let mut words = vec!["hub", "token", "make", name];
        words.extend(more);
        self.environment.stdout(&words).trim().to_owned()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        exchange(&mut self.connect(), method, path, headers, body)
    }

    /// Calls a tool as an agent of the older era does.
    pub(crate) fn call(&self, token: Option<&str>, tool: &str, arguments: &Value) -> Value {
        let mut agent = Agent::new(self, token);
        agent.request("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    pub(crate) fn tools(&self, token: Option<&str>) -> Vec<String> {
        let listed = Agent::new(self, token).request("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect()
    }

    pub(crate) fn cookie(&self) -> String {
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

pub(crate) struct Agent<'a> {
    hub: &'a Hub<'a>,
    path: &'static str,
    token: Option<String>,
    session: Option<String>,
}

impl<'a> Agent<'a> {
    pub(crate) fn new(hub: &'a Hub<'a>, token: Option<&str>) -> Self {
        Self::at(hub, "/mcp", token)
    }

    pub(crate) fn at(hub: &'a Hub<'a>, path: &'static str, token: Option<&str>) -> Self {
        let mut agent = Self { hub, path, token: token.map(ToOwned::to_owned), session: None };
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let answer = agent.post(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }));
        assert_eq!(answer.status, 200, "{}", answer.body);
        agent.session = answer.header("mcp-session-id").map(ToOwned::to_owned);
        agent.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        agent
    }

    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        let mut headers = vec![("accept".to_owned(), "application/json, text/event-stream".to_owned())];
        headers.extend(self.token.as_ref().map(|token| ("authorization".to_owned(), format!("Bearer {token}"))));
        headers.extend(self.session.as_ref().map(|session| ("mcp-session-id".to_owned(), session.clone())));
        headers
    }

    pub(crate) fn post(&self, message: &Value) -> Answer {
        let mut headers = self.headers();
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        self.hub.ask("POST", self.path, &headers, &message.to_string())
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
        let data = answer.body.lines().filter_map(|line| line.strip_prefix("data: ")).rfind(|data| !data.is_empty());
        serde_json::from_str(data.unwrap_or(&answer.body))
            .unwrap_or_else(|_| panic!("{} {}", answer.status, answer.body))
    }
}

/// Calls a tool at an address, as an agent of the older era does.
pub(crate) fn call_at(address: &str, token: Option<&str>, tool: &str, arguments: &Value) -> Value {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("host", address),
    ];
    headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
    let post = |headers: &[(&str, &str)], message: Value| {
        let mut stream = TcpStream::connect(address).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        exchange(&mut stream, "POST", "/mcp", headers, &message.to_string())
    };
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let opened = post(&headers, json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }));
    let session =
        opened.header("mcp-session-id").unwrap_or_else(|| panic!("{} {}", opened.status, opened.body)).to_owned();
    headers.push(("mcp-session-id", &session));
    post(&headers, json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let params = json!({ "name": tool, "arguments": arguments });
    let answer = post(&headers, json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }));
    let data = answer.body.lines().filter_map(|line| line.strip_prefix("data: ")).rfind(|data| !data.is_empty());
    serde_json::from_str(data.unwrap_or(&answer.body)).unwrap_or_else(|_| panic!("{} {}", answer.status, answer.body))
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }
}

pub(crate) fn exchange(
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

/// Bytes as people keep certificates and keys.
pub(crate) fn pem(label: &str, bytes: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(bytes);
    let lines: Vec<&str> = text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// The address that a hub's link names.
pub(crate) fn address(hub: &Hub<'_>) -> String {
    hub.link.trim_start_matches("http://").split('/').next().expect("an address").to_owned()
}

/// Somebody at the page of a hub.
pub(crate) struct Visitor {
    address: String,
    cookie: String,
}

impl Visitor {
    pub(crate) fn of(hub: &Hub<'_>) -> Self {
        Self::by(&hub.link)
    }

    /// Signs in by a link.
    pub(crate) fn by(link: &str) -> Self {
        let (address, path) = link.trim_start_matches("http://").split_once('/').expect("a link");
        let mut visitor = Self { address: address.to_owned(), cookie: String::new() };
        let answer = visitor.ask("GET", &format!("/{path}"), "");
        visitor.cookie = answer.header("set-cookie").expect("a cookie").split(';').next().expect("a value").to_owned();
        visitor
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        let headers = [("cookie", &*self.cookie), ("content-type", "application/x-www-form-urlencoded")];
        exchange(&mut stream, method, path, &headers, body)
    }

    /// The questions that wait, when so many callers wait in all.
    pub(crate) fn waiting(&self, questions: usize, callers: u64) -> Vec<String> {
        let started = Instant::now();
        loop {
            let answer = self.ask("GET", "/api/v1/approvals", "");
            let list: Value = serde_json::from_str(&answer.body).expect("JSON");
            let waiting = list["waiting"].as_array().expect("a list");
            let count: u64 = waiting.iter().filter_map(|one| one["callers"].as_u64()).sum();
            if waiting.len() == questions && count == callers {
                return waiting.iter().filter_map(|one| Some(one["id"].as_str()?.to_owned())).collect();
            }
            assert!(started.elapsed() < PATIENCE, "{list:#}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn waits(&self, callers: u64) -> String {
        self.waiting(1, callers).remove(0)
    }

    pub(crate) fn clicks(&self, id: &str, verb: &str) {
        let page = self.ask("GET", "/approvals", "").body;
        let csrf = page.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("one");
        let answer = self.ask("POST", &format!("/approvals/{id}/{verb}"), &format!("csrf={csrf}"));
        assert_eq!(answer.status, 303, "{}", answer.body);
    }
}
