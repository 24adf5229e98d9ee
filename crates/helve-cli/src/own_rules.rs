//! Rules that a person writes by a command: what they mean, where they go in the person's own file, and what then holds.

use std::io::ErrorKind;

use helve_config::edit::{NewRule, RuleChange, edit_rules, edit_rules_text};
use helve_config::trust::hash_content;
use helve_config::{Configuration, Dialect, FilePlace, read_text};
use helve_model::name::{PlaceName, Spelling, parse_written};
use helve_model::text::one_line;
use helve_model::{Action, CallKind, ErrorCode, Layer, Origin, QualifiedName, Rule, ServerName, ToolName};
use helve_policy::{Caller, Decider, Ground, ListName, RuleSet, SourcedRule, Subject, ToolPolicy, Trust, rule_text};
use helve_setup::store::written_rules::WrittenRules;
use helve_setup::{Freshness, file_of, place_in_file};
use serde_json::{Value, json};

use crate::catalog;
use crate::context::Context;
use crate::failure::Failure;
use crate::place::{self, Scope};
use crate::printer::Line;
use crate::prompt;
use crate::spelling::own_spelling;

/// So many tools are named one by one.
const SHOWN_TOOLS: usize = 8;

/// What a rule is about, as `allow`, `ask` and `deny` have it.
#[derive(Debug, clap::Args)]
pub(crate) struct RuleArgs {
    /// Which: server/tool in any spelling, a server, or a glob in quotes: 'github/list_*'
    #[arg(value_name = "TOOL")]
    tool: String,

    /// Only with such arguments: key=glob, or a glob over any text: 'path=/srv/**'
    #[arg(value_name = "PATTERN")]
    pattern: Option<String>,

    /// What it names
    #[arg(long, value_enum, value_name = "KIND", default_value_t)]
    kind: Kind,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    #[default]
    Tool,
    Resource,
    Prompt,
    Method,
}

/// Whether the person has to say yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// It only narrows what may run.
    NotNeeded,
    /// They said so with the command.
    Given,
    /// They are asked.
    Wanted,
}

/// What is planned, before anything is written.
struct Draft {
    place: FilePlace,
    text: String,
    rule: NewRule,
    change: RuleChange,
    /// Stricter rules that lose what the new one speaks of.
    overrules: Vec<Rule>,
    /// What would hold.
    effect: Effect,
}

/// What holds for calls of agents.
enum Effect {
    /// For one tool, resource or prompt.
    One(QualifiedName, Option<(Action, Ground)>),
    /// For the tools that are known now.
    Several(Vec<(QualifiedName, Option<(Action, Ground)>)>),
}

/// Writes a rule into the person's own file, or says why not.
pub(crate) fn write(context: &Context, args: &RuleArgs, action: Action, consent: Consent) -> Result<(), Failure> {
    let configuration = context.load()?;
    context.setup.check_rules_are_known(&configuration)?;
    let draft = draft(context, &configuration, args, action)?;
    if let Some((action, ground)) = draft.effect.of_one()
        && *action == draft.rule.action
        && draft.holds_already(context, &configuration)?
    {
        context.printer.say(&Line::plain(format!("nothing to do: {}", because(context, *action, ground))));
        return report(context, &draft, None);
    }
    if let Some(held) = draft.effect.held_by_own(action) {
        return Err(held_back(context, &draft, &held));
    }
    for rule in &draft.overrules {
        let what = SourcedRule { rule: rule.clone(), trust: Trust::Trusted };
        context.printer.warning(format!("this overrules {what}"));
    }
    ask(context, &draft, consent)?;
    let edited = edit_rules(&draft.place, Some(hash_content(draft.text.as_bytes())), &draft.change)
        .map_err(|error| Failure::edit(&error, &context.env.shown(&draft.place.path)))?;
    if let Ok(stores) = context.stores() {
        stores.update(|written: &mut WrittenRules| written.add(&draft.place.path, &draft.rule))?;
    }
    let content = read_text(&draft.place, &edited.after, context.environment());
    let RuleChange::Insert { position, .. } = draft.change else { return Ok(()) };
    let origin = content.rules.get(position).map(|rule| rule.origin.clone());
    let place = origin.as_ref().map_or_else(|| context.env.shown(&draft.place.path), |origin| context.shown(origin));
    context.printer.say(&Line::plain(format!("{place}: {}", spelled(&draft.rule))));
    draft.effect.tell(context, action);
    report(context, &draft, origin.as_ref())
}

