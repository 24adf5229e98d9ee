//! Deciding a call: what a thousand rules cost, and what the number of rules does to it.

use std::hint::black_box;

use anyhow::{Result, ensure};
use helve_model::json::RawJson;
use helve_model::{AccessSpec, Action, CallKind, Layer, Origin, QualifiedName, Rule, ServerName, ToolName};
use helve_policy::{Caller, Decision, RuleSet, ServerAccess, SourcedRule, Subject, ToolPolicy, Trust};

use super::{Work, rounds};
use crate::report::{Goal, Line};
use crate::stats::{median, median_ratio};

/// Microseconds.
const DECIDING: Goal = Goal::AtMost(2.0);
const SERVERS: usize = 20;
const ARGUMENTS: RawJson =
    RawJson::from_static(r#"{"path":"/srv/project/src/main.rs","query":"fn main","limit":20,"recursive":true}"#);

pub(crate) fn measure(count: usize) -> Result<Vec<Line>> {
    let many = rule_set(1_000)?;
    let subject = subject()?;
    let (policy, few) = (decided_last(&many, &subject)?, decided_last(&rule_set(10)?, &subject)?);
    let decide = |policy: &ToolPolicy| drop(black_box(policy.decide(Caller::Agent, ARGUMENTS)));
    let [mut deciding, mut deciding_few, mut matching] = rounds(
        count,
        [
            Work { times: 1_000, once: &mut || decide(&policy) },
            Work { times: 1_000, once: &mut || decide(&few) },
            Work { times: 10, once: &mut || drop(black_box(many.for_tool(subject.clone()))) },
        ],
    );
    let ratio = median_ratio(&deciding, &deciding_few);
    let few_seen = format!("{:.3} µs with 10", median(&mut deciding_few) * 1e6);
    Ok(vec![
        Line::new(
            "decide with 1,000 rules, µs",
            median(&mut deciding) * 1e6,
            DECIDING,
            "a call of a known tool, by the last rule that names it; every fifth rule looks at an argument".to_owned(),
        ),
        Line::for_information("decide with 1,000 rules / 10 rules", ratio, few_seen),
        Line::for_information(
            "match 1,000 rules with a tool, µs",
            median(&mut matching) * 1e6,
            "once for all calls of the tool".to_owned(),
        ),
    ])
}

/// Rules over twenty servers; only the last one allows our call.
fn rule_set(rules: usize) -> Result<RuleSet> {
    let mut written: Vec<SourcedRule> = (0..rules - 1)
        .map(|index| {
            let server = server_name(index % SERVERS);
            match index % 5 {
                // These name our tool, and are passed over because of its arguments.
                0 => rule(format!("{server}/search*"), Some(format!("path=/secret-{index}/**")), Action::Deny),
                1 => rule(format!("mcp__{server}__delete_{index}_*"), None, Action::Deny),
                2 => rule(format!("{server}:get_{index}"), None, Action::Allow),
                3 => rule(format!("*/drop_{index}_*"), None, Action::Ask),
                _ => rule(format!("{server}/update_{index}"), None, Action::Ask),
            }
        })
        .collect();
    written.push(rule(format!("{}/search_files", server_name(0)), None, Action::Allow));
    let mut servers = Vec::new();
    for index in 0..SERVERS {
        servers.push(ServerAccess {
            name: ServerName::new(server_name(index))?,
            enabled: true,
            access: AccessSpec::default(),
            origin: Origin::Program,
            layer: Layer::User,
            trust: Trust::Trusted,
        });
    }
    let (compiled, problems) = RuleSet::compile(written, servers);
    ensure!(problems.is_empty(), "our own rules are refused: {problems:?}");
    Ok(compiled)
}

fn subject() -> Result<Subject> {
    let name = QualifiedName::new(ServerName::new(server_name(0))?, ToolName::new("search_files"));
    Ok(Subject::unknown(name, CallKind::Tool))
}

fn decided_last(rules: &RuleSet, subject: &Subject) -> Result<ToolPolicy> {
    let policy = rules.for_tool(subject.clone());
    let decision = policy.decide(Caller::Agent, ARGUMENTS);
    ensure!(matches!(decision, Decision::Allow(_)), "the last rule did not decide: {decision:?}");
    Ok(policy)
}

fn rule(tool: String, pattern: Option<String>, action: Action) -> SourcedRule {
    let rule = Rule { tool, pattern, risk: None, kind: None, action, origin: Origin::Program, layer: Layer::User };
    SourcedRule { rule, trust: Trust::Trusted }
}

fn server_name(index: usize) -> String {
    format!("server{index}")
}
