//! Against a second, slow opinion: layers, denies, lists, spellings, and a project that wants to widen.

use helve_model::json::RawJson;
use helve_model::name::NameTable;
use helve_model::{AccessSpec, Listed, Origin};
use proptest::prelude::*;

use super::*;
use crate::glob::escape;
use crate::test_support::*;
use crate::{Caller, Claims, Decider, Decision, Subject};

#[test]
fn problems_say_what_to_write() {
    let servers = || ["a", "a__b", "web search", "web-search"].map(server).to_vec();
    let told = |text: &str| {
        let (_, problems) = compile(&[text], servers());
        problems.iter().map(|problem| format!("{problem}\n  {}", problem.hint)).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(told("user allow read_file"), @"
    /home/me/helve.toml:1:1: `read_file` names no server; it allows nothing, since any server could have such a tool
      write `SERVER/read_file`, or `*/read_file` if you mean every server
    ");
    insta::assert_snapshot!(told("user deny a/x["), @r"
    /home/me/helve.toml:1:1: the tool glob `a/x[` cannot be read (unclosed character class; missing ']'); it denies every tool it might mean
      write a glob such as `github/create_*`; a `[`, `{`, `*` or `?` that means itself has a `\` before it
    ");
    insta::assert_snapshot!(told("user allow {a/x,b/y}"), @r"
    /home/me/helve.toml:1:1: the tool glob `{a/x,b/y}` cannot be read (it does not say where the server's name ends); it allows nothing
      write a glob such as `github/create_*`; a `[`, `{`, `*` or `?` that means itself has a `\` before it
    ");
    insta::assert_snapshot!(told("user ask {a/x,b/y}"), @r"
    /home/me/helve.toml:1:1: the tool glob `{a/x,b/y}` cannot be read (it does not say where the server's name ends); it asks for every tool it might mean
      write a glob such as `github/create_*`; a `[`, `{`, `*` or `?` that means itself has a `\` before it
    ");
    insta::assert_snapshot!(told("user allow mcp__a__b__c"), @"
    /home/me/helve.toml:1:1: `mcp__a__b__c` could mean `a/b__c` or `a__b/c`; it allows nothing
      write the one you mean
    ");
    insta::assert_snapshot!(told("user allow device.WebSearchMCP.find"), @"
    /home/me/helve.toml:1:1: `device.WebSearchMCP.find` could mean `web search/find` or `web-search/find`; it allows nothing
      write the one you mean
    ");
    insta::assert_snapshot!(told("user allow a/x pattern:path=["), @"
    /home/me/helve.toml:1:1: the pattern `path=[` cannot be read (unclosed character class; missing ']'); the rule allows nothing
      write `KEY=GLOB`, or a glob over any string argument
    ");
    insta::assert_snapshot!(told("user deny a/x pattern:["), @"
    /home/me/helve.toml:1:1: the pattern `[` cannot be read (unclosed character class; missing ']'); the rule denies whatever the arguments are
      write `KEY=GLOB`, or a glob over any string argument
    ");
    assert_eq!(told("user deny read_file"), "");
    assert_eq!(told("user deny mcp__a__b__c"), "");

    let access = AccessSpec { disabled_tools: list(&["x", "y["]), ..AccessSpec::default() };
    let (rules, problems) = compile(&[], vec![ServerAccess { access, ..server("a") }]);
    insta::assert_snapshot!(problems[0], @"/home/me/.mcp.json:21:1: the glob `y[` cannot be read (unclosed character class; missing ']'); a list that allows ignores it, in `disabled_tools` it stands for every tool");
    assert!(agent(&rules, "a", "anything", "{}").starts_with("deny"));
}

#[test]
fn spellings_that_could_mean_two_tools() {
    let decide = |text: &str, servers: &[&str], server_name: &str, tool: &str| {
        let (rules, _) = compile(&[text], servers.iter().map(|name| server(name)).collect());
        agent(&rules, server_name, tool, "{}").split(' ').next().unwrap().to_owned()
    };
    // Only one of the two exists: that one is meant.
    assert_eq!(decide("user allow mcp__a__b__c", &["a"], "a", "b__c"), "allow");
    assert_eq!(decide("user allow mcp__a__b__c", &["a__b"], "a__b", "c"), "allow");
    // Both exist: a deny means both, an allow neither.
    let both = ["a", "a__b"];
    assert_eq!(decide("user deny mcp__a__b__c", &both, "a", "b__c"), "deny");
    assert_eq!(decide("user deny mcp__a__b__c", &both, "a__b", "c"), "deny");
    assert_eq!(decide("user allow mcp__a__b__c", &both, "a", "b__c"), "ask");
    assert_eq!(decide("user allow mcp__a__b__c", &both, "a__b", "c"), "ask");
    // A server whose name only looks alike gets nothing.
    assert_eq!(decide("user allow mcp__a__*", &both, "a__b", "c"), "ask");
    assert_eq!(decide("user allow mcp__web_x__*", &["web_x", "web x"], "web_x", "c"), "allow");
    assert_eq!(decide("user allow mcp__web_x__*", &["web_x", "web x"], "web x", "c"), "ask");
    assert_eq!(decide("user allow mcp__web_x__*", &["web x"], "web x", "c"), "allow");
    // A bare name restricts wherever it may be meant.
    assert_eq!(decide("user deny *delete*", &["a"], "a", "delete_all"), "deny");
    assert_eq!(decide("user deny mcp*", &["a"], "a", "x"), "deny");
    assert_eq!(decide("user allow x", &["a"], "a", "x"), "ask");
}

/// Names as hostile servers and careless people choose them.
fn part() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c_/:%.-]{1,5}", "(a|b|_|__|/|:|%2F|class|é| |\\*|\\[|\\{){1,5}", "[a-z_]{50,70}"]
}

fn decides(rules: &RuleSet, name: &QualifiedName) -> Action {
    action(&rules.for_tool(Subject::unknown(name.clone(), CallKind::Tool)).decide(Caller::Agent, json("{}")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_spelling_decides_alike(pairs in proptest::collection::vec((part(), part()), 1..6)) {
        let names: Vec<QualifiedName> = pairs.iter().map(|(server, tool)| name(server, tool)).collect();
        let table = NameTable::new(names);
        let mut servers: Vec<&str> = table.identities().iter().map(|name| name.server.as_str()).collect();
        servers.dedup();
        let compile_one = |text: &str, action| {
            let mut written = rule(1, "user deny x");
            written.rule.tool = text.to_owned();
            written.rule.action = action;
            RuleSet::compile([written], servers.iter().map(|name| server(name)))
        };
        for identity in table.identities() {
            for spelling in Spelling::ALL {
                let text = match spelling {
                    Spelling::Slash | Spelling::Colon => format!(
                        "{}{}{}",
                        escape(&spelling.render_server(&identity.server)),
                        if spelling == Spelling::Slash { '/' } else { ':' },
                        escape(identity.tool.as_str()),
                    ),
                    Spelling::Provider | Spelling::Code => table.spell(identity, spelling).unwrap(),
                };
                for restricting in [Action::Deny, Action::Ask] {
                    let (rules, problems) = compile_one(&text, restricting);
                    prop_assert_eq!(problems, vec![], "{}", text);
                    let policy = rules.for_tool(Subject::unknown(identity.clone(), CallKind::Tool));
                    let decision = policy.decide(Caller::Person, json("{}"));
                    prop_assert_eq!(action(&decision), restricting, "{} does not restrict {:?}", text, identity);
                }
                let (rules, problems) = compile_one(&text, Action::Allow);
                let is_plain =
                    spelling.render(identity) == text || matches!(spelling, Spelling::Slash | Spelling::Colon);
                // Where another server is called exactly what this one is only spelled as, that one is meant.
                let spelled = spelling.render_server(&identity.server);
                let outdone = spelling == Spelling::Provider
                    && spelled != identity.server.as_str()
                    && servers.contains(&spelled.as_str());
                let expected =
                    if is_plain && !outdone && problems.is_empty() { Action::Allow } else { Action::Ask };
                prop_assert_eq!(decides(&rules, identity), expected, "{} for {:?}", text, identity);
                if matches!(spelling, Spelling::Slash | Spelling::Colon) {
                    prop_assert_eq!(problems, vec![]);
                    for other in table.identities().iter().filter(|other| *other != identity) {
                        prop_assert_eq!(decides(&rules, other), Action::Ask, "{} allows {:?}", text, other);
                    }
                }
            }
        }
    }
}

/// A random world: few names, so that much of it meets.
#[derive(Debug, Clone)]
struct World {
    rules: Vec<SourcedRule>,
    servers: Vec<ServerAccess>,
}

fn globs() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]", "\\*", "[ab]\\*"].prop_map(|glob: String| glob)
}

fn any_rule(layers: Vec<(Layer, Trust)>) -> impl Strategy<Value = SourcedRule> {
    let action = prop_oneof![Just(Action::Allow), Just(Action::Deny), Just(Action::Ask)];
    let risk = prop_oneof![4 => Just(None), 1 => Just(Some(Risk::Low)), 1 => Just(Some(Risk::Medium)), 1 => Just(Some(Risk::High))];
    let kind = prop_oneof![6 => Just(None), 1 => Just(Some(CallKind::Resource))];
    let pattern = prop_oneof![2 => Just(None), 1 => "k=[xy]".prop_map(Some), 1 => "[xy]".prop_map(Some)];
    let layer = proptest::sample::select(layers);
    (globs(), globs(), pattern, action, risk, kind, layer).prop_map(
        |(server, tool, pattern, action, risk, kind, (layer, trust))| SourcedRule {
            rule: Rule {
                pattern,
                risk,
                kind,
                ..Rule::new(format!("{server}/{tool}"), action, origin(layer, 1), layer)
            },
            trust,
        },
    )
}

fn any_list() -> impl Strategy<Value = Vec<Listed>> {
    proptest::collection::vec(globs(), 0..3)
        .prop_map(|globs| globs.into_iter().map(|glob| Listed { glob, origin: Origin::Program }).collect())
}

fn any_server(layer: Layer, trust: Trust) -> impl Strategy<Value = ServerAccess> {
    let rarely = || prop_oneof![4 => Just(false), 1 => Just(true)];
    let optional_list = || prop_oneof![2 => Just(None), 1 => any_list().prop_map(Some)];
    let disabled = prop_oneof![3 => Just(Vec::new()), 1 => any_list()];
    let readonly = proptest::option::of(any::<bool>());
    ("[ab]", rarely(), optional_list(), optional_list(), disabled, readonly, any::<bool>()).prop_map(
        move |(name, off, tools, write_tools, disabled_tools, readonly, trust_annotations)| ServerAccess {
            enabled: !off,
            access: AccessSpec { tools, write_tools, disabled_tools, readonly, trust_annotations },
            layer,
            trust,
            ..server(&name)
        },
    )
}

const TRUSTED: [(Layer, Trust); 5] = [
    (Layer::Defaults, Trust::Trusted),
    (Layer::User, Trust::Trusted),
    (Layer::Project, Trust::Trusted),
    (Layer::Explicit, Trust::Trusted),
    (Layer::CommandLine, Trust::Trusted),
];
const UNTRUSTED: (Layer, Trust) = (Layer::Project, Trust::Untrusted);

fn any_world() -> impl Strategy<Value = World> {
    let layers = TRUSTED.into_iter().chain([UNTRUSTED]).collect();
    let rules = proptest::collection::vec(any_rule(layers), 0..10);
    let servers = proptest::collection::vec(
        prop_oneof![3 => any_server(Layer::User, Trust::Trusted), 1 => any_server(Layer::Project, Trust::Untrusted)],
        1..3,
    );
    // One entry per name and layer, as configuration has it.
    (rules, servers).prop_map(|(rules, mut servers)| {
        servers.sort_by_key(|server| (server.name.clone(), server.layer));
        servers.dedup_by_key(|server| (server.name.clone(), server.layer));
        World { rules, servers }
    })
}

#[derive(Debug, Clone)]
struct Call {
    subject: Subject,
    caller: Caller,
    argument: Option<(String, String)>,
}

fn any_call() -> impl Strategy<Value = Call> {
    let flag = || proptest::option::of(any::<bool>());
    let claims = (flag(), flag(), flag(), flag()).prop_map(|(read_only, destructive, idempotent, open_world)| Claims {
        read_only,
        destructive,
        idempotent,
        open_world,
    });
    let kind = prop_oneof![5 => Just(CallKind::Tool), 1 => Just(CallKind::Resource)];
    let caller = prop_oneof![Just(Caller::Person), Just(Caller::Agent), Just(Caller::Poll)];
    let argument = proptest::option::of(("[km]", "[xyz]"));
    ("[ab]", "[abc]{1,2}", claims, kind, caller, argument).prop_map(|(server, tool, claims, kind, caller, argument)| {
        Call { subject: Subject { name: name(&server, &tool), kind, claims, definition: None }, caller, argument }
    })
}

fn any_calls() -> impl Strategy<Value = Vec<Call>> {
    proptest::collection::vec(any_call(), 10)
}

impl World {
    fn compile(&self) -> RuleSet {
        let (rules, problems) = RuleSet::compile(self.rules.clone(), self.servers.clone());
        assert_eq!(problems, vec![]);
        rules
    }
}

impl Call {
    fn decide(&self, rules: &RuleSet) -> Decision {
        rules.for_tool(self.subject.clone()).decide(self.caller, self.arguments())
    }

    fn arguments(&self) -> RawJson {
        match &self.argument {
            Some((key, value)) => json(&format!(r#"{{"{key}":"{value}"}}"#)),
            None => json("{}"),
        }
    }
}

/// The second opinion on whether a rule matches: globs here are a letter, `*`, or a letter and `*`.
fn rule_matches(source: &SourcedRule, call: &Call, risk: Risk) -> bool {
    let glob = |glob: &str, text: &str| match glob.strip_suffix('*') {
        Some(prefix) => text.starts_with(prefix),
        None => text == glob,
    };
    let rule = &source.rule;
    let (server, tool) = rule.tool.split_once('/').unwrap();
    let argument = match (&rule.pattern, &call.argument) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(pattern), Some((key, value))) => match pattern.split_once('=') {
            Some((wanted, glob)) => wanted == key && glob == value,
            None => pattern == value,
        },
    };
    let fitting_risk = match (rule.risk, rule.action) {
        (None, _) => true,
        (Some(bound), Action::Allow) => risk <= bound,
        (Some(bound), Action::Deny | Action::Ask) => risk >= bound,
    };
    glob(server, call.subject.name.server.as_str())
        && glob(tool, call.subject.name.tool.as_str())
        && argument
        && fitting_risk
        && rule.kind.unwrap_or(CallKind::Tool) == call.subject.kind
}

/// The first rule of a layer that matches, by the second opinion.
fn first<'world>(world: &'world World, call: &Call, risk: Risk, layer: (Layer, Trust)) -> Option<&'world SourcedRule> {
    world.rules.iter().find(|source| {
        let counts = source.trust == Trust::Trusted || source.rule.action != Action::Allow;
        (source.rule.layer, source.trust) == layer && counts && rule_matches(source, call, risk)
    })
}

/// What the rules alone say; `None`: nothing.
fn by_rules(world: &World, call: &Call, risk: Risk) -> Option<Action> {
    let layer = |layer| first(world, call, risk, (layer, Trust::Trusted)).map(|source| source.rule.action);
    if layer(Layer::User) == Some(Action::Deny) {
        return Some(Action::Deny);
    }
    layer(Layer::CommandLine).or_else(|| layer(Layer::Explicit)).or_else(|| {
        let below = layer(Layer::Project).or_else(|| layer(Layer::User)).or_else(|| layer(Layer::Defaults));
        match (first(world, call, risk, UNTRUSTED).map(|source| source.rule.action), below) {
            (Some(Action::Deny), _) | (_, Some(Action::Deny)) => Some(Action::Deny),
            (Some(Action::Ask), _) | (_, Some(Action::Ask)) => Some(Action::Ask),
            (_, below) => below,
        }
    })
}

const fn strictness(action: Action) -> u8 {
    match action {
        Action::Allow => 0,
        Action::Ask => 1,
        Action::Deny => 2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// Order of layers, and first match within a layer.
    #[test]
    fn rules_decide_as_the_second_opinion_says(world in any_world(), calls in any_calls()) {
        let rules = world.compile();
        for call in calls {
            let decision = call.decide(&rules);
            let ground = decision.ground();
            let gate = rules.for_tool(call.subject.clone()).hidden().cloned();
            match (gate, by_rules(&world, &call, ground.risk)) {
                (Some(gate), _) => prop_assert_eq!((action(&decision), &ground.decider), (Action::Deny, &gate)),
                (None, Some(expected)) => {
                    prop_assert_eq!(action(&decision), expected);
                    prop_assert!(matches!(&ground.decider, Decider::Rule(source) if source.rule.action == expected));
                }
                (None, None) => {
                    prop_assert_ne!(action(&decision), Action::Deny, "nobody denied it");
                    prop_assert!(!matches!(ground.decider, Decider::Rule(_)));
                    prop_assert!(call.caller != Caller::Person || action(&decision) == Action::Allow);
                }
            }
        }
    }

    /// In a layer the first rule that matches speaks for the layer; if that is the person's own deny, nothing runs.
    #[test]
    fn no_permit_against_a_deny(world in any_world(), calls in any_calls()) {
        let rules = world.compile();
        for call in calls {
            let Decision::Allow(permit) = call.decide(&rules) else { continue };
            let risk = permit.ground().risk;
            let own = first(&world, &call, risk, (Layer::User, Trust::Trusted));
            prop_assert!(own.is_none_or(|source| source.rule.action != Action::Deny));
            if let Decider::Rule(source) = &permit.ground().decider {
                prop_assert_eq!(source.rule.action, Action::Allow);
                prop_assert!(rule_matches(source, &call, risk));
                prop_assert_eq!(source.trust, Trust::Trusted);
            }
            prop_assert_eq!((permit.name(), permit.kind()), (&call.subject.name, call.subject.kind));
            prop_assert_eq!(permit.arguments(), &call.arguments());
        }
    }

    /// Whatever a project adds before it is trusted, no call meets less than without it.
    #[test]
    fn an_untrusted_project_never_widens(
        world in any_world(),
        added in proptest::collection::vec(any_rule(vec![UNTRUSTED]), 0..6),
        entry in proptest::option::of(any_server(Layer::Project, Trust::Untrusted)),
        calls in any_calls(),
    ) {
        let mut before = world;
        before.rules.retain(|source| source.trust == Trust::Trusted);
        before.servers.retain(|server| server.trust == Trust::Trusted);
        let mut after = before.clone();
        after.rules.extend(added);
        after.servers.extend(entry);
        let (before, after) = (before.compile(), after.compile());
        for call in calls {
            let (without, with) = (call.decide(&before), call.decide(&after));
            let narrower = strictness(action(&with)) >= strictness(action(&without));
            prop_assert!(narrower, "{} became {}", shown(&without), shown(&with));
        }
    }

    /// Not even a trusted project, a file named for the run or the command line lifts a deny of the person's own layer.
    #[test]
    fn no_layer_lifts_a_deny_of_the_person(
        world in any_world(),
        added in proptest::collection::vec(any_rule(TRUSTED.to_vec()), 1..6),
        calls in any_calls(),
    ) {
        let mut larger = world.clone();
        larger.rules.extend(added.into_iter().filter(|source| source.rule.layer != Layer::User));
        let (before, after) = (world.compile(), larger.compile());
        for call in calls {
            let decision = call.decide(&before);
            let by_person = matches!(&decision.ground().decider, Decider::Rule(source) if source.rule.layer == Layer::User);
            if by_person && action(&decision) == Action::Deny {
                prop_assert_eq!(shown(&call.decide(&after)), shown(&decision));
            }
        }
    }

    #[test]
    fn the_chain_says_what_the_decision_says(world in any_world(), calls in any_calls()) {
        let rules = world.compile();
        for call in calls {
            let decision = call.decide(&rules);
            let explanation = rules.explain(call.subject.clone(), call.caller, &call.arguments());
            prop_assert_eq!(explanation.action, action(&decision));
            prop_assert_eq!(&explanation.ground, decision.ground());
            let decides = |step: &&crate::Step| matches!(step.finding, crate::Finding::Decides(_));
            let deciding: Vec<_> = explanation.steps.iter().filter(decides).collect();
            prop_assert_eq!(deciding.len(), 1, "{}", explanation);
            prop_assert_eq!(deciding[0].origin.as_ref(), decision.ground().decider.origin());
            prop_assert_eq!(explanation.hints.is_empty(), explanation.action == Action::Allow);
        }
    }
}

/// What a rule alone decides about a tool of a hub, and about a local one.
fn reaches(rule: &str, action: Action) -> (bool, bool) {
    let place = helve_model::name::PlaceName::new("hub").unwrap();
    let servers = [ServerName::placed(&place, "github").unwrap(), ServerName::from("github")];
    let origin = Origin::Program;
    let rule = Rule::new(rule, action, origin.clone(), Layer::User);
    let access = servers.clone().map(|name| {
        let http = helve_model::HttpSpec {
            url: "https://hub.example.com".into(),
            headers: Default::default(),
            flavour: Default::default(),
        };
        let spec =
            helve_model::ServerSpec::new(name, helve_model::TransportSpec::Http(http), origin.clone(), Layer::User);
        ServerAccess::new(&spec, Trust::Trusted)
    });
    let (set, _) = RuleSet::compile([SourcedRule { rule, trust: Trust::Trusted }], access);
    let decided = servers.map(|server| {
        let name = QualifiedName::new(server, helve_model::ToolName::new("create_issue"));
        let found = set.for_tool(Subject::unknown(name, CallKind::Tool)).foresee(crate::Caller::Agent);
        matches!(found, Some((decided, crate::Ground { decider: crate::Decider::Rule(_), .. })) if decided == action)
    });
    (decided[0], decided[1])
}

#[test]
fn rules_speak_of_a_hub_in_every_spelling_and_never_by_a_local_name() {
    let hub_alone = [
        "hub/github/create_issue",
        "hub/github:create_issue",
        "hub/github/*",
        "hub/*",
        "hub/*_issue",
        "hub/git*",
        "hub/*/create_*",
        "mcp__hub__github__create_issue",
        "mcp__hub__github__*",
        "mcp__hub__*",
        "mcp__hub",
        "devices.hub.GithubMCP.create_issue",
        "devices.hub.GithubMCP",
        "devices.hub.*",
        "devices.hub",
    ];
    let local_alone =
        ["github/*", "github/create_issue", "mcp__github__*", "device.GithubMCP.*", "device.*.create_issue"];
    let both = ["*", "*/*", "*/create_issue"];
    let neither = ["hub", "hub/gitlab/*", "other/*", "devices.other.*", "hub/github/delete_*"];
    for action in [Action::Deny, Action::Allow] {
        for (rules, expected) in
            [(&hub_alone[..], (true, false)), (&local_alone[..], (false, true)), (&both[..], (true, true))]
        {
            for rule in rules {
                assert_eq!(reaches(rule, action), expected, "{action:?} {rule}");
            }
        }
        for rule in neither {
            assert_eq!(reaches(rule, action), (false, false), "{action:?} {rule}");
        }
    }
}
