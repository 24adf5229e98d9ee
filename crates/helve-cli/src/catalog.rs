//! Which tools there are: from what was kept of earlier runs where that is fresh, from the servers where it is not. Only
//! servers that have to be asked are started.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use helve::{Builtins as _, CachedIndex, Planned, SchemaCache};
use helve_config::Configuration;
use helve_config::environment::input_variable;
use helve_model::name::{Spelling, begins_with_server};
use helve_model::{
    CallKind, Definition as _, DisabledReason, ErrorCode, QualifiedName, ServerName, ServerStatus, ToolDefinition,
    TransportSpec,
};
use helve_policy::pin::DefinitionHash;
use helve_policy::{Approvals, RuleSet, Settled, Subject, ToolPolicy};
use helve_setup::store::approvals::ApprovalFile;
use helve_setup::{Builtins, Wanted, asker};
use helve_wire::ClientCapabilities;

use crate::context::Context;
use crate::failure::Failure;
use crate::printer::{Line, Style};
use crate::progress::Meter;
use crate::running::{Manner, late, settled, with_host};

/// How much has to be known about each tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Its name and a line.
    Names,
    /// Its definition.
    Definitions,
}

/// How old a kept list may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// As old as the setting allows: people see at once what there was a while ago, and how long ago that is.
    Recent,
    /// Nor older than its server says: for programs, and the models behind them.
    Fresh,
    /// Every server is asked.
    Asked,
}

/// The tools of some servers, and the rules for them.
pub(crate) struct Catalog {
    pub(crate) rules: RuleSet,
    /// The definitions that the person accepted.
    pub(crate) pins: Pins,
    pub(crate) servers: Vec<ServerTools>,
    /// Servers whose kept list is older than they like, with its age.
    pub(crate) aged: Vec<(ServerName, Duration)>,
}

/// The definition each pinned tool had when the person accepted it.
pub(crate) type Pins = HashMap<QualifiedName, DefinitionHash>;

/// The tools of one server, hidden ones included.
pub(crate) struct ServerTools {
    pub(crate) name: ServerName,
    pub(crate) tools: Tools,
}

pub(crate) enum Tools {
    Kept(CachedIndex),
    Defined(Vec<ToolDefinition>),
    /// There are none to be had, for this reason.
    Missing(Box<Failure>),
}

/// One tool of a list.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    pub(crate) server: &'a ServerName,
    pub(crate) tool: &'a str,
    pub(crate) title: Option<std::borrow::Cow<'a, str>>,
    pub(crate) summary: Option<std::borrow::Cow<'a, str>>,
    /// Its definition is not the one that was pinned: agents do not see it.
    pub(crate) has_changed: bool,
}

/// Lists the tools of these servers; of all, where none is named.
pub(crate) fn list(
    context: &Context,
    configuration: &Configuration,
    only: &[String],
    depth: Depth,
    freshness: Freshness,
) -> Result<Catalog, Failure> {
    context.setup.check_rules_are_known(configuration)?;
    let mut plan = context.setup.plan(configuration)?;
    let pins = plan.pins.take().unwrap_or_default();
    let (rules, problems) = context.setup.compile_for_calls(&plan);
    for problem in problems {
        context.printer.warning(problem.to_string());
    }
    for name in only {
        if !plan.servers.iter().any(|planned| planned.spec.name.as_str() == name) {
            return Err(no_server(context, configuration, name));
        }
    }
    let is_wanted = |planned: &&Planned| only.is_empty() || only.iter().any(|name| name == planned.spec.name.as_str());
    let kept = Kept::open(context, configuration, freshness);
    let mut servers = Vec::new();
    let mut asked = Vec::new();
    let mut aged = Vec::new();
    for planned in plan.servers.iter().filter(is_wanted) {
        // Whether a tool is as it was pinned is told by its definition alone.
        let is_pinned = pins.keys().any(|tool| tool.server == planned.spec.name);
        let depth = if is_pinned { Depth::Definitions } else { depth };
        let tools = match (&planned.held, known(context, planned, kept.as_ref(), depth)) {
            (Some(reason), _) => Tools::Missing(Box::new(held_back(planned, reason))),
            (None, Some((tools, age))) => {
                aged.extend(age.map(|age| (planned.spec.name.clone(), age)));
                tools
            }
            (None, None) => {
                asked.push(planned.spec.name.to_string());
                Tools::Defined(Vec::new())
            }
        };
        servers.push(ServerTools { name: planned.spec.name.clone(), tools });
    }
    if !asked.is_empty() {
        ask(context, configuration, &asked, &mut servers)?;
    }
    Ok(Catalog { rules, pins, servers, aged })
}

