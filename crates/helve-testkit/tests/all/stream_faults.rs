//! Each fault of a byte stream, in process.

use std::time::Duration;

use helve_testkit::{EndlessLine, Noise, OneAtATime, RecordedEvent, Scenario};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{Client, DEADLINE};

async fn legacy(scenario: &Scenario) -> (Client, helve_testkit::Recorder) {
    Client::legacy(scenario, "2025-11-25").await
}

#[tokio::test]
async fn the_peer_can_exit_at_once() {
    let (mut client, recorder) = Client::in_process(&Scenario::legacy().exits_at_once(7));
    assert_eq!(client.line().await, None);
    assert_eq!(recorder.recording().entries, [RecordedEvent::Exited { status: 7 }]);
}

#[tokio::test]
async fn the_end_of_input_ends_the_peer_unless_it_ignores_it() {
    let (mut client, recorder) = legacy(&Scenario::legacy()).await;
    client.close_writer().await;
    assert_eq!(client.line().await, None);
    assert!(recorder.recording().entries.contains(&RecordedEvent::Eof));

    let (mut client, recorder) = legacy(&Scenario::legacy().ignores_eof()).await;
    client.start("tools/call", json!({ "name": "sleep", "arguments": { "ms": 30 } })).await;
    client.close_writer().await;
    let eof = |recording: &helve_testkit::Recording| recording.entries.contains(&RecordedEvent::Eof).then_some(());
    recorder.wait_for("end of input", DEADLINE, eof).await.unwrap();
    assert_eq!(client.message().await["result"]["content"][0]["text"], "slept");
}

#[tokio::test]
async fn a_peer_that_never_reads_fills_the_pipe() {
    let mut peer = Scenario::legacy().never_reads().in_process();
    let written = tokio::time::timeout(Duration::from_millis(50), peer.stream.write_all(&vec![b'x'; 1 << 20])).await;
    assert!(written.is_err(), "{written:?}");
    assert_eq!(peer.recorder.bytes_received(), 0);
}

#[tokio::test]
async fn a_peer_that_never_answers_still_listens() {
    let (mut client, recorder) = Client::in_process(&Scenario::legacy().never_answers());
    client.start("ping", json!({})).await;
    recorder.wait_for_method("ping", 1, DEADLINE).await.unwrap();
    client.close_writer().await;
    assert_eq!(client.line().await, None);
}

#[tokio::test]
async fn delays_are_kept() {
    let scenario = Scenario::legacy().start_delay_ms(30).answer_delay_ms(30);
    let started = std::time::Instant::now();
    let (mut client, recorder) = Client::in_process(&scenario);
    client.request("ping", json!({})).await;
    assert!(started.elapsed() >= Duration::from_millis(60), "{:?}", started.elapsed());
    assert_eq!(recorder.methods(), ["ping"]);
}

#[tokio::test]
async fn an_endless_line_has_its_length() {
    let bytes = 3_000_001;
    let scenario = Scenario::legacy().endless_line(EndlessLine { bytes, newline: true });
    let (mut client, _recorder) = Client::in_process(&scenario);
    assert_eq!(client.line().await.unwrap().len() as u64, bytes + 1);
    client.request("ping", json!({})).await;

    let mut peer = Scenario::legacy().endless_line(EndlessLine { bytes, newline: false }).in_process();
    peer.stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await.unwrap();
    let mut line = vec![0; usize::try_from(bytes).unwrap() + 1];
    peer.stream.read_exact(&mut line).await.unwrap();
    assert_eq!(line.pop(), Some(b'{'));
    assert!(line.iter().all(|byte| *byte == b'x'));
}

#[tokio::test]
async fn noise_comes_before_and_around() {
    let (mut client, _recorder) = Client::in_process(&Scenario::legacy().noise_at_start(Noise::mixed(4)));
    let mut kinds = Vec::new();
    for _ in 0..4 {
        kinds.push(serde_json::from_slice::<Value>(&client.line().await.unwrap()).is_ok());
    }
    assert_eq!(kinds, [false, true, false, true]);

    let (mut client, _recorder) = legacy(&Scenario::legacy().noise_around_calls(Noise::text(2))).await;
    client.start("tools/call", json!({ "name": "echo" })).await;
    let mut lines = Vec::new();
    for _ in 0..5 {
        lines.push(client.line().await.unwrap()[0]);
    }
    assert_eq!(lines, [b'[', b'[', b'{', b'[', b'[']);

    let (mut client, _recorder) = legacy(&Scenario::legacy()).await;
    client.call("noise", json!({ "lines": 3, "kind": "json" })).await;
    let seen: Vec<&Value> = client.others.iter().map(|record| &record["seq"]).collect();
    assert_eq!(seen, [0, 1, 2]);
}

