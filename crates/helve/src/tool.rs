//! Tools written in Rust: what one is, and how a set of them stands beside the MCP servers.
//!
//! A native tool takes the same way as every other: its `call` wants a [`Permit`], and only a decision makes one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use helve_model::json::{ObjectWriter, RawJson};
use helve_model::{
    AccessSpec, BuiltinSpec, Definition as _, ErrorCode, Layer, Origin, Outcome, Principal, ServerName, ServerSpec,
    ToolDefinition, TransportSpec,
};
use helve_policy::{ArgumentPlace, CalledBy, Caller, Permit, Scope, ServerAccess, Trust};
use helve_wire::{BoxFuture, ProgressCallback};
use indexmap::IndexMap;
use serde_json::Value;

use crate::answerer::Answerer;
use crate::ask::{Approver, RefusalListener, RunApprovals};
use crate::call::CallContext;
use crate::record::{CallSource, Door};

/// A tool that runs in this process.
pub trait Tool: Send + Sync {
    /// What the tool is: name, description, schemas, annotations. Asked once, when it is put into a toolbox.
    fn definition(&self) -> ToolDefinition;

    /// The places that a call with these arguments is about, for rules that speak of places: links resolved, in all
    /// their spellings. Asked before the decision, and only where that depends on it. A tool that names places opens
    /// those of its permit ([`Permit::places`]), whatever became of the names since.
    ///
    /// Must not change anything: nothing has been decided yet.
    fn places<'a>(&'a self, arguments: &'a RawJson) -> BoxFuture<'a, Vec<ArgumentPlace>> {
        let _: &RawJson = arguments;
        Box::pin(std::future::ready(Vec::new()))
    }

    /// How long a call may take, where the tool ends by limits of its own; `None`: as the host says.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// Does it. The arguments, which fit the schema, are the permit's.
    ///
    /// Cancel safe or not is the tool's business: the future is dropped when the caller gives up.
    fn call<'a>(&'a self, permit: &'a Permit, context: &'a ToolContext) -> BoxFuture<'a, Result<Outcome, ToolFailure>>;
}

/// What a native tool may know about the call it serves.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolContext {
    /// The caller.
    pub caller: Caller,
    /// On whose behalf.
    pub principal: Principal,
    /// What the caller may see and call at most: what the tool calls in turn is within it.
    pub scope: Scope,
    /// Where the call comes from. What the tool calls in turn has this call for its parent.
    pub source: CallSource,
    /// Hears how far it has come.
    pub on_progress: Option<ProgressCallback>,
    /// The approver asked where a rule says so, if not the host's: a tool that makes calls asks the same person.
    pub approver: Option<Arc<dyn Approver>>,
    /// What that person said yes to before.
    pub approvals: Option<RunApprovals>,
    /// Hears that a call which the tool makes was refused, and can change that; `None`: nobody.
    pub refusals: Option<Arc<dyn RefusalListener>>,
    /// Hears what the tool logs while it runs; `None`: nobody.
    pub answerer: Option<Arc<dyn Answerer>>,
}

/// A native tool could not be run at all. A tool that ran and failed gives [`Outcome::failure`] instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolFailure {
    /// The kind of failure.
    pub code: ErrorCode,
    /// One line that says it.
    pub message: String,
    /// What to do about it.
    pub hints: Vec<String>,
}

/// A set of native tools under one name, beside the MCP servers of a host.
#[derive(Clone)]
pub struct Toolbox {
    pub(crate) name: ServerName,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// What each of them is, asked for once.
    pub(crate) definitions: Vec<ToolDefinition>,
    pub(crate) instructions: Option<String>,
    pub(crate) access: AccessSpec,
    pub(crate) origin: Origin,
}

impl ToolContext {
    /// For a caller that does not want to hear about progress.
    #[must_use]
    pub const fn new(caller: Caller) -> Self {
        let source = CallSource::new(Door::Library);
        Self {
            caller,
            principal: Principal::LOCAL,
            scope: Scope::everything(None),
            source,
            on_progress: None,
            approver: None,
            approvals: None,
            refusals: None,
            answerer: None,
        }
    }