/// Says how old the lists are that were shown although their servers would rather be asked again.
pub(crate) fn tell_age(context: &Context, aged: &[(ServerName, Duration)]) {
    let Some(oldest) = aged.iter().map(|(_, age)| *age).max() else { return };
    let names: Vec<String> = aged.iter().map(|(server, _)| format!("`{server}`")).collect();
    let (names, age) = (names.join(", "), in_words(oldest));
    context.printer.say(&Line::styled(Style::Dim, format!("as listed {age} ago: {names} (`--fresh` asks again)")));
}

fn in_words(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

/// The tools whose names are known without asking anybody, as `server/tool`: for completions.
pub(crate) fn known_names(context: &Context, configuration: &Configuration) -> Vec<String> {
    let Ok(plan) = context.setup.plan(configuration) else { return Vec::new() };
    let (rules, _) = context.setup.compile_for_calls(&plan);
    let kept = Kept::open(context, configuration, Freshness::Recent);
    let mut names = Vec::new();
    for planned in plan.servers.iter().filter(|planned| planned.held.is_none()) {
        if let Some((tools, _)) = known(context, planned, kept.as_ref(), Depth::Names) {
            let server = ServerTools { name: planned.spec.name.clone(), tools };
            names.extend(server.entries(&rules, &Pins::new(), false).iter().map(Entry::written));
        }
    }
    names
}

/// The definition of one tool, if nobody has to be asked for it.
pub(crate) fn known_definition(
    context: &Context,
    configuration: &Configuration,
    name: &QualifiedName,
) -> Option<ToolDefinition> {
    let plan = context.setup.plan(configuration).ok()?;
    let planned = plan.servers.iter().find(|planned| planned.spec.name == name.server && planned.held.is_none())?;
    let kept = Kept::open(context, configuration, Freshness::Recent);
    match known(context, planned, kept.as_ref(), Depth::Definitions)?.0 {
        Tools::Defined(definitions) => definitions.into_iter().find(|definition| *definition.name() == name.tool),
        Tools::Kept(_) | Tools::Missing(_) => None,
    }
}

/// What was kept of earlier runs.
struct Kept {
    cache: SchemaCache,
    now: SystemTime,
    ttl: Duration,
    asker: ClientCapabilities,
    freshness: Freshness,
}

impl Kept {
    fn open(context: &Context, configuration: &Configuration, freshness: Freshness) -> Option<Self> {
        if freshness == Freshness::Asked {
            return None;
        }
        let settings = &configuration.settings;
        let directory = context.setup.lists_directory().filter(|_| settings.cache_tool_schemas.value)?;
        let cache = SchemaCache::open(directory, Some(context.env.working_directory().to_owned())).ok()?;
        let (now, ttl) = (context.env.now(), settings.schema_cache_ttl.value);
        Some(Self { cache, now, ttl, asker: asker(settings), freshness })
    }

    /// Whether a list counts: nothing for one that is too old, its age for one that its server would like to be asked for.
    fn counts(&self, is_fresh: bool, stored_at: SystemTime) -> Option<Option<Duration>> {
        if is_fresh {
            return Some(None);
        }
        // A list from the future is from a clock that was set back: nobody knows how old it is.
        let age = self.now.duration_since(stored_at).ok()?;
        (self.freshness == Freshness::Recent && age < self.ttl).then_some(Some(age))
    }
}

/// The tools, if nobody has to be asked for them; with their age where they are older than their server likes.
fn known(context: &Context, planned: &Planned, kept: Option<&Kept>, depth: Depth) -> Option<(Tools, Option<Duration>)> {
    if let TransportSpec::Builtin(builtin) = &planned.spec.transport {
        let builtins = Builtins::new(&context.env);
        let tools = match builtins.open(&planned.spec, builtin) {
            Ok(toolbox) => Tools::Defined(toolbox.definitions()),
            Err(error) => Tools::Missing(Box::new(error.into())),
        };
        return Some((tools, None));
    }
    let kept = kept?;
    let key = kept.cache.key(&planned.spec, &kept.asker);
    match depth {
        Depth::Names => {
            let index = kept.cache.load_index(&key, kept.now, kept.ttl)?;
            let age = kept.counts(index.is_fresh, index.stored_at)?;
            Some((Tools::Kept(index), age))
        }
        Depth::Definitions => {
            let server = kept.cache.load(&key, kept.now, kept.ttl)?;
            let age = kept.counts(server.is_fresh, server.stored_at)?;
            Some((Tools::Defined(server.tools), age))
        }
    }
}

/// Starts the servers whose tools are not known, and takes what they list.
fn ask(
    context: &Context,
    configuration: &Configuration,
    names: &[String],
    servers: &mut [ServerTools],
) -> Result<(), Failure> {
    with_host(context, configuration, Wanted::Only(names), Manner::reporting(), async |host| {
        let what = if names.len() == 1 { names.join("") } else { format!("{} servers", names.len()) };
        Meter::new(context).during(&what, settled(context, host)).await;
        let snapshot = host.snapshot();
        for server in servers.iter_mut().filter(|server| names.iter().any(|name| name == server.name.as_str())) {
            let name = server.name.as_str();
            let report = host.server_status(name);
            let is_late = report.as_ref().and_then(|report| late(context, std::slice::from_ref(report)));
            server.tools = match (report, snapshot.server(name)) {
                (Some(report), Some(entry))
                    if report.status == ServerStatus::Connected && report.list_error.is_none() =>
                {
                    Tools::Defined(entry.all_tools().map(|tool| tool.definition().clone()).collect())
                }
                (Some(report), _) if matches!(report.status, ServerStatus::Pending(_)) && is_late.is_some() => {
                    let message = format!("the server `{name}` is still being connected");
                    Tools::Missing(Box::new(Failure::new(ErrorCode::Timeout, message).at_server(name)))
                }
                // Any call says why there is none.
                _ => match host.tool(&format!("{name}/-"), None).await {
                    Err(error) => Tools::Missing(Box::new(error.into())),
                    Ok(_) => Tools::Defined(Vec::new()),
                },
            };
        }
        Ok(())
    })
}

impl Entry<'_> {
    /// `server/tool`.
    pub(crate) fn written(&self) -> String {
        // Without formatting, which grows a text piece by piece: lists have thousands of them.
        [Spelling::Slash.render_server(self.server).as_str(), "/", self.tool].concat()
    }
}