/// The file that rules are written to: the person's own, or one that they named.
pub(crate) fn file(context: &Context) -> Result<FilePlace, Failure> {
    match place::named_file(context)? {
        Some(place) if place.dialect == Dialect::Helve => Ok(place),
        Some(place) => {
            let file = context.env.shown(&place.path);
            Err(Failure::new(ErrorCode::Config, format!("{file} is not helve's own file, and holds no rules of it"))
                .hint("leave out --config: the rule then goes to your own helve.toml"))
        }
        None => place::own_file(context, Scope::User),
    }
}

/// The text of a file; none is an empty one.
pub(crate) fn text_of(place: &FilePlace) -> Result<String, Failure> {
    match fs_err::read_to_string(&place.path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Failure::file(&error)),
    }
}

/// A rule in one line.
pub(crate) fn spelled(rule: &NewRule) -> String {
    let kind = rule.kind.map(|kind| format!("{kind} ")).unwrap_or_default();
    let pattern = rule.pattern.as_ref().map(|pattern| format!(" with `{}`", one_line(pattern))).unwrap_or_default();
    let who: Vec<String> = rule.who.iter().map(|who| format!("`{}`", one_line(&who.to_string()))).collect();
    let whose = if who.is_empty() { String::new() } else { format!(" for {}", who.join(" and ")) };
    format!("{} {kind}`{}`{pattern}{whose}", rule.action, one_line(&rule.tool))
}

fn draft(context: &Context, configuration: &Configuration, args: &RuleArgs, action: Action) -> Result<Draft, Failure> {
    let place = file(context)?;
    let text = text_of(&place)?;
    let kind = args.kind.model();
    let meant = meant(context, configuration, &args.tool, kind)?;
    let rule = NewRule {
        tool: meant.text,
        pattern: args.pattern.clone(),
        kind: (kind != CallKind::Tool).then_some(kind),
        who: Vec::new(),
        action,
    };
    let own = read_text(&place, &text, context.environment()).rules;
    let as_read = Rule {
        pattern: rule.pattern.clone(),
        kind: rule.kind,
        ..Rule::new(rule.tool.clone(), action, Origin::CommandLine, place.layer)
    };
    check_readable(context, configuration, &as_read)?;
    let (position, overrules) = place_in_file(configuration, &place, own, &as_read);
    let change = RuleChange::Insert { rule: rule.clone(), position };
    let after = edit_rules_text(&place, &text, &change)
        .map_err(|error| Failure::edit(&error, &context.env.shown(&place.path)))?;
    let rules = rule_set(context, configuration, &place, &read_text(&place, &after, context.environment()).rules)?;
    let effect = match meant.name {
        Some(name) => {
            let policy = policy(context, configuration, &rules, &name, kind);
            Effect::One(name, policy.foresee(Caller::Agent))
        }
        None => Effect::Several(several(context, configuration, &rules, &as_read)?),
    };
    Ok(Draft { place, text, rule, change, overrules, effect })
}

/// What a person means by a name.
struct Meant {
    /// As it is written into the rule.
    text: String,
    /// Where it is one thing.
    name: Option<QualifiedName>,
}

