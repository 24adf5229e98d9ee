//! Owns how a tool is shown as a call: in Python, in TypeScript, or on one short line, within a number of tokens.
//!
//! Whatever the schema says, a Python signature parses after `def` and a TypeScript one after `declare function`
//! (see [`statement`]): names are made legal, strings are escaped, and what does not fit the budget is left out from the
//! inside to the outside, down to a signature that names nothing.

mod line;
mod python;
mod typescript;

use crate::schema::document::Document;
use crate::schema::json::{self, Json};
use crate::schema::limits::SCHEMA_CAPS;
use crate::schema::types::{self, ObjectType, Type};
use crate::tool_text::ToolText;
use helve_model::text::folded;

/// Tokens of a signature in a message.
const LINE_TOKENS: usize = 64;
/// Characters counted as one token: an average over English and JSON, good enough to keep a prompt small.
pub const CHARACTERS_PER_TOKEN: usize = 4;

/// The language of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `search(query: str, count: int = 10)`.
    ///
    /// Required parameters come first. `None` as a default means "not given". Properties whose names are not Python
    /// names are listed under `**kwargs`, as in `**kwargs: {"user-id": str, "x-y": NotRequired[int]}`, to be passed with
    /// `**{"user-id": "…"}`. An object is `{"key": type}`, with `...` as the key of whatever else it may hold.
    Python,
    /// `search(args: { query: string; count?: number /* = 10 */ }): Promise<unknown>`.
    TypeScript,
    /// `search(query: string, count?: integer = 10)`: for people, in the words of the schema.
    Line,
}

/// The tool as one line. `tokens` is what the line may cost, at [`CHARACTERS_PER_TOKEN`].
///
/// The name becomes an identifier: what is not a letter, a digit or `_` is written as `_`. Put a path in front of the
/// result if the tool is reached through one.
pub fn signature(entry: &ToolText<'_>, style: Style, tokens: usize) -> String {
    let tool = Tool::read(entry);
    let mut shortest = String::new();
    for detail in Detail::LEVELS {
        let text = tool.print(style, &detail);
        if fits(&text, tokens) {
            return text;
        }
        shortest = text;
    }
    shortest
}

/// The tool with its description and those of its parameters: a whole statement of the language, for a prompt. The
/// one-line style gives the line and the description under it.
pub fn documented(entry: &ToolText<'_>, style: Style, tokens: usize) -> String {
    let tool = Tool::read(entry);
    // Long descriptions go before the types do.
    for (level, characters) in [(0, 600), (0, 160), (1, 80), (2, 40), (3, 0)] {
        let Some(detail) = Detail::LEVELS.get(level) else { continue };
        let text = tool.print_documented(style, detail, &Prose::of(entry, &tool.input, characters));
        if fits(&text, tokens) {
            return text;
        }
    }
    let frame = statement(style, "").chars().count().div_ceil(CHARACTERS_PER_TOKEN);
    statement(style, &signature(entry, style, tokens.saturating_sub(frame)))
}

/// A signature as a statement that the parser of its language takes; for checking it.
pub fn statement(style: Style, signature: &str) -> String {
    match style {
        Style::Python => format!("def {signature}: ..."),
        Style::TypeScript => format!("declare function {signature};"),
        Style::Line => signature.to_owned(),
    }
}

/// The line for a message about a tool of which only the schema is at hand.
pub fn usage(name: &str, schema: &str) -> String {
    signature(&ToolText::new(name, schema), Style::Line, LINE_TOKENS)
}

/// The type of one property, for a message.
pub fn type_in_line(schema: &Json, document: &Json) -> String {
    line::type_name(&types::read_at(&Document::new(document), schema), &Detail::SHORT)
}

