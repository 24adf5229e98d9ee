//! Rules: in the order in which they are asked, with what they decided lately; why a call is decided as it is; what a draft
//! would decide otherwise about the recorded calls; and answers for always, taken back.

use std::collections::HashMap;
use std::time::Duration;

use helve_config::{Configuration, FileContent};
use helve_model::json::RawJson;
use helve_model::name::parse_slash;
use helve_model::{Action, CallKind, Principal};
use helve_policy::{Approval, CalledBy, Caller, Explanation, RuleSet, SourcedRule, Subject, ToolPolicy, Whereabouts};
use helve_setup::store::approvals::ApprovalFile;
use helve_store::{Moment, NewChange, RuleUse};

use super::files::{FileText, version_of};
use super::settings;
use crate::actor::Actor;
use crate::error::{HubError, TextProblem};
use crate::hub::Hub;

/// How far back decisions are looked at.
pub(crate) const WINDOW: Duration = Duration::from_secs(30 * 24 * 3600);

/// So many decisions that would be others are told.
const MOST_FLIPS: usize = 100;

/// A rule, and what it decided lately.
#[derive(Debug, Clone)]
pub(crate) struct RuleInfo {
    pub(crate) rule: SourcedRule,
    pub(crate) calls: u64,
    pub(crate) last: Option<Moment>,
}

/// A decision that would be another one.
#[derive(Debug, Clone)]
pub(crate) struct Flip {
    pub(crate) principal: String,
    pub(crate) tool: String,
    pub(crate) calls: u64,
    /// `None`: it depends on the arguments, which were not recorded.
    pub(crate) before: Option<Action>,
    pub(crate) after: Option<Action>,
    /// What would decide.
    pub(crate) because: String,
}

/// What a draft would change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Foreseen {
    /// Calls that were looked at.
    pub(crate) calls: u64,
    pub(crate) flips: Vec<Flip>,
    pub(crate) left_out: usize,
    /// What is wrong with the draft.
    pub(crate) problems: Vec<TextProblem>,
}

/// All rules, in the order in which they are asked.
pub(crate) fn list(hub: &Hub, _actor: &Actor) -> Result<Vec<RuleInfo>, HubError> {
    let rules = hub.setup.rules_in_order(&hub.setup.read_configuration())?;
    let used = hub.store.used_rules(hub.now().before(WINDOW))?;
    let mut by_rule: HashMap<String, (u64, Moment)> = HashMap::new();
    for RuleUse { rule, calls, last } in used {
        let known = by_rule.entry(without_line(&rule).to_owned()).or_insert((0, last));
        *known = (known.0 + calls, known.1.max(last));
    }
    let info = |rule: SourcedRule| {
        let found = by_rule.get(without_line(&rule.to_string())).copied();
        RuleInfo { rule, calls: found.map_or(0, |(calls, _)| calls), last: found.map(|(_, last)| last) }
    };
    Ok(rules.into_iter().map(info).collect())
}

/// What decided, whatever its line was: lines move when a file is edited.
fn without_line(decider: &str) -> &str {
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut rest = decider;
    while let Some((before, number)) = rest.rsplit_once(':')
        && is_number(&number)
    {
        rest = before;
    }
    rest
}

/// The answers that people gave for always.
pub(crate) fn kept(hub: &Hub, _actor: &Actor) -> Result<Vec<(String, Approval)>, HubError> {
    let Ok(stores) = hub.setup.stores() else { return Ok(Vec::new()) };
    let file: ApprovalFile = stores.read()?;
    Ok(file.approvals().map(|approval| (id_of(&approval), approval)).collect())
}

/// Takes an answer back: from now on it is asked again.
pub(crate) fn forget(hub: &Hub, actor: &Actor, id: &str) -> Result<String, HubError> {
    let stores = hub.setup.stores()?;
    let taken = stores.update(|file: &mut ApprovalFile| file.revoke(|approval| id_of(approval) == id))?;
    hub.host().forget_approvals(|approval| id_of(approval) == id);
    let Some(first) = taken.first() else {
        return Err(HubError::not_found("there is no such answer any more"));
    };
    let object = format!("the answer for {}", first.tool);
    hub.store.add_change(NewChange {
        at: hub.now(),
        actor: actor.name(),
        verb: "took back".to_owned(),
        object: object.clone(),
        ..NewChange::default()
    })?;
    Ok(object)
}

