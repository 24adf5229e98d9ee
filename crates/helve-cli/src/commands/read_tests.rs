//! Which URI words make of a template, and what a terminal is spared.

use super::*;

fn made(text: &str, words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    uri(text, &words).unwrap_or_else(|failure| {
        let hints: String = failure.hints().iter().map(|hint| format!(" | {hint}")).collect();
        format!("{}{hints}", failure.message())
    })
}

#[test]
fn templates_are_filled_and_uris_stay() {
    assert_eq!(made("demo://a b", &[]), "demo://a b");
    assert_eq!(made("demo://{id}/{+path}", &["id=a b", "path=x/y"]), "demo://a%20b/x/y");
    assert_eq!(made("demo://x{?tag*}", &["tag=a", "tag=b", "tag=c"]), "demo://x?tag=a&tag=b&tag=c");
    assert_eq!(made("demo://x{?tag}", &[]), "demo://x");
    assert_eq!(made("demo://{id}", &["id=a=b"]), "demo://a%3Db");
}

#[test]
fn wrong_words_are_explained() {
    insta::assert_snapshot!(made("demo://{id}/{part}", &["id=3"]), @"the URI template needs a value for the variable `part` | add part=…");
    insta::assert_snapshot!(made("demo://{id}", &["idd=3"]), @"the URI template has no variable `idd` (did you mean `id`?) | it has id");
    insta::assert_snapshot!(made("demo://{id", &[]), @"the brace at byte 7 of the URI template has no other half");
    insta::assert_snapshot!(made("demo://3", &["id=3"]), @"`demo://3` has no variables, so `id=3` means nothing | a template has them in braces: 'demo://{id}'");
    insta::assert_snapshot!(made("demo://{id}", &["3"]), @"`3` is not a variable: write key=value");
}

#[test]
fn a_terminal_is_spared_what_a_pipe_gets() {
    let long = "x".repeat(SHOWN_AT_A_TERMINAL + 1);
    assert!(is_shown(false, &long));
    assert!(!is_shown(true, &long));
    assert!(is_shown(true, "short"));
}
