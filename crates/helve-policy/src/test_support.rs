//! Rules and servers in few words, for tests.

use std::path::Path;
use std::sync::Arc;

use helve_model::json::RawJson;
use helve_model::{
    AccessSpec, Action, CallKind, Layer, Listed, Origin, QualifiedName, Risk, Rule, ServerName, ToolName, Who,
};

use crate::{
    Caller, Claims, Decision, Directories, Problem, RuleSet, ServerAccess, SourcedRule, Subject, ToolPolicy, Trust,
};

pub(crate) fn name(server: &str, tool: &str) -> QualifiedName {
    QualifiedName::new(ServerName::new(server).unwrap(), ToolName::new(tool))
}

pub(crate) fn json(text: &str) -> RawJson {
    RawJson::checked(text).unwrap()
}

pub(crate) fn file(path: &str, line: u32) -> Origin {
    Origin::File { path: Arc::from(Path::new(path)), line, column: 1 }
}

pub(crate) fn origin(layer: Layer, line: u32) -> Origin {
    match layer {
        Layer::Defaults => Origin::BuiltIn,
        Layer::User => file("/home/me/helve.toml", line),
        Layer::Project => file("project/helve.toml", line),
        Layer::Explicit => file("ci.toml", line),
        Layer::CommandLine => Origin::CommandLine,
    }
}

/// `LAYER ACTION TOOL [pattern:…] [risk:…] [kind:…] [who:…,…]`; the layer `untrusted` is a project nobody trusted.
pub(crate) fn rule(line: u32, text: &str) -> SourcedRule {
    let mut words = text.split(' ');
    let (layer, trust) = match words.next().unwrap() {
        "defaults" => (Layer::Defaults, Trust::Trusted),
        "user" => (Layer::User, Trust::Trusted),
        "project" => (Layer::Project, Trust::Trusted),
        "untrusted" => (Layer::Project, Trust::Untrusted),
        "explicit" => (Layer::Explicit, Trust::Trusted),
        "command" => (Layer::CommandLine, Trust::Trusted),
        other => panic!("no layer {other}"),
    };
    let action = match words.next().unwrap() {
        "allow" => Action::Allow,
        "deny" => Action::Deny,
        "ask" => Action::Ask,
        other => panic!("no action {other}"),
    };
    let tool = words.next().unwrap().to_owned();
    let origin = origin(layer, line);
    let mut rule =
        Rule { tool, pattern: None, risk: None, kind: None, who: Vec::new(), action, origin, layer, by: None };
    for word in words {
        match word.split_once(':').unwrap() {
            ("pattern", pattern) => rule.pattern = Some(pattern.to_owned()),
            ("risk", "low") => rule.risk = Some(Risk::Low),
            ("risk", "medium") => rule.risk = Some(Risk::Medium),
            ("risk", "high") => rule.risk = Some(Risk::High),
            ("kind", "resource") => rule.kind = Some(CallKind::Resource),
            ("kind", "prompt") => rule.kind = Some(CallKind::Prompt),
            ("kind", "method") => rule.kind = Some(CallKind::Method),
            ("who", who) => rule.who = who.split(',').map(|who| Who::parse(who).unwrap()).collect(),
            other => panic!("no option {other:?}"),
        }
    }
    SourcedRule { rule, trust }
}

/// A server of the person's own, with nothing said about it.
pub(crate) fn server(name: &str) -> ServerAccess {
    ServerAccess {
        name: ServerName::new(name).unwrap(),
        enabled: true,
        access: AccessSpec::default(),
        origin: file("/home/me/.mcp.json", 12),
        layer: Layer::User,
        trust: Trust::Trusted,
        identity: None,
        directories: Directories::default(),
    }
}

pub(crate) fn list(globs: &[&str]) -> Vec<Listed> {
    let entry = |(index, glob): (usize, &&str)| Listed {
        glob: (*glob).to_owned(),
        origin: file("/home/me/.mcp.json", 20 + index as u32),
    };
    globs.iter().enumerate().map(entry).collect()
}

/// The servers `github` and `files`, and these rules.
pub(crate) fn rules(texts: &[&str]) -> RuleSet {
    let (rules, problems) = compile(texts, vec![server("github"), server("files")]);
    assert_eq!(problems, vec![]);
    rules
}

pub(crate) fn compile(texts: &[&str], servers: Vec<ServerAccess>) -> (RuleSet, Vec<Problem>) {
    RuleSet::compile(texts.iter().zip(1..).map(|(text, line)| rule(line, text)), servers)
}

pub(crate) fn tool(rules: &RuleSet, server: &str, tool: &str, claims: Claims) -> ToolPolicy {
    let definition = Some(RawJson::from_value(&serde_json::json!({ "name": tool })).unwrap());
    rules.for_tool(Subject { name: name(server, tool), kind: CallKind::Tool, claims, definition })
}

/// `ACTION because WHO` for a call of an agent.
pub(crate) fn agent(rules: &RuleSet, server: &str, tool_name: &str, arguments: &str) -> String {
    shown(&tool(rules, server, tool_name, Claims::default()).decide(Caller::Agent, json(arguments)))
}

pub(crate) fn shown(decision: &Decision) -> String {
    format!("{} because {}", action(decision), decision.ground().decider)
}

pub(crate) const fn action(decision: &Decision) -> Action {
    match decision {
        Decision::Allow(_) => Action::Allow,
        Decision::Ask(_) => Action::Ask,
        Decision::Deny(_) => Action::Deny,
    }
}
