//! Rules as written become rules that match: every spelling split, every glob compiled, every server known.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use helve_model::method;
use helve_model::name::Spelling;
use helve_model::{Action, CallKind, Layer, QualifiedName, Risk, Rule, ServerName};

use crate::Problem;
use crate::access::{Server, ServerAccess, Trust};
use crate::arguments::Condition;
use crate::glob::{Bits, GlobId, Globs, GlobsBuilder, UnreadableGlob, has_wildcard};
use crate::glob_spellings;
use crate::party;
use crate::pattern::{NameGlobs, Named, View, Whose, placed, split};
use crate::place::Directories;
use crate::place_spellings::{self, HasParent, has_parent_component};

/// The rules and lists in force, compiled. Cloning shares them.
///
/// # Precedence
/// 1. The server must be known, switched on and trusted; a tool must not be on `disabled_tools`, and must be on
///    `tools` or `write_tools` where the server has a `tools` list.
/// 2. A rule of the person's own layer that says `deny` is final: no other layer lifts it.
/// 3. Rules: higher layers first, within a layer the first that matches. `allow` rules of an untrusted project do not
///    count; its `deny` and `ask` rules make a decision of the layers from the project down stricter, never milder.
///    A rule with `who` is asked only for calls of those it names. One that names what a client calls itself is asked
///    last, and can only make the decision stricter.
/// 4. `write_tools` allows. So does `tools`, where the server is not read-only or the tool is not annotated as writing;
///    so does a read-only annotation under `trust_annotations`.
/// 5. Otherwise: ask. A person who typed the call at a terminal has answered that.
#[derive(Debug, Clone)]
pub struct RuleSet {
    pub(crate) inner: Arc<Inner>,
    /// What nobody speaks of is denied instead of asked for.
    pub(crate) denies_unlisted: bool,
}

/// A rule together with the trust it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedRule {
    /// The rule as written.
    pub rule: Rule,
    /// Whether the person stands behind it.
    pub trust: Trust,
}

/// In which order rules are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    CommandLine,
    Explicit,
    Untrusted,
    Project,
    User,
    Defaults,
}

#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) allow_all: bool,
    /// Sorted by stage; within a stage as written.
    pub(crate) rules: Vec<CompiledRule>,
    pub(crate) argument_globs: Globs,
    /// Over parties, for `who`.
    pub(crate) party_globs: Globs,
    /// Boxed: a table keeps room for some, and most often there is one.
    pub(crate) servers: HashMap<ServerName, Box<KnownServer>>,
    /// By [`View`].
    tool_globs: [Globs; 4],
}

#[derive(Debug)]
pub(crate) struct CompiledRule {
    pub(crate) source: Arc<SourcedRule>,
    pub(crate) stage: Stage,
    pub(crate) condition: Option<Condition>,
    /// Whom it is for; `None`: everybody.
    pub(crate) who: Option<GlobId>,
    /// It asks what a client calls itself, and can only make a decision stricter.
    pub(crate) only_narrows: bool,
}

#[derive(Debug)]
pub(crate) struct KnownServer {
    pub(crate) server: Server,
    /// Where it runs: shared with the policies of its tools.
    pub(crate) directories: Arc<Directories>,
    /// What rules say about this server's tools, in the order of the rules.
    targets: Vec<Target>,
}

#[derive(Debug, Clone, Copy)]
struct Target {
    rule: usize,
    view: View,
    tool: GlobId,
    /// What the direct spelling of a URI must match besides, so as to be allowed.
    direct: GlobId,
    /// The glob has a `..` of its own.
    spells_parent: bool,
}

/// One way to read one rule's text.
#[derive(Debug)]
struct Reading {
    rule: usize,
    server_view: View,
    server: GlobId,
    /// The server's part as written, when it means only itself.
    server_literal: Option<String>,
    view: View,
    tool: GlobId,
    direct: GlobId,
    whose: Whose,
    /// For messages.
    tool_text: String,
}

impl RuleSet {
    /// Everything may run: for callers that decided elsewhere, and for tests.
    #[must_use]
    pub fn allow_all() -> Self {
        Self { inner: Arc::new(Inner { allow_all: true, ..Inner::default() }), denies_unlisted: false }
    }

