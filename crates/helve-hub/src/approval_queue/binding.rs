//! What a yes is bound to: whose call it is, of which tool as it is defined now, at which server, with which arguments, and what
//! wanted it asked. Another of these is another question.

use helve::ApprovalRequest;
use helve_model::json::canonical::in_order;
use helve_model::{Answerers, Layer, Risk};
use helve_policy::Decider;
use sha2::{Digest as _, Sha256};

/// Changed with what follows, so that questions of different versions never meet.
const VERSION: &str = "helve approval 1";

/// One number for all of it. Two spellings of the same arguments are the same.
pub(super) fn digest(request: &ApprovalRequest) -> [u8; 32] {
    let mut hasher = Sha256::new();
    let mut add = |part: &str| {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    };
    add(VERSION);
    add(request.principal.id());
    add(&request.kind.to_string());
    add(request.name.server.as_str());
    add(&request.server.map(|server| server.to_string()).unwrap_or_default());
    add(request.name.tool.as_str());
    add(&request.definition.map(|definition| definition.to_string()).unwrap_or_default());
    add(&request.decider.as_ref().map(Decider::meaning).unwrap_or_default());
    add(&request.risk.to_string());
    add(&in_order(request.arguments.as_str()));
    hasher.finalize().into()
}

/// Whether an agent's form is not enough: a client can fill in a form by itself, so what could do much harm is for the page,
/// unless the rule says otherwise.
pub(super) fn needs_page(request: &ApprovalRequest) -> bool {
    let said = match &request.decider {
        Some(Decider::Rule(source)) => source.rule.by.map(|by| (by, source.rule.layer)),
        _ => None,
    };
    match said {
        Some((Answerers::Page, _)) => true,
        // A project may ask for more care, never for less.
        Some((Answerers::Anyone, layer)) if layer != Layer::Project => false,
        _ => request.risk == Risk::High,
    }
}
