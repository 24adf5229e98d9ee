//! Owns TypeScript signatures.

use super::{Detail, Parameters, Prose, Tool, identifier, is_identifier, kinds_of};
use crate::schema::json::Json;
use crate::schema::types::{ObjectField, ObjectType, Others, Type};
use helve_model::text::quoted;

/// Words that cannot name a function in a module.
const RESERVED: [&str; 49] = [
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

pub(super) fn signature(tool: &Tool<'_>, detail: &Detail) -> String {
    let name = identifier(tool.name, &RESERVED);
    let output = match &tool.output {
        Some(output) if detail.parameters == Parameters::Typed => type_name(output, detail),
        _ => "unknown".to_owned(),
    };
    format!("{name}({}): Promise<{output}>", parameter(&tool.input, detail))
}

pub(super) fn documented(signature: &str, prose: &Prose) -> String {
    let mut lines: Vec<String> = Vec::new();
    if !prose.summary.is_empty() {
        lines.push(prose.summary.clone());
    }
    lines.extend(prose.parameters.iter().map(|(name, words)| format!("@param args.{name} {words}")));
    let statement = super::statement(super::Style::TypeScript, signature);
    match lines.as_slice() {
        [] => statement,
        [line] => format!("/** {} */\n{statement}", comment(line)),
        lines => {
            let lines: String = lines.iter().map(|line| format!(" * {}\n", comment(line))).collect();
            format!("/**\n{lines} */\n{statement}")
        }
    }
}

fn parameter(input: &ObjectType, detail: &Detail) -> String {
    let none = input.fields.is_empty() && !matches!(input.others, Others::Of(_));
    if none {
        return String::new();
    }
    let optional = if input.fields.iter().any(|field| field.required) { "" } else { "?" };
    let kind = if detail.parameters == Parameters::Unnamed { "object".to_owned() } else { object(input, detail) };
    format!("args{optional}: {kind}")
}

fn type_name(kind: &Type, detail: &Detail) -> String {
    match kind {
        Type::Any => "unknown".to_owned(),
        Type::Never => "never".to_owned(),
        Type::Null => "null".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Integer | Type::Number => "number".to_owned(),
        Type::String => "string".to_owned(),
        Type::Literals(values) if values.len() > detail.literals => type_name(&kinds_of(values), detail),
        Type::Literals(values) => distinct(values.iter().map(literal)).join(" | "),
        Type::List(item) => list(type_name(item, &detail.deeper())),
        Type::Tuple(items, others) => {
            let mut items: Vec<String> = items.iter().map(|item| type_name(item, &detail.deeper())).collect();
            match others {
                Others::None => {}
                Others::Unsaid => items.push("...unknown[]".to_owned()),
                Others::Of(kind) => items.push(format!("...{}", list(type_name(kind, &detail.deeper())))),
            }
            format!("[{}]", items.join(", "))
        }
        Type::Object(object) if object.fields.is_empty() => match &object.others {
            Others::Of(kind) => format!("Record<string, {}>", type_name(kind, &detail.deeper())),
            Others::Unsaid => "Record<string, unknown>".to_owned(),
            Others::None => "{}".to_owned(),
        },
        Type::Object(_) if detail.depth == 0 => "object".to_owned(),
        Type::Object(fields) => object(fields, &detail.deeper()),
        Type::Union(alternatives) => {
            // An intersection binds stronger than a union, so no alternative needs brackets.
            distinct(alternatives.iter().map(|alternative| type_name(alternative, detail))).join(" | ")
        }
        Type::Again(name) => format!("unknown /* {} */", comment(&identifier(name, &[]))),
    }
}

fn list(item: String) -> String {
    // Anything longer than a name would bind wrongly.
    if is_identifier(&item) { format!("{item}[]") } else { format!("Array<{item}>") }
}

fn object(object: &ObjectType, detail: &Detail) -> String {
    let fields: Vec<String> = object.fields.iter().map(|field| self::field(field, detail)).collect();
    let named = format!("{{ {} }}", fields.join("; "));
    match &object.others {
        // Beside other fields an index signature would have to fit them all; joined, it need not.
        Others::Of(kind) if detail.parameters == Parameters::Typed => {
            let others = format!("{{ [key: string]: {} }}", type_name(kind, detail));
            if fields.is_empty() { others } else { format!("{named} & {others}") }
        }
        _ => named,
    }
}

fn field(field: &ObjectField, detail: &Detail) -> String {
    let name = if is_identifier(&field.name) { field.name.clone() } else { string(&field.name) };
    let optional = if field.required { "" } else { "?" };
    if detail.parameters == Parameters::Named {
        return format!("{name}{optional}: unknown");
    }
    let kind = type_name(&field.kind, detail);
    match &field.default {
        Some(default) if !field.required => {
            let default = literal(default);
            let default = if default.chars().count() > detail.default { "…".to_owned() } else { comment(&default) };
            format!("{name}{optional}: {kind} /* = {default} */")
        }
        _ => format!("{name}{optional}: {kind}"),
    }
}

fn literal(value: &Json) -> String {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => value.to_text(),
        Json::String(text) => string(text),
        Json::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Json::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("{}: {}", string(key), literal(value))).collect();
            format!("{{ {} }}", members.join("; "))
        }
    }
}

fn string(text: &str) -> String {
    quoted(text, usize::MAX)
}

fn comment(text: &str) -> String {
    text.replace("*/", "* /")
}

fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    names.for_each(|name| {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    });
    distinct
}
