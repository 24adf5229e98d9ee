//! Owns the one-line signature for people: the words of the schema, nothing to parse.

use super::{Detail, Parameters, Prose, Tool, kinds_of};
use crate::schema::json::Json;
use crate::schema::types::{ObjectField, ObjectType, Others, Type};
use helve_model::text::{folded, quoted};

pub(super) fn signature(tool: &Tool<'_>, detail: &Detail) -> String {
    let name = folded(tool.name, 128);
    let mut parameters = fields(&tool.input, detail);
    if detail.parameters == Parameters::Unnamed && !parameters.is_empty() {
        parameters = vec!["…".to_owned()];
    }
    let text = format!("{name}({})", parameters.join(", "));
    match &tool.output {
        Some(output) if detail.parameters == Parameters::Typed => format!("{text} -> {}", type_name(output, detail)),
        _ => text,
    }
}

pub(super) fn documented(signature: &str, prose: &Prose) -> String {
    let mut text = signature.to_owned();
    if !prose.summary.is_empty() {
        text.push_str("\n  ");
        text.push_str(&prose.summary);
    }
    for (name, words) in &prose.parameters {
        text.push_str(&format!("\n  {name}: {words}"));
    }
    text
}

pub(super) fn type_name(kind: &Type, detail: &Detail) -> String {
    match kind {
        Type::Any => "any".to_owned(),
        Type::Never => "never".to_owned(),
        Type::Null => "null".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Integer => "integer".to_owned(),
        Type::Number => "number".to_owned(),
        Type::String => "string".to_owned(),
        Type::Literals(values) if values.len() > detail.literals => type_name(&kinds_of(values), detail),
        Type::Literals(values) => values.iter().map(literal).collect::<Vec<_>>().join(" | "),
        Type::List(item) => match type_name(item, &detail.deeper()) {
            name if name.contains(" | ") => format!("({name})[]"),
            name => format!("{name}[]"),
        },
        Type::Tuple(items, others) => {
            let mut items: Vec<String> = items.iter().map(|item| type_name(item, &detail.deeper())).collect();
            if !matches!(others, Others::None) {
                items.push("…".to_owned());
            }
            format!("[{}]", items.join(", "))
        }
        Type::Object(object) if object.fields.is_empty() || detail.depth == 0 => "object".to_owned(),
        Type::Object(object) => format!("{{{}}}", fields(object, &detail.deeper()).join(", ")),
        Type::Union(alternatives) => {
            let mut names: Vec<String> =
                alternatives.iter().map(|alternative| type_name(alternative, detail)).collect();
            names.dedup();
            names.join(" | ")
        }
        Type::Again(name) => folded(name, 40),
    }
}

fn fields(object: &ObjectType, detail: &Detail) -> Vec<String> {
    let mut fields: Vec<String> = object.fields.iter().map(|field| self::field(field, detail)).collect();
    if matches!(object.others, Others::Of(_)) {
        fields.push("…".to_owned());
    }
    fields
}

fn field(field: &ObjectField, detail: &Detail) -> String {
    let name = folded(&field.name, 64);
    let optional = if field.required { "" } else { "?" };
    if detail.parameters == Parameters::Named {
        return format!("{name}{optional}");
    }
    let kind = type_name(&field.kind, detail);
    match &field.default {
        Some(default) if !field.required => match literal(default) {
            text if text.chars().count() > detail.default => format!("{name}{optional}: {kind} = …"),
            text => format!("{name}{optional}: {kind} = {text}"),
        },
        _ => format!("{name}{optional}: {kind}"),
    }
}

fn literal(value: &Json) -> String {
    match value {
        Json::String(text) => quoted(text, 60),
        other => folded(&other.to_text(), 60),
    }
}
