//! Owns the tool `run_code`: what a model reads about it, and how a call of it becomes a run.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use helve::{BoxFuture, CallError, CallOutcome, Host, Tool, ToolContext, ToolFailure, Toolbox, definition};
use helve_model::json::ObjectWriter;
use helve_model::{ErrorCode, Outcome, ServerName, ToolDefinition};
use helve_policy::Permit;
use serde_json::json;

use crate::report::Report;
use crate::review::{OWN, worker_name};
use crate::runner::{Listener, Runner, Session};

/// A program ends by its own limits; this one is never reached.
const LONGER_THAN_ANY: Duration = Duration::from_secs(7 * 24 * 3600);

/// How many servers the description names.
const SERVERS_NAMED: usize = 50;

/// What a model reads about it, before the servers.
const RULES: &str = "\
Run a Python program that calls tools, and get its value. Use it for several calls, loops, filters and joins: only the value and what is printed come back.
- Tools are functions: device.GithubMCP.create_issue(title=\"…\"). Results are plain values (dict, list, str). `await`, asyncio.gather and threads run calls at once.
- search_skills(\"words\") finds tools: a list of name, signature, description. device.describe(\"device.X.y\") tells more. Look before you guess a name or an argument.
- The value is `return value` at top level, else the last expression, else the variable `result`. Keep it small; large values are shortened.
- A call that fails raises ToolError: str(error), error.code (DENIED, TIMEOUT, TOOL_ERROR, …). Calls already made are not undone.
- Python's standard library without files, network and processes; no other packages. At most 100 calls, 30 s of computing.";

tokio::task_local! {
    /// Where a run leaves its whole report, and finds its session: a tool's result has room for neither.
    static REPORTED: RefCell<Option<Reported>>;
}

#[derive(Default)]
struct Reported {
    session: Option<Session>,
    report: Option<Report>,
}

/// Makes a call of `run_code`, and gives its whole report. The session is given back by what the caller lent it from.
pub(crate) async fn reported(
    session: Option<Session>,
    call: impl Future<Output = Result<CallOutcome, CallError>>,
) -> Result<(Report, Option<Session>), CallError> {
    let cell = RefCell::new(Some(Reported { session, report: None }));
    REPORTED
        .scope(cell, async {
            call.await?;
            let left = REPORTED.with(|cell| cell.borrow_mut().take());
            let lost = || CallError::new(ErrorCode::ProtocolError, "the program left no report");
            let Reported { session, report } = left.ok_or_else(lost)?;
            report.map(|report| (report, session)).ok_or_else(lost)
        })
        .await
}

impl Runner {
    /// The tool `run_code`, for a toolbox of the name [`Runner::TOOLBOX`].
    #[must_use]
    pub fn tool(&self, host: &Host) -> impl Tool + use<> {
        RunCode { runner: self.clone(), servers: servers(host) }
    }

    /// Offers `run_code` beside the host's tools.
    ///
    /// # Errors
    /// `CONFIG` when a configured server has the name [`Runner::TOOLBOX`].
    pub fn offer(&self, host: &Host) -> Result<(), CallError> {
        let name =
            ServerName::new(Self::TOOLBOX).map_err(|problem| CallError::new(ErrorCode::Config, problem.to_string()))?;
        host.put_toolbox(Toolbox::new(name).with(self.tool(host)))
    }

    /// The toolbox that the tool is in: rules know it as `helve/run_code`.
    pub const TOOLBOX: &str = OWN;
}

/// The names of servers, for a description.
fn servers(host: &Host) -> String {
    let snapshot = host.snapshot();
    let all: Vec<_> = snapshot.servers().filter(|server| server.name().as_str() != OWN).collect();
    let mut text = String::new();
    for server in all.iter().take(SERVERS_NAMED) {
        let tools = server.tools().count();
        let separator = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{separator}{}", worker_name(server.name()));
        if tools > 0 {
            let _ = write!(text, " ({tools})");
        }
    }
    if all.len() > SERVERS_NAMED {
        let _ = write!(text, " and {} more", all.len() - SERVERS_NAMED);
    }
    text
}

struct RunCode {
    runner: Runner,
    servers: String,
}

impl Tool for RunCode {
    fn definition(&self) -> ToolDefinition {
        let description = if self.servers.is_empty() {
            RULES.to_owned()
        } else {
            format!("{RULES}\nServers (tools): {}", self.servers)
        };
        let schema = json!({
            "type": "object",
            "properties": {"code": {"type": "string", "description": "The program"}},
            "required": ["code"],
            "additionalProperties": false,
        });
        // Itself it changes nothing: each of its calls is decided when it is made.
        definition("run_code", &description, &schema, &json!({"title": "Run a program", "readOnlyHint": true}))
    }

    fn timeout(&self) -> Option<Duration> {
        Some(LONGER_THAN_ANY)
    }

    fn call<'a>(&'a self, permit: &'a Permit, context: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>> {
        Box::pin(async move {
            let source = permit.arguments().member_str("code").unwrap_or_default();
            let on_print = context.answerer.clone().zip(ServerName::new(OWN).ok()).map(|(answerer, name)| {
                let hear = move |text: &str| {
                    let params = ObjectWriter::new().text("level", "info").text("logger", "helve/run_code");
                    answerer.log(&name, &params.text("data", text.trim_end()).finish());
                };
                Arc::new(hear) as Arc<dyn Fn(&str) + Send + Sync>
            });
            let listener = Listener { on_progress: context.on_progress.clone(), on_print };
            let mut session = REPORTED.try_with(|cell| cell.borrow_mut().as_mut()?.session.take()).ok().flatten();
            let call = context.call();
            let run = self.runner.run_within(&source, &call, &listener, session.as_mut());
            let report = Box::pin(run).await.map_err(|error| ToolFailure::new(error.code(), error.message()))?;
            let outcome = report.to_outcome(self.runner.0.limits.result_bytes);
            let left = Reported { session, report: Some(report) };
            // Nobody may be there to take it.
            drop(REPORTED.try_with(|cell| cell.replace(Some(left))));
            Ok(outcome)
        })
    }
}