impl ServerTools {
    /// The tools that no list leaves out, sorted by name; with `hidden`, all of them.
    pub(crate) fn entries(&self, rules: &RuleSet, pins: &Pins, hidden: bool) -> Vec<Entry<'_>> {
        let mut entries: Vec<Entry<'_>> = match &self.tools {
            Tools::Kept(index) => index
                .tools()
                .map(|tool| Entry {
                    server: &self.name,
                    tool: tool.name,
                    title: tool.title.map(Into::into),
                    summary: tool.summary.map(Into::into),
                    has_changed: false,
                })
                .collect(),
            Tools::Defined(definitions) => definitions
                .iter()
                .map(|definition| {
                    let view = definition.view();
                    Entry {
                        server: &self.name,
                        tool: definition.name().as_str(),
                        has_changed: self.has_changed(definition, pins),
                        title: view.title.or(view.annotations.title).map(Into::into),
                        summary: view.description.as_deref().map(one_line).map(Into::into),
                    }
                })
                .collect(),
            Tools::Missing(_) => Vec::new(),
        };
        let is_hidden = rules.hidden_of(&self.name);
        entries.retain(|entry| hidden || !is_hidden(entry.tool));
        entries.sort_by_key(|entry| entry.tool);
        entries
    }

    /// True when a definition is not the one that was pinned.
    pub(crate) fn has_changed(&self, definition: &ToolDefinition, pins: &Pins) -> bool {
        if pins.is_empty() {
            return false;
        }
        let name = QualifiedName::new(self.name.clone(), definition.name().clone());
        pins.get(&name).is_some_and(|pin| *pin != DefinitionHash::of(definition.raw().as_str()))
    }

    /// The definitions, if they are known.
    pub(crate) fn definitions(&self) -> &[ToolDefinition] {
        match &self.tools {
            Tools::Defined(definitions) => definitions,
            Tools::Kept(_) | Tools::Missing(_) => &[],
        }
    }
}

