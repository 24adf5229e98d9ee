//! Owns the picture of a schema as a type of a programming language: what a signature prints and a word of a command
//! line is read by. It is a picture, not a contract: what types cannot say (`not`, `if`, `dependent…`) is left out.

use crate::schema::document::{Document, Target, address};
use crate::schema::json::{Json, Object};
use helve_model::text::folded;

/// Types read from one schema; the rest is `Any`. A schema that refers to itself many times over has millions.
const MAX_TYPES: usize = 1_000;
/// Types one inside the other.
const MAX_TYPE_DEPTH: usize = 16;
/// Alternatives kept of a union, fields of an object, values of an enum.
const MAX_WIDTH: usize = 200;

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// Whatever it likes.
    Any,
    /// Nothing fits.
    Never,
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// A text.
    String,
    /// Exactly these values: `enum` and `const`.
    Literals(Vec<Json>),
    /// Any number of one type.
    List(Box<Self>),
    /// These types in this order, and what may follow.
    Tuple(Vec<Self>, Others),
    /// Named fields.
    Object(ObjectType),
    /// One of these.
    Union(Vec<Self>),
    /// A type around this one, by the name its schema has.
    Again(String),
}

/// What may come beside the named fields of an object, or after the items of a tuple.
#[derive(Debug, Clone, PartialEq)]
pub enum Others {
    /// The schema does not say, so anything; but nothing is meant to.
    Unsaid,
    /// Nothing else.
    None,
    /// Whatever is of this type.
    Of(Box<Type>),
}

/// An object with named fields, in written order.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectType {
    /// Its fields.
    pub fields: Vec<ObjectField>,
    /// What may come beside them.
    pub others: Others,
}

/// A field of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectField {
    /// Its name, as the server writes it.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// Whether it has to be given.
    pub required: bool,
    /// What the server assumes without it.
    pub default: Option<Json>,
    /// What it is, in the server's words.
    pub description: Option<String>,
    /// What the type cannot say: format, bounds, pattern.
    pub notes: Vec<String>,
}

/// Reads the type of a whole document.
pub fn read(document: &Document<'_>) -> Type {
    let mut reader = Reader { document, left: MAX_TYPES, open: vec![(address(document.root), "Self".to_owned())] };
    reader.schema(document.root, 0)
}

/// Reads the type of one schema of a document.
pub fn read_at<'a>(document: &Document<'a>, schema: &'a Json) -> Type {
    let mut reader = Reader { document, left: MAX_TYPES, open: Vec::new() };
    reader.schema(schema, 0)
}

/// The fields a call passes: those of the object, or of all alternatives together.
pub fn parameters(kind: &Type) -> ObjectType {
    match kind {
        Type::Object(object) => object.clone(),
        Type::Union(alternatives) => {
            let objects = alternatives.iter().filter_map(|alternative| match alternative {
                Type::Object(object) => Some(object.clone()),
                _ => None,
            });
            objects.reduce(loosely_either).unwrap_or(ObjectType { fields: Vec::new(), others: Others::Unsaid })
        }
        Type::Any => ObjectType { fields: Vec::new(), others: Others::Of(Box::new(Type::Any)) },
        _ => ObjectType { fields: Vec::new(), others: Others::Unsaid },
    }
}

struct Reader<'d, 'a> {
    document: &'d Document<'a>,
    left: usize,
    /// Schemas being read, by address, and their names.
    open: Vec<(usize, String)>,
}

