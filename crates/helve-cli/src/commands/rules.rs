//! `helve rules`: every rule there is, in the order in which they are asked; and the last one written, taken back.

use helve_config::edit::{NewRule, RuleChange, edit_rules, find_rule};
use helve_config::trust::hash_content;
use helve_config::{Configuration, FilePlace, discover};
use helve_model::{Action, CallKind, ErrorCode, Layer, Listed, Rule, ServerSpec};
use helve_policy::{SourcedRule, Trust};
use helve_setup::store::approvals::ApprovalFile;
use helve_setup::store::written_rules::WrittenRules;
use serde_json::{Value, json};

use crate::context::Context;
use crate::describe;
use crate::failure::Failure;
use crate::own_rules::{self, spelled};
use crate::place;
use crate::printer::{Line, Style, Table};
use crate::prompt;

/// List the rules about calls, in the order in which they are asked
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The first rule that matches a call decides; a deny of your own is final. Lists of a server come before all rules
(what is not on `tools`, or is on `disabled_tools`, does not exist) and behind them (what is on them may run).
`helve explain TOOL` tells what decides about one tool.")]
pub(crate) struct Args {
    /// Take back the last rule that `helve allow`, `ask` or `deny` wrote
    #[arg(long)]
    undo: bool,

    /// Do not ask whether that is meant
    #[arg(short, long, requires = "undo")]
    yes: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    if args.undo {
        return undo(context, args.yes);
    }
    let configuration = context.load()?;
    context.report_problems(&configuration);
    let rules = context.setup.rules_in_order(&configuration)?;
    let lists = lists(context, &configuration)?;
    let approvals = context.stores().and_then(|stores| stores.read::<ApprovalFile>()).unwrap_or_default();
    let approvals: Vec<_> = approvals.approvals().collect();
    if context.printer.is_json() {
        let rules: Vec<Value> = rules.iter().map(rule_as_json).collect();
        let lists: Vec<Value> = lists
            .iter()
            .map(|list| {
                let (server, key) = (list.server.as_str(), list.key);
                json!({ "server": server, "list": key, "tool": list.entry.glob, "origin": describe::origin(&list.entry.origin) })
            })
            .collect();
        let approvals: Vec<Value> = approvals
            .iter()
            .map(|approval| {
                let (name, kind) = (approval.tool.to_string(), approval.kind.to_string());
                json!({ "name": name, "kind": kind, "pattern": approval.pattern })
            })
            .collect();
        return context.printer.json(&json!({ "rules": rules, "lists": lists, "approvals": approvals }));
    }
    let mut table = Table::new(["", "WHAT", "WHERE"]);
    for source in &rules {
        table.row([action(source), Line::plain(what(&source.rule)), Line::plain(place_of(context, source))]);
    }
    for list in &lists {
        let what = format!("{}/{}", list.server, list.entry.glob);
        let place = format!("{} ({})", context.shown(&list.entry.origin), list.key);
        table.row([Line::styled(Style::Dim, list.word), Line::plain(what), Line::plain(place)]);
    }
    for approval in &approvals {
        let kind = if approval.kind == CallKind::Tool { String::new() } else { format!("{} ", approval.kind) };
        let pattern = approval.pattern.as_ref().map(|pattern| format!(" with {pattern}")).unwrap_or_default();
        let what = format!("{kind}{}{pattern}", approval.tool);
        table.row([
            Line::styled(Style::Dim, "approved"),
            Line::plain(what),
            Line::plain("for good (helve trust --list)"),
        ]);
    }
    context.printer.table(&table)?;
    let otherwise = "otherwise: a tool is asked for, what only reads may be read";
    context.printer.say(&Line::styled(Style::Dim, otherwise));
    if rules.is_empty() {
        context.printer.hint("`helve allow SERVER/TOOL` writes the first rule");
    }
    Ok(())
}

/// One entry of a server's list.
struct ListEntry {
    server: String,
    key: &'static str,
    word: &'static str,
    entry: Listed,
}

fn lists(context: &Context, configuration: &Configuration) -> Result<Vec<ListEntry>, Failure> {
    let of = |spec: &ServerSpec| -> Vec<ListEntry> {
        let access = &spec.access;
        let entries = |key: &'static str, word: &'static str, list: &[Listed]| -> Vec<ListEntry> {
            let server = spec.name.to_string();
            list.iter().map(|entry| ListEntry { server: server.clone(), key, word, entry: entry.clone() }).collect()
        };
        let mut found = entries("disabled_tools", "none", &access.disabled_tools);
        found.extend(entries("write_tools", "listed", access.write_tools.as_deref().unwrap_or_default()));
        found.extend(entries("tools", "listed", access.tools.as_deref().unwrap_or_default()));
        found
    };
    Ok(context.setup.plan(configuration)?.servers.iter().flat_map(|planned| of(&planned.spec)).collect())
}

