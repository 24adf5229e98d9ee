//! *Always*: a rule made of a call that waits. Its text and what it would have decided lately are shown first; then it is saved
//! like any edit of the person's own file, and the call that waits goes on.

use helve_config::edit::{NewRule, RuleChange, edit_rules_text};
use helve_config::{Configuration, FilePlace, read_text};
use helve_model::json::RawJson;
use helve_model::name::QualifiedName;
use helve_model::text::is_invisible;
use helve_model::{Action, CallKind, HIDDEN, Origin, Principal, Rule, ServerName, ToolName, Who};
use helve_policy::{CalledBy, Caller, SourcedRule, Subject, Trust, Whereabouts, argument_text, rule_text};
use helve_setup::place_in_file;
use helve_setup::store::written_rules::WrittenRules;
use helve_store::{Approval, ApprovalState};
use serde::Deserialize;
use serde_json::Value;

use super::add;
use super::approvals::{self, ApprovalInfo};
use super::files::{self, Edit, FileText};
use super::rules::{self, Foreseen};
use super::servers::edit_error;
use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;

/// So many arguments are offered to be held fast.
const MOST_ARGUMENTS: usize = 8;

/// The longest value that is offered.
const LONGEST_VALUE: usize = 200;

/// What somebody wants to be always so.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AlwaysRequest {
    /// For whom: `caller` or `everybody`; empty: as it is proposed.
    pub(crate) who: String,
    /// The argument that has to be as it is in the call that waits; `*`: none; empty: as it is proposed.
    pub(crate) argument: String,
    /// The version of the file it goes to.
    pub(crate) version: String,
}

/// A rule, before it is saved.
#[derive(Debug)]
pub(crate) struct AlwaysDraft {
    pub(crate) info: ApprovalInfo,
    /// The caller as a rule names it; `None`: no rule can.
    pub(crate) caller: Option<Who>,
    /// For the caller alone.
    pub(crate) is_for_caller: bool,
    /// Arguments that can be held fast, with their values.
    pub(crate) arguments: Vec<(String, String)>,
    /// The one that is.
    pub(crate) argument: Option<String>,
    /// The rule as it would be written.
    pub(crate) text: String,
    pub(crate) file: FileText,
    /// Stricter rules that it would stand before.
    pub(crate) overrules: Vec<String>,
    /// What would still ask about this very call, or refuse it.
    pub(crate) held_by: Option<String>,
    pub(crate) foreseen: Foreseen,
    rule: NewRule,
    after: String,
}

/// What came of saving it.
#[derive(Debug)]
pub(crate) struct Always {
    pub(crate) change: Option<i64>,
    /// The rule in one line.
    pub(crate) rule: String,
    /// The call that waited. Whoever was too late reads who was first; the rule counts nevertheless.
    pub(crate) call: Result<Approval, HubError>,
}

