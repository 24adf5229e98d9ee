//! Parts that several hosts have in common are kept once, and only where they are equal whole.

use std::sync::Arc;

use helve_model::json::RawJson;
use helve_model::{
    Action, CallKind, Definition as _, Layer, Origin, QualifiedName, Rule, ServerName, ServerSpec, ToolDefinition,
    ToolName,
};
use helve_policy::pin::DefinitionHash;
use helve_policy::{Caller, RuleSet, ServerAccess, SourcedRule, Subject, Trust};

use super::CommonParts;
use crate::catalog::{Listed, ServerCatalog};

fn spec(command: &str) -> ServerSpec {
    ServerSpec::stdio("files", command).build()
}

fn rules(action: Action) -> Vec<SourcedRule> {
    let rule = Rule::new("files/*", action, Origin::Program, Layer::User);
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

/// G3: what a server lists, and what was found out about a tool, is there once for all hosts that have the same.
#[test]
fn g3_lists_and_policies_are_kept_once() {
    let parts = CommonParts::default();
    let name = ServerName::new("files").unwrap();
    let definition = |text: &str| ToolDefinition::from_raw(RawJson::checked(text).unwrap()).unwrap();
    let read = || definition(r#"{"name":"read","inputSchema":{"type":"object"}}"#);
    let list = |tool: ToolDefinition, from_cache| {
        let list = ServerCatalog { tools: vec![Listed::Remote(tool)], from_cache, ..ServerCatalog::default() };
        parts.list(&name, list)
    };
    let held = list(read(), false);
    assert!(Arc::ptr_eq(&held, &list(read(), false)));
    assert!(!Arc::ptr_eq(&held, &list(read(), true)), "one of them was not asked for yet");
    assert!(Arc::ptr_eq(&held, &list(read(), false)), "each is found again");
    assert!(!Arc::ptr_eq(&held, &list(definition(r#"{"name":"read"}"#), false)));

    let rule_set = |action| {
        let rules = parts.rules(rules(action));
        parts.compiled(&rules, access(Trust::Trusted)).0
    };
    let tool = QualifiedName::new(name.clone(), ToolName::new("read"));
    let allowing = rule_set(Action::Allow);
    let facts = |definition: &ToolDefinition, rules: &RuleSet, pinned| parts.facts(&tool, definition, rules, pinned);
    let held = facts(&read(), &allowing, None);
    assert!(Arc::ptr_eq(&held, &facts(&read(), &allowing, None)));
    let pinned = Some(DefinitionHash::of("{}"));
    let changed = facts(&read(), &allowing, pinned);
    assert!(!Arc::ptr_eq(&held, &changed) && changed.unpinned);
    let other = facts(&definition(r#"{"name":"read"}"#), &allowing, None);
    assert!(!Arc::ptr_eq(&held, &other));
    let denied = facts(&read(), &rule_set(Action::Deny), None);
    assert!(denied.policy.denies(Caller::Agent) && !held.policy.denies(Caller::Agent));
    let strict = facts(&read(), &allowing.denying_unlisted(true), None);
    assert!(!Arc::ptr_eq(&held, &strict));
}
