//! One registry for a model: MCP tools and tools written in Rust side by side, offered as a provider wants them, called
//! by the names the model was given.
//!
//! [`AgentTools`] are what one agent sees of it: the tools within its [`Scope`]. A sub-agent's are made from its parent's
//! and can only be fewer.

use std::collections::HashMap;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use helve_model::json::RawJson;
use helve_model::name::Spelling;
use helve_model::{ErrorCode, QualifiedName, ServerName};
use helve_policy::{Narrowing, Scope};
use helve_render::{Provider, Strictness, ToolArray, ToolText, tool_array};

use crate::call::{CallContext, CallOutcome, invoke_named};
use crate::catalog::{Snapshot, ToolEntry};
use crate::error::CallError;
use crate::host::Host;
use crate::search::{self, FoundTools, ToolQuery};
use crate::tool::{Tool, Toolbox};

/// The tools of one program for its models: its own, under their bare names, and those of the host's servers.
///
/// ```
/// # use helve::{CallContext, Host, Narrowing, Registry, Tool, ToolContext, ToolFailure, definition};
/// # use helve_model::{Outcome, ToolDefinition, json::RawJson};
/// # use helve_policy::{Caller, Permit};
/// # use helve_render::Provider;
/// # struct Greet;
/// # impl Tool for Greet {
/// #     fn definition(&self) -> ToolDefinition {
/// #         let (schema, hints) = (serde_json::json!({"type": "object"}), serde_json::json!({"readOnlyHint": true}));
/// #         definition("greet", "Greets", &schema, &hints)
/// #     }
/// #     fn call<'a>(
/// #         &'a self,
/// #         _: &'a Permit,
/// #         _: &'a ToolContext,
/// #     ) -> helve_wire::BoxFuture<'a, Result<Outcome, ToolFailure>> {
/// #         Box::pin(async { Ok(Outcome::text("hello")) })
/// #     }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), helve::CallError> {
/// let registry = Registry::new(Host::builder().start().await?);
/// registry.register(Greet)?;
/// assert!(registry.definitions(Provider::Anthropic).json().contains(r#""name":"greet""#));
/// let called = registry.execute("greet", RawJson::empty_object(), CallContext::new(Caller::Agent)).await?;
/// assert_eq!(called.to_text(), "hello");
///
/// let sub_agent = registry.scope().narrow(&Narrowing::without(["greet"]))?;
/// let error = sub_agent.execute("greet", RawJson::empty_object(), CallContext::new(Caller::Agent)).await;
/// assert_eq!(error.unwrap_err().code().as_str(), "DENIED");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Registry {
    everything: AgentTools,
}

/// The tools that one agent may see and call: those of a host that are within its [`Scope`].
#[derive(Debug, Clone)]
pub struct AgentTools {
    host: Host,
    /// The toolbox whose tools go by their bare names.
    own: ServerName,
    scope: Scope,
}

/// The tools of a scope as a provider wants them, and the way back from its calls.
#[derive(Debug, Clone)]
pub struct Definitions {
    array: ToolArray,
    names: Vec<QualifiedName>,
    clashes: Vec<Clash>,
}

/// Two tools want one name; the program's own keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// The name.
    pub name: String,
    /// The server that has it.
    pub winner: QualifiedName,
    /// The servers that are left out.
    pub loser: QualifiedName,
}

impl Registry {
    /// The name that the program's own tools have for a server's.
    pub const OWN: &str = "native";

    /// A registry of all the host's tools.
    #[must_use]
    pub fn new(host: Host) -> Self {
        // The constant is not empty.
        let own = ServerName::new(Self::OWN).unwrap_or_else(|problem| unreachable!("{problem}"));
        let scope = Scope::everything(Some(own.clone()));
        Self { everything: AgentTools { host, own, scope } }
    }

