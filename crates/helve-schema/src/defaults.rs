//! Owns filling in what a call leaves out, for callers who ask for it: servers are supposed to know their own defaults.

use helve_render::schema::document::{Document, Target};
use helve_render::schema::json::{self, Json, JsonProblem};
use helve_render::schema::limits::{ArgumentLimits, SCHEMA_CAPS};

/// The arguments with every missing top-level property that has a `default`, in the schema's order, after those given.
///
/// A default is found in the property itself or where its `$ref` leads. Nothing inside given values is touched, and a
/// property given as `null` is given.
pub fn with_defaults(schema: &str, arguments: &str, limits: ArgumentLimits) -> Result<String, JsonProblem> {
    let Json::Object(mut given) = json::parse(arguments, limits.caps())? else { return Ok(arguments.to_owned()) };
    let root = json::parse(schema, SCHEMA_CAPS).unwrap_or(Json::Null);
    let document = Document::new(&root);
    let mut added = false;
    for (name, property) in root.get("properties").and_then(Json::as_object).into_iter().flatten() {
        if given.contains_key(name) {
            continue;
        }
        let target = property.text("$ref").and_then(|reference| match document.resolve(property, reference) {
            Target::Inside(target) => target.get("default"),
            Target::MetaSchema | Target::Elsewhere | Target::Nowhere => None,
        });
        if let Some(default) = property.get("default").or(target) {
            given.insert(name.clone(), default.clone());
            added = true;
        }
    }
    Ok(if added { Json::Object(given).to_text() } else { arguments.to_owned() })
}

#[cfg(test)]
#[path = "defaults_tests.rs"]
mod tests;
