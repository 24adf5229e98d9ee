//! Servers that ship inside helve: which one is meant, and how its options are read.

use std::path::Path;

use helve_model::text::nearest;
use helve_model::{BuiltinSpec, ConfigText, TransportSpec};
use indexmap::IndexMap;

use super::transport::{Found, directories};
use super::values::{Secrecy, Values};
use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::dialect::helve::BUILTINS;
use crate::document::{Node, TableEntry, Value};
use crate::field::{Field, OptionShape};
use crate::interpolate::Place;
use crate::source::Span;

/// What only programs and addresses have.
const OF_OTHERS: &[Field] = &[
    Field::Type,
    Field::Command,
    Field::Arguments,
    Field::Environment,
    Field::EnvironmentFile,
    Field::PassedVariables,
    Field::InheritEnvironment,
    Field::WorkingDirectory,
    Field::Url,
    Field::Headers,
    Field::BearerVariable,
    Field::OAuth,
    Field::ProtocolVersion,
];

pub(super) fn read(values: &mut Values<'_, '_>, entry: &TableEntry, name_span: Span) -> Found {
    let Some((kind, known)) = kind(values, entry) else { return Found::Mistake };
    for other in values.node.entries() {
        match values.file.shape.field_of(&other.key) {
            Some(field) if OF_OTHERS.contains(&field) => {
                let message = format!("a built-in server has no {}", quoted(&other.key));
                values.invalid(Diagnostic::error(Code::BadValue, message).hint("remove it"), other.key_span);
            }
            Some(Field::BuiltinOption(_)) if !known.contains(&other.key.as_str()) => {
                let message = format!("the built-in server {} has no {}", quoted(kind), quoted(&other.key));
                let names: Vec<String> = known.iter().map(|name| quoted(name)).collect();
                let hint =
                    if names.is_empty() { "remove it".to_owned() } else { format!("it has {}", names.join(", ")) };
                values.invalid(Diagnostic::error(Code::BadValue, message).hint(hint), other.key_span);
            }
            _ => {}
        }
    }
    let mut options = IndexMap::new();
    for name in known {
        // In the order of the table, so that the order of a file means nothing.
        let given = values.node.entries().iter().rev().find(|other| other.key == *name);
        if let Some(texts) = given.and_then(|given| option(values, given)) {
            options.insert((*name).to_owned(), texts);
        }
    }
    fill_in(values, kind, &mut options, name_span);
    Found::Transport(Box::new(TransportSpec::Builtin(BuiltinSpec { kind: kind.to_owned(), options })))
}

/// An option without a built-in server would limit nothing.
pub(super) fn refuse_options(values: &mut Values<'_, '_>) {
    for entry in values.node.entries() {
        if let Some(Field::BuiltinOption(_)) = values.file.shape.field_of(&entry.key) {
            let message = format!("{} is for built-in servers", quoted(&entry.key));
            let owner = BUILTINS.iter().find(|(_, options)| options.contains(&entry.key.as_str()));
            let owner = owner.map_or("filesystem", |(kind, _)| kind);
            let hint = format!("add `builtin = \"{owner}\"`, or remove it");
            values.invalid(Diagnostic::error(Code::BadValue, message).hint(hint), entry.key_span);
        }
    }
}

