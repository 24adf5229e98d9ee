//! From a configuration to what a host is started with: each server with its trust and what holds it back, the rules
//! with the trust they have, and the definitions the person accepted.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use helve::{Plan, Planned, Surroundings};
use helve_config::trust::ServerTrust;
use helve_config::{Blocker, Configuration, ConfiguredServer, FileContent};
use helve_model::{Action, DisabledReason, Layer, Origin, QualifiedName, Rule, ServerName, ServerSpec, TransportSpec};
use helve_policy::pin::DefinitionHash;
use helve_policy::{Problem, RuleSet, ServerAccess, SourcedRule, Trust};

use crate::error::SetupError;
use crate::setup::{Setup, file_of};
use crate::start_guard;
use crate::store::connections::Connections;
use crate::store::pins::PinFile;

impl Setup {
    /// Makes the plan. Without any configured server, and unless the person chose the files, the built-in ones serve; not
    /// where servers may be configured in a file that cannot be used.
    ///
    /// # Errors
    /// The pins cannot be read: without them nobody knows which definitions were accepted.
    pub fn plan(&self, configuration: &Configuration) -> Result<Plan, SetupError> {
        let readonly = &configuration.settings.readonly;
        let mut servers = Vec::new();
        for server in &configuration.servers {
            let Some(spec) = &server.spec else { continue };
            let mut spec = spec.clone();
            if readonly.origin != Origin::BuiltIn {
                spec.access.readonly.get_or_insert(readonly.value);
            }
            let mut planned = Planned::new(spec, trust_of(server));
            (planned.held, planned.guard) = (self.held(server), start_guard::guard(server));
            servers.push(planned);
        }
        if self.has_defaults(configuration, configuration.servers.iter()) {
            let held = self.choices.no_mcp.then_some(DisabledReason::HostOff);
            let defaults = self.defaults(configuration);
            servers.extend(defaults.map(|spec| Planned::from(spec).with(|planned| planned.held = held.clone())));
        }
        let hidden = configuration.shadowed.iter().map(|shadowed| &shadowed.server);
        let narrowing = hidden.filter_map(|server| Some(ServerAccess::new(server.spec.as_ref()?, trust_of(server))));
        // What is hidden does not run: no approval is for it.
        let narrowing = narrowing.map(|access| ServerAccess { identity: None, ..access }).collect();
        let pins = self.pins(configuration, &servers)?;
        Ok(Plan::default().with(|plan| {
            (plan.servers, plan.narrowing) = (servers, narrowing);
            (plan.rules, plan.pins) = (Some(rules(configuration)), Some(pins));
        }))
    }

    /// The built-in servers that would serve if it were not for this one, which is configured.
    #[must_use]
    pub fn defaults_without(&self, configuration: &Configuration, name: &str) -> Vec<ServerName> {
        let others = configuration.servers.iter().filter(|server| server.name.as_str() != name);
        if !self.has_defaults(configuration, others) {
            return Vec::new();
        }
        self.defaults(configuration).map(|spec| spec.name).collect()
    }

    /// The built-in servers whose names nobody else has.
    fn defaults(&self, configuration: &Configuration) -> impl Iterator<Item = ServerSpec> {
        let is_free = |spec: &ServerSpec| !configuration.servers.iter().any(|server| server.name == spec.name);
        helve_builtin::defaults(self.environment.working_directory()).into_iter().filter(is_free)
    }

