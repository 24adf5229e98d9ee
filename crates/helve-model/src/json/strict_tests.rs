//! What is valid JSON with every member once, and what is not.

use proptest::prelude::*;
use serde::de::IgnoredAny;

use super::*;

#[test]
fn doubled_members_are_found_at_every_level_and_in_every_spelling() {
    for text in [
        r#"{"a":1,"a":1}"#,
        r#"{"a":1,"\u0061":1}"#,
        r#"{"\u0061":1,"a":1}"#,
        r#"{"a\/b":1,"c":2,"a/b":1}"#,
        r#"{"x":[{"y":{"a":1,"b":2,"a":3}}]}"#,
        r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"c":1}"#,
        r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"j":1}"#,
    ] {
        assert_eq!(check(text), Err(Flaw::Twice), "{text}");
        assert!(is_json(text), "{text}");
    }
    for text in [
        r#"{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}"#,
        r#"{"a":1,"A":1,"a ":1}"#,
        r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"\u006a":1}"#,
    ] {
        assert_eq!(check(text), Ok(()), "{text}");
    }
}

#[test]
fn what_nobody_could_open_is_refused() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(check(&nested(MAX_DEPTH as usize)), Ok(()));
    assert!(serde_json::from_str::<serde_json::Value>(&nested(MAX_DEPTH as usize)).is_ok());
    assert_eq!(check(&nested(MAX_DEPTH as usize + 1)), Err(Flaw::TooDeep));
    assert_eq!(check(&nested(1_000_000)), Err(Flaw::TooDeep));
    assert_eq!(check(r#"{"\ud800":1}"#), Err(Flaw::Syntax));
}

fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"b\"",
        "\"\\u0061\"",
        "\"\\n\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"",
        "\\",
        "1",
        "-",
        "0",
        "01",
        "1.5",
        "1.",
        ".5",
        "1e5",
        "1e",
        "-0.0E+2",
        "true",
        "tru",
        "false",
        "null",
        " ",
        "\n",
        "\t",
        "\u{1}",
        "é",
        "\u{feff}",
    ])
}

/// Any value, with keys that may be the same in different objects.
fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        ".{0,20}".prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 60, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Into::into),
            prop::collection::vec(("[a-f]{1,2}|.{0,3}", inner), 0..12)
                .prop_map(|members| members.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn it_takes_nothing_that_serde_json_does_not(pieces in prop::collection::vec(piece(), 0..14)) {
        let text = pieces.concat();
        prop_assert_eq!(is_json(&text), serde_json::from_str::<IgnoredAny>(&text).is_ok(), "{}", text);
        let long = Walk::<true> { text: &text, at: 0 }.whole();
        prop_assert!(is_plain::<true, false>(text.as_bytes(), &mut Outline::default()).is_none() || long.is_ok(), "{}", text);
    }

    #[test]
    fn both_ways_say_the_same(value in value()) {
        let text = serde_json::to_string_pretty(&value).unwrap();
        let long = Walk::<true> { text: &text, at: 0 }.whole();
        prop_assert_eq!(check(&text), long, "{}", text);
        prop_assert!(is_plain::<false, false>(text.as_bytes(), &mut Outline::default()).is_some() || text.contains('\\'), "{}", text);
    }

    #[test]
    fn an_outline_is_what_a_scan_finds(value in value(), spaced in any::<bool>()) {
        let text = if spaced { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let scanned = super::super::scan::members(&text).ok().map(|members| {
            members.map(|member| member.map(|member| (member.raw_key, member.value)).unwrap()).collect::<Vec<_>>()
        });
        if let Some(outline) = outline(&text) {
            prop_assert_eq!(check(&text), Ok(()));
            let outlined: Vec<_> = outline.members(&text).map(|member| (member.raw_key, member.value)).collect();
            prop_assert_eq!(Some(outlined), scanned);
        } else {
            let is_usual = scanned.is_some_and(|members| members.len() <= OUTLINED) && !text.contains('\\');
            prop_assert!(!is_usual || text.matches(':').count() > OPEN_KEYS, "{}", text);
        }
    }

    #[test]
    fn a_doubled_key_is_found_on_both_ways(depth in 0..20_usize, before in 0..80_usize, between in 0..80_usize) {
        let keys = |from: usize, count: usize| (from..from + count).map(|key| format!("\"k{key}\":0,")).collect::<String>();
        let object = format!("{{{}\"x\":1,{}\"x\":2}}", keys(0, before), keys(before, between));
        let text = format!("{}{object}{}", "{\"x\":[".repeat(depth), "]}".repeat(depth));
        prop_assert_eq!(check(&text), Err(Flaw::Twice));
    }

    #[test]
    fn of_a_broken_text_it_says_the_same(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let whole = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,-2.5e3,"\u00e9\"",null,true]},"_meta":{}}}"#;
        let mut bytes = whole.as_bytes().to_vec();
        let place = at.index(bytes.len());
        if cut { bytes.truncate(place) } else { bytes[place] = byte }
        let text = String::from_utf8_lossy(&bytes);
        prop_assert_eq!(is_json(&text), serde_json::from_str::<IgnoredAny>(&text).is_ok(), "{}", text);
    }
}