    /// Compiles rules, in the order they were written within each layer, and the entries of all servers there are.
    ///
    /// Several entries may have the same name: one per layer. A server without any entry is refused.
    #[must_use]
    pub fn compile(
        rules: impl IntoIterator<Item = SourcedRule>,
        servers: impl IntoIterator<Item = ServerAccess>,
    ) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let servers = compile_servers(servers, &mut problems);

        let mut rules: Vec<(Stage, Arc<SourcedRule>)> =
            rules.into_iter().map(|source| (Stage::of(&source), Arc::new(source))).collect();
        rules.sort_by_key(|(stage, _)| *stage);

        problems.extend(
            rules
                .iter()
                .filter(|(_, source)| names_the_protocol(&source.rule))
                .map(|(_, source)| Problem::protocol_method(&source.rule)),
        );
        let (conditions, argument_globs) = compile_conditions(&rules, &mut problems);
        let (parties, party_globs) = compile_parties(&rules, &mut problems);
        let (targets, tool_globs) = compile_names(&rules, &servers, &mut problems);
        let rules = rules
            .into_iter()
            .zip(conditions.into_iter().zip(parties))
            .map(|((stage, source), (condition, who))| {
                let only_narrows = party::names_an_agent(&source.rule);
                CompiledRule { source, stage, condition, who, only_narrows }
            })
            .collect();
        let servers = servers
            .into_iter()
            .zip(targets)
            .map(|((name, server), targets)| {
                let directories = Arc::new(server.entry.directories.clone());
                (name, Box::new(KnownServer { server, directories, targets }))
            })
            .collect();
        let inner = Arc::new(Inner { allow_all: false, rules, argument_globs, party_globs, servers, tool_globs });
        (Self { inner, denies_unlisted: false }, problems)
    }

    /// True when some rule is for some callers only.
    #[must_use]
    pub fn differ_by_caller(&self) -> bool {
        !self.inner.party_globs.is_empty()
    }

    /// The same, where tools that no rule and no list mentions are denied instead of asked for.
    #[must_use]
    pub const fn denying_unlisted(mut self, denies: bool) -> Self {
        self.denies_unlisted = denies;
        self
    }
}

impl Stage {
    fn of(source: &SourcedRule) -> Self {
        match (source.trust, source.rule.layer) {
            (Trust::Untrusted, _) => Self::Untrusted,
            (Trust::Trusted, Layer::CommandLine) => Self::CommandLine,
            (Trust::Trusted, Layer::Explicit) => Self::Explicit,
            (Trust::Trusted, Layer::Project) => Self::Project,
            (Trust::Trusted, Layer::User) => Self::User,
            (Trust::Trusted, Layer::Defaults) => Self::Defaults,
        }
    }
}

impl CompiledRule {
    pub(crate) fn action(&self) -> Action {
        self.source.rule.action
    }

    /// An untrusted project cannot allow, nor any project by name, nor anybody by what a client calls itself.
    pub(crate) fn counts(&self) -> bool {
        self.action() != Action::Allow
            || (self.stage != Stage::Untrusted && !self.only_narrows && !self.allows_for_a_project())
    }

    pub(crate) fn allows_for_a_project(&self) -> bool {
        allows_for_a_project(&self.source.rule)
    }

    pub(crate) fn is_for_kind(&self, kind: CallKind) -> bool {
        self.source.rule.kind.unwrap_or(CallKind::Tool) == kind
    }

    pub(crate) fn is_for_risk(&self, risk: Risk) -> bool {
        self.source.rule.risk.is_none_or(|bound| match self.action() {
            Action::Allow => risk <= bound,
            Action::Deny | Action::Ask => risk >= bound,
        })
    }
}

impl Inner {
    /// The rules whose text names this tool, resource or prompt, in order.
    pub(crate) fn naming(&self, server: &KnownServer, name: &QualifiedName, kind: CallKind) -> Vec<usize> {
        let matched = View::ALL.map(|view| {
            let globs = &self.tool_globs[view as usize];
            let mut matched = NameMatches::default();
            if !globs.is_empty() {
                for text in texts_of(view, name) {
                    globs.matches(&text, &mut matched.exactly);
                }
                if kind == CallKind::Resource && view == View::Identity {
                    matched.read_uri(name.tool.as_str(), globs, &server.directories);
                }
            }
            matched
        });
        let mut named: Vec<usize> = Vec::new();
        for target in &server.targets {
            let globs = &self.tool_globs[target.view as usize];
            let holds = matched[target.view as usize].hold(globs, target, self.rules[target.rule].action());
            if holds && named.last() != Some(&target.rule) {
                named.push(target.rule);
            }
        }
        named
    }
}

