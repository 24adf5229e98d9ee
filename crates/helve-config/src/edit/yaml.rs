//! Edits of YAML, by replacing pieces of the text; everything else stays byte for byte.
//!
//! Block and flow collections are both extended in their own style. What only exists through an alias or a merge key
//! is not changed where it is written: an own key is added, or the edit is refused.

use super::render::Written;
use super::{Action, Spot, Step};
use crate::document::{Node, TableEntry, Value};
use crate::source::{Source, Span};

/// The text after the action; `None` when it cannot be done here.
pub(super) fn apply(source: &Source, document: &Node, spot: &Spot, action: &Action) -> Option<String> {
    let text = source.text();
    match action {
        Action::Insert(keys) => insert_server(source, document, spot, keys),
        Action::Remove => {
            let (servers, entry) = locate(document, spot)?;
            let splice = match entry {
                Located::Element(node) => remove_element(text, servers, node)?,
                Located::Entry(entry) => remove_entry(text, servers, entry)?,
            };
            Some(splice.apply(text))
        }
        Action::Modify(steps) => {
            let mut current = text.to_owned();
            for step in steps {
                // Each step moves what follows, so the text is read again.
                let source = Source::new(source.path(), &current);
                let document = crate::document::parse(&source, crate::document::Format::Yaml).ok()?;
                let (_, entry) = locate(&document, spot)?;
                let node = match entry {
                    Located::Element(node) => node,
                    Located::Entry(entry) if !entry.merged => &entry.node,
                    Located::Entry(_) => return None,
                };
                if node.alias.is_some() {
                    return None;
                }
                let splice = match step {
                    Step::Set(key, written) => set(&current, node, key, written)?,
                    Step::Unset(key) => remove_entry(&current, node, node.entry(key)?)?,
                };
                current = splice.apply(&current);
            }
            Some(current)
        }
    }
}

/// A piece of text to put in the place of another.
struct Splice {
    span: Span,
    text: String,
}

enum Located<'node> {
    Element(&'node Node),
    Entry(&'node TableEntry),
}

impl Splice {
    const fn new(start: usize, end: usize, text: String) -> Self {
        Self { span: Span::new(start, end), text }
    }

    fn apply(&self, text: &str) -> String {
        let before = text.get(..self.span.start).unwrap_or_default();
        let after = text.get(self.span.end..).unwrap_or_default();
        format!("{before}{}{after}", self.text)
    }
}

fn locate<'node>(document: &'node Node, spot: &Spot) -> Option<(&'node Node, Located<'node>)> {
    let servers = spot.root.iter().try_fold(document, |node, key| node.get(key))?;
    if servers.alias.is_some() {
        return None;
    }
    match spot.name_key {
        Some(key) => {
            let named = |node: &&Node| node.get(key).and_then(Node::as_str) == Some(spot.name.as_str());
            let node = servers.elements().iter().rev().find(named)?;
            Some((servers, Located::Element(node)))
        }
        None => Some((servers, Located::Entry(servers.entry(&spot.name)?))),
    }
}

/// Where a value is written: the alias, when it is one.
fn outer(node: &Node) -> Span {
    node.alias.unwrap_or(node.span)
}

fn is_flow(text: &str, node: &Node) -> bool {
    text.get(node.span.start..).is_some_and(|rest| rest.starts_with(['{', '[']))
}

/// The end of a value without the line breaks that a block text ends with.
fn trimmed_end(text: &str, span: Span) -> usize {
    let inside = text.get(span.start..span.end).unwrap_or_default();
    span.start + inside.trim_end_matches(['\n', '\r', ' ']).len()
}

fn line_start(text: &str, offset: usize) -> usize {
    text.get(..offset).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
}

/// Where the line of `offset` ends, before its line break.
fn line_end(text: &str, offset: usize) -> usize {
    text.get(offset..).and_then(|after| after.find('\n')).map_or(text.len(), |at| {
        let end = offset + at;
        if text.get(..end).is_some_and(|before| before.ends_with('\r')) { end - 1 } else { end }
    })
}

/// Where the line after the one of `offset` starts.
fn next_line(text: &str, offset: usize) -> usize {
    text.get(offset..).and_then(|after| after.find('\n')).map_or(text.len(), |at| offset + at + 1)
}

fn column(text: &str, offset: usize) -> usize {
    offset - line_start(text, offset)
}

fn own_entries(node: &Node) -> impl Iterator<Item = &TableEntry> {
    node.entries().iter().filter(|entry| !entry.merged)
}

fn entry_end(text: &str, entry: &TableEntry) -> usize {
    trimmed_end(text, outer(&entry.node)).max(entry.key_span.end)
}