impl<'a> Reader<'_, 'a> {
    fn schema(&mut self, schema: &'a Json, depth: usize) -> Type {
        let Json::Object(object) = schema else {
            return if matches!(schema, Json::Bool(false)) { Type::Never } else { Type::Any };
        };
        if self.left == 0 || depth > MAX_TYPE_DEPTH {
            return Type::Any;
        }
        self.left -= 1;
        let mut kind = self.own(object, depth);
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(reference) = schema.text(keyword) {
                kind = both(self.referred(schema, reference, depth), kind);
            }
        }
        for part in object.get("allOf").and_then(Json::as_array).unwrap_or_default() {
            let part = self.schema(part, depth + 1);
            kind = both(kind, part);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(alternatives) = object.get(keyword).and_then(Json::as_array).filter(|all| !all.is_empty()) {
                let alternatives = alternatives.iter().take(MAX_WIDTH);
                let alternatives = alternatives.map(|alternative| self.schema(alternative, depth + 1)).collect();
                kind = both(kind, union(alternatives));
            }
        }
        // OpenAPI 3.0, which many servers are generated from.
        if object.get("nullable") == Some(&Json::Bool(true)) { union(vec![kind, Type::Null]) } else { kind }
    }

    fn referred(&mut self, schema: &'a Json, reference: &str, depth: usize) -> Type {
        let Target::Inside(target) = self.document.resolve(schema, reference) else { return Type::Any };
        if let Some((_, name)) = self.open.iter().find(|(open, _)| *open == address(target)) {
            return Type::Again(name.clone());
        }
        let name = reference.rsplit(['/', '#']).find(|part| !part.is_empty()).unwrap_or("Self");
        self.open.push((address(target), name.to_owned()));
        let kind = self.schema(target, depth + 1);
        self.open.pop();
        kind
    }

    /// What the schema says by `const`, `enum`, `type` and the keywords that belong to a type.
    fn own(&mut self, object: &'a Object, depth: usize) -> Type {
        if let Some(value) = object.get("const") {
            return literals(vec![value.clone()]);
        }
        let kinds: Vec<&str> = match object.get("type") {
            Some(Json::String(kind)) => vec![kind],
            Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).take(8).collect(),
            _ if ["properties", "required", "additionalProperties"].iter().any(|key| object.contains_key(*key)) => {
                vec!["object"]
            }
            _ if ["items", "prefixItems"].iter().any(|key| object.contains_key(*key)) => vec!["array"],
            _ => Vec::new(),
        };
        let kind = if kinds.is_empty() {
            Type::Any
        } else {
            union(kinds.into_iter().map(|kind| self.named(kind, object, depth)).collect())
        };
        match object.get("enum").and_then(Json::as_array) {
            Some(values) => both(literals(values.iter().take(MAX_WIDTH).cloned().collect()), kind),
            None => kind,
        }
    }

    fn named(&mut self, kind: &str, object: &'a Object, depth: usize) -> Type {
        match kind {
            "null" => Type::Null,
            "boolean" => Type::Boolean,
            "integer" => Type::Integer,
            "number" => Type::Number,
            "string" => Type::String,
            "array" => self.array(object, depth),
            "object" => self.object(object, depth),
            _ => Type::Any,
        }
    }

    fn array(&mut self, object: &'a Object, depth: usize) -> Type {
        let (first, rest) = match (object.get("prefixItems"), object.get("items")) {
            (Some(Json::Array(first)), rest) => (first.as_slice(), rest),
            // Drafts before 2020-12 write tuples into `items`.
            (_, Some(Json::Array(first))) => (first.as_slice(), object.get("additionalItems")),
            (_, rest) => (&[] as &[Json], rest),
        };
        let others = match rest {
            None => Others::Unsaid,
            Some(Json::Bool(false)) => Others::None,
            Some(rest) => Others::Of(Box::new(self.schema(rest, depth + 1))),
        };
        if first.is_empty() {
            return match others {
                Others::Of(item) => Type::List(item),
                Others::Unsaid => Type::List(Box::new(Type::Any)),
                Others::None => Type::Tuple(Vec::new(), Others::None),
            };
        }
        Type::Tuple(first.iter().take(MAX_WIDTH).map(|item| self.schema(item, depth + 1)).collect(), others)
    }

    fn object(&mut self, object: &'a Object, depth: usize) -> Type {
        let required: Vec<&str> = object
            .get("required")
            .and_then(Json::as_array)
            .unwrap_or_default()
            .iter()
            .filter_map(Json::as_str)
            .collect();
        let mut fields: Vec<ObjectField> = Vec::new();
        let properties = object.get("properties").and_then(Json::as_object);
        for (name, property) in properties.into_iter().flatten().take(MAX_WIDTH) {
            fields.push(self.field(name, property, required.contains(&name.as_str()), depth));
        }
        for name in required.into_iter().take(MAX_WIDTH) {
            if !fields.iter().any(|field| field.name == name) {
                fields.push(ObjectField {
                    name: name.to_owned(),
                    kind: Type::Any,
                    required: true,
                    default: None,
                    description: None,
                    notes: Vec::new(),
                });
            }
        }
        let others = match object.get("additionalProperties").or_else(|| object.get("unevaluatedProperties")) {
            None => Others::Unsaid,
            Some(Json::Bool(false)) => Others::None,
            Some(others) => Others::Of(Box::new(self.schema(others, depth + 1))),
        };
        Type::Object(ObjectType { fields, others })
    }

    fn field(&mut self, name: &str, property: &'a Json, required: bool, depth: usize) -> ObjectField {
        let kind = self.schema(property, depth + 1);
        // A property that is only a reference is described where it leads.
        let target = property.text("$ref").and_then(|reference| match self.document.resolve(property, reference) {
            Target::Inside(target) => Some(target),
            _ => None,
        });
        let said = |key: &str| property.get(key).or_else(|| target.and_then(|target| target.get(key)));
        ObjectField {
            name: name.to_owned(),
            kind,
            required,
            default: said("default").cloned(),
            description: said("description").and_then(Json::as_str).map(str::to_owned),
            notes: notes(target.unwrap_or(property)),
        }
    }
}

