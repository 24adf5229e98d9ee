//! From a configuration to what a host is started with: each server with its trust and what holds it back, and the
//! rules with the trust they have.

use std::fmt;

use helve_config::trust::Trust as ConfigTrust;
use helve_config::{Blocker, Configuration, ConfiguredServer};
use helve_model::{Action, DisabledReason, Layer, Origin, Rule, ServerSpec};
use helve_policy::{Problem, RuleSet, ServerAccess, SourcedRule, Trust};

use crate::context::file_of;
use crate::env::Env;
use crate::options::GlobalOptions;

/// What a host is started with.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The servers, one per name; those without a spec have only diagnostics.
    pub(crate) servers: Vec<Planned>,
    /// Hidden entries, which still have a say in what may be called: they narrow.
    pub(crate) hidden: Vec<ServerAccess>,
    /// The rules, highest layer first; withheld ones too, which count for explanations alone.
    pub(crate) rules: Vec<SourcedRule>,
}

/// One server, and whether it may be started.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) spec: ServerSpec,
    pub(crate) trust: Trust,
    /// Why it is not started.
    pub(crate) held: Option<Held>,
}

/// Why a server is not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Held {
    /// A reason that a host knows too.
    Disabled(DisabledReason),
    /// Its entry has mistakes.
    Invalid,
    /// A person has to be asked for this value first.
    NeedsInput(String),
    /// helve cannot do it.
    Unsupported(String),
}

/// Makes the plan. Without any configured server, and unless the person chose the files, the built-in ones serve.
pub(crate) fn plan(env: &Env, options: &GlobalOptions, configuration: &Configuration) -> Plan {
    let mut servers = Vec::new();
    let readonly = &configuration.settings.readonly;
    for server in &configuration.servers {
        let Some(spec) = &server.spec else { continue };
        let mut spec = spec.clone();
        if readonly.origin != Origin::BuiltIn {
            spec.access.readonly.get_or_insert(readonly.value);
        }
        servers.push(Planned { spec, trust: trust_of(server), held: held(options, server) });
    }
    let shadowed = configuration.shadowed.iter().map(|shadowed| &shadowed.server);
    let hidden =
        shadowed.filter_map(|server| Some(ServerAccess::new(server.spec.as_ref()?, trust_of(server)))).collect();
    if configuration.servers.is_empty() && options.files.is_empty() {
        for spec in helve_builtin::defaults(env.working_directory()) {
            let held = options.no_mcp.then_some(Held::Disabled(DisabledReason::HostOff));
            servers.push(Planned { spec, trust: Trust::Trusted, held });
        }
    }
    Plan { servers, hidden, rules: rules(configuration) }
}

/// What holds a server back, the first of all reasons.
pub(crate) fn held(options: &GlobalOptions, server: &ConfiguredServer) -> Option<Held> {
    if options.no_mcp {
        return Some(Held::Disabled(DisabledReason::HostOff));
    }
    if server.disabled_by.is_some() {
        return Some(Held::Disabled(DisabledReason::Configured));
    }
    if let Some(blocker) = server.blockers.iter().find(|blocker| !matches!(blocker, Blocker::UnsetVariable { .. })) {
        return Some(match blocker {
            Blocker::NeedsInput { id, .. } => Held::NeedsInput(id.clone()),
            Blocker::Unsupported(what) => Held::Unsupported(what.clone()),
            _ => Held::Invalid,
        });
    }
    if server.spec.is_none() {
        return Some(Held::Invalid);
    }
    if server.trust == ConfigTrust::Untrusted {
        return Some(Held::Disabled(DisabledReason::Untrusted));
    }
    server.blockers.iter().find_map(|blocker| match blocker {
        Blocker::UnsetVariable { variable, .. } => {
            Some(Held::Disabled(DisabledReason::UnsetVariable(variable.clone())))
        }
        _ => None,
    })
}

impl Plan {
    /// The rules and lists of the plan, compiled, and what is wrong with them.
    pub(crate) fn compile(&self) -> (RuleSet, Vec<Problem>) {
        let own = self.servers.iter().map(|planned| ServerAccess::new(&planned.spec, planned.trust));
        RuleSet::compile(self.rules.iter().cloned(), own.chain(self.hidden.iter().cloned()))
    }
}

impl Held {
    /// One word for scripts.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Disabled(DisabledReason::Untrusted) => "untrusted",
            Self::Disabled(DisabledReason::UnsetVariable(_)) => "unset-variable",
            Self::Disabled(_) => "off",
            Self::Invalid => "invalid",
            Self::NeedsInput(_) => "needs-input",
            Self::Unsupported(_) => "unsupported",
        }
    }
}

impl fmt::Display for Held {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled(DisabledReason::Configured | DisabledReason::Toggled) => formatter.write_str("off"),
            Self::Disabled(DisabledReason::Untrusted) => formatter.write_str("not trusted"),
            Self::Disabled(reason) => reason.fmt(formatter),
            Self::Invalid => formatter.write_str("mistakes"),
            Self::NeedsInput(id) => write!(formatter, "asks for {id}"),
            Self::Unsupported(what) => formatter.write_str(what),
        }
    }
}

fn trust_of(server: &ConfiguredServer) -> Trust {
    if server.trust == ConfigTrust::Untrusted { Trust::Untrusted } else { Trust::Trusted }
}

/// The rules of a project file count as a whole or only where they narrow. An `allow` that counts tells that its file
/// is trusted.
fn rules(configuration: &Configuration) -> Vec<SourcedRule> {
    let is_trusted = |rule: &Rule| {
        let same_file =
            |other: &&Rule| other.action == Action::Allow && file_of(&other.origin) == file_of(&rule.origin);
        rule.layer != Layer::Project || configuration.rules.iter().any(|other| same_file(&other))
    };
    let counting = configuration.rules.iter().map(|rule| SourcedRule {
        trust: if is_trusted(rule) { Trust::Trusted } else { Trust::Untrusted },
        rule: rule.clone(),
    });
    let withheld =
        configuration.withheld_rules.iter().map(|rule| SourcedRule { rule: rule.clone(), trust: Trust::Untrusted });
    counting.chain(withheld).collect()
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