#[tokio::test]
async fn a_million_lines_of_noise_take_seconds() {
    let scenario = Scenario::legacy().noise_around_calls(Noise::mixed(500));
    let mut peer = scenario.in_process();
    let (mut reader, mut writer) = tokio::io::split(&mut peer.stream);
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}"#;
    let writing = async {
        writer.write_all(hello.as_bytes()).await.unwrap();
        for id in 1..=1000 {
            let call = format!(
                "\n{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\"}}}}"
            );
            writer.write_all(call.as_bytes()).await.unwrap();
        }
        writer.write_all(b"\n").await.unwrap();
    };
    let reading = async {
        let mut buffer = vec![0; 65_536];
        let mut lines = 0;
        while lines < 1 + 1000 * 1001 {
            let count = reader.read(&mut buffer).await.unwrap();
            assert!(count > 0, "the stream ended after {lines} lines");
            lines += buffer[..count].iter().filter(|byte| **byte == b'\n').count();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), async { tokio::join!(writing, reading) }).await.unwrap();
    assert_eq!(peer.recorder.count("tools/call"), 1000);
}

#[tokio::test]
async fn lines_can_end_with_carriage_returns() {
    let (mut client, _recorder) = Client::in_process(&Scenario::legacy().crlf());
    client.start("ping", json!({})).await;
    assert!(client.line().await.unwrap().ends_with(b"}\r\n"));
}

#[tokio::test]
async fn a_scripted_answer_is_written_as_it_is() {
    let scenario = Scenario::legacy().scripted("tools/list", "{\"id\":$ID,\"id\":$ID,\n");
    let (mut client, _recorder) = legacy(&scenario).await;
    let id = client.start("tools/list", json!({})).await;
    assert_eq!(client.line().await.unwrap(), format!("{{\"id\":{id},\"id\":{id},\n").into_bytes());
}

#[tokio::test]
async fn one_at_a_time_means_it() {
    for (rule, outcome) in [(OneAtATime::Drops, "silence"), (OneAtATime::Fails, "error"), (OneAtATime::Exits, "exit")] {
        let (mut client, recorder) = legacy(&Scenario::legacy().one_at_a_time(rule)).await;
        let slow = client.start("tools/call", json!({ "name": "sleep", "arguments": { "ms": 100 } })).await;
        let second = client.start("ping", json!({})).await;
        match outcome {
            "silence" => assert_eq!(client.message().await["id"], slow),
            "error" => assert_eq!(client.answer(second).await["error"]["code"], -32603),
            _ => assert_eq!(client.line().await, None),
        }
        assert_eq!(recorder.violations(), ["ping while another request runs"]);
    }
    let (mut client, recorder) = legacy(&Scenario::legacy().one_at_a_time(OneAtATime::Exits)).await;
    client.call("sleep", json!({ "ms": 1 })).await;
    client.call("echo", json!({})).await;
    assert_eq!(recorder.violations(), [] as [String; 0]);
}

#[tokio::test]
async fn notifications_can_flood() {
    let (mut client, _recorder) = legacy(&Scenario::legacy()).await;
    client.call("notify", json!({ "count": 20_000 })).await;
    assert_eq!(client.others.len(), 20_000);
    assert_eq!(client.others[19_999]["params"]["data"], 19_999);
    client.others.clear();
    client.call("notify", json!({ "count": 1, "method": "notifications/odd", "params": { "x": 1 } })).await;
    assert_eq!(client.others, [json!({ "jsonrpc": "2.0", "method": "notifications/odd", "params": { "x": 1 } })]);
}