fn meant(context: &Context, configuration: &Configuration, text: &str, kind: CallKind) -> Result<Meant, Failure> {
    let one = |name: QualifiedName| Meant { text: rule_text(&name), name: Some(name) };
    let plan = context.setup.plan(configuration)?;
    let is_server = |name: &str| plan.servers.iter().any(|planned| planned.spec.name.as_str() == name);
    if is_server(text) {
        let planned = plan.servers.iter().find(|planned| planned.spec.name.as_str() == text);
        let server = planned.map_or_else(|| ServerName::from(text), |planned| planned.spec.name.clone());
        return Ok(Meant { text: format!("{}/*", Spelling::Slash.render_server(&server)), name: None });
    }
    let is_place = |word: &str| configuration.hubs.iter().any(|hub| hub.place.as_str() == word);
    let text = own_spelling(configuration, text);
    let is_glob = text.contains(['*', '?', '[', ']', '{', '}']);
    let slashed = parse_written(&text, is_place).or_else(|| {
        let (server, tool) = text.split_once(':').filter(|(server, _)| is_server(server))?;
        Some(QualifiedName::new(ServerName::new(server).ok()?, ToolName::new(tool)))
    });
    match slashed {
        // What is written letter by letter, a hint's text included.
        Some(name) if text.contains('\\') => Ok(unescaped(&name).map_or(Meant { text, name: None }, one)),
        Some(name) if !is_glob && is_server(name.server.as_str()) => Ok(one(name)),
        Some(name) if !is_glob => Err(no_server(context, configuration, name.server.as_str())),
        Some(_) => Ok(Meant { text, name: None }),
        None if is_glob => Ok(Meant { text, name: None }),
        None if kind == CallKind::Tool => {
            let found = catalog::find(context, configuration, &text, Freshness::Recent)?;
            Ok(one(found.tool.name().clone()))
        }
        None => Err(Failure::usage(format!("`{}` names no server", one_line(&text))).hint("write server/name")),
    }
}

/// The name behind a text in which every character that means more is escaped; `None` when one is not.
fn unescaped(name: &QualifiedName) -> Option<QualifiedName> {
    let plain = |text: &str| -> Option<String> {
        let mut plain = String::with_capacity(text.len());
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => plain.push(characters.next()?),
                '*' | '?' | '[' | ']' | '{' | '}' => return None,
                other => plain.push(other),
            }
        }
        Some(plain)
    };
    let server = match name.server.place() {
        None => ServerName::new(plain(name.server.as_str())?).ok()?,
        Some(place) => ServerName::placed(&PlaceName::new(place).ok()?, plain(name.server.without_place())?).ok()?,
    };
    Some(QualifiedName::new(server, ToolName::new(plain(name.tool.as_str())?)))
}

fn no_server(context: &Context, configuration: &Configuration, name: &str) -> Failure {
    match context.server(configuration, name) {
        Err(failure) => failure,
        Ok(_) => Failure::new(ErrorCode::ServerNotFound, format!("there is no server `{name}`")),
    }
}

/// Refuses a rule that nothing could make anything of.
fn check_readable(context: &Context, configuration: &Configuration, rule: &Rule) -> Result<(), Failure> {
    let mut plan = context.setup.plan(configuration)?;
    plan.rules = Some(vec![SourcedRule { rule: rule.clone(), trust: Trust::Trusted }]);
    let (_, problems) = context.setup.compile_for_calls(&plan);
    match problems.into_iter().find(|problem| problem.origin == rule.origin) {
        Some(problem) => Err(Failure::usage(problem.message).hint(problem.hint)),
        None => Ok(()),
    }
}

/// The rules as they would be.
fn rule_set(
    context: &Context,
    configuration: &Configuration,
    place: &FilePlace,
    of_file: &[Rule],
) -> Result<RuleSet, Failure> {
    let mut plan = context.setup.plan(configuration)?;
    let mut rules = plan.rules.take().unwrap_or_default();
    rules.retain(|source| file_of(&source.rule.origin) != Some(place.path.as_path()));
    // helve's own file is asked first in its layer.
    let position = rules.iter().position(|source| source.rule.layer <= place.layer).unwrap_or(rules.len());
    let new = of_file.iter().map(|rule| SourcedRule { rule: rule.clone(), trust: Trust::Trusted });
    rules.splice(position..position, new);
    plan.rules = Some(rules);
    Ok(context.setup.compile_for_calls(&plan).0)
}

/// What decides about one thing: with what its server claims, where that is known without asking.
fn policy(
    context: &Context,
    configuration: &Configuration,
    rules: &RuleSet,
    name: &QualifiedName,
    kind: CallKind,
) -> ToolPolicy {
    let known = (kind == CallKind::Tool)
        .then(|| catalog::known_definition(context, configuration, name))
        .flatten()
        .map(|definition| Subject::tool(&name.server, &definition));
    rules.for_tool(known.unwrap_or_else(|| Subject::unknown(name.clone(), kind)))
}

/// A tool, and what holds for an agent that calls it.
type Meaning = (QualifiedName, Option<(Action, Ground)>);

