//! Owns what is a schema inside a schema document, and where a `$ref` leads, without ever leaving the document.

use std::collections::HashMap;

use fluent_uri::{Uri, UriRef};

use crate::schema::json::{Json, Object};

/// How a subschema meets the data its parent meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applies {
    /// To the same value: `allOf`, `if`, `$ref`.
    InPlace,
    /// To something inside it: `properties`, `items`.
    Inside,
    /// Only if something refers to it: `$defs`.
    WhenReferred,
}

/// A subschema and how it applies.
#[derive(Debug, Clone, Copy)]
pub struct Subschema<'a> {
    /// How it applies.
    pub applies: Applies,
    /// The schema itself.
    pub schema: &'a Json,
}

/// The direct subschemas of a schema, in written order.
pub fn subschemas(schema: &Json) -> Vec<Subschema<'_>> {
    let mut found = Vec::new();
    let Some(object) = schema.as_object() else { return found };
    for (keyword, value) in object {
        let Some((applies, shape)) = keyword_shape(keyword) else { continue };
        let mut add = |schema| found.push(Subschema { applies, schema });
        match (shape, value) {
            (KeywordShape::One | KeywordShape::OneOrMany, Json::Object(_) | Json::Bool(_)) => add(value),
            (KeywordShape::Many | KeywordShape::OneOrMany, Json::Array(items)) => items.iter().for_each(add),
            // `dependencies` also takes lists of names, which are not schemas.
            (KeywordShape::Named, Json::Object(members)) => {
                members.values().filter(|member| !matches!(member, Json::Array(_))).for_each(add);
            }
            _ => {}
        }
    }
    found
}

/// The same, to be changed.
pub fn subschemas_mut(object: &mut Object) -> Vec<&mut Json> {
    let mut found = Vec::new();
    for (keyword, value) in object {
        let Some((_, shape)) = keyword_shape(keyword) else { continue };
        match (shape, value) {
            (KeywordShape::One | KeywordShape::OneOrMany, value @ Json::Object(_)) => found.push(value),
            (KeywordShape::Many | KeywordShape::OneOrMany, Json::Array(items)) => found.extend(items.iter_mut()),
            (KeywordShape::Named, Json::Object(members)) => found.extend(members.values_mut()),
            _ => {}
        }
    }
    found
}

/// What a reference leads to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target<'a> {
    /// A schema of this document.
    Inside(&'a Json),
    /// One of the published meta-schemas, which are built in.
    MetaSchema,
    /// Another document.
    Elsewhere,
    /// A place in this document that does not exist.
    Nowhere,
}

/// A schema document with the names its parts go by.
#[derive(Debug)]
pub struct Document<'a> {
    /// The whole document.
    pub root: &'a Json,
    resources: Vec<Resource<'a>>,
    /// Which resource a subschema belongs to, by its address; the root resource is left out.
    resource_of: HashMap<usize, usize>,
}

#[derive(Debug)]
struct Resource<'a> {
    uri: String,
    root: &'a Json,
    anchors: Vec<(&'a str, &'a Json)>,
}

/// The base of a document that does not name itself; the same as the validator's own.
const NAMELESS: &str = "json-schema:///";
/// Where the published meta-schemas live.
const META_SCHEMAS: [&str; 2] = ["https://json-schema.org/draft", "http://json-schema.org/draft"];

impl<'a> Document<'a> {
    /// Reads which names the parts of a document have.
    pub fn new(root: &'a Json) -> Self {
        let mut document = Self { root, resources: Vec::new(), resource_of: HashMap::new() };
        let uri = root.text("$id").or_else(|| root.text("id")).and_then(|id| resolve_uri(NAMELESS, id));
        document.add_resource(uri.unwrap_or_else(|| NAMELESS.to_owned()), root);
        document.enter(root, 0);
        document
    }

    /// Documents inside the document: each has a base of its own.
    pub fn embedded_resources(&self) -> usize {
        self.resources.len() - 1
    }