fn kind(values: &mut Values<'_, '_>, entry: &TableEntry) -> Option<(&'static str, &'static [&'static str])> {
    let (text, _) = values.string(Field::Builtin).or_else(|| {
        if entry.node.value == Value::Null {
            let message = format!("{} names none of the built-in servers", quoted(&entry.key));
            values.invalid(Diagnostic::error(Code::BadValue, message), entry.node.span);
        }
        None
    })?;
    if let Some((kind, options)) = BUILTINS.iter().find(|(kind, _)| *kind == text) {
        return Some((kind, options));
    }
    let names = || BUILTINS.iter().map(|(kind, _)| *kind);
    let hint = match nearest(text, names()) {
        Some(near) => format!("did you mean {}?", quoted(near)),
        None => format!("built-in servers are {}", names().map(quoted).collect::<Vec<_>>().join(", ")),
    };
    let message = format!("there is no built-in server {}", quoted(text));
    values.invalid(Diagnostic::error(Code::BadValue, message).hint(hint), entry.node.span);
    None
}

fn option(values: &mut Values<'_, '_>, entry: &TableEntry) -> Option<Vec<ConfigText>> {
    let Some(Field::BuiltinOption(shape)) = values.file.shape.field_of(&entry.key) else { return None };
    match (shape, &entry.node.value) {
        (OptionShape::Path, Value::String(text)) => Some(vec![path(values, &entry.key, text, &entry.node)?]),
        (OptionShape::Paths, Value::Array(elements)) if !elements.is_empty() => {
            let mut paths = Vec::with_capacity(elements.len());
            for (index, node) in elements.iter().enumerate() {
                let field = format!("{}[{index}]", entry.key);
                match node.as_str() {
                    Some(text) => paths.push(path(values, &field, text, node)?),
                    None => return wrong_type(values, &field, "a string", node),
                }
            }
            Some(paths)
        }
        (OptionShape::Flag, Value::Bool(flag)) => Some(vec![ConfigText::literal(flag.to_string())]),
        (OptionShape::Count, Value::Integer(number)) if *number > 0 => {
            Some(vec![ConfigText::literal(number.to_string())])
        }
        // None at all must not mean the usual ones.
        (OptionShape::Paths, Value::Array(_)) => {
            let message = format!("{} is empty", quoted(&entry.key));
            let hint = "name at least one directory, or leave it out";
            values.invalid(Diagnostic::error(Code::BadValue, message).hint(hint), entry.node.span);
            None
        }
        (OptionShape::Path, _) => wrong_type(values, &entry.key, "a string", &entry.node),
        (OptionShape::Paths, _) => wrong_type(values, &entry.key, "a list of strings", &entry.node),
        (OptionShape::Flag, _) => wrong_type(values, &entry.key, "true or false", &entry.node),
        (OptionShape::Count, _) => wrong_type(values, &entry.key, "a whole number from 1", &entry.node),
    }
}

fn wrong_type(values: &mut Values<'_, '_>, field: &str, expected: &str, node: &Node) -> Option<Vec<ConfigText>> {
    let message = crate::reader::wrong_type(&quoted(field), expected, node);
    values.invalid(Diagnostic::error(Code::WrongType, message), node.span);
    None
}

/// A path with its references filled in for good: where a server may look is not a secret.
fn path(values: &mut Values<'_, '_>, field: &str, text: &str, node: &Node) -> Option<ConfigText> {
    let filled = values.text(field, text, node.span, Place::Elsewhere, Secrecy::Open);
    // A variable that is set to nothing must not open the whole directory.
    if filled.expose().trim().is_empty() {
        if values.server.blockers.is_empty() {
            let message = format!("{} is empty", quoted(field));
            let hint = "write `.` for the directory itself";
            values.invalid(Diagnostic::error(Code::BadValue, message).hint(hint), node.span);
        }
        return None;
    }
    let (_, base) = directories(values);
    let path = base.join(values.file.scope.environment.expand_home(filled.expose()));
    as_text(values, field, &path, node.span)
}

fn as_text(values: &mut Values<'_, '_>, field: &str, path: &Path, span: Span) -> Option<ConfigText> {
    if let Some(text) = path.to_str() {
        return Some(ConfigText::literal(text));
    }
    let message = format!("{} starts in a directory whose name is not UTF-8", quoted(field));
    values.invalid(Diagnostic::error(Code::BadValue, message).hint("write the whole path"), span);
    None
}

/// What follows from the file when an option is left away.
fn fill_in(values: &mut Values<'_, '_>, kind: &str, options: &mut IndexMap<String, Vec<ConfigText>>, span: Span) {
    let is_given = |values: &Values<'_, '_>, name: &str| values.node.entry(name).is_some();
    if kind == "filesystem"
        && !is_given(values, "roots")
        && let (Some(project), _) = directories(values)
        && let Some(root) = as_text(values, "roots", &project, span)
    {
        options.shift_insert(0, "roots".to_owned(), vec![root]);
    }
    if kind == "sqlite" && !is_given(values, "database") {
        let message = format!("server {} needs a `database`", quoted(values.server.name.as_str()));
        let hint = "write `database = \"data.db\"`";
        values.invalid(Diagnostic::error(Code::BadValue, message).hint(hint), span);
    }
}
