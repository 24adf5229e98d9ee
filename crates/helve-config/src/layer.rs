//! Merging: of all files, which server has a name, which settings hold, which rules count.
//!
//! Servers: the higher layer wins whole; within a layer, the file that is looked at first. Two applications of one
//! layer that mean different servers by one name both keep theirs, the later one as `name@application`. Settings merge
//! key by key. A project's files may always narrow (deny, ask, switch off); what they add counts once it is trusted,
//! and until then it hides nothing.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use helve_model::sandbox::Choice;
use helve_model::{Action, Layer, Origin, Rule, SandboxSpec, ServerName, ServerSpec, TransportSpec};

use crate::diagnostic::{Code, Diagnostic, Severity, quoted};
use crate::dialect::Dialect;
use crate::environment::variable;
use crate::grants;
use crate::hub::{self, ConfiguredHub};
use crate::reader::{FileContent, FilePlace, block};
use crate::reading::Budget;
use crate::server::{ConfiguredServer, Input, Switch, SwitchKind};
use crate::settings::{Setting, Settings, SettingsPatch};
use crate::trust::{self, Covered, ServerTrust, TrustHash, TrustRequest, TrustStore, TrustSubject, hashing_budget};

/// Everything all files say, merged.
#[derive(Debug)]
pub struct Configuration {
    /// The servers, one per name, in the order in which they were found.
    pub servers: Vec<ConfiguredServer>,
    /// The servers that are hidden by others.
    pub shadowed: Vec<Shadowed>,
    /// The hubs that the person joined.
    pub hubs: Vec<ConfiguredHub>,
    /// The settings that hold.
    pub settings: Settings,
    /// The rules that count, highest layer first.
    pub rules: Vec<Rule>,
    /// Rules of a project that would allow something, if the person trusted them.
    pub withheld_rules: Vec<Rule>,
    /// Values that some file wants to ask for.
    pub inputs: Vec<Input>,
    /// What the person could trust.
    pub untrusted: Vec<TrustRequest>,
    /// The files that were read.
    pub files: Vec<LoadedFile>,
    /// The files that are there and could not be read.
    pub unread: Vec<FilePlace>,
    /// What is wrong, all of it, file by file.
    pub diagnostics: Vec<Diagnostic>,
}

/// A server that has no effect because another one has its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Shadowed {
    /// The hidden server.
    pub server: ConfiguredServer,
    /// Where the one that hides it is configured.
    pub by: Origin,
    /// Why.
    pub reason: ShadowReason,
}

/// Why one server hides another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShadowReason {
    /// It is the same server, configured twice.
    Same,
    /// The other one stands in a higher layer.
    HigherLayer,
    /// The other one's file is looked at first.
    EarlierFile,
    /// This one is not trusted.
    Untrusted,
}

/// A file that was read.
#[derive(Debug, Clone)]
pub struct LoadedFile {
    /// Where it is, and what it is.
    pub place: FilePlace,
    /// How many servers it configures.
    pub servers: usize,
    /// The hash of its content, for edits that must not overwrite somebody else's.
    pub content: TrustHash,
}

/// What the command line or the embedding program adds on top.
#[derive(Debug, Clone, Default)]
pub struct CommandLine {
    /// Servers.
    pub servers: Vec<ServerSpec>,
    /// Settings.
    pub settings: SettingsPatch,
    /// Rules.
    pub rules: Vec<Rule>,
}