/// How much of a type is printed.
#[derive(Debug, Clone, Copy)]
struct Detail {
    /// Levels of objects that are written out.
    depth: usize,
    /// Values of an enum that are written out; past this only their type is.
    literals: usize,
    /// Characters of a default value; past this only that there is one.
    default: usize,
    parameters: Parameters,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Parameters {
    Typed,
    Named,
    Unnamed,
}

impl Detail {
    const SHORT: Self = Self { depth: 0, literals: 8, default: 20, parameters: Parameters::Typed };
    const LEVELS: [Self; 6] = [
        Self { depth: 6, literals: 60, default: 60, parameters: Parameters::Typed },
        Self { depth: 3, literals: 16, default: 40, parameters: Parameters::Typed },
        Self { depth: 1, literals: 8, default: 20, parameters: Parameters::Typed },
        Self { depth: 0, literals: 0, default: 10, parameters: Parameters::Typed },
        Self { depth: 0, literals: 0, default: 0, parameters: Parameters::Named },
        Self { depth: 0, literals: 0, default: 0, parameters: Parameters::Unnamed },
    ];

    fn deeper(&self) -> Self {
        Self { depth: self.depth.saturating_sub(1), ..*self }
    }
}

struct Tool<'a> {
    name: &'a str,
    input: ObjectType,
    output: Option<Type>,
}

impl<'a> Tool<'a> {
    fn read(entry: &ToolText<'a>) -> Self {
        let read = |schema: &str| {
            let root = json::parse(schema, SCHEMA_CAPS).unwrap_or(Json::Null);
            types::read(&Document::new(&root))
        };
        Self {
            name: entry.name,
            input: types::parameters(&read(entry.input_schema)),
            output: entry.output_schema.map(read),
        }
    }

    fn print(&self, style: Style, detail: &Detail) -> String {
        match style {
            Style::Python => python::signature(self, detail),
            Style::TypeScript => typescript::signature(self, detail),
            Style::Line => line::signature(self, detail),
        }
    }

    fn print_documented(&self, style: Style, detail: &Detail, prose: &Prose) -> String {
        let signature = self.print(style, detail);
        match style {
            Style::Python => python::documented(&signature, prose),
            Style::TypeScript => typescript::documented(&signature, prose),
            Style::Line => line::documented(&signature, prose),
        }
    }
}

/// The words around a signature, each on one line and cut to length.
struct Prose {
    summary: String,
    parameters: Vec<(String, String)>,
}

impl Prose {
    fn of(entry: &ToolText<'_>, input: &ObjectType, characters: usize) -> Self {
        let summary = entry.description.or(entry.title).unwrap_or_default();
        let parameters = input.fields.iter().filter_map(|field| {
            let mut words = folded(field.description.as_deref().unwrap_or_default(), characters);
            if !field.notes.is_empty() {
                let notes = field.notes.join(", ");
                words = if words.is_empty() { notes } else { format!("{words} ({notes})") };
            }
            (!words.is_empty() && characters > 0).then(|| (folded(&field.name, 60), words))
        });
        Self { summary: folded(summary, characters.max(80) * 2), parameters: parameters.collect() }
    }
}

fn fits(text: &str, tokens: usize) -> bool {
    text.chars().count().div_ceil(CHARACTERS_PER_TOKEN) <= tokens
}

/// A name as an identifier of the usual kind; `reserved` tells the words it must not be.
fn identifier(name: &str, reserved: &[&str]) -> String {
    let mut identifier: String =
        name.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '_' }).collect();
    if identifier.is_empty() || identifier.starts_with(|first: char| first.is_ascii_digit()) {
        identifier.insert(0, '_');
    }
    if reserved.contains(&identifier.as_str()) {
        identifier.push('_');
    }
    identifier
}

fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
}

/// The types of values that are too many to be written out.
fn kinds_of(values: &[Json]) -> Type {
    types::union(
        values
            .iter()
            .map(|value| match value {
                Json::Null => Type::Null,
                Json::Bool(_) => Type::Boolean,
                Json::Number(number) if number.is_f64() => Type::Number,
                Json::Number(_) => Type::Integer,
                Json::String(_) => Type::String,
                Json::Array(_) => Type::List(Box::new(Type::Any)),
                Json::Object(_) => Type::Object(ObjectType { fields: Vec::new(), others: types::Others::Unsaid }),
            })
            .collect(),
    )
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