    /// Adds a tool written in Rust, under its bare name. A second one of that name replaces the first.
    ///
    /// # Errors
    /// When a configured server has the name [`Registry::OWN`].
    pub fn register(&self, tool: impl Tool + 'static) -> Result<(), CallError> {
        let AgentTools { host, own, .. } = &self.everything;
        host.shared().change_toolbox(own, |toolbox| toolbox.unwrap_or_else(|| Toolbox::new(own.clone())).with(tool))
    }

    /// Everything there is.
    #[must_use]
    pub const fn scope(&self) -> &AgentTools {
        &self.everything
    }

    /// See [`AgentTools::definitions`].
    #[must_use]
    pub fn definitions(&self, provider: Provider) -> Definitions {
        self.everything.definitions(provider)
    }

    /// See [`AgentTools::search`].
    #[must_use]
    pub fn search(&self, query: &ToolQuery<'_>) -> FoundTools {
        self.everything.search(query)
    }

    /// See [`AgentTools::system_prompt`].
    #[must_use]
    pub fn system_prompt(&self, budget: Option<usize>) -> String {
        self.everything.system_prompt(budget)
    }

    /// See [`AgentTools::execute`].
    ///
    /// # Errors
    /// As [`AgentTools::execute`].
    pub async fn execute(
        &self,
        name: &str,
        input: impl Into<RawJson>,
        context: CallContext,
    ) -> Result<CallOutcome, CallError> {
        self.everything.execute(name, input, context).await
    }
}

impl AgentTools {
    /// Fewer tools, for a sub-agent. Nothing made from these has more than they have.
    ///
    /// # Errors
    /// `CONFIG` when a glob cannot be read.
    pub fn narrow(&self, narrowing: &Narrowing) -> Result<Self, CallError> {
        let unreadable = |error| CallError::new(ErrorCode::Config, "a scope's glob cannot be read").with_source(error);
        Ok(Self { scope: self.scope.narrow(narrowing).map_err(unreadable)?, ..self.clone() })
    }

    /// What the agent may see and call at most: for calls that are made without [`AgentTools::execute`].
    #[must_use]
    pub const fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The host behind it.
    #[must_use]
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// Its tools, as the value of `tools` in a provider's request, and the way back from its calls.
    #[must_use]
    pub fn definitions(&self, provider: Provider) -> Definitions {
        let snapshot = self.host.snapshot();
        let tools = self.tools(&snapshot);
        let (offers, clashes) = self.offers(&snapshot, tools);
        let entries: Vec<ToolText<'_>> = offers.iter().map(|(name, tool)| tool.schema_entry(name)).collect();
        let array = tool_array(provider, &entries, Strictness::Off);
        Definitions { array, names: offers.iter().map(|(_, tool)| tool.name().clone()).collect(), clashes }
    }

    /// The tools that fit some words, the best first. What a rule denies is not found, nor counted.
    #[must_use]
    pub fn search(&self, query: &ToolQuery<'_>) -> FoundTools {
        let snapshot = self.host.snapshot();
        let matches = snapshot.search().search(query, &|name| self.includes(name));
        search::described(&snapshot, matches)
    }

    /// A block for a model's system prompt: its tools by server, with the names that [`AgentTools::execute`] and programs take
    /// back. In as much detail as fits `budget` tokens, estimated; `None` for all of it. The same text as long as the tools
    /// are the same.
    #[must_use]
    pub fn system_prompt(&self, budget: Option<usize>) -> String {
        search::prompt(&self.host.snapshot(), budget, &|name| self.includes(name))
    }

    /// Calls the tool a model names. Names are those of [`AgentTools::definitions`], or any spelling.
    ///
    /// # Errors
    /// `DENIED` for a tool outside of this scope; otherwise as [`Host::call`].
    pub async fn execute(
        &self,
        name: &str,
        input: impl Into<RawJson>,
        mut context: CallContext,
    ) -> Result<CallOutcome, CallError> {
        let input = input.into();
        context.scope = self.scope.intersect(&context.scope);
        let find = pin!(self.find(name, context.timeout));
        invoke_named(self.host.shared(), name, find, input, &context).await
    }

