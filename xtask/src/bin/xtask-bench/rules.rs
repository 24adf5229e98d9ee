//! Owns what a long list of rules looks like: twenty servers, every fifth rule looks at an argument, and only the last
//! one allows the call that is measured.

use helve_model::{Action, Layer, Origin, Rule};
use helve_policy::{SourcedRule, Trust};

/// The rules are about so many servers.
pub(crate) const SERVERS: usize = 20;

/// `count` rules, the last of which allows `tool` of the first server.
pub(crate) fn rules(count: usize, tool: &str) -> Vec<SourcedRule> {
    let mut rules: Vec<SourcedRule> = (1..count)
        .map(|number| {
            let index = number - 1;
            let server = server_name(index % SERVERS);
            match index % 5 {
                // Those of the first server name our tool, and are passed over because of its arguments.
                0 => rule(format!("{server}/{tool}*"), Some(format!("path=/secret-{index}/**")), Action::Deny),
                1 => rule(format!("mcp__{server}__delete_{index}_*"), None, Action::Deny),
                2 => rule(format!("{server}:get_{index}"), None, Action::Allow),
                3 => rule(format!("*/drop_{index}_*"), None, Action::Ask),
                _ => rule(format!("{server}/update_{index}"), None, Action::Ask),
            }
        })
        .collect();
    rules.push(rule(format!("{}/{tool}", server_name(0)), None, Action::Allow));
    rules
}

pub(crate) fn server_name(index: usize) -> String {
    format!("server{index}")
}

fn rule(tool: String, pattern: Option<String>, action: Action) -> SourcedRule {
    let rule = Rule { pattern, ..Rule::new(tool, action, Origin::Program, Layer::User) };
    SourcedRule { rule, trust: Trust::Trusted }
}
