//! From a request to a decision.

use helve_model::json::RawJson;
use helve_model::{CallKind, QualifiedName};

use crate::Permit;

/// A call somebody wants to make.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is to be called.
    pub name: QualifiedName,
    /// Which kind of call.
    pub kind: CallKind,
    /// With which arguments.
    pub arguments: RawJson,
}

/// What became of a request.
#[derive(Debug)]
pub enum Decision {
    /// It may run.
    Allow(Permit),
}

/// The rules in force.
#[derive(Debug, Clone)]
pub struct RuleSet {
    _private: (),
}

impl RuleSet {
    /// Everything may run: for callers that decided elsewhere, and for tests.
    #[must_use]
    pub const fn allow_all() -> Self {
        Self { _private: () }
    }

    /// Decides one request.
    #[must_use]
    pub const fn decide(&self, request: Request) -> Decision {
        Decision::Allow(Permit::grant(request))
    }
}
