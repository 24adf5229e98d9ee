//! YAML: the events of `granit-parser` built into a tree, with anchors, aliases, merge keys and the core schema.
//!
//! Only the first document of a stream counts. Plain scalars mean what YAML 1.2 says (`no` is a text), and a number
//! that does not fit is a text.

use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Parser, ScalarStyle};

use super::{Format, MAX_ALIASED_BYTES, MAX_DEPTH, MAX_NODES, Node, TableEntry, Value, syntax};
use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span};

const MERGE_KEY: &str = "<<";

/// A collection whose end has not been read yet.
struct Open {
    node: Node,
    anchor: usize,
    /// A mapping's key that waits for its value.
    key: Option<Node>,
}

struct Builder<'source> {
    source: &'source Source,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    root: Option<Node>,
    nodes: usize,
    /// What anchors and aliases copied.
    copied_bytes: usize,
}

pub(super) fn parse(source: &Source) -> Result<Node, Box<Diagnostic>> {
    let mut builder =
        Builder { source, open: Vec::new(), anchors: HashMap::new(), root: None, nodes: 0, copied_bytes: 0 };
    for event in Parser::new_from_str(source.text()) {
        let (event, span) = event.map_err(|error| {
            let at = error.marker().byte_offset().unwrap_or(0);
            syntax(source, Format::Yaml, Span::new(at, at), &error.info())
        })?;
        let bytes = span.byte_range().unwrap_or(0..0);
        if matches!(event, Event::DocumentEnd) {
            break;
        }
        builder.event(event, Span::new(bytes.start, bytes.end.max(bytes.start)))?;
    }
    Ok(builder.root.unwrap_or_else(|| Node::new(Value::Table(Vec::new()), 0, source.text().len())))
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Box<Diagnostic>> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
                let value = if is_text { Value::String(text.into_owned()) } else { plain(&text) };
                self.finish(Node { value, span, alias: None }, anchor)
            }
            Event::SequenceStart(_, anchor, _) => self.begin(Value::Array(Vec::new()), span, anchor),
            Event::MappingStart(_, anchor, _) => self.begin(Value::Table(Vec::new()), span, anchor),
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(mut open) = self.open.pop() else { return Ok(()) };
                own_keys_win(&mut open.node);
                // The end event of a block stands where the next token starts; the last child ends where the block does.
                open.node.span.end = match &open.node.value {
                    _ if self.source.text().get(span.start..span.end).is_some_and(|text| matches!(text, "]" | "}")) => {
                        span.end
                    }
                    Value::Array(elements) => elements.last().map_or(open.node.span.end, outer_end),
                    Value::Table(entries) => entries
                        .iter()
                        .filter(|entry| !entry.merged)
                        .map(|entry| outer_end(&entry.node).max(entry.key_span.end))
                        .max()
                        .unwrap_or(open.node.span.end),
                    _ => open.node.span.end,
                };
                self.finish(open.node, open.anchor)
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(node) => {
                    let (nodes, bytes) = weight(node);
                    self.charge(nodes, bytes, span)?;
                    let Some(mut node) = self.anchors.get(&anchor).cloned() else { return Ok(()) };
                    node.alias = Some(span);
                    self.finish(node, 0)
                }
                None => Err(syntax(self.source, Format::Yaml, span, "a value refers to itself")),
            },
            _ => Ok(()),
        }
    }

    fn charge(&mut self, nodes: usize, bytes: usize, span: Span) -> Result<(), Box<Diagnostic>> {
        self.nodes = self.nodes.saturating_add(nodes);
        self.copied_bytes = self.copied_bytes.saturating_add(bytes);
        if self.nodes > MAX_NODES || self.copied_bytes > MAX_ALIASED_BYTES {
            return Err(syntax(self.source, Format::Yaml, span, "its aliases make too many values"));
        }
        Ok(())
    }

    fn begin(&mut self, value: Value, span: Span, anchor: usize) -> Result<(), Box<Diagnostic>> {
        if self.open.len() >= MAX_DEPTH {
            return Err(syntax(self.source, Format::Yaml, span, "values are nested too deeply"));
        }
        self.open.push(Open { node: Node { value, span, alias: None }, anchor, key: None });
        Ok(())
    }

    /// A whole value was read: it goes into the collection around it.
    fn finish(&mut self, node: Node, anchor: usize) -> Result<(), Box<Diagnostic>> {
        self.charge(1, 0, node.span)?;
        if anchor > 0 {
            let (nodes, bytes) = weight(&node);
            self.charge(nodes, bytes, node.span)?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root.get_or_insert(node);
            return Ok(());
        };
        let key = open.key.take();
        match (&mut open.node.value, key) {
            (Value::Array(elements), _) => elements.push(node),
            (Value::Table(_), None) => open.key = Some(node),
            (Value::Table(entries), Some(key)) if key.as_str() == Some(MERGE_KEY) => {
                let known = entries.len();
                merge(entries, &node);
                return self.charge(known, 0, node.span);
            }
            (Value::Table(entries), Some(key)) => {
                let name = key_text(&key);
                entries.push(TableEntry { key: name, key_span: key.alias.unwrap_or(key.span), node, merged: false });
            }
            _ => {}
        }
        Ok(())
    }
}

