//! Owns what is decided of a program before it runs: all of its problems at once, and what it will need a person's yes for.

use std::collections::BTreeMap;
use std::sync::Arc;

use helve::{CallContext, Foreseen, Host, QualifiedName, Snapshot, ToolEntry};
use helve_model::name::{CODE_PREFIX, PLACED_CODE_PREFIX, Spelling};
use helve_model::text::nearest;
use helve_model::{ErrorCode, Risk, ServerName};

use crate::approver::wants_page;
use crate::binding;
use crate::frame::{Plan, Site};
use crate::modules;

/// The name of the toolbox that programs cannot call.
pub(crate) const OWN: &str = "helve";

/// How many problems are told.
const PROBLEMS_SHOWN: usize = 20;

/// Something in a program that keeps it from running.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The line, from 1.
    pub line: u32,
    /// The kind of problem.
    pub code: ErrorCode,
    /// What it is, and what to do.
    pub message: String,
}

/// A call that can be seen in a program, and what it would meet.
#[derive(Debug)]
#[non_exhaustive]
pub struct PlannedCall {
    /// The line, from 1.
    pub line: u32,
    /// The tool.
    pub tool: QualifiedName,
    /// What it would meet.
    pub foreseen: Foreseen,
    /// How much harm it could do.
    pub risk: Risk,
    /// A rule wants each such call answered on a page.
    pub is_for_page: bool,
    /// It may be made several times, or never.
    pub in_loop: bool,
}

/// What a program would do.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Review {
    /// Why it does not run; empty when it does.
    pub problems: Vec<Problem>,
    /// The calls that can be seen.
    pub calls: Vec<PlannedCall>,
}

impl Review {
    /// The tools that one question up front is about.
    #[must_use]
    pub fn asks(&self) -> Vec<QualifiedName> {
        let asked = |call: &&PlannedCall| {
            matches!(call.foreseen, Foreseen::Asks) && call.risk != Risk::High && !call.is_for_page
        };
        let mut tools: Vec<QualifiedName> = self.calls.iter().filter(asked).map(|call| call.tool.clone()).collect();
        tools.sort();
        tools.dedup();
        tools
    }

    /// The problems in lines, for whoever wrote the program.
    #[must_use]
    pub fn problems_in_lines(&self) -> String {
        let mut lines: Vec<String> = self
            .problems
            .iter()
            .take(PROBLEMS_SHOWN)
            .map(|problem| format!("line {}: {}", problem.line, problem.message))
            .collect();
        if self.problems.len() > PROBLEMS_SHOWN {
            lines.push(format!("and {} more", self.problems.len() - PROBLEMS_SHOWN));
        }
        lines.join("\n")
    }
}

/// The tools as programs spell them. Bound to one snapshot.
pub(crate) struct Devices {
    pub(crate) snapshot: Arc<Snapshot>,
    context: CallContext,
}

impl Devices {
    pub(crate) fn new(snapshot: Arc<Snapshot>, context: &CallContext) -> Self {
        Self { snapshot, context: context.clone() }
    }

    /// The tools that the program sees, with their names.
    pub(crate) fn tools(&self) -> impl Iterator<Item = (String, &Arc<ToolEntry>)> {
        let names = self.snapshot.names();
        self.snapshot
            .tools()
            .filter(|tool| self.sees(tool))
            .filter_map(move |tool| Some((names.spell(tool.name(), Spelling::Code)?, tool)))
    }

    fn sees(&self, tool: &ToolEntry) -> bool {
        let is_denied = || tool.policy().denies(self.context.called_by());
        tool.name().server.as_str() != OWN && self.context.scope.includes(tool.name()) && !is_denied()
    }

    /// The tool of this name, if there is one that programs can call. Those that a rule denies are found, too.
    pub(crate) fn find(&self, server: &str, tool: &str) -> Result<&Arc<ToolEntry>, (ErrorCode, String)> {
        let found = self.snapshot.tool(&spelled(server, tool)).ok().or_else(|| {
            let own = self.server(server)?;
            self.snapshot.tool(&spelled(&worker_name(own), tool)).ok().or_else(|| self.tool_read_alike(own, tool))
        });
        match found {
            Some(found) if found.name().server.as_str() != OWN && self.context.scope.includes(found.name()) => {
                Ok(found)
            }
            _ => Err(self.missing(server, tool)),
        }
    }

    /// A server as programs spell it, or by its own name: `device["brave-search"]`, `devices.hub["brave-search"]`.
    fn server(&self, server: &str) -> Option<&ServerName> {
        let own = match server.strip_prefix(PLACED_CODE_PREFIX) {
            None => self.snapshot.server(server).filter(|own| own.name().place().is_none()),
            Some(placed) => placed.split_once('.').and_then(|(place, name)| {
                let own = self.snapshot.server(&format!("{place}/{name}"));
                own.filter(|own| own.name().place() == Some(place))
            }),
        };
        own.map(|own| own.name()).or_else(|| {
            let mut named =
                self.snapshot.servers().map(|known| known.name()).filter(|known| worker_name(known) == server);
            named.next().filter(|_| named.next().is_none())
        })
    }

