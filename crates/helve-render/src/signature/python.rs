//! Owns Python signatures.

use std::fmt::Write as _;

use super::{Detail, Parameters, Prose, Tool, identifier, is_identifier, kinds_of};
use crate::schema::json::Json;
use crate::schema::types::{ObjectField, ObjectType, Others, Type};
use helve_model::text::is_visible;

/// Words that cannot be names. `__debug__` can be parsed but not compiled.
const RESERVED: [&str; 36] = [
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
    "__debug__",
];

pub(super) fn signature(tool: &Tool<'_>, detail: &Detail) -> String {
    let mut text = identifier(tool.name, &RESERVED);
    text.push('(');
    text.push_str(&parameters(&tool.input, detail).join(", "));
    text.push(')');
    if let Some(output) = &tool.output
        && detail.parameters == Parameters::Typed
    {
        text.push_str(" -> ");
        text.push_str(&type_name(output, detail));
    }
    text
}

pub(super) fn documented(signature: &str, prose: &Prose) -> String {
    let mut lines = vec![prose.summary.clone()];
    if !prose.parameters.is_empty() {
        lines.push(String::new());
        lines.extend(prose.parameters.iter().map(|(name, words)| format!("{name}: {words}")));
    }
    if lines.iter().all(String::is_empty) {
        return super::statement(super::Style::Python, signature);
    }
    let multiple = lines.len() > 1;
    let mut text = format!("def {signature}:\n    \"\"\"");
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            text.push('\n');
            if !line.is_empty() {
                text.push_str("    ");
            }
        }
        // Inside three quotes only a backslash and a quote can do harm.
        text.push_str(&line.replace('\\', "\\\\").replace('"', "\\\""));
    }
    text.push_str(if multiple { "\n    \"\"\"" } else { "\"\"\"" });
    text
}

fn parameters(input: &ObjectType, detail: &Detail) -> Vec<String> {
    if detail.parameters == Parameters::Unnamed {
        let none = input.fields.is_empty() && !matches!(input.others, Others::Of(_));
        return if none { Vec::new() } else { vec!["**kwargs".to_owned()] };
    }
    let (plain, special): (Vec<&ObjectField>, Vec<&ObjectField>) =
        input.fields.iter().partition(|field| is_name(&field.name));
    let (required, optional): (Vec<&ObjectField>, Vec<&ObjectField>) = plain.iter().partition(|field| field.required);
    let mut parameters: Vec<String> = required.iter().chain(&optional).map(|field| parameter(field, detail)).collect();
    // The name of the rest must not be taken.
    let mut rest = "**kwargs".to_owned();
    while plain.iter().any(|field| rest.strip_prefix("**") == Some(&field.name)) {
        rest.push('_');
    }
    match (&input.others, special.as_slice(), detail.parameters) {
        (Others::Of(_), [], Parameters::Named) | (Others::Unsaid | Others::None, [_, ..], Parameters::Named) => {
            parameters.push(rest);
        }
        (Others::Of(kind), [], _) if **kind == Type::Any => parameters.push(rest),
        (Others::Of(kind), [], _) => parameters.push(format!("{rest}: {}", type_name(kind, detail))),
        (_, [], _) => {}
        (_, special, _) => {
            parameters.push(format!("{rest}: {}", display(special, &input.others, &detail.deeper())));
        }
    }
    parameters
}

fn is_name(name: &str) -> bool {
    is_identifier(name) && !RESERVED.contains(&name)
}

fn parameter(field: &ObjectField, detail: &Detail) -> String {
    if detail.parameters == Parameters::Named {
        return if field.required { field.name.clone() } else { format!("{}=None", field.name) };
    }
    let kind = type_name(&field.kind, detail);
    match &field.default {
        _ if field.required => format!("{}: {kind}", field.name),
        Some(default) => format!("{}: {kind} = {}", field.name, short_literal(default, detail.default)),
        None if kind == "Any" || kind.ends_with("None") => format!("{}: {kind} = None", field.name),
        None => format!("{}: {kind} | None = None", field.name),
    }
}

fn type_name(kind: &Type, detail: &Detail) -> String {
    match kind {
        Type::Any => "Any".to_owned(),
        Type::Never => "Never".to_owned(),
        Type::Null => "None".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Integer => "int".to_owned(),
        Type::Number => "float".to_owned(),
        Type::String => "str".to_owned(),
        Type::Literals(values) if values.len() > detail.literals => type_name(&kinds_of(values), detail),
        Type::Literals(values) => {
            let values: Vec<String> = values.iter().map(literal).collect();
            format!("Literal[{}]", values.join(", "))
        }
        Type::List(item) if **item == Type::Any => "list".to_owned(),
        Type::List(item) => format!("list[{}]", type_name(item, &detail.deeper())),
        Type::Tuple(items, others) => tuple(items, others, detail),
        Type::Object(object) if object.fields.is_empty() => match &object.others {
            Others::Of(kind) if **kind != Type::Any => format!("dict[str, {}]", type_name(kind, &detail.deeper())),
            _ => "dict".to_owned(),
        },
        Type::Object(_) if detail.depth == 0 => "dict".to_owned(),
        Type::Object(object) => display(&object.fields.iter().collect::<Vec<_>>(), &object.others, &detail.deeper()),
        Type::Union(alternatives) => {
            let mut names: Vec<String> = Vec::new();
            for alternative in alternatives {
                let name = type_name(alternative, detail);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            names.join(" | ")
        }
        Type::Again(name) => literal(&Json::String(identifier(name, &[]))),
    }
}

fn tuple(items: &[Type], others: &Others, detail: &Detail) -> String {
    let mut items: Vec<String> = items.iter().map(|item| type_name(item, &detail.deeper())).collect();
    match others {
        Others::None if items.is_empty() => return "tuple[()]".to_owned(),
        Others::None => {}
        Others::Unsaid => items.push("...".to_owned()),
        Others::Of(kind) => {
            items.push(type_name(kind, &detail.deeper()));
            items.push("...".to_owned());
        }
    }
    format!("tuple[{}]", items.join(", "))
}

/// An object as a dictionary of its types.
fn display(fields: &[&ObjectField], others: &Others, detail: &Detail) -> String {
    let mut entries: Vec<String> = fields
        .iter()
        .map(|field| {
            let kind = type_name(&field.kind, detail);
            let name = string(&field.name);
            if field.required { format!("{name}: {kind}") } else { format!("{name}: NotRequired[{kind}]") }
        })
        .collect();
    if let Others::Of(kind) = others {
        entries.push(format!("...: {}", type_name(kind, detail)));
    }
    format!("{{{}}}", entries.join(", "))
}

fn short_literal(value: &Json, characters: usize) -> String {
    let text = literal(value);
    if text.chars().count() > characters { "...".to_owned() } else { text }
}

fn literal(value: &Json) -> String {
    match value {
        Json::Null => "None".to_owned(),
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::Number(number) => number.to_string(),
        Json::String(text) => string(text),
        Json::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Json::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("{}: {}", string(key), literal(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

fn string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            plain if is_visible(plain) => quoted.push(plain),
            hidden => {
                let _ = match u32::from(hidden) {
                    code @ 0..=0xffff => write!(quoted, "\\u{code:04x}"),
                    code => write!(quoted, "\\U{code:08x}"),
                };
            }
        }
    }
    quoted.push('"');
    quoted
}
