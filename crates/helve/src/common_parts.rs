//! What hosts of one plan have in common, kept once: how servers are configured, the rules as written, the rules compiled, what
//! servers list, and what was found out about the tools that were used.
//!
//! A gateway has a host for each of many agents, all of the same plan. What is not the same is never shared: everything is
//! compared whole before it is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use helve_model::sync::lock;
use helve_model::{QualifiedName, ServerName, ServerSpec, ToolDefinition};
use helve_policy::pin::DefinitionHash;
use helve_policy::{Problem, RuleSet, ServerAccess, SourcedRule};

use crate::catalog::ServerCatalog;
use crate::tool_facts::ToolFacts;

/// So many tools are not looked through for those that nobody has any more.
const FEW_FACTS: usize = 64;

/// The newest of each part.
#[derive(Default)]
pub(crate) struct CommonParts(Mutex<Newest>);

#[derive(Default)]
struct Newest {
    specs: HashMap<ServerName, Weak<ServerSpec>>,
    compiled: Option<Compiled>,
    /// By the server, and by whether the list is of an earlier run.
    lists: HashMap<(ServerName, bool), Weak<ServerCatalog>>,
    facts: HashMap<QualifiedName, Weak<ToolFacts>>,
    /// What nobody has any more is looked for when there are so many: each look costs no more than what came since the last.
    facts_looked_at: usize,
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

    /// What a server lists, or the same that another host has.
    pub(crate) fn list(&self, server: &ServerName, list: ServerCatalog) -> Arc<ServerCatalog> {
        let mut newest = lock(&self.0);
        let key = (server.clone(), list.from_cache);
        if let Some(known) = newest.lists.get(&key).and_then(Weak::upgrade).filter(|known| known.is_same(&list)) {
            return known;
        }
        let list = Arc::new(list);
        newest.lists.retain(|_, known| known.strong_count() > 0);
        newest.lists.insert(key, Arc::downgrade(&list));
        list
    }

    /// What is found out about a tool, or what another host has found out about the same.
    pub(crate) fn facts(
        &self,
        name: &QualifiedName,
        definition: &ToolDefinition,
        rules: &RuleSet,
        pinned: Option<DefinitionHash>,
    ) -> Arc<ToolFacts> {
        let known = lock(&self.0).facts.get(name).and_then(Weak::upgrade);
        if let Some(known) = known.filter(|known| known.is_of(definition, rules, pinned)) {
            return known;
        }
        // Without the lock: a tool may have thousands of rules. Of two hosts at once the later one is found from now on.
        let facts = Arc::new(ToolFacts::new(&name.server, definition, rules, pinned));
        let mut newest = lock(&self.0);
        if newest.facts.len() >= newest.facts_looked_at {
            newest.facts.retain(|_, known| known.strong_count() > 0);
            newest.facts_looked_at = FEW_FACTS.max(newest.facts.len() * 2);
        }
        newest.facts.insert(name.clone(), Arc::downgrade(&facts));
        facts
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
