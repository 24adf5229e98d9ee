//! One registry for a model: MCP tools and tools written in Rust side by side, offered as a provider wants them, called
//! by the names the model was given.
//!
//! A [`Scope`] is what one agent sees of it. A sub-agent's scope is made from its parent's and can only be smaller.

use std::collections::HashMap;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use helve_model::json::RawJson;
use helve_model::name::Spelling;
use helve_model::{ErrorCode, QualifiedName, ServerName};
use helve_render::{Provider, Strictness, ToolArray, ToolEntry as SchemaEntry, tool_array};

use crate::call::{CallContext, CallOutcome, invoke_named};
use crate::catalog::{Snapshot, ToolEntry};
use crate::error::CallError;
use crate::host::Host;
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
/// let narrowing = Narrowing { without: vec!["greet".to_owned()], ..Narrowing::default() };
/// let sub_agent = registry.scope().narrow(&narrowing)?;
/// let error = sub_agent.execute("greet", RawJson::empty_object(), CallContext::new(Caller::Agent)).await;
/// assert_eq!(error.unwrap_err().code().as_str(), "DENIED");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Registry {
    everything: Scope,
}

/// What one agent may see and call.
#[derive(Clone)]
pub struct Scope {
    host: Host,
    /// The toolbox whose tools go by their bare names.
    own: ServerName,
    /// A tool has to pass all of these.
    narrowings: Vec<Arc<Compiled>>,
}

/// How a sub-agent's tools are fewer than its parent's. Globs match `server/tool`, or a bare name of the program's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Narrowing {
    /// Only these; `None`: all of the parent's.
    pub only: Option<Vec<String>>,
    /// Not these.
    pub without: Vec<String>,
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
    /// Who has it.
    pub winner: QualifiedName,
    /// Who is left out.
    pub loser: QualifiedName,
}

struct Compiled {
    only: Option<GlobSet>,
    without: GlobSet,
}

impl Registry {
    /// The name that the program's own tools have for a server's.
    pub const OWN: &str = "native";

    /// A registry of all the host's tools.
    #[must_use]
    pub fn new(host: Host) -> Self {
        // The constant is not empty.
        let own = ServerName::new(Self::OWN).unwrap_or_else(|problem| unreachable!("{problem}"));
        Self { everything: Scope { host, own, narrowings: Vec::new() } }
    }

    /// Adds a tool written in Rust, under its bare name. A second one of that name replaces the first.
    ///
    /// # Errors
    /// When a configured server has the name [`Registry::OWN`].
    pub fn register(&self, tool: impl Tool + 'static) -> Result<(), CallError> {
        let Scope { host, own, .. } = &self.everything;
        host.shared().change_toolbox(own, |toolbox| toolbox.unwrap_or_else(|| Toolbox::new(own.clone())).with(tool))
    }

    /// Everything there is.
    #[must_use]
    pub const fn scope(&self) -> &Scope {
        &self.everything
    }

    /// See [`Scope::definitions`].
    #[must_use]
    pub fn definitions(&self, provider: Provider) -> Definitions {
        self.everything.definitions(provider)
    }

    /// See [`Scope::execute`].
    ///
    /// # Errors
    /// As [`Scope::execute`].
    pub async fn execute(&self, name: &str, input: RawJson, context: CallContext) -> Result<CallOutcome, CallError> {
        self.everything.execute(name, input, context).await
    }
}

impl Scope {
    /// A smaller scope, for a sub-agent. Nothing in it can see more than this one.
    ///
    /// # Errors
    /// `CONFIG` when a glob cannot be read.
    pub fn narrow(&self, narrowing: &Narrowing) -> Result<Self, CallError> {
        let compiled =
            Compiled { only: narrowing.only.as_deref().map(globs).transpose()?, without: globs(&narrowing.without)? };
        let mut narrower = self.clone();
        narrower.narrowings.push(Arc::new(compiled));
        Ok(narrower)
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
        let entries: Vec<SchemaEntry<'_>> = offers.iter().map(|(name, tool)| tool.schema_entry(name)).collect();
        let array = tool_array(provider, &entries, Strictness::Off);
        Definitions { array, names: offers.iter().map(|(_, tool)| tool.name().clone()).collect(), clashes }
    }

    /// Calls the tool a model names. Names are those of [`Scope::definitions`], or any spelling.
    ///
    /// # Errors
    /// `DENIED` for a tool outside of this scope; otherwise as [`Host::call`].
    pub async fn execute(&self, name: &str, input: RawJson, context: CallContext) -> Result<CallOutcome, CallError> {
        let find = pin!(self.find(name, context.timeout));
        invoke_named(self.host.shared(), name, find, input, &context).await
    }

    async fn find(&self, name: &str, timeout: Option<Duration>) -> Result<Arc<ToolEntry>, CallError> {
        let own = QualifiedName::new(self.own.clone(), helve_model::ToolName::new(name));
        let sees = |name: &QualifiedName| self.includes(name);
        let snapshot = self.host.snapshot();
        let known = snapshot.find(&own).or_else(|| snapshot.tool_among(name, &sees).ok()).cloned();
        let tool = match known.or_else(|| self.renamed(name, &snapshot)) {
            Some(tool) => tool,
            None => self.host.tool_among(name, timeout, sees).await?,
        };
        if self.includes(tool.name()) {
            return Ok(tool);
        }
        let message = format!("`{}` is not among the tools of this agent", tool.name());
        Err(CallError::new(ErrorCode::Denied, message).at(tool.name()))
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

    /// True when a tool belongs to the scope.
    #[must_use]
    pub fn includes(&self, name: &QualifiedName) -> bool {
        let slash = Spelling::Slash.render(name);
        let bare = (name.server == self.own).then(|| name.tool.as_str());
        self.narrowings.iter().all(|narrowing| {
            let matches = |globs: &GlobSet| globs.is_match(&slash) || bare.is_some_and(|bare| globs.is_match(bare));
            narrowing.only.as_ref().is_none_or(matches) && !matches(&narrowing.without)
        })
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

    /// The tool a provider's name stands for.
    #[must_use]
    pub fn identity(&self, name: &str) -> Option<&QualifiedName> {
        let (_, index) = self.array.names().find(|(offered, _)| *offered == name)?;
        self.names.get(index)
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet, CallError> {
    let unreadable =
        |error: globset::Error| CallError::new(ErrorCode::Config, "a scope's glob cannot be read").with_source(error);
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern).build().map_err(unreadable)?);
    }
    set.build().map_err(unreadable)
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

impl fmt::Debug for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Scope")
            .field("host", &self.host)
            .field("narrowings", &self.narrowings.len())
            .finish_non_exhaustive()
    }
}