/// One tool, with what decides about its calls.
pub(crate) struct Found {
    pub(crate) rules: RuleSet,
    pub(crate) server: ServerName,
    pub(crate) definition: ToolDefinition,
    pinned: Option<DefinitionHash>,
    approvals: Approvals,
}

impl Found {
    pub(crate) fn policy(&self) -> ToolPolicy {
        self.rules.for_tool(Subject::tool(&self.server, &self.definition))
    }

    /// What the person settled about it beside the rules.
    pub(crate) const fn settled(&self) -> Settled<'_> {
        Settled { pinned: self.pinned, approvals: &self.approvals }
    }
}

/// One tool, found by what a person typed; its server is asked if need be.
pub(crate) fn find(
    context: &Context,
    configuration: &Configuration,
    text: &str,
    freshness: Freshness,
) -> Result<Found, Failure> {
    let found = match find_definition(context, configuration, text, freshness) {
        // It may have come since an older list was kept.
        Err((_, true)) => find_definition(context, configuration, text, Freshness::Asked),
        found => found,
    };
    let (rules, server, definition) = found.map_err(|(failure, _)| failure)?;
    let name = QualifiedName::new(server.clone(), definition.name().clone());
    let pinned = context.setup.plan(configuration)?.pins.and_then(|pins| pins.get(&name).copied());
    let kept = context.stores().and_then(|stores| stores.read::<ApprovalFile>())?;
    let approvals: Approvals = kept.approvals().collect();
    let found = Found { rules, server, definition, pinned, approvals };
    // Pins and approvals hold for one definition, so it has to be the one that a call would meet.
    let is_bound = found.pinned.is_some() || found.approvals.of(&name, CallKind::Tool).next().is_some();
    if freshness == Freshness::Asked || !is_bound {
        return Ok(found);
    }
    match find_definition(context, configuration, &name.to_string(), Freshness::Asked) {
        Ok((_, _, definition)) => Ok(Found { definition, ..found }),
        Err((failure, _)) => {
            let message = failure.message();
            context.printer.warning(format!("this is from an earlier list, which may be out of date: {message}"));
            Ok(found)
        }
    }
}

/// One tool; what went wrong comes with whether a list was looked at that its server would rather be asked for again.
fn find_definition(
    context: &Context,
    configuration: &Configuration,
    text: &str,
    freshness: Freshness,
) -> Result<(RuleSet, ServerName, ToolDefinition), (Failure, bool)> {
    let text = crate::spelling::own_spelling(configuration, text);
    let plan = context.setup.plan(configuration).map_err(|error| (error.into(), false))?;
    let servers = plan.servers.iter().map(|planned| &planned.spec.name);
    let meant: Vec<String> =
        servers.filter(|server| begins_with_server(&text, server)).map(ToString::to_string).collect();
    let catalog =
        list(context, configuration, &meant, Depth::Definitions, freshness).map_err(|failure| (failure, false))?;
    let has_aged = !catalog.aged.is_empty();
    named(catalog, &text, &meant).map_err(|failure| (failure, has_aged))
}

