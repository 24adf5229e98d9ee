//! Owns the words for what is wrong with arguments: where, what was expected, what came, which name was probably meant,
//! and how the tool is called. Written for a person and for a model that gets one more try.

use std::fmt;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use super::compile::Checker;
use super::meter::{EXPLAIN_LOOKS, Look, metered};
use helve_model::text::nearest;
use helve_model::text::{SHOWN_CHARACTERS, alternatives, counted, folded, named, quoted};
use helve_render::schema::json::{self, Json, JsonProblem, Object, pointer_tokens, push_pointer};
use helve_render::schema::limits::SCHEMA_CAPS;
use helve_render::{type_in_line, usage};

/// Violations told at once.
pub const MAX_VIOLATIONS: usize = 20;
/// Past this many possible errors (subschemas met, times what one error holds) only the first one is looked for.
const MAX_POSSIBLE_ERRORS: u64 = 50_000;
/// Violations put into words before the first of them are picked.
const MAX_DESCRIBED: usize = 1_000;
/// Names compared with the known ones.
const MAX_SUGGESTIONS: usize = 50;
/// Enum values named in a message.
const SHOWN_VALUES: usize = 10;
/// How deep alternatives inside alternatives are looked into.
const MAX_ALTERNATIVE_DEPTH: u32 = 4;

/// What came where nothing came.
const NOTHING: &str = "nothing";

/// Arguments that do not fit, and everything needed to write them again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidArguments {
    /// The tool, by the name it was called.
    pub tool: String,
    /// What is wrong, in the order of the arguments; at most [`MAX_VIOLATIONS`].
    pub violations: Vec<Violation>,
    /// How many more were found.
    pub omitted: usize,
    /// Whether all were looked for. Where there is too much to look through, only the first is told.
    pub complete: bool,
    /// How the tool is called, on one line.
    pub signature: String,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where, as a JSON pointer into the arguments; empty for the arguments themselves.
    pub pointer: String,
    /// The schema's keyword that says so.
    pub keyword: String,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub found: String,
    /// The name or value that was probably meant.
    pub nearest: Option<String>,
}

impl InvalidArguments {
    pub(super) fn of_one(tool: &str, schema: &str, violation: Violation) -> Self {
        Self {
            tool: tool.to_owned(),
            violations: vec![violation],
            omitted: 0,
            complete: true,
            signature: usage(tool, schema),
        }
    }
}

impl Violation {
    pub(super) fn not_json(problem: &JsonProblem) -> Self {
        let found = match problem {
            JsonProblem::Syntax(detail) => format!("text that is not JSON ({detail})"),
            other => other.to_string(),
        };
        Self::new(String::new(), "", "a JSON object".to_owned(), found)
    }

    pub(super) fn not_an_object(value: &Value) -> Self {
        Self::new(String::new(), "type", "object".to_owned(), shown(value))
    }

    fn new(pointer: String, keyword: &str, expected: String, found: String) -> Self {
        Self { pointer, keyword: keyword.to_owned(), expected, found, nearest: None }
    }
}

impl fmt::Display for InvalidArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problems = counted(self.violations.len() + self.omitted, "problem", "problems");
        let at_least = if self.complete { "" } else { "at least " };
        writeln!(f, "invalid arguments for {}: {at_least}{problems}", folded(&self.tool, SHOWN_CHARACTERS * 2))?;
        for violation in &self.violations {
            writeln!(f, "  {violation}")?;
        }
        if self.omitted > 0 {
            writeln!(f, "  and {} more", self.omitted)?;
        }
        write!(f, "usage: {}", self.signature)
    }
}

impl std::error::Error for InvalidArguments {}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pointer.is_empty() {
            write!(f, "{}: ", folded(&self.pointer, SHOWN_CHARACTERS * 2))?;
        }
        match self.keyword.as_str() {
            "required" if self.found == NOTHING => write!(f, "missing {}", self.expected)?,
            "required" => write!(f, "missing {}, got {} instead", self.expected, self.found)?,
            "additionalProperties" | "unevaluatedProperties" => f.write_str("unknown property")?,
            _ => write!(f, "expected {}, got {}", self.expected, self.found)?,
        }
        match &self.nearest {
            Some(name) => write!(f, "; did you mean {}?", named(name)),
            None => Ok(()),
        }
    }
}