/// Which globs of one view match a name.
#[derive(Debug, Default)]
struct NameMatches {
    /// As it is written.
    exactly: Bits,
    /// Only of URIs.
    uri: Option<UriMatches>,
}

#[derive(Debug, Default)]
struct UriMatches {
    /// In some spelling.
    somehow: Bits,
    /// As it is written, and in its direct spelling.
    directly: Bits,
    has_parent: bool,
    /// No glob can vouch for it.
    dubious: bool,
}

impl NameMatches {
    fn read_uri(&mut self, uri: &str, globs: &Globs, directories: &Directories) {
        let mut read = UriMatches { directly: self.exactly.clone(), ..UriMatches::default() };
        place_spellings::restricting(uri, directories, || true, &mut |text| globs.matches(text, &mut read.somehow));
        let parent = place_spellings::allowing(uri, &mut |text| {
            let mut matched = Bits::default();
            globs.matches(text, &mut matched);
            read.directly.intersect(&matched);
        });
        match parent {
            Some(HasParent(has_parent)) => read.has_parent = has_parent,
            None => read.dubious = true,
        }
        self.uri = Some(read);
    }

    fn hold(&self, globs: &Globs, target: &Target, action: Action) -> bool {
        match (&self.uri, action) {
            (None, _) => globs.holds(target.tool, &self.exactly, action),
            (Some(uri), Action::Deny | Action::Ask) => {
                globs.holds(target.tool, &uri.somehow, action) || globs.holds(target.tool, &self.exactly, action)
            }
            (Some(uri), Action::Allow) => {
                globs.holds(target.tool, &self.exactly, action)
                    && globs.holds(target.direct, &uri.directly, action)
                    && (target.spells_parent || !uri.has_parent)
                    && !uri.dubious
            }
        }
    }
}

/// What the tool globs of a view are matched against.
pub(crate) fn texts_of(view: View, name: &QualifiedName) -> Vec<String> {
    match view {
        View::Identity => vec![name.tool.as_str().to_owned()],
        View::Provider => vec![Spelling::Provider.render_tool(&name.tool)],
        View::Code => vec![Spelling::Code.render_tool(&name.tool)],
        View::Whole => Spelling::ALL
            .into_iter()
            .map(|spelling| spelling.render(name))
            .chain([Spelling::Provider.render_hashed(name), Spelling::Code.render_hashed(name)])
            .collect(),
    }
}

fn compile_servers(
    entries: impl IntoIterator<Item = ServerAccess>,
    problems: &mut Vec<Problem>,
) -> Vec<(ServerName, Server)> {
    let mut by_name: BTreeMap<ServerName, Vec<ServerAccess>> = BTreeMap::new();
    for entry in entries {
        by_name.entry(entry.name.clone()).or_default().push(entry);
    }
    by_name.into_iter().filter_map(|(name, entries)| Some((name, Server::new(&entries, problems)?))).collect()
}

fn compile_conditions(
    rules: &[(Stage, Arc<SourcedRule>)],
    problems: &mut Vec<Problem>,
) -> (Vec<Option<Condition>>, Globs) {
    let mut builder = GlobsBuilder::default();
    let conditions: Vec<Option<Condition>> = rules
        .iter()
        .map(|(_, source)| Some(Condition::compile(source.rule.pattern.as_deref()?, source.rule.action, &mut builder)))
        .collect();
    let (globs, unreadable) = builder.build();
    for ((_, source), condition) in rules.iter().zip(&conditions) {
        let glob = condition.as_ref().map(|condition| condition.glob);
        if let Some(broken) = unreadable.iter().find(|broken| Some(broken.id) == glob) {
            problems.push(Problem::unreadable_pattern(&source.rule, &broken.reason));
        }
    }
    (conditions, globs)
}

/// Which tokens there are is not a project's to know.
fn allows_for_a_project(rule: &Rule) -> bool {
    rule.action == Action::Allow && rule.layer == Layer::Project && !rule.who.is_empty()
}

