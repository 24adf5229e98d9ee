//! Owns forms for the arguments of tools: from a schema and what was posted to fields, and to the arguments themselves.
//!
//! What a form posts is named by a letter and a pointer, so that nothing has to be remembered between two requests:
//!
//! | name | what it holds |
//! |---|---|
//! | `a/title` | the value of a field: text, the number of a choice, or JSON |
//! | `f/photo` | a file, in base64 |
//! | `n/tags` | how many items a list has, or entries an object |
//! | `k/labels/+0` | the name of an entry |
//! | `u/target` | which alternative is filled in |
//! | `m/filter` | `json`, where a field is written as JSON |
//! | `do` | the button: `call`, `add:PLACE`, `remove:PLACE`, `json:PLACE`, `controls:PLACE`, or anything else to look again |
//!
//! A field that is left empty is left out; an empty text can be written as JSON.

mod fill;
mod filled;
mod prefill;

use std::collections::BTreeMap;

use helve_render::schema::document::Document;
use helve_render::schema::json::parse;
use helve_render::schema::limits::SCHEMA_CAPS;
use helve_render::schema::types::{self, Type};

pub use filled::{Control, FilledForm, FormEntry, FormField, FormOption, LineKind, Switch};

/// Items of one list, and entries of one object, that a form holds; more can be written as JSON.
pub const MAX_FORM_ITEMS: usize = 100;

/// A form for the arguments of one tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolForm {
    /// What the arguments are; anything at all where the schema cannot be read.
    kind: Type,
}

impl ToolForm {
    /// The form of an input schema. One that cannot be read gives a form that takes JSON.
    #[must_use]
    pub fn read(schema: &str) -> Self {
        let kind = parse(schema, SCHEMA_CAPS).map_or(Type::Any, |json| types::read(&Document::new(&json)));
        // Arguments are an object, whatever a schema leaves open.
        let kind = match kind {
            Type::Object(_) => kind,
            Type::Union(_) => {
                let object = types::parameters(&kind);
                if object.fields.is_empty() { Type::Any } else { Type::Object(object) }
            }
            _ => Type::Any,
        };
        Self { kind }
    }

    /// The form with what was posted, and the arguments this comes to. Only `do` = `call` and `yes` look for problems.
    #[must_use]
    pub fn fill(&self, posted: &[(String, String)]) -> FilledForm {
        fill::fill(&self.kind, posted)
    }

    /// What would have to be posted for these arguments.
    #[must_use]
    pub fn prefill(&self, arguments: &str) -> Vec<(String, String)> {
        prefill::prefill(&self.kind, arguments)
    }
}

/// What was posted, by name.
#[derive(Debug, Default)]
struct Posted(BTreeMap<String, Vec<String>>);

impl Posted {
    fn get(&self, letter: char, place: &str) -> Option<&str> {
        self.all(letter, place).first().map(String::as_str)
    }

    fn all(&self, letter: char, place: &str) -> &[String] {
        self.0.get(&format!("{letter}{place}")).map_or(&[], Vec::as_slice)
    }

    fn put(&mut self, letter: char, place: &str, value: String) {
        self.0.insert(format!("{letter}{place}"), vec![value]);
    }

    /// How many items or entries there are at a place.
    fn count(&self, place: &str) -> usize {
        self.get('n', place).and_then(|count| count.parse::<usize>().ok()).unwrap_or(0).min(MAX_FORM_ITEMS)
    }

    /// Whether anything was filled in at a place or below it.
    fn is_given(&self, place: &str) -> bool {
        ['a', 'f', 'k'].into_iter().any(|letter| {
            self.below(letter, place).any(|(_, values)| values.iter().any(|value| !value.trim().is_empty()))
        })
    }

    fn below(&self, letter: char, place: &str) -> impl Iterator<Item = (&String, &Vec<String>)> {
        let from = format!("{letter}{place}");
        let inside = move |name: &str| {
            name.strip_prefix(from.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let start = format!("{letter}{place}");
        let length = start.len();
        let prefix = start.clone();
        self.0
            .range(start..)
            .take_while(move |(name, _)| name.len() >= length && name.starts_with(prefix.as_str()))
            .filter(move |(name, _)| inside(name))
    }

    /// Takes away whatever was posted at a place and below it.
    fn clear(&mut self, place: &str) {
        for letter in ['a', 'f', 'n', 'k', 'u', 'm'] {
            let names: Vec<String> = self.below(letter, place).map(|(name, _)| name.clone()).collect();
            for name in names {
                self.0.remove(&name);
            }
        }
    }

    /// Moves whatever was posted at one place to another.
    fn shift(&mut self, from: &str, to: &str) {
        self.clear(to);
        for letter in ['a', 'f', 'n', 'k', 'u', 'm'] {
            let names: Vec<String> = self.below(letter, from).map(|(name, _)| name.clone()).collect();
            for name in names {
                let rest = name.get(from.len() + 1..).unwrap_or_default().to_owned();
                if let Some(values) = self.0.remove(&name) {
                    self.0.insert(format!("{letter}{to}{rest}"), values);
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "tool_form_tests.rs"]
mod tests;
