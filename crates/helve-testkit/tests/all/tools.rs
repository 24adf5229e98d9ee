//! Each tool, in the eras where it differs.

use helve_testkit::{RecordedEvent, Scenario};
use serde_json::{Value, json};

use crate::client::{Client, DEADLINE, with_meta};

async fn legacy() -> (Client, helve_testkit::Recorder) {
    Client::legacy(&Scenario::legacy(), "2025-11-25").await
}

#[tokio::test]
async fn echo_returns_the_very_bytes() {
    let (mut client, _recorder) = legacy().await;
    let arguments = r#"{"z": 1.50, "a": "\u00e9\/", "n": 12345678901234567890123}"#;
    client
        .write(&format!(r#"{{"jsonrpc":"2.0","id":"x\u0041","method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}"#))
        .await;
    let line = String::from_utf8(client.line().await.unwrap()).unwrap();
    let text = Value::from(arguments);
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":"x\u0041","result":{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{arguments}}}}}"#
    );
    assert_eq!(line.trim_end(), expected);
}

#[tokio::test]
async fn echo_in_the_modern_era_says_what_kind_of_result_it_is() {
    let (mut client, _recorder) = Client::in_process(&Scenario::modern());
    let answer = client.modern("tools/call", json!({ "name": "echo", "arguments": { "a": 1 } })).await;
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["structuredContent"], json!({ "a": 1 }));
    assert!(answer["result"].get("ttlMs").is_none());
}

#[tokio::test]
async fn fail_is_an_outcome_and_unknown_tools_are_errors() {
    let (mut client, _recorder) = legacy().await;
    let result = client.call("fail", json!({ "message": "no luck" })).await;
    assert_eq!(result, json!({ "content": [{ "type": "text", "text": "no luck" }], "isError": true }));
    let answer = client.request("tools/call", json!({ "name": "nothing" })).await;
    assert_eq!(answer["error"]["code"], -32602);
}

#[tokio::test]
async fn a_sleeping_call_can_be_cancelled() {
    let (mut client, recorder) = legacy().await;
    let id = client.start("tools/call", json!({ "name": "sleep", "arguments": { "ms": 60_000 } })).await;
    let params = json!({ "requestId": id, "reason": "enough" });
    client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string()).await;
    assert_eq!(recorder.wait_for_cancel(DEADLINE).await.unwrap(), id.to_string());
    let cancelled = RecordedEvent::Cancelled { id: id.to_string(), tool: Some("sleep".to_string()) };
    assert!(recorder.recording().entries.contains(&cancelled));
    // Later calls go on as before.
    assert_eq!(client.call("sleep", json!({ "ms": 0 })).await["content"][0]["text"], "slept");
    assert_eq!(client.others, [] as [Value; 0]);
}

#[tokio::test]
async fn a_call_can_answer_although_it_was_cancelled() {
    let (mut client, recorder) = legacy().await;
    let arguments = json!({ "ms": 100, "ignore_cancel": true });
    let id = client.start("tools/call", json!({ "name": "sleep", "arguments": arguments })).await;
    let params = json!({ "requestId": id });
    client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string()).await;
    assert_eq!(client.answer(id).await["result"]["content"][0]["text"], "slept");
    recorder.wait_for_cancel(DEADLINE).await.unwrap();
}

#[tokio::test]
async fn progress_is_reported_in_order_if_asked_for() {
    let (mut client, _recorder) = legacy().await;
    let params = json!({ "name": "progress", "arguments": { "steps": 3 }, "_meta": { "progressToken": "p" } });
    client.request("tools/call", params).await;
    let seen: Vec<Value> = client.others.iter().map(|message| message["params"]["progress"].clone()).collect();
    assert_eq!(seen, [1, 2, 3]);
    assert_eq!(client.others[0]["params"]["progressToken"], "p");
    client.others.clear();
    client.call("progress", json!({ "steps": 3 })).await;
    assert_eq!(client.others, [] as [Value; 0]);
}

