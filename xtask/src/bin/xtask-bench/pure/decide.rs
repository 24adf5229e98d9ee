//! Deciding a call: what a thousand rules cost, and what the number of rules does to it.

use std::hint::black_box;

use anyhow::{Result, ensure};
use helve_model::json::RawJson;
use helve_model::{AccessSpec, CallKind, Layer, Origin, QualifiedName, ServerName, ToolName};
use helve_policy::{Caller, Decision, Directories, RuleSet, ServerAccess, Subject, ToolPolicy, Trust};

use super::{Work, rounds};
use crate::report::{Goal, Line};
use crate::rules::{SERVERS, rules, server_name};
use crate::stats::{median, median_ratio};

/// Microseconds.
const DECIDING: Goal = Goal::AtMost(2.0);
const TOOL: &str = "search_files";
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

fn rule_set(count: usize) -> Result<RuleSet> {
    let mut servers = Vec::new();
    for index in 0..SERVERS {
        servers.push(ServerAccess {
            name: ServerName::new(server_name(index))?,
            enabled: true,
            access: AccessSpec::default(),
            origin: Origin::Program,
            layer: Layer::User,
            trust: Trust::Trusted,
            identity: None,
            directories: Directories::default(),
        });
    }
    let (compiled, problems) = RuleSet::compile(rules(count, TOOL), servers);
    ensure!(problems.is_empty(), "our own rules are refused: {problems:?}");
    Ok(compiled)
}

fn subject() -> Result<Subject> {
    let name = QualifiedName::new(ServerName::new(server_name(0))?, ToolName::new(TOOL));
    Ok(Subject::unknown(name, CallKind::Tool))
}

fn decided_last(rules: &RuleSet, subject: &Subject) -> Result<ToolPolicy> {
    let policy = rules.for_tool(subject.clone());
    let decision = policy.decide(Caller::Agent, ARGUMENTS);
    ensure!(matches!(decision, Decision::Allow(_)), "the last rule did not decide: {decision:?}");
    Ok(policy)
}