    /// True where the built-in servers serve: no other one is configured but helve itself.
    fn has_defaults<'a>(
        &self,
        configuration: &Configuration,
        mut configured: impl Iterator<Item = &'a ConfiguredServer>,
    ) -> bool {
        // What a hub has hides nothing local.
        configured.all(|server| server.name.place().is_some() || self.is_itself(server))
            && self.choices.files.is_empty()
            && configuration.broken_rules().is_none()
    }

    /// True when a server is this very program, or the hub that a person gave to another application in its place.
    pub fn is_itself(&self, server: &ConfiguredServer) -> bool {
        server.spec.as_ref().is_some_and(|spec| {
            self.itself.is(&self.environment, spec) || self.is_connected_hub(server, &spec.transport)
        })
    }

    /// True for an address that `helve connect` wrote into another application's file, as it was written.
    fn is_connected_hub(&self, server: &ConfiguredServer, transport: &TransportSpec) -> bool {
        let (TransportSpec::Http(http), Origin::File { path, .. }) = (transport, &server.origin) else { return false };
        // What cannot be read was written by nobody; that it cannot be is told where it is needed.
        let connections = self
            .connections
            .get_or_init(|| self.stores().and_then(|stores| stores.read::<Connections>()).unwrap_or_default());
        let is_written = |words: &[String]| matches!(words, [address] if address == http.url.expose());
        connections.find(path, server.name.as_str()).is_some_and(|written| is_written(&written.words))
    }

    /// What holds a server back, the first of all reasons.
    pub fn held(&self, server: &ConfiguredServer) -> Option<DisabledReason> {
        if self.choices.no_mcp {
            return Some(DisabledReason::HostOff);
        }
        if server.disabled_by.is_some() {
            return Some(DisabledReason::Configured);
        }
        // Before trust is asked for: what is never started needs none.
        if self.is_itself(server) {
            return Some(DisabledReason::Itself);
        }
        if let Some(depth) = self.itself.too_deep(&self.environment)
            && !server.spec.as_ref().is_some_and(|spec| matches!(spec.transport, TransportSpec::Builtin(_)))
        {
            return Some(DisabledReason::Nested(depth));
        }
        // A mistake is told before a question: nobody should answer it for nothing.
        let mistake = server.blockers.iter().find_map(|blocker| match blocker {
            Blocker::UnsetVariable { .. } => None,
            Blocker::NeedsInput { id, .. } => Some(DisabledReason::NeedsInput(id.clone())),
            Blocker::Unsupported(what) => Some(DisabledReason::Unsupported(what.clone())),
            _ => Some(DisabledReason::Invalid),
        });
        if mistake.is_some() || server.spec.is_none() {
            return mistake.or(Some(DisabledReason::Invalid));
        }
        if server.trust == ServerTrust::Untrusted {
            return Some(DisabledReason::Untrusted);
        }
        server.blockers.iter().find_map(|blocker| match blocker {
            Blocker::UnsetVariable { variable, .. } => Some(DisabledReason::UnsetVariable(variable.clone())),
            _ => None,
        })
    }

    /// The rules and lists of a plan as calls meet them: with where each server runs, which rules about relative paths
    /// depend on; and what is wrong with them.
    #[must_use]
    pub fn compile_for_calls(&self, plan: &Plan) -> (RuleSet, Vec<Problem>) {
        let surroundings = Surroundings::default().with(|surroundings| {
            surroundings.environment = self.environment.variables().into();
            surroundings.working_directory = Some(self.environment.working_directory().to_owned());
        });
        let own = plan.servers.iter().map(|planned| ServerAccess {
            directories: helve::server_directories(&planned.spec, &surroundings),
            ..ServerAccess::new(&planned.spec, planned.trust)
        });
        let rules = plan.rules.iter().flatten().cloned();
        RuleSet::compile(rules, own.chain(plan.narrowing.iter().cloned()))
    }

    /// All rules, with the trust they have, in the order in which they are asked.
    ///
    /// # Errors
    /// The pins cannot be read.
    pub fn rules_in_order(&self, configuration: &Configuration) -> Result<Vec<SourcedRule>, SetupError> {
        let mut rules = self.plan(configuration)?.rules.unwrap_or_default();
        rules.sort_by_key(|source| match (source.trust, source.rule.layer) {
            (_, Layer::CommandLine) => 0,
            (_, Layer::Explicit) => 1,
            (Trust::Untrusted, _) => 2,
            (Trust::Trusted, Layer::Project) => 3,
            (Trust::Trusted, Layer::User) => 4,
            (Trust::Trusted, Layer::Defaults) => 5,
        });
        Ok(rules)
    }

    /// The rules and lists as calls would meet them if a file said this, with what is wrong with them. The other files stay
    /// as they are.
    ///
    /// # Errors
    /// The pins cannot be read.
    pub fn rules_if(
        &self,
        configuration: &Configuration,
        content: &FileContent,
    ) -> Result<(RuleSet, Vec<Problem>), SetupError> {
        let place = &content.place;
        let is_of_file = |origin: &Origin| file_of(origin) == Some(place.path.as_path());
        let mut plan = self.plan(configuration)?;
        let mut rules = plan.rules.take().unwrap_or_default();
        rules.retain(|source| !is_of_file(&source.rule.origin));
        // helve's own file is asked first in its layer.
        let position = rules.iter().position(|source| source.rule.layer <= place.layer).unwrap_or(rules.len());
        let new = content.rules.iter().map(|rule| SourcedRule { rule: rule.clone(), trust: Trust::Trusted });
        rules.splice(position..position, new);
        plan.rules = Some(rules);
        for server in &content.servers {
            let Some(spec) = &server.spec else { continue };
            let known = plan.servers.iter_mut().find(|planned| planned.spec.name == spec.name);
            if let Some(planned) = known.filter(|planned| is_of_file(&planned.spec.origin)) {
                planned.spec.access = spec.access.clone();
            }
        }
        Ok(self.compile_for_calls(&plan))
    }

    /// The project in which definitions of a server are accepted: another one may mean another server by the same name.
    /// The person's own servers are the same everywhere.
    #[must_use]
    pub fn pin_project(&self, configuration: &Configuration, server: &ServerName) -> Option<String> {
        let is_of_project = configuration.server(server.as_str())?.layer == Layer::Project;
        is_of_project.then(|| self.project())
    }

    /// The accepted definitions of the configured servers.
    fn pins(
        &self,
        configuration: &Configuration,
        servers: &[Planned],
    ) -> Result<HashMap<QualifiedName, DefinitionHash>, SetupError> {
        let Ok(stores) = self.stores() else { return Ok(HashMap::new()) };
        let file: PinFile = stores.read()?;
        let mut pins = HashMap::new();
        if file.pins().is_empty() {
            return Ok(pins);
        }
        for planned in servers {
            let name = &planned.spec.name;
            let project = self.pin_project(configuration, name);
            for (tool, pin) in file.of_server(project.as_deref(), name) {
                pins.insert(tool, DefinitionHash::of(&pin.definition));
            }
        }
        Ok(pins)
    }
}

