//! S26: a person sees who asks, and nobody but helve asks in helve's name.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn asked(params: &Value) -> Value {
    let server = ServerName::new("files").unwrap();
    let params = RawJson::checked(params.to_string()).unwrap();
    serde_json::from_str(of_server(&server, QuestionKind::Elicitation, &params).as_str()).unwrap()
}

fn message(text: &str) -> String {
    asked(&json!({ "message": text }))["message"].as_str().unwrap().to_owned()
}

#[test]
fn s26_a_question_begins_with_its_server() {
    assert_eq!(message("Which branch?"), "The server `files` asks: Which branch?");
    assert_eq!(message(""), "The server `files` asks: ");
    let url = asked(&json!({"mode": "url", "message": "Log in", "url": "https://example.com/a", "elicitationId": "7"}));
    assert_eq!(
        url,
        json!({"mode": "url", "message": "The server `files` asks: Log in", "url": "https://example.com/a", "elicitationId": "7"})
    );
    let without = asked(&json!({"mode": "form"}));
    assert_eq!(without, json!({"message": "The server `files` asks: ", "mode": "form"}));
    let doubled = RawJson::checked(r#"{"message":"a","m\u0065ssage":"helve asks: yes?"}"#).unwrap();
    let server = ServerName::new("files").unwrap();
    let named = of_server(&server, QuestionKind::Elicitation, &doubled);
    assert_eq!(named.as_str(), r#"{"message":"The server `files` asks: h*lve asks: yes?"}"#);
}

#[test]
fn s26_no_server_signs_as_helve() {
    for signature in [
        "helve",
        "Helve",
        "HELVE",
        "h\u{200b}elve",
        "he\u{301}lve",
        "\u{ff48}\u{ff45}\u{ff4c}\u{ff56}\u{ff45}",
        "һеӏѵе",
        "hе1νе",
        "𝐡𝐞𝐥𝐯𝐞",
        "ⓗⓔⓛⓥⓔ",
        "ℎℯℓⅴℯ",
        "he|ve",
        "heIve",
        "h3lve",
        "\u{202e}helve",
        "h\u{ad}e\u{ad}l\u{ad}v\u{ad}e",
    ] {
        let shown = message(&format!("ok.\n\n[{signature}] asks: may it run?"));
        assert_eq!(shown, "The server `files` asks: ok.\n[h*lve] asks: may it run?", "{signature:?}");
    }
    assert_eq!(message("Helvetica on shelves"), "The server `files` asks: Helvetica on shelves");
    assert_eq!(of_helve("may it run?"), "helve asks: may it run?");
    assert_eq!(foreign_name("he`lve\n`"), "`he'lve '`");
}

#[test]
fn s26_line_breaks_are_few_and_texts_end() {
    let shown = message(&"a\n".repeat(3_000));
    assert_eq!(shown.matches('\n').count(), MAX_LINE_BREAKS);
    assert!(shown.chars().count() < MAX_MESSAGE + 100 && shown.ends_with('…'), "{}", shown.len());
    assert_eq!(message("a\r\n\u{2028}\n\n b\tc"), "The server `files` asks: a\nb c");
}

#[test]
fn s26_labels_are_texts_of_the_server_too() {
    let schema = json!({"type": "object", "title": "helve\n\n\nasks", "properties": {
        "title": {"type": "string", "title": "helve: yes?", "description": "a\nb", "default": "helve\n"},
        "pick": {"type": "string", "enum": ["helve", "b"], "enumNames": ["h\u{435}lve", "B"]},
        "one": {"oneOf": [{"const": "helve", "title": "helve"}]},
    }, "required": ["title"]});
    let asked = asked(&json!({"message": "?", "requestedSchema": schema}));
    assert_eq!(
        asked["requestedSchema"],
        json!({"type": "object", "title": "h*lve asks", "properties": {
        "title": {"type": "string", "title": "h*lve: yes?", "description": "a b", "default": "helve\n"},
        "pick": {"type": "string", "enum": ["helve", "b"], "enumNames": ["h*lve", "B"]},
        "one": {"oneOf": [{"const": "helve", "title": "h*lve"}]},
    }, "required": ["title"]})
    );
}

#[test]
fn s26_results_that_ask_name_the_server() {
    let server = ServerName::new("files").unwrap();
    let result = RawJson::checked(
        r#"{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"helve asks: ok?"}},"s":{"method":"sampling/createMessage","params":{"messages":[]}}},"requestState":"x"}"#,
    )
    .unwrap();
    insta::assert_snapshot!(in_result(&server, result).as_str(), @r#"{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"The server `files` asks: h*lve asks: ok?"}},"s":{"method":"sampling/createMessage","params":{"messages":[]}}},"requestState":"x"}"#);
}

#[test]
fn s26_arguments_are_compact_and_cut() {
    let pretty = RawJson::checked("{\n  \"a\" : \"x y\\n\\\" z\",\n\n\t\"b\": [1, 2]\u{20}}").unwrap();
    assert_eq!(arguments(&pretty), r#"{"a":"x y\n\" z","b":[1,2]}"#);
    let hidden = RawJson::checked("{\"a\":\"\u{202e}\u{200b}\"}").unwrap();
    assert_eq!(arguments(&hidden), r#"{"a":"\u{202e}\u{200b}"}"#);
    let long = RawJson::checked(format!("\"{}\"", "x".repeat(100_000))).unwrap();
    assert_eq!(arguments(&long).chars().count(), MAX_ARGUMENTS + 1);
}

proptest! {
    /// Whatever a server writes, its question begins with its name and never holds the signature.
    #[test]
    fn s26_whatever_a_server_writes(text in "(helve|h|e|l|v|е|ν|1|\u{200b}|\u{301}|\n| |\u{202e}|a|𝐞|\u{ff4c}){0,40}") {
        let shown = message(&text);
        let said = shown.strip_prefix("The server `files` asks: ").unwrap().replace('\u{301}', "");
        let is_word = |start: usize, word: &str| {
            let before = said.get(..start).unwrap().chars().next_back();
            let after = said.get(start + word.len()..).unwrap().chars().next();
            !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
        };
        prop_assert!(!said.match_indices("helve").any(|(start, word)| is_word(start, word)), "{shown:?}");
        prop_assert!(!said.contains(is_unseen_but_breaks));
    }
}

fn is_unseen_but_breaks(character: char) -> bool {
    character != '\n' && is_invisible(character)
}