#[tokio::test]
async fn raw_writes_exactly_the_given_bytes() {
    let (mut client, _recorder) = legacy().await;
    let id = client.start("tools/call", json!({ "name": "raw", "arguments": { "text": "half of $ID\n" } })).await;
    assert_eq!(client.line().await.unwrap(), format!("half of {id}\n").into_bytes());
    // 0xff 0x00 "$ID" newline
    let arguments = json!({ "base64": "/wAkSUQK", "then_answer": true });
    let id = client.start("tools/call", json!({ "name": "raw", "arguments": arguments })).await;
    let mut expected = vec![0xff, 0];
    expected.extend_from_slice(format!("{id}\n").as_bytes());
    assert_eq!(client.line().await.unwrap(), expected);
    assert_eq!(client.answer(id).await["result"]["content"][0]["text"], "written");
}

#[tokio::test]
async fn ask_sends_requests_in_the_legacy_era() {
    let (mut client, recorder) = legacy().await;
    for (kind, method) in [
        ("form", "elicitation/create"),
        ("url", "elicitation/create"),
        ("sampling", "sampling/createMessage"),
        ("roots", "roots/list"),
    ] {
        let arguments = json!({ "kind": kind, "rounds": 2 });
        let call = client.start("tools/call", json!({ "name": "ask", "arguments": arguments })).await;
        for round in 1..=2 {
            let asked = client.message().await;
            assert_eq!(asked["method"], method, "{asked}");
            let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "round": round } });
            client.write(&answer.to_string()).await;
        }
        let result = client.answer(call).await["result"]["structuredContent"].clone();
        assert_eq!(result, json!({ "answers": [{ "round": 1 }, { "round": 2 }] }));
    }
    let answered = RecordedEvent::Answered { method: "roots/list".to_string(), answer: json!({ "round": 2 }) };
    assert!(recorder.recording().entries.contains(&answered));
    assert_eq!(recorder.violations(), [] as [String; 0]);
}

#[tokio::test]
async fn ask_hands_on_what_the_client_refuses() {
    let (mut client, _recorder) = legacy().await;
    let call = client.start("tools/call", json!({ "name": "ask", "arguments": {} })).await;
    let asked = client.message().await;
    let error = json!({ "code": -32601, "message": "no" });
    client.write(&json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }).to_string()).await;
    let result = client.answer(call).await["result"]["structuredContent"].clone();
    assert_eq!(result, json!({ "answers": [{ "error": error }] }));
}

/// Sends a modern `ask` call with this retry part spliced in as text, and returns the answer's text.
async fn ask_by_hand(client: &mut Client, id: u32, arguments: &str, retry: &str) -> String {
    let meta = with_meta(json!({}))["_meta"].clone();
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"ask","arguments":{arguments},"_meta":{meta}{retry}}}}}"#
    );
    client.write(&line).await;
    String::from_utf8(client.line().await.unwrap()).unwrap()
}