/// The alternatives without repetition; one of them may make the others needless.
pub fn union(alternatives: Vec<Type>) -> Type {
    let mut distinct: Vec<Type> = Vec::new();
    let mut values: Vec<Json> = Vec::new();
    for alternative in alternatives {
        let parts = if let Type::Union(parts) = alternative { parts } else { vec![alternative] };
        for part in parts {
            match part {
                Type::Any => return Type::Any,
                Type::Never => {}
                Type::Literals(more) => {
                    if values.is_empty() {
                        distinct.push(Type::Literals(Vec::new()));
                    }
                    more.into_iter().for_each(|value| {
                        if !values.contains(&value) {
                            values.push(value);
                        }
                    });
                }
                part if distinct.contains(&part) => {}
                part => distinct.push(part),
            }
        }
    }
    if let Some(place) = distinct.iter_mut().find(|kind| matches!(kind, Type::Literals(_))) {
        *place = Type::Literals(values);
    }
    // `null` reads best at the end.
    if let Some(index) = distinct.iter().position(|kind| *kind == Type::Null) {
        let null = distinct.remove(index);
        distinct.push(null);
    }
    match distinct.len() {
        0 => Type::Never,
        1 => distinct.remove(0),
        _ => Type::Union(distinct),
    }
}

fn literals(values: Vec<Json>) -> Type {
    match values.as_slice() {
        [] => Type::Never,
        [Json::Null] => Type::Null,
        _ => Type::Literals(values),
    }
}

/// What is both. Where two types cannot be put together, the first stands.
fn both(one: Type, other: Type) -> Type {
    match (one, other) {
        (Type::Any, kind) | (kind, Type::Any) => kind,
        (Type::Number, Type::Integer) | (Type::Integer, Type::Number) => Type::Integer,
        (Type::Object(one), Type::Object(other)) => Type::Object(strictly_both(one, other)),
        (Type::Literals(values), kind) | (kind, Type::Literals(values)) => {
            let fitting: Vec<Json> = values.iter().filter(|value| admits(&kind, value)).cloned().collect();
            literals(if fitting.is_empty() { values } else { fitting })
        }
        (Type::Object(base), Type::Union(alternatives)) | (Type::Union(alternatives), Type::Object(base)) => {
            let objects = alternatives.into_iter().filter_map(|alternative| match alternative {
                Type::Object(object) => Some(object),
                _ => None,
            });
            Type::Object(match objects.reduce(loosely_either) {
                Some(either) => strictly_both(base, either),
                None => base,
            })
        }
        (Type::Union(ones), Type::Union(others)) => {
            let common: Vec<Type> = ones.iter().filter(|one| others.contains(one)).cloned().collect();
            if common.is_empty() { Type::Union(ones) } else { union(common) }
        }
        (Type::Union(ones), other) | (other, Type::Union(ones)) => {
            if ones.contains(&other) {
                other
            } else {
                Type::Union(ones)
            }
        }
        (one, _) => one,
    }
}