fn action(source: &SourcedRule) -> Line {
    let does_not_count = source.trust == Trust::Untrusted && source.rule.action == Action::Allow;
    match source.rule.action {
        _ if does_not_count => Line::styled(Style::Dim, "(allow)"),
        Action::Allow => Line::styled(Style::Good, "allow"),
        Action::Ask => Line::styled(Style::Warning, "ask"),
        Action::Deny => Line::styled(Style::Bad, "deny"),
    }
}

fn what(rule: &Rule) -> String {
    let kind = rule.kind.filter(|kind| *kind != CallKind::Tool).map(|kind| format!("{kind} ")).unwrap_or_default();
    let pattern = rule.pattern.as_ref().map(|pattern| format!(" with {pattern}")).unwrap_or_default();
    let risk = match (rule.risk, rule.action) {
        (None, _) => String::new(),
        (Some(risk), Action::Allow) => format!(" up to {risk} risk"),
        (Some(risk), Action::Ask | Action::Deny) => format!(" from {risk} risk up"),
    };
    let who: Vec<String> = rule.who.iter().map(ToString::to_string).collect();
    let who = if who.is_empty() { String::new() } else { format!(" by {}", who.join(" or ")) };
    format!("{kind}{}{pattern}{risk}{who}", rule.tool)
}

fn place_of(context: &Context, source: &SourcedRule) -> String {
    let place = context.shown(&source.rule.origin);
    match (source.trust, source.rule.layer) {
        (Trust::Untrusted, _) => format!("{place} (project, not trusted)"),
        (_, Layer::Project) => format!("{place} (project)"),
        _ => place,
    }
}

fn rule_as_json(source: &SourcedRule) -> Value {
    let rule = &source.rule;
    json!({
        "action": rule.action.to_string(),
        "tool": rule.tool,
        "pattern": rule.pattern,
        "kind": rule.kind.unwrap_or(CallKind::Tool).to_string(),
        "risk": rule.risk.map(|risk| risk.to_string()),
        "by": rule.by.map(|by| by.to_string()),
        "who": rule.who.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "origin": describe::origin(&rule.origin),
        "layer": rule.layer.to_string(),
        "trusted": source.trust == Trust::Trusted,
    })
}

fn undo(context: &Context, yes: bool) -> Result<(), Failure> {
    let stores = context.stores()?;
    let Some((path, rule)) = stores.read::<WrittenRules>()?.last() else {
        return Err(Failure::other("there is no rule to take back")
            .hint("`helve rules` lists all of them, with the line to edit"));
    };
    let configuration = context.load()?;
    let place = place::file_at(&configuration, &path)
        .or_else(|| discover::own_user_file(context.environment()).filter(|place| place.path == path))
        .or_else(|| named(context, &path));
    let Some(place) = place else {
        stores.update(|written: &mut WrittenRules| written.forget(&path, &rule))?;
        return Err(gone(context, &path, &rule));
    };
    let text = own_rules::text_of(&place)?;
    let Some(position) = find_rule(&place, &text, &rule) else {
        stores.update(|written: &mut WrittenRules| written.forget(&path, &rule))?;
        return Err(gone(context, &path, &rule));
    };
    ask(context, &place, &rule, yes)?;
    edit_rules(&place, Some(hash_content(text.as_bytes())), &RuleChange::Remove { position })
        .map_err(|error| Failure::edit(&error, &context.env.shown(&path)))?;
    stores.update(|written: &mut WrittenRules| written.forget(&path, &rule))?;
    let said = format!("taken back from {}: {}", context.env.shown(&path), spelled(&rule));
    context.printer.say(&Line::plain(said));
    if context.printer.is_json() {
        let (tool, action) = (&rule.tool, rule.action.to_string());
        return context.printer.json(&json!({ "undone": { "tool": tool, "pattern": rule.pattern, "action": action } }));
    }
    Ok(())
}

/// A file that was named when the rule was written, and is not read now.
fn named(context: &Context, path: &std::path::Path) -> Option<FilePlace> {
    place::named_file(context).ok().flatten().filter(|place| place.path == path)
}

/// Without a rule that narrows, more may run: that is for the person to say.
fn ask(context: &Context, place: &FilePlace, rule: &NewRule, yes: bool) -> Result<(), Failure> {
    if yes || rule.action == Action::Allow {
        return Ok(());
    }
    if !context.console.can_ask() {
        return Err(Failure::new(ErrorCode::ApprovalRequired, "what may run from now on is for you to say")
            .hint("run this at a terminal, or add `--yes`"));
    }
    let file = context.env.shown(&place.path);
    if prompt::confirm(context, &format!("Take {} out of {file}?", spelled(rule)))? {
        Ok(())
    } else {
        Err(Failure::new(ErrorCode::Denied, "nothing was changed"))
    }
}

fn gone(context: &Context, path: &std::path::Path, rule: &NewRule) -> Failure {
    let message = format!("{} is not in {} any more", spelled(rule), context.env.shown(path));
    Failure::other(message).hint("once more takes back the one before it; `helve rules` lists all of them")
}
