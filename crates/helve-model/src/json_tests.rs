//! The scanner agrees with serde_json on every valid text, and never panics on any other.

use indexmap::IndexMap;
use proptest::prelude::*;
use serde_json::value::RawValue;

use super::scan::{MAX_DEPTH, ScanError, elements, members};
use super::*;

fn scanned(text: &str) -> Result<Vec<(String, String)>, ScanError> {
    members(text)?
        .map(|member| member.map(|member| (member.key().unwrap_or_default().into_owned(), member.value.to_owned())))
        .collect()
}

#[test]
fn members_of_an_envelope() {
    let text = r#" { "jsonrpc" : "2.0" , "id":7,"result":{"a":["}",{"b":"\\\""}]} , "id" : "x" } "#;
    let found = scanned(text).unwrap();
    let shown: Vec<String> = found.iter().map(|(key, value)| format!("{key}={value}")).collect();
    insta::assert_snapshot!(shown.join(" "), @r#"jsonrpc="2.0" id=7 result={"a":["}",{"b":"\\\""}]} id="x""#);
}

#[test]
fn escaped_keys_are_compared_by_meaning() {
    let object = RawJson::checked(r#"{"\u0069d":1,"id":2}"#).unwrap();
    assert_eq!(object.member("id").unwrap().as_str(), "2");
    let object = RawJson::checked(r#"{"\u0069d":1}"#).unwrap();
    assert_eq!(object.member("id").unwrap().as_str(), "1");
}

#[test]
fn broken_texts_say_what_is_wrong() {
    let problem = |text: &str| scanned(text).unwrap_err().to_string();
    insta::assert_snapshot!(problem("[1]"), @"another kind of value than expected at byte 0");
    insta::assert_snapshot!(problem(r#"{"a":1"#), @"ends in the middle at byte 6");
    insta::assert_snapshot!(problem(r#"{"a" 1}"#), @"broken syntax at byte 5");
    insta::assert_snapshot!(problem(r#"{"a":[1}"#), @"ends in the middle at byte 8");
    insta::assert_snapshot!(problem(r#"{"a":1}}"#), @"something follows after the end at byte 7");
    insta::assert_snapshot!(problem(r#"{"a":1,}"#), @"broken syntax at byte 7");
    insta::assert_snapshot!(problem(r#"{,"a":1}"#), @"broken syntax at byte 1");
}

#[test]
fn too_deep_values_are_marked_and_their_neighbours_read() {
    let nested = |depth: usize| format!(r#"{{"v":{}{},"id":3}}"#, "[".repeat(depth), "]".repeat(depth));
    let marks = |text: &str| -> Vec<bool> { members(text).unwrap().map(|member| member.unwrap().too_deep).collect() };
    assert_eq!(marks(&nested(MAX_DEPTH as usize)), [false, false]);
    assert_eq!(marks(&nested(MAX_DEPTH as usize + 1)), [true, false]);
    assert_eq!(marks(&nested(100_000)), [true, false]);
}

/// Backslashes, quotes and brackets meeting the 64-byte edges in every way.
#[test]
fn block_edges() {
    for padding in 0..140 {
        for core in [r#""\\""#, r#""\"""#, r#""\\\"]}""#, "[]", "{}", r#"["[{]}"]"#, r#""""#] {
            let text = format!(r#"{{"v":[{}{core},{core}],"w":{core}}}"#, " ".repeat(padding));
            let found = scanned(&text).unwrap();
            assert_eq!(found[1].1, core, "{text}");
            assert_eq!(found.len(), 2);
        }
    }
}

fn json_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        Just("1e400".to_owned()),
        any::<String>().prop_map(|value| serde_json::to_string(&value).unwrap()),
        r#"(\\\\|\\"|[\[\]{},:]|a|é){0,90}"#.prop_map(|value| format!("\"{value}\"")),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        let space = "[ \n\t]{0,3}";
        let key = prop_oneof!["[a-c]{0,2}", any::<String>()].prop_map(|key| serde_json::to_string(&key).unwrap());
        prop_oneof![
            (proptest::collection::vec(inner.clone(), 0..8), space)
                .prop_map(|(items, space)| format!("[{space}{}{space}]", items.join(&format!("{space},")))),
            (proptest::collection::vec((key, inner), 0..8), space).prop_map(|(items, space)| {
                let items: Vec<String> =
                    items.iter().map(|(key, value)| format!("{key}{space}:{space}{value}{space}")).collect();
                format!("{{{}}}{space}", items.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn agrees_with_serde_json(text in json_text()) {
        let trimmed = text.trim();
        if trimmed.starts_with('{') {
            let expected: IndexMap<String, Box<RawValue>> = serde_json::from_str(&text).unwrap();
            let found = scanned(&text).unwrap();
            for (key, value) in &expected {
                let (_, last) = found.iter().rev().find(|(found, _)| found == key).unwrap();
                prop_assert_eq!(last, value.get());
            }
            prop_assert!(found.iter().all(|(key, _)| expected.contains_key(key)));
        } else if trimmed.starts_with('[') {
            let expected: Vec<Box<RawValue>> = serde_json::from_str(&text).unwrap();
            let found: Vec<&str> = elements(&text).unwrap().collect::<Result<_, _>>().unwrap();
            let expected: Vec<&str> = expected.iter().map(|value| value.get()).collect();
            prop_assert_eq!(found, expected);
        } else {
            prop_assert!(members(&text).is_err() && elements(&text).is_err());
        }
    }

    /// A valid text with one byte changed, or any text at all: what the scanner accepts, it accepts to the end.
    #[test]
    fn mutated_texts_do_no_harm(text in json_text(), position in any::<prop::sample::Index>(), byte in any::<char>()) {
        let mut characters: Vec<char> = text.chars().collect();
        let position = position.index(characters.len());
        characters[position] = byte;
        let mutated: String = characters.into_iter().collect();
        let scanner_accepts = scanned(&mutated).is_ok();
        let parser_accepts = serde_json::from_str::<IndexMap<String, Box<RawValue>>>(&mutated).is_ok();
        prop_assert!(scanner_accepts || !parser_accepts, "serde_json accepts what the scanner refuses: {}", mutated);
    }
}