/// Tells what is wrong with a value that is known not to fit.
pub(super) fn explain(checker: &Checker, tool: &str, schema: &str, value: &Value, levels: u64) -> InvalidArguments {
    let document = json::parse(schema, SCHEMA_CAPS).unwrap_or(Json::Null);
    let Told { mut violations, unsaid, complete } = collect(checker, value, levels, &document);
    violations.sort_by_cached_key(|violation| {
        (reading_order(&violation.pointer), violation.keyword.clone(), violation.expected.clone())
    });
    violations.dedup();
    let omitted = violations.len().saturating_sub(MAX_VIOLATIONS) + unsaid;
    violations.truncate(MAX_VIOLATIONS);
    InvalidArguments { tool: tool.to_owned(), violations, omitted, complete, signature: usage(tool, schema) }
}

struct Told {
    violations: Vec<Violation>,
    unsaid: usize,
    complete: bool,
}

fn collect(checker: &Checker, value: &Value, levels: u64, document: &Json) -> Told {
    let mut complete = false;
    let mut told = Telling { document, value, suggestions: MAX_SUGGESTIONS, violations: Vec::new(), unsaid: 0 };
    let possible = checker.counts.expanded.saturating_mul(levels).saturating_mul(u64::from(checker.weight.error));
    if possible <= MAX_POSSIBLE_ERRORS {
        let (errors, sufficed) = metered(EXPLAIN_LOOKS, checker.weight, || {
            checker.validator.iter_errors(Look(value)).collect::<Vec<ValidationError<'_>>>()
        });
        if sufficed {
            errors.iter().for_each(|error| told.describe(error, 0));
            complete = !told.violations.is_empty();
        }
        if told.violations.is_empty() {
            let (first, sufficed) =
                metered(EXPLAIN_LOOKS, checker.weight, || checker.validator.validate(Look(value)).err());
            if let (Some(error), true) = (first, sufficed) {
                told.describe(&error, 0);
            }
        }
    }
    if told.violations.is_empty() {
        let expected = "a value that fits the schema, which is too large to say more".to_owned();
        told.violations.push(Violation::new(String::new(), "", expected, shown(value)));
    }
    Told { violations: told.violations, unsaid: told.unsaid, complete }
}

/// Violations as they are told, and how much telling is left.
struct Telling<'a> {
    document: &'a Json,
    value: &'a Value,
    suggestions: usize,
    violations: Vec<Violation>,
    unsaid: usize,
}

impl<'a> Telling<'a> {
    fn say(&mut self, violation: Violation) {
        if self.violations.len() < MAX_DESCRIBED {
            self.violations.push(violation);
        } else {
            self.unsaid += 1;
        }
    }

