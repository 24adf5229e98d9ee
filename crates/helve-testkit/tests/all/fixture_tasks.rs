//! The fixture's tasks, in both forms, on a clock that waits for nobody.

use helve_testkit::{Era, Scenario};
use serde_json::{Value, json};

use crate::client::Client;

const NO_TASKS: &str = r#"{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;

#[tokio::test(start_paused = true)]
async fn work_is_a_task_for_those_who_know_tasks() {
    let (mut client, _recorder) = Client::in_process(&Scenario::fixture(Era::Modern));
    let call = json!({ "name": "slow_compute", "arguments": { "seconds": 5, "label": "x" } });
    let created = client.modern("tools/call", call.clone()).await["result"].clone();
    assert_eq!((&created["resultType"], &created["status"]), (&json!("task"), &json!("working")));
    assert_eq!(status(&mut client, &created).await["status"], "working");
    let done = end(&mut client, &created).await;
    assert_eq!(done["result"]["content"][0]["text"], "Computed x in 5 seconds");

    let mut without = call;
    without["_meta"] = serde_json::from_str(NO_TASKS).unwrap();
    let plain = client.modern("tools/call", without).await["result"].clone();
    assert_eq!((&plain["resultType"], &plain["content"]), (&json!("complete"), &done["result"]["content"]));
}

#[tokio::test(start_paused = true)]
async fn a_tool_s_error_completes_a_task_and_a_protocol_error_fails_it() {
    let (mut client, _recorder) = Client::in_process(&Scenario::fixture(Era::Modern));
    let created = client.modern("tools/call", json!({ "name": "failing_job" })).await["result"].clone();
    let done = end(&mut client, &created).await;
    assert_eq!((&done["status"], &done["result"]["isError"]), (&json!("completed"), &json!(true)));
    let created = client.modern("tools/call", json!({ "name": "protocol_error_job" })).await["result"].clone();
    let done = end(&mut client, &created).await;
    assert_eq!((&done["status"], &done["error"]["code"]), (&json!("failed"), &json!(-32603)));
    assert!(done.get("result").is_none());
}

#[tokio::test(start_paused = true)]
async fn without_the_extension_there_is_no_task_to_be_had() {
    let (mut client, _recorder) = Client::in_process(&Scenario::fixture(Era::Modern));
    let meta: Value = serde_json::from_str(NO_TASKS).unwrap();
    for (method, params) in [
        ("tools/call", json!({ "name": "failing_job" })),
        ("tools/call", json!({ "name": "test_tool_with_task" })),
        ("tasks/get", json!({ "taskId": "task-1" })),
        ("tasks/update", json!({ "taskId": "task-1", "inputResponses": {} })),
        ("tasks/cancel", json!({ "taskId": "task-1" })),
    ] {
        let mut params = params;
        params["_meta"] = meta.clone();
        let refused = client.modern(method, params).await["error"].clone();
        assert_eq!(refused["code"], -32021, "{method}");
        assert!(refused["data"]["requiredCapabilities"]["extensions"]["io.modelcontextprotocol/tasks"].is_object());
    }
    let asked = client.modern("tools/call", json!({ "name": "multi_input", "_meta": meta })).await["result"].clone();
    assert_eq!(asked["inputRequests"].as_object().unwrap().len(), 2, "asked before the answer instead");
}

#[tokio::test(start_paused = true)]
async fn a_task_can_be_answered_piece_by_piece() {
    let (mut client, _recorder) = Client::in_process(&Scenario::fixture(Era::Modern));
    let created = client.modern("tools/call", json!({ "name": "multi_input" })).await["result"].clone();
    assert!(created.get("inputRequests").is_none());
    let waiting = status(&mut client, &created).await;
    assert_eq!((&waiting["status"], open(&waiting)), (&json!("input_required"), vec!["confirm", "name"]));
    let mut update = async |answers: Value| {
        let params = json!({ "taskId": created["taskId"], "inputResponses": answers });
        client.modern("tasks/update", params).await["result"]["resultType"].clone()
    };
    assert_eq!(
        update(json!({ "name": { "action": "accept", "content": { "name": "Alice" } }, "unknown": 1 })).await,
        "complete"
    );
    assert_eq!(update(json!({ "confirm": 7 })).await, "complete");
    let waiting = status(&mut client, &created).await;
    assert_eq!((&waiting["status"], open(&waiting)), (&json!("input_required"), vec!["confirm"]));
    let params = json!({ "taskId": created["taskId"], "inputResponses": { "confirm": { "action": "accept", "content": { "confirm": true } } } });
    client.modern("tasks/update", params).await;
    assert_eq!(end(&mut client, &created).await["result"]["content"][0]["text"], "Alice is sure");
}

#[tokio::test(start_paused = true)]
async fn questions_come_before_the_task_that_knows_their_answer() {
    let (mut client, _recorder) = Client::in_process(&Scenario::fixture(Era::Modern));
    let asked = client.modern("tools/call", json!({ "name": "test_tool_with_task" })).await["result"].clone();
    assert_eq!((&asked["resultType"], asked.get("taskId")), (&json!("input_required"), None));
    let answers = json!({ "user_name": { "action": "accept", "content": { "name": "Alice" } } });
    let retry =
        json!({ "name": "test_tool_with_task", "inputResponses": answers, "requestState": asked["requestState"] });
    let created = client.modern("tools/call", retry).await["result"].clone();
    assert_eq!((&created["resultType"], created.get("requestState")), (&json!("task"), None));
    assert_eq!(end(&mut client, &created).await["result"]["content"][0]["text"], "Done for Alice");
}

#[tokio::test(start_paused = true)]
async fn a_legacy_task_asks_while_its_result_is_fetched() {
    let (mut client, _recorder) = Client::in_process(&Scenario::fixture(Era::Legacy));
    client.initialize_with("2025-11-25", json!({ "elicitation": {} })).await;
    let params = json!({ "name": "confirm_delete", "arguments": { "filename": "a.txt" }, "task": {} });
    let created = client.request("tools/call", params).await["result"]["task"].clone();
    let id = json!({ "taskId": created["taskId"] });
    assert_eq!(client.request("tasks/get", id.clone()).await["result"]["status"], "input_required");
    let fetching = client.start("tasks/result", id.clone()).await;
    let question = client.message().await;
    assert_eq!(question["params"]["message"], "Delete a.txt?");
    assert_eq!(question["params"]["_meta"]["io.modelcontextprotocol/related-task"], id);
    let answer = json!({ "action": "accept", "content": { "confirm": true } });
    client.write(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }).to_string()).await;
    assert_eq!(client.answer(fetching).await["result"]["content"][0]["text"], "Deleted a.txt");
}

/// The keys of what a task still asks.
fn open(task: &Value) -> Vec<&str> {
    task["inputRequests"].as_object().unwrap().keys().map(String::as_str).collect()
}

async fn status(client: &mut Client, created: &Value) -> Value {
    client.modern("tasks/get", json!({ "taskId": created["taskId"] })).await["result"].clone()
}

/// Looks at a task, as often as it wants to be looked at, until it is over.
async fn end(client: &mut Client, created: &Value) -> Value {
    loop {
        let task = status(client, created).await;
        if task["status"] != "working" {
            return task;
        }
        tokio::time::sleep(std::time::Duration::from_millis(task["pollIntervalMs"].as_u64().unwrap())).await;
    }
}