/// Sets one key of a mapping.
fn set(text: &str, node: &Node, key: &str, written: &Written) -> Option<Splice> {
    match own_entries(node).filter(|entry| entry.key == key).last() {
        Some(entry) => {
            let after_key = text.get(entry.key_span.end..)?;
            let colon = entry.key_span.end + after_key.find(':')? + 1;
            let value = outer(&entry.node);
            let end = trimmed_end(text, value).max(colon);
            // A comment between the key and a value on lines of its own stays behind the new value.
            let between = text.get(colon..value.start.max(colon)).unwrap_or_default();
            let comment = between.find('#').and_then(|at| between.get(at..)).and_then(|rest| rest.lines().next());
            let comment = comment.map_or_else(String::new, |comment| format!("  {}", comment.trim_end()));
            Some(Splice::new(colon, end, format!(" {}{comment}", flow(written))))
        }
        None if is_flow(text, node) => {
            let close = node.span.end.checked_sub(1)?;
            let separator = if own_entries(node).next().is_some() { ", " } else { "" };
            let inside = text.get(..close)?.trim_end().trim_end_matches(',').len();
            Some(Splice::new(inside, close, format!("{separator}{}: {}", scalar(key), flow(written))))
        }
        None => {
            let first = own_entries(node).next()?;
            let indent = " ".repeat(column(text, first.key_span.start));
            let last = own_entries(node).map(|entry| entry_end(text, entry)).max()?;
            let at = line_end(text, last);
            Some(Splice::new(at, at, block_entry(text, &indent, key, written)))
        }
    }
}

/// A line break of the file's kind, the indentation, the key and its value.
fn block_entry(text: &str, indent: &str, key: &str, written: &Written) -> String {
    let line_break = line_break(text);
    match written {
        Written::Table(texts) => {
            let mut block = format!("{line_break}{indent}{}:", scalar(key));
            for (name, value) in texts {
                block.push_str(&format!("{line_break}{indent}  {}: {}", scalar(name), scalar(value)));
            }
            block
        }
        _ => format!("{line_break}{indent}{}: {}", scalar(key), flow(written)),
    }
}

fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Removes one key of a mapping with its value.
fn remove_entry(text: &str, mapping: &Node, entry: &TableEntry) -> Option<Splice> {
    if entry.merged {
        return None;
    }
    let end = entry_end(text, entry);
    if is_flow(text, mapping) {
        return Some(remove_flow(text, mapping, entry.key_span.start, end));
    }
    let start = line_start(text, entry.key_span.start);
    let before = text.get(start..entry.key_span.start)?;
    if before.trim().is_empty() {
        return Some(Splice::new(start, next_line(text, end), String::new()));
    }
    // The first key of a list's element shares its line with the dash: the next key takes its place.
    let next = own_entries(mapping).map(|other| other.key_span.start).filter(|other| *other > end).min()?;
    Some(Splice::new(entry.key_span.start, next, String::new()))
}

fn remove_element(text: &str, sequence: &Node, node: &Node) -> Option<Splice> {
    let span = outer(node);
    let end = trimmed_end(text, span);
    if is_flow(text, sequence) {
        return Some(remove_flow(text, sequence, span.start, end));
    }
    let start = line_start(text, span.start);
    // Nothing but the dash and an anchor may stand before the element.
    let before = text.get(start..span.start)?.trim();
    let rest = before.strip_prefix('-')?.trim();
    if !(rest.is_empty() || rest.starts_with('&') && !rest.contains(' ')) {
        return None;
    }
    Some(Splice::new(start, next_line(text, end), String::new()))
}

/// Removes one part of a flow collection, and the comma that set it off.
fn remove_flow(text: &str, collection: &Node, start: usize, end: usize) -> Splice {
    let after = text.get(end..collection.span.end).unwrap_or_default();
    let blank = after.len() - after.trim_start().len();
    if after.trim_start().starts_with(',') {
        let rest = after.get(blank + 1..).unwrap_or_default();
        let skip = rest.len() - rest.trim_start().len();
        return Splice::new(start, end + blank + 1 + skip, String::new());
    }
    let before = text.get(collection.span.start..start).unwrap_or_default();
    let trimmed = before.trim_end().trim_end_matches(',').trim_end();
    Splice::new(collection.span.start + trimmed.len(), end, String::new())
}

