//! What one agent may see and call at most: a layer above all rules that only narrows.
//!
//! Its globs are read as a rule's are: in any spelling, split into server and tool. A name without a server is one of
//! the program's own tools.

use std::fmt;
use std::sync::Arc;

use helve_model::text::one_line;
use helve_model::{Action, CallKind, QualifiedName, Risk, ServerName};

use crate::decision::Refusal;
use crate::glob::{Bits, GlobId, Globs, GlobsBuilder};
use crate::ground::{Decider, Ground};
use crate::pattern::{NameGlobs, Named, View, Whose, placed, split};
use crate::rules::{server_text, texts_of};

/// What one agent may see and call at most. Without a narrowing that is everything; nothing made from a scope has more
/// than the scope itself. Cloning shares it.
///
/// ```
/// use helve_model::{QualifiedName, ServerName, ToolName};
/// use helve_policy::{Narrowing, Scope};
///
/// let scope = Scope::everything(None).narrow(&Narrowing::only(["files/*"]).and_without(["*/write"])).unwrap();
/// let named = |server, tool| QualifiedName::new(ServerName::new(server).unwrap(), ToolName::new(tool));
/// assert!(scope.includes(&named("files", "read")));
/// assert!(!scope.includes(&named("files", "write")) && !scope.includes(&named("mail", "read")));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// The server whose tools go by their bare names.
    own: Option<ServerName>,
    /// A tool has to pass all of these.
    layers: Vec<Arc<Layer>>,
    /// Only what does no harm: what reads.
    reads_only: bool,
}

/// How a scope is smaller than the one it is made from. Globs name tools as rules do; without a server, they name the
/// program's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Narrowing {
    /// Only these; `None`: all there are.
    pub only: Option<Vec<String>>,
    /// Not these.
    pub without: Vec<String>,
}

/// A glob of a narrowing that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableNarrowing {
    glob: String,
    reason: String,
}

/// Why a scope does not have something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeExclusion {
    /// It is not among what the scope was narrowed to.
    NotAmong,
    /// This glob takes it away.
    Without(Arc<str>),
    /// It may change something, and the scope only has what reads.
    MayWrite,
}

#[derive(Debug)]
struct Layer {
    own: Option<ServerName>,
    only: Option<Names>,
    without: Names,
}

/// Globs over names, compiled.
#[derive(Debug, Default)]
struct Names {
    readings: Vec<Reading>,
    /// By [`View`].
    servers: [Globs; 4],
    /// By [`View`].
    tools: [Globs; 4],
}

/// One way to read one glob.
#[derive(Debug)]
struct Reading {
    written: Arc<str>,
    view: View,
    /// `None`: the program's own tools.
    server: Option<GlobId>,
    tool: GlobId,
    whose: Whose,
}

impl Scope {
    /// Everything there is. The tools of `own` go by their bare names.
    #[must_use]
    pub const fn everything(own: Option<ServerName>) -> Self {
        Self { own, layers: Vec::new(), reads_only: false }
    }

    /// A smaller scope.
    ///
    /// # Errors
    /// When a glob cannot be read: a scope that half holds is none.
    pub fn narrow(&self, narrowing: &Narrowing) -> Result<Self, UnreadableNarrowing> {
        let only = narrowing.only.as_deref().map(Names::compile).transpose()?;
        let layer = Layer { own: self.own.clone(), only, without: Names::compile(&narrowing.without)? };
        let mut narrower = self.clone();
        narrower.layers.push(Arc::new(layer));
        Ok(narrower)
    }

    /// What both have.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.layers.extend(other.layers.iter().cloned());
        both.reads_only |= other.reads_only;
        both
    }

    /// The same, and of it only what is known to read: whatever else is refused, whoever allows it.
    #[must_use]
    pub const fn reading_only(mut self) -> Self {
        self.reads_only = true;
        self
    }

    /// True when nothing was ever taken out of it.
    #[must_use]
    pub const fn is_everything(&self) -> bool {
        self.layers.is_empty() && !self.reads_only
    }

    /// True when it has this tool, resource (by URI) or prompt.
    #[must_use]
    pub fn includes(&self, name: &QualifiedName) -> bool {
        self.leaves_out(name).is_none()
    }

    /// Why it does not have this; `None` when it does.
    #[must_use]
    pub fn leaves_out(&self, name: &QualifiedName) -> Option<ScopeExclusion> {
        self.layers.iter().find_map(|layer| {
            if let Some(written) = layer.without.naming(name, layer.own.as_ref()) {
                return Some(ScopeExclusion::Without(Arc::clone(written)));
            }
            let among = layer.only.as_ref().is_none_or(|only| only.naming(name, layer.own.as_ref()).is_some());
            (!among).then_some(ScopeExclusion::NotAmong)
        })
    }

    /// What a call of this meets before any rule is asked; `None`: nothing, the rules decide.
    #[must_use]
    pub fn refuse(&self, name: &QualifiedName, kind: CallKind, risk: Risk) -> Option<Refusal> {
        let writes = (self.reads_only && risk != Risk::Low).then_some(ScopeExclusion::MayWrite);
        let left_out = self.leaves_out(name).or(writes)?;
        Some(Refusal::of(name.clone(), kind, Ground { decider: Decider::OutOfScope(left_out), risk }))
    }
}