/// The rule of a host whose calls were decided elsewhere, or need no decision.
#[must_use]
pub fn allow_all() -> SourcedRule {
    let rule = Rule::new("*/*", Action::Allow, Origin::Program, Layer::CommandLine);
    SourcedRule { rule, trust: Trust::Trusted }
}

/// The state of a server in one word, for scripts.
#[must_use]
pub const fn held_word(held: Option<&DisabledReason>) -> &'static str {
    match held {
        None => "on",
        Some(DisabledReason::Configured | DisabledReason::Toggled | DisabledReason::HostOff | DisabledReason::Gone) => {
            "off"
        }
        Some(DisabledReason::Untrusted) => "untrusted",
        Some(DisabledReason::UnsetVariable(_)) => "unset-variable",
        Some(DisabledReason::Invalid) => "invalid",
        Some(DisabledReason::NeedsInput(_)) => "needs-input",
        Some(DisabledReason::Unsupported(_)) => "unsupported",
        Some(DisabledReason::Itself) => "itself",
        Some(DisabledReason::Nested(_)) => "nested",
    }
}

/// The state of a server in a few words, for people.
#[must_use]
pub fn held_text(held: Option<&DisabledReason>) -> String {
    match held {
        None => "on".to_owned(),
        Some(DisabledReason::Configured | DisabledReason::Toggled) => "off".to_owned(),
        Some(DisabledReason::Untrusted) => "not trusted".to_owned(),
        Some(DisabledReason::Invalid) => "mistakes".to_owned(),
        Some(reason) => reason.to_string(),
    }
}

/// The rules and lists of a plan, compiled, and what is wrong with them.
#[must_use]
pub fn compile(plan: &Plan) -> (RuleSet, Vec<Problem>) {
    let own = plan.servers.iter().map(|planned| ServerAccess::new(&planned.spec, planned.trust));
    let rules = plan.rules.iter().flatten().cloned();
    RuleSet::compile(rules, own.chain(plan.narrowing.iter().cloned()))
}

fn trust_of(server: &ConfiguredServer) -> Trust {
    if server.trust == ServerTrust::Untrusted { Trust::Untrusted } else { Trust::Trusted }
}

/// The rules of a project file count as a whole or only where they narrow. An `allow` that counts tells that its file
/// is trusted. Withheld rules come along for explanations alone.
fn rules(configuration: &Configuration) -> Vec<SourcedRule> {
    let allowing = configuration.rules.iter().filter(|rule| rule.action == Action::Allow);
    let trusted: HashSet<Option<&Path>> = allowing.map(|rule| file_of(&rule.origin)).collect();
    let is_trusted = |rule: &Rule| rule.layer != Layer::Project || trusted.contains(&file_of(&rule.origin));
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