fn strictly_both(mut one: ObjectType, other: ObjectType) -> ObjectType {
    for field in other.fields {
        match one.fields.iter_mut().find(|known| known.name == field.name) {
            Some(known) => {
                known.kind = both(std::mem::replace(&mut known.kind, Type::Any), field.kind);
                known.required |= field.required;
                known.default = known.default.take().or(field.default);
                known.description = known.description.take().or(field.description);
            }
            None => one.fields.push(field),
        }
    }
    if one.others == Others::Unsaid {
        one.others = other.others;
    }
    one
}

/// All fields of both; required only where both require it.
fn loosely_either(mut one: ObjectType, other: ObjectType) -> ObjectType {
    for known in &mut one.fields {
        known.required &= other.fields.iter().any(|field| field.name == known.name && field.required);
    }
    for mut field in other.fields {
        match one.fields.iter_mut().find(|known| known.name == field.name) {
            Some(known) => known.kind = union(vec![std::mem::replace(&mut known.kind, Type::Any), field.kind]),
            None => {
                field.required = false;
                one.fields.push(field);
            }
        }
    }
    if one.others != other.others {
        one.others = Others::Unsaid;
    }
    one
}

/// Whether a value is of a type, as far as its kind goes.
pub fn admits(kind: &Type, value: &Json) -> bool {
    match kind {
        Type::Any | Type::Again(_) => true,
        Type::Never => false,
        Type::Null => *value == Json::Null,
        Type::Boolean => matches!(value, Json::Bool(_)),
        Type::Integer => {
            matches!(value, Json::Number(number) if !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0))
        }
        Type::Number => matches!(value, Json::Number(_)),
        Type::String => matches!(value, Json::String(_)),
        Type::Literals(values) => values.contains(value),
        Type::List(_) | Type::Tuple(..) => matches!(value, Json::Array(_)),
        Type::Object(_) => matches!(value, Json::Object(_)),
        Type::Union(alternatives) => alternatives.iter().any(|alternative| admits(alternative, value)),
    }
}

/// Format, bounds and pattern of a schema in short words.
fn notes(schema: &Json) -> Vec<String> {
    let number = |key: &str| match schema.get(key) {
        Some(Json::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let mut notes = Vec::new();
    let formats = schema.text("format").into_iter().chain(schema.text("contentEncoding"));
    notes.extend(formats.map(|format| folded(format, 40)));
    let mut range = |low: &str, high: &str, unit: &str| match (number(low), number(high)) {
        (Some(low), Some(high)) => notes.push(format!("{low} to {high}{unit}")),
        (Some(low), None) => notes.push(format!("at least {low}{unit}")),
        (None, Some(high)) => notes.push(format!("at most {high}{unit}")),
        (None, None) => {}
    };
    range("minimum", "maximum", "");
    range("minLength", "maxLength", " characters");
    range("minItems", "maxItems", " items");
    let mut say = |key: &str, words: &str| {
        if let Some(limit) = number(key) {
            notes.push(format!("{words} {limit}"));
        }
    };
    say("exclusiveMinimum", "more than");
    say("exclusiveMaximum", "less than");
    say("multipleOf", "multiple of");
    if let Some(pattern) = schema.text("pattern") {
        notes.push(format!("matching {}", folded(pattern, 60)));
    }
    notes
}
