//! The fixture's questions: one interview, told as requests in the legacy era and as `input_required` in the modern one.

use helve_testkit::{Era, Scenario};
use insta::assert_snapshot;
use serde_json::{Map, Value, json};

use crate::client::Client;

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

#[tokio::test]
async fn every_asking_tool_comes_to_the_same_answer_in_both_eras() {
    let (mut legacy, _recorder) = Client::in_process(&Scenario::fixture(Era::Legacy));
    let can = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
    legacy.initialize_with("2025-11-25", can).await;
    let (mut modern, _recorder) = Client::in_process(&Scenario::fixture(Era::Modern));
    let mut told = Vec::new();
    for (tool, arguments) in [
        ("test_sampling", json!({ "prompt": "Who?" })),
        ("test_elicitation", json!({ "message": "Who?" })),
        ("test_elicitation_sep1034_defaults", json!({})),
        ("test_elicitation_sep1330_enums", json!({})),
        ("test_missing_capability", json!({})),
        ("test_streaming_elicitation", json!({})),
        ("test_input_required_result_elicitation", json!({})),
        ("test_input_required_result_sampling", json!({})),
        ("test_input_required_result_list_roots", json!({})),
        ("test_input_required_result_request_state", json!({})),
        ("test_input_required_result_multiple_inputs", json!({})),
        ("test_input_required_result_multi_round", json!({})),
        ("test_input_required_result_tampered_state", json!({})),
        ("test_input_required_result_capabilities", json!({})),
    ] {
        let params = json!({ "name": tool, "arguments": arguments });
        let (asked, result) = ask_legacy(&mut legacy, "tools/call", params.clone()).await;
        let (asked_modern, result_modern) = ask_modern(&mut modern, "tools/call", params).await;
        assert_eq!(result["content"], result_modern["content"], "{tool}");
        let methods = |asked: &[Value]| asked.iter().map(|request| request["method"].clone()).collect::<Vec<_>>();
        assert_eq!(methods(&asked), methods(&asked_modern), "{tool}");
        told.push(format!("{tool}: {}", result["content"][0]["text"].as_str().unwrap()));
    }
    assert_snapshot!(told.join("\n"), @r#"
    test_sampling: LLM response: Bonjour
    test_elicitation: User response: action=accept, content={}
    test_elicitation_sep1034_defaults: Elicitation completed: action=accept, content={"name":"Alice"}
    test_elicitation_sep1330_enums: Elicitation completed: action=accept, content={}
    test_missing_capability: The client can sample: Bonjour
    test_streaming_elicitation: Hello, Alice!
    test_input_required_result_elicitation: Hello, Alice!
    test_input_required_result_sampling: Bonjour
    test_input_required_result_list_roots: The roots are: [{"uri":"file:///a"}]
    test_input_required_result_request_state: state-ok: action=accept, content={"ok":true}
    test_input_required_result_multiple_inputs: Bonjour Alice: [{"uri":"file:///a"}]
    test_input_required_result_multi_round: Alice likes blue
    test_input_required_result_tampered_state: state-ok: action=accept, content={"ok":true}
    test_input_required_result_capabilities: Answered: greeting, user_name
    "#);
    let params = json!({ "name": "test_input_required_result_prompt" });
    let (_, result) = ask_legacy(&mut legacy, "prompts/get", params.clone()).await;
    let (_, result_modern) = ask_modern(&mut modern, "prompts/get", params).await;
    assert_eq!(result["messages"], result_modern["messages"]);
    assert_eq!(result["messages"][0]["content"]["text"], "Use this context: tests");
}

#[tokio::test]
async fn answers_that_nobody_asked_for_do_not_count() {
    let (mut client, _recorder) = Client::in_process(&Scenario::fixture(Era::Modern));
    let tool = "test_input_required_result_elicitation";
    let alice = json!({ "action": "accept", "content": { "name": "Alice" } });
    let wrong = retry(&mut client, tool, json!({ "wrong_key": alice }), None).await;
    assert_eq!(wrong["result"]["resultType"], "input_required");
    assert!(wrong["result"].get("requestState").is_none());
    let right = json!({ "user_name": alice, "another": { "action": "accept" }, "third": 3 });
    assert_eq!(retry(&mut client, tool, right, None).await["result"]["content"][0]["text"], "Hello, Alice!");
    for broken in [json!({ "user_name": 12345 }), json!({ "user_name": { "action": "shrug" } }), json!(null)] {
        assert_eq!(retry(&mut client, tool, broken.clone(), None).await["error"]["code"], -32602, "{broken}");
    }
    let state = Some(json!("never given"));
    let unknown = retry(&mut client, tool, json!({ "user_name": alice }), state).await;
    assert_eq!(unknown["error"]["message"], "a requestState that was never given");
}

#[tokio::test]
async fn a_sealed_state_is_needed_and_must_be_untouched() {
    let (mut client, _recorder) = Client::in_process(&Scenario::fixture(Era::Modern));
    let tool = "test_input_required_result_multi_round";
    let name = json!({ "step1": { "action": "accept", "content": { "name": "Alice" } } });
    let first = client.modern("tools/call", json!({ "name": tool })).await["result"].clone();
    let forgotten = retry(&mut client, tool, name.clone(), None).await;
    assert_eq!(forgotten["result"]["inputRequests"], first["inputRequests"], "asked again");
    let state = first["requestState"].as_str().unwrap();
    let second = retry(&mut client, tool, name.clone(), Some(json!(state))).await["result"].clone();
    assert!(
        second["inputRequests"].get("step2").is_some() && second["requestState"] != first["requestState"],
        "{second}"
    );
    for changed in [json!(format!("{state}-TAMPERED")), json!(""), json!(7), json!(null)] {
        let refused = retry(&mut client, tool, name.clone(), Some(changed.clone())).await;
        assert_eq!(refused["error"]["message"], "this requestState is not mine", "{changed}");
    }
    let other = "test_input_required_result_request_state";
    assert_eq!(retry(&mut client, other, name, Some(json!(state))).await["error"]["code"], -32602, "for another tool");
}

#[tokio::test]
async fn nothing_is_asked_that_the_client_cannot_answer() {
    let (mut client, _recorder) = Client::in_process(&Scenario::fixture(Era::Dual));
    let with = |tool: &str, capabilities: Value| json!({ "name": tool, "_meta": { CAPABILITIES: capabilities } });
    let refused = client.modern("tools/call", with("test_missing_capability", json!({}))).await["error"].clone();
    assert_eq!(
        (&refused["code"], &refused["data"]),
        (&json!(-32021), &json!({ "requiredCapabilities": { "sampling": {} } }))
    );
    let tool = "test_input_required_result_capabilities";
    let asked = client.modern("tools/call", with(tool, json!({ "sampling": {} }))).await["result"].clone();
    let keys: Vec<&String> = asked["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["greeting"]);
    assert_eq!(client.modern("tools/call", with(tool, json!({}))).await["error"]["code"], -32021);

    client.initialize_with("2025-11-25", json!({ "sampling": {} })).await;
    let params = json!({ "name": "test_elicitation", "arguments": { "message": "?" } });
    let refused = client.request("tools/call", params).await;
    assert_eq!(refused["error"]["message"], "the client did not declare elicitation");
    assert_eq!(client.others, [] as [Value; 0], "nothing was asked");
}

/// Answers what a server asks, as a client of both eras would.
fn answer(request: &Value) -> Value {
    match request["method"].as_str().unwrap() {
        "elicitation/create" => {
            let words = json!({ "name": "Alice", "color": "blue", "context": "tests", "ok": true });
            let properties = request["params"]["requestedSchema"]["properties"].as_object().unwrap();
            let content: Map<String, Value> =
                properties.keys().filter_map(|key| Some((key.clone(), words.get(key)?.clone()))).collect();
            json!({ "action": "accept", "content": content })
        }
        "sampling/createMessage" => {
            json!({ "role": "assistant", "content": { "type": "text", "text": "Bonjour" }, "model": "m" })
        }
        "roots/list" => json!({ "roots": [{ "uri": "file:///a" }] }),
        method => panic!("{method} was asked"),
    }
}

/// Makes a request, answers all that comes meanwhile, and returns that and the result.
async fn ask_legacy(client: &mut Client, method: &str, params: Value) -> (Vec<Value>, Value) {
    let id = client.start(method, params).await;
    let mut asked = Vec::new();
    loop {
        let message = client.message().await;
        if message.get("method").is_none() {
            assert_eq!(message["id"], id);
            return (asked, message["result"].clone());
        }
        let response = json!({ "jsonrpc": "2.0", "id": message["id"], "result": answer(&message) });
        client.write(&response.to_string()).await;
        asked.push(message);
    }
}

/// Makes a request as often as it is answered with questions, and returns those and the result.
async fn ask_modern(client: &mut Client, method: &str, mut params: Value) -> (Vec<Value>, Value) {
    let mut asked = Vec::new();
    loop {
        let result = client.modern(method, params.clone()).await["result"].clone();
        if result["resultType"] == "complete" {
            return (asked, result);
        }
        let requests = result["inputRequests"].as_object().unwrap();
        let answers: Map<String, Value> =
            requests.iter().map(|(key, request)| (key.clone(), answer(request))).collect();
        asked.extend(requests.values().cloned());
        params["inputResponses"] = Value::Object(answers);
        params.as_object_mut().unwrap().remove("requestState");
        if let Some(state) = result.get("requestState") {
            params["requestState"] = state.clone();
        }
    }
}

async fn retry(client: &mut Client, tool: &str, answers: Value, state: Option<Value>) -> Value {
    let mut params = json!({ "name": tool, "inputResponses": answers });
    if let Some(state) = state {
        params["requestState"] = state;
    }
    client.modern("tools/call", params).await
}