/// Merges what was read.
///
/// `contents` comes with the file that is looked at first, first; the layers may be in any order.
pub fn merge(mut contents: Vec<FileContent>, command_line: CommandLine, store: &dyn TrustStore) -> Configuration {
    contents.sort_by_key(|content| std::cmp::Reverse(content.place.layer));
    let mut merged = Configuration {
        servers: Vec::new(),
        shadowed: Vec::new(),
        hubs: hub::merged(&contents),
        settings: Settings::default(),
        rules: command_line.rules,
        withheld_rules: Vec::new(),
        inputs: Vec::new(),
        untrusted: Vec::new(),
        files: Vec::new(),
        unread: Vec::new(),
        diagnostics: Vec::new(),
    };
    let mut candidates: Vec<ConfiguredServer> = command_line.servers.into_iter().map(from_command_line).collect();
    let mut switches: Vec<Switch> = Vec::new();
    let mut patches: Vec<SettingsPatch> = Vec::new();
    let hashing = hashing_budget();
    let grants = grants::of(&contents);

    for mut content in contents {
        if content.place.layer == Layer::Project {
            // Before it is asked what is trusted: what a project's server gets of the person's is part of that.
            content.servers.iter_mut().for_each(|server| grants::apply(&grants, server));
        }
        trust_servers(&mut content, store, &hashing, &mut merged.untrusted);
        merged.files.push(LoadedFile {
            servers: content.servers.len(),
            content: TrustHash::of_content(content.source.text().as_bytes()),
            place: content.place.clone(),
        });
        patches.push(rules_and_settings(&mut content, store, &mut merged));
        merged.diagnostics.append(&mut content.diagnostics);
        merged.inputs.append(&mut content.inputs);
        switches.append(&mut content.switches);
        candidates.append(&mut content.servers);
    }
    for patch in patches.iter().rev() {
        merged.settings.apply(patch);
    }
    merged.settings.apply(&command_line.settings);

    for server in &mut candidates {
        confine_by_default(server, &merged.settings.sandbox);
    }
    candidates.sort_by_key(|server| std::cmp::Reverse(rank(server)));
    let switched_off = apply_switches(&switches, &mut candidates);
    merged.servers_by_name(candidates);
    merged.add_switched_off(switched_off);
    // By the name that each has by now: of two applications' servers of one name, the one that is called so.
    for server in merged.servers.iter_mut().filter(|server| server.layer != Layer::Project) {
        grants::apply(&grants, server);
    }
    hub::give_way(&mut merged.hubs, &merged.servers, &mut merged.diagnostics);
    merged.add_server_rules();
    merged.collect_server_problems();
    merged
}

/// A program of a project whose entry says nothing about a sandbox gets the one that the person chose when they trusted it. Before
/// that it has the one that the question will propose. Where a yes is older than that question, nothing changes under it but by
/// a setting that the person wrote themselves.
fn confine_by_default(server: &mut ConfiguredServer, proposed: &Setting<Choice>) {
    let choice = match (server.trust, server.chosen_sandbox) {
        (ServerTrust::Trusted, Some(chosen)) => chosen,
        (ServerTrust::Trusted, None) if proposed.origin == Origin::BuiltIn => Choice::Off,
        _ => proposed.value,
    };
    if let Some(spec) = &mut server.spec
        && spec.layer == Layer::Project
        && spec.sandbox.is_none()
        && choice != Choice::Off
        && matches!(spec.transport, TransportSpec::Stdio(_))
    {
        spec.sandbox = Some(SandboxSpec::by_default(choice));
    }
}

/// What an application switches off in one of its files is off in all of its files, and nowhere else: such servers are taken
/// out, so that they neither hide nor switch off another one of their name.
fn apply_switches(switches: &[Switch], servers: &mut Vec<ConfiguredServer>) -> Vec<ConfiguredServer> {
    let mut off: HashMap<(Dialect, &str), &Switch> = HashMap::new();
    let mut all_but: Vec<(HashSet<&str>, &Switch)> = Vec::new();
    for switch in switches {
        match &switch.kind {
            SwitchKind::Off(name) => {
                for dialect in switch.dialects {
                    off.entry((*dialect, name)).or_insert(switch);
                }
            }
            SwitchKind::AllBut(names) => all_but.push((names.iter().map(String::as_str).collect(), switch)),
        }
    }
    let by = |server: &ConfiguredServer| {
        let is_left_out = |(names, switch): &&(HashSet<&str>, &Switch)| {
            switch.dialects.contains(&server.dialect) && !names.contains(server.name.as_str())
        };
        let off = off.get(&(server.dialect, server.name.as_str())).copied();
        off.or_else(|| all_but.iter().find(is_left_out).map(|(_, switch)| *switch))
    };
    let is_off = |server: &mut ConfiguredServer| {
        let by = by(server).filter(|_| server.disabled_by.is_none());
        by.inspect(|switch| server.switch_off(switch.origin.clone())).is_some()
    };
    servers.extract_if(.., is_off).collect()
}

