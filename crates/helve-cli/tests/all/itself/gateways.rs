//! Gateways over HTTP that lead back to themselves, or to each other.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{PATIENCE, TestEnv};

/// An HTTP gateway in a home of its own.
struct Gateway {
    env: TestEnv,
    child: Child,
    address: String,
}

impl Gateway {
    fn new(config: &str) -> Self {
        let env = TestEnv::new();
        env.write("home/.config/helve/helve.toml", config);
        let mut child = env
            .command(&["serve", "--http", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("an address");
        let address = line.trim().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        Self { env, child, address }
    }

    /// How many tools an agent gets to see.
    fn tools(&self) -> usize {
        let (_, session) = self.post(None, &hello());
        let session = session.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
        let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
        let (status, answer) = self.post(Some(("mcp-session-id", session)), &list);
        assert_eq!(status, 200, "{answer}");
        answer.matches("\"inputSchema\"").count()
    }

    fn port(&self) -> &str {
        self.address.rsplit(':').next().expect("a port")
    }

    fn configure(&self, config: &str) {
        self.env.write("home/.config/helve/helve.toml", config);
    }

    /// The status of an answer to a request with one more header, and all of it.
    fn post(&self, header: Option<(&str, &str)>, message: &Value) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("connected");
        let body = message.to_string();
        let header = header.map(|(name, value)| format!("{name}: {value}\r\n")).unwrap_or_default();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             {header}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn hello() -> Value {
    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "agent", "version": "1" }
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

#[test]
fn s0_a_request_that_went_round_is_refused() {
    let gateway = Gateway::new("[servers.clock]\nbuiltin = \"time\"\n");
    assert_eq!(gateway.post(None, &hello()).0, 200);
    assert_eq!(gateway.post(Some(("helve-hops", "3")), &hello()).0, 200);
    let (status, answer) = gateway.post(Some(("Helve-Hops", "4")), &hello());
    assert_eq!(status, 508);
    assert!(answer.contains("this request has passed too many gateways"), "{answer}");
    assert_eq!(gateway.post(Some(("helve-hops", "many")), &hello()).0, 508);
}

#[test]
fn s0_two_gateways_that_are_each_others_servers_come_to_an_end() {
    /// So long the lists of two in a circle would grow.
    const WATCHED: Duration = Duration::from_secs(5);
    const CLOCK: &str = "[servers.clock]\nbuiltin = \"time\"\n";
    let left = Gateway::new(CLOCK);
    let right = Gateway::new(&format!("{CLOCK}[servers.left]\nurl = \"http://{}/mcp\"\n", left.address));
    let deadline = Instant::now() + PATIENCE;
    while right.tools() < 4 {
        assert!(Instant::now() < deadline, "{}", right.tools());
        std::thread::sleep(Duration::from_millis(50));
    }
    // What would close the circle is refused, and what was there before goes on.
    left.configure(&format!("{CLOCK}[servers.right]\nurl = \"http://{}/mcp\"\n", right.address));
    let end = Instant::now() + WATCHED;
    while Instant::now() < end {
        assert_eq!((left.tools(), right.tools()), (2, 4));
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// S21: an agent that says its request comes from far gets its own request refused, at most: the servers behind the gateway
/// hear nothing of it.
#[test]
fn s21_a_false_count_of_hops_is_its_own_requests_alone() {
    const CLOCK: &str = "[servers.clock]\nbuiltin = \"time\"\n";
    let behind = Gateway::new(CLOCK);
    let front = Gateway::new("");
    let made_up = "0123456789abcdef0123456789abcdef";
    for (name, value) in [("helve-hops", "3"), ("helve-hops", "4"), ("helve-trail", made_up)] {
        front.post(Some((name, value)), &hello());
    }
    front.configure(&format!("{CLOCK}[servers.behind]\nurl = \"http://{}/mcp\"\n", behind.address));
    let deadline = Instant::now() + PATIENCE;
    while front.tools() < 4 {
        assert!(Instant::now() < deadline, "{}", front.tools());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn s0_a_gateway_knows_its_own_address() {
    let gateway = Gateway::new("");
    let until = |wanted: usize| {
        let deadline = Instant::now() + PATIENCE;
        while gateway.tools() != wanted {
            assert!(Instant::now() < deadline, "{}", gateway.tools());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let built_in = gateway.tools();
    assert!(built_in > 2, "{built_in}");
    let clock = "[servers.clock]\nbuiltin = \"time\"\n";
    gateway.configure(&format!("{clock}[servers.me]\nurl = \"http://{}/sse\"\n", gateway.address));
    until(2);
    // Itself alone is not a server: the built-in ones are back.
    gateway.configure(&format!("[servers.me]\nurl = \"http://localhost:{}/mcp\"\n", gateway.port()));
    until(built_in);
}
