//! What to change so that a refused call may run.

use helve_model::{CallKind, ErrorCode, Hint, Layer, QualifiedName, RuleHolds, ServerKey};

use crate::Refusal;
use crate::access::Trust;
use crate::ground::{Decider, ListName};
use crate::rules::SourcedRule;

pub(crate) fn for_refusal(refusal: &Refusal) -> Vec<Hint> {
    let mut hints = Vec::new();
    if refusal.code() == ErrorCode::ApprovalRequired {
        hints.push(Hint::AllowOnce { name: refusal.name().clone(), kind: refusal.kind() });
    }
    hints.extend(for_decider(&refusal.ground().decider, refusal.name(), refusal.kind()));
    hints
}

/// How to let the call run for good, given what decided against it.
pub(crate) fn for_decider(decider: &Decider, name: &QualifiedName, kind: CallKind) -> Option<Hint> {
    let server = || name.server.clone();
    match decider {
        Decider::Rule(source) => Some(for_rule(source, name, kind)),
        Decider::Listed(ListName::DisabledTools, entry) => Some(Hint::TakeFromList {
            server: server(),
            list: ServerKey::DisabledTools,
            entry: entry.glob.clone(),
            origin: entry.origin.clone(),
        }),
        Decider::NotListed(origin) => Some(Hint::AddToList {
            server: server(),
            list: ServerKey::Tools,
            entry: name.tool.to_string(),
            origin: origin.clone(),
        }),
        Decider::Default(_) | Decider::Unlisted(_) | Decider::AnnotatedWriting(_) | Decider::Unopened(_) => {
            Some(Hint::AddRule { name: name.clone(), kind, pattern: None })
        }
        Decider::ServerUnknown => Some(Hint::AddServer { server: server() }),
        Decider::ServerDisabled(_) => Some(Hint::EnableServer { server: server() }),
        Decider::ServerUntrusted(origin) => Some(Hint::Trust { origin: Some(origin.clone()) }),
        Decider::ChangedSincePinned => Some(Hint::AcceptDefinition { name: name.clone() }),
        Decider::Listed(ListName::Tools | ListName::WriteTools, _)
        | Decider::TrustedAnnotation(_)
        | Decider::Reading(_)
        | Decider::Typed(_)
        | Decider::LeftToAgent(_)
        | Decider::Approved(_)
        | Decider::Declined
        | Decider::OutOfScope(_)
        | Decider::AllowAll => None,
    }
}

/// A rule of one's own comes before another of one's own, and behind those of a project and of this run.
fn for_rule(source: &SourcedRule, name: &QualifiedName, kind: CallKind) -> Hint {
    let rule = &source.rule;
    let because = match (rule.layer, source.trust) {
        (_, Trust::Untrusted) => RuleHolds::ProjectNarrows,
        (Layer::Project, _) => RuleHolds::ProjectFirst,
        (Layer::Explicit | Layer::CommandLine, _) => RuleHolds::OfThisRun,
        (Layer::User | Layer::Defaults, _) => {
            return Hint::AddRule { name: name.clone(), kind, pattern: rule.pattern.clone() };
        }
    };
    Hint::ChangeRule { origin: rule.origin.clone(), because }
}
