//! Tests of the helper programs from outside: every piece of benchmark work is done once, small, by every column.
#![expect(clippy::disallowed_methods, reason = "it starts the programs under test")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

const BENCH: &str = env!("CARGO_BIN_EXE_xtask-bench");
const SERVER: &str = env!("CARGO_BIN_EXE_xtask-echo-server");

#[test]
fn small_calls_are_timed() {
    for subject in subjects() {
        let sample = work(&subject, json!({"echo": {"calls": 50}}));
        assert_eq!(sample["calls"], 50, "{subject}");
        assert!(number(&sample, "median_seconds") > 0.0);
        assert!(number(&sample, "total_seconds") >= 50.0 * 0.5 * number(&sample, "median_seconds"));
    }
}

#[test]
fn many_calls_at_once_are_timed() {
    for runtime in ["current-thread", "multi-thread"] {
        let subject = json!({"client": "rmcp", "runtime": runtime, "era": "legacy"});
        let sample = work(&subject, json!({"flood": {"calls": 640, "in_flight": 64}}));
        assert_eq!(sample["calls"], 640);
        assert!(number(&sample, "total_seconds") > 0.0);
    }
}

#[test]
fn a_large_result_takes_at_least_its_size() {
    const BYTES: f64 = 8e6;
    for subject in subjects() {
        for shape in ["text", "structured"] {
            let sample = work(&subject, json!({"large": {"shape": shape, "bytes": BYTES as u64, "calls": 2}}));
            assert!(number(&sample, "peak_growth_bytes") > 0.9 * BYTES, "{subject} {shape}: {sample}");
            assert!(number(&sample, "held_growth_bytes") <= number(&sample, "peak_growth_bytes") + 1e6);
        }
    }
}

#[test]
fn listings_idle_connections_and_connecting_are_measured() {
    for subject in subjects() {
        let list = work(&subject, json!({"list": {"tools": 2_000, "calls": 1}}));
        assert!(number(&list, "peak_growth_bytes") > 1.8e6, "{subject}: {list}");
        let idle = work(&subject, json!({"idle": {"connections": 3}}));
        assert_eq!(idle["calls"], 3);
        let connect = work(&subject, json!({"connect": {"connections": 5}}));
        assert!(number(&connect, "total_seconds") > 0.0);
    }
}

#[test]
fn the_http_floor_is_timed() {
    let subject = json!({"client": "floor", "runtime": "current-thread", "era": "legacy"});
    assert!(number(&work(&subject, json!({"http": {"calls": 20}})), "median_seconds") > 0.0);
}

#[test]
fn work_through_a_gateway_is_measured() {
    let calls = work_through_nothing(json!({"calls": {"seconds": 0.2}}));
    for field in ["/alone", "/one_agent/rate", "/one_agent/p99", "/many_agents/rate", "/idle", "/loaded"] {
        assert!(calls.pointer(field).unwrap().as_f64().unwrap() > 0.0, "{field}: {calls}");
    }
    assert!(number(&work_through_nothing(json!({"http": {"seconds": 0.1}})), "alone") > 0.0);
    assert!(number(&work_through_nothing(json!("start")), "start") > 0.0);
    let large = work_through_nothing(json!({"large": {"bytes": 1_000_000, "calls": 2}}));
    assert!(number(&large, "large") > 0.0, "{large}");
}

/// The server alone, as gateways are measured.
fn work_through_nothing(work: Value) -> Value {
    let behind = json!({"program": SERVER, "kind": "thin", "era": "modern"});
    let job = json!({"gateway": {"manner": "direct", "program": SERVER}, "behind": behind, "work": work});
    let output = Command::new(BENCH).arg("serve-child").arg(job.to_string()).output().unwrap();
    assert!(output.status.success(), "{job}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_echo_server_counts_connections() {
    let mut server = Command::new(SERVER).arg("http").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port: u16 = line.trim().rsplit(' ').next().unwrap().parse().unwrap();

    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let call = r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}"#;
    let answers: Vec<String> = ["one", "two"].iter().map(|_| exchange(&mut stream, "POST /mcp", call)).collect();
    let notified = exchange(&mut stream, "POST /mcp", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let stats = exchange(&mut std::net::TcpStream::connect(("127.0.0.1", port)).unwrap(), "GET /stats", "");
    server.kill().unwrap();
    server.wait().unwrap();

    let echoed = r#"{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"hi"}],"isError":false}}"#;
    assert!(answers.iter().all(|answer| answer.ends_with(echoed)), "{answers:?}");
    assert!(notified.starts_with("HTTP/1.1 202 Accepted\r\n"), "{notified}");
    assert!(stats.ends_with(r#"{"connections":1,"requests":3}"#), "{stats}");
}

#[test]
fn cycles_of_a_clean_client_leave_nothing() {
    let output = Command::new(BENCH)
        .args(["soak", "--server", SERVER, "--candidate", "floor", "--cycles", "10", "--bytes", "0"])
        .output()
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.starts_with("Cycles(10): descriptors "), "{told}");
}

/// Every column in both eras.
fn subjects() -> Vec<Value> {
    let columns = ["floor", "rmcp"];
    let with_era =
        |client| ["legacy", "modern"].map(|era| json!({"client": client, "runtime": "current-thread", "era": era}));
    columns.into_iter().flat_map(with_era).collect()
}

fn work(subject: &Value, work: Value) -> Value {
    let job = json!({"subject": subject, "server": SERVER, "work": work});
    let output = Command::new(BENCH).arg("child").arg(job.to_string()).output().unwrap();
    assert!(output.status.success(), "{job}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn number(sample: &Value, field: &str) -> f64 {
    sample[field].as_f64().unwrap()
}

/// One request and its answer on a connection that stays open.
fn exchange(stream: &mut std::net::TcpStream, target: &str, body: &str) -> String {
    write!(stream, "{target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        answer.extend(byte);
    }
    let head = String::from_utf8(answer).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}