/// The JSON text of `requestState` in an answer.
fn state_token(answer: &str) -> String {
    let start = answer.find(r#""requestState":"#).unwrap() + r#""requestState":"#.len();
    let end = answer[start..].find(r#"","resultType""#).unwrap();
    answer[start..=start + end].to_string()
}

#[tokio::test]
async fn ask_makes_rounds_in_the_modern_era() {
    let (mut client, recorder) = Client::in_process(&Scenario::modern());
    let arguments = r#"{"kind":"mixed","rounds":2}"#;
    let first = ask_by_hand(&mut client, 1, arguments, "").await;
    let message: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(message["result"]["resultType"], "input_required");
    assert_eq!(message["result"]["inputRequests"]["q1.0"]["method"], "elicitation/create");
    assert_eq!(message["result"]["inputRequests"]["q1.1"]["method"], "sampling/createMessage");

    let answers = r#"{"q1.0":{"action":"accept","content":{"name":"a|b"}},"q1.1":{"model":"m"}}"#;
    let retry = format!(r#","inputResponses":{answers},"requestState":{}"#, state_token(&first));
    let second = ask_by_hand(&mut client, 2, arguments, &retry).await;
    let answers = r#"{"q2.0":{"action":"decline"},"q2.1":{"model":"n"}}"#;
    // The second time the state is re-encoded: the value is the same, the bytes are not.
    let state: String = serde_json::from_str(&state_token(&second)).unwrap();
    let retry = format!(r#","inputResponses":{answers},"requestState":{}"#, Value::from(state));
    let last: Value = serde_json::from_str(&ask_by_hand(&mut client, 3, arguments, &retry).await).unwrap();
    assert_eq!(last["result"]["resultType"], "complete");
    let expected = json!([{ "action": "accept", "content": { "name": "a|b" } }, { "model": "m" },
                          { "action": "decline" }, { "model": "n" }]);
    assert_eq!(last["result"]["structuredContent"]["answers"], expected);

    let states: Vec<RecordedEvent> = recorder
        .recording()
        .entries
        .into_iter()
        .filter(|entry| matches!(entry, RecordedEvent::RequestState { .. }))
        .collect();
    let expected = [
        RecordedEvent::RequestState { same_value: true, same_bytes: true },
        RecordedEvent::RequestState { same_value: true, same_bytes: false },
    ];
    assert_eq!(states, expected);
    assert_eq!(recorder.violations(), [] as [String; 0]);
}

#[tokio::test]
async fn a_changed_state_is_refused() {
    let (mut client, recorder) = Client::in_process(&Scenario::modern());
    let first = ask_by_hand(&mut client, 1, "{}", "").await;
    let retry = format!(r#","requestState":{}"#, state_token(&first).replace('é', "e"));
    let second: Value = serde_json::from_str(&ask_by_hand(&mut client, 2, "{}", &retry).await).unwrap();
    assert_eq!(second["error"]["code"], -32602);
    assert!(
        recorder.recording().entries.contains(&RecordedEvent::RequestState { same_value: false, same_bytes: false })
    );
}

#[tokio::test]
async fn rounds_work_without_state_and_without_questions() {
    let (mut client, recorder) = Client::in_process(&Scenario::modern());
    let arguments = r#"{"no_state":true}"#;
    let first = ask_by_hand(&mut client, 1, arguments, "").await;
    assert!(!first.contains("requestState"), "{first}");
    let last = ask_by_hand(&mut client, 2, arguments, r#","inputResponses":{"q1.0":{"action":"cancel"}}"#).await;
    assert!(last.contains(r#""resultType":"complete""#), "{last}");
    ask_by_hand(&mut client, 3, arguments, r#","requestState":"made up""#).await;
    assert_eq!(recorder.violations(), ["a requestState that was never given: \"made up\""]);

    let arguments = r#"{"state_only":true}"#;
    let first = ask_by_hand(&mut client, 4, arguments, "").await;
    assert!(!first.contains("inputRequests"), "{first}");
    let retry = format!(r#","requestState":{}"#, state_token(&first));
    let last = ask_by_hand(&mut client, 5, arguments, &retry).await;
    assert!(last.contains(r#""resultType":"complete""#), "{last}");
}

#[tokio::test]
async fn asking_needs_the_capability_and_answers_need_their_keys() {
    let (mut client, recorder) = Client::in_process(&Scenario::modern());
    let meta = json!({ "io.modelcontextprotocol/clientCapabilities": {} });
    let params = with_meta(json!({ "name": "ask", "arguments": { "kind": "roots" }, "_meta": meta }));
    let answer = client.request("tools/call", params).await;
    assert_eq!(answer["error"]["code"], -32021);
    assert_eq!(answer["error"]["data"], json!({ "requiredCapabilities": { "roots": {} } }));

    let first = ask_by_hand(&mut client, 7, "{}", "").await;
    let retry = format!(r#","inputResponses":{{"other":{{}}}},"requestState":{}"#, state_token(&first));
    ask_by_hand(&mut client, 8, "{}", &retry).await;
    assert_eq!(recorder.violations(), ["no answer to q1.0"]);
}