#[tokio::test]
async fn big_results_have_their_size_and_may_lack_their_end() {
    let (mut client, _recorder) = legacy(&Scenario::legacy()).await;
    let result = client.call("big", json!({ "bytes": 2_000_000 })).await;
    assert_eq!(result["content"][0]["text"].as_str().unwrap().len(), 2_000_000);
    let result = client.call("big", json!({ "bytes": 10, "structured": true })).await;
    assert_eq!(result["structuredContent"], json!({ "filling": "xxxxxxxxxx" }));
    client.start("tools/call", json!({ "name": "big", "arguments": { "bytes": 10, "unfinished": true } })).await;
    assert!(client.line().await.unwrap().ends_with(b"xxxxxxxxxx\n"));
    let kinds = client.call("contents", json!({})).await["content"].clone();
    let kinds: Vec<&str> = kinds.as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image", "audio", "resource_link", "resource", "hologram"]);
}

#[tokio::test]
async fn the_stream_can_be_closed_while_the_peer_lives() {
    let (mut client, recorder) = legacy(&Scenario::legacy()).await;
    client.start("tools/call", json!({ "name": "close_stdout" })).await;
    assert_eq!(client.line().await, None);
    client.start("ping", json!({})).await;
    recorder.wait_for_method("ping", 1, DEADLINE).await.unwrap();
}

#[tokio::test]
async fn the_peer_can_end_itself_with_and_without_an_answer() {
    let (mut client, recorder) = legacy(&Scenario::legacy()).await;
    client.start("tools/call", json!({ "name": "exit", "arguments": { "status": 5 } })).await;
    assert_eq!(client.line().await, None);
    assert_eq!(recorder.recording().entries.last(), Some(&RecordedEvent::Exited { status: 5 }));
    let (mut client, _recorder) = legacy(&Scenario::legacy()).await;
    assert_eq!(client.call("exit", json!({ "answer": true })).await["content"][0]["text"], "bye");
    assert_eq!(client.line().await, None);
}

#[tokio::test]
async fn wrong_frames_of_the_client_are_recorded() {
    let (mut client, recorder) = legacy(&Scenario::legacy()).await;
    client.write("what").await;
    assert_eq!(client.message().await["error"]["code"], -32700);
    client.write(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#).await;
    client.write(r#"{"jsonrpc":"2.0"}"#).await;
    client.write(r#"{"id":true,"method":"ping"}"#).await;
    client.message().await;
    let slow = client.start("tools/call", json!({ "name": "sleep", "arguments": { "ms": 20 } })).await;
    client.write(&format!(r#"{{"jsonrpc":"2.0","id":{slow},"method":"ping"}}"#)).await;
    client.message().await;
    client.write(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#).await;
    client.request("ping", json!({})).await;
    insta::assert_snapshot!(recorder.violations().join("\n"), @r#"
    not a JSON-RPC message: expected value at line 1 column 1
    an answer to nothing: id 77
    a message without method and id
    jsonrpc is not "2.0"
    an id must be a string or a number: true
    the id 2 is in use
    a cancellation without requestId
    "#);
}

#[tokio::test]
async fn what_was_not_seen_is_told_with_what_was() {
    let (mut client, recorder) = Client::in_process(&Scenario::legacy());
    client.request("ping", json!({})).await;
    let missing = recorder.wait_for_method("tools/list", 2, Duration::from_millis(1)).await.unwrap_err();
    insta::assert_snapshot!(missing, @r#"
    not seen within 1ms: 2 × tools/list; the peer has seen:
      {"frame":"{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{}}"}
    "#);
}

#[tokio::test]
async fn the_recording_can_be_fetched_and_found_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("recording.jsonl");
    let (mut client, recorder) = legacy(&Scenario::legacy().record_to(&file)).await;
    let fetched = client.call("recorded", json!({})).await["structuredContent"]["entries"].clone();
    assert_eq!(fetched, serde_json::to_value(recorder.recording()).unwrap());
    assert_eq!(helve_testkit::Recording::load(&file).unwrap(), recorder.recording());

    let (_client, recorder) = Client::in_process(&Scenario::legacy().record_to(directory.path().join("none/x")));
    assert_eq!(recorder.violations().len(), 1);
}

#[tokio::test]
async fn descendants_and_stderr_need_a_process() {
    let (mut client, _recorder) = legacy(&Scenario::legacy()).await;
    let answer = client.request("tools/call", json!({ "name": "spawn_descendants" })).await;
    assert_eq!(answer["error"]["code"], -32602);
}
