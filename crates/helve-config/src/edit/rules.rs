//! Rules of helve's own file: one is put at its place among the others, or taken out. All others stay as they are.

use helve_model::text::is_invisible;
use helve_model::{Action, CallKind, Rule, Who};
use toml_edit::{DocumentMut, InlineTable, Value};

use super::write::change_file;
use super::{EditError, Edited};
use crate::diagnostic::Code;
use crate::dialect::Dialect;
use crate::document::{self, Node};
use crate::environment::Environment;
use crate::reader::{FileContent, FilePlace, read_text};
use crate::source::Source;
use crate::trust::TrustHash;

/// The key that rules stand under.
const RULES: &str = "rules";

/// The header of a rule.
const HEADER: &str = "[[rules]]";

/// A rule to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRule {
    /// Which tools, as in [`Rule::tool`].
    pub tool: String,
    /// Which arguments, as in [`Rule::pattern`].
    pub pattern: Option<String>,
    /// Which kind of call. `None`: tools.
    pub kind: Option<CallKind>,
    /// Whose calls, as in [`Rule::who`].
    pub who: Vec<Who>,
    /// What happens.
    pub action: Action,
}

/// What to do with the rules of a file. Positions count its rules from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleChange {
    /// Put a rule there; those from that position on move behind it.
    Insert {
        /// The rule.
        rule: NewRule,
        /// Where it stands then.
        position: usize,
    },
    /// Take out the rule that stands there.
    Remove {
        /// Where it stands.
        position: usize,
    },
}

/// Changes the rules of a file, as [`super::edit_file`] changes its servers.
///
/// # Errors
/// Why nothing was written.
pub fn edit_rules(place: &FilePlace, expected: Option<TrustHash>, change: &RuleChange) -> Result<Edited, EditError> {
    change_file(place, expected, &|text| edit_rules_text(place, text, change))
}

/// The text of a file after a change of its rules.
///
/// # Errors
/// Why the change was refused; the file is as it was.
pub fn edit_rules_text(place: &FilePlace, text: &str, change: &RuleChange) -> Result<String, EditError> {
    if place.dialect != Dialect::Helve {
        return Err(EditError::NotPossible(format!(
            "rules are kept in helve's own file, not in one of {}",
            place.dialect.title()
        )));
    }
    let source = Source::new(&place.path, text);
    let document = document::parse(&source, place.dialect.format_of(&place.path)).map_err(EditError::Broken)?;
    let elements = document.get(RULES).map(Node::elements).unwrap_or_default();
    let before = read(place, text);
    // A rule with mistakes is read as another one, or not at all: nobody could tell where the new one stands.
    if elements.len() != before.rules.len() || before.diagnostics.iter().any(|found| found.code == Code::TooMany) {
        return Err(EditError::NotPossible("the rules of this file have mistakes: repair them first".to_owned()));
    }
    let edited = match change {
        RuleChange::Insert { rule, .. } if !is_on_one_line(rule) => {
            return Err(EditError::NotPossible("a rule has to be on one line".to_owned()));
        }
        RuleChange::Insert { rule, position } => insert(text, elements, rule, *position),
        RuleChange::Remove { position } => remove(text, elements, *position),
    };
    match edited {
        Some(edited)
            if is_as_asked(&before, &read(place, &edited), change)
                && others_are_the_same(place, &document, &edited) =>
        {
            Ok(edited)
        }
        _ => {
            let line = elements.first().map_or(1, |node| source.position(node.span.start).0);
            Err(EditError::RulesByHand { line })
        }
    }
}

/// Where a rule stands that is written so.
#[must_use]
pub fn find_rule(place: &FilePlace, text: &str, rule: &NewRule) -> Option<usize> {
    let source = Source::new(&place.path, text);
    let document = document::parse(&source, place.dialect.format_of(&place.path)).ok()?;
    let is_it = |node: &Node| {
        let said = |key: &str| node.get(key).and_then(Node::as_str);
        let kind = rule.kind.map(|kind| kind.to_string());
        said("tool") == Some(rule.tool.as_str())
            && said("pattern") == rule.pattern.as_deref()
            && said("kind") == kind.as_deref()
            && said("action") == Some(rule.action.to_string().as_str())
            && node.get("risk").is_none()
            && node.get("by").is_none()
            && said_who(node).is_some_and(|who| who == rule.who)
    };
    document.get(RULES)?.elements().iter().position(is_it)
}

