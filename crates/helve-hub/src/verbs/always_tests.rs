//! What of a call a rule can be made of.

use helve_model::Who;

use super::{caller, offered};

#[test]
fn only_words_that_mean_themselves_can_be_held_fast() {
    let arguments = r#"{
        "path": "/srv/a b", "glob": "*.rs", "count": 3, "nested": {"a": "b"}, "empty": "",
        "run": "${cmd:id}", "home": "$HOME", "secret": "(hidden)", "lines": "a\nb", "bidi": "a\u202eb",
        "a=b": "key", "long": "LONG"
    }"#;
    let arguments = arguments.replace("LONG", &"x".repeat(201));
    let found = offered(Some(&arguments));
    assert_eq!(found, [("glob".to_owned(), "*.rs".to_owned()), ("path".to_owned(), "/srv/a b".to_owned())]);
    assert_eq!(offered(Some("[1]")), []);
    assert_eq!(offered(None), []);
}

#[test]
fn a_rule_names_a_caller_only_where_it_means_nobody_else() {
    assert_eq!(caller("local"), Some(Who::Local));
    assert_eq!(caller("token:ci-1"), Some(Who::Token("ci-1".to_owned())));
    assert_eq!(caller("token:ci-*"), None);
    assert_eq!(caller("user:1000"), None);
    assert_eq!(caller("agent:claude"), None);
}
