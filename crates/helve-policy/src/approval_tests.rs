//! An approval answers what it was given for, and nothing else.

use super::*;
use crate::test_support::*;
use crate::{CalledBy, Caller, Claims, Decision, RuleSet, ServerAccess, Subject, Trust, Whereabouts};
use helve_model::json::RawJson;
use helve_model::{Layer, ServerName, ServerSpec, StdioSpec, TransportSpec};

const DEFINITION: &str = r#"{"name":"create","description":"Creates."}"#;

fn ask_about(rules: &RuleSet, tool: &str, definition: &str, arguments: &str) -> Question {
    let subject = Subject {
        name: name("github", tool),
        kind: CallKind::Tool,
        claims: Claims::default(),
        definition: Some(RawJson::checked(definition).unwrap()),
    };
    match rules.for_tool(subject).decide(Caller::Agent, json(arguments)) {
        Decision::Ask(question) => question,
        other => panic!("decided: {other:?}"),
    }
}

fn ask(arguments: &str) -> Question {
    ask_about(&rules(&[]), "create", DEFINITION, arguments)
}

fn is_approved(approvals: &mut Approvals, question: Question) -> bool {
    matches!(approvals.answer(question), Answer::Approved(_))
}

#[test]
fn yes_makes_a_permit_for_that_very_call() {
    let (permit, kept) = ask(r#"{"title":"x"}"#).approve(ApprovalSpan::Once, None);
    assert_eq!((permit.name(), permit.arguments().as_str()), (&name("github", "create"), r#"{"title":"x"}"#));
    insta::assert_snapshot!(permit.ground().decider, @"a person approved it once");
    assert_eq!(kept, None);
}

#[test]
fn a_kept_approval_answers_the_next_time() {
    let mut approvals = Approvals::new();
    assert!(!is_approved(&mut approvals, ask("{}")));
    let (_, kept) = ask("{}").approve(ApprovalSpan::Always, None);
    approvals.add(kept.unwrap());
    assert!(is_approved(&mut approvals, ask(r#"{"any":"thing"}"#)));
    assert!(is_approved(&mut approvals, ask("{}")), "it is not used up");
    assert!(!is_approved(&mut approvals, ask_about(&rules(&[]), "other", DEFINITION, "{}")));
    // An explicit `ask` is a question like any other.
    assert!(is_approved(&mut approvals, ask_about(&rules(&["user ask github/*"]), "create", DEFINITION, "{}")));
    assert_eq!(approvals.revoke(&name("github", "create"), CallKind::Tool).len(), 1);
    assert!(!is_approved(&mut approvals, ask("{}")));
}

#[test]
fn an_approval_is_for_the_calls_of_one_principal() {
    let asked_by = |principal: &Principal| {
        let subject = Subject::unknown(name("github", "create"), CallKind::Tool);
        match rules(&[]).for_tool(subject).decide_at(
            CalledBy::new(Caller::Agent, principal),
            json("{}"),
            &Whereabouts::default(),
        ) {
            Decision::Ask(question) => question,
            other => panic!("decided: {other:?}"),
        }
    };
    let (one, other) = (Principal::token("one"), Principal::token("other"));
    let mut approvals = Approvals::new();
    let (_, kept) = asked_by(&one).approve(ApprovalSpan::Always, None);
    approvals.add(kept.unwrap());
    assert!(is_approved(&mut approvals, asked_by(&one)));
    assert!(
        !is_approved(&mut approvals, asked_by(&other)) && !is_approved(&mut approvals, asked_by(&Principal::LOCAL))
    );
    // The other one's answer stands beside it.
    let (_, kept) = asked_by(&other).approve(ApprovalSpan::Run, None);
    approvals.add(kept.unwrap());
    assert!(is_approved(&mut approvals, asked_by(&one)) && is_approved(&mut approvals, asked_by(&other)));
    // In another run, this connection is somebody else.
    let (_, kept) = asked_by(&Principal::connection(7)).approve(ApprovalSpan::Always, None);
    assert_eq!(kept.unwrap().span, ApprovalSpan::Run);
}

#[test]
fn s12_an_approval_is_for_one_server_and_not_for_its_name() {
    let world = |file: &str, command: &str| {
        let transport = TransportSpec::Stdio(StdioSpec {
            command: command.into(),
            arguments: Vec::new(),
            environment: Default::default(),
            working_directory: None,
        });
        let github = ServerName::new("github").unwrap();
        let spec = ServerSpec::new(github, transport, crate::test_support::file(file, 1), Layer::Project);
        crate::test_support::compile(&[], vec![ServerAccess::new(&spec, Trust::Trusted)]).0
    };
    let ask = |rules: &RuleSet| ask_about(rules, "create", DEFINITION, "{}");
    let (one, same) = (world("/one/helve.toml", "node"), world("/one/helve.toml", "node"));
    let (_, kept) = ask(&one).approve(ApprovalSpan::Always, None);
    let mut approvals: Approvals = kept.into_iter().collect();
    assert!(is_approved(&mut approvals, ask(&same)));
    assert!(!is_approved(&mut approvals, ask(&world("/two/helve.toml", "node"))), "another project's");
    assert!(!is_approved(&mut approvals, ask(&world("/one/helve.toml", "evil"))), "another program");
    assert!(!is_approved(&mut approvals, ask_about(&rules(&[]), "create", DEFINITION, "{}")), "nobody can tell");
    // A yes to the other one does not end this one.
    let (_, kept) = ask(&world("/two/helve.toml", "node")).approve(ApprovalSpan::Always, None);
    kept.into_iter().for_each(|approval| approvals.add(approval));
    assert!(is_approved(&mut approvals, ask(&same)));
}

#[test]
fn an_approval_dies_with_its_definition() {
    let (_, kept) = ask("{}").approve(ApprovalSpan::Always, None);
    let kept = kept.unwrap();
    let mut approvals: Approvals = [kept.clone()].into_iter().collect();
    let respelled = r#"{ "description" : "Creat\u0065s.", "name": "create" }"#;
    assert!(is_approved(&mut approvals, ask_about(&rules(&[]), "create", respelled, "{}")));
    let changed = r#"{"name":"create","description":"Creates and tells everybody."}"#;
    assert!(!is_approved(&mut approvals, ask_about(&rules(&[]), "create", changed, "{}")));
    let current = Some(DefinitionHash::of(changed));
    assert_eq!(approvals.remove_stale(&name("github", "create"), CallKind::Tool, current), vec![kept]);
    assert_eq!(approvals.iter().count(), 0);
}

#[test]
fn a_pattern_limits_what_is_kept() {
    let (_, kept) = ask(r#"{"repository":"me/a"}"#).approve(ApprovalSpan::Run, Some("repository=me/*"));
    let mut approvals: Approvals = kept.into_iter().collect();
    assert!(is_approved(&mut approvals, ask(r#"{"repository":"me/b"}"#)));
    assert!(!is_approved(&mut approvals, ask(r#"{"repository":"you/b"}"#)));
    assert!(!is_approved(&mut approvals, ask(r#"{"repository":"me/../you/b"}"#)));
    assert!(!is_approved(&mut approvals, ask("{}")));
}

#[test]
fn an_approval_for_one_call_is_used_up_by_it() {
    let once = Approval {
        principal: Principal::LOCAL,
        tool: name("github", "create"),
        kind: CallKind::Tool,
        pattern: None,
        definition: Some(DefinitionHash::of(DEFINITION)),
        server: None,
        span: ApprovalSpan::Once,
    };
    let mut approvals = Approvals::new();
    approvals.add(once.clone());
    assert!(is_approved(&mut approvals, ask("{}")));
    assert!(!is_approved(&mut approvals, ask("{}")));
    // A longer one is used instead, and is not replaced by it.
    approvals.add(Approval { span: ApprovalSpan::Run, ..once.clone() });
    approvals.add(once);
    assert!(is_approved(&mut approvals, ask("{}")));
    assert!(approvals.iter().any(|approval| approval.span == ApprovalSpan::Run));
}
