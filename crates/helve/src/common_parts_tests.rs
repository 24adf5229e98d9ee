//! Parts that several hosts have in common are kept once, and only where they are equal whole.

use std::sync::Arc;

use helve_model::{Action, CallKind, Layer, Origin, QualifiedName, Rule, ServerName, ServerSpec, ToolName};
use helve_policy::{Caller, ServerAccess, SourcedRule, Subject, Trust};

use super::CommonParts;

fn spec(command: &str) -> ServerSpec {
    ServerSpec::stdio("files", command).build()
}

fn rules(action: Action) -> Vec<SourcedRule> {
    let (tool, origin, layer) = ("files/*".to_owned(), Origin::Program, Layer::User);
    let rule = Rule { tool, pattern: None, risk: None, kind: None, who: Vec::new(), by: None, action, origin, layer };
    vec![SourcedRule { rule, trust: Trust::Trusted }]
}

fn access(trust: Trust) -> Vec<ServerAccess> {
    vec![ServerAccess::new(&spec("one"), trust)]
}

/// G3: what a hundred agents' hosts have in common is there once.
#[test]
fn g3_what_is_the_same_is_kept_once() {
    let parts = CommonParts::default();
    let held = parts.spec(spec("one"));
    assert!(Arc::ptr_eq(&held, &parts.spec(spec("one"))));
    assert!(!Arc::ptr_eq(&held, &parts.spec(spec("two"))));

    let first = parts.rules(rules(Action::Allow));
    drop(parts.compiled(&first, access(Trust::Trusted)));
    assert!(Arc::ptr_eq(&first, &parts.rules(rules(Action::Allow))));
    assert!(!Arc::ptr_eq(&first, &parts.rules(rules(Action::Deny))));
}

/// G3: no decision is taken by the rules of another host.
#[test]
fn g3_what_differs_is_compiled_anew() {
    let parts = CommonParts::default();
    let foreseen = |action, trust| {
        let rules = parts.rules(rules(action));
        let (rule_set, _) = parts.compiled(&rules, access(trust));
        let name = QualifiedName::new(ServerName::new("files").unwrap(), ToolName::new("read"));
        let policy = rule_set.for_tool(Subject::unknown(name, CallKind::Tool));
        policy.foresee(Caller::Agent).map(|(action, _)| action)
    };
    for _ in 0..2 {
        assert_eq!(foreseen(Action::Allow, Trust::Trusted), Some(Action::Allow));
        assert_eq!(foreseen(Action::Deny, Trust::Trusted), Some(Action::Deny));
        assert_eq!(foreseen(Action::Allow, Trust::Untrusted), Some(Action::Deny));
    }
}
