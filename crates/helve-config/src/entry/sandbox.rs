//! A server's `sandbox`: a profile, or a table with a profile and what is added to it.
//!
//! A mistake in it keeps the server off: a misspelt limit must not mean none.

use std::path::{Path, PathBuf};

use helve_model::sandbox::{Choice, HostPattern, Limits, Network, Profile};
use helve_model::text::nearest;
use helve_model::{Layer, SandboxSpec, TransportSpec};

use super::values::{Secrecy, Values};
use crate::diagnostic::{Code, Diagnostic, Severity, quoted};
use crate::document::{Node, TableEntry, Value};
use crate::field::Field;
use crate::interpolate::Place;
use crate::reader::{unknown_key, wrong_type};

/// The keys of the table.
pub(crate) const KEYS: &[&str] = &[
    "profile",
    "read",
    "write",
    "exec",
    "network",
    "unix",
    "memory_mb",
    "processes",
    "open_files",
    "file_size_mb",
    "processor_seconds",
    "required",
];

/// What the entry says; `None` when it says nothing.
pub(super) fn read(values: &mut Values<'_, '_>, transport: &TransportSpec) -> Option<SandboxSpec> {
    let entry = values.find(Field::Sandbox)?;
    let TransportSpec::Stdio(stdio) = transport else {
        let message = format!("{} is for programs that helve starts", quoted(&entry.key));
        values.invalid(Diagnostic::error(Code::BadValue, message).hint("remove it"), entry.key_span);
        return None;
    };
    // Relative paths start where the program runs: where nobody says where that is, they stay relative until it is started.
    let base = stdio.working_directory.clone().unwrap_or_default();
    match &entry.node.value {
        Value::String(_) => Some(SandboxSpec::new(profile(values, &entry.key, &entry.node)?)),
        Value::Table(entries) => table(values, entry, entries, &base),
        _ => {
            mistake(values, &entry.key, "a profile or a table", &entry.node);
            None
        }
    }
}

fn table(values: &mut Values<'_, '_>, entry: &TableEntry, entries: &[TableEntry], base: &Path) -> Option<SandboxSpec> {
    let mut spec = SandboxSpec::new(Choice::In(Profile::Standard));
    for inner in entries {
        let key = format!("{}.{}", entry.key, inner.key);
        let node = &inner.node;
        match inner.key.as_str() {
            "profile" => spec.profile = profile(values, &key, node)?,
            "read" => spec.read = paths(values, &key, node, base)?,
            "write" => spec.write = paths(values, &key, node, base)?,
            "exec" => spec.exec = paths(values, &key, node, base)?,
            "network" => spec.network = Some(network(values, &key, node)?),
            "unix" => spec.unix = flag(values, &key, node)?,
            "required" => spec.required = Some(flag(values, &key, node)?),
            "memory_mb" | "processes" | "open_files" | "file_size_mb" | "processor_seconds" => {
                let limit = u64::from(count(values, &key, node)?);
                let Limits { memory, processes, open_files, file_size, processor_seconds } = &mut spec.limits;
                let (field, limit) = match inner.key.as_str() {
                    "memory_mb" => (memory, limit << 20),
                    "processes" => (processes, limit),
                    "open_files" => (open_files, limit),
                    "file_size_mb" => (file_size, limit << 20),
                    _ => (processor_seconds, limit),
                };
                *field = Some(limit);
            }
            _ => {
                let mut diagnostic = unknown_key(&inner.key, KEYS.iter().copied());
                diagnostic.severity = Severity::Error;
                values.invalid(diagnostic, inner.key_span);
                return None;
            }
        }
    }
    if spec.required == Some(false) && values.server.layer == Layer::Project {
        let message = "a project cannot do with less than the sandbox it asks for";
        let hint = "put the server into your own helve.toml to say `required = false`";
        values.invalid(Diagnostic::error(Code::BadValue, message).hint(hint), entry.key_span);
        return None;
    }
    if !spec.is_on() && spec != SandboxSpec::new(Choice::Off) {
        let message = "`profile = \"off\"` is not a sandbox, and has nothing besides";
        let hint = "choose a profile, or write `sandbox = \"off\"`";
        values.invalid(Diagnostic::error(Code::BadValue, message).hint(hint), entry.key_span);
        return None;
    }
    Some(spec)
}