/// Adds what `source` holds and `entries` lacks; of a list of mappings, earlier ones win.
fn merge(entries: &mut Vec<TableEntry>, source: &Node) {
    let mut known: HashSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
    let mut add = |merged: &[TableEntry]| {
        for entry in merged {
            if known.insert(entry.key.clone()) {
                entries.push(TableEntry { merged: true, ..entry.clone() });
            }
        }
    };
    match &source.value {
        Value::Table(merged) => add(merged),
        Value::Array(sources) => sources.iter().for_each(|source| add(source.entries())),
        _ => {}
    }
}

/// What a mapping says itself wins over what it merged in, wherever the merge key stands.
fn own_keys_win(node: &mut Node) {
    let Value::Table(entries) = &mut node.value else { return };
    if !entries.iter().any(|entry| entry.merged) {
        return;
    }
    let own: HashSet<String> = entries.iter().filter(|entry| !entry.merged).map(|entry| entry.key.clone()).collect();
    entries.retain(|entry| !(entry.merged && own.contains(&entry.key)));
}

/// Where a value ends in its own place: behind the alias, when it is one.
fn outer_end(node: &Node) -> usize {
    node.alias.map_or(node.span.end, |alias| alias.end)
}

/// How many values a copy makes, and how many bytes of text.
fn weight(node: &Node) -> (usize, usize) {
    let sum = |(nodes, bytes): (usize, usize), (more_nodes, more_bytes): (usize, usize)| {
        (nodes.saturating_add(more_nodes), bytes.saturating_add(more_bytes))
    };
    match &node.value {
        Value::Array(elements) => elements.iter().map(weight).fold((1, 0), sum),
        Value::Table(entries) => entries.iter().fold((1, 0), |all, entry| {
            let (nodes, bytes) = weight(&entry.node);
            sum(all, (nodes, bytes.saturating_add(entry.key.len())))
        }),
        Value::String(text) => (1, text.len()),
        _ => (1, 0),
    }
}

fn key_text(key: &Node) -> String {
    match &key.value {
        Value::String(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Null => "null".to_owned(),
        Value::Array(_) | Value::Table(_) => String::new(),
    }
}

/// The core schema of YAML 1.2.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    if let Some(number) = integer(text) {
        return Value::Integer(number);
    }
    let digits = text.trim_start_matches(['-', '+']);
    let numeric = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && digits.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    match text.parse::<f64>() {
        Ok(number) if numeric && number.is_finite() => Value::Float(number),
        _ => Value::String(text.to_owned()),
    }
}

fn integer(text: &str) -> Option<i64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return i64::from_str_radix(digits, 16).ok();
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return i64::from_str_radix(digits, 8).ok();
    }
    text.parse().ok()
}