    async fn find(&self, name: &str, timeout: Option<Duration>) -> Result<Arc<ToolEntry>, CallError> {
        let own = QualifiedName::new(self.own.clone(), helve_model::ToolName::new(name));
        let sees = |name: &QualifiedName| self.includes(name);
        let snapshot = self.host.snapshot();
        let known = snapshot.find(&own).or_else(|| snapshot.tool_among(name, &sees).ok()).cloned();
        match known.or_else(|| self.renamed(name, &snapshot)) {
            Some(tool) => Ok(tool),
            None => self.host.find_tool_among(name, timeout, sees).await,
        }
    }

    /// A tool of the program's own whose name no provider would take, by the name it was given instead.
    fn renamed(&self, name: &str, snapshot: &Snapshot) -> Option<Arc<ToolEntry>> {
        let own: Vec<_> = snapshot.server(self.own.as_str())?.tools().collect();
        let entries: Vec<_> = own.iter().map(|tool| tool.schema_entry(tool.name().tool.as_str())).collect();
        // The two ways to rename: the other providers do as one of these.
        [Provider::Anthropic, Provider::Gemini].into_iter().find_map(|provider| {
            let array = tool_array(provider, &entries, Strictness::Off);
            let (_, index) = array.names().find(|(offered, _)| *offered == name)?;
            own.get(index).map(|tool| Arc::clone(tool))
        })
    }

    /// True when a tool is among them.
    #[must_use]
    pub fn includes(&self, name: &QualifiedName) -> bool {
        self.scope.includes(name)
    }

    fn tools<'snapshot>(&self, snapshot: &'snapshot Snapshot) -> Vec<&'snapshot Arc<ToolEntry>> {
        snapshot.tools().filter(|tool| self.includes(tool.name())).collect()
    }

    /// Each tool with the name a model sees. The program's own come first, so that they keep their names.
    fn offers<'snapshot>(
        &self,
        snapshot: &Snapshot,
        tools: Vec<&'snapshot Arc<ToolEntry>>,
    ) -> (Vec<(String, &'snapshot Arc<ToolEntry>)>, Vec<Clash>) {
        let (own, others): (Vec<_>, Vec<_>) = tools.into_iter().partition(|tool| tool.name().server == self.own);
        let mut taken: HashMap<String, &QualifiedName> = HashMap::new();
        let mut offers = Vec::new();
        let mut clashes = Vec::new();
        for tool in own.into_iter().chain(others) {
            let identity = tool.name();
            let name = if identity.server == self.own {
                identity.tool.as_str().to_owned()
            } else {
                snapshot
                    .names()
                    .spell(identity, Spelling::Provider)
                    .unwrap_or_else(|| Spelling::Provider.render(identity))
            };
            match taken.get(&name) {
                Some(winner) => clashes.push(Clash { name, winner: (*winner).clone(), loser: identity.clone() }),
                None => {
                    taken.insert(name.clone(), identity);
                    offers.push((name, tool));
                }
            }
        }
        (offers, clashes)
    }
}

impl Definitions {
    /// The value of `tools` in the provider's request.
    #[must_use]
    pub fn json(&self) -> &str {
        self.array.json()
    }

    /// The array in full: notices, and the way back from calls.
    #[must_use]
    pub const fn array(&self) -> &ToolArray {
        &self.array
    }

    /// Names that two tools wanted.
    #[must_use]
    pub fn clashes(&self) -> &[Clash] {
        &self.clashes
    }

    /// Each name that the provider is given, and the tool it stands for.
    pub fn identities(&self) -> impl Iterator<Item = (&str, &QualifiedName)> {
        self.array.names().filter_map(|(name, index)| Some((name, self.names.get(index)?)))
    }

    /// The tool a provider's name stands for.
    #[must_use]
    pub fn identity(&self, name: &str) -> Option<&QualifiedName> {
        let (_, index) = self.array.names().find(|(offered, _)| *offered == name)?;
        self.names.get(index)
    }
}

impl fmt::Display for Clash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "`{}` and `{}` both want the name `{}`: the first keeps it",
            self.winner, self.loser, self.name
        )
    }
}
