//! What each kind of message, and each kind of broken message, is taken for.

use proptest::prelude::*;

use super::*;

fn read_text(text: &str) -> Incoming {
    read(&ByteString::from(text))
}

fn shown(text: &str) -> String {
    match read_text(text) {
        Incoming::Answer { id, body: Ok(result) } => format!("{id:?} result {result}"),
        Incoming::Answer { id, body: Err(error) } => format!("{id:?} error {error}"),
        Incoming::Request { id, method, params } => format!("request {id} {method} {params:?}"),
        Incoming::Notification { method, params } => format!("notification {method} {params:?}"),
        Incoming::Unacceptable { id, problem } => format!("{id:?} {problem}"),
        Incoming::Noise => "noise".to_owned(),
    }
}

#[test]
fn well_formed_messages() {
    insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":7,"result":{"a":1}}"#), @r#"Ours(7) result {"a":1}"#);
    insta::assert_snapshot!(shown(r#"{"result":{},"jsonrpc":"2.0","id":7.0,"extra":[1]}"#), @"Ours(7) result {}");
    insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no","data":{"b":2}}}"#), @"Ours(7) error no (-32601)");
    insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}"#), @"Null error parse (-32700)");
    insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":"a-1","method":"ping"}"#), @r#"request "a-1" ping None"#);
    insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"p":1}}"#), @r#"notification notifications/x Some({"p":1})"#);
}

#[test]
fn answers_that_cannot_be_accepted_keep_their_id() {
    insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":7,"result":{},"id":8}"#), @"Ours(7) has `id` twice");
    insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":7,"result":{"a":"#), @"Ours(7) is not valid JSON: ends in the middle at byte 33");
    insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":7,"result":[1]}"#), @"Ours(7) has a result that is not an object");
    insta::assert_snapshot!(shown(r#"{"id":7,"result":{}}"#), @r#"Ours(7) lacks `"jsonrpc": "2.0"`"#);
    insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":7}"#), @"Ours(7) has neither a result nor an error");
    insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":""}}"#), @"Ours(7) has both a result and an error");
    insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":7,"error":"bad"}"#), @"Ours(7) has an error that is not an object with code and message");
    insta::assert_snapshot!(shown(r#"{"jsonrpc":"2.0","id":"7","result":{}}"#), @"Mistyped(7) result {}");
    let deep = format!(r#"{{"jsonrpc":"2.0","result":{{"a":{}{}}},"id":7}}"#, "[".repeat(100_000), "]".repeat(100_000));
    insta::assert_snapshot!(shown(&deep), @"Ours(7) nests deeper than 127 levels");
}

#[test]
fn log_lines_are_noise() {
    for text in ["", "plain text", r#"{"level":"info","msg":"x"}"#, "[1,2]", "7", "\u{0}{}"] {
        assert_eq!(read_text(text), Incoming::Noise, "{text}");
    }
}

#[test]
fn the_id_of_a_message_too_large_to_keep() {
    let filler = "x".repeat(50);
    assert_eq!(recover_id(&format!(r#"{{"jsonrpc":"2.0","id":12,"result":{{"a":"{filler}"#), ""), Some(12));
    assert_eq!(recover_id(&format!(r#"{{"result":{{"a":"{filler}"#), r#"xxx"},"jsonrpc":"2.0","id":13}"#), Some(13));
    assert_eq!(recover_id(&format!(r#"{{"result":{{"a":"{filler}"#), r#"xxx"},"id": 14 ,"jsonrpc":"2.0"}"#), Some(14));
    assert_eq!(recover_id("text without end", "and more"), None);
    assert_eq!(recover_id(r#"{"jsonrpc":"2.0","id":15,"method":"m","params":{"a":"#, r#"xx"}}"#), None);
    assert_eq!(recover_id(r#"{"jsonrpc":"2.0","method":"m","params":{"a":"#, r#"xx","id":16}}"#), None);
    assert_eq!(recover_id(r#"{"level":"info","id":17,"a":"#, r#"xx"}"#), None);
    assert_eq!(recover_id(r#"{"level":"info","a":"#, r#"xx","id":18}"#), None);
}

#[test]
fn batches_are_taken_apart() {
    let frame = ByteString::from(r#" [ {"jsonrpc":"2.0","id":1,"result":{}} , {"jsonrpc":"2.0","method":"n"} ] "#);
    assert_eq!(batch(&frame).unwrap().count(), 2);
    assert!(batch(&ByteString::from("{}")).is_none());
    assert!(batch(&ByteString::from("[info] a log line")).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// Whatever the peer writes, an answer to request 7 comes only from a message whose one and only id is 7.
    #[test]
    fn only_the_one_id_answers(text in r#"(\{|\}|\[|\]|"id"|"jsonrpc"|"result"|"error"|:|,|7|8|"2.0"|\{\}|"a"| |\\u0069){0,24}"#) {
        if let Incoming::Answer { id, body: Ok(_) } = read_text(&text) {
            let parsed: serde_json::Value = match serde_json::from_str(&text) {
                Ok(parsed) => parsed,
                Err(error) => return Err(TestCaseError::fail(format!("{text} is not JSON: {error}"))),
            };
            if id == AnswerId::Ours(7) {
                prop_assert_eq!(&parsed["id"], &serde_json::json!(7));
            }
        }
    }

    #[test]
    fn no_text_does_harm(text in any::<String>()) {
        let frame = ByteString::from(text.as_str());
        drop(read(&frame));
        let _: Option<usize> = batch(&frame).map(Iterator::count);
        let _: Option<u64> = recover_id(&text, &text);
    }
}
