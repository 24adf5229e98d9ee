//! What one agent may see and call at most, whatever the rules allow: what its token is for, and the one server whose address
//! it came to.

use helve::ToolEntry;
use helve_model::{CallKind, QualifiedName, Risk, ServerName, ToolName};
use helve_policy::{Narrowing, Scope};

use crate::naming::Naming;

/// What one agent may see and call at most.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reach {
    scope: Scope,
    /// It came to the address of this server alone.
    within: Option<ServerName>,
}

impl Reach {
    /// What a token is for, at the address of one server or of all.
    pub(crate) fn new(scope: Scope, within: Option<ServerName>) -> Self {
        let Some(server) = &within else { return Self { scope, within } };
        let only = Narrowing::only([format!("{server}/*")]);
        // A name that cannot be a pattern narrows to nothing: the pattern of nothing can always be read.
        let narrowed = scope.narrow(&only).or_else(|_| scope.narrow(&Narrowing::only(Vec::<String>::new())));
        Self { scope: narrowed.unwrap_or_default(), within }
    }

    pub(crate) const fn is_everything(&self) -> bool {
        self.scope.is_everything() && self.within.is_none()
    }

    pub(crate) const fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(crate) const fn within(&self) -> Option<&ServerName> {
        self.within.as_ref()
    }

    /// At the address of one server its tools have the names that it gives them.
    pub(crate) fn naming<'a>(&self, usual: &'a Naming) -> &'a Naming {
        static BARE: Naming = Naming::None;
        if self.within.is_some() { &BARE } else { usual }
    }

    pub(crate) fn includes(&self, tool: &ToolEntry) -> bool {
        self.has(tool.name(), CallKind::Tool, tool.policy().risk())
    }

    /// Does it have this resource (by URI) or prompt? Both are only read.
    pub(crate) fn offers(&self, server: &ServerName, name: &str) -> bool {
        self.is_everything()
            || self.has(&QualifiedName::new(server.clone(), ToolName::new(name)), CallKind::Resource, Risk::Low)
    }

    /// May it hear what this server says about itself?
    pub(crate) fn hears(&self, server: &ServerName) -> bool {
        self.offers(server, "*")
    }

    fn has(&self, name: &QualifiedName, kind: CallKind, risk: Risk) -> bool {
        self.within.as_ref().is_none_or(|within| *within == name.server)
            && self.scope.refuse(name, kind, risk).is_none()
    }
}
