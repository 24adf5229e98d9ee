//! What changed between two definitions, place by place and in words.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use helve_model::text::{cut, one_line};

use super::pinned;
use helve_model::json::canonical::CanonicalNode;

/// One difference between two definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionChange {
    /// The way from the top of the definition to what changed: keys, and indices of arrays.
    pub path: Vec<String>,
    /// What became of it.
    pub kind: ChangeKind,
}

/// What became of a value; values as JSON, shortened to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was not there before.
    Added {
        /// The new value.
        new: String,
    },
    /// It is gone.
    Removed {
        /// The old value.
        old: String,
    },
    /// It has another value.
    Changed {
        /// The old value.
        old: String,
        /// The new value.
        new: String,
    },
}

/// Every difference between two definitions; none exactly when their hashes are equal.
#[must_use]
pub fn diff(old: &str, new: &str) -> Vec<DefinitionChange> {
    let mut changes = Vec::new();
    compare(&mut Vec::new(), &pinned(old), &pinned(new), &mut changes);
    changes
}

impl fmt::Display for DefinitionChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = place(&self.path);
        match &self.kind {
            ChangeKind::Added { new } => write!(formatter, "{place} was added: {new}"),
            ChangeKind::Removed { old } => write!(formatter, "{place} was removed; it was {old}"),
            ChangeKind::Changed { old, new } => write!(formatter, "{place} changed from {old} to {new}"),
        }
    }
}

fn compare(
    path: &mut Vec<String>,
    old: &CanonicalNode<'_>,
    new: &CanonicalNode<'_>,
    changes: &mut Vec<DefinitionChange>,
) {
    match (old, new) {
        (CanonicalNode::Object(old), CanonicalNode::Object(new)) => compare_objects(path, old, new, changes),
        (CanonicalNode::Array(old), CanonicalNode::Array(new)) => compare_arrays(path, old, new, changes),
        _ if old == new => {}
        _ => {
            let (old, new) = show_both(old, new);
            changes.push(DefinitionChange { path: path.clone(), kind: ChangeKind::Changed { old, new } });
        }
    }
}

type Members<'text> = [(Cow<'text, str>, CanonicalNode<'text>)];

/// Both are sorted by key, so one walk meets every key; equal keys meet in their order.
fn compare_objects(path: &mut Vec<String>, old: &Members<'_>, new: &Members<'_>, changes: &mut Vec<DefinitionChange>) {
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (Some((old_key, _)), Some((new_key, _))) => old_key.cmp(new_key),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return,
        };
        let before = if order.is_le() { old.next() } else { None };
        let after = if order.is_ge() { new.next() } else { None };
        let Some((key, _)) = before.or(after) else { return };
        path.push(key.to_string());
        compare_optional(path, before.map(|(_, value)| value), after.map(|(_, value)| value), changes);
        path.pop();
    }
}

fn compare_arrays(
    path: &mut Vec<String>,
    old: &[CanonicalNode<'_>],
    new: &[CanonicalNode<'_>],
    changes: &mut Vec<DefinitionChange>,
) {
    for index in 0..old.len().max(new.len()) {
        path.push(index.to_string());
        compare_optional(path, old.get(index), new.get(index), changes);
        path.pop();
    }
}

fn compare_optional(
    path: &mut Vec<String>,
    old: Option<&CanonicalNode<'_>>,
    new: Option<&CanonicalNode<'_>>,
    changes: &mut Vec<DefinitionChange>,
) {
    let kind = match (old, new) {
        (Some(old), Some(new)) => return compare(path, old, new, changes),
        (None, Some(new)) => ChangeKind::Added { new: show(new) },
        (Some(old), None) => ChangeKind::Removed { old: show(old) },
        (None, None) => return,
    };
    changes.push(DefinitionChange { path: path.clone(), kind });
}

/// `inputSchema.properties.path.type` → ``the `type` of parameter `path` ``.
fn place(path: &[String]) -> String {
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => "the definition".to_owned(),
        ["inputSchema", "required", index] => format!("entry {index} of the required parameters"),
        ["inputSchema", "properties", name] => format!("parameter `{}`", one_line(name)),
        ["inputSchema", "properties", name, rest @ ..] => {
            format!("`{}` of parameter `{}`", dotted(rest), one_line(name))
        }
        ["outputSchema", "properties", name] => format!("result field `{}`", one_line(name)),
        ["outputSchema", "properties", name, rest @ ..] => {
            format!("`{}` of result field `{}`", dotted(rest), one_line(name))
        }
        ["annotations", rest @ ..] if !rest.is_empty() => format!("the server's claim `{}`", dotted(rest)),
        [single] => format!("the {}", one_line(single)),
        all => format!("`{}`", dotted(all)),
    }
}

fn dotted(words: &[&str]) -> String {
    words.iter().map(|word| one_line(word)).collect::<Vec<_>>().join(".")
}

/// How many characters of a text are shown.
const SHOWN_CHARACTERS: usize = 120;

/// [`SHOWN_CHARACTERS`] of a text from `start` on, with `…` where something is left out.
fn excerpt(text: &str, start: usize) -> String {
    let from = text.char_indices().nth(start).map_or(text.len(), |(at, _)| at);
    let shown = cut(text.get(from..).unwrap_or_default(), SHOWN_CHARACTERS);
    if start > 0 { format!("…{shown}") } else { shown.into_owned() }
}

fn show(node: &CanonicalNode<'_>) -> String {
    excerpt(&spell(node), 0)
}

/// Two long texts are shown from shortly before the place where they part.
fn show_both(old: &CanonicalNode<'_>, new: &CanonicalNode<'_>) -> (String, String) {
    /// How many common characters stay before the difference.
    const KEPT: usize = 20;
    let (old, new) = (spell(old), spell(new));
    let common = old.chars().zip(new.chars()).take_while(|(left, right)| left == right).count();
    let start = if common > SHOWN_CHARACTERS - KEPT { common - KEPT } else { 0 };
    (excerpt(&old, start), excerpt(&new, start))
}

/// JSON to be read by a person: strings keep their characters, [`excerpt`] makes the invisible ones visible.
fn spell(node: &CanonicalNode<'_>) -> String {
    match node {
        CanonicalNode::Null => "null".to_owned(),
        CanonicalNode::Bool(value) => value.to_string(),
        CanonicalNode::Number(digits) => digits.clone(),
        CanonicalNode::Text(text) => format!("\"{text}\""),
        CanonicalNode::Raw(text) => (*text).to_owned(),
        CanonicalNode::Array(elements) => format!("[{}]", elements.iter().map(spell).collect::<Vec<_>>().join(", ")),
        CanonicalNode::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("\"{key}\": {}", spell(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}
