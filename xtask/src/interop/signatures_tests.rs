//! Tests of the check itself, as far as they need nothing from a registry: Python is part of every machine that builds.

use super::*;

fn python(text: &str) -> String {
    let statement = Statement { server: "files".to_owned(), tool: "read".to_owned(), text: text.to_owned() };
    complaints(Command::new("python3").args(["-c", PARSE_PYTHON]), &BTreeSet::from([statement])).unwrap()
}

#[test]
fn a_signature_that_parses_is_not_mentioned() {
    assert_eq!(python("def read(path: str, limit: int = 10): ..."), "");
}

#[test]
fn what_does_not_parse_is_shown_with_its_tool() {
    // The parser's words are its own, and differ between its releases.
    let told = python("def read(path: str limit: int): ...");
    assert!(told.starts_with("\nfiles/read: python3 says "), "{told}");
    assert!(told.ends_with("\ndef read(path: str limit: int): ...\n"), "{told}");
}

#[test]
fn more_than_a_function_is_refused() {
    assert!(python("def read(): ...\nprint()").contains("not as one function"));
}