pub(crate) fn profile_names() -> Vec<&'static str> {
    Choice::ALL.into_iter().map(Choice::as_str).collect()
}

fn profile(values: &mut Values<'_, '_>, key: &str, node: &Node) -> Option<Choice> {
    let Some(name) = node.as_str() else {
        mistake(values, key, "a string", node);
        return None;
    };
    let profile = name.parse().ok();
    if profile.is_none() {
        let message = format!("{} cannot be {}", quoted(key), quoted(name));
        let hint = match nearest(name, profile_names()) {
            Some(near) => format!("did you mean {}?", quoted(near)),
            None => format!("it is one of {}", profile_names().join(", ")),
        };
        values.invalid(Diagnostic::error(Code::BadValue, message).hint(hint), node.span);
    }
    profile
}

fn network(values: &mut Values<'_, '_>, key: &str, node: &Node) -> Option<Network> {
    match node.as_str() {
        Some("all") => return Some(Network::All),
        Some("none") => return Some(Network::None),
        Some(other) => {
            let message = format!("{} cannot be {}", quoted(key), quoted(other));
            let hint = "it is \"all\", \"none\", or a list of hosts";
            values.invalid(Diagnostic::error(Code::BadValue, message).hint(hint), node.span);
            return None;
        }
        None => {}
    }
    let mut hosts = Vec::new();
    for (text, node) in strings(values, key, node)? {
        match text.parse::<HostPattern>() {
            Ok(host) => hosts.push(host),
            Err(bad) => {
                values.invalid(Diagnostic::error(Code::BadValue, format!("{}: {bad}", quoted(key))), node.span);
                return None;
            }
        }
    }
    Some(Network::Hosts(hosts))
}

fn paths(values: &mut Values<'_, '_>, key: &str, node: &Node, base: &Path) -> Option<Vec<PathBuf>> {
    let texts = strings(values, key, node)?;
    let path = |(text, node): (String, &Node)| {
        let text = values.text(key, &text, node.span, Place::Elsewhere, Secrecy::Open);
        // Without the dots in the middle, which say nothing.
        base.join(values.file.scope.environment.expand_home(text.expose())).components().collect()
    };
    Some(texts.into_iter().map(path).collect())
}

fn strings<'node>(values: &mut Values<'_, '_>, key: &str, node: &'node Node) -> Option<Vec<(String, &'node Node)>> {
    if !node.is_array() {
        mistake(values, key, "a list of strings", node);
        return None;
    }
    let mut texts = Vec::new();
    for element in node.elements() {
        match element.as_str() {
            Some(text) if !text.is_empty() => texts.push((text.to_owned(), element)),
            _ => {
                mistake(values, key, "a list of strings", element);
                return None;
            }
        }
    }
    Some(texts)
}

fn flag(values: &mut Values<'_, '_>, key: &str, node: &Node) -> Option<bool> {
    if let Value::Bool(flag) = node.value {
        return Some(flag);
    }
    mistake(values, key, "true or false", node);
    None
}

fn count(values: &mut Values<'_, '_>, key: &str, node: &Node) -> Option<u32> {
    if let Value::Integer(number) = node.value
        && let Ok(number) = u32::try_from(number)
        && number > 0
    {
        return Some(number);
    }
    mistake(values, key, "a whole number from 1", node);
    None
}

fn mistake(values: &mut Values<'_, '_>, key: &str, expected: &str, node: &Node) {
    values.invalid(Diagnostic::error(Code::WrongType, wrong_type(&quoted(key), expected, node)), node.span);
}