/// Whose calls a rule is about, as it is written; `None` where that cannot be read.
fn said_who(node: &Node) -> Option<Vec<Who>> {
    let Some(who) = node.get("who") else { return Some(Vec::new()) };
    let words = if who.as_str().is_some() { std::slice::from_ref(who) } else { who.elements() };
    words.iter().map(|word| Who::parse(word.as_str()?)).collect()
}

fn insert(text: &str, elements: &[Node], rule: &NewRule, position: usize) -> Option<String> {
    if is_inline(text, elements) {
        return change_array(text, |array| {
            let mut table = Value::InlineTable(keys(rule).into_iter().collect::<InlineTable>());
            let neighbour = array.get(position).or_else(|| array.get(position.checked_sub(1)?));
            let prefix = neighbour.and_then(|value| value.decor().prefix()?.as_str()).unwrap_or_default();
            // On a line of its own where the others are; what is written above a neighbour stays there.
            let lead = prefix.rsplit_once('\n').map(|(_, indent)| format!("\n{indent}"));
            table.decor_mut().set_prefix(lead.unwrap_or_else(|| if position == 0 { "" } else { " " }.to_owned()));
            let follower = (position == 0).then(|| array.get_mut(0)).flatten();
            if let Some(follower) = follower
                && follower.decor().prefix().and_then(|prefix| prefix.as_str()).is_none_or(str::is_empty)
            {
                follower.decor_mut().set_prefix(" ");
            }
            (position <= array.len()).then(|| array.insert_formatted(position, table))
        });
    }
    let block: String = std::iter::once(format!("{HEADER}\n"))
        .chain(keys(rule).into_iter().map(|(key, value)| format!("{key} = {value}\n")))
        .collect();
    let Some(next) = elements.get(position) else {
        let body = text.trim_end_matches(['\n', '\r', ' ', '\t']);
        let gap = if body.trim_start_matches(is_invisible).is_empty() { "" } else { "\n\n" };
        return Some(with_line_breaks_of(text, &format!("{body}{gap}{block}")));
    };
    let at = with_comments_above(text, line_start(text, header_of(text, next)?));
    let (above, below) = text.split_at_checked(at)?;
    Some(with_line_breaks_of(text, &format!("{above}{block}\n{below}")))
}

fn remove(text: &str, elements: &[Node], position: usize) -> Option<String> {
    let node = elements.get(position)?;
    if is_inline(text, elements) {
        return change_array(text, |array| (position < array.len()).then(|| drop(array.remove(position))));
    }
    let start = line_start(text, header_of(text, node)?);
    let last = node.entries().iter().map(|entry| entry.node.span.end).max()?;
    let end = text.get(last..)?.find('\n').map_or(text.len(), |found| last + found + 1);
    let (above, below) = (text.get(..start)?, text.get(end..)?);
    // The line that set it off from what follows goes with it.
    let below = below.strip_prefix('\n').or_else(|| below.strip_prefix("\r\n")).unwrap_or(below);
    Some(if below.is_empty() {
        format!("{}\n", above.trim_end()).trim_start_matches('\n').to_owned()
    } else {
        format!("{above}{below}")
    })
}

/// True for `rules = [{ … }]`.
fn is_inline(text: &str, elements: &[Node]) -> bool {
    elements.first().is_some_and(|first| text.get(first.span.start..).is_some_and(|text| text.starts_with('{')))
}

fn change_array(text: &str, change: impl FnOnce(&mut toml_edit::Array) -> Option<()>) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    change(document.get_mut(RULES)?.as_array_mut()?)?;
    Some(with_line_breaks_of(text, &document.to_string()))
}

/// Where the header of a rule begins.
fn header_of(text: &str, rule: &Node) -> Option<usize> {
    let first = rule.entries().iter().map(|entry| entry.key_span.start).min()?;
    text.get(..first)?.rfind("[[")
}

