//! Which tools there are: from what was kept of earlier runs where that is fresh, from the servers where it is not. Only
//! servers that have to be asked are started.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use helve::{CachedIndex, Host, Planned, ToolEntry};
use helve_config::environment::input_variable;
use helve_config::{Configuration, ConfiguredServer};
use helve_model::name::{Spelling, begins_with_server};
use helve_model::{
    CallKind, Definition as _, DisabledReason, ErrorCode, QualifiedName, ServerName, ServerStatus, ToolDefinition,
};
use helve_policy::pin::DefinitionHash;
use helve_policy::{Approvals, RuleSet, Settled};
use helve_setup::store::approvals::ApprovalFile;
use helve_setup::{Depth, Freshness, KeptLists, KnownTools, Wanted};

use crate::context::Context;
use crate::failure::Failure;
use crate::printer::{Line, Style};
use crate::progress::Meter;
use crate::running::{Manner, late, settled, with_host};

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
    let kept = KeptLists::open(&context.setup, configuration, freshness);
    let mut servers = Vec::new();
    let mut asked = Vec::new();
    let mut aged = Vec::new();
    for planned in plan.servers.iter().filter(is_wanted) {
        // Whether a tool is as it was pinned is told by its definition alone.
        let is_pinned = pins.keys().any(|tool| tool.server == planned.spec.name);
        let depth = if is_pinned { Depth::Definitions } else { depth };
        let tools = match (&planned.held, kept.of(planned, depth)) {
            (Some(reason), _) => Tools::Missing(Box::new(held_back(planned, reason))),
            (None, Err(error)) => Tools::Missing(Box::new(error.into())),
            (None, Ok(Some((tools, age)))) => {
                aged.extend(age.map(|age| (planned.spec.name.clone(), age)));
                tools.into()
            }
            (None, Ok(None)) => {
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
    let kept = KeptLists::open(&context.setup, configuration, Freshness::Recent);
    let mut names = Vec::new();
    for planned in plan.servers.iter().filter(|planned| planned.held.is_none()) {
        if let Ok(Some((tools, _))) = kept.of(planned, Depth::Names) {
            let server = ServerTools { name: planned.spec.name.clone(), tools: tools.into() };
            names.extend(server.entries(&rules, &Pins::new(), false).iter().map(Entry::written));
        }
    }
    names
}

/// The same, as they are.
pub(crate) fn known_identities(context: &Context, configuration: &Configuration) -> Vec<QualifiedName> {
    let Ok(plan) = context.setup.plan(configuration) else { return Vec::new() };
    let kept = KeptLists::open(&context.setup, configuration, Freshness::Recent);
    let mut names = Vec::new();
    for planned in plan.servers.iter().filter(|planned| planned.held.is_none()) {
        if let Ok(Some((KnownTools::Definitions(definitions), _))) = kept.of(planned, Depth::Definitions) {
            let server = &planned.spec.name;
            names.extend(
                definitions.iter().map(|definition| QualifiedName::new(server.clone(), definition.name().clone())),
            );
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
    let kept = KeptLists::open(&context.setup, configuration, Freshness::Recent);
    match kept.of(planned, Depth::Definitions).ok()??.0 {
        KnownTools::Definitions(definitions) => {
            definitions.into_iter().find(|definition| *definition.name() == name.tool)
        }
        KnownTools::Index(_) => None,
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
                (_, entry) => match entry.and_then(|entry| entry.unavailable()) {
                    Some(error) => Tools::Missing(Box::new(error.into())),
                    None => Tools::Defined(Vec::new()),
                },
            };
        }
        Ok(())
    })
}

impl From<KnownTools> for Tools {
    fn from(known: KnownTools) -> Self {
        match known {
            KnownTools::Index(index) => Self::Kept(index),
            KnownTools::Definitions(definitions) => Self::Defined(definitions),
        }
    }
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
    pub(crate) tool: Arc<ToolEntry>,
    approvals: Approvals,
}

impl Found {
    /// What the person settled about it beside the rules.
    pub(crate) fn settled(&self) -> Settled<'_> {
        Settled { pinned: self.tool.pinned(), approvals: &self.approvals }
    }
}

/// One tool, found by what a person typed as a call finds it; its server is started only where that is needed to say what
/// the tool is.
pub(crate) fn find(
    context: &Context,
    configuration: &Configuration,
    text: &str,
    freshness: Freshness,
) -> Result<Found, Failure> {
    let text = crate::spelling::own_spelling(configuration, text);
    check_understood(context, configuration, &text)?;
    let kept = context.stores().and_then(|stores| stores.read::<ApprovalFile>())?;
    let approvals: Approvals = kept.approvals().collect();
    let manner = Manner { shows_aged_lists: freshness == Freshness::Recent, ..Manner::default() };
    let tool = with_host(context, configuration, Wanted::OnDemand, manner, async |host| {
        // What earlier runs know is read before anything is looked up in it.
        host.recalled().await;
        let known = host.resolve(&text).ok().filter(|_| freshness != Freshness::Asked);
        // Pins and approvals hold for one definition, so it has to be the one that a call would meet.
        let is_bound = |tool: &ToolEntry| {
            tool.is_from_cache()
                && (tool.pinned().is_some() || approvals.of(tool.name(), CallKind::Tool).next().is_some())
        };
        match known {
            Some(tool) if !is_bound(&tool) => Ok(tool),
            Some(tool) => Ok(connected(context, host, &text).await.unwrap_or_else(|failure| {
                let message = failure.message();
                context.printer.warning(format!("this is from an earlier list, which may be out of date: {message}"));
                tool
            })),
            None => connected(context, host, &text).await,
        }
    })?;
    Ok(Found { tool, approvals })
}

/// The tool as its server lists it now: starts the server.
async fn connected(context: &Context, host: &Host, text: &str) -> Result<Arc<ToolEntry>, Failure> {
    let limited = context.call().with(|call| call.timeout = context.options.timeout);
    let connecting = Box::pin(host.connect(text, &limited));
    let prepared = Meter::new(context).during(text, connecting).await?;
    Ok(host.resolve(&prepared.tool().name().to_string())?)
}

/// A server whose entry has a mistake is not an unknown one.
pub(crate) fn check_understood(context: &Context, configuration: &Configuration, tool: &str) -> Result<(), Failure> {
    let is_meant = |server: &&ConfiguredServer| server.spec.is_none() && begins_with_server(tool, &server.name);
    match configuration.servers.iter().find(is_meant) {
        Some(server) => Err(no_server(context, configuration, server.name.as_str()).at_server(server.name.as_str())),
        None => Ok(()),
    }
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
