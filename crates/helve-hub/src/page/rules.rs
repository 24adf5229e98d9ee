//! The rules: in order and in words, an editor, what a draft would change, why a call is decided as it is.

use helve_model::json::RawJson;
use helve_model::{Action, CallKind, Layer, Origin, Principal, Rule};
use helve_page::view::{
    ChainStep, Choice, Decision, Explain, Flip, KeptAnswer, Moment as Shown, Problem, RuleRow, Rules, Verdict,
    WhatWouldChange,
};
use helve_policy::{Approval, Decider, Explanation, Finding, SourcedRule, Trust};

use super::shown::moment;
use super::{Fields, add, field, settings};
use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;
use crate::verbs;
use crate::verbs::files::{self, FileText};
use crate::verbs::rules::{self, Foreseen, RuleInfo};

/// A draft that was sent and not saved.
pub(super) struct Sent<'a> {
    pub(super) text: &'a str,
    pub(super) version: &'a str,
    pub(super) foreseen: Option<Foreseen>,
    pub(super) wrong: Vec<Problem>,
}

pub(super) fn view(hub: &Hub, query: &Fields, sent: Option<Sent<'_>>) -> Result<Rules, HubError> {
    let now = hub.now();
    let configuration = hub.setup.read_configuration();
    let edited = field(query, "edit");
    let files: Vec<FileText> = files::list(hub, &configuration);
    let is_rules_file = |file: &&FileText| file.place.dialect.holds_rules();
    let choice = |file: &FileText| Choice {
        value: file.name.clone(),
        label: match file.place.layer {
            Layer::User => "your file".to_owned(),
            Layer::Project => format!("the project's {}", file.name),
            _ => file.name.clone(),
        },
        help: Some(file.name.clone()),
        is_chosen: file.name == edited,
    };
    let mut rules_files: Vec<&FileText> = files.iter().filter(is_rules_file).collect();
    // The person's own first: most rules belong there.
    rules_files.sort_by_key(|file| file.place.layer != Layer::User);
    let mut view = Rules {
        rules: rules::list(hub, &Actor::Session)?.iter().map(|info| row(hub, info, now)).collect(),
        otherwise: "Where no rule says anything, a tool is asked for, and what only reads may be read.".to_owned(),
        kept: rules::kept(hub, &Actor::Session)?.iter().map(|(id, approval)| kept(id, approval)).collect(),
        files: rules_files.into_iter().map(choice).collect(),
        explain: explain(hub, query),
        ..Rules::default()
    };
    if !edited.is_empty() {
        let file = files.iter().find(|file| file.name == edited);
        let file = file.ok_or_else(|| HubError::not_found(format!("{edited:?} is not a file that is edited here")))?;
        let (text, wrong, foreseen) = match sent {
            Some(Sent { text, version, foreseen, wrong }) => (Some((text, version)), wrong, foreseen),
            None => (None, Vec::new(), None),
        };
        let mut problems = wrong;
        problems.extend(foreseen.iter().flat_map(|foreseen| foreseen.problems.iter().map(add::problem)));
        view.editor = Some(settings::editor(hub, file, text, problems));
        view.what_would_change = foreseen.map(|foreseen| changes(hub, &foreseen));
    }
    Ok(view)
}

pub(super) fn changes(hub: &Hub, foreseen: &Foreseen) -> WhatWouldChange {
    let flip = |flip: &rules::Flip| {
        let (server, tool) = flip.tool.split_once('/').unwrap_or(("", flip.tool.as_str()));
        Flip {
            who: flip.principal.clone(),
            server: server.to_owned(),
            tool: tool.to_owned(),
            calls: flip.calls,
            before: flip.before.map_or(Verdict::Undecided, verdict),
            after: flip.after.map_or(Verdict::Undecided, verdict),
            rule: without_place(hub, &flip.because, None),
            is_maybe: flip.before.is_none() || flip.after.is_none(),
        }
    };
    WhatWouldChange {
        calls: foreseen.calls,
        window: "the last 30 days".to_owned(),
        flips: foreseen.flips.iter().map(flip).collect(),
        left_out: foreseen.left_out as u64,
    }
}

pub(super) const fn verdict(action: Action) -> Verdict {
    match action {
        Action::Allow => Verdict::Allow,
        Action::Ask => Verdict::Ask,
        Action::Deny => Verdict::Deny,
    }
}

fn row(hub: &Hub, info: &RuleInfo, now: helve_store::Moment) -> RuleRow {
    let SourcedRule { rule, trust } = &info.rule;
    let does_not_count = *trust == Trust::Untrusted && rule.action == Action::Allow;
    RuleRow {
        verdict: verdict(rule.action),
        words: words(rule),
        written: written(rule),
        place: hub.setup.environment().shown_origin(&rule.origin),
        hits: info.calls,
        last_hit: info.last.map(|at| moment(at, now)),
        shadowed: does_not_count.then(|| "does not count: the project is not trusted, and cannot allow".to_owned()),
    }
}