fn compile_parties(rules: &[(Stage, Arc<SourcedRule>)], problems: &mut Vec<Problem>) -> (Vec<Option<GlobId>>, Globs) {
    let mut builder = GlobsBuilder::default();
    let parties: Vec<Option<GlobId>> = rules.iter().map(|(_, source)| party::add(&mut builder, &source.rule)).collect();
    let (globs, unreadable) = builder.build();
    for ((_, source), who) in rules.iter().zip(&parties) {
        let rule = &source.rule;
        if let Some(broken) = who.and_then(|who| find(&unreadable, who)) {
            problems.push(Problem::unreadable_who(rule, &broken.reason));
        } else if allows_for_a_project(rule) {
            problems.push(Problem::project_allows_somebody(rule));
        } else if rule.action == Action::Allow && party::names_an_agent(rule) {
            problems.push(Problem::allows_an_agent(rule));
        }
    }
    (parties, globs)
}

/// For every server, which rules speak of it and of which of its tools.
fn compile_names(
    rules: &[(Stage, Arc<SourcedRule>)],
    servers: &[(ServerName, Server)],
    problems: &mut Vec<Problem>,
) -> (Vec<Vec<Target>>, [Globs; 4]) {
    let mut server_builders: [GlobsBuilder; 4] = Default::default();
    let mut tool_builders: [GlobsBuilder; 4] = Default::default();
    let mut readings: Vec<Reading> = Vec::new();
    let has_places = servers.iter().any(|(name, _)| name.place().is_some());
    for (index, (_, source)) in rules.iter().enumerate() {
        for (server_view, globs) in read_name(&source.rule, has_places, problems) {
            let builder = &mut tool_builders[globs.view as usize];
            // Of a tool's name there is one spelling; of a URI there are many.
            let (tool, direct) = match (source.rule.kind, source.rule.action) {
                (Some(CallKind::Resource), Action::Allow) => {
                    (builder.add(&globs.tool), builder.add_any(&glob_spellings::allowing(&globs.tool)))
                }
                (Some(CallKind::Resource), Action::Deny | Action::Ask) => {
                    let any = builder.add_any(&glob_spellings::restricting(&globs.tool));
                    (any, any)
                }
                _ => {
                    let tool = builder.add(&globs.tool);
                    (tool, tool)
                }
            };
            readings.push(Reading {
                rule: index,
                server_view,
                server: server_builders[server_view as usize].add(&globs.server),
                server_literal: (!has_wildcard(&globs.server)).then(|| globs.server.to_string()),
                view: globs.view,
                tool,
                direct,
                whose: globs.whose,
                tool_text: globs.tool.into_owned(),
            });
        }
    }
    let server_globs = server_builders.map(GlobsBuilder::build);
    let tool_globs = tool_builders.map(GlobsBuilder::build);
    for reading in &readings {
        let (unreadable_servers, unreadable_tools) =
            (&server_globs[reading.server_view as usize].1, &tool_globs[reading.view as usize].1);
        let broken = find(unreadable_servers, reading.server).or_else(|| find(unreadable_tools, reading.tool));
        if let Some(broken) = broken {
            let problem = Problem::unreadable_name(&rules[reading.rule].1.rule, &broken.reason);
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }

    // Which readings speak of which server.
    let matched: Vec<_> = servers
        .iter()
        .map(|(name, _)| {
            View::ALL.map(|view| {
                let globs = &server_globs[view as usize].0;
                let mut matched = Bits::default();
                globs.matches(&server_text(view, name), &mut matched);
                matched
            })
        })
        .collect();
    let mut targets: Vec<Vec<Target>> = servers.iter().map(|_| Vec::new()).collect();
    for group in readings.chunk_by(|left, right| left.rule == right.rule) {
        let mut meant: Vec<(&Reading, usize)> = Vec::new();
        for reading in group {
            let action = rules[reading.rule].1.rule.action;
            let globs = &server_globs[reading.server_view as usize].0;
            meant.extend(
                (0..servers.len())
                    .filter(|server| reading.whose.includes(&servers[*server].0))
                    .filter(|server| {
                        globs.holds(reading.server, &matched[*server][reading.server_view as usize], action)
                    })
                    .map(|server| (reading, server)),
            );
        }
        for (reading, server) in settle(rules, servers, meant, problems) {
            targets[server].push(Target {
                rule: reading.rule,
                view: reading.view,
                tool: reading.tool,
                direct: reading.direct,
                spells_parent: has_parent_component(&reading.tool_text),
            });
        }
    }
    (targets, tool_globs.map(|(globs, _)| globs))
}

/// Is this a rule for a method of the protocol's own? Those are decided as what they are about.
fn names_the_protocol(rule: &Rule) -> bool {
    let Named::Tools(globs) = split(&rule.tool) else { return false };
    let is_one = |globs: &NameGlobs<'_>| !has_wildcard(&globs.tool) && method::is_reserved(&globs.tool);
    rule.kind == Some(CallKind::Method) && globs.iter().any(is_one)
}

fn find(unreadable: &[UnreadableGlob], id: GlobId) -> Option<&UnreadableGlob> {
    unreadable.iter().find(|glob| glob.id == id)
}

pub(crate) fn server_text(view: View, server: &ServerName) -> String {
    match view {
        View::Identity | View::Whole => server.as_str().to_owned(),
        View::Provider => Spelling::Provider.render_server(server),
        View::Code => Spelling::Code.render_server(server),
    }
}

/// Every way to read a rule's text, each with the view its server glob is written in.
///
/// A rule that restricts is read in every way it can be. A rule that allows is read as what it says, or not at all.
fn read_name<'rule>(rule: &'rule Rule, has_places: bool, problems: &mut Vec<Problem>) -> Vec<(View, NameGlobs<'rule>)> {
    let everywhere = |view, tool: &'rule str| {
        (View::Identity, NameGlobs { view, server: "*".into(), tool: tool.into(), whose: Whose::Anybody })
    };
    let restricts = rule.action != Action::Allow;
    match split(&rule.tool) {
        Named::Tools(globs) => {
            let spelled = globs.iter().any(|globs| globs.view != View::Identity);
            let mut readings: Vec<_> = globs.into_iter().map(|globs| (globs.view, globs)).collect();
            // The name as a model sees it may be shortened, and may be cut at another `__`.
            if restricts && spelled && !has_wildcard(&rule.tool) {
                readings.push(everywhere(View::Whole, &rule.tool));
            }
            if has_places {
                readings.extend(placed(&rule.tool).into_iter().map(|globs| (globs.view, globs)));
            }
            readings
        }
        Named::Bare if restricts => {
            vec![everywhere(View::Identity, &rule.tool), everywhere(View::Whole, &rule.tool)]
        }
        Named::Bare => {
            problems.push(Problem::bare_name(rule));
            Vec::new()
        }
        Named::Unsplittable => {
            problems.push(Problem::unsplittable_name(rule));
            if restricts { vec![everywhere(View::Identity, "*")] } else { Vec::new() }
        }
    }
}