/// The rule that would be saved. Nothing is decided and nothing written.
pub(crate) fn foresee(hub: &Hub, actor: &Actor, id: &str, request: &AlwaysRequest) -> Result<AlwaysDraft, HubError> {
    let info = approvals::one(hub, actor, id)?;
    let asked = &info.approval.asked;
    approvals::may_answer(actor, &info.approval)?;
    if info.approval.state != ApprovalState::Pending || asked.ends <= hub.now() {
        return Err(HubError::conflict(format!("{} does not wait any more", info.approval.id))
            .hint("a rule can still be written on the page Rules"));
    }
    let target = add::targets(hub).into_iter().next();
    let target = target.ok_or_else(|| HubError::conflict("there is no file of your own that a rule could go to"))?;
    let file = files::open(hub, &target.place)?;
    let caller = caller(&asked.principal);
    let arguments = offered(info.arguments.as_deref());
    // What could do much harm is allowed as narrowly as it can be said, unless the person says otherwise.
    let is_careful = asked.needs_page || asked.risk == helve_model::Risk::High.to_string();
    let is_for_caller = match request.who.as_str() {
        "" | "caller" => caller.is_some(),
        "everybody" => false,
        other => return Err(HubError::invalid(format!("{other:?} is neither `caller` nor `everybody`"))),
    };
    let argument = match request.argument.as_str() {
        "" if is_careful => arguments.first(),
        "" | "*" => None,
        name => Some(arguments.iter().find(|(key, _)| key == name).ok_or_else(|| {
            HubError::invalid(format!("the argument {name:?} cannot be held fast")).hint("take one that is offered")
        })?),
    };
    let name = name_of(asked)?;
    let kind = kind_of(&asked.kind)?;
    let rule = NewRule {
        tool: rule_text(&name),
        pattern: argument.map(|(key, value)| argument_text(key, value)),
        kind: (kind != CallKind::Tool).then_some(kind),
        who: caller.iter().filter(|_| is_for_caller).cloned().collect(),
        action: Action::Allow,
    };
    let configuration = hub.setup.read_configuration();
    let (after, overrules) = with_rule(hub, &configuration, &target.place, file.plain(), &rule)?;
    let content = read_text(&target.place, &after, hub.setup.known_to_configuration());
    let held_by = still_held(hub, &configuration, &content, &name, kind, &info)?;
    let foreseen = rules::foresee(hub, &configuration, &file, &content, files::problems(&content))?;
    let text = edit_rules_text(&target.place, "", &RuleChange::Insert { rule: rule.clone(), position: 0 });
    Ok(AlwaysDraft {
        argument: argument.map(|(key, _)| key.clone()),
        caller,
        is_for_caller,
        text: text.map_err(edit_error)?,
        overrules,
        held_by,
        foreseen,
        rule,
        after,
        arguments,
        file,
        info,
    })
}

/// Saves the rule that was shown, and lets the call that waits go on.
pub(crate) fn make(hub: &Hub, actor: &Actor, id: &str, request: &AlwaysRequest) -> Result<Always, HubError> {
    let draft = foresee(hub, actor, id, request)?;
    if let Some(held_by) = &draft.held_by {
        return Err(HubError::conflict(format!("the rule would not let this call through: {held_by}")));
    }
    let said = words(&draft.rule);
    let place = &draft.file.place;
    let edit = Edit {
        place,
        version: Some(&request.version),
        make: &|text| {
            if text == draft.file.plain() {
                return Ok(draft.after.clone());
            }
            with_rule(hub, &hub.setup.read_configuration(), place, text, &draft.rule).map(|(text, _)| text)
        },
        verb: "added",
        object: format!("rule {said}"),
        undoes: None,
        sandbox: None,
        sent: None,
    };
    let change = files::write(hub, actor, &edit)?;
    if let Ok(stores) = hub.setup.stores() {
        stores.update(|written: &mut WrittenRules| written.add(&place.path, &draft.rule))?;
    }
    Ok(Always { change, rule: said, call: approvals::allow(hub, actor, &draft.info.approval.id) })
}

/// A text with the rule in its place, and what it would stand before.
fn with_rule(
    hub: &Hub,
    configuration: &Configuration,
    place: &FilePlace,
    text: &str,
    rule: &NewRule,
) -> Result<(String, Vec<String>), HubError> {
    let own = read_text(place, text, hub.setup.known_to_configuration()).rules;
    let as_read = Rule {
        pattern: rule.pattern.clone(),
        kind: rule.kind,
        who: rule.who.clone(),
        ..Rule::new(&rule.tool, rule.action, Origin::Program, place.layer)
    };
    let (position, overruled) = place_in_file(configuration, place, own, &as_read);
    let change = RuleChange::Insert { rule: rule.clone(), position };
    let after = edit_rules_text(place, text, &change).map_err(edit_error)?;
    let said = |rule: &Rule| {
        let text = SourcedRule { rule: rule.clone(), trust: Trust::Trusted }.to_string();
        let shown = hub.setup.environment().shown_origin(&rule.origin);
        text.replace(&rule.origin.to_string(), &shown)
    };
    Ok((after, overruled.iter().map(said).collect()))
}