fn insert_server(source: &Source, document: &Node, spot: &Spot, keys: &[(String, Written)]) -> Option<String> {
    let text = source.text();
    // The deepest part of the path that exists, and what is missing of it.
    let mut node = document;
    let mut missing: &[String] = &spot.root;
    let mut holder: Option<&TableEntry> = None;
    while let Some((key, rest)) = missing.split_first() {
        let Some(entry) = node.entry(key) else { break };
        (node, missing, holder) = (&entry.node, rest, Some(entry));
    }
    if node.alias.is_some() || holder.is_some_and(|entry| entry.merged) {
        return None;
    }
    let is_empty = match &node.value {
        Value::Null => true,
        Value::Table(entries) => entries.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        _ => return None,
    };
    if is_empty {
        return insert_first(text, holder, missing, spot, keys);
    }
    if !missing.is_empty() {
        // `mcp:` exists with other keys, or the file does: one more key at the end of the mapping.
        let first = own_entries(node).next()?;
        if is_flow(text, node) {
            return None;
        }
        let indent = column(text, first.key_span.start);
        let last = own_entries(node).map(|entry| entry_end(text, entry)).max()?;
        let at = line_end(text, last);
        let added = nested(text, missing, indent, spot, keys);
        return Some(Splice::new(at, at, added).apply(text));
    }
    let splice = if is_flow(text, node) {
        let close = node.span.end.checked_sub(1)?;
        let inside = text.get(..close)?.trim_end().trim_end_matches(',').len();
        Splice::new(inside, close, format!(", {}", flow_server(spot, keys)))
    } else {
        let (indent, last) = match &node.value {
            Value::Array(elements) => {
                let first = elements.first().map(outer)?;
                let start = line_start(text, first.start);
                let before = text.get(start..first.start)?;
                (
                    before.len() - before.trim_start().len(),
                    elements.iter().map(|element| trimmed_end(text, outer(element))).max()?,
                )
            }
            _ => {
                let first = own_entries(node).next()?;
                (column(text, first.key_span.start), own_entries(node).map(|entry| entry_end(text, entry)).max()?)
            }
        };
        let at = line_end(text, last);
        Splice::new(at, at, block_server(text, spot, indent, keys))
    };
    Some(splice.apply(text))
}

/// The first server of a file, or of an empty collection.
fn insert_first(
    text: &str,
    holder: Option<&TableEntry>,
    missing: &[String],
    spot: &Spot,
    keys: &[(String, Written)],
) -> Option<String> {
    let Some(holder) = holder else {
        let added = nested(text, missing, 0, spot, keys);
        let start = text.trim_end();
        let line_break = line_break(text);
        let added = if start.is_empty() { added.trim_start().to_owned() } else { added };
        return Some(format!("{start}{added}{line_break}"));
    };
    let colon = holder.key_span.end + text.get(holder.key_span.end..)?.find(':')? + 1;
    let end = trimmed_end(text, outer(&holder.node)).max(colon);
    let rest = text.get(colon..end)?;
    if !matches!(rest.trim(), "" | "[]" | "{}" | "~" | "null") {
        return None;
    }
    let indent = column(text, holder.key_span.start) + 2;
    let added = nested(text, missing, indent, spot, keys);
    // What stands behind the key on its line, a comment for instance, stays there.
    let line = line_end(text, end);
    let behind = text.get(end..line)?;
    Some(Splice::new(colon, line, format!("{behind}{added}")).apply(text))
}

/// The keys that are missing, one inside the other, with the server in the innermost.
fn nested(text: &str, missing: &[String], indent: usize, spot: &Spot, keys: &[(String, Written)]) -> String {
    let line_break = line_break(text);
    let mut added = String::new();
    let mut indent = indent;
    for key in missing {
        added.push_str(&format!("{line_break}{}{}:", " ".repeat(indent), scalar(key)));
        indent += 2;
    }
    added.push_str(&block_server(text, spot, indent, keys));
    added
}

fn block_server(text: &str, spot: &Spot, indent: usize, keys: &[(String, Written)]) -> String {
    let line_break = line_break(text);
    let margin = " ".repeat(indent);
    let inner = " ".repeat(indent + 2);
    match spot.name_key {
        None => {
            let mut block = format!("{line_break}{margin}{}:", scalar(&spot.name));
            for (key, written) in keys {
                block.push_str(&block_entry(text, &inner, key, written));
            }
            block
        }
        Some(_) => {
            let mut block = String::new();
            for (key, written) in keys {
                block.push_str(&block_entry(text, &inner, key, written));
            }
            // The first key stands behind the dash.
            let first = format!("{line_break}{inner}");
            let body = block.strip_prefix(&first).unwrap_or(&block);
            format!("{line_break}{margin}- {body}")
        }
    }
}

fn flow_server(spot: &Spot, keys: &[(String, Written)]) -> String {
    let body: Vec<String> = keys.iter().map(|(key, written)| format!("{}: {}", scalar(key), flow(written))).collect();
    match spot.name_key {
        Some(_) => format!("{{{}}}", body.join(", ")),
        None => format!("{}: {{{}}}", scalar(&spot.name), body.join(", ")),
    }
}

fn flow(written: &Written) -> String {
    match written {
        Written::Text(text) => scalar(text),
        Written::Flag(flag) => flag.to_string(),
        Written::Integer(number) => number.to_string(),
        Written::Float(number) => number.to_string(),
        Written::List(texts) => {
            format!("[{}]", texts.iter().map(|text| scalar(text)).collect::<Vec<_>>().join(", "))
        }
        Written::Table(texts) => {
            let pairs: Vec<String> =
                texts.iter().map(|(key, text)| format!("{}: {}", scalar(key), scalar(text))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}

/// A text as YAML reads it back: plain where nothing can go wrong, else in double quotes as JSON has them.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && text.chars().all(|character| character.is_ascii_alphanumeric() || "_-./@".contains(character))
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if is_plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}
