//! How much harm a call could do, from what the person said and what the server claims.

use helve_model::{CallKind, Risk, ToolAnnotations};

/// A server's claims about one of its tools. Claims raise the risk; they lower it only under `trust_annotations`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Claims {
    /// `readOnlyHint`.
    pub read_only: Option<bool>,
    /// `destructiveHint`.
    pub destructive: Option<bool>,
    /// `idempotentHint`.
    pub idempotent: Option<bool>,
    /// `openWorldHint`.
    pub open_world: Option<bool>,
}

/// What the person said about a tool by putting it on a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    /// On `tools` of a read-only server: known to read.
    Reading,
    /// On `write_tools`, or on `tools` of a server that is not read-only.
    Writing,
    /// On no list.
    None,
}

impl Claims {
    /// The server says that the tool changes things.
    pub(crate) fn writes(self) -> bool {
        self.read_only == Some(false) || self.destructive == Some(true)
    }
}

impl From<&ToolAnnotations> for Claims {
    fn from(annotations: &ToolAnnotations) -> Self {
        Self {
            read_only: annotations.read_only,
            destructive: annotations.destructive,
            idempotent: annotations.idempotent,
            open_world: annotations.open_world,
        }
    }
}

/// Reading a resource or a prompt is low; a tool nobody spoke of is high.
pub(crate) fn assess(kind: CallKind, listing: Listing, claims: Claims, trust_annotations: bool) -> Risk {
    match kind {
        CallKind::Tool => {}
        CallKind::Resource | CallKind::Prompt => return Risk::Low,
        // Nobody knows what it does.
        CallKind::Method => return Risk::High,
    }
    let listed = match listing {
        Listing::Reading => Risk::Low,
        Listing::Writing => Risk::Medium,
        Listing::None => Risk::High,
    };
    let claimed = claimed(claims);
    match claimed {
        Some(claimed) if trust_annotations => claimed,
        Some(claimed) => listed.max(claimed),
        None => listed,
    }
}

/// What the claims alone amount to; `None` when they say too little.
fn claimed(claims: Claims) -> Option<Risk> {
    let outside = claims.open_world == Some(true);
    match (claims.read_only, claims.destructive) {
        (_, Some(true)) => Some(Risk::High),
        (Some(true), _) => Some(if outside { Risk::Medium } else { Risk::Low }),
        // A tool that writes is destructive unless it says otherwise: so the protocol defines the absent claim.
        (Some(false), None) => Some(Risk::High),
        (Some(false), Some(false)) | (None, Some(false)) => Some(if outside { Risk::High } else { Risk::Medium }),
        (None, None) => None,
    }
}

#[cfg(test)]
#[path = "risk_tests.rs"]
mod tests;