    /// Where the reference written in `from` leads.
    pub fn resolve(&self, from: &'a Json, reference: &str) -> Target<'a> {
        let home = self.resource_of.get(&address(from)).copied().unwrap_or(0);
        let (name, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let Some(here) = self.resources.get(home) else { return Target::Nowhere };
        let resource = if name.is_empty() {
            here
        } else {
            let Some(uri) = resolve_uri(&here.uri, name) else { return Target::Elsewhere };
            match self.resources.iter().find(|resource| resource.uri == uri) {
                Some(resource) => resource,
                None if META_SCHEMAS.iter().any(|known| uri.starts_with(known)) => return Target::MetaSchema,
                None => return Target::Elsewhere,
            }
        };
        resource.find(fragment).map_or(Target::Nowhere, Target::Inside)
    }

    /// Every schema a dynamic reference may come to mean: which one depends on the way the validator took.
    pub fn resolve_dynamic(&self, from: &'a Json, reference: &str) -> Vec<Target<'a>> {
        let mut targets = vec![self.resolve(from, reference)];
        let name = reference.split_once('#').map_or("", |(_, fragment)| fragment);
        for resource in &self.resources {
            if name.is_empty() {
                targets.push(Target::Inside(resource.root));
            }
            let same = resource.anchors.iter().filter(|(anchor, _)| *anchor == name);
            targets.extend(same.map(|(_, schema)| Target::Inside(schema)));
        }
        let mut distinct: Vec<Target<'a>> = Vec::new();
        for target in targets {
            let known = distinct.iter().any(|seen| match (seen, &target) {
                (Target::Inside(one), Target::Inside(other)) => std::ptr::eq(*one, *other),
                (one, other) => one == other,
            });
            if !known {
                distinct.push(target);
            }
        }
        distinct
    }

    fn add_resource(&mut self, uri: String, root: &'a Json) -> usize {
        let uri = uri.trim_end_matches('#').to_owned();
        self.resources.push(Resource { uri, root, anchors: Vec::new() });
        self.resources.len() - 1
    }

    fn enter(&mut self, schema: &'a Json, parent: usize) {
        let mut home = parent;
        for key in ["$id", "id"] {
            let Some(id) = schema.text(key) else { continue };
            if let Some(anchor) = id.strip_prefix('#') {
                self.add_anchor(home, anchor, schema);
            } else if !std::ptr::eq(schema, self.root)
                && let Some(base) = self.resources.get(home)
                && let Some(uri) = resolve_uri(&base.uri, id)
            {
                home = self.add_resource(uri, schema);
            }
        }
        for key in ["$anchor", "$dynamicAnchor"] {
            if let Some(anchor) = schema.text(key) {
                self.add_anchor(home, anchor, schema);
            }
        }
        if home != 0 {
            self.resource_of.insert(address(schema), home);
        }
        for child in subschemas(schema) {
            self.enter(child.schema, home);
        }
    }

    fn add_anchor(&mut self, home: usize, anchor: &'a str, schema: &'a Json) {
        if let Some(resource) = self.resources.get_mut(home) {
            resource.anchors.push((anchor, schema));
        }
    }
}

impl<'a> Resource<'a> {
    fn find(&self, fragment: &str) -> Option<&'a Json> {
        let fragment = percent_decoded(fragment)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&fragment);
        }
        self.anchors.iter().find(|(anchor, _)| *anchor == fragment).map(|(_, schema)| *schema)
    }
}

/// The address of a schema tells it from every other one while the document stands still.
pub fn address(schema: &Json) -> usize {
    std::ptr::from_ref(schema) as usize
}

/// The references a schema makes by itself: keyword and text.
pub fn references(schema: &Json) -> impl Iterator<Item = (&'static str, &str)> {
    ["$ref", "$dynamicRef", "$recursiveRef"]
        .into_iter()
        .filter_map(move |keyword| schema.text(keyword).map(|text| (keyword, text)))
}

/// How a keyword holds its schemas.
#[derive(Debug, Clone, Copy)]
pub enum KeywordShape {
    /// One schema.
    One,
    /// An array of them.
    Many,
    /// Either.
    OneOrMany,
    /// An object of them.
    Named,
}

/// Every keyword of every draft that holds schemas. `contentSchema` is left out: it describes, it does not check.
pub fn keyword_shape(keyword: &str) -> Option<(Applies, KeywordShape)> {
    Some(match keyword {
        "allOf" | "anyOf" | "oneOf" => (Applies::InPlace, KeywordShape::Many),
        "not" | "if" | "then" | "else" => (Applies::InPlace, KeywordShape::One),
        "dependentSchemas" | "dependencies" => (Applies::InPlace, KeywordShape::Named),
        "properties" | "patternProperties" => (Applies::Inside, KeywordShape::Named),
        "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "additionalItems"
        | "unevaluatedItems"
        | "contains" => (Applies::Inside, KeywordShape::One),
        "items" => (Applies::Inside, KeywordShape::OneOrMany),
        "prefixItems" => (Applies::Inside, KeywordShape::Many),
        "$defs" | "definitions" => (Applies::WhenReferred, KeywordShape::Named),
        _ => return None,
    })
}

/// Resolved and written as the validator of `helve-schema` does it, so that both find the same schema behind a name.
fn resolve_uri(base: &str, reference: &str) -> Option<String> {
    let base = Uri::parse(base).ok()?.normalize();
    let base = base.strip_fragment();
    let resolved = UriRef::parse(reference).ok()?.resolve_against(&base).ok()?.normalize();
    Some(resolved.as_str().trim_end_matches('#').to_owned())
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
