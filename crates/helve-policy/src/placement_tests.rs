//! Where new rules go: before what would win over them, behind the exceptions somebody made.

use helve_model::{Action, CallKind, Layer, Origin, Risk, Rule};

use super::place_rule;

/// ``deny files/write_file path=secrets/** kind=resource risk=high``
fn rule(text: &str) -> Rule {
    let mut words = text.split(' ');
    let action = match words.next() {
        Some("allow") => Action::Allow,
        Some("ask") => Action::Ask,
        _ => Action::Deny,
    };
    let mut rule = Rule::new(words.next().expect("a tool").to_owned(), action, Origin::Program, Layer::User);
    for word in words {
        match word {
            "kind=resource" => rule.kind = Some(CallKind::Resource),
            "risk=high" => rule.risk = Some(Risk::High),
            pattern => rule.pattern = Some(pattern.to_owned()),
        }
    }
    rule
}

fn check(rules: &[&str], new: &str) -> String {
    let rules: Vec<Rule> = rules.iter().map(|text| rule(text)).collect();
    let placement = place_rule(&rules, &rule(new));
    match placement.overrules.as_slice() {
        [] => placement.position.to_string(),
        overrules => format!("{}, overrules {overrules:?}", placement.position),
    }
}

#[test]
fn an_allow_goes_before_what_would_win_over_it() {
    assert_eq!(check(&[], "allow a/b"), "0");
    assert_eq!(check(&["allow x/y", "ask a/*", "deny */*"], "allow a/b"), "1, overrules [1, 2]");
    assert_eq!(check(&["deny a/b"], "allow a/b"), "0, overrules [0]");
    assert_eq!(check(&["allow c/d", "deny mcp__a__b"], "allow a/b"), "1, overrules [1]");
    assert_eq!(check(&["deny device.AMCP.b"], "allow a/b"), "0, overrules [0]");
    assert_eq!(check(&["deny b"], "allow a/b"), "0, overrules [0]");
    assert_eq!(check(&["deny a/c", "deny x/*"], "allow a/b"), "2");
    assert_eq!(check(&["ask a/* risk=high"], "allow a/b"), "0, overrules [0]");
}

#[test]
fn an_allow_goes_behind_exceptions() {
    assert_eq!(check(&["deny a/delete", "ask a/*"], "allow a/*"), "1, overrules [1]");
    assert_eq!(check(&["deny files/write path=secrets/**"], "allow files/write"), "1");
    assert_eq!(check(&["deny */* risk=high"], "allow a/*"), "1");
    assert_eq!(check(&["deny a/de*"], "allow a/d*"), "1");
    assert_eq!(check(&["deny a/b kind=resource"], "allow a/b"), "1");
}

#[test]
fn an_allow_about_arguments_goes_before_the_rule_about_them() {
    assert_eq!(check(&["deny files/write path=secrets/**"], "allow files/write path=secrets/**"), "0, overrules [0]");
    assert_eq!(check(&["deny files/write path=secrets/**"], "allow files/write path=secrets/k"), "0, overrules [0]");
    assert_eq!(check(&["deny files/write secrets/**"], "allow files/write path=secrets/k"), "0, overrules [0]");
    assert_eq!(check(&["deny files/write path=secrets/**"], "allow files/write path=other/**"), "1");
    assert_eq!(check(&["deny files/write path=secrets/**"], "allow files/write to=secrets/k"), "1");
}

#[test]
fn a_deny_goes_before_whatever_lets_a_part_through() {
    assert_eq!(check(&["ask x/y", "allow a/b"], "deny a/*"), "1");
    assert_eq!(check(&["deny a/b", "allow a/b path=x"], "deny a/b"), "1");
    assert_eq!(check(&["allow mcp__a__b"], "deny a/*"), "0");
    assert_eq!(check(&["allow x/*"], "deny a/b"), "1");
}

#[test]
fn an_ask_goes_before_what_allows_and_what_denies_all_of_it() {
    assert_eq!(check(&["allow a/b path=x", "deny a/*"], "ask a/b"), "0, overrules [1]");
    assert_eq!(check(&["deny a/b path=x"], "ask a/b"), "1");
}

#[test]
fn escaped_names_are_taken_letter_by_letter() {
    assert_eq!(check(&["deny a/get\\[x\\]"], "allow a/get\\[x\\]"), "0, overrules [0]");
    assert_eq!(check(&["deny a/getx"], "allow a/get\\[x\\]"), "1");
}