/// The known tools that a rule speaks of, and what holds for them.
fn several(
    context: &Context,
    configuration: &Configuration,
    rules: &RuleSet,
    rule: &Rule,
) -> Result<Vec<Meaning>, Failure> {
    if rule.kind.is_some() {
        return Ok(Vec::new());
    }
    // A rule that denies, alone: what it denies is what it speaks of.
    let alone = Rule { action: Action::Deny, pattern: None, layer: Layer::CommandLine, ..rule.clone() };
    let mut plan = context.setup.plan(configuration)?;
    plan.rules = Some(vec![SourcedRule { rule: alone, trust: Trust::Trusted }]);
    let (alone, _) = context.setup.compile_for_calls(&plan);
    let is_meant = |name: &QualifiedName| {
        let found = alone.for_tool(Subject::unknown(name.clone(), CallKind::Tool)).foresee(Caller::Agent);
        matches!(found, Some((_, Ground { decider: Decider::Rule(_), .. })))
    };
    let is_place = |word: &str| configuration.hubs.iter().any(|hub| hub.place.as_str() == word);
    let names = catalog::known_names(context, configuration).into_iter();
    let names = names.filter_map(|name| parse_written(&name, is_place));
    Ok(names
        .filter(is_meant)
        .map(|name| {
            let holds = policy(context, configuration, rules, &name, CallKind::Tool).foresee(Caller::Agent);
            (name, holds)
        })
        .collect())
}

impl Kind {
    const fn model(self) -> CallKind {
        match self {
            Self::Tool => CallKind::Tool,
            Self::Resource => CallKind::Resource,
            Self::Prompt => CallKind::Prompt,
            Self::Method => CallKind::Method,
        }
    }
}

impl Draft {
    /// True when the very same holds without the new rule, by a rule.
    fn holds_already(&self, context: &Context, configuration: &Configuration) -> Result<bool, Failure> {
        let Effect::One(name, _) = &self.effect else { return Ok(false) };
        if self.rule.pattern.is_some() {
            return Ok(false);
        }
        let own = read_text(&self.place, &self.text, context.environment()).rules;
        let rules = rule_set(context, configuration, &self.place, &own)?;
        let kind = self.rule.kind.unwrap_or(CallKind::Tool);
        let now = policy(context, configuration, &rules, name, kind).foresee(Caller::Agent);
        let is_ruled = |ground: &Ground| matches!(ground.decider, Decider::Rule(_));
        Ok(now.is_some_and(|(action, ground)| action == self.rule.action && is_ruled(&ground)))
    }
}

impl Effect {
    fn of_one(&self) -> Option<&(Action, Ground)> {
        match self {
            Self::One(_, holds) => holds.as_ref(),
            Self::Several(_) => None,
        }
    }

    /// What of the person's own still denies all of it.
    fn held_by_own(&self, wanted: Action) -> Option<Ground> {
        let denied = |holds: &Option<(Action, Ground)>| match holds {
            Some((Action::Deny, ground)) if wanted != Action::Deny && is_own(&ground.decider) => Some(ground.clone()),
            _ => None,
        };
        match self {
            Self::One(_, holds) => denied(holds),
            Self::Several(tools) => {
                let held: Vec<Ground> = tools.iter().filter_map(|(_, holds)| denied(holds)).collect();
                if held.len() == tools.len() { held.into_iter().next() } else { None }
            }
        }
    }

    /// Says what holds now.
    fn tell(&self, context: &Context, wanted: Action) {
        match self {
            Self::One(name, holds) => {
                let name = one_line(&name.to_string()).into_owned();
                match holds {
                    Some((action, _)) if *action == wanted => {
                        context.printer.say(&Line::plain(format!("agents calling `{name}`: {action}")));
                    }
                    Some((action, ground)) => context
                        .printer
                        .warning(format!("agents calling `{name}`: still {}", because(context, *action, ground))),
                    None => {
                        let words = format!("agents calling `{name}`: depends on the arguments; `helve explain` tells");
                        context.printer.say(&Line::plain(words));
                    }
                }
            }
            Self::Several(tools) if tools.is_empty() => {
                context.printer.warning("no tool that is known now is meant by it");
            }
            Self::Several(tools) => {
                let count = tools.len();
                let is_as_wanted =
                    |holds: &Option<(Action, Ground)>| holds.as_ref().is_some_and(|(action, _)| *action == wanted);
                let as_wanted = tools.iter().filter(|(_, holds)| is_as_wanted(holds)).count();
                let known =
                    if count == 1 { "the one tool".to_owned() } else { format!("{as_wanted} of {count} tools") };
                context.printer.say(&Line::plain(format!("agents calling {known} that it means now: {wanted}")));
                for (name, holds) in tools.iter().filter(|(_, holds)| !is_as_wanted(holds)).take(SHOWN_TOOLS) {
                    let name = one_line(&name.to_string()).into_owned();
                    let words = match holds {
                        Some((action, ground)) => because(context, *action, ground),
                        None => "depends on the arguments".to_owned(),
                    };
                    context.printer.warning(format!("`{name}`: {words}"));
                }
            }
        }
    }