fn line_start(text: &str, position: usize) -> usize {
    text.get(..position).and_then(|before| before.rfind('\n')).map_or(0, |found| found + 1)
}

/// Comments right above something are about it.
fn with_comments_above(text: &str, mut at: usize) -> usize {
    while at > 0 {
        let above = line_start(text, at - 1);
        if !text.get(above..at).is_some_and(|line| line.trim_start().starts_with('#')) {
            break;
        }
        at = above;
    }
    at
}

/// A file from Windows keeps its line breaks.
fn with_line_breaks_of(text: &str, edited: &str) -> String {
    if text.contains("\r\n") { edited.replace("\r\n", "\n").replace('\n', "\r\n") } else { edited.to_owned() }
}

fn is_on_one_line(rule: &NewRule) -> bool {
    let who: Vec<String> = rule.who.iter().map(ToString::to_string).collect();
    !std::iter::once(&rule.tool).chain(&rule.pattern).chain(&who).any(|text| text.contains(char::is_control))
}

/// The keys of a rule, as they are written.
fn keys(rule: &NewRule) -> Vec<(&'static str, Value)> {
    let text = |text: &str| Value::from(text);
    let mut keys = vec![("tool", text(&rule.tool))];
    keys.extend(rule.pattern.as_deref().map(|pattern| ("pattern", text(pattern))));
    keys.extend(rule.kind.map(|kind| ("kind", text(&kind.to_string()))));
    match rule.who.as_slice() {
        [] => {}
        [one] => keys.push(("who", text(&one.to_string()))),
        several => keys.push(("who", Value::from_iter(several.iter().map(ToString::to_string)))),
    }
    keys.push(("action", text(&rule.action.to_string())));
    keys
}

fn read(place: &FilePlace, text: &str) -> FileContent {
    // Only what is written matters.
    read_text(place, text, &Environment::new(&place.project))
}

/// The rules are those asked for.
fn is_as_asked(before: &FileContent, after: &FileContent, change: &RuleChange) -> bool {
    let written =
        |rule: &Rule| (rule.tool.clone(), rule.pattern.clone(), rule.risk, rule.kind, rule.who.clone(), rule.action);
    let mut expected: Vec<_> = before.rules.iter().map(written).collect();
    let found: Vec<_> = after.rules.iter().map(written).collect();
    match change {
        RuleChange::Insert { rule, position } if *position <= expected.len() => {
            // What the pattern refers to is filled in while it is read.
            let pattern = after.rules.get(*position).and_then(|rule| rule.pattern.clone());
            if pattern.is_some() != rule.pattern.is_some() {
                return false;
            }
            expected.insert(*position, (rule.tool.clone(), pattern, None, rule.kind, rule.who.clone(), rule.action));
        }
        RuleChange::Remove { position } if *position < expected.len() => drop(expected.remove(*position)),
        RuleChange::Insert { .. } | RuleChange::Remove { .. } => return false,
    }
    expected == found && before.diagnostics.len() == after.diagnostics.len()
}

/// Everything but the rules is what it was.
fn others_are_the_same(place: &FilePlace, before: &Node, edited: &str) -> bool {
    let source = Source::new(&place.path, edited);
    let Ok(after) = document::parse(&source, place.dialect.format_of(&place.path)) else { return false };
    let others = |node: &Node| -> Vec<(String, Node)> {
        let others = node.entries().iter().filter(|entry| entry.key != RULES);
        others.map(|entry| (entry.key.clone(), entry.node.clone())).collect()
    };
    let (before, after) = (others(before), others(&after));
    before.len() == after.len()
        && before.iter().zip(&after).all(|(left, right)| left.0 == right.0 && is_same(&left.1, &right.1))
}

/// The same values, wherever they stand.
fn is_same(left: &Node, right: &Node) -> bool {
    match (&left.value, &right.value) {
        (document::Value::Table(left), document::Value::Table(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| left.key == right.key && is_same(&left.node, &right.node))
        }
        (document::Value::Array(left), document::Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_same(left, right))
        }
        (left, right) => left == right,
    }
}