    /// A tool by its own name (`device.X["get-sum"]`), or the only one that reads like this: models write `get_sum` for
    /// `get-sum`, whatever the signature says.
    fn tool_read_alike(&self, server: &ServerName, tool: &str) -> Option<&Arc<ToolEntry>> {
        let of_server = || self.snapshot.tools().filter(|known| known.name().server == *server);
        of_server().find(|known| known.name().tool.as_str() == tool).or_else(|| {
            let letters = |name: &str| -> String {
                name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
            };
            let wanted = letters(tool);
            let mut alike = of_server().filter(|known| letters(known.name().tool.as_str()) == wanted);
            alike.next().filter(|_| alike.next().is_none())
        })
    }

    fn missing(&self, server: &str, tool: &str) -> (ErrorCode, String) {
        let names: Vec<String> = self.tools().map(|(name, _)| name).collect();
        let parts: Vec<(&str, &str)> =
            names.iter().filter_map(|name| name.strip_prefix(CODE_PREFIX).unwrap_or(name).rsplit_once('.')).collect();
        let shown = |server: &str| spelled(server, "").trim_end_matches('.').to_owned();
        let mut own: Vec<&str> = parts.iter().filter(|(of, _)| *of == server).map(|(_, tool)| *tool).collect();
        if own.is_empty() {
            let mut servers: Vec<&str> = parts.iter().map(|(server, _)| *server).collect();
            servers.dedup();
            let wanted = if server.ends_with("MCP") { server.to_owned() } else { format!("{server}MCP") };
            let meant = servers.iter().find(|known| known.eq_ignore_ascii_case(&wanted)).copied();
            let message = match meant.or_else(|| nearest(&wanted, servers.iter().copied())) {
                Some(near) => format!("there is no server `{}`: did you mean `{}`?", shown(server), shown(near)),
                None => format!("there is no server `{}`: search_skills(\"…\") finds tools", shown(server)),
            };
            return (ErrorCode::ServerNotFound, message);
        }
        own.sort_unstable();
        let message = match nearest(tool, own.iter().copied()) {
            Some(near) => format!("`{}` has no tool `{tool}`: did you mean `{near}`?", shown(server)),
            None => {
                own.truncate(8);
                format!("`{}` has no tool `{tool}`: it has {}", shown(server), own.join(", "))
            }
        };
        (ErrorCode::ToolNotFound, message)
    }
}

/// A tool as programs spell it, its server as the worker names it: `GithubMCP`, or `devices.hub.GithubMCP` of a hub.
pub(crate) fn spelled(server: &str, tool: &str) -> String {
    if server.starts_with(PLACED_CODE_PREFIX) {
        format!("{server}.{tool}")
    } else {
        format!("{CODE_PREFIX}{server}.{tool}")
    }
}

/// A server as the worker names it.
pub(crate) fn worker_name(server: &ServerName) -> String {
    let place = if server.place().is_some() { PLACED_CODE_PREFIX } else { "" };
    format!("{place}{}", Spelling::Code.render_server(server))
}

/// Looks at a plan.
pub(crate) fn review(host: &Host, devices: &Devices, plan: &Plan, there: &[String], context: &CallContext) -> Review {
    let mut review = Review::default();
    let mut put = |line: u32, code: ErrorCode, message: String| {
        let problem = Problem { line, code, message };
        if !review.problems.contains(&problem) {
            review.problems.push(problem);
        }
    };
    for (line, module, names) in &plan.imports {
        if !modules::may_import(module, names, there) {
            let shown = helve_model::text::cut(module, 60);
            put(
                *line,
                ErrorCode::InvalidParams,
                format!("`import {shown}` is not possible: {}", modules::advice(module)),
            );
        }
    }
    for (line, kind, name) in &plan.problems {
        let name = helve_model::text::cut(name, 60);
        put(
            *line,
            ErrorCode::InvalidParams,
            match kind.as_str() {
                "size" => format!("the program is too large ({name})"),
                "name" => format!("`{name}` is not available to programs"),
                _ => format!("the attribute `{name}` is not available to programs"),
            },
        );
    }
    let mut known: BTreeMap<(&str, &str), Arc<helve_render::Parameters>> = BTreeMap::new();
    for Site(line, _, server, tool, positional, names, is_open, in_loop) in &plan.calls {
        let entry = match devices.find(server, tool) {
            Ok(entry) => entry,
            Err((code, message)) => {
                put(*line, code, message);
                continue;
            }
        };
        let foreseen = host.prepare(Arc::clone(entry)).foresee(context);
        let spelled = spelled(server, tool);
        if let Foreseen::Denied(error) = &foreseen {
            let told = error.to_agent();
            put(*line, error.code(), told.message().to_owned());
        } else if let Ok(positional) = usize::try_from(*positional) {
            let parameters = known
                .entry((server.as_str(), tool.as_str()))
                .or_insert_with(|| Arc::new(helve_render::parameters(entry.input_schema())));
            for misfit in binding::misfits(parameters, positional, names, *is_open) {
                put(*line, ErrorCode::InvalidParams, format!("{spelled}: {misfit}"));
            }
        }
        let (tool, risk) = (entry.name().clone(), entry.policy().risk());
        let ground = entry.policy().foresee(context.called_by()).map(|(_, ground)| ground);
        let is_for_page = ground.is_some_and(|ground| wants_page(&ground.decider));
        review.calls.push(PlannedCall { line: *line, tool, foreseen, risk, is_for_page, in_loop: *in_loop });
    }
    review.problems.sort_by_key(|problem| problem.line);
    review
}
