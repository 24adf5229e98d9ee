//! What hosts of one plan have in common, kept once: how servers are configured, the rules as written, the rules compiled.
//!
//! A gateway has a host for each of many agents, all of the same plan. What is not the same is never shared: everything is
//! compared whole before it is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use helve_model::sync::lock;
use helve_model::{ServerName, ServerSpec};
use helve_policy::{Problem, RuleSet, ServerAccess, SourcedRule};

/// The newest of each part.
#[derive(Default)]
pub(crate) struct CommonParts(Mutex<Newest>);

#[derive(Default)]
struct Newest {
    specs: HashMap<ServerName, Weak<ServerSpec>>,
    compiled: Option<Compiled>,
}

/// Rules that were compiled, and what they were compiled from.
#[derive(Clone)]
struct Compiled {
    rules: Arc<[SourcedRule]>,
    servers: Arc<[ServerAccess]>,
    rule_set: RuleSet,
    problems: Vec<Problem>,
}

impl CommonParts {
    /// This spec, or the same that another host has.
    pub(crate) fn spec(&self, spec: ServerSpec) -> Arc<ServerSpec> {
        let mut newest = lock(&self.0);
        if let Some(known) = newest.specs.get(&spec.name).and_then(Weak::upgrade).filter(|known| **known == spec) {
            return known;
        }
        let spec = Arc::new(spec);
        newest.specs.retain(|_, known| known.strong_count() > 0);
        newest.specs.insert(spec.name.clone(), Arc::downgrade(&spec));
        spec
    }

    /// These rules, or the same that another host has.
    pub(crate) fn rules(&self, rules: Vec<SourcedRule>) -> Arc<[SourcedRule]> {
        match &lock(&self.0).compiled {
            Some(known) if *known.rules == *rules => Arc::clone(&known.rules),
            _ => rules.into(),
        }
    }

    /// The rules compiled for these servers.
    pub(crate) fn compiled(&self, rules: &Arc<[SourcedRule]>, servers: Vec<ServerAccess>) -> (RuleSet, Vec<Problem>) {
        if let Some(known) = &lock(&self.0).compiled
            && (Arc::ptr_eq(&known.rules, rules) || *known.rules == **rules)
            && *known.servers == *servers
        {
            return (known.rule_set.clone(), known.problems.clone());
        }
        let (rule_set, problems) = RuleSet::compile(rules.iter().cloned(), servers.iter().cloned());
        let made = Compiled {
            rules: Arc::clone(rules),
            servers: servers.into(),
            rule_set: rule_set.clone(),
            problems: problems.clone(),
        };
        let replaced = lock(&self.0).compiled.replace(made);
        // Freed without the lock: there may be thousands of rules.
        drop(replaced);
        (rule_set, problems)
    }
}

#[cfg(test)]
#[path = "common_parts_tests.rs"]
mod tests;
