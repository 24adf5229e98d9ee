//! Values in every form they travel in; what is not touched.

use insta::assert_snapshot;

use super::*;

fn set(values: &[&str]) -> SecretSet {
    let set = SecretSet::new();
    values.iter().for_each(|value| set.add(value));
    set
}

/// Every way a value may be met in a text, written by other means than the set's own.
fn hiding_places(secret: &str) -> Vec<String> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let url: String = secret
        .bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    let json = serde_json::json!({ "token": secret }).to_string();
    vec![secret.to_owned(), format!("\u{e4}{secret}\u{e4}"), json, hex.to_uppercase(), hex, url]
}

#[test]
fn every_form_is_found_among_few_and_among_many() {
    for others in [0, 100] {
        for round in 0..50_usize {
            let secret = format!("s3cr3t\"{round:04}\"/\u{fc}+{}", "x".repeat(round % 7));
            let set = set(&[&secret]);
            (0..others).for_each(|number| set.add(&format!("another-{number}-Secret")));
            for text in hiding_places(&secret) {
                let shown = set.hide(&text);
                assert!(shown.contains(HIDDEN), "{text}");
                assert!(!shown.contains(&secret), "{shown}");
            }
        }
    }
}

#[test]
fn base64_is_found_behind_any_number_of_bytes() {
    let secret = "hunter2-hunter2";
    let set = set(&[secret]);
    for alphabet in [STANDARD, URL_SAFE] {
        for (before, behind) in [("", ""), ("u", "x"), ("us", "xy"), ("user:", " and more")] {
            let whole = format!("{before}{secret}{behind}");
            let text = format!("Basic {}==", base64(0, whole.as_bytes(), alphabet));
            assert!(set.hide(&text).contains(HIDDEN), "{text}");
        }
    }
    assert_eq!(base64(0, b"any carnal pleas", STANDARD), "YW55IGNhcm5hbCBwbGVhcw");
}

#[test]
fn what_is_plain_is_said() {
    let plain = [
        "",
        "short",
        "production",
        "postgres",
        "12345678901",
        "127.0.0.1:8080",
        "true",
        "api.example.com",
        "db.internal:5432",
        "2026-11-18",
    ];
    let set = set(&plain);
    assert!(set.is_empty());
    for text in plain {
        assert_eq!(set.hide(text), text);
    }
    for secret in ["AKIAIOSFODNN7EXAMPLE", "hunter2-hunter2", "correct horse battery", "abcdefghijklmnopqrstuvwxyz"] {
        assert!(!SecretSet::is_plain(secret), "{secret}");
    }
}

#[test]
fn a_message_stays_json_and_its_binary_parts_stay_whole() {
    let set = set(&["tok-1234-ABCD", "a\":\"b-quotes"]);
    let inner = base64(0, b"tok-1234-ABCD", STANDARD);
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"it is tok-1234-ABCD \n"}},{{"type":"image","data":"{inner}"}},{{"type":"resource","resource":{{"uri":"x:tok-1234-ABCD","blob":"{inner}"}}}}],"structuredContent":{{"data":"{inner}"}}, "requestState" : "tok-1234-ABCD","n":[1,true,null]}}}}"#
    );
    let hidden = set.hide_in_message(&text).expect("something to hide");
    assert!(serde_json::from_str::<serde_json::Value>(&hidden).is_ok());
    assert_snapshot!(hidden, @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"it is (hidden) \n"},{"type":"image","data":"dG9rLTEyMzQtQUJDRA"},{"type":"resource","resource":{"uri":"x:(hidden)","blob":"dG9rLTEyMzQtQUJDRA"}}],"structuredContent":{"data":"(hidden)A"}, "requestState" : "tok-1234-ABCD","n":[1,true,null]}}"#);
    // Text that only looks like the secret because of what JSON puts between strings.
    assert_eq!(set.hide_in_message(r#"{"a":"b-quotes","c":"d"}"#), None);
    // A log line where a message should be.
    assert_eq!(set.hide_in_message("token tok-1234-ABCD {").as_deref(), Some("token (hidden) {"));
}

#[test]
fn a_value_is_found_wherever_it_begins() {
    // Of the shortest length there is, of a common one, and beside a longer one: what is looked at first lies apart by that.
    for values in
        [&["t0k-1234"][..], &["ghp_0123456789abcdefABCDEF"], &["t0k-1234", "a-much-longer-secret-than-the-other"]]
    {
        let set = set(values);
        for (value, before) in values.iter().flat_map(|value| (0..100).map(move |before| (*value, before))) {
            let text = format!("{}{value}{}", ".".repeat(before), "-".repeat(before % 7));
            assert!(!set.hide(&text).contains(value), "{value} behind {before} others");
            let unlike = text.to_ascii_uppercase();
            assert_eq!(set.hide(&unlike), unlike);
        }
    }
}

#[test]
fn a_message_without_a_secret_is_not_even_copied() {
    let set = set(&["tok-1234-ABCD"]);
    assert_eq!(set.hide_in_message(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), None);
    assert!(matches!(set.hide("nothing here"), Cow::Borrowed(_)));
}

#[test]
fn nested_deeper_than_anybody_looks_it_is_hidden_all_the_same() {
    let set = set(&["tok-1234-ABCD"]);
    let text = format!("{}\"say \\\"tok-1234-ABCD\\\"\"{}", "[".repeat(40), "]".repeat(40));
    let hidden = set.hide_in_message(&text).expect("something to hide");
    assert!(hidden.contains("say \\\"(hidden)\\\""), "{hidden}");
}

#[test]
fn a_result_says_that_something_is_missing() {
    let marked = |text: &str| mark_redacted(&RawJson::assembled(text.to_owned())).to_string();
    assert_snapshot!(marked(r#"{"content":[]}"#), @r#"{"content":[],"_meta":{"helve/redacted":true}}"#);
    assert_snapshot!(marked(r#"{"_meta":{"a":1},"content":[]}"#), @r#"{"_meta":{"a":1,"helve/redacted":true},"content":[]}"#);
}

#[test]
fn nothing_of_it_is_shown() {
    assert_eq!(format!("{:?}", set(&["tok-1234-ABCD"])), "SecretSet");
}