    /// The caller, as rules ask for it.
    #[must_use]
    pub fn called_by(&self) -> CalledBy<'_> {
        self.source.called_by(self.caller, &self.principal)
    }

    /// A call that the tool makes in the course of this one: on the same behalf, asking whom this one asks.
    #[must_use]
    pub fn call(&self) -> CallContext {
        let (principal, scope, source) = (self.principal.clone(), self.scope.clone(), self.source.clone());
        let (approver, approvals) = (self.approver.clone(), self.approvals.clone());
        let refusals = self.refusals.clone();
        CallContext { principal, scope, source, approver, approvals, refusals, ..CallContext::new(self.caller) }
    }
}

impl ToolFailure {
    /// A failure of this kind.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hints: Vec::new() }
    }

    /// The same with a sentence that tells the person what to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl Toolbox {
    /// An empty toolbox. What its tools say about themselves counts: they are the program's own code.
    #[must_use]
    pub fn new(name: impl Into<ServerName>) -> Self {
        let access = AccessSpec { trust_annotations: true, ..AccessSpec::default() };
        Self {
            name: name.into(),
            tools: Vec::new(),
            definitions: Vec::new(),
            instructions: None,
            access,
            origin: Origin::Program,
        }
    }

    /// An empty toolbox that stands where a configured server stands: under its name, with what is said about its
    /// tools, at its place.
    #[must_use]
    pub fn for_server(spec: &helve_model::ServerSpec) -> Self {
        Self { access: spec.access.clone(), origin: spec.origin.clone(), ..Self::new(spec.name.clone()) }
    }

    /// The same with one more tool; a second one of the same name replaces the first.
    #[must_use]
    pub fn with(mut self, tool: impl Tool + 'static) -> Self {
        let definition = tool.definition();
        if let Some(same) = self.definitions.iter().position(|other| other.name() == definition.name()) {
            drop(self.definitions.remove(same));
            drop(self.tools.remove(same));
        }
        self.definitions.push(definition);
        self.tools.push(Arc::new(tool));
        self
    }

    /// The same with what a model should know about these tools.
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// What its tools are.
    #[must_use]
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.definitions.clone()
    }

    /// What its tools may do, as a server's entry would say it.
    pub(crate) fn server_access(&self) -> ServerAccess {
        ServerAccess::new(&self.spec(), Trust::Trusted)
    }

    /// The toolbox as a server.
    pub(crate) fn spec(&self) -> ServerSpec {
        let transport = TransportSpec::Builtin(BuiltinSpec { kind: "native".to_owned(), options: IndexMap::new() });
        let spec = ServerSpec::new(self.name.clone(), transport, self.origin.clone(), Layer::CommandLine);
        spec.with(|spec| spec.access = self.access.clone())
    }

    /// Its name, which stands where a server's name stands.
    #[must_use]
    pub const fn name(&self) -> &ServerName {
        &self.name
    }

    /// Its tools, in the order they were put in.
    #[must_use]
    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    /// What a model should know about these tools.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }
}

/// A definition from its parts.
///
/// `annotations` is an object of the protocol's hints, such as `{"readOnlyHint": true}`.
#[must_use]
pub fn definition(name: &str, description: &str, input_schema: &Value, annotations: &Value) -> ToolDefinition {
    let raw = ObjectWriter::new()
        .text("name", name)
        .text("description", description)
        .raw("inputSchema", input_schema.to_string())
        .raw("annotations", annotations.to_string())
        .finish();
    // An object with a string for its name is a definition; there is no other way to fail.
    ToolDefinition::from_raw(raw).unwrap_or_else(|problem| unreachable!("{problem}"))
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ToolContext").field("caller", &self.caller).finish_non_exhaustive()
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<_> = self.definitions.iter().map(|definition| definition.name()).collect();
        formatter.debug_struct("Toolbox").field("name", &self.name).field("tools", &tools).finish_non_exhaustive()
    }
}