/// The tool of a catalog that a text names, where these servers are meant.
fn named(catalog: Catalog, text: &str, meant: &[String]) -> Result<(RuleSet, ServerName, ToolDefinition), Failure> {
    let names = helve_model::NameTable::new(catalog.servers.iter().flat_map(|server| {
        server.definitions().iter().map(|tool| QualifiedName::new(server.name.clone(), tool.name().clone()))
    }));
    match names.resolve(text) {
        helve_model::name::Resolution::Found(name) => {
            let server = catalog.servers.iter().find(|server| server.name == name.server);
            let found = server.and_then(|server| server.definitions().iter().find(|tool| *tool.name() == name.tool));
            match found {
                Some(tool) => Ok((catalog.rules, name.server.clone(), tool.clone())),
                None => Err(unknown(text, &[])),
            }
        }
        helve_model::name::Resolution::Ambiguous(several) => {
            let several: Vec<String> = several.iter().map(|name| format!("`{name}`")).collect();
            Err(Failure::new(helve_model::ErrorCode::ToolNotFound, format!("several servers have a tool `{text}`"))
                .hint(format!("say which one: {}", several.join(", "))))
        }
        helve_model::name::Resolution::Unknown(near) => {
            // The one server it could be is not there: that is the reason.
            if let ([_], [ServerTools { tools: Tools::Missing(_), .. }]) = (meant, catalog.servers.as_slice())
                && let Some(ServerTools { tools: Tools::Missing(failure), .. }) = catalog.servers.into_iter().next()
            {
                return Err(*failure);
            }
            let near: Vec<String> = near.iter().map(ToString::to_string).collect();
            Err(unknown(text, &near))
        }
    }
}

fn unknown(text: &str, near: &[String]) -> Failure {
    let failure = Failure::new(helve_model::ErrorCode::ToolNotFound, format!("there is no tool `{text}`"));
    if near.is_empty() {
        return failure.hint("`helve tools` lists what there is");
    }
    let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    failure.hint(format!("did you mean {}?", near.join(" or ")))
}

pub(crate) fn held_back(planned: &Planned, reason: &DisabledReason) -> Failure {
    let name = planned.spec.name.as_str();
    let code = match reason {
        DisabledReason::Untrusted => ErrorCode::Untrusted,
        DisabledReason::Configured
        | DisabledReason::Toggled
        | DisabledReason::HostOff
        | DisabledReason::Itself
        | DisabledReason::Nested(_) => ErrorCode::ServerDisabled,
        DisabledReason::Gone => ErrorCode::ServerNotFound,
        DisabledReason::NeedsInput(_)
        | DisabledReason::Invalid
        | DisabledReason::UnsetVariable(_)
        | DisabledReason::Unsupported(_) => ErrorCode::Config,
    };
    let failure = Failure::new(code, format!("the server `{name}` is not started: {reason}")).at_server(name);
    match reason {
        DisabledReason::Untrusted => failure.hint("`helve trust` shows what it would run, and asks"),
        DisabledReason::NeedsInput(id) => {
            failure.hint(format!("run helve at a terminal, where it asks, or set {}", input_variable(id)))
        }
        _ => failure.hint(format!("`helve get {}` shows how it is configured", shell_words::quote(name))),
    }
}

pub(crate) fn no_server(context: &Context, configuration: &Configuration, name: &str) -> Failure {
    match context.server(configuration, name) {
        Err(failure) => failure,
        Ok(_) => Failure::new(ErrorCode::Config, format!("the entry of the server `{name}` cannot be understood"))
            .hint("`helve doctor` says what is wrong with it"),
    }
}

/// The first lines of a text as one, cut where it is too long.
pub(crate) fn one_line(text: &str) -> String {
    const LONGEST: usize = 160;
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() >= LONGEST {
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}