fn id_of(approval: &Approval) -> String {
    let Approval { principal, tool, kind, pattern, definition, server, .. } = approval;
    let all = format!("{} {tool} {kind} {pattern:?} {definition:?} {server:?}", principal.id());
    version_of(&all).chars().take(16).collect()
}

/// The whole chain of the decision about a call, as an agent would make it.
pub(crate) fn explain(
    hub: &Hub,
    _actor: &Actor,
    tool: &str,
    arguments: &RawJson,
    whose: &Principal,
) -> Result<Explanation, HubError> {
    let entry = hub.host().resolve(tool)?;
    Ok(entry.policy().explain(CalledBy::new(Caller::Agent, whose), arguments, &Whereabouts::default()))
}

/// Whose call is meant: `local`, or `token:NAME`.
pub(crate) fn principal(word: &str) -> Result<Principal, HubError> {
    match word.strip_prefix("token:") {
        Some(name) if !name.is_empty() => Ok(Principal::token(name)),
        None if matches!(word, "" | "local") => Ok(Principal::LOCAL),
        _ => Err(HubError::invalid(format!("{word:?} is neither `local` nor `token:NAME`"))),
    }
}

/// The rules that are asked about a tool, whatever their lines are.
fn asked(policy: &ToolPolicy) -> Vec<String> {
    let explanation = policy.explain(Caller::Agent, &RawJson::empty_object(), &Whereabouts::default());
    explanation.steps.iter().map(|step| without_line(&step.what).to_owned()).collect()
}

/// What a draft of a file would decide otherwise about the calls of the last time.
pub(crate) fn what_would_change(hub: &Hub, _actor: &Actor, file: &FileText, sent: &str) -> Result<Foreseen, HubError> {
    let (content, problems) = settings::draft(hub, file, sent)?;
    foresee(hub, &hub.setup.read_configuration(), file, &content, problems)
}

/// The same for what a file would say then.
pub(super) fn foresee(
    hub: &Hub,
    configuration: &Configuration,
    file: &FileText,
    content: &FileContent,
    mut problems: Vec<TextProblem>,
) -> Result<Foreseen, HubError> {
    let (now, _) = hub.setup.rules_if(configuration, &file.content(hub))?;
    let (then, found) = hub.setup.rules_if(configuration, content)?;
    problems.extend(found.into_iter().filter_map(|problem| match &problem.origin {
        helve_model::Origin::File { path, line, column } if **path == *file.place.path => Some(TextProblem {
            at: Some((*line, *column)),
            message: problem.message,
            hints: vec![problem.hint],
            is_warning: false,
        }),
        _ => None,
    }));
    let snapshot = hub.host().snapshot();
    let mut foreseen = Foreseen { problems, ..Foreseen::default() };
    for usage in hub.store.used_tools(hub.now().before(WINDOW))? {
        let Some(name) = parse_slash(&usage.tool) else { continue };
        foreseen.calls += usage.calls;
        let policy = |rules: &RuleSet| {
            let known = snapshot.find(&name).map(|entry| Subject::tool(&name.server, entry.definition()));
            rules.for_tool(known.unwrap_or_else(|| Subject::unknown(name.clone(), CallKind::Tool)))
        };
        let (old, new) = (policy(&now), policy(&then));
        let whose = Principal::from_id(&usage.principal).unwrap_or(Principal::LOCAL);
        let by = || CalledBy::new(Caller::Agent, &whose);
        let (before, after) = (old.foresee(by()), new.foresee(by()));
        let action = |found: &Option<(Action, helve_policy::Ground)>| found.as_ref().map(|(action, _)| *action);
        let is_same = match (action(&before), action(&after)) {
            // Both depend on the arguments: the same, if the same rules are asked.
            (None, None) => asked(&old) == asked(&new),
            (before, after) => before == after,
        };
        if is_same {
            continue;
        }
        if foreseen.flips.len() >= MOST_FLIPS {
            foreseen.left_out += 1;
            continue;
        }
        foreseen.flips.push(Flip {
            principal: usage.principal,
            tool: usage.tool,
            calls: usage.calls,
            before: action(&before),
            after: action(&after),
            because: after
                .map_or_else(|| "it depends on the arguments".to_owned(), |(_, ground)| ground.decider.to_string()),
        });
    }
    Ok(foreseen)
}
