//! Layers, lists, read-only, callers: who wins, and that a deny cannot be got around.

use helve_model::{AccessSpec, ErrorCode, Layer, Principal};

use super::*;
use crate::ServerAccess;
use crate::test_support::*;

const READS: Claims = Claims { read_only: Some(true), destructive: None, idempotent: None, open_world: None };
const WRITES: Claims = Claims { read_only: Some(false), destructive: None, idempotent: None, open_world: None };

#[test]
fn allow_all_allows() {
    let request = Request {
        principal: Principal::token("one"),
        name: name("any", "thing"),
        kind: CallKind::Tool,
        arguments: json(r#"{"a":1}"#),
    };
    let Decision::Allow(permit) = RuleSet::allow_all().decide(request) else { panic!("refused") };
    assert_eq!(permit.principal(), &Principal::token("one"));
    assert_eq!((permit.name(), permit.kind()), (&name("any", "thing"), CallKind::Tool));
    assert_eq!(permit.arguments().as_str(), r#"{"a":1}"#);
}

#[test]
fn the_first_match_of_the_highest_layer_wins() {
    let rules = rules(&["user allow github/get_*", "user deny github/*", "explicit ask github/get_secret"]);
    insta::assert_snapshot!(agent(&rules, "github", "get_issue", "{}"), @"allow because rule `github/get_*` (allow, user layer) at /home/me/helve.toml:1:1");
    insta::assert_snapshot!(agent(&rules, "github", "create_issue", "{}"), @"deny because rule `github/*` (deny, user layer) at /home/me/helve.toml:2:1");
    insta::assert_snapshot!(agent(&rules, "github", "get_secret", "{}"), @"ask because rule `github/get_secret` (ask, explicit layer) at ci.toml:3:1");
    insta::assert_snapshot!(agent(&rules, "files", "get_issue", "{}"), @"ask because no rule or list mentions it");
    insta::assert_snapshot!(agent(&rules, "elsewhere", "get_issue", "{}"), @"deny because no server of that name is configured");
}

#[test]
fn a_deny_of_the_person_is_final() {
    for above in ["project", "explicit", "command"] {
        let rules = rules(&["user deny github/*", &format!("{above} allow github/*")]);
        assert!(agent(&rules, "github", "x", "{}").starts_with("deny because rule `github/*` (deny, user layer)"));
    }
    // Other layers are overruled by higher ones.
    let rules =
        rules(&["defaults deny github/*", "project allow github/x", "project deny github/y", "command allow github/y"]);
    assert!(agent(&rules, "github", "x", "{}").starts_with("allow"));
    assert!(agent(&rules, "github", "y", "{}").starts_with("allow"));
}

#[test]
fn an_untrusted_project_narrows_and_never_widens() {
    let rules = rules(&[
        "untrusted allow github/*",
        "untrusted deny github/delete_*",
        "untrusted ask github/get_*",
        "user allow github/get_*",
        "user allow github/delete_*",
        "defaults deny github/get_secret",
        "command allow github/delete_cache",
    ]);
    insta::assert_snapshot!(agent(&rules, "github", "create", "{}"), @"ask because no rule or list mentions it");
    insta::assert_snapshot!(agent(&rules, "github", "delete_all", "{}"), @"deny because rule `github/delete_*` (deny, untrusted project layer) at project/helve.toml:2:1");
    insta::assert_snapshot!(agent(&rules, "github", "get_issue", "{}"), @"ask because rule `github/get_*` (ask, untrusted project layer) at project/helve.toml:3:1");
    insta::assert_snapshot!(agent(&rules, "github", "delete_cache", "{}"), @"allow because rule `github/delete_cache` (allow, command line layer) at the command line");
    // The project's `ask` does not shadow a deny below it.
    let (rules, _) = compile(&["untrusted ask github/*", "defaults deny github/x"], vec![server("github")]);
    insta::assert_snapshot!(agent(&rules, "github", "x", "{}"), @"deny because rule `github/x` (deny, defaults layer) at helve's defaults");
}

#[test]
fn an_untrusted_server_inherits_nothing_and_shadows_nothing() {
    let project = |enabled, disabled: &[&str]| ServerAccess {
        layer: Layer::Project,
        trust: Trust::Untrusted,
        origin: file("project/.mcp.json", 3),
        enabled,
        access: AccessSpec { tools: Some(list(&["*"])), disabled_tools: list(disabled), ..AccessSpec::default() },
        ..server("github")
    };
    let allow = ["user allow github/*", "command allow github/*"];
    let (rules, _) = compile(&allow, vec![project(true, &[])]);
    insta::assert_snapshot!(agent(&rules, "github", "x", "{}"), @"deny because the server comes from a project that is not trusted yet, at project/.mcp.json:3:1");

    // Beside the person's own server of that name it changes nothing, but for what it switches off.
    let (rules, _) = compile(&allow, vec![server("github"), project(true, &["delete_*"])]);
    insta::assert_snapshot!(agent(&rules, "github", "x", "{}"), @"allow because rule `github/*` (allow, command line layer) at the command line");
    insta::assert_snapshot!(agent(&rules, "github", "delete_x", "{}"), @"deny because `delete_*` in the list of disabled tools at /home/me/.mcp.json:20:1");
    let (rules, _) = compile(&allow, vec![server("github"), project(false, &[])]);
    insta::assert_snapshot!(agent(&rules, "github", "x", "{}"), @"deny because the server is switched off at project/.mcp.json:3:1");

    // Trusted, it replaces the person's entry as a whole; what that switched off stays off.
    let own = ServerAccess {
        access: AccessSpec { disabled_tools: list(&["rm"]), ..AccessSpec::default() },
        ..server("github")
    };
    let (rules, _) = compile(&[], vec![own, ServerAccess { trust: Trust::Trusted, ..project(true, &[]) }]);
    insta::assert_snapshot!(agent(&rules, "github", "x", "{}"), @"allow because `*` in the list of allowed tools at /home/me/.mcp.json:20:1");
    insta::assert_snapshot!(agent(&rules, "github", "rm", "{}"), @"deny because `rm` in the list of disabled tools at /home/me/.mcp.json:20:1");
}

fn with_access(access: AccessSpec) -> RuleSet {
    let (rules, problems) = compile(&["user ask github/ask_me"], vec![ServerAccess { access, ..server("github") }]);
    assert_eq!(problems, vec![]);
    rules
}

fn decided(rules: &RuleSet, tool_name: &str, claims: Claims, caller: Caller) -> String {
    let policy = tool(rules, "github", tool_name, claims);
    format!("{}, {} risk", shown(&policy.decide(caller, json("{}"))), policy.risk())
}

#[test]
fn lists_and_read_only() {
    let rules = with_access(AccessSpec {
        tools: Some(list(&["get_*", "ask_me"])),
        write_tools: Some(list(&["create_issue"])),
        disabled_tools: list(&["get_secret"]),
        readonly: Some(true),
        trust_annotations: false,
    });
    insta::assert_snapshot!(decided(&rules, "get_issue", Claims::default(), Caller::Agent), @"allow because `get_*` in the list of allowed tools at /home/me/.mcp.json:20:1, low risk");
    insta::assert_snapshot!(decided(&rules, "get_issue", READS, Caller::Agent), @"allow because `get_*` in the list of allowed tools at /home/me/.mcp.json:20:1, low risk");
    insta::assert_snapshot!(decided(&rules, "get_issue", WRITES, Caller::Agent), @"ask because the server says that it writes, and is read-only at /home/me/.mcp.json:12:1, high risk");
    insta::assert_snapshot!(decided(&rules, "create_issue", WRITES, Caller::Agent), @"allow because `create_issue` in the list of allowed writing tools at /home/me/.mcp.json:20:1, high risk");
    insta::assert_snapshot!(decided(&rules, "get_secret", READS, Caller::Person), @"deny because `get_secret` in the list of disabled tools at /home/me/.mcp.json:20:1, low risk");
    insta::assert_snapshot!(decided(&rules, "delete_issue", READS, Caller::Person), @"deny because it is not in the list of allowed tools of the server at /home/me/.mcp.json:12:1, high risk");
    insta::assert_snapshot!(decided(&rules, "ask_me", READS, Caller::Person), @"ask because rule `github/ask_me` (ask, user layer) at /home/me/helve.toml:1:1, low risk");
    assert!(tool(&rules, "github", "delete_issue", READS).hidden().is_some());
    assert!(tool(&rules, "github", "get_issue", WRITES).hidden().is_none());
}

#[test]
fn read_only_is_the_default() {
    let rules = with_access(AccessSpec { tools: Some(list(&["*"])), ..AccessSpec::default() });
    insta::assert_snapshot!(decided(&rules, "create_issue", WRITES, Caller::Agent), @"ask because the server says that it writes, and is read-only at /home/me/.mcp.json:12:1, high risk");
    insta::assert_snapshot!(decided(&rules, "create_issue", WRITES, Caller::Person), @"allow because no rule is against it, and a person typed it, high risk");
}

#[test]
fn an_untrusted_server_that_is_off_is_off() {
    let entry = ServerAccess { enabled: false, trust: Trust::Untrusted, layer: Layer::Project, ..server("github") };
    let (rules, _) = compile(&[], vec![entry]);
    insta::assert_snapshot!(agent(&rules, "github", "x", "{}"), @"deny because the server is switched off at /home/me/.mcp.json:12:1");
}

#[test]
fn a_server_that_may_write() {
    let rules = with_access(AccessSpec { tools: Some(list(&["*"])), readonly: Some(false), ..AccessSpec::default() });
    insta::assert_snapshot!(decided(&rules, "create_issue", WRITES, Caller::Agent), @"allow because `*` in the list of allowed tools at /home/me/.mcp.json:20:1, high risk");
}

#[test]
fn annotations_count_only_where_they_are_trusted() {
    let plain = with_access(AccessSpec::default());
    let trusting = with_access(AccessSpec { trust_annotations: true, ..AccessSpec::default() });
    insta::assert_snapshot!(decided(&plain, "get", READS, Caller::Agent), @"ask because no rule or list mentions it, high risk");
    insta::assert_snapshot!(decided(&trusting, "get", READS, Caller::Agent), @"allow because the server says it only reads, and `trust_annotations` is set at /home/me/.mcp.json:12:1, low risk");
    insta::assert_snapshot!(decided(&trusting, "get", Claims { destructive: Some(true), ..READS }, Caller::Agent), @"ask because no rule or list mentions it, high risk");
    insta::assert_snapshot!(decided(&trusting, "create", WRITES, Caller::Agent), @"ask because no rule or list mentions it, high risk");
}

#[test]
fn only_a_person_has_answered_the_default_question() {
    let rules = rules(&["user ask github/ask_me"]);
    for caller in [Caller::Agent, Caller::Script, Caller::PromptTag, Caller::Poll] {
        assert!(decided(&rules, "x", Claims::default(), caller).starts_with("ask"), "{caller}");
    }
    insta::assert_snapshot!(decided(&rules, "x", Claims::default(), Caller::Person), @"allow because no rule is against it, and a person typed it, high risk");
    insta::assert_snapshot!(decided(&rules, "ask_me", Claims::default(), Caller::Person), @"ask because rule `github/ask_me` (ask, user layer) at /home/me/helve.toml:1:1, high risk");
}

#[test]
fn risk_in_rules_is_a_bound() {
    let rules = rules(&["user allow github/* risk:medium", "user deny github/* risk:medium"]);
    let trusting = with_access(AccessSpec::default());
    assert!(decided(&trusting, "x", READS, Caller::Agent).ends_with("high risk"));
    insta::assert_snapshot!(decided(&rules, "x", READS, Caller::Agent), @"deny because rule `github/*` from medium risk up (deny, user layer) at /home/me/helve.toml:2:1, high risk");
    let (rules, _) = compile(
        &["user allow github/* risk:medium", "user deny github/* risk:medium"],
        vec![ServerAccess {
            access: AccessSpec { trust_annotations: true, ..AccessSpec::default() },
            ..server("github")
        }],
    );
    insta::assert_snapshot!(decided(&rules, "x", READS, Caller::Agent), @"allow because rule `github/*` up to medium risk (allow, user layer) at /home/me/helve.toml:1:1, low risk");
}

#[test]
fn resources_and_prompts_have_rules_of_their_own() {
    let rules = rules(&[
        "user deny github/*",
        "user allow github/repo://docs/* kind:resource",
        "user deny *",
        "user ask github:* kind:prompt",
    ]);
    let decide = |kind, uri: &str| {
        shown(&rules.for_tool(Subject::unknown(name("github", uri), kind)).decide(Caller::Agent, json("{}")))
    };
    insta::assert_snapshot!(decide(CallKind::Resource, "repo://docs/a"), @"allow because rule `github/repo://docs/*` for each resource (allow, user layer) at /home/me/helve.toml:2:1");
    insta::assert_snapshot!(decide(CallKind::Resource, "repo://code/a"), @"allow because no rule mentions it, and it only reads");
    insta::assert_snapshot!(decide(CallKind::Prompt, "review"), @"ask because rule `github:*` for each prompt (ask, user layer) at /home/me/helve.toml:4:1");
    insta::assert_snapshot!(decide(CallKind::Tool, "review"), @"deny because rule `github/*` (deny, user layer) at /home/me/helve.toml:1:1");
    // Lists name tools, not resources.
    let listed =
        with_access(AccessSpec { tools: Some(list(&["a"])), disabled_tools: list(&["*"]), ..AccessSpec::default() });
    let policy = listed.for_tool(Subject::unknown(name("github", "b"), CallKind::Resource));
    assert_eq!((policy.hidden(), policy.risk()), (None, Risk::Low));
}

#[test]
fn subjects_are_read_from_definitions() {
    let github = ServerName::new("github").unwrap();
    let raw = json(r#"{"name":"get","inputSchema":{},"annotations":{"readOnlyHint":true,"openWorldHint":false}}"#);
    let subject = Subject::tool(&github, &ToolDefinition::from_raw(raw.clone()).unwrap());
    assert_eq!((&subject.name, subject.kind), (&name("github", "get"), CallKind::Tool));
    assert_eq!(subject.claims, Claims { open_world: Some(false), ..READS });
    assert_eq!(subject.definition, Some(raw.clone()));
    let subject = Subject::prompt(&github, &PromptDefinition::from_raw(raw.clone()).unwrap());
    assert_eq!(
        (&subject.name, subject.kind, subject.definition),
        (&name("github", "get"), CallKind::Prompt, Some(raw))
    );
    let subject = Subject::resource(&github, "repo://a");
    assert_eq!((&subject.name, subject.kind), (&name("github", "repo://a"), CallKind::Resource));
}

#[test]
fn arguments_decide() {
    let rules = rules(&[
        "user deny files/* pattern:path=/etc/*",
        "user ask files/* pattern:*password*",
        "user allow files/read pattern:path=/home/*",
        "user allow files/count pattern:limit=100",
    ]);
    let read = |arguments| agent(&rules, "files", "read", arguments);
    insta::assert_snapshot!(read(r#"{"path":"/home/me/a"}"#), @"allow because rule `files/read` with `path=/home/*` (allow, user layer) at /home/me/helve.toml:3:1");
    insta::assert_snapshot!(read(r#"{"path":"/etc/passwd"}"#), @"deny because rule `files/*` with `path=/etc/*` (deny, user layer) at /home/me/helve.toml:1:1");
    insta::assert_snapshot!(read(r#"{"path":"/home/me/password.txt"}"#), @"ask because rule `files/*` with `*password*` (ask, user layer) at /home/me/helve.toml:2:1");
    insta::assert_snapshot!(read(r#"{"path":"/home/../root/a"}"#), @"ask because no rule or list mentions it");
    insta::assert_snapshot!(agent(&rules, "files", "count", r#"{"limit":1e2}"#), @"allow because rule `files/count` with `limit=100` (allow, user layer) at /home/me/helve.toml:4:1");
    assert_eq!(tool(&rules, "files", "read", READS).foresee(Caller::Agent), None);
    assert!(tool(&rules, "github", "read", READS).foresee(Caller::Agent).is_some());
}

#[test]
fn refusals_say_what_to_write_where() {
    let told = |refusal: &Refusal| {
        let hints: Vec<String> = refusal.hints().iter().map(ToString::to_string).collect();
        format!("{} {refusal}\n- {}", refusal.code(), hints.join("\n- "))
    };
    let refused = |rules: &RuleSet, tool_name: &str| {
        let decision = tool(rules, "github", tool_name, Claims::default()).decide(Caller::Agent, json("{}"));
        match decision {
            Decision::Deny(refusal) => told(&refusal),
            Decision::Ask(question) => {
                let asked = question.to_string();
                format!("{asked}\n{}", told(&question.refuse_unanswered()))
            }
            Decision::Allow(_) => panic!("allowed"),
        }
    };
    let rules = rules(&[
        "user deny github/delete_*",
        "user ask mcp__github__merge",
        "project deny github/fork",
        "untrusted ask github:watch",
        "command deny github/push",
    ]);
    insta::assert_snapshot!(refused(&rules, "delete_repo"), @"
    DENIED `github/delete_repo` may not be called: rule `github/delete_*` (deny, user layer) at /home/me/helve.toml:1:1
    - to allow it for good, add a rule of your own that allows `github/delete_repo`
    ");
    insta::assert_snapshot!(refused(&rules, "merge"), @"
    an agent wants to call `github/merge` (high risk): rule `mcp__github__merge` (ask, user layer) at /home/me/helve.toml:2:1
    APPROVAL_REQUIRED `github/merge` needs an approval and nobody is there to ask: rule `mcp__github__merge` (ask, user layer) at /home/me/helve.toml:2:1
    - to allow it once, ask for `github/merge` where a person can answer
    - to allow it for good, add a rule of your own that allows `github/merge`
    ");
    insta::assert_snapshot!(refused(&rules, "fork"), @"
    DENIED `github/fork` may not be called: rule `github/fork` (deny, project layer) at project/helve.toml:3:1
    - change the rule at project/helve.toml:3:1: the rules of a project are asked before your own
    ");
    insta::assert_snapshot!(refused(&rules, "watch"), @"
    an agent wants to call `github/watch` (high risk): rule `github:watch` (ask, untrusted project layer) at project/helve.toml:4:1
    APPROVAL_REQUIRED `github/watch` needs an approval and nobody is there to ask: rule `github:watch` (ask, untrusted project layer) at project/helve.toml:4:1
    - to allow it once, ask for `github/watch` where a person can answer
    - change the rule at project/helve.toml:4:1: a project may narrow what you allow
    ");
    insta::assert_snapshot!(refused(&rules, "push"), @"
    DENIED `github/push` may not be called: rule `github/push` (deny, command line layer) at the command line
    - change the rule at the command line: it was named for this run, and is asked before all others
    ");
    insta::assert_snapshot!(refused(&rules, "create[issue]\u{1b}[2J"), @r"
    an agent wants to call `github/create[issue]\u{1b}[2J` (high risk): no rule or list mentions it
    APPROVAL_REQUIRED `github/create[issue]\u{1b}[2J` needs an approval and nobody is there to ask: no rule or list mentions it
    - to allow it once, ask for `github/create[issue]\u{1b}[2J` where a person can answer
    - to allow it for good, add a rule of your own that allows `github/create[issue]\u{1b}[2J`
    ");

    let listed = |access, tool_name| refused(&with_access(access), tool_name);
    let tools = AccessSpec { tools: Some(list(&["get_*"])), ..AccessSpec::default() };
    insta::assert_snapshot!(listed(tools, "create_issue"), @"
    DENIED `github/create_issue` may not be called: it is not in the list of allowed tools of the server at /home/me/.mcp.json:12:1
    - add `create_issue` to the list of its tools, of server `github` at /home/me/.mcp.json:12:1
    ");
    let disabled = AccessSpec { disabled_tools: list(&["get_*", "create_*"]), ..AccessSpec::default() };
    insta::assert_snapshot!(listed(disabled, "create_issue"), @"
    DENIED `github/create_issue` may not be called: `create_*` in the list of disabled tools at /home/me/.mcp.json:21:1
    - take `create_*` out of the list of its disabled tools, of server `github` at /home/me/.mcp.json:21:1
    ");

    let off = compile(&[], vec![ServerAccess { enabled: false, ..server("github") }]).0;
    insta::assert_snapshot!(refused(&off, "x"), @"
    SERVER_DISABLED `github/x` may not be called: the server is switched off at /home/me/.mcp.json:12:1
    - switch server `github` on
    ");
    let untrusted = ServerAccess { trust: Trust::Untrusted, layer: Layer::Project, ..server("github") };
    insta::assert_snapshot!(refused(&compile(&[], vec![untrusted]).0, "x"), @"
    UNTRUSTED `github/x` may not be called: the server comes from a project that is not trusted yet, at /home/me/.mcp.json:12:1
    - look at what /home/me/.mcp.json:12:1 would run, then trust it
    ");
    insta::assert_snapshot!(refused(&compile(&[], vec![]).0, "x"), @"
    SERVER_NOT_FOUND `github/x` may not be called: no server of that name is configured
    - configure a server `github`
    ");

    let asking = self::rules(&["user ask github/* kind:resource"]);
    let resource = asking.for_tool(Subject::unknown(name("github", "repo://a"), CallKind::Resource));
    let Decision::Ask(question) = resource.decide(Caller::Poll, json("{}")) else { panic!("decided") };
    insta::assert_snapshot!(question, @"a poll wants to read resource `github/repo://a` (low risk): rule `github/*` for each resource (ask, user layer) at /home/me/helve.toml:1:1");
    insta::assert_snapshot!(told(&question.refuse_unanswered()), @"
    APPROVAL_REQUIRED `github/repo://a` needs an approval and nobody is there to ask: rule `github/*` for each resource (ask, user layer) at /home/me/helve.toml:1:1
    - to allow it once, ask for `github/repo://a` where a person can answer
    - to allow it for good, add a rule of your own that allows the resource `github/repo://a`
    ");
    let Decision::Ask(question) = resource.decide(Caller::Poll, json("{}")) else { panic!("decided") };
    let declined = question.decline();
    assert_eq!(declined.code(), ErrorCode::Denied);
    insta::assert_snapshot!(declined, @"`github/repo://a` may not be read: a person was asked and said no");
}
