//! What the `json` module promises, case by case.

use proptest::prelude::*;

use super::*;

const CAPS: Caps = Caps { bytes: 1 << 20, depth: 64, values: 100_000, repeated_keys: RepeatedKeys::Refused };

#[test]
fn keys_keep_their_order() {
    let text = r#"{"z":1,"a":{"y":[true,null,-2.5,"\u0000é"],"b":{}},"m":18446744073709551615}"#;
    assert_eq!(parse(text, CAPS).expect("JSON").to_text(), text);
}

#[test]
fn pointers_find_what_they_name() {
    let json = parse(r#"{"a/b":[{"m~n":1},{"":2}],"01":3}"#, CAPS).expect("JSON");
    let found = |pointer: &str| json.pointer(pointer).map(Json::to_text);
    assert_eq!(found("/a~1b/0/m~0n").as_deref(), Some("1"));
    assert_eq!(found("/a~1b/1/").as_deref(), Some("2"));
    assert_eq!(found("/01").as_deref(), Some("3"));
    assert_eq!(found("/a~1b/00"), None);
    assert_eq!(found("/a~1b/2"), None);
    assert_eq!(found("a"), None);
    assert_eq!(found("").map(|text| text.len()), Some(json.to_text().len()));
    let mut pointer = String::new();
    push_pointer(&mut pointer, "m~n/o");
    assert_eq!(pointer_tokens(&pointer), Some(vec!["m~n/o".to_owned()]));
}

#[test]
fn caps_hold_at_their_edge() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(parse(&nested(64), CAPS).is_ok());
    assert_eq!(parse(&nested(65), CAPS), Err(JsonProblem::TooDeep { limit: 64 }));
    // Past the parser's own limit it is an error too, not an overflow of the stack.
    let deeper = Caps { depth: 100_000, ..CAPS };
    assert!(matches!(parse(&nested(200), deeper), Err(JsonProblem::Syntax(_))));
    let few = Caps { values: 3, ..CAPS };
    assert!(parse("[1,2]", few).is_ok());
    assert_eq!(parse("[1,2,3]", few), Err(JsonProblem::TooMany { limit: 3 }));
    let short = Caps { bytes: 4, ..CAPS };
    assert!(parse("[12]", short).is_ok());
    assert_eq!(parse("[123]", short), Err(JsonProblem::TooLarge { bytes: 5, limit: 4 }));
}

#[test]
fn a_repeated_key_is_refused_or_overwritten() {
    let text = r#"{"a":1,"b":{"c":1,"c":2}}"#;
    assert_eq!(parse(text, CAPS), Err(JsonProblem::RepeatedKey("c".to_owned())));
    let lenient = Caps { repeated_keys: RepeatedKeys::LastWins, ..CAPS };
    assert_eq!(parse(text, lenient).expect("JSON").to_text(), r#"{"a":1,"b":{"c":2}}"#);
}

proptest! {
    /// Both trees say the same as the library's own reader, for any text.
    #[test]
    fn reading_agrees_with_serde_json(text in r#"[\[\]{}:,"\\0-9a-c.eE+\- truefalsn]{0,40}"#) {
        let theirs = serde_json::from_str::<Value>(&text);
        let lenient = Caps { repeated_keys: RepeatedKeys::LastWins, ..CAPS };
        match (parse_value(&text, lenient), parse(&text, lenient)) {
            (Ok((ours, _)), Ok(ordered)) => {
                prop_assert_eq!(&ours, &ordered.to_value());
                prop_assert_eq!(ours, theirs.expect("both read it"));
            }
            (ours, ordered) => {
                prop_assert!(theirs.is_err() && ours.is_err() && ordered.is_err());
            }
        }
    }
}
