//! Owns writing a schema out without references, for a provider that has none.

use super::common;
use crate::schema::document::{Document, KeywordShape, Target, address, keyword_shape};
use crate::schema::json::{Json, Object};

/// Schemas written out for one tool; the rest is cut. A few lines of references can stand for millions.
const MAX_SCHEMAS: usize = 1_000;
/// Schemas one inside the other.
const MAX_DEPTH: usize = 24;

/// What becomes of references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum References {
    /// All are written out; a schema inside itself is cut, in words.
    WrittenOut,
    /// One that stands alone is kept, and so is one that leads back to a schema around it.
    KeptAlone,
}

/// The schema with each `allOf`, and each `$ref` that cannot stay, merged into the schema that has it.
pub(super) fn written_out(root: &Json, references: References) -> Object {
    let document = Document::new(root);
    let mut writer = Writer { document: &document, references, left: MAX_SCHEMAS, open: vec![address(root)] };
    let mut written = writer.schema(root, 0);
    if references == References::KeptAlone {
        let mut kept = Object::new();
        for keyword in ["$defs", "definitions"] {
            for (name, definition) in root.get(keyword).and_then(Json::as_object).into_iter().flatten() {
                kept.insert(name.clone(), writer.schema(definition, 1).into());
            }
        }
        if !kept.is_empty() {
            written.insert("$defs".to_owned(), kept.into());
        }
    }
    written
}

/// Adds a keyword of another schema that holds at the same time. The first word on anything stands.
pub(super) fn merge(object: &mut Object, keyword: &str, value: &Json) {
    match (keyword, value, object.get_mut(keyword)) {
        ("properties", Json::Object(more), Some(Json::Object(known))) => {
            for (name, schema) in more {
                known.entry(name.clone()).or_insert_with(|| schema.clone());
            }
        }
        ("required", Json::Array(more), Some(Json::Array(known))) => {
            for name in more {
                if !known.contains(name) {
                    known.push(name.clone());
                }
            }
        }
        (_, _, Some(_)) => {}
        (_, _, None) => {
            object.insert(keyword.to_owned(), value.clone());
        }
    }
}

struct Writer<'d, 'a> {
    document: &'d Document<'a>,
    references: References,
    left: usize,
    /// Schemas being written, by address.
    open: Vec<usize>,
}

impl<'a> Writer<'_, 'a> {
    fn schema(&mut self, schema: &'a Json, depth: usize) -> Object {
        let Json::Object(source) = schema else { return Object::new() };
        if self.left == 0 || depth > MAX_DEPTH {
            return Object::new();
        }
        self.left -= 1;
        if let Some(kept) = self.kept(source) {
            return kept;
        }
        let mut written = Object::with_capacity(source.len());
        for (keyword, value) in source {
            if !matches!(keyword.as_str(), "$ref" | "allOf" | "$defs" | "definitions") {
                written.insert(keyword.clone(), self.value(keyword, value, depth));
            }
        }
        if let Some(reference) = schema.text("$ref")
            && let Target::Inside(target) = self.document.resolve(schema, reference)
        {
            self.add(&mut written, target, Some(reference), depth);
        }
        for part in source.get("allOf").and_then(Json::as_array).unwrap_or_default() {
            self.add(&mut written, part, None, depth);
        }
        written
    }

    /// The reference of a schema that consists of it.
    fn kept(&self, source: &Object) -> Option<Object> {
        let stands_alone = source.keys().all(|keyword| keyword.starts_with('$'));
        let reference = source.get("$ref")?.as_str()?;
        (self.references == References::KeptAlone && stands_alone).then(|| reference_to(reference))
    }

    fn value(&mut self, keyword: &str, value: &'a Json, depth: usize) -> Json {
        let mut one = |schema: &'a Json| match schema {
            Json::Object(_) => self.schema(schema, depth + 1).into(),
            other => other.clone(),
        };
        match (keyword_shape(keyword).map(|(_, shape)| shape), value) {
            (Some(KeywordShape::One | KeywordShape::OneOrMany), Json::Object(_)) => one(value),
            (Some(KeywordShape::Many | KeywordShape::OneOrMany), Json::Array(items)) => {
                Json::Array(items.iter().map(one).collect())
            }
            (Some(KeywordShape::Named), Json::Object(members)) => {
                Json::Object(members.iter().map(|(name, schema)| (name.clone(), one(schema))).collect())
            }
            _ => value.clone(),
        }
    }

    fn add(&mut self, written: &mut Object, part: &'a Json, reference: Option<&str>, depth: usize) {
        if self.open.contains(&address(part)) {
            match reference {
                Some(reference) if self.references == References::KeptAlone => *written = reference_to(reference),
                _ => {
                    common::say_in(written, "Here the same shape comes again.");
                    merge(written, "type", part.get("type").unwrap_or(&"object".into()));
                }
            }
            return;
        }
        self.open.push(address(part));
        let part = match part.text("$ref") {
            // A reference inside `allOf` does not stand alone.
            Some(reference) if part.as_object().is_some_and(|part| self.kept(part).is_some()) => {
                let mut followed = Object::new();
                if let Target::Inside(target) = self.document.resolve(part, reference) {
                    self.add(&mut followed, target, Some(reference), depth + 1);
                }
                followed
            }
            _ => self.schema(part, depth + 1),
        };
        self.open.pop();
        for (keyword, value) in &part {
            merge(written, keyword, value);
        }
    }
}

fn reference_to(reference: &str) -> Object {
    super::object([("$ref", Some(reference.replace("#/definitions/", "#/$defs/").into()))])
}
