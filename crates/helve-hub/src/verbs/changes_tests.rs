//! A change that is taken back puts no secret back.

use helve_store::{Change, NewChange};

use super::taken_back;
use crate::verbs::files::{diff_text, version_of};
use crate::verbs::redaction::redacted;

fn change(before: &str, after: &str) -> Change {
    let noted = NewChange {
        after: Some(version_of(after)),
        diff: diff_text(&redacted(before), &redacted(after)),
        ..NewChange::default()
    };
    Change { seq: 1, change: noted, undone_by: None }
}

#[test]
fn what_was_changed_is_taken_back() {
    let cases = [
        ("a = 1\n", "a = 1\nb = 2\n"),
        ("a = 1\nb = 2\n", "a = 1\n"),
        ("", "[servers.x]\ncommand = \"y\"\n"),
        ("[servers.x]\ncommand = \"y\"\n", ""),
    ];
    for (before, after) in cases {
        assert_eq!(taken_back(&change(before, after), after).expect("undone"), (before.to_owned(), 0), "{after}");
    }
    let long: String = (0..60).map(|number| format!("k{number} = {number}\n")).collect();
    let other = long.replace("k5 = 5\n", "k5 = 55\n").replace("k50 = 50\n", "");
    let undone = taken_back(&change(&long, &other), &other).expect("undone");
    assert_eq!(undone, (long.clone(), 0));
    // Something else was changed since.
    let since = other.replace("k30 = 30\n", "k30 = 31\n");
    let undone = taken_back(&change(&long, &other), &since).expect("undone").0;
    assert_eq!(undone, long.replace("k30 = 30\n", "k30 = 31\n"));
    // In the same place.
    let since = other.replace("k5 = 55\n", "k5 = 56\n");
    assert!(taken_back(&change(&long, &other), &since).is_err());
}

#[test]
fn no_secret_is_put_back() {
    let before = "[servers.x]\ncommand = \"y\"\nenv = { TOKEN = \"hunter2\" }\n";
    let (text, left_out) = taken_back(&change(before, ""), "").expect("undone");
    assert_eq!(text, "[servers.x]\ncommand = \"y\"\nenv = { TOKEN = \"\" }\n");
    assert_eq!(left_out, 1);
}