/// A server for this directory alone wins over the directory's own files: it is the person's word about them.
fn rank(server: &ConfiguredServer) -> (Layer, bool) {
    if server.is_local { (Layer::Project, true) } else { (server.layer, false) }
}

fn from_command_line(spec: ServerSpec) -> ConfiguredServer {
    let origin = spec.origin.clone();
    let disabled_by = (!spec.enabled).then(|| origin.clone());
    ConfiguredServer {
        disabled_by,
        ..ConfiguredServer::without_entry("command-line", Layer::CommandLine, origin, spec)
    }
}

fn trust_servers(
    content: &mut FileContent,
    store: &dyn TrustStore,
    budget: &Budget,
    untrusted: &mut Vec<TrustRequest>,
) {
    if content.place.layer != Layer::Project {
        return;
    }
    let project = real_path(&content.place.project);
    for server in &mut content.servers {
        if server.spec.is_none() {
            server.trust = ServerTrust::Untrusted;
            continue;
        }
        let Covered { parts, files } = match trust::of_server(server, &content.inputs, &project, budget) {
            Ok(covered) => covered,
            Err(unhashed) => {
                server.trust = ServerTrust::Untrusted;
                let (name, file) = (quoted(server.name.as_str()), quoted(&unhashed.file.to_string_lossy()));
                let message = format!("server {name} is off: it would run {file}, and {}", unhashed.reason);
                let mut diagnostic = Diagnostic::error(Code::Unreadable, message).for_server(&server.name);
                diagnostic.origin = server.origin.clone();
                server.diagnostics.push(diagnostic.hint("nobody can trust what cannot be read"));
                block(server);
                continue;
            }
        };
        let subject = TrustSubject::Server(server.name.to_string());
        let request = TrustRequest::new(project.clone(), content.place.path.clone(), subject, parts);
        server.files = files;
        server.trust_hash = Some(request.hash);
        server.trust = if store.is_trusted(&request) { ServerTrust::Trusted } else { ServerTrust::Untrusted };
        server.chosen_sandbox = store.sandbox(&request);
        if server.trust == ServerTrust::Untrusted && server.disabled_by.is_none() {
            untrusted.push(request);
        }
    }
}

/// Sorts a file's rules into those that count and those that wait; gives the settings that count.
fn rules_and_settings(content: &mut FileContent, store: &dyn TrustStore, merged: &mut Configuration) -> SettingsPatch {
    let rules = std::mem::take(&mut content.rules);
    let settings = std::mem::take(&mut content.settings);
    let widens = rules.iter().any(|rule| rule.action == Action::Allow) || settings != settings.narrowing();
    if content.place.layer != Layer::Project || !widens {
        merged.rules.extend(rules);
        return settings;
    }
    let parts = trust::of_rules(&rules, &settings);
    let project = real_path(&content.place.project);
    let request = TrustRequest::new(project, content.place.path.clone(), TrustSubject::Rules, parts);
    if store.is_trusted(&request) {
        merged.rules.extend(rules);
        return settings;
    }
    merged.untrusted.push(request);
    let (withheld, narrowing): (Vec<Rule>, Vec<Rule>) =
        rules.into_iter().partition(|rule| rule.action == Action::Allow);
    merged.rules.extend(narrowing);
    merged.withheld_rules.extend(withheld);
    settings.narrowing()
}

impl Configuration {
    /// Adds a server that the command line or the embedding program brings, in the place of one of that name.
    pub fn bring(&mut self, spec: ServerSpec) {
        self.servers.retain(|server| server.name != spec.name);
        self.servers.push(from_command_line(spec));
    }

    /// The server of that name.
    #[must_use]
    pub fn server(&self, name: &str) -> Option<&ConfiguredServer> {
        self.servers.iter().find(|server| server.name.as_str() == name)
    }

    /// The server a person means by `name`, `name@application` or `application:name`, hidden ones included.
    #[must_use]
    pub fn select(&self, selector: &str) -> Option<&ConfiguredServer> {
        self.server(selector).or_else(|| {
            let (application, name) =
                selector.split_once(':').or_else(|| selector.rsplit_once('@').map(|(name, end)| (end, name)))?;
            let is_it = |server: &&ConfiguredServer| {
                let own = server.name.as_str();
                let own = own.strip_suffix(server.application).and_then(|own| own.strip_suffix('@')).unwrap_or(own);
                server.application == application && own == name
            };
            self.servers.iter().chain(self.shadowed.iter().map(|shadowed| &shadowed.server)).find(is_it)
        })
    }