    fn suggest<'c>(&mut self, name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
        self.suggestions = self.suggestions.checked_sub(1)?;
        nearest(name, candidates)
    }

    /// What the error is about: the error itself does not carry it.
    fn subject(&self, error: &ValidationError<'_>) -> &'a Value {
        self.value.pointer(error.instance_path().as_str()).unwrap_or(&Value::Null)
    }

    fn describe(&mut self, error: &ValidationError<'_>, depth: u32) {
        let pointer = error.instance_path().as_str();
        let instance = self.subject(error);
        let keyword = error.kind().keyword();
        let expected = match error.kind() {
            ValidationErrorKind::Required { property } => {
                return self.missing(error, property.as_str().unwrap_or_default());
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => return self.unknown(error, unexpected),
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                return self.no_alternative(error, context, depth);
            }
            ValidationErrorKind::PropertyNames { error: inner } => return self.bad_name(error, inner, depth),
            ValidationErrorKind::Enum { options } => return self.not_in_enum(pointer, instance, options),
            ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => kind.as_str().to_owned(),
            ValidationErrorKind::Type { kind: TypeKind::Multiple(kinds) } => {
                alternatives(&kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>())
            }
            kind => limit_words(kind),
        };
        self.say(Violation::new(pointer.to_owned(), keyword, expected, shown(instance)));
    }

    fn missing(&mut self, error: &ValidationError<'_>, name: &str) {
        let properties = properties(error, self.document);
        let kind = properties.and_then(|known| known.get(name)).map(|schema| type_in_line(schema, self.document));
        let expected = match kind.filter(|kind| kind != "any") {
            Some(kind) => format!("property {} ({kind})", named(name)),
            None => format!("property {}", named(name)),
        };
        // Keys that belong to no property may be this one, misspelt.
        let given = self.subject(error).as_object().into_iter().flat_map(|given| given.keys());
        let strays = given.map(String::as_str).filter(|key| properties.is_none_or(|known| !known.contains_key(*key)));
        let found = match self.suggest(name, strays) {
            Some(stray) => named(stray),
            None => NOTHING.to_owned(),
        };
        self.say(Violation::new(error.instance_path().as_str().to_owned(), "required", expected, found));
    }

    fn unknown(&mut self, error: &ValidationError<'_>, unexpected: &[String]) {
        let properties = properties(error, self.document);
        let given = self.subject(error).as_object();
        for (index, name) in unexpected.iter().enumerate() {
            if self.violations.len() >= MAX_DESCRIBED {
                self.unsaid += unexpected.len() - index;
                break;
            }
            // What is there already was not meant.
            let known = properties.into_iter().flat_map(|known| known.keys()).map(String::as_str);
            let absent = known.filter(|key| given.is_none_or(|given| !given.contains_key(*key)));
            let nearest = self.suggest(name, absent).map(str::to_owned);
            let mut pointer = error.instance_path().as_str().to_owned();
            push_pointer(&mut pointer, name);
            let found = given.and_then(|given| given.get(name)).map_or_else(|| "one".to_owned(), shown);
            let expected = "a property of the schema".to_owned();
            self.say(Violation { nearest, ..Violation::new(pointer, error.kind().keyword(), expected, found) });
        }
    }

    fn bad_name(&mut self, error: &ValidationError<'_>, inner: &ValidationError<'_>, depth: u32) {
        let name = inner.instance().as_str().unwrap_or_default().to_owned();
        let mut pointer = error.instance_path().as_str().to_owned();
        push_pointer(&mut pointer, &name);
        let wanted = self.aside(|told| told.describe(inner, depth + 1));
        let expected = wanted.first().map_or("something else", |first| first.expected.as_str());
        let expected = format!("a property name that is {expected}");
        self.say(Violation::new(pointer, "propertyNames", expected, quoted(&name, SHOWN_CHARACTERS)));
    }

    fn not_in_enum(&mut self, pointer: &str, instance: &Value, options: &Value) {
        let options = options.as_array().map_or(&[] as &[Value], Vec::as_slice);
        let mut words: Vec<String> = options.iter().take(SHOWN_VALUES).map(shown).collect();
        if options.len() > SHOWN_VALUES {
            words.push(format!("{} more", options.len() - SHOWN_VALUES));
        }
        let expected = match words.len() {
            0 => "nothing, since the enum is empty".to_owned(),
            1 => words.concat(),
            _ => format!("one of {}", alternatives(&words)),
        };
        let texts = options.iter().filter_map(Value::as_str);
        let nearest = instance.as_str().and_then(|text| self.suggest(text, texts)).map(str::to_owned);
        self.say(Violation { nearest, ..Violation::new(pointer.to_owned(), "enum", expected, shown(instance)) });
    }

    /// Says it in one line where all alternatives differ by type alone; otherwise tells what is wrong with the one that
    /// comes closest.
    fn no_alternative(&mut self, error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>], depth: u32) {
        let pointer = error.instance_path().as_str();
        let count = context.len();
        let looked_into = if depth < MAX_ALTERNATIVE_DEPTH { context } else { &[] };
        let branches: Vec<Vec<Violation>> = looked_into
            .iter()
            .map(|errors| self.aside(|told| errors.iter().for_each(|error| told.describe(error, depth + 1))))
            .collect();
        let is_about_kind = |violation: &Violation| {
            violation.pointer == pointer && matches!(violation.keyword.as_str(), "type" | "enum" | "const")
        };
        let closest = branches
            .iter()
            .enumerate()
            .filter(|(_, branch)| !branch.is_empty() && !branch.iter().any(is_about_kind))
            .min_by_key(|(index, branch)| (branch.len(), *index));
        if let Some((index, branch)) = closest {
            let which = if count > 1 { format!(" (alternative {} of {count})", index + 1) } else { String::new() };
            for violation in branch {
                let expected = format!("{}{which}", violation.expected);
                self.say(Violation { expected, ..violation.clone() });
            }
            return;
        }
        let mut kinds: Vec<&str> = Vec::new();
        for violation in branches.iter().flatten().filter(|violation| is_about_kind(violation)) {
            if !kinds.contains(&violation.expected.as_str()) {
                kinds.push(&violation.expected);
            }
        }
        let more = format!("{} more", kinds.len().saturating_sub(SHOWN_VALUES));
        if kinds.len() > SHOWN_VALUES {
            kinds.truncate(SHOWN_VALUES);
            kinds.push(&more);
        }
        let expected = if kinds.is_empty() {
            format!("a value that fits one of {}", counted(count, "alternative", "alternatives"))
        } else {
            alternatives(&kinds)
        };
        self.say(Violation::new(pointer.to_owned(), error.kind().keyword(), expected, shown(self.subject(error))));
    }

    /// What would be told, without telling it.
    fn aside(&mut self, tell: impl FnOnce(&mut Self)) -> Vec<Violation> {
        let (said, unsaid) = (std::mem::take(&mut self.violations), self.unsaid);
        tell(self);
        self.unsaid = unsaid;
        std::mem::replace(&mut self.violations, said)
    }
}

