//! The conformance fixture: what it has, the same in every era and over every transport.
#![expect(clippy::disallowed_methods, reason = "these tests start the fixture by hand, without any launcher")]

use std::process::Stdio;

use helve_testkit::{Era, Scenario, fixture_program};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;

use crate::client::{Client, DEADLINE};
use crate::http_client::{Http, call_body, data, modern, modern_request, once, open_session, within};

#[tokio::test]
async fn the_lists_are_the_same_in_both_eras_and_over_http() {
    let (mut legacy, _recorder) = Client::legacy(&Scenario::fixture(Era::Legacy), "2025-11-25").await;
    let (mut modern_client, _recorder) = Client::in_process(&Scenario::fixture(Era::Modern));
    let server = Scenario::fixture(Era::Dual).serve_http().await.unwrap();
    let mut names = Vec::new();
    for (method, key) in [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        let items = legacy.request(method, json!({})).await["result"][key].clone();
        let over_modern = modern_client.modern(method, json!({})).await["result"].clone();
        assert_eq!(over_modern[key], items);
        assert_eq!((&over_modern["resultType"], &over_modern["ttlMs"]), (&json!("complete"), &json!(60000)));
        let (_, body) = modern(&server, method, json!({})).await;
        assert_eq!(data(&body)[0]["result"][key], items);
        for item in items.as_array().unwrap() {
            assert!(item["description"].is_string(), "{item}");
            names.push(format!("{key} {}", item["name"].as_str().unwrap()));
        }
    }
    assert_snapshot!(names.join("\n"), @"
    tools test_simple_text
    tools test_image_content
    tools test_audio_content
    tools test_embedded_resource
    tools test_multiple_content_types
    tools test_error_handling
    tools test_tool_with_logging
    tools test_logging_tool
    tools test_tool_with_progress
    tools test_reconnection
    tools test_trigger_tool_change
    tools test_trigger_prompt_change
    tools test_trigger_resource_update
    tools test_custom_header
    tools json_schema_2020_12_tool
    tools test_sampling
    tools test_elicitation
    tools test_elicitation_sep1034_defaults
    tools test_elicitation_sep1330_enums
    tools test_missing_capability
    tools test_streaming_elicitation
    tools test_input_required_result_elicitation
    tools test_input_required_result_sampling
    tools test_input_required_result_list_roots
    tools test_input_required_result_request_state
    tools test_input_required_result_multiple_inputs
    tools test_input_required_result_multi_round
    tools test_input_required_result_tampered_state
    tools test_input_required_result_capabilities
    tools greet
    tools slow_compute
    tools failing_job
    tools protocol_error_job
    tools confirm_delete
    tools multi_input
    tools test_tool_with_task
    resources static-text
    resources static-binary
    resources watched-resource
    resources greeting
    resourceTemplates template
    prompts test_simple_prompt
    prompts test_prompt_with_arguments
    prompts test_prompt_with_embedded_resource
    prompts test_prompt_with_image
    prompts test_input_required_result_prompt
    ");
}

#[tokio::test]
async fn every_list_can_change() {
    let (mut client, _recorder) = Client::legacy(&Scenario::fixture(Era::Dual), "2025-11-25").await;
    client.request("resources/subscribe", json!({ "uri": "test://watched-resource" })).await;
    let read = json!({ "uri": "test://watched-resource" });
    let before = client.request("resources/read", read.clone()).await["result"]["contents"][0]["text"].clone();
    for (tool, method) in [
        ("test_trigger_tool_change", "notifications/tools/list_changed"),
        ("test_trigger_prompt_change", "notifications/prompts/list_changed"),
        ("test_trigger_resource_update", "notifications/resources/updated"),
    ] {
        client.others.clear();
        client.call(tool, json!({})).await;
        assert_eq!(client.others[0]["method"], method);
    }
    assert_ne!(client.request("resources/read", read).await["result"]["contents"][0]["text"], before);
    assert_eq!(client.call("added", json!({ "a": 1 })).await["structuredContent"], json!({ "a": 1 }));
    let prompt = client.request("prompts/get", json!({ "name": "test_added_prompt" })).await;
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "I was not here before.");
    client.call("test_trigger_prompt_change", json!({})).await;
    let gone = client.request("prompts/get", json!({ "name": "test_added_prompt" })).await;
    assert_eq!(gone["error"]["message"], "Unknown prompt: test_added_prompt");
}