    /// The specs of all servers that can be started, switched on or not.
    pub fn specs(&self) -> impl Iterator<Item = &ServerSpec> {
        self.servers
            .iter()
            .filter(|server| server.blockers.is_empty() && server.trust != ServerTrust::Untrusted)
            .filter_map(|server| server.spec.as_ref())
    }

    /// True when something is wrong, not only worth a note.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// The first mistake that leaves rules or settings unknown, as a whole or in part: in a file that holds rules, and not
    /// in one server's entry, which costs that server alone. Nothing runs by rules that nobody knows.
    #[must_use]
    pub fn broken_rules(&self) -> Option<&Diagnostic> {
        let is_error = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Error && diagnostic.server.is_none();
        let places = self.files.iter().map(|file| &file.place).chain(&self.unread);
        let holding: HashSet<&Path> =
            places.filter(|place| place.dialect.holds_rules()).map(|place| place.path.as_path()).collect();
        self.diagnostics.iter().filter(is_error).find(|diagnostic| match &diagnostic.origin {
            Origin::File { path, .. } => holding.contains(path.as_ref()),
            Origin::BuiltIn | Origin::CommandLine | Origin::Program => false,
        })
    }

    /// Gives each name to the highest candidate; `candidates` comes highest first.
    fn servers_by_name(&mut self, candidates: Vec<ConfiguredServer>) {
        let mut names: HashMap<ServerName, usize> = HashMap::new();
        let mut waiting: Vec<ConfiguredServer> = Vec::new();
        let (switches, candidates): (Vec<ConfiguredServer>, Vec<ConfiguredServer>) =
            candidates.into_iter().partition(ConfiguredServer::is_switch);
        for candidate in candidates {
            if candidate.trust == ServerTrust::Untrusted {
                waiting.push(candidate);
            } else {
                self.place(candidate, &mut names);
            }
        }
        for candidate in waiting {
            let Some(winner) = names.get(&candidate.name).and_then(|index| self.servers.get_mut(*index)) else {
                self.add(candidate, &mut names);
                continue;
            };
            let by = winner.origin.clone();
            if winner.trust == ServerTrust::Untrusted {
                self.shadowed.push(Shadowed { server: candidate, by, reason: ShadowReason::EarlierFile });
                continue;
            }
            // Untrusted, it may still narrow: a project can switch off a server of the person's own files.
            if let Some(off) = &candidate.disabled_by
                && rank(winner) < rank(&candidate)
            {
                winner.switch_off(off.clone());
            }
            self.shadowed.push(Shadowed { server: candidate, by, reason: ShadowReason::Untrusted });
        }
        for switch in switches {
            match names.get(&switch.name).and_then(|index| self.servers.get_mut(*index)) {
                Some(server) if rank(server) <= rank(&switch) => {
                    server.switch_off(switch.disabled_by.unwrap_or(switch.origin));
                }
                Some(_) => {}
                None => self.add(switch, &mut names),
            }
        }
    }

    /// Servers that a list of their application switches off; those of others come first.
    fn add_switched_off(&mut self, servers: Vec<ConfiguredServer>) {
        for server in servers {
            let Some(winner) = self.server(server.name.as_str()) else {
                self.servers.push(server);
                continue;
            };
            let reason = match () {
                () if is_same(winner, &server) => ShadowReason::Same,
                () if server.trust == ServerTrust::Untrusted => ShadowReason::Untrusted,
                () => ShadowReason::EarlierFile,
            };
            self.shadowed.push(Shadowed { by: winner.origin.clone(), server, reason });
        }
    }

    fn add(&mut self, server: ConfiguredServer, names: &mut HashMap<ServerName, usize>) {
        names.insert(server.name.clone(), self.servers.len());
        self.servers.push(server);
    }

