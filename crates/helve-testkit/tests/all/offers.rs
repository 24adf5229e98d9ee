//! Lists, resources, prompts, tasks and change notifications.

use helve_testkit::{ListFault, Offers, Scenario};
use serde_json::{Value, json};

use crate::client::{Client, with_meta};

async fn legacy() -> Client {
    Client::legacy(&Scenario::legacy(), "2025-11-25").await.0
}

async fn list(client: &mut Client, cursor: Option<&Value>) -> Value {
    let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
    client.request("tools/list", params).await["result"].clone()
}

fn names(page: &Value) -> Vec<String> {
    page["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str().map(str::to_string)).collect()
}

#[tokio::test]
async fn every_listed_tool_can_be_called_and_has_a_schema() {
    let mut client = legacy().await;
    let page = list(&mut client, None).await;
    assert!(names(&page).len() > 15);
    for tool in page["tools"].as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert!(tool["description"].is_string(), "{tool}");
    }
}

#[tokio::test]
async fn pages_have_the_given_size_and_join_to_the_whole() {
    let scenario = Scenario::legacy().hide_builtin_tools().generated_tools(10, 940).page_size(4);
    let (mut client, _recorder) = Client::legacy(&scenario, "2025-11-25").await;
    let mut seen = Vec::new();
    let mut sizes = Vec::new();
    let mut cursor = None;
    loop {
        let page = list(&mut client, cursor.as_ref()).await;
        sizes.push(names(&page).len());
        seen.extend(names(&page));
        cursor = page.get("nextCursor").cloned();
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(sizes, [4, 4, 2]);
    assert_eq!(seen, (0..10).map(|number| format!("gen_{number}")).collect::<Vec<_>>());
    assert_eq!(client.request("tools/list", json!({ "cursor": "mine" })).await["error"]["code"], -32602);
}

#[tokio::test]
async fn ten_thousand_tools_have_their_size() {
    let scenario = Scenario::legacy().hide_builtin_tools().generated_tools(10_000, 940);
    let (mut client, _recorder) = Client::legacy(&scenario, "2025-11-25").await;
    client.start("tools/list", json!({})).await;
    let line = client.line().await.unwrap();
    let per_tool = line.len() / 10_000;
    assert!((935..=945).contains(&per_tool), "{per_tool}");
    assert_eq!(client.call("gen_9999", json!({ "path": "x" })).await["structuredContent"]["path"], "x");
}

#[tokio::test]
async fn literal_tools_stand_in_the_list_byte_for_byte() {
    let definition = r#"{"zeta":1, "name" : "odd","a":[ ],"inputSchema":{"type":"object","b":1,"a":2}}"#;
    let scenario = Scenario::legacy().hide_builtin_tools().literal_tool(definition);
    let (mut client, _recorder) = Client::legacy(&scenario, "2025-11-25").await;
    client.start("tools/list", json!({})).await;
    let line = String::from_utf8(client.line().await.unwrap()).unwrap();
    assert!(line.contains(&format!(r#""tools":[{definition}]"#)), "{line}");
}

#[tokio::test]
async fn lists_can_be_wrong() {
    let with = |fault| Scenario::legacy().hide_builtin_tools().generated_tools(3, 300).list_fault(fault);
    let (mut client, _recorder) = Client::legacy(&with(ListFault::MalformedItem), "2025-11-25").await;
    let page = list(&mut client, None).await;
    assert_eq!(page["tools"].as_array().unwrap().len(), 4);
    assert!(page["tools"][1].get("name").is_none());

    let (mut client, _recorder) = Client::legacy(&with(ListFault::RepeatedCursor), "2025-11-25").await;
    let first = list(&mut client, None).await;
    let second = list(&mut client, Some(&first["nextCursor"])).await;
    assert_eq!(first["nextCursor"], second["nextCursor"]);

    let (mut client, _recorder) = Client::legacy(&with(ListFault::EndlessPages), "2025-11-25").await;
    let first = list(&mut client, None).await;
    let second = list(&mut client, Some(&first["nextCursor"])).await;
    assert_ne!(first["nextCursor"], second["nextCursor"]);
    assert_eq!(names(&first), names(&second));

    let (mut client, _recorder) = Client::legacy(&with(ListFault::HugeCursor), "2025-11-25").await;
    let first = list(&mut client, None).await;
    assert!(first["nextCursor"].as_str().unwrap().len() > 1 << 20);
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let mut client = legacy().await;
    let resources = client.request("resources/list", json!({})).await["result"]["resources"].clone();
    assert_eq!(resources[0]["uri"], "test://text");
    let templates = client.request("resources/templates/list", json!({})).await["result"]["resourceTemplates"].clone();
    assert_eq!(templates[0]["uriTemplate"], "test://item/{id}");
    let read = async |client: &mut Client, uri: &str| client.request("resources/read", json!({ "uri": uri })).await;
    assert_eq!(read(&mut client, "test://text").await["result"]["contents"][0]["text"], "Hello, wörld");
    let blob = read(&mut client, "test://binary").await["result"]["contents"][0]["blob"].clone();
    assert!(blob.as_str().unwrap().starts_with("AAECAwQ"), "{blob}");
    assert_eq!(read(&mut client, "test://item/7").await["result"]["contents"][0]["text"], r#"{"id":"7"}"#);
    assert_eq!(read(&mut client, "test://none").await["error"]["code"], -32002);

    let (mut client, _recorder) = Client::in_process(&Scenario::modern());
    assert_eq!(client.modern("resources/read", json!({ "uri": "test://none" })).await["error"]["code"], -32602);
    let result = client.modern("resources/read", json!({ "uri": "test://text" })).await["result"].clone();
    assert!(result["ttlMs"].is_u64(), "{result}");
}

#[tokio::test]
async fn a_subscribed_resource_tells_its_changes() {
    let mut client = legacy().await;
    client.call("touch", json!({})).await;
    assert_eq!(client.others, [] as [Value; 0]);
    client.request("resources/subscribe", json!({ "uri": "test://watched" })).await;
    client.call("touch", json!({})).await;
    assert_eq!(client.others[0]["method"], "notifications/resources/updated");
    assert_eq!(client.others[0]["params"], json!({ "uri": "test://watched" }));
    client.others.clear();
    client.request("resources/unsubscribe", json!({ "uri": "test://watched" })).await;
    client.call("touch", json!({})).await;
    assert_eq!(client.others, [] as [Value; 0]);
    let read = client.request("resources/read", json!({ "uri": "test://watched" })).await;
    assert_eq!(read["result"]["contents"][0]["text"], "version 3");
}

#[tokio::test]
async fn a_changed_tool_list_is_announced_and_changed() {
    let mut client = legacy().await;
    client.call("list_changed", json!({})).await;
    assert_eq!(client.others, [json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })]);
    assert!(names(&list(&mut client, None).await).contains(&"added".to_string()));
    client.call("list_changed", json!({})).await;
    assert!(!names(&list(&mut client, None).await).contains(&"added".to_string()));
}

#[tokio::test]
async fn a_modern_subscription_is_acknowledged_tagged_and_ended() {
    let offers = Offers { prompts: false, ..Offers::default() };
    let (mut client, recorder) = Client::in_process(&Scenario::modern().offers(offers));
    let filter =
        json!({ "toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["test://watched"] });
    let listen = client.start("subscriptions/listen", with_meta(json!({ "notifications": filter }))).await;
    let acknowledged = client.message().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    let accepted = json!({ "toolsListChanged": true, "resourceSubscriptions": ["test://watched"] });
    assert_eq!(acknowledged["params"]["notifications"], accepted);
    let tag = json!({ "io.modelcontextprotocol/subscriptionId": listen });
    assert_eq!(acknowledged["params"]["_meta"], tag);

    for kind in ["tools", "resources"] {
        let arguments = json!({ "kind": kind });
        client.modern("tools/call", json!({ "name": "list_changed", "arguments": arguments })).await;
    }
    client.modern("tools/call", json!({ "name": "touch", "arguments": { "uri": "test://other" } })).await;
    client.modern("tools/call", json!({ "name": "touch" })).await;
    let told: Vec<Value> = client.others.drain(..).map(|message| message["method"].clone()).collect();
    assert_eq!(told, ["notifications/tools/list_changed", "notifications/resources/updated"]);

    client.modern("tools/call", json!({ "name": "end_subscriptions" })).await;
    let ended = client.others.pop().unwrap();
    assert_eq!((&ended["id"], &ended["result"]["resultType"]), (&json!(listen), &json!("complete")));

    let listen = client.start("subscriptions/listen", with_meta(json!({ "notifications": filter }))).await;
    client.message().await;
    let params = json!({ "requestId": listen });
    client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string()).await;
    client.modern("tools/call", json!({ "name": "list_changed" })).await;
    assert_eq!(client.others, [] as [Value; 0]);
    assert_eq!(recorder.wait_for_cancel(crate::client::DEADLINE).await.unwrap(), listen.to_string());

    let listen = client.start("subscriptions/listen", with_meta(json!({ "notifications": filter }))).await;
    client.message().await;
    client.modern("tools/call", json!({ "name": "end_subscriptions", "arguments": { "how": "cancelled" } })).await;
    let ended = client.others.pop().unwrap();
    assert_eq!((&ended["method"], &ended["params"]["requestId"]), (&json!("notifications/cancelled"), &json!(listen)));
}

#[tokio::test]
async fn a_subscription_can_end_without_a_word() {
    let (mut client, _recorder) = Client::in_process(&Scenario::modern());
    let filter = json!({ "toolsListChanged": true });
    client.start("subscriptions/listen", with_meta(json!({ "notifications": filter }))).await;
    client.message().await;
    client.modern("tools/call", json!({ "name": "end_subscriptions", "arguments": { "how": "abrupt" } })).await;
    client.modern("tools/call", json!({ "name": "list_changed" })).await;
    assert_eq!(client.others, [] as [Value; 0]);
}

#[tokio::test]
async fn prompts_are_listed_and_filled_in() {
    let mut client = legacy().await;
    let prompts = client.request("prompts/list", json!({})).await["result"]["prompts"].clone();
    assert_eq!(prompts[1]["arguments"][0]["required"], true);
    let get = async |client: &mut Client, name: &str, arguments: Value| {
        client.request("prompts/get", json!({ "name": name, "arguments": arguments })).await
    };
    let greeting = get(&mut client, "greet", json!({ "who": "Ada", "tone": "warmly" })).await;
    assert_eq!(greeting["result"]["messages"][0]["content"]["text"], "Greet Ada warmly");
    assert_eq!(get(&mut client, "greet", json!({})).await["error"]["code"], -32602);
    assert_eq!(get(&mut client, "none", json!({})).await["error"]["code"], -32602);
    let embedded = get(&mut client, "embedded", json!({})).await;
    assert_eq!(embedded["result"]["messages"][0]["content"]["type"], "resource");
    assert!(get(&mut client, "simple", json!({})).await["result"]["messages"].is_array());
    let params =
        json!({ "ref": { "type": "ref/prompt", "name": "greet" }, "argument": { "name": "who", "value": "pa" } });
    let completion = client.request("completion/complete", params).await["result"]["completion"].clone();
    assert_eq!(completion, json!({ "values": ["paris", "park", "party"], "total": 3, "hasMore": false }));
}

#[tokio::test]
async fn a_prompt_and_a_resource_can_ask_first() {
    for (method, params) in
        [("prompts/get", json!({ "name": "asking" })), ("resources/read", json!({ "uri": "test://asking" }))]
    {
        let mut client = legacy().await;
        let id = client.start(method, params.clone()).await;
        let asked = client.message().await;
        assert_eq!(asked["method"], "elicitation/create");
        let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "decline" } });
        client.write(&answer.to_string()).await;
        assert!(client.answer(id).await.to_string().contains("decline"));

        let (mut client, _recorder) = Client::in_process(&Scenario::modern());
        let first = client.modern(method, params.clone()).await["result"].clone();
        assert_eq!(first["resultType"], "input_required");
        let mut retry = params;
        retry["requestState"] = first["requestState"].clone();
        retry["inputResponses"] = json!({ "q1.0": { "action": "decline" } });
        let last = client.modern(method, retry).await["result"].clone();
        assert_eq!(last["resultType"], "complete");
        assert!(last.to_string().contains("decline"), "{last}");
    }
}

#[tokio::test]
async fn the_log_level_decides_what_is_heard() {
    let mut client = legacy().await;
    client.request("logging/setLevel", json!({ "level": "warning" })).await;
    assert_eq!(client.call("log", json!({ "level": "info", "data": 1 })).await["content"][0]["text"], "not logged");
    client.call("log", json!({ "level": "error", "data": { "a": 1 } })).await;
    assert_eq!(client.others.len(), 1);
    assert_eq!(client.others[0]["params"]["data"], json!({ "a": 1 }));

    let (mut client, _recorder) = Client::in_process(&Scenario::modern());
    client.modern("tools/call", json!({ "name": "log", "arguments": { "level": "error" } })).await;
    assert_eq!(client.others, [] as [Value; 0]);
    let meta = json!({ "io.modelcontextprotocol/logLevel": "debug" });
    client.modern("tools/call", json!({ "name": "log", "arguments": { "level": "error" }, "_meta": meta })).await;
    assert_eq!(client.others.len(), 1);
}

#[tokio::test]
async fn a_legacy_task_is_polled_fetched_and_cancelled() {
    let mut client = legacy().await;
    let plain = client.request("tools/call", json!({ "name": "task", "arguments": {} })).await;
    assert_eq!(plain["error"]["code"], -32601);
    let call = |arguments: Value| json!({ "name": "task", "arguments": arguments, "task": { "ttl": 1000 } });
    let created = client.request("tools/call", call(json!({ "polls": 1 }))).await["result"]["task"].clone();
    assert_eq!(created["status"], "working");
    let id = json!({ "taskId": created["taskId"] });
    let mut statuses = Vec::new();
    for _ in 0..2 {
        statuses.push(client.request("tasks/get", id.clone()).await["result"]["status"].clone());
    }
    assert_eq!(statuses, ["working", "completed"]);
    let result = client.request("tasks/result", id.clone()).await["result"].clone();
    assert_eq!(result["content"][0]["text"], "task done");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/related-task"], id);
    assert_eq!(client.request("tasks/cancel", id).await["error"]["code"], -32602);

    // Fetching the result waits for the end.
    let created =
        client.request("tools/call", call(json!({ "polls": 3, "fail": true }))).await["result"]["task"].clone();
    let answer = client.request("tasks/result", json!({ "taskId": created["taskId"] })).await;
    assert_eq!(answer["error"]["message"], "the task failed");

    let created = client.request("tools/call", call(json!({ "polls": 1000 }))).await["result"]["task"].clone();
    let id = json!({ "taskId": created["taskId"] });
    assert_eq!(client.request("tasks/cancel", id.clone()).await["result"]["status"], "cancelled");
    assert_eq!(client.request("tasks/get", id).await["result"]["status"], "cancelled");
    assert_eq!(client.request("tasks/list", json!({})).await["result"]["tasks"].as_array().unwrap().len(), 3);
    assert_eq!(client.request("tasks/get", json!({ "taskId": "?" })).await["error"]["code"], -32602);
    let unasked = client.call("task", json!({ "unasked": true })).await;
    assert_eq!(unasked["task"]["status"], "working");
}

#[tokio::test]
async fn a_modern_task_is_polled_answered_and_cancelled() {
    let (mut client, _recorder) = Client::in_process(&Scenario::modern());
    let none = json!({ "io.modelcontextprotocol/clientCapabilities": {} });
    let refused = client.modern("tools/call", json!({ "name": "task", "_meta": none })).await;
    assert_eq!(refused["error"]["code"], -32021);

    let arguments = json!({ "polls": 0, "ask": true });
    let created =
        client.modern("tools/call", json!({ "name": "task", "arguments": arguments })).await["result"].clone();
    assert_eq!((&created["resultType"], &created["status"]), (&json!("task"), &json!("working")));
    let id = json!({ "taskId": created["taskId"] });
    let waiting = client.modern("tasks/get", id.clone()).await["result"].clone();
    assert_eq!(waiting["status"], "input_required");
    assert_eq!(waiting["inputRequests"]["name"]["method"], "elicitation/create");
    let answer = json!({ "taskId": created["taskId"], "inputResponses": { "name": { "action": "decline" } } });
    assert_eq!(client.modern("tasks/update", answer).await["result"]["resultType"], "complete");
    let done = client.modern("tasks/get", id).await["result"].clone();
    assert_eq!((&done["status"], &done["resultType"]), (&json!("completed"), &json!("complete")));
    assert_eq!(done["result"]["structuredContent"], json!({ "answer": { "action": "decline" } }));

    let arguments = json!({ "polls": 0, "fail": true });
    let created =
        client.modern("tools/call", json!({ "name": "task", "arguments": arguments })).await["result"].clone();
    let failed = client.modern("tasks/get", json!({ "taskId": created["taskId"] })).await["result"].clone();
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("failed"), &json!(-32603)));

    let created = client.modern("tools/call", json!({ "name": "task", "arguments": {} })).await["result"].clone();
    let id = json!({ "taskId": created["taskId"] });
    assert_eq!(client.modern("tasks/cancel", id.clone()).await["result"]["resultType"], "complete");
    assert_eq!(client.modern("tasks/get", id).await["result"]["status"], "cancelled");
}