    fn as_json(&self) -> Value {
        let one = |name: &QualifiedName, holds: &Option<(Action, Ground)>| {
            let (action, because) = match holds {
                Some((action, ground)) => (action.to_string(), Some(ground.decider.to_string())),
                None => ("depends on the arguments".to_owned(), None),
            };
            json!({ "name": name.to_string(), "decision": action, "because": because })
        };
        match self {
            Self::One(name, holds) => json!([one(name, holds)]),
            Self::Several(tools) => tools.iter().map(|(name, holds)| one(name, holds)).collect(),
        }
    }
}

/// True for what the person wrote into files of their own, and can change there.
fn is_own(decider: &Decider) -> bool {
    match decider {
        Decider::Rule(source) => source.rule.layer == Layer::User && source.trust == Trust::Trusted,
        Decider::Listed(ListName::DisabledTools, _) | Decider::NotListed(_) => true,
        _ => false,
    }
}

fn because(context: &Context, action: Action, ground: &Ground) -> String {
    let origin = ground.decider.origin().map(|origin| context.shown(origin));
    match (&ground.decider, origin) {
        (Decider::Rule(_), Some(origin)) => format!("{action}, by the rule at {origin}"),
        _ => format!("{action}, because {}", ground.decider),
    }
}

/// Nothing was written, since something else of the person's own decides.
fn held_back(context: &Context, draft: &Draft, ground: &Ground) -> Failure {
    let what = spelled(&draft.rule);
    let why = because(context, Action::Deny, ground);
    let message = format!("nothing was written, since {what} would not help: it would still be {why}");
    let failure = Failure::new(ErrorCode::Denied, message);
    let kind = draft.rule.kind.unwrap_or(CallKind::Tool);
    let name = match &draft.effect {
        Effect::One(name, _) => Some(name),
        Effect::Several(tools) => tools.first().map(|(name, _)| name),
    };
    let hint = name.and_then(|name| ground.hint(name, kind));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn ask(context: &Context, draft: &Draft, consent: Consent) -> Result<(), Failure> {
    if consent != Consent::Wanted {
        return Ok(());
    }
    if !context.console.can_ask() {
        return Err(Failure::new(ErrorCode::ApprovalRequired, "what may run from now on is for you to say")
            .hint("run this at a terminal, or add `--yes`"));
    }
    let what = spelled(&draft.rule);
    let file = context.env.shown(&draft.place.path);
    let question =
        format!("{what}: agents, scripts and prompt tags run it without a question from now on. Write it to {file}?");
    if prompt::confirm(context, &question)? {
        Ok(())
    } else {
        Err(Failure::new(ErrorCode::Denied, "nothing was written"))
    }
}

fn report(context: &Context, draft: &Draft, origin: Option<&Origin>) -> Result<(), Failure> {
    if !context.printer.is_json() {
        return Ok(());
    }
    let line = match origin {
        Some(Origin::File { line, .. }) => Some(*line),
        _ => None,
    };
    context.printer.json(&json!({
        "written": origin.is_some(),
        "file": draft.place.path.to_string_lossy(),
        "line": line,
        "rule": {
            "tool": draft.rule.tool,
            "pattern": draft.rule.pattern,
            "kind": draft.rule.kind.unwrap_or(CallKind::Tool).to_string(),
            "action": draft.rule.action.to_string(),
        },
        "decisions": draft.effect.as_json(),
    }))
}
