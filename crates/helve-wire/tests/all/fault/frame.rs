//! Answers that cannot be accepted: each fails its own call at once and says why; a call beside it and one after it
//! succeed.

use helve_model::{CallKind, ContentBody};
use helve_testkit::{EndlessLine, Scenario};
use helve_wire::{Limits, Session};

use super::at_once;
use crate::hand::Hand;
use crate::support::*;

/// Has the peer answer a call with exactly this text (`$ID` is the id); gives the error of that call.
async fn answered_with(session: &Session, frame: &str) -> String {
    let arguments = serde_json::json!({ "text": frame }).to_string();
    answered_by(session, &arguments).await
}

/// A call beside it is in flight all the time, so that the failure must find its own call.
async fn answered_by(session: &Session, arguments: &str) -> String {
    let beside = Box::pin(call(session, "sleep", r#"{"ms":20}"#));
    let failing = Box::pin(at_once(arguments.get(..80).unwrap_or(arguments), call(session, "raw", arguments)));
    let (beside, failed) = tokio::join!(beside, failing);
    assert_eq!(text(&beside.unwrap()), "slept");
    let failed = failed.unwrap_err();
    assert_eq!(text(&call(session, "echo", "{}").await.unwrap()), "{}");
    assert!(!failed.hints().is_empty(), "an error without a hint: {failed}");
    shown(&failed)
}

fn start(session: &Session) -> tokio::task::JoinHandle<helve_wire::Result<helve_model::Outcome>> {
    let session = session.clone();
    tokio::spawn(async move { call(&session, "any", "{}").await })
}

async fn check(frame: &str) -> String {
    let mut errors = Vec::new();
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let session = in_process(&scenario, options()).await.unwrap();
        errors.push(answered_with(&session, &format!("{frame}\n")).await);
    }
    the_same(errors)
}

#[tokio::test]
async fn half_a_message() {
    insta::assert_snapshot!(check(r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":["#).await, @r"
    PROTOCOL_ERROR: the server's answer is not valid JSON: ends in the middle at byte 33
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(check(r#"{"jsonrpc":"2.0","id":$ID"#).await, @r"
    PROTOCOL_ERROR: the server's answer is not valid JSON: ends in the middle at byte 23
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
}

/// G7: an answer whose id can be read fails its call, whatever else is wrong with it.
#[tokio::test]
async fn g7_an_answer_that_is_not_marked_or_not_json() {
    insta::assert_snapshot!(check(r#"{"id":$ID,"result":{"content":[]}}"#).await, @r#"
    PROTOCOL_ERROR: the server's answer lacks `"jsonrpc": "2.0"`
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    "#);
    insta::assert_snapshot!(check(r#"{"jsonrpc":2.0,"id":$ID,"error":{"code":1,"message":"no"}}"#).await, @r#"
    PROTOCOL_ERROR: the server's answer lacks `"jsonrpc": "2.0"`
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    "#);
    insta::assert_snapshot!(check("{'jsonrpc': '2.0', 'id': $ID, 'result': {'content': []}}").await, @r"
    PROTOCOL_ERROR: the server's answer is not valid JSON
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
}

/// G7: what nobody could read is told when the time is over. A log line is not an answer, even if it has an id and an error.
#[tokio::test(start_paused = true)]
async fn g7_a_time_out_names_the_lines_that_could_not_be_read() {
    let (session, mut hand) = Hand::legacy(options()).await;
    let asked = start(&session);
    let id = hand.request("tools/call").await;
    hand.line(&format!(r#"{{"level":"warn","id":{id},"error":{{"code":1}}}}"#)).await;
    hand.line("here is your answer: 42").await;
    insta::assert_snapshot!(shown(&asked.await.unwrap().unwrap_err()), @r"
    TIMEOUT: the server did not answer within 20.0 s
      because: it wrote 2 lines that are not messages of the protocol, the last one: here is your answer: 42
      hint: raise the time-out of this server, or look into the server's log
      may have run
    ");
}

/// A line may come in pieces, at any pace, cut anywhere.
#[tokio::test]
async fn half_a_line_now_and_half_later() {
    let (session, mut hand) = Hand::legacy(options()).await;
    let asked = start(&session);
    let id = hand.request("tools/call").await;
    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":\"hé\"}}}}\n");
    for byte in line.as_bytes() {
        hand.write([*byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(text(&asked.await.unwrap().unwrap()), "hé");
}

/// Nothing tells that the rest never comes, but the end of the connection and the clock.
#[tokio::test(start_paused = true)]
async fn half_a_line_and_no_more() {
    let (session, mut hand) = Hand::legacy(options()).await;
    let asked = start(&session);
    let id = hand.request("tools/call").await;
    hand.write(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"res")).await;
    insta::assert_snapshot!(shown(&asked.await.unwrap().unwrap_err()), @r"
    TIMEOUT: the server did not answer within 20.0 s
      hint: raise the time-out of this server, or look into the server's log
      may have run
    ");
    assert_eq!(hand.read().await["method"], "notifications/cancelled");
    // The line ends at last; it harms nobody.
    hand.line("").await;
    let asked = start(&session);
    let id = hand.request("tools/call").await;
    hand.answer(id, r#"{"content":"fine"}"#).await;
    assert_eq!(text(&asked.await.unwrap().unwrap()), "fine");

    let asked = start(&session);
    let id = hand.request("tools/call").await;
    hand.write(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"res")).await;
    drop(hand);
    insta::assert_snapshot!(shown(&asked.await.unwrap().unwrap_err()), @r"
    TRANSPORT_ERROR: the peer closed the connection
      may have run
    ");
}

#[tokio::test]
async fn more_than_a_message() {
    insta::assert_snapshot!(check(r#"{"jsonrpc":"2.0","id":$ID,"result":{}}}"#).await, @r"
    PROTOCOL_ERROR: the server's answer is not valid JSON: something follows after the end at byte 36
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(check(r#"{"jsonrpc":"2.0","id":$ID,"result":{}} {"jsonrpc":"2.0","id":99,"result":{}}"#).await, @r"
    PROTOCOL_ERROR: the server's answer is not valid JSON: something follows after the end at byte 37
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
}

#[tokio::test]
async fn invalid_utf8() {
    // {"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"\xff\xfe"}]}}\n
    let frame =
        "eyJqc29ucnBjIjoiMi4wIiwiaWQiOiRJRCwicmVzdWx0Ijp7ImNvbnRlbnQiOlt7InR5cGUiOiJ0ZXh0IiwidGV4dCI6Iv/+In1dfX0K";
    let session = in_process(&Scenario::legacy(), options()).await.unwrap();
    insta::assert_snapshot!(answered_by(&session, &format!(r#"{{"base64":"{frame}"}}"#)).await, @r"
    PROTOCOL_ERROR: the server's answer is not UTF-8
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
}

#[tokio::test]
async fn nuls_between_tokens() {
    insta::assert_snapshot!(check("{\"jsonrpc\":\"2.0\",\"id\":$ID,\0\"result\":{}}").await, @r"
    PROTOCOL_ERROR: the server's answer is not valid JSON: broken syntax at byte 24
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
}

/// Payloads are not opened on the way: who opens one is told.
#[tokio::test]
async fn nuls_inside_a_payload_show_when_it_is_opened() {
    let session = in_process(&Scenario::legacy(), options()).await.unwrap();
    let frame = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\0b\"}]}}\n";
    let arguments = serde_json::json!({ "text": frame }).to_string();
    let outcome = call(&session, "raw", &arguments).await.unwrap();
    assert!(outcome.open().is_err());
    assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
}

/// Delivered by hand, since on its way as an argument such a frame takes longer than it may take to fail.
async fn delivered(frame: &str) -> String {
    let (session, mut hand) = Hand::legacy(options()).await;
    let (failing, beside) = (start(&session), start(&session));
    let (its_id, other) = (hand.request("tools/call").await, hand.request("tools/call").await);
    let line = frame.replace("$ID", &its_id.to_string()) + "\n";
    let failing = async {
        hand.write(&line).await;
        failing.await.unwrap()
    };
    let failed = at_once("a deep frame", failing).await.unwrap_err();
    hand.answer(other, r#"{"content":"fine"}"#).await;
    assert_eq!(text(&beside.await.unwrap().unwrap()), "fine");
    shown(&failed)
}

#[tokio::test]
async fn deep_nesting() {
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"a":{}1{}}}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    insta::assert_snapshot!(delivered(&deep).await, @r"
    PROTOCOL_ERROR: the server's answer nests deeper than 127 levels
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
    let deep =
        format!(r#"{{"jsonrpc":"2.0","result":{}1{},"id":$ID}}"#, r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
    insta::assert_snapshot!(delivered(&deep).await, @r"
    PROTOCOL_ERROR: the server's answer nests deeper than 127 levels
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
    let deep = format!(r#"{{"jsonrpc":"2.0","id":$ID,"error":{{"code":1,"message":"","data":{}"#, "[".repeat(100_000));
    insta::assert_snapshot!(delivered(&deep).await, @r"
    PROTOCOL_ERROR: the server's answer is not valid JSON: ends in the middle at byte 32
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
}

#[tokio::test]
async fn the_same_key_twice() {
    insta::assert_snapshot!(check(r#"{"jsonrpc":"2.0","id":$ID,"result":{},"id":99}"#).await, @r"
    PROTOCOL_ERROR: the server's answer has `id` twice
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(check(r#"{"jsonrpc":"2.0","id":$ID,"result":{},"result":{}}"#).await, @r"
    PROTOCOL_ERROR: the server's answer has `result` twice
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(check(r#"{"jsonrpc":"2.0","id":$ID,"result":{},"\u0069d":99}"#).await, @r"
    PROTOCOL_ERROR: the server's answer has `\u0069d` twice
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
}

#[tokio::test]
async fn an_id_of_another_type() {
    let session = in_process(&Scenario::legacy(), options()).await.unwrap();
    let frame = "{\"jsonrpc\":\"2.0\",\"id\":\"$ID\",\"result\":{}}\n";
    insta::assert_snapshot!(answered_with(&session, frame).await, @r#"
    PROTOCOL_ERROR: the server's answer has the id "4", a string, where the request had the number 4
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    "#);
}

#[tokio::test]
async fn wrong_shapes() {
    insta::assert_snapshot!(check(r#"{"jsonrpc":"2.0","id":$ID,"result":[]}"#).await, @r"
    PROTOCOL_ERROR: the server's answer has a result that is not an object
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(check(r#"{"jsonrpc":"2.0","id":$ID,"result":null}"#).await, @r"
    PROTOCOL_ERROR: the server's answer has a result that is not an object
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(check(r#"{"jsonrpc":"2.0","id":$ID}"#).await, @r"
    PROTOCOL_ERROR: the server's answer has neither a result nor an error
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(check(r#"{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1,"message":"x"}}"#).await, @r"
    PROTOCOL_ERROR: the server's answer has both a result and an error
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(check(r#"{"jsonrpc":"2.0","id":$ID,"error":"bad"}"#).await, @r"
    PROTOCOL_ERROR: the server's answer has an error that is not an object with code and message
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
    insta::assert_snapshot!(check(r#"{"jsonrpc":"2.0","id":$ID,"error":{"message":"no code"}}"#).await, @r"
    PROTOCOL_ERROR: the server's answer has an error that is not an object with code and message
      hint: the server does not follow JSON-RPC 2.0; report it to its authors
      may have run
    ");
}

/// Answers to nothing that was asked harm nobody, and are counted.
#[tokio::test]
async fn ids_that_nobody_asked_with() {
    let foreign =
        ["99999", "-1", "1.5", "18446744073709551616", r#""abc""#, r#""99999""#, "[1]", r#"{"a":1}"#, "true", r#""""#];
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let session = in_process(&scenario, options()).await.unwrap();
        for (count, id) in (1..).zip(foreign) {
            let frame = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[]}}}}\n");
            let arguments = serde_json::json!({ "text": frame, "then_answer": true }).to_string();
            assert_eq!(text(&call(&session, "raw", &arguments).await.unwrap()), "written", "{id}");
            assert_eq!(session.diagnostics().unmatched, count, "{id}");
        }
        assert_eq!(session.diagnostics().noise, 0);
    }
}

#[tokio::test]
async fn a_response_twice() {
    let session = in_process(&Scenario::legacy(), options()).await.unwrap();
    let frame = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"first\"}]}}\n";
    let arguments = serde_json::json!({ "text": frame, "then_answer": true }).to_string();
    assert_eq!(text(&call(&session, "raw", &arguments).await.unwrap()), "first");
    assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
    assert_eq!(session.diagnostics().unmatched, 1);
}

/// An error without id says that the peer could not read a request: where only one is in flight, it was that.
#[tokio::test]
async fn an_error_without_an_id() {
    let frame = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#;
    let (session, mut hand) = Hand::legacy(options()).await;
    let asked = start(&session);
    hand.request("tools/call").await;
    hand.line(frame).await;
    insta::assert_snapshot!(shown(&asked.await.unwrap().unwrap_err()), @r"
    PROTOCOL_ERROR: the server refused `tools/call`
      because: Parse error (-32700)
      hint: the reason is the server's own; its log may say more
    ");

    let calls = [start(&session), start(&session)];
    let ids = [hand.request("tools/call").await, hand.request("tools/call").await];
    hand.line(frame).await;
    for id in ids {
        hand.answer(id, r#"{"content":"fine"}"#).await;
    }
    for call in calls {
        assert_eq!(text(&call.await.unwrap().unwrap()), "fine");
    }
    assert_eq!(session.diagnostics().unmatched, 1);
}

/// Without an id nothing tells whose result it is, even when only one call is in flight: it may be a late answer.
#[tokio::test]
async fn a_result_without_an_id_answers_nobody() {
    let (session, mut hand) = Hand::legacy(options()).await;
    let asked = start(&session);
    let id = hand.request("tools/call").await;
    hand.line(r#"{"jsonrpc":"2.0","result":{"content":"whose?"}}"#).await;
    hand.line(r#"{"jsonrpc":"2.0","id":null,"result":{"content":"whose?"}}"#).await;
    hand.line(r#"{"jsonrpc":"2.0","level":"info","message":"a log line that knows its place"}"#).await;
    hand.answer(id, r#"{"content":"mine"}"#).await;
    assert_eq!(text(&asked.await.unwrap().unwrap()), "mine");
}

#[tokio::test]
async fn a_line_of_a_hundred_megabytes() {
    let session = in_process(&Scenario::modern(), options()).await.unwrap();
    let beside = call(&session, "echo", "{}");
    let (failed, beside) = tokio::join!(call(&session, "big", r#"{"bytes":100000000}"#), beside);
    insta::assert_snapshot!(shown(&failed.unwrap_err()), @r"
    LIMIT_EXCEEDED: the server's answer is larger than 67108864 bytes
      hint: ask for less, or raise the limit `message_bytes`
      may have run
    ");
    assert_eq!(text(&beside.unwrap()), "{}");
    assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");

    let limits = Limits { message_bytes: 128 << 20, ..Limits::default() };
    let session = in_process(&Scenario::modern(), options().with(|options| options.limits = limits)).await.unwrap();
    let outcome = call(&session, "big", r#"{"bytes":100000000}"#).await.unwrap();
    assert!(outcome.raw().as_str().len() > 100_000_000);
}

/// Not answers, but questions, notifications and logs over the limit: no call of ours is concerned, whatever ids are
/// in them.
#[tokio::test]
async fn large_lines_that_answer_nothing_fail_nobody() {
    let limits = Limits { message_bytes: 8 << 10, ..Limits::default() };
    let (session, mut hand) = Hand::legacy(options().with(|options| options.limits = limits)).await;
    let asked = start(&session);
    let id = hand.request("tools/call").await;
    let filler = "x".repeat(20_000);
    for line in [
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"sampling/createMessage","params":{{"a":"{filler}"}}}}"#),
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"a":"{filler}","b":{{"id":{id}}}}}}}"#
        ),
        format!(r#"{{"level":"info","a":"{filler}","id":{id}}}"#),
        format!(r#"{{"level":"info","id":{id},"a":"{filler}"}}"#),
        format!(r#"a log line with much {filler} and "id":{id}}}"#),
        filler.clone(),
    ] {
        hand.line(&line).await;
    }
    hand.answer(id, r#"{"content":"fine"}"#).await;
    assert_eq!(text(&asked.await.unwrap().unwrap()), "fine");
}

/// Text without a line end at the start is glued to the first answer; the second handshake gets through.
#[tokio::test(start_paused = true)]
async fn a_start_without_a_line_end() {
    for newline in [true, false] {
        let scenario = Scenario::legacy().endless_line(EndlessLine { bytes: 1 << 20, newline });
        let session = in_process(&scenario, options()).await.unwrap();
        assert_eq!(text(&call(&session, "echo", "{}").await.unwrap()), "{}");
        assert_eq!(session.diagnostics().noise, 1);
    }
}

#[tokio::test]
async fn carriage_returns() {
    for scenario in [Scenario::legacy().crlf(), Scenario::modern().crlf()] {
        let session = in_process(&scenario, options()).await.unwrap();
        let arguments = r#"{"text":"a\r\nb"}"#;
        assert_eq!(
            call(&session, "echo", arguments).await.unwrap().open().unwrap().structured.unwrap().as_str(),
            arguments
        );
        assert!(!session.list_tools(times()).await.unwrap().items.is_empty());
        assert_eq!(session.diagnostics().noise, 0);
    }
}

/// A result is what was asked for, whatever keys of other results it has beside.
#[tokio::test]
async fn keys_of_other_results() {
    let extra =
        r#""messages":[{"role":"user"}],"tools":[{"name":"x"}],"contents":[{"uri":"a:b","text":"t"}],"prompts":7"#;
    let result = format!(r#"{{{extra},"content":[{{"type":"text","text":"mine"}}],"task":null}}"#);
    let frame = format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{result}}}\n");
    for scenario in [Scenario::legacy(), Scenario::modern()] {
        let scenario = ["tools/call", "resources/read", "prompts/get"]
            .into_iter()
            .fold(scenario, |scenario, method| scenario.scripted(method, &frame));
        let session = in_process(&scenario, options()).await.unwrap();
        let outcome = call(&session, "any", "{}").await.unwrap();
        assert_eq!(outcome.raw().as_str(), result);
        assert_eq!(text(&outcome), "mine");
        let read = session.read_resource(&permit(CallKind::Resource, "a:b", "{}"), within(PATIENCE)).await.unwrap();
        assert_eq!((read.raw().as_str(), read.contents().len()), (result.as_str(), 1));
        let prompt = session.get_prompt(&permit(CallKind::Prompt, "p", "{}"), within(PATIENCE)).await.unwrap();
        assert_eq!(prompt.raw().as_str(), result);
    }
}

#[tokio::test]
async fn unknown_kinds_of_content() {
    let session = in_process(&Scenario::modern(), options()).await.unwrap();
    let view = call(&session, "contents", "{}").await.unwrap().open().unwrap();
    assert_eq!(view.content.len(), 6);
    let unknown = view.content.last().unwrap();
    assert_eq!(unknown.body, ContentBody::Unknown { kind: Some("hologram".into()) });
    assert_eq!(unknown.raw.member("beam").unwrap().as_str(), "[1,2,3]");
}

/// The modern era names the type of a result; one that is not known is not taken for an outcome.
#[tokio::test]
async fn unknown_kinds_of_results() {
    let frame = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"resultType\":\"prophecy\",\"content\":[]}}\n";
    let session = in_process(&Scenario::modern().scripted("tools/call", frame), options()).await.unwrap();
    let error = call(&session, "any", "{}").await.unwrap_err();
    insta::assert_snapshot!(shown(&error), @r#"
    PROTOCOL_ERROR: the server's result is of the type "prophecy", which the protocol does not have
      hint: the server does not follow the protocol; report it to its authors
      may have run
    "#);
    // Legacy results have no type: the key is the server's own there.
    let session = in_process(&Scenario::legacy().scripted("tools/call", frame), options()).await.unwrap();
    assert_eq!(text(&call(&session, "any", "{}").await.unwrap()), "");
}

#[tokio::test]
async fn refusals_as_a_person_reads_them() {
    let refused = async |method: &str, code: i64, message: &str| {
        let frame = serde_json::json!({ "jsonrpc": "2.0", "id": 0, "error": { "code": code, "message": message } });
        let frame = frame.to_string().replace("\"id\":0", "\"id\":$ID") + "\n";
        let session = in_process(&Scenario::legacy().scripted(method, &frame), options()).await.unwrap();
        let error = match method {
            "tools/call" => call(&session, "x", "{}").await.unwrap_err(),
            "resources/read" => {
                session.read_resource(&permit(CallKind::Resource, "a:b", "{}"), within(PATIENCE)).await.unwrap_err()
            }
            "prompts/get" => {
                session.get_prompt(&permit(CallKind::Prompt, "x", "{}"), within(PATIENCE)).await.unwrap_err()
            }
            _ => session.request(method, None, times()).await.unwrap_err(),
        };
        shown(&error)
    };
    insta::assert_snapshot!(refused("tools/call", -32602, "Unknown tool: x").await, @r"
    TOOL_NOT_FOUND: the server refused `tools/call`
      because: Unknown tool: x (-32602)
      hint: list again what the server has: it may have changed
    ");
    insta::assert_snapshot!(refused("tools/call", -32602, "Input validation error: 'a' is required").await, @r"
    INVALID_PARAMS: the server refused `tools/call`
      because: Input validation error: 'a' is required (-32602)
      hint: compare the arguments with what the server lists for them
    ");
    insta::assert_snapshot!(refused("tools/call", -32603, "it broke").await, @r"
    TOOL_ERROR: the server refused `tools/call`
      because: it broke (-32603)
      hint: the reason is the server's own; its log may say more
      may have run
    ");
    insta::assert_snapshot!(refused("tools/call", -32601, "Method not found").await, @r"
    PROTOCOL_ERROR: the server refused `tools/call`
      because: Method not found (-32601)
      hint: the reason is the server's own; its log may say more
    ");
    insta::assert_snapshot!(refused("resources/read", -32002, "Resource not found").await, @r"
    RESOURCE_NOT_FOUND: the server refused `resources/read`
      because: Resource not found (-32002)
      hint: list again what the server has: it may have changed
    ");
    insta::assert_snapshot!(refused("prompts/get", -32602, "Prompt x not found").await, @r"
    PROMPT_NOT_FOUND: the server refused `prompts/get`
      because: Prompt x not found (-32602)
      hint: list again what the server has: it may have changed
    ");
    insta::assert_snapshot!(refused("logging/setLevel", -32000, "go away").await, @r"
    PROTOCOL_ERROR: the server refused `logging/setLevel`
      because: go away (-32000)
      hint: the reason is the server's own; its log may say more
    ");
}
