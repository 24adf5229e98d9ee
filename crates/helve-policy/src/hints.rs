//! What to write where, so that a refused call may run.

use helve_model::name::Spelling;
use helve_model::text::one_line;
use helve_model::{Action, CallKind, ErrorCode, Layer, QualifiedName};

use crate::Refusal;
use crate::access::Trust;
use crate::glob::escape;
use crate::ground::{Decider, ListName};
use crate::rules::SourcedRule;

pub(crate) fn for_refusal(refusal: &Refusal) -> Vec<String> {
    let mut hints = Vec::new();
    if refusal.code() == ErrorCode::ApprovalRequired {
        hints.push(once(refusal));
    }
    hints.extend(for_decider(&refusal.ground().decider, refusal.name(), refusal.kind()));
    hints
}

/// How to let the call run for good, given what decided against it.
pub(crate) fn for_decider(decider: &Decider, name: &QualifiedName, kind: CallKind) -> Vec<String> {
    let server = one_line(name.server.as_str());
    let tool = one_line(name.tool.as_str());
    match decider {
        Decider::Rule(source) => for_rule(source, name, kind),
        Decider::Listed(ListName::DisabledTools, entry) => vec![format!(
            "to allow it, take `{}` out of `disabled_tools` of server `{server}` at {}",
            one_line(&entry.glob),
            entry.origin
        )],
        Decider::NotListed(origin) => {
            vec![format!("to allow it, add `{tool}` to `tools` of server `{server}` at {origin}")]
        }
        // Lists and claims speak of tools alone: nothing else comes to be decided here.
        Decider::Default(origin) | Decider::AnnotatedWriting(origin) => vec![
            format!("to allow it for good, add `{tool}` to `write_tools` of server `{server}` at {origin}"),
            format!("or add a rule {} to your own configuration", allow_rule(name, kind)),
        ],
        Decider::Unopened(_) => {
            vec![format!("to open it, add a rule {} to your own configuration", allow_rule(name, kind))]
        }
        Decider::ServerUnknown => {
            vec![format!("add server `{server}`, or look at the configured ones: `helve servers`")]
        }
        Decider::ServerDisabled(origin) => {
            vec![format!("to use it, switch server `{server}` on at {origin}: `helve enable {server}`")]
        }
        Decider::ServerUntrusted(origin) => {
            vec![format!("look at what {origin} would run, then trust it: `helve trust`")]
        }
        Decider::ChangedSincePinned => {
            let name = one_line(&name.to_string()).into_owned();
            vec![format!("`helve pin {name}` shows what changed, and asks whether to accept it")]
        }
        Decider::Listed(ListName::Tools | ListName::WriteTools, _)
        | Decider::TrustedAnnotation(_)
        | Decider::Reading(_)
        | Decider::Typed(_)
        | Decider::Approved(_)
        | Decider::Declined
        | Decider::AllowAll => Vec::new(),
    }
}

fn once(refusal: &Refusal) -> String {
    match refusal.kind() {
        CallKind::Tool => format!(
            "to allow it once, run `helve call {}` at a terminal and answer, or add `--yes`",
            one_line(&refusal.name().to_string())
        ),
        CallKind::Resource | CallKind::Prompt | CallKind::Method => {
            "to allow it once, ask for it at a terminal and answer".to_owned()
        }
    }
}

fn for_rule(source: &SourcedRule, name: &QualifiedName, kind: CallKind) -> Vec<String> {
    let rule = &source.rule;
    let (allow, origin) = (allow_rule(name, kind), &rule.origin);
    let for_good = if rule.action == Action::Ask { "to allow it for good" } else { "to allow it" };
    match (rule.layer, source.trust, rule.action) {
        (_, Trust::Untrusted, _) => vec![
            format!("{for_good}, change that rule at {origin}: a project may narrow what you allow"),
            format!("or overrule it with a rule {allow} in a file named with `--config`"),
        ],
        (Layer::User, _, Action::Deny) => vec![
            format!("{for_good}, change that rule or put a rule {allow} before it, at {origin}"),
            "no other file can overrule it: a deny of your own configuration is final".to_owned(),
        ],
        _ => vec![format!("{for_good}, change that rule or put a rule {allow} before it, at {origin}")],
    }
}

/// ``{ tool = "github/create_issue", action = "allow" }``, as it stands in a `helve.toml`.
fn allow_rule(name: &QualifiedName, kind: CallKind) -> String {
    let glob = format!("{}/{}", escape(&Spelling::Slash.render_server(&name.server)), escape(name.tool.as_str()));
    let quoted = glob.replace('\\', "\\\\").replace('"', "\\\"");
    let kind = match kind {
        CallKind::Tool => String::new(),
        CallKind::Resource | CallKind::Prompt | CallKind::Method => format!("kind = \"{kind}\", "),
    };
    format!("`{{ tool = \"{}\", {kind}action = \"allow\" }}`", one_line(&quoted))
}