/// Of the (reading, server) pairs of one rule, those that count.
///
/// `mcp__a__b__c` may be tool `b__c` of server `a` or tool `c` of server `a__b`, and `mcp__web_search__x` may belong to
/// `web search`. A rule that restricts means all of them. A rule that allows means the one that exists; of several
/// servers the one that is spelled exactly so; else none, and the person is told.
fn settle<'readings>(
    rules: &[(Stage, Arc<SourcedRule>)],
    servers: &[(ServerName, Server)],
    meant: Vec<(&'readings Reading, usize)>,
    problems: &mut Vec<Problem>,
) -> Vec<(&'readings Reading, usize)> {
    let Some((first, _)) = meant.first() else { return meant };
    let rule = &rules[first.rule].1.rule;
    if rule.action != Action::Allow || first.server_view == View::Identity {
        return meant;
    }
    let one_reading = meant.iter().all(|(reading, _)| reading.tool == first.tool && reading.server == first.server);
    let Some(literal) = &first.server_literal else {
        return if one_reading { meant } else { ambiguous(rule, servers, &meant, problems) };
    };
    if meant.len() == 1 {
        return meant;
    }
    let exact: Vec<_> = meant
        .iter()
        .copied()
        .filter(|(_, server)| first.server_view == View::Provider && servers[*server].0.as_str() == literal.as_str())
        .collect();
    if one_reading && exact.len() == 1 { exact } else { ambiguous(rule, servers, &meant, problems) }
}

fn ambiguous<'readings>(
    rule: &Rule,
    servers: &[(ServerName, Server)],
    meant: &[(&'readings Reading, usize)],
    problems: &mut Vec<Problem>,
) -> Vec<(&'readings Reading, usize)> {
    let meanings: Vec<String> = meant
        .iter()
        .map(|(reading, server)| {
            format!("{}/{}", Spelling::Slash.render_server(&servers[*server].0), reading.tool_text)
        })
        .collect();
    problems.push(Problem::ambiguous_name(rule, &meanings));
    Vec::new()
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
