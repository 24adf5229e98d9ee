//! Owns writing a schema out without references, for a provider that has none.

use super::common;
use crate::document::{Document, KeywordShape, Target, address, keyword_shape};
use crate::json::{Json, Object};

/// Schemas written out for one tool; the rest is cut. A few lines of references can stand for millions.
const MAX_SCHEMAS: usize = 1_000;
/// Schemas one inside the other.
const MAX_DEPTH: usize = 24;

/// The schema with each `$ref` and `allOf` merged into the schema that has it. A schema inside itself is cut, in words.
pub(super) fn written_out(root: &Json) -> Object {
    let document = Document::new(root);
    let mut writer = Writer { document: &document, left: MAX_SCHEMAS, open: vec![address(root)] };
    writer.schema(root, 0)
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
        let mut written = Object::with_capacity(source.len());
        for (keyword, value) in source {
            if !matches!(keyword.as_str(), "$ref" | "allOf" | "$defs" | "definitions") {
                written.insert(keyword.clone(), self.value(keyword, value, depth));
            }
        }
        if let Some(reference) = schema.text("$ref")
            && let Target::Inside(target) = self.document.resolve(schema, reference)
        {
            self.add(&mut written, target, depth);
        }
        for part in source.get("allOf").and_then(Json::as_array).unwrap_or_default() {
            self.add(&mut written, part, depth);
        }
        written
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

    fn add(&mut self, written: &mut Object, part: &'a Json, depth: usize) {
        if self.open.contains(&address(part)) {
            common::say_in(written, "Here the same shape comes again.");
            merge(written, "type", part.get("type").unwrap_or(&"object".into()));
            return;
        }
        self.open.push(address(part));
        let part = self.schema(part, depth + 1);
        self.open.pop();
        for (keyword, value) in &part {
            merge(written, keyword, value);
        }
    }
}
