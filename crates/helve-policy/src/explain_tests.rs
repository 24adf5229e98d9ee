//! The chain says the same as the decision, and says it to a person.

use helve_model::{AccessSpec, ServerName, ToolName};

use super::*;
use crate::test_support::*;
use crate::{Approval, ApprovalSpan, Claims, ServerAccess, Trust};

fn explained(rules: &RuleSet, tool_name: &str, caller: Caller, arguments: &str) -> String {
    tool(rules, "github", tool_name, Claims::default())
        .explain(caller, &json(arguments), &Whereabouts::default())
        .to_string()
}

#[test]
fn the_whole_chain() {
    let rules = rules(&[
        "command allow github/create_* pattern:title=draft*",
        "untrusted allow github/*",
        "untrusted ask github/create_issue",
        "project allow github/create_issue",
        "user allow github/* risk:low",
        "user ask mcp__github__create_issue",
        "user deny github/delete_*",
        "user deny files/*",
        "defaults allow *",
    ]);
    insta::assert_snapshot!(explained(&rules, "create_issue", Caller::Agent, r#"{"title":"x"}"#), @"
    tool github/create_issue, called by an agent, high risk: ask
    because rule `github/create_issue` (ask, untrusted project layer) at project/helve.toml:3:1
       - rule `github/create_*` with `title=draft*` (allow, command line layer) at the command line
           no match: `title=draft*` does not match the arguments
       - rule `github/*` (allow, untrusted project layer) at project/helve.toml:2:1
           ignored: a project that is not trusted cannot allow
      => rule `github/create_issue` (ask, untrusted project layer) at project/helve.toml:3:1
           decides: ask
       - rule `github/create_issue` (allow, project layer) at project/helve.toml:4:1
           matches, but a project may be stricter: project/helve.toml:3:1
       - rule `github/*` up to low risk (allow, user layer) at /home/me/helve.toml:5:1
           no match: it is for risk up to low, this is high
       - rule `mcp__github__create_issue` (ask, user layer) at /home/me/helve.toml:6:1
           matches, but a project may be stricter: project/helve.toml:3:1
       - rule `*` (allow, defaults layer) at helve's defaults
           matches, but a project may be stricter: project/helve.toml:3:1
       - 2 rules of the user layer
           no match: about something else
       - otherwise: no rule or list mentions it
           not reached
    hint: change the rule at project/helve.toml:3:1: a project may narrow what you allow
    ");
    insta::assert_snapshot!(explained(&rules, "create_issue", Caller::Person, r#"{"title":"draft: x"}"#), @"
    tool github/create_issue, called by a person, high risk: allow
    because rule `github/create_*` with `title=draft*` (allow, command line layer) at the command line
      => rule `github/create_*` with `title=draft*` (allow, command line layer) at the command line
           decides: allow
       - rule `github/*` (allow, untrusted project layer) at project/helve.toml:2:1
           ignored: a project that is not trusted cannot allow
       - rule `github/create_issue` (ask, untrusted project layer) at project/helve.toml:3:1
           matches, but asked later than the command line
       - rule `github/create_issue` (allow, project layer) at project/helve.toml:4:1
           matches, but asked later than the command line
       - rule `github/*` up to low risk (allow, user layer) at /home/me/helve.toml:5:1
           no match: it is for risk up to low, this is high
       - rule `mcp__github__create_issue` (ask, user layer) at /home/me/helve.toml:6:1
           matches, but asked later than the command line
       - rule `*` (allow, defaults layer) at helve's defaults
           matches, but asked later than the command line
       - 2 rules of the user layer
           no match: about something else
       - otherwise: no rule is against it, and a person typed it
           not reached
    ");
    insta::assert_snapshot!(explained(&rules, "delete_all", Caller::Script, "{}"), @"
    tool github/delete_all, called by a script, high risk: deny
    because rule `github/delete_*` (deny, user layer) at /home/me/helve.toml:7:1
       - rule `github/*` (allow, untrusted project layer) at project/helve.toml:2:1
           ignored: a project that is not trusted cannot allow
       - rule `github/*` up to low risk (allow, user layer) at /home/me/helve.toml:5:1
           no match: it is for risk up to low, this is high
      => rule `github/delete_*` (deny, user layer) at /home/me/helve.toml:7:1
           decides: deny
       - rule `*` (allow, defaults layer) at helve's defaults
           matches, but asked later than /home/me/helve.toml:7:1
       - one rule of the command line layer
           no match: about something else
       - 2 rules of the project layer
           no match: about something else
       - 2 rules of the user layer
           no match: about something else
       - otherwise: no rule or list mentions it
           not reached
    hint: to allow it for good, add a rule of your own that allows `github/delete_all`
    ");
}

#[test]
fn a_final_deny() {
    let rules = rules(&["command allow github/*", "user deny github/*"]);
    insta::assert_snapshot!(explained(&rules, "x", Caller::Person, "{}"), @"
    tool github/x, called by a person, high risk: deny
    because rule `github/*` (deny, user layer) at /home/me/helve.toml:2:1
       - rule `github/*` (allow, command line layer) at the command line
           matches, but a deny of your own layer is final: /home/me/helve.toml:2:1
      => rule `github/*` (deny, user layer) at /home/me/helve.toml:2:1
           decides: deny
       - otherwise: no rule is against it, and a person typed it
           not reached
    hint: to allow it for good, add a rule of your own that allows `github/x`
    ");
}

#[test]
fn lists_and_defaults() {
    let access = AccessSpec { tools: Some(list(&["get_*"])), ..AccessSpec::default() };
    let (rules, _) = compile(&["user allow github/*"], vec![ServerAccess { access, ..server("github") }]);
    insta::assert_snapshot!(explained(&rules, "create", Caller::Agent, "{}"), @"
    tool github/create, called by an agent, high risk: deny
    because it is not in the list of allowed tools of the server at /home/me/.mcp.json:12:1
      => it is not in the list of allowed tools of the server at /home/me/.mcp.json:12:1
           decides: deny
       - rule `github/*` (allow, user layer) at /home/me/helve.toml:1:1
           matches, but no rule can lift that
    hint: add `create` to the list of its tools, of server `github` at /home/me/.mcp.json:12:1
    ");
    let (rules, _) = compile(&[], vec![server("github")]);
    insta::assert_snapshot!(explained(&rules, "create", Caller::Agent, "{}"), @"
    tool github/create, called by an agent, high risk: ask
    because no rule or list mentions it
      => otherwise: no rule or list mentions it
           decides: ask
    hint: to allow it for good, add a rule of your own that allows `github/create`
    ");
    insta::assert_snapshot!(explained(&rules, "create", Caller::Person, "{}"), @"
    tool github/create, called by a person, high risk: allow
    because no rule is against it, and a person typed it
      => otherwise: no rule is against it, and a person typed it
           decides: allow
    ");
    let (rules, _) = compile(&["user allow *"], vec![ServerAccess { trust: Trust::Untrusted, ..server("github") }]);
    insta::assert_snapshot!(explained(&rules, "create", Caller::Agent, "{}"), @"
    tool github/create, called by an agent, high risk: deny
    because the server comes from a project that is not trusted yet, at /home/me/.mcp.json:12:1
      => the server comes from a project that is not trusted yet, at /home/me/.mcp.json:12:1
           decides: deny
       - rule `*` (allow, user layer) at /home/me/helve.toml:1:1
           matches, but no rule can lift that
    hint: look at what /home/me/.mcp.json:12:1 would run, then trust it
    ");
    insta::assert_snapshot!(explained(&RuleSet::allow_all(), "create", Caller::Agent, "{}"), @"
    tool github/create, called by an agent, high risk: allow
    because every call is allowed here
      => otherwise: every call is allowed here
           decides: allow
    ");
}

#[test]
fn a_shortened_name_is_pointed_out() {
    let long = "a_tool_with_a_name_that_is_far_too_long_for_any_model_provider_to_take";
    let shortened = Spelling::Provider.render_hashed(&name("github", long));
    let allowing = rules(&[&format!("user allow {shortened}")]);
    insta::assert_snapshot!(explained(&allowing, long, Caller::Agent, "{}"), @"
    tool github/a_tool_with_a_name_that_is_far_too_long_for_any_model_provider_to_take, called by an agent, high risk: ask
    because no rule or list mentions it
       - rule `mcp__github__a_tool_with_a_name_that_is_far_too_long__4bbbzwyqua` (allow, user layer) at /home/me/helve.toml:1:1
           no match: the name is shortened; a rule that allows says `github/a_tool_with_a_name_that_is_far_too_long_for_any_model_provider_to_take`
      => otherwise: no rule or list mentions it
           decides: ask
    hint: to allow it for good, add a rule of your own that allows `github/a_tool_with_a_name_that_is_far_too_long_for_any_model_provider_to_take`
    ");
    // A deny means it all the same.
    let denying = rules(&[&format!("user deny {shortened}")]);
    assert_eq!(
        tool(&denying, "github", long, Claims::default())
            .verdict(Caller::Agent.into(), "{}", &Whereabouts::default())
            .action,
        Action::Deny
    );
}

/// A pin comes before the rules and an approval after them, in the chain as in the decision.
#[test]
fn pins_and_approvals_are_part_of_the_chain() {
    let name = QualifiedName::new(ServerName::new("github").unwrap(), ToolName::new("create_issue"));
    let definition = json(r#"{"name":"create_issue","description":"Makes one."}"#);
    let rules = rules(&["user ask github/*"]);
    let subject = Subject { definition: Some(definition.clone()), ..Subject::unknown(name.clone(), CallKind::Tool) };
    let policy = rules.for_tool(subject);
    let current = DefinitionHash::of(definition.as_str());
    let other = DefinitionHash::of("{}");
    let approval = |pattern: Option<&str>, definition| Approval {
        principal: Principal::LOCAL,
        tool: name.clone(),
        kind: CallKind::Tool,
        pattern: pattern.map(ToOwned::to_owned),
        definition: Some(definition),
        server: None,
        span: ApprovalSpan::Always,
    };
    let met = |pinned: Option<DefinitionHash>, approvals: Vec<Approval>| {
        let approvals: Approvals = approvals.into_iter().collect();
        let settled = Settled { pinned, approvals: &approvals };
        let explained =
            policy.explain_settled(Caller::Agent, &json(r#"{"title":"a"}"#), &Whereabouts::default(), settled);
        let foreseen = policy.foresee_settled(Caller::Agent, settled).map(|(action, _)| action);
        (
            explained.action,
            foreseen,
            explained.steps.iter().filter(|step| matches!(step.finding, Finding::Decides(_))).count(),
        )
    };
    assert_eq!(met(None, Vec::new()), (Action::Ask, Some(Action::Ask), 1));
    assert_eq!(met(Some(current), Vec::new()), (Action::Ask, Some(Action::Ask), 1));
    assert_eq!(met(Some(other), Vec::new()), (Action::Deny, Some(Action::Deny), 1));
    assert_eq!(met(Some(other), vec![approval(None, current)]), (Action::Deny, Some(Action::Deny), 1));
    assert_eq!(met(None, vec![approval(None, current)]), (Action::Allow, Some(Action::Allow), 1));
    assert_eq!(met(None, vec![approval(None, other)]), (Action::Ask, Some(Action::Ask), 1));
    assert_eq!(met(None, vec![approval(Some("title=a*"), current)]), (Action::Allow, None, 1));
    assert_eq!(met(None, vec![approval(Some("title=b*"), current)]), (Action::Ask, None, 1));
}