    fn place(&mut self, mut candidate: ConfiguredServer, names: &mut HashMap<ServerName, usize>) {
        let Some(winner) = names.get(&candidate.name).and_then(|index| self.servers.get(*index)) else {
            self.add(candidate, names);
            return;
        };
        let by = winner.origin.clone();
        let reason = if is_same(winner, &candidate) {
            ShadowReason::Same
        } else if rank(winner) == rank(&candidate) {
            ShadowReason::EarlierFile
        } else {
            ShadowReason::HigherLayer
        };
        if reason == ShadowReason::EarlierFile && both_count(winner, &candidate) {
            let name = format!("{}@{}", candidate.name, candidate.application);
            if let Ok(name) = ServerName::new(&name)
                && !names.contains_key(&name)
            {
                rename(&mut candidate, name);
                self.add(candidate, names);
                return;
            }
        }
        self.shadowed.push(Shadowed { server: candidate, by, reason });
    }

    /// The approvals that applications keep beside their servers; behind the rules of their layer.
    fn add_server_rules(&mut self) {
        for server in &self.servers {
            for rule in &server.rules {
                if server.trust == ServerTrust::Untrusted && rule.action == Action::Allow {
                    self.withheld_rules.push(rule.clone());
                } else {
                    self.rules.push(rule.clone());
                }
            }
        }
        self.rules.sort_by_key(|rule| std::cmp::Reverse(rule.layer));
    }

    /// Problems of the servers that count; a server that is off may lack its variables.
    fn collect_server_problems(&mut self) {
        for server in &self.servers {
            let is_off = server.disabled_by.is_some();
            let counts = |diagnostic: &&Diagnostic| !(is_off && is_about_values(diagnostic));
            self.diagnostics.extend(server.diagnostics.iter().filter(counts).cloned());
            if server.trust == ServerTrust::Untrusted && !is_off && server.spec.is_some() {
                let message = format!(
                    "server {} comes from this project and nobody has trusted it yet",
                    quoted(server.name.as_str())
                );
                let mut diagnostic = Diagnostic::warning(Code::Untrusted, message).for_server(&server.name);
                diagnostic.origin = server.origin.clone();
                self.diagnostics.push(diagnostic.hint("look at what it would run, then trust it or leave it off"));
            }
        }
        for shadowed in &self.shadowed {
            let counts = |diagnostic: &&Diagnostic| !is_about_values(diagnostic);
            self.diagnostics.extend(shadowed.server.diagnostics.iter().filter(counts).cloned());
        }
        self.diagnostics.sort_by(|left, right| left.origin.cmp(&right.origin));
    }
}

const fn is_about_values(diagnostic: &Diagnostic) -> bool {
    matches!(diagnostic.code, Code::UnsetVariable | Code::NeedsInput)
}

/// Two imported servers that differ both count, unless somebody switched one of them off. helve's own file always
/// wins: it is where a person corrects what was imported.
fn both_count(winner: &ConfiguredServer, candidate: &ConfiguredServer) -> bool {
    winner.application != candidate.application
        && winner.dialect != Dialect::Helve
        && winner.disabled_by.is_none()
        && candidate.disabled_by.is_none()
        && candidate.spec.is_some()
}

/// True when both would start or reach the same thing.
fn is_same(left: &ConfiguredServer, right: &ConfiguredServer) -> bool {
    let (Some(left), Some(right)) = (&left.spec, &right.spec) else { return false };
    match (&left.transport, &right.transport) {
        (TransportSpec::Stdio(left), TransportSpec::Stdio(right)) => {
            let variables = |spec: &helve_model::StdioSpec| {
                let mut variables = spec.environment.clone();
                variables.shift_remove(variable::CLAUDE_PROJECT_DIR);
                variables
            };
            left.command == right.command && left.arguments == right.arguments && variables(left) == variables(right)
        }
        (TransportSpec::Http(left), TransportSpec::Http(right)) => {
            left.url == right.url && left.headers == right.headers
        }
        (TransportSpec::Builtin(left), TransportSpec::Builtin(right)) => left == right,
        _ => false,
    }
}

fn rename(server: &mut ConfiguredServer, name: ServerName) {
    let old = format!("{}/", server.name);
    for rule in &mut server.rules {
        if let Some(tool) = rule.tool.strip_prefix(&old) {
            rule.tool = format!("{name}/{tool}");
        }
    }
    if let Some(spec) = &mut server.spec {
        spec.name = name.clone();
    }
    server.name = name;
}

fn real_path(path: &Path) -> std::path::PathBuf {
    fs_err::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}