/// What would not let this very call through, although the rule is there.
fn still_held(
    hub: &Hub,
    configuration: &Configuration,
    content: &helve_config::FileContent,
    name: &QualifiedName,
    kind: CallKind,
    info: &ApprovalInfo,
) -> Result<Option<String>, HubError> {
    let (then, _) = hub.setup.rules_if(configuration, content)?;
    let snapshot = hub.host().snapshot();
    let known = snapshot.find(name).filter(|_| kind == CallKind::Tool);
    let subject = known.map(|entry| Subject::tool(&name.server, entry.definition()));
    let policy = then.for_tool(subject.unwrap_or_else(|| Subject::unknown(name.clone(), kind)));
    let whose = Principal::from_id(&info.approval.asked.principal).unwrap_or(Principal::LOCAL);
    let arguments = info.arguments.as_deref().and_then(|text| RawJson::checked(text.to_owned()).ok());
    let arguments = arguments.unwrap_or_else(RawJson::empty_object);
    let explained = policy.explain(CalledBy::new(Caller::Agent, &whose), &arguments, &Whereabouts::default());
    if explained.action == Action::Allow {
        return Ok(None);
    }
    let decider = &explained.ground.decider;
    let place = decider.origin().map(|origin| format!(" ({})", hub.setup.environment().shown_origin(origin)));
    Ok(Some(format!("{decider}{} comes first", place.unwrap_or_default())))
}

/// The caller as a rule can name it.
fn caller(principal: &str) -> Option<Who> {
    match Who::parse(principal)? {
        Who::Token(name) if !name.contains(['*', '?', '[', ']', '{', '}', '\\']) => Some(Who::Token(name)),
        Who::Local => Some(Who::Local),
        Who::Token(_) | Who::Agent(_) => None,
    }
}

fn name_of(asked: &helve_store::NewApproval) -> Result<QualifiedName, HubError> {
    let server = ServerName::new(&asked.server).map_err(|error| HubError::invalid(error.to_string()))?;
    Ok(QualifiedName { server, tool: ToolName::new(&asked.tool) })
}

fn kind_of(word: &str) -> Result<CallKind, HubError> {
    let kinds = [CallKind::Tool, CallKind::Resource, CallKind::Prompt, CallKind::Method];
    let found = kinds.into_iter().find(|kind| kind.to_string() == word);
    found.ok_or_else(|| HubError::invalid(format!("no rule speaks of {word:?}")))
}

/// The arguments that a rule can hold fast: words on one line. A value that a file would take for a reference, or that is
/// hidden, is none.
fn offered(arguments: Option<&str>) -> Vec<(String, String)> {
    let Some(Ok(Value::Object(members))) = arguments.map(serde_json::from_str) else { return Vec::new() };
    let is_key = |key: &str| {
        !key.is_empty() && key.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.'))
    };
    let is_plain = |text: &str| {
        !text.is_empty()
            && text.len() <= LONGEST_VALUE
            && !text.contains(['$', '\n'])
            && !text.contains(HIDDEN)
            && !text.chars().any(|letter| letter.is_control() || is_invisible(letter))
    };
    let words = members.into_iter().filter_map(|(key, value)| match value {
        Value::String(text) if is_key(&key) && is_plain(&text) => Some((key, text)),
        _ => None,
    });
    words.take(MOST_ARGUMENTS).collect()
}

/// The rule in one line.
fn words(rule: &NewRule) -> String {
    let with = rule.pattern.as_ref().map(|pattern| format!(" with {pattern}")).unwrap_or_default();
    let whose: Vec<String> = rule.who.iter().map(ToString::to_string).collect();
    let whose = if whose.is_empty() { String::new() } else { format!(" for {}", whose.join(", ")) };
    format!("{} {}{with}{whose}", rule.action, rule.tool)
}

#[cfg(test)]
#[path = "always_tests.rs"]
mod tests;
