//! A rule with `who` is asked for those it names, and for nobody else; what a client calls itself only narrows.

use helve_model::{Action, Principal};
use proptest::prelude::*;

use super::*;
use crate::test_support::{json, rules, server, tool};
use crate::{Claims, Decision, Problem, RuleSet};

fn compile(texts: &[&str]) -> (RuleSet, Vec<Problem>) {
    crate::test_support::compile(texts, vec![server("github")])
}

fn met(rules: &RuleSet, principal: &Principal, agent: Option<&str>) -> Action {
    let party = CalledBy { agent, ..CalledBy::new(Caller::Agent, principal) };
    let policy = tool(rules, "github", "create", Claims::default());
    let decision = policy.decide_at(party, json("{}"), &crate::Whereabouts::default());
    let action = match decision {
        Decision::Allow(_) => Action::Allow,
        Decision::Ask(_) => Action::Ask,
        Decision::Deny(_) => Action::Deny,
    };
    // What is foreseen without arguments is what is met.
    assert_eq!(policy.foresee(party).map(|(action, _)| action), Some(action));
    assert_eq!(policy.explain(party, &json("{}"), &crate::Whereabouts::default()).action, action);
    action
}

#[test]
fn a_rule_is_for_those_it_names() {
    let rules = rules(&[
        "user deny github/* who:token:intern-*",
        "user allow github/create who:token:ci-1,local",
        "user ask github/*",
    ]);
    let cases = [
        (Principal::token("ci-1"), Action::Allow),
        (Principal::token("ci-10"), Action::Ask),
        (Principal::token("intern-7"), Action::Deny),
        (Principal::token("local"), Action::Ask),
        (Principal::LOCAL, Action::Allow),
        (Principal::local_user(1000), Action::Allow),
        // Nothing is known of it: it is allowed nothing by name.
        (Principal::connection(3), Action::Ask),
    ];
    for (principal, action) in cases {
        assert_eq!(met(&rules, &principal, None), action, "{principal}");
    }
}

#[test]
fn what_is_denied_to_local_is_denied_to_whom_nobody_knows() {
    let rules = rules(&["user deny github/* who:local", "user allow github/*"]);
    assert_eq!(met(&rules, &Principal::connection(3), None), Action::Deny);
    assert_eq!(met(&rules, &Principal::token("ci"), None), Action::Allow);
}

#[test]
fn an_own_deny_is_final_for_those_it_names() {
    let rules = rules(&["command allow github/*", "user deny github/* who:token:ci"]);
    assert_eq!(met(&rules, &Principal::token("ci"), None), Action::Deny);
    assert_eq!(met(&rules, &Principal::LOCAL, None), Action::Allow);
}

#[test]
fn what_a_client_calls_itself_only_narrows() {
    let (found, problems) =
        compile(&["user ask github/* who:agent:cursor*", "user allow github/* who:agent:claude", "user deny github/*"]);
    assert_eq!(problems.len(), 1, "{problems:?}");
    for agent in [None, Some("cursor"), Some("claude")] {
        assert_eq!(met(&found, &Principal::LOCAL, agent), Action::Deny, "{agent:?}");
    }
    let found = rules(&["user deny github/* who:agent:cursor*", "command allow github/*"]);
    assert_eq!(met(&found, &Principal::LOCAL, Some("cursor-vscode")), Action::Deny);
    assert_eq!(met(&found, &Principal::LOCAL, Some("vscode")), Action::Allow);
    // A name is a name, whatever it looks like.
    let found = rules(&["user allow github/* who:token:ci", "user deny github/*"]);
    for agent in ["token:ci", "ci", "local", "agent:token:ci"] {
        assert_eq!(met(&found, &Principal::LOCAL, Some(agent)), Action::Deny);
    }
}

#[test]
fn a_project_narrows_for_somebody_and_allows_nothing_to_anybody_by_name() {
    let (found, problems) = compile(&["project allow github/* who:token:ci", "user ask github/*"]);
    assert!(problems[0].message.contains("a project cannot allow something to somebody"), "{problems:?}");
    assert_eq!(met(&found, &Principal::token("ci"), None), Action::Ask);
    for layer in ["project", "untrusted"] {
        let found = rules(&[&format!("{layer} deny github/* who:token:ci"), "user allow github/*"]);
        assert_eq!(met(&found, &Principal::token("ci"), None), Action::Deny, "{layer}");
        assert_eq!(met(&found, &Principal::token("other"), None), Action::Allow, "{layer}");
    }
}

#[test]
fn a_glob_that_cannot_be_read_restricts_everybody_and_allows_nobody() {
    let (found, problems) = compile(&["user deny github/* who:token:[", "user allow github/*"]);
    assert_eq!(problems.len(), 1);
    assert_eq!(met(&found, &Principal::LOCAL, None), Action::Deny);
    let (found, _) = compile(&["user allow github/* who:token:["]);
    assert_eq!(met(&found, &Principal::token("["), None), Action::Ask);
}

#[test]
fn it_is_explained() {
    let rules = rules(&["user allow github/create who:token:ci-*", "user ask github/*"]);
    let principal = Principal::token("web");
    let policy = tool(&rules, "github", "create", Claims::default());
    let explained = policy.explain(CalledBy::new(Caller::Agent, &principal), &json("{}"), &Default::default());
    insta::assert_snapshot!(explained, @r"
    tool github/create, called by an agent as token:web, high risk: ask
    because rule `github/*` (ask, user layer) at /home/me/helve.toml:2:1
       - rule `github/create` of `token:ci-*` (allow, user layer) at /home/me/helve.toml:1:1
           no match: it is for `token:ci-*`, this is token:web
      => rule `github/*` (ask, user layer) at /home/me/helve.toml:2:1
           decides: ask
       - otherwise: no rule or list mentions it
           not reached
    hint: to allow it for good, add a rule of your own that allows `github/create`
    ");
}

proptest! {
    /// Whatever the rules are, a rule that names an agent never makes a decision milder.
    #[test]
    fn naming_an_agent_never_widens(
        before in prop::collection::vec(written(), 0..4),
        action in prop::sample::select(vec!["ask", "deny"]),
        position in 0_usize..4,
        token in prop::sample::select(vec!["a", "b"]),
    ) {
        let severity = |action: Action| match action { Action::Allow => 0, Action::Ask => 1, Action::Deny => 2 };
        let mut after = before.clone();
        after.insert(position.min(before.len()), format!("user {action} github/* who:agent:x"));
        let read = |texts: &[String]| compile(&texts.iter().map(String::as_str).collect::<Vec<_>>()).0;
        let principal = Principal::token(token);
        let (without, with) =
            (met(&read(&before), &principal, Some("x")), met(&read(&after), &principal, Some("x")));
        prop_assert!(severity(with) >= severity(without), "{before:?} {after:?}");
        // And nobody else notices.
        prop_assert_eq!(met(&read(&before), &principal, Some("y")), met(&read(&after), &principal, Some("y")));
    }
}

fn written() -> impl Strategy<Value = String> {
    let layer = prop::sample::select(vec!["user", "project", "untrusted", "command", "defaults"]);
    let action = prop::sample::select(vec!["allow", "ask", "deny"]);
    let who = prop::sample::select(vec!["", " who:token:a", " who:local", " who:token:b,local"]);
    (layer, action, who).prop_map(|(layer, action, who)| format!("{layer} {action} github/*{who}"))
}