impl Narrowing {
    /// Only what these globs name.
    pub fn only(globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { only: Some(globs.into_iter().map(Into::into).collect()), without: Vec::new() }
    }

    /// All but what these globs name.
    pub fn without(globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::default().and_without(globs)
    }

    /// The same, and not what these globs name.
    #[must_use]
    pub fn and_without(mut self, globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.without.extend(globs.into_iter().map(Into::into));
        self
    }
}

impl Names {
    fn compile(globs: &[String]) -> Result<Self, UnreadableNarrowing> {
        let mut servers: [GlobsBuilder; 4] = Default::default();
        let mut tools: [GlobsBuilder; 4] = Default::default();
        let mut readings = Vec::new();
        for written in globs {
            let unreadable = |reason: &str| UnreadableNarrowing { glob: written.clone(), reason: reason.to_owned() };
            let written: Arc<str> = Arc::from(written.as_str());
            match split(&written) {
                Named::Tools(named) => {
                    for NameGlobs { view, server, tool, whose } in named.into_iter().chain(placed(&written)) {
                        let server = Some(servers[view as usize].add(&server));
                        let tool = tools[view as usize].add(&tool);
                        readings.push(Reading { written: Arc::clone(&written), view, server, tool, whose });
                    }
                }
                Named::Bare => {
                    let (view, server) = (View::Identity, None);
                    let tool = tools[view as usize].add(&written);
                    readings.push(Reading { written: Arc::clone(&written), view, server, tool, whose: Whose::Anybody });
                }
                Named::Unsplittable => return Err(unreadable("it does not say where the server's name ends")),
            }
        }
        let (servers, tools) = (servers.map(GlobsBuilder::build), tools.map(GlobsBuilder::build));
        for Reading { written, view, server, tool, .. } in &readings {
            let broken = |(_, unreadable): &(Globs, Vec<crate::glob::UnreadableGlob>), id: GlobId| {
                unreadable.iter().find(|broken| broken.id == id).map(|broken| broken.reason.clone())
            };
            let of_server = server.and_then(|server| broken(&servers[*view as usize], server));
            if let Some(reason) = of_server.or_else(|| broken(&tools[*view as usize], *tool)) {
                return Err(UnreadableNarrowing { glob: written.to_string(), reason });
            }
        }
        Ok(Self { readings, servers: servers.map(|(globs, _)| globs), tools: tools.map(|(globs, _)| globs) })
    }

    /// The first glob that names this.
    fn naming(&self, name: &QualifiedName, own: Option<&ServerName>) -> Option<&Arc<str>> {
        if self.readings.is_empty() {
            return None;
        }
        let is_own = own == Some(&name.server);
        let servers =
            View::ALL.map(|view| matched(&self.servers[view as usize], || vec![server_text(view, &name.server)]));
        let tools = View::ALL.map(|view| matched(&self.tools[view as usize], || texts_of(view, name)));
        let names = |reading: &&Reading| {
            let view = reading.view as usize;
            let of_server =
                reading.server.map_or(is_own, |server| self.servers[view].holds(server, &servers[view], Action::Allow));
            of_server
                && reading.whose.includes(&name.server)
                && self.tools[view].holds(reading.tool, &tools[view], Action::Allow)
        };
        self.readings.iter().find(names).map(|reading| &reading.written)
    }
}

fn matched(globs: &Globs, texts: impl FnOnce() -> Vec<String>) -> Bits {
    let mut matched = Bits::default();
    if !globs.is_empty() {
        for text in texts() {
            globs.matches(&text, &mut matched);
        }
    }
    matched
}

impl fmt::Display for ScopeExclusion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAmong => formatter.write_str("it is not among the tools of this agent"),
            Self::Without(glob) => write!(formatter, "`{}` takes it from the tools of this agent", one_line(glob)),
            Self::MayWrite => formatter.write_str("this agent may only read, and nothing says that this only reads"),
        }
    }
}

impl fmt::Display for UnreadableNarrowing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the glob `{}` of a scope cannot be read: {}", one_line(&self.glob), self.reason)
    }
}

impl std::error::Error for UnreadableNarrowing {}

#[cfg(test)]
#[path = "scope_tests.rs"]
mod tests;
