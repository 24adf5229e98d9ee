//! The right to make one call: a value nobody outside this crate can make.

use helve_model::json::RawJson;
use helve_model::{CallKind, Principal, QualifiedName};

use crate::Ground;
use crate::decision::Request;
use crate::place::ArgumentPlace;

/// The right to make exactly the call it was given for: for this principal, this tool, on this server, with these arguments.
///
/// Only a decision makes one: a rule set's, or a person's answer to a [`crate::Question`]. It cannot be copied or
/// changed; sending the same call again after a failure that cannot have run uses the same permit.
///
/// ```compile_fail,E0451
/// fn forge(request: helve_policy::Request, ground: helve_policy::Ground) -> helve_policy::Permit {
///     helve_policy::Permit { request, ground, places: Vec::new() }
/// }
/// ```
/// ```compile_fail,E0308
/// fn copy(permit: &helve_policy::Permit) -> helve_policy::Permit {
///     permit.clone()
/// }
/// ```
#[derive(Debug)]
pub struct Permit {
    request: Request,
    ground: Ground,
    places: Vec<ArgumentPlace>,
}

impl Permit {
    pub(crate) const fn grant(request: Request, ground: Ground, places: Vec<ArgumentPlace>) -> Self {
        Self { request, ground, places }
    }

    /// On whose behalf the call is made.
    #[must_use]
    pub const fn principal(&self) -> &Principal {
        &self.request.principal
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

    /// The places that the tool found its arguments to name, and that the permit was given for. A tool that named some
    /// opens these and no others. Empty where the decision did not depend on them.
    #[must_use]
    pub fn places(&self) -> &[ArgumentPlace] {
        &self.places
    }

    /// What the permission rests on.
    #[must_use]
    pub const fn ground(&self) -> &Ground {
        &self.ground
    }
}
