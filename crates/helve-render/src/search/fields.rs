//! Owns what of a tool is read for searching it, and how much a word counts by where it stands.

use crate::schema::json::{self, Json};
use crate::schema::limits::SCHEMA_CAPS;
use crate::tool_text::ToolText;

use super::words::Writing;

/// Characters of a description that are read. The longest in common use has about 20,000.
const MAX_DESCRIPTION: usize = 32 * 1024;
/// Characters of a first paragraph; what is longer goes on with the rest.
const MAX_FIRST: usize = 600;
/// Levels of a schema that are read.
const MAX_DEPTH: usize = 8;
/// Texts taken from one schema.
const MAX_TEXTS: usize = 2_000;

/// A part of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Server,
    Name,
    Title,
    /// The first paragraph of the description.
    First,
    /// What follows it.
    Rest,
    ParameterName,
    ParameterText,
    EnumValue,
}

/// How much a field counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weight {
    /// Against one word in the rest of the description.
    pub(super) factor: f32,
    /// The words it has in most tools.
    pub(super) usual_words: f32,
    /// How much less a word counts in a longer field: from 0, not at all, to 1, in proportion.
    pub(super) by_length: f32,
}

impl Field {
    pub(super) const ALL: [Self; 8] = [
        Self::Server,
        Self::Name,
        Self::Title,
        Self::First,
        Self::Rest,
        Self::ParameterName,
        Self::ParameterText,
        Self::EnumValue,
    ];

    /// The usual numbers of words are those of a thousand real tools; fixed, so that no tool's weight depends on others.
    pub(super) const fn weight(self) -> Weight {
        let (factor, usual_words, by_length) = match self {
            Self::Server => (2.5, 2.0, 0.0),
            Self::Name => (6.0, 3.0, 0.5),
            Self::Title => (2.0, 3.0, 0.5),
            Self::First => (2.5, 14.0, 0.5),
            Self::Rest => (1.0, 60.0, 0.7),
            Self::ParameterName => (1.0, 8.0, 0.7),
            Self::ParameterText => (0.4, 40.0, 0.7),
            Self::EnumValue => (0.6, 10.0, 0.7),
        };
        Weight { factor, usual_words, by_length }
    }

    pub(super) const fn writing(self) -> Writing {
        match self {
            Self::Server | Self::Name | Self::ParameterName | Self::EnumValue => Writing::Name,
            Self::Title | Self::First | Self::Rest | Self::ParameterText => Writing::Prose,
        }
    }
}

/// Hands over every text of a tool with the field it belongs to.
pub(super) fn each(server: &str, tool: &ToolText<'_>, give: &mut dyn FnMut(Field, &str)) {
    give(Field::Server, server);
    give(Field::Name, tool.name);
    if let Some(title) = tool.title {
        give(Field::Title, title);
    }
    if let Some(description) = tool.description {
        let (first, rest) = paragraphs(start_of(description, MAX_DESCRIPTION));
        give(Field::First, first);
        give(Field::Rest, rest);
    }
    if let Ok(schema) = json::parse(tool.input_schema, SCHEMA_CAPS) {
        let mut left = MAX_TEXTS;
        schema_texts(&schema, 0, &mut |field, text| {
            if left > 0 {
                left -= 1;
                give(field, text);
            }
        });
    }
}

/// The first paragraph, and what follows.
fn paragraphs(description: &str) -> (&str, &str) {
    let description = description.trim_start();
    let end = ["\n\n", "\n\r\n"].iter().filter_map(|gap| description.find(gap)).min().unwrap_or(description.len());
    let first = start_of(description.get(..end).unwrap_or(description), MAX_FIRST);
    (first, description.get(first.len()..).unwrap_or_default())
}

/// At most so many bytes, up to the border of a character.
fn start_of(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

fn schema_texts(schema: &Json, depth: usize, give: &mut dyn FnMut(Field, &str)) {
    let Json::Object(object) = schema else { return };
    if depth > MAX_DEPTH {
        return;
    }
    // Names further inside say less about the tool.
    let name_field = if depth == 0 { Field::ParameterName } else { Field::ParameterText };
    for (key, value) in object {
        match (key.as_str(), value) {
            // The schema's own title is most often the function's name again.
            ("description", Json::String(text)) => give(Field::ParameterText, text),
            ("enum", Json::Array(values)) => {
                values.iter().filter_map(Json::as_str).for_each(|value| give(Field::EnumValue, value));
            }
            ("const", Json::String(value)) => give(Field::EnumValue, value),
            ("properties", Json::Object(properties)) => {
                for (name, property) in properties {
                    give(name_field, name);
                    schema_texts(property, depth + 1, give);
                }
            }
            ("$defs" | "definitions", Json::Object(definitions)) => {
                definitions.values().for_each(|definition| schema_texts(definition, depth + 1, give));
            }
            ("items" | "additionalProperties", inner) => schema_texts(inner, depth + 1, give),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Json::Array(inner)) => {
                inner.iter().for_each(|inner| schema_texts(inner, depth + 1, give));
            }
            _ => {}
        }
    }
}
