//! The right to make one call: a value nobody outside this crate can make.

use helve_model::json::RawJson;
use helve_model::{CallKind, QualifiedName};

use crate::decision::Request;

/// The right to make exactly the call it was given for: this tool, on this server, with these arguments.
///
/// Only [`crate::RuleSet::decide`] makes one. It cannot be copied or changed; sending the same call again after a
/// failure that cannot have run uses the same permit.
#[derive(Debug)]
pub struct Permit {
    request: Request,
}

impl Permit {
    pub(crate) const fn grant(request: Request) -> Self {
        Self { request }
    }

    /// What is called, and on which server.
    #[must_use]
    pub const fn name(&self) -> &QualifiedName {
        &self.request.name
    }

    /// Which kind of call this is.
    #[must_use]
    pub const fn kind(&self) -> CallKind {
        self.request.kind
    }

    /// The arguments the permit was given for.
    #[must_use]
    pub const fn arguments(&self) -> &RawJson {
        &self.request.arguments
    }
}
