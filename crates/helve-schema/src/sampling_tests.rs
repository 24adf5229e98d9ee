//! Tests of sampling: requests, results, and what cannot be put to a model.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn raw(value: &Value) -> RawJson {
    RawJson::assembled(value.to_string())
}

fn read(value: &Value) -> Result<SamplingRequest, SamplingProblem> {
    SamplingRequest::read(&raw(value))
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn says(role: &str, content: Value) -> Value {
    json!({"role": role, "content": content})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "weather", "input": {"city": "Paris"}, "_meta": {"x": 1}})
}

fn gave(id: &str) -> Value {
    json!({"type": "tool_result", "toolUseId": id, "content": [text("18 degrees")], "isError": false})
}

fn of(messages: Value) -> Value {
    json!({"messages": messages, "maxTokens": 100})
}

#[test]
fn a_plain_request() {
    let request = read(&json!({
        "messages": [says("user", text("What is the capital of France?"))],
        "modelPreferences": {"hints": [{"name": "claude-3-sonnet"}, {}], "intelligencePriority": 0.8, "speedPriority": 0.5},
        "systemPrompt": "You are a helpful assistant.",
        "maxTokens": 100,
        "temperature": 0.1,
        "stopSequences": ["END"],
        "includeContext": "thisServer",
        "metadata": {"user": "7"},
    }))
    .unwrap();
    assert_eq!(request.system_prompt.as_deref(), Some("You are a helpful assistant."));
    assert_eq!((request.max_tokens, request.temperature), (100, Some(0.1)));
    assert_eq!(request.stop_sequences, ["END"]);
    assert_eq!(request.include_context, IncludeContext::ThisServer);
    assert_eq!(request.metadata.as_ref().map(RawJson::as_str), Some(r#"{"user":"7"}"#));
    assert_eq!(
        request.model_preferences,
        ModelPreferences {
            hints: vec!["claude-3-sonnet".to_owned()],
            cost_priority: None,
            speed_priority: Some(0.5),
            intelligence_priority: Some(0.8),
        }
    );
    assert!(!request.uses_tools());
    assert_eq!(request.warnings, [""; 0]);
    insta::assert_snapshot!(request.summary(), @r#"1 message, a system prompt, up to 100 tokens, preferably by claude-3-sonnet: "What is the capital of France?""#);
}

#[test]
fn a_conversation_with_tools() {
    let request = read(&json!({
        "messages": [
            says("user", text("Weather in Paris and London?")),
            says("assistant", json!([text("Let me see"), call("a"), call("b")])),
            says("user", json!([gave("b"), gave("a")])),
        ],
        "tools": [{"name": "weather", "inputSchema": {"type": "object"}}, {"title": "nameless"}, 7],
        "toolChoice": {"mode": "required"},
        "maxTokens": 1000,
    }))
    .unwrap();
    assert!(request.uses_tools());
    assert_eq!(request.tool_choice, Some(ToolChoice::Required));
    assert_eq!(request.tools.len(), 1);
    insta::assert_snapshot!(request.warnings.join("\n"), @"
    tools: tool 2 is left out: no `name`
    tools: tool 3 is left out: not an object
    ");
    insta::assert_snapshot!(request.summary(), @r#"3 messages, 1 tool, up to 1000 tokens: "Let me see""#);
    let SamplingContent::ToolUse(tool_use) = &request.messages[1].content[1] else { panic!("no call") };
    assert_eq!((tool_use.name.as_str(), tool_use.input.as_str()), ("weather", r#"{"city":"Paris"}"#));
    let SamplingContent::ToolResult(result) = &request.messages[2].content[0] else { panic!("no result") };
    assert_eq!((result.tool_use_id.as_str(), result.is_error, result.content.len()), ("b", false, 1));
}

#[test]
fn what_is_odd_is_taken_with_a_warning() {
    let request = read(&json!({
        "messages": [says("user", json!("just text")), says("assistant", json!([])), says("user", json!({"type": "hologram"}))],
        "maxTokens": 1e30,
        "stopSequences": ["", 7, "END"],
        "modelPreferences": {"costPriority": 2, "hints": 7},
        "includeContext": "universe",
        "toolChoice": {"mode": "perhaps\u{1b}"},
        "systemPrompt": 7,
    }))
    .unwrap();
    insta::assert_snapshot!(request.warnings.join("\n"), @r#"
    maxTokens: 18446744073709551615 are more than the limit, 32768 are taken
    stopSequences: 1 of 3 are passed on
    modelPreferences: costPriority is not between 0 and 1
    includeContext: "universe" is not known
    toolChoice: the mode "perhaps\u001b" is not known
    "#);
    assert_eq!(request.max_tokens, MAX_SAMPLING_TOKENS);
    assert_eq!(request.raw.member("maxTokens").unwrap().as_str(), "32768");
    assert_eq!(request.messages[0].content[0].text(), Some("just text"));
    assert_eq!(request.messages[0].content[0].raw().as_str(), r#"{"type":"text","text":"just text"}"#);
    let silent = read(&json!({"messages": [says("user", text("x"))], "maxTokens": -1})).unwrap();
    insta::assert_snapshot!(silent.warnings.join("\n"), @"maxTokens: not a number of tokens, 4096 are taken");
    assert_eq!(silent.max_tokens, DEFAULT_SAMPLING_TOKENS);
    assert!(read(&json!({"messages": [says("user", text("x"))], "tools": []})).unwrap().uses_tools());
}

#[test]
fn what_cannot_be_put_to_a_model() {
    let said: Vec<String> = [
        json!([]),
        json!({}),
        of(json!([])),
        of(json!({})),
        of(json!([7])),
        of(json!([says("system", text("obey"))])),
        of(json!([{"role": "user"}])),
        of(json!([says("user", json!(7))])),
        of(json!([says("assistant", call("a"))])),
        of(json!([says("assistant", call("a")), says("user", text("never mind"))])),
        of(json!([says("assistant", json!([call("a"), call("b")])), says("user", gave("a"))])),
        of(json!([says("assistant", call("a")), says("user", json!([gave("a"), text("here")]))])),
        of(json!([says("assistant", call("a")), says("assistant", gave("a"))])),
        of(json!([says("user", gave("ghost"))])),
        of(json!([says("assistant", call("a")), says("user", json!([gave("a"), gave("b")]))])),
        of(json!(vec![says("user", text("x")); MAX_SAMPLING_MESSAGES + 1])),
        of(json!([says("user", json!(vec![text("x"); MAX_SAMPLING_BLOCKS + 1]))])),
        json!({"messages": [says("user", text("x"))], "tools": vec![json!({"name": "t"}); MAX_SAMPLING_TOOLS + 1]}),
        of(json!([says("user", text(&"x".repeat(MAX_SAMPLING_BYTES)))])),
    ]
    .iter()
    .map(|params| read(params).unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    not an object
    the request has no messages
    the request has no messages
    the request has no messages
    message 1: it has no role
    message 1: the role "system" is not known
    message 1: it has no content
    message 1: it has no content
    the call "a" of a tool is not answered by the next message
    the call "a" of a tool is not answered by the next message
    the call "b" of a tool is not answered by the next message
    message 2: results of tools stand beside other content
    message 2: results of tools are told by the user
    a result answers the call "ghost" of a tool, which the message before does not make
    a result answers the call "b" of a tool, which the message before does not make
    1001 messages, the limit is 1000
    4001 blocks, the limit is 4000
    129 tools, the limit is 128
    16777298 bytes, the limit is 16777216
    "#);
    assert!(matches!(
        SamplingRequest::read(&RawJson::assembled("{\"messages\":[nonsense]}".to_owned())),
        Err(SamplingProblem::Syntax(_))
    ));
}

#[test]
fn results_are_made_whole() {
    let whole = |result: &Value| SamplingResult::read(&raw(result)).map(|result| result.to_json().to_string());
    insta::assert_snapshot!(
        whole(&json!({"role": "assistant", "content": text("Paris"), "model": "m", "stopReason": "endTurn"})).unwrap(),
        @r#"{"role":"assistant","content":{"text":"Paris","type":"text"},"model":"m","stopReason":"endTurn"}"#
    );
    insta::assert_snapshot!(whole(&json!({"content": "Paris", "extra": {"kept": 1}})).unwrap(), @r#"{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"unknown","extra":{"kept":1}}"#);
    insta::assert_snapshot!(whole(&json!({"content": [text("Paris")], "model": "m"})).unwrap(), @r#"{"role":"assistant","content":{"text":"Paris","type":"text"},"model":"m"}"#);
    insta::assert_snapshot!(whole(&json!({"content": [call("a"), call("b")], "model": "m", "stopReason": "toolUse"})).unwrap(), @r#"{"role":"assistant","content":[{"_meta":{"x":1},"id":"a","input":{"city":"Paris"},"name":"weather","type":"tool_use"},{"_meta":{"x":1},"id":"b","input":{"city":"Paris"},"name":"weather","type":"tool_use"}],"model":"m","stopReason":"toolUse"}"#);
    let said: Vec<String> = [json!("Paris"), json!({}), json!({"content": []}), json!({"content": [7]})]
        .iter()
        .map(|result| whole(result).unwrap_err().to_string())
        .collect();
    insta::assert_snapshot!(said.join("\n"), @"
    not an object
    the result has no content
    the result has no content
    the result has no content
    ");
    let result = SamplingResult::read(&raw(&json!({"content": "x", "model": "m", "stopReason": "refusal"}))).unwrap();
    assert_eq!(
        (result.role.name(), result.model.as_deref(), result.stop_reason.as_deref()),
        ("assistant", Some("m"), Some("refusal"))
    );
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "user|assistant|text|tool_use|tool_result|auto|\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        let key = prop::sample::select(vec![
            "messages",
            "role",
            "content",
            "type",
            "text",
            "id",
            "name",
            "input",
            "toolUseId",
            "tools",
            "toolChoice",
            "mode",
            "maxTokens",
            "stopSequences",
            "modelPreferences",
            "hints",
            "costPriority",
            "systemPrompt",
            "model",
            "stopReason",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6).prop_map(|members| {
                Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

/// Whoever gets the raw request finds one number of tokens in it, however it was written.
#[test]
fn the_raw_request_asks_for_what_was_counted() {
    let handed = |tokens: &str| {
        let params = format!(r#"{{"messages":[{{"role":"user","content":"x"}}]{tokens},"later":[1, 2]}}"#);
        SamplingRequest::read(&RawJson::checked(params).unwrap()).unwrap().raw.as_str().to_owned()
    };
    insta::assert_snapshot!(handed(r#","maxTokens":7"#), @r#"{"messages":[{"role":"user","content":"x"}],"maxTokens":7,"later":[1, 2]}"#);
    insta::assert_snapshot!(handed(r#","maxTokens":300000"#), @r#"{"messages":[{"role":"user","content":"x"}],"later":[1, 2],"maxTokens":32768}"#);
    insta::assert_snapshot!(handed(""), @r#"{"messages":[{"role":"user","content":"x"}],"later":[1, 2],"maxTokens":4096}"#);
    let twice = handed(r#","maxTokens":7,"max\u0054okens":300000"#);
    assert_eq!((twice.matches("okens").count(), twice.contains("300000")), (1, false), "{twice}");
}

proptest! {
    #[test]
    fn anything_is_read_or_refused(messages in anything(), rest in anything()) {
        let mut params = json!({"messages": [messages.clone(), says("user", messages)]});
        if let Value::Object(rest) = rest {
            params.as_object_mut().unwrap().extend(rest);
        }
        match read(&params) {
            Ok(request) => {
                prop_assert!(request.max_tokens >= 1 && request.max_tokens <= MAX_SAMPLING_TOKENS);
                prop_assert!(request.summary().chars().all(helve_model::text::is_visible));
                prop_assert!(request.warnings.iter().all(|warning| warning.chars().all(helve_model::text::is_visible)));
            }
            Err(problem) => prop_assert!(problem.to_string().chars().all(helve_model::text::is_visible)),
        }
        if let Ok(result) = SamplingResult::read(&raw(&params)) {
            let whole = result.to_json();
            prop_assert!(whole.check().is_ok());
            prop_assert_eq!(SamplingResult::read(&whole).unwrap().content, result.content);
        }
    }
}
