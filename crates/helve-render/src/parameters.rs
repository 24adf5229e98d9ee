//! Owns what the arguments of a tool are for a program that calls it by position or by name: the order of the signature.

use crate::schema::document::Document;
use crate::schema::json;
use crate::schema::limits::SCHEMA_CAPS;
use crate::schema::types::{self, Others, Type};

/// What a tool takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    /// In the order of the signature: what has to be given first.
    pub named: Vec<Parameter>,
    /// True when a name that is not among these may be given, too.
    pub takes_others: bool,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, as the server writes it.
    pub name: String,
    /// Whether it has to be given.
    pub is_required: bool,
    /// Whether it may be `null`.
    pub takes_null: bool,
    /// Whether it is text and nothing else.
    pub is_text: bool,
}

/// What a schema says about a tool's arguments. A schema that cannot be read takes anything.
#[must_use]
pub fn parameters(schema: &str) -> Parameters {
    let Ok(root) = json::parse(schema, SCHEMA_CAPS) else {
        return Parameters { named: Vec::new(), takes_others: true };
    };
    let object = types::parameters(&types::read(&Document::new(&root)));
    let (required, optional): (Vec<_>, Vec<_>) = object.fields.iter().partition(|field| field.required);
    let named: Vec<Parameter> = required
        .into_iter()
        .chain(optional)
        .map(|field| Parameter {
            name: field.name.clone(),
            is_required: field.required,
            takes_null: types::admits(&field.kind, &json::Json::Null),
            is_text: field.kind == Type::String,
        })
        .collect();
    let takes_others = match object.others {
        Others::Of(_) => true,
        Others::None => false,
        Others::Unsaid => named.is_empty(),
    };
    Parameters { named, takes_others }
}

#[cfg(test)]
mod tests {
    use super::parameters;

    #[test]
    fn what_has_to_be_given_comes_first() {
        let schema = r#"{"type": "object", "required": ["b"], "properties":
            {"a": {"type": ["string", "null"]}, "b": {"type": "string"}, "c": {"type": "integer"}}}"#;
        let read = parameters(schema);
        let names: Vec<(&str, bool, bool, bool)> = read
            .named
            .iter()
            .map(|named| (named.name.as_str(), named.is_required, named.takes_null, named.is_text))
            .collect();
        assert_eq!(names, [("b", true, false, true), ("a", false, true, false), ("c", false, false, false)]);
        assert!(!read.takes_others);
        assert!(parameters(r#"{"type": "object"}"#).takes_others);
        assert!(parameters("nonsense").takes_others);
        assert!(!parameters(r#"{"type": "object", "additionalProperties": false}"#).takes_others);
    }
}
