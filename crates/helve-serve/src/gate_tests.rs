//! What passes the gate, and what does not.

use super::*;

fn read_text(text: &str) -> Result<Passed, Barred> {
    read(&ByteString::from(text))
}

/// The id and the code of an answer at the gate; `None`: it passed.
fn refused(text: &str) -> Option<(Option<String>, i64)> {
    match read_text(text) {
        Err(Barred::Refused { id, error }) => Some((id.map(|id| id.to_string()), error.code)),
        Ok(_) | Err(Barred::Dropped) => None,
    }
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":{},"params":{params}}}"#, plane::quoted(method))
}

/// S10: the table, in its own spelling.
#[test]
fn s10_methods_of_the_protocol_pass_in_their_own_spelling_alone() {
    for known in method::REQUESTS {
        assert_eq!(refused(&request(known.name, "{}")), None, "{}", known.name);
        for odd in [
            known.name.to_uppercase(),
            format!(" {}", known.name),
            format!("{}\t", known.name),
            format!("{}/", known.name),
            format!("\u{200b}{}", known.name),
            known.name.replace('a', "a\u{ad}").replace('e', "e\u{fe0f}").replace('i', "i\u{2060}"),
        ] {
            assert_eq!(refused(&request(&odd, "{}")), Some((Some("7".to_owned()), -32601)), "{odd:?}");
        }
    }
    for nobodys in
        ["sampling/createMessage", "elicitation/create", "roots/list", "tools/new", "notifications/cancelled"]
    {
        assert_eq!(refused(&request(nobodys, "{}")), Some((Some("7".to_owned()), -32601)), "{nobodys}");
    }
    // Whether a rule opens it is decided where the servers are known.
    assert_eq!(refused(&request("vendor/do", "{}")), None);
}

/// S9: not a byte of what is not JSON.
#[test]
fn s9_a_message_is_checked_whole() {
    let broken = [
        r#"{"name":"echo","_meta":{"a":bogus}}"#,
        r#"{"name":"echo","arguments":{"a":[1,]}}"#,
        r#"{"name":"echo","vendor":{"a":01}}"#,
        r#"{"ref":{"type":"ref/prompt","name":"x"},"argument":{"value":tru}}"#,
    ];
    for params in broken {
        for method in ["tools/call", "completion/complete", "vendor/do"] {
            assert_eq!(refused(&request(method, params)), Some((Some("7".to_owned()), -32700)), "{method} {params}");
        }
        let told = format!(r#"{{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{params}}}"#);
        assert!(matches!(read_text(&told), Err(Barred::Dropped)), "{told}");
    }
    for params in ["[]", "7", "\"x\"", "null"] {
        assert_eq!(refused(&request("tools/call", params)), Some((Some("7".to_owned()), -32600)), "{params}");
    }
}

/// S23: what is said twice is not said.
#[test]
fn s23_nothing_is_said_twice() {
    for params in [
        r#"{"name":"echo","name":"danger"}"#,
        r#"{"name":"echo","n\u0061me":"danger"}"#,
        r#"{"name":"echo","arguments":{"path":"a","path":"b"}}"#,
        r#"{"name":"echo","_meta":{"progressToken":1,"progress\u0054oken":2}}"#,
        r#"{"name":"echo","inputResponses":{"q":{"action":"decline","action":"accept"}}}"#,
    ] {
        assert_eq!(refused(&request("tools/call", params)), Some((Some("7".to_owned()), -32600)), "{params}");
    }
    for text in [
        r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","jsonrpc":"1.0","id":7,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","m\u0065thod":"tools/call"}"#,
    ] {
        assert!(matches!(refused(text), Some((_, -32600))), "{text}");
    }
}

/// S23: keys are compared as they read.
#[test]
fn s23_reserved_members_are_reserved_in_every_spelling() {
    let params = r#"{"name":"x","_meta":{"progress\u0054oken":5,"io.modelcontextprotocol\/protocolVersion":"v","io.modelcontextprotocol\/client\u0049nfo":{},"trace":1}}"#;
    let Ok(Passed::Request(request)) = read_text(&request("tools/call", params)) else { panic!("refused") };
    let meta = request.meta();
    assert_eq!(meta.progress_token.unwrap().as_str(), "5");
    assert_eq!(meta.protocol_version.unwrap().as_str(), "\"v\"");
    assert_eq!(meta.rest.unwrap().as_str(), r#"{"trace":1}"#);
}

/// S24: what stands beside the subject is not the subject.
#[test]
fn s24_the_subject_is_what_the_method_says() {
    let subject = |method: &str| {
        let text = request(method, r#"{"name":"n","uri":"u"}"#);
        let Ok(Passed::Request(request)) = read_text(&text) else { panic!("refused") };
        request.subject()
    };
    assert_eq!(subject("resources/read"), "u");
    assert_eq!(subject("tools/call"), "n");
    assert_eq!(subject("prompts/get"), "n");
}

/// S25: an answer that is not JSON is none.
#[test]
fn s25_a_broken_answer_becomes_an_error() {
    for body in
        [r#""result":{"action":accept}"#, r#""result":{"a":1,"a":2}"#, r#""error":{"code":1,"message":"m","data":x}"#]
    {
        let text = format!(r#"{{"jsonrpc":"2.0","id":3,{body}}}"#);
        match read_text(&text) {
            Ok(Passed::Answer { id: AnswerId::Ours(3), body: Err(_) }) => {}
            other => panic!("{text}: {other:?}"),
        }
    }
}

/// S1, S10: notifications of the table, in their own spelling; whether a rule opens another one is decided later.
#[test]
fn s1_what_is_told() {
    let told = |method: &str| read_text(&format!(r#"{{"jsonrpc":"2.0","method":{}}}"#, plane::quoted(method))).is_ok();
    for method in
        ["notifications/cancelled", "notifications/roots/list_changed", "notifications/vendor/said", "vendor/do"]
    {
        assert!(told(method), "{method}");
    }
    for method in [
        "tools/call",
        "TOOLS/CALL",
        "resources/read",
        "tasks/get",
        "notifications/message",
        "Notifications/cancelled",
        "",
        "ping",
    ] {
        assert!(!told(method), "{method}");
    }
}