#[tokio::test]
async fn a_subscriber_hears_of_what_it_asked_for_only() {
    let (mut client, _recorder) = Client::in_process(&Scenario::fixture(Era::Modern));
    let filter = json!({ "notifications": { "promptsListChanged": true } });
    let id = client.start("subscriptions/listen", crate::client::with_meta(filter)).await;
    assert_eq!(client.message().await["method"], "notifications/subscriptions/acknowledged");
    client.modern("tools/call", json!({ "name": "test_trigger_tool_change" })).await;
    client.modern("tools/call", json!({ "name": "test_trigger_prompt_change" })).await;
    let told: Vec<&Value> = client.others.iter().map(|message| &message["method"]).collect();
    assert_eq!(told, ["notifications/prompts/list_changed"]);
    assert_eq!(client.others[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
}

#[tokio::test]
async fn content_of_every_kind_is_returned() {
    let (mut client, _recorder) = Client::legacy(&Scenario::fixture(Era::Dual), "2025-06-18").await;
    let mixed = client.call("test_multiple_content_types", json!({})).await["content"].clone();
    let kinds: Vec<&Value> = mixed.as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["text", "image", "resource"]);
    assert_eq!(client.call("test_audio_content", json!({})).await["content"][0]["mimeType"], "audio/wav");
    assert_eq!(client.call("test_error_handling", json!({})).await["isError"], true);
    let unasked = client.call("greet", json!({})).await;
    assert_eq!(
        (&unasked["isError"], &unasked["content"][0]["text"]),
        (&json!(true), &json!("the argument `name` is required"))
    );
    let unknown = client.request("tools/call", json!({ "name": "echo" })).await;
    assert_eq!(unknown["error"]["message"], "Unknown tool: echo", "the toolbox is not here");
}

#[tokio::test]
async fn logs_and_progress_come_to_those_who_asked() {
    let (mut client, _recorder) = Client::legacy(&Scenario::fixture(Era::Dual), "2025-11-25").await;
    client.call("test_tool_with_logging", json!({})).await;
    assert_eq!(client.others.len(), 3);
    client.request("logging/setLevel", json!({ "level": "error" })).await;
    client.others.clear();
    client.call("test_tool_with_logging", json!({})).await;
    client.modern("tools/call", json!({ "name": "test_logging_tool" })).await;
    client.call("test_tool_with_progress", json!({})).await;
    assert_eq!(client.others, [] as [Value; 0]);
    let meta = json!({ "progressToken": "p", "io.modelcontextprotocol/logLevel": "info" });
    for tool in ["test_logging_tool", "test_tool_with_progress"] {
        client.modern("tools/call", json!({ "name": tool, "_meta": meta })).await;
    }
    let progress: Vec<&Value> = client.others.iter().map(|message| &message["params"]["progress"]).collect();
    assert_eq!(progress, [&Value::Null, &json!(0), &json!(50), &json!(100)]);
}

#[tokio::test]
async fn resources_come_from_a_template_and_are_missed_in_the_words_of_the_era() {
    let (mut client, _recorder) = Client::legacy(&Scenario::fixture(Era::Dual), "2025-11-25").await;
    let read = client.request("resources/read", json!({ "uri": "test://template/12/data" })).await;
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert_snapshot!(text, @r#"{"data":"Data for ID: 12","id":"12","templateTest":true}"#);
    for uri in ["test://template//data", "test://template/1/2/data", "test://nothing"] {
        let missing = client.request("resources/read", json!({ "uri": uri })).await["error"].clone();
        assert_eq!((&missing["code"], &missing["data"]["uri"]), (&json!(-32002), &json!(uri)));
        assert_eq!(client.modern("resources/read", json!({ "uri": uri })).await["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn the_skill_can_be_found_read_and_checked() {
    let (mut client, _recorder) = Client::in_process(&Scenario::fixture(Era::Modern));
    let skills = client.modern("skills/list", json!({})).await["result"]["skills"].clone();
    let skill = client.modern("skills/get", json!({ "uri": skills[0]["uri"] })).await["result"]["skill"].clone();
    assert_eq!(skills, json!([skill]));
    for file in skill["resources"].as_array().unwrap() {
        let read = client.modern("resources/read", json!({ "uri": file["uri"] })).await["result"].clone();
        assert_eq!(file["size"], read["contents"][0]["text"].as_str().unwrap().len());
    }
    let folder = client.modern("resources/directory/read", json!({ "uri": "skill://greeting" })).await;
    assert_eq!(folder["result"]["resources"][1]["mimeType"], "inode/directory");
    for (method, uri) in [("skills/get", "skill://other/SKILL.md"), ("resources/directory/read", "test://static-text")]
    {
        assert_eq!(client.modern(method, json!({ "uri": uri })).await["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn a_call_goes_on_after_its_stream_was_closed() {
    let server = Scenario::fixture(Era::Legacy).serve_http().await.unwrap();
    let session = open_session(&server).await;
    let mut http = Http::connect(server.address()).await;
    http.send("POST", "/mcp", &within(&session), &call_body(7, "test_reconnection", json!({}))).await;
    let head = http.head().await.unwrap();
    let (first, _) = http.body(&head).await;
    let first = String::from_utf8(first).unwrap();
    assert!(first.starts_with("id: ") && first.contains("\nretry: "), "a place to go on from: {first}");
    assert_eq!(data(&first), [] as [Value; 0], "no answer yet");
    let place = first.lines().next().unwrap().strip_prefix("id: ").unwrap().to_string();
    let headers = [&within(&session)[..], &[("last-event-id", place.as_str())]].concat();
    let (head, rest, _) = once(&server, "GET", &headers, "").await.unwrap();
    assert_eq!((head.status, &data(&rest)[0]["id"]), (200, &json!(7)));
}

#[tokio::test]
async fn strangers_names_are_refused() {
    let server = Scenario::fixture(Era::Dual).serve_http().await.unwrap();
    let (body, headers) = modern_request("server/discover", json!({}));
    let mut headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let own = server.address().to_string();
    for (host, status) in [("evil.example.com", 403), ("localhost.evil.example.com:80", 403), (own.as_str(), 200)] {
        headers.push(("host", host));
        let mut http = Http::connect(server.address()).await;
        http.send("POST", "/mcp", &headers, &body).await;
        assert_eq!(http.head().await.unwrap().status, status, "{host}");
        headers.pop();
    }
}

#[tokio::test]
async fn initialize_does_not_exist_for_a_modern_request() {
    let server = Scenario::fixture(Era::Dual).serve_http().await.unwrap();
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe"] {
        let (head, body) = modern(&server, method, json!({})).await;
        assert_eq!(head.status, 404, "{body}");
        assert!(body.contains("-32601"), "{body}");
    }
}

#[tokio::test]
async fn the_program_serves_stdio_and_http_in_the_eras_it_is_told() {
    for (arguments, era) in
        [(vec![], Era::Dual), (vec!["stdio", "--era", "legacy"], Era::Legacy), (vec!["--era", "modern"], Era::Modern)]
    {
        let mut child = Command::new(fixture_program())
            .args(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut client = Client::over(child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let discovered = client.modern("server/discover", json!({})).await;
        assert_eq!(discovered.get("result").is_some(), era != Era::Legacy, "{discovered}");
        let initialized = client.initialize("2025-11-25").await;
        assert_eq!(initialized.get("result").is_some(), era != Era::Modern, "{initialized}");
    }
    let mut child = Command::new(fixture_program())
        .args(["http", "--era", "modern"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut url = String::new();
    tokio::time::timeout(DEADLINE, stdout.read_line(&mut url)).await.expect("a URL in time").unwrap();
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/mcp\n"), "{url}");
    drop(child.stdin.take());
    let status = tokio::time::timeout(DEADLINE, child.wait()).await.expect("an end in time").unwrap();
    assert_eq!(status.code(), Some(0));
}

#[tokio::test]
async fn the_program_says_how_it_is_used() {
    for arguments in [&["--era"][..], &["http", "--era", "future"], &["ftp"]] {
        let mut child = Command::new(fixture_program()).args(arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
        assert_eq!(child.wait().await.unwrap().code(), Some(64));
        assert_eq!(
            said,
            "helve-testkit-fixture: usage: helve-testkit-fixture [stdio|http|sse] [--era legacy|modern|dual]\n"
        );
    }
}