/// A rule as a person would say it.
fn words(rule: &Rule) -> String {
    let (server, tool) = rule.tool.split_once('/').unwrap_or((rule.tool.as_str(), "*"));
    let kind = match rule.kind.unwrap_or(CallKind::Tool) {
        CallKind::Tool => "tool",
        CallKind::Resource => "resource",
        CallKind::Prompt => "prompt",
        CallKind::Method => "method",
    };
    let is_glob = |text: &str| text.contains(['*', '?', '[', '{']);
    let what = match (tool, server) {
        ("*" | "**", "*" | "**") => format!("every {kind}"),
        ("*" | "**", server) => format!("every {kind} of {server}"),
        (tool, "*" | "**") if is_glob(tool) => format!("every {kind} called {tool}"),
        (tool, "*" | "**") => format!("the {kind} {tool} of any server"),
        (tool, server) if is_glob(tool) => format!("every {kind} of {server} called {tool}"),
        (tool, server) => format!("the {kind} {tool} of {server}"),
    };
    let with = rule.pattern.as_ref().map(|pattern| format!(" with {pattern}")).unwrap_or_default();
    let risk = match (rule.risk, rule.action) {
        (None, _) => String::new(),
        (Some(risk), Action::Allow) => format!(", up to {risk} risk"),
        (Some(risk), _) => format!(", from {risk} risk up"),
    };
    let whose = match rule.who.as_slice() {
        [] => String::new(),
        who => format!(", for {}", who.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")),
    };
    match rule.action {
        Action::Allow => format!("{what}{with}{risk} may run{whose}"),
        Action::Ask => format!("ask before {what}{with}{risk} runs{whose}"),
        Action::Deny => format!("{what}{with}{risk} never runs{whose}"),
    }
}

fn written(rule: &Rule) -> String {
    let pattern = rule.pattern.as_ref().map(|pattern| format!(" {pattern}")).unwrap_or_default();
    format!("{}{pattern}", rule.tool)
}

fn kept(id: &str, approval: &Approval) -> KeptAnswer {
    let bound = match &approval.pattern {
        Some(pattern) => format!("calls with {pattern}, as the tool is defined now"),
        None => "every call, as the tool is defined now".to_owned(),
    };
    KeptAnswer {
        id: id.to_owned(),
        server: approval.tool.server.to_string(),
        tool: approval.tool.tool.to_string(),
        who: if approval.principal == Principal::LOCAL {
            "everybody".to_owned()
        } else {
            approval.principal.to_string()
        },
        since: Shown::default(),
        bound_to: bound,
    }
}

fn explain(hub: &Hub, query: &Fields) -> Explain {
    let text = |key: &str| field(query, key).to_owned();
    let mut view =
        Explain { server: text("server"), tool: text("tool"), arguments: text("arguments"), ..Explain::default() };
    view.who = whose(hub, field(query, "as"));
    if view.server.is_empty() && view.tool.is_empty() {
        return view;
    }
    let arguments = if view.arguments.trim().is_empty() { "{}" } else { view.arguments.as_str() };
    let explained = RawJson::checked(arguments)
        .map_err(|error| HubError::invalid(format!("the arguments are not valid JSON: {error}")))
        .and_then(|arguments| {
            let (tool, whose) = (format!("{}/{}", view.server, view.tool), rules::principal(field(query, "as"))?);
            rules::explain(hub, &Actor::Session, &tool, &arguments, &whose)
        });
    match explained {
        Ok(explanation) => {
            view.decision = Some(decision(hub, &explanation));
            view.steps = steps(hub, &explanation);
        }
        Err(error) => view.problem = Some(error.message().to_owned()),
    }
    view
}

/// Everybody whose call can be asked about.
fn whose(hub: &Hub, chosen: &str) -> Vec<Choice> {
    let tokens = verbs::tokens::list(hub, &Actor::Session).unwrap_or_default();
    let named =
        tokens.iter().filter(|token| token.revoked.is_none()).map(|token| format!("token:{}", token.token.name));
    let choice = |value: String| {
        let is_chosen = value == chosen || (chosen.is_empty() && value == "local");
        Choice { label: value.clone(), value, help: None, is_chosen }
    };
    std::iter::once("local".to_owned()).chain(named).map(choice).collect()
}

/// A decision with what decided.
pub(super) fn decision(hub: &Hub, explanation: &Explanation) -> Decision {
    decided(hub, explanation.action, &explanation.ground.decider)
}

/// The same for a decision that is foreseen.
pub(super) fn decided(hub: &Hub, action: Action, decider: &Decider) -> Decision {
    Decision {
        verdict: verdict(action),
        because: without_place(hub, &decider.to_string(), decider.origin()),
        place: decider.origin().map(|origin| hub.setup.environment().shown_origin(origin)),
    }
}

/// What a text says without the place that stands beside it, and other places as people write them.
pub(super) fn without_place(hub: &Hub, text: &str, origin: Option<&Origin>) -> String {
    let place = origin.map(|origin| format!(" at {origin}")).unwrap_or_default();
    let text = if place.is_empty() { text.to_owned() } else { text.replace(&place, "") };
    match hub.setup.environment().home() {
        Some(home) => text.replace(&format!("{}/", home.display()), "~/"),
        None => text,
    }
}

fn steps(hub: &Hub, explanation: &Explanation) -> Vec<ChainStep> {
    let step = |step: &helve_policy::Step| ChainStep {
        what: without_place(hub, &step.what, step.origin.as_ref()),
        said: match &step.finding {
            Finding::Decides(action) => format!("decides: {action}"),
            Finding::Overruled(reason) | Finding::Ignored(reason) | Finding::NoMatch(reason) => {
                without_place(hub, reason, None)
            }
            Finding::NotReached => "not asked".to_owned(),
        },
        place: step.origin.as_ref().map(|origin| hub.setup.environment().shown_origin(origin)),
        decided: matches!(step.finding, Finding::Decides(_)),
    };
    explanation.steps.iter().map(step).collect()
}