/// The words for every keyword that is one plain demand.
fn limit_words(kind: &ValidationErrorKind) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::AdditionalItems { limit } => format!("at most {}", counted(*limit, "item", "items")),
        Kind::Constant { expected_value } => shown(expected_value),
        Kind::Contains => "an array with an item that fits `contains`".to_owned(),
        Kind::ContentEncoding { content_encoding } => format!("text encoded as {}", folded(content_encoding, 40)),
        Kind::ContentMediaType { content_media_type } => format!("text of type {}", folded(content_media_type, 40)),
        Kind::ExclusiveMaximum { limit } => format!("a number less than {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("a number greater than {limit}"),
        Kind::FalseSchema => "nothing here".to_owned(),
        Kind::Format { format } => format!("a string of format {}", folded(format, 40)),
        Kind::FromUtf8 { .. } => "base64 of UTF-8 text".to_owned(),
        Kind::MaxItems { limit } => format!("at most {}", plural(*limit, "item", "items")),
        Kind::Maximum { limit } => format!("a number of at most {limit}"),
        Kind::MaxLength { limit } => format!("at most {}", plural(*limit, "character", "characters")),
        Kind::MaxProperties { limit } => format!("at most {}", plural(*limit, "property", "properties")),
        Kind::MinItems { limit } => format!("at least {}", plural(*limit, "item", "items")),
        Kind::Minimum { limit } => format!("a number of at least {limit}"),
        Kind::MinLength { limit } => format!("at least {}", plural(*limit, "character", "characters")),
        Kind::MinProperties { limit } => format!("at least {}", plural(*limit, "property", "properties")),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::Not { schema } => format!("anything but what fits {}", folded(&schema.to_string(), 80)),
        Kind::OneOfMultipleValid { .. } => {
            "a value that fits exactly one alternative of `oneOf`, not several".to_owned()
        }
        Kind::Pattern { pattern } => format!("a string that matches {}", folded(pattern, 120)),
        Kind::UnevaluatedItems { .. } => "no further items".to_owned(),
        Kind::UniqueItems => "items that all differ".to_owned(),
        other => format!("a value that fits `{}`", other.keyword()),
    }
}

fn plural(limit: u64, singular: &str, plural: &str) -> String {
    counted(usize::try_from(limit).unwrap_or(usize::MAX), singular, plural)
}

/// The properties beside the keyword that complains.
fn properties<'a>(error: &ValidationError<'_>, document: &'a Json) -> Option<&'a Object> {
    let (owner, _) = error.schema_path().as_str().rsplit_once('/')?;
    document.pointer(owner)?.get("properties")?.as_object()
}

/// A value in a few words.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => quoted(text, SHOWN_CHARACTERS),
        Value::Array(items) if items.is_empty() => "an empty array".to_owned(),
        Value::Array(items) => format!("an array of {}", counted(items.len(), "item", "items")),
        Value::Object(members) if members.is_empty() => "an empty object".to_owned(),
        Value::Object(members) => {
            let names: Vec<String> = members.keys().take(3).map(|name| named(name)).collect();
            let more = if members.len() > names.len() { ", …" } else { "" };
            format!("an object with {}{more}", names.join(", "))
        }
    }
}

/// Pointers in the order of a reader: array positions by number, the rest by text.
fn reading_order(pointer: &str) -> Vec<(usize, String)> {
    let tokens = pointer_tokens(pointer).unwrap_or_default();
    tokens.into_iter().map(|token| (token.parse().unwrap_or(usize::MAX), token)).collect()
}
