//! What a decision clears besides calls.

use helve_model::json::RawJson;

use super::*;
use crate::test_support::{compile, rules, server};
use crate::{Caller, Decision, RuleSet};

fn relay(method: &str, params: &'static str) -> Relay {
    Relay {
        server: ServerName::new("github").unwrap(),
        method: method.to_owned(),
        params: Some(RawJson::from_static(params)),
        form: MessageForm::Request,
    }
}

/// What becomes of a message of an agent at a server that declares everything.
fn shown(rules: &RuleSet, message: Relay) -> String {
    let permit = match message.subject() {
        Err(barred) => return barred.to_string(),
        Ok(None) => None,
        Ok(Some(subject)) => match rules.for_tool(subject).decide(Caller::Agent, RawJson::empty_object()) {
            Decision::Allow(permit) => Some(permit),
            Decision::Ask(question) => return format!("ask because {}", question.ground().decider),
            Decision::Deny(refusal) => return format!("deny because {}", refusal.ground().decider),
        },
    };
    match Clearance::new(message, permit.as_ref(), |_| true) {
        Ok(_) => "clear".to_owned(),
        Err(barred) => barred.to_string(),
    }
}

#[test]
fn what_is_about_a_resource_or_a_prompt_is_decided_as_one() {
    let rules = rules(&["user deny github/m://secret/** kind:resource", "user deny github/hidden kind:prompt"]);
    for (method, params) in [
        ("resources/directory/read", r#"{"uri":"m://secret/x"}"#),
        ("skills/get", r#"{"uri":"m://secret/x"}"#),
        ("completion/complete", r#"{"ref":{"type":"ref/resource","uri":"m://secret/x"}}"#),
        ("completion/complete", r#"{"ref":{"type":"ref/prompt","name":"hidden"}}"#),
    ] {
        assert!(shown(&rules, relay(method, params)).starts_with("deny because rule"), "{method}");
    }
    for (method, params) in [
        ("resources/directory/read", r#"{"uri":"m://open/x"}"#),
        ("skills/list", "{}"),
        ("tasks/get", r#"{"taskId":"1"}"#),
        ("completion/complete", r#"{"ref":{"type":"ref/prompt","name":"open"}}"#),
    ] {
        assert_eq!(shown(&rules, relay(method, params)), "clear", "{method}");
    }
    for (method, params) in [
        ("resources/directory/read", "{}"),
        ("resources/directory/read", r#"{"uri":7}"#),
        ("tasks/get", "{}"),
        ("completion/complete", r#"{"ref":{"type":"ref/prompt","name":"open","uri":"m://secret/x"}}"#),
        ("completion/complete", r#"{"ref":{"type":"ref/resource","name":"open"}}"#),
        ("completion/complete", r#"{"ref":{"uri":"m://open"}}"#),
    ] {
        assert!(shown(&rules, relay(method, params)).contains("is missing"), "{method} {params}");
    }
}

#[test]
fn what_has_a_function_of_its_own_or_is_nobodys_to_send_is_barred() {
    let rules = rules(&["user allow github/* kind:method", "user allow github/*"]);
    for method in [
        "tools/call",
        "Tools/call",
        " tools/call",
        "tools/list",
        "resources/read",
        "resources/subscribe",
        "prompts/get",
        "initialize",
        "ping",
        "server/discover",
        "subscriptions/listen",
        "sampling/createMessage",
        "notifications/roots/list_changed",
        "tools/new",
        "",
    ] {
        assert_eq!(shown(&rules, relay(method, "{}")), Barred::Unknown.to_string(), "{method}");
        let told = Relay { form: MessageForm::Notification, ..relay(method, "{}") };
        let expected =
            if method == "notifications/roots/list_changed" { "clear" } else { &Barred::Unknown.to_string() };
        assert_eq!(shown(&rules, told), expected, "{method}");
    }
}

#[test]
fn a_rule_opens_a_vendors_method_at_one_server() {
    assert_eq!(shown(&rules(&[]), relay("vendor/do", "{}")), "deny because no rule opens this method");
    assert_eq!(shown(&rules(&["user allow *"]), relay("vendor/do", "{}")), "deny because no rule opens this method");
    let opened = rules(&["user allow github/vendor/* kind:method"]);
    assert_eq!(shown(&opened, relay("vendor/do", "{}")), "clear");
    assert_eq!(shown(&opened, Relay { form: MessageForm::Notification, ..relay("vendor/do", "{}") }), "clear");
    assert!(shown(&opened, relay("Vendor/do", "{}")).starts_with("deny"));
    let elsewhere = Relay { server: ServerName::new("files").unwrap(), ..relay("vendor/do", "{}") };
    assert!(shown(&opened, elsewhere).starts_with("deny"));
    let untrusted = rules(&["untrusted allow github/vendor/* kind:method"]);
    assert!(shown(&untrusted, relay("vendor/do", "{}")).starts_with("deny"));
}

#[test]
fn a_rule_that_names_a_method_of_the_protocol_is_a_mistake() {
    for method in ["tools/call", "Tools/Call", "resources/read", "notifications/cancelled", "tasks/get"] {
        let text = format!("user allow github/{method} kind:method");
        let (_, problems) = compile(&[&text], vec![server("github")]);
        assert!(problems.iter().any(|problem| problem.message.contains("the protocol's own")), "{problems:?}");
    }
}

#[test]
fn a_clearance_is_for_what_the_permit_is_for() {
    let rules = rules(&[]);
    let permit = |uri: &str| {
        let subject = Subject::resource(&ServerName::new("github").unwrap(), uri);
        match rules.for_tool(subject).decide(Caller::Agent, RawJson::empty_object()) {
            Decision::Allow(permit) => permit,
            _ => panic!("not allowed"),
        }
    };
    let message = || relay("skills/get", r#"{"uri":"m://a"}"#);
    assert!(Clearance::new(message(), Some(&permit("m://a")), |_| true).is_ok());
    assert_eq!(Clearance::new(message(), Some(&permit("m://b")), |_| true).unwrap_err(), Barred::OtherPermit);
    assert_eq!(Clearance::new(message(), None, |_| true).unwrap_err(), Barred::OtherPermit);
    let undeclared = Clearance::new(message(), Some(&permit("m://a")), |_| false).unwrap_err();
    assert_eq!(undeclared, Barred::Undeclared(method::SKILLS));
    let doubled = relay("skills/get", r#"{"uri":"m://b","uri":"m://a"}"#);
    assert_eq!(
        Clearance::new(doubled, Some(&permit("m://a")), |_| true).unwrap_err(),
        Barred::Broken(strict::Flaw::Twice)
    );
}
