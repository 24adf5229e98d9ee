//! Owns how words of a command line become arguments: `count=10` is a number where the schema says so, and a text
//! where it says that. Only for words; JSON that somebody wrote is never changed.
//!
//! | word | meaning |
//! |---|---|
//! | `key=value` | `value` read by the type of `key`; a key without a type takes it as text |
//! | `key:=json` | `json` as it stands, whatever the type |
//! | `key.inner=value` | `inner` of the object `key`, if no property is called `key.inner` |
//! | `key=a key=b`, `key[]=a` | the items of the list `key`, in order |
//!
//! A list is also taken whole (`key=[1,2]`), an object only whole (`key={"a":1}`) or by its parts. Nothing is split at
//! commas. Where a value can be read in two ways (`null`, or the text "null"), that is an error which shows both; `true` and
//! `false` are booleans wherever the type allows one.

use std::fmt;

use helve_model::text::nearest;
use helve_model::text::{SHOWN_CHARACTERS, alternatives, folded, named, quoted};
use helve_render::schema::document::Document;
use helve_render::schema::json::{self, Json, JsonProblem, Object};
use helve_render::schema::limits::{ArgumentLimits, SCHEMA_CAPS};
use helve_render::schema::types::{self, ObjectField, ObjectType, Others, Type, admits};

/// Names shown of those a key could have been.
const SHOWN_NAMES: usize = 12;
/// Enum values shown.
const SHOWN_VALUES: usize = 12;

/// Arguments made of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coerced {
    /// The arguments, as JSON text; keys in the order of the words.
    pub arguments: String,
    /// What a person should know: a key the schema does not name, close to one it does.
    pub warnings: Vec<String>,
}

/// A word that cannot be an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordError {
    /// The word.
    pub word: String,
    /// What is wrong with it, and what to write instead.
    pub problem: String,
}

impl fmt::Display for WordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", folded(&self.word, SHOWN_CHARACTERS), self.problem)
    }
}

impl std::error::Error for WordError {}

/// Makes arguments of words, by the tool's schema. All that is wrong is told at once.
pub fn coerce<W: AsRef<str>>(schema: &str, words: &[W]) -> Result<Coerced, Vec<WordError>> {
    let root = json::parse(schema, SCHEMA_CAPS).unwrap_or(Json::Null);
    let parameters = types::parameters(&types::read(&Document::new(&root)));
    let mut arguments = Arguments::default();
    let mut errors = Vec::new();
    for word in words {
        let word = word.as_ref();
        if let Err(problem) = arguments.add(word, &parameters) {
            errors.push(WordError { word: word.to_owned(), problem });
        }
    }
    if errors.is_empty() {
        Ok(Coerced { arguments: Json::Object(arguments.object).to_text(), warnings: arguments.warnings })
    } else {
        Err(errors)
    }
}

#[derive(Default)]
struct Arguments {
    object: Object,
    /// Keys that were given item by item, and may be given again.
    lists: Vec<Vec<String>>,
    warnings: Vec<String>,
}

/// A word in its parts.
struct Word<'a> {
    key: &'a str,
    value: &'a str,
    /// `:=`
    is_json: bool,
}

impl Arguments {
    fn add(&mut self, word: &str, parameters: &ObjectType) -> Result<(), String> {
        let parts = split(word)?;
        let (path, is_item) = path(parts.key, parameters);
        let kind = self.kind_of(&path, parameters)?;
        let value = if parts.is_json {
            parse(parts.value).map_err(|problem| format!("{problem}; text goes after `=`, JSON after `:=`"))?
        } else if is_item {
            read(item_type(&kind), &parts)?
        } else {
            read_or_item(&kind, &parts)?
        };
        let is_item = is_item || (!parts.is_json && takes_items(&kind) && !matches!(value, Json::Array(_)));
        self.put(&path, value, is_item)
    }

    /// The type of what a path leads to; unknown keys are an error in a closed object.
    fn kind_of(&mut self, path: &[String], parameters: &ObjectType) -> Result<Type, String> {
        let mut object = parameters.clone();
        let mut kind = Type::Any;
        for (depth, key) in path.iter().enumerate() {
            kind = match object.fields.iter().find(|field| field.name == *key) {
                Some(field) => field.kind.clone(),
                None => self.kind_of_unknown(key, &object)?,
            };
            if depth + 1 < path.len() {
                object = match &kind {
                    Type::Any | Type::Again(_) => ObjectType { fields: Vec::new(), others: Others::Unsaid },
                    kind => object_of(kind).ok_or_else(|| format!("{} is not an object", named(key)))?,
                };
            }
        }
        Ok(kind)
    }

    fn kind_of_unknown(&mut self, key: &str, object: &ObjectType) -> Result<Type, String> {
        let names = || object.fields.iter().map(|field| field.name.as_str());
        let meant = nearest(key, names()).map(|name| format!("; did you mean {}?", named(name)));
        match &object.others {
            Others::None => Err(match meant {
                Some(meant) => format!("no property {}{meant}", named(key)),
                None if object.fields.is_empty() => "the tool takes no arguments".to_owned(),
                None => format!("no property {}; there is {}", named(key), name_list(&object.fields)),
            }),
            Others::Unsaid => {
                if let Some(meant) = meant {
                    self.warnings.push(format!("the schema does not name {}{meant}", named(key)));
                }
                Ok(Type::Any)
            }
            Others::Of(kind) => Ok((**kind).clone()),
        }
    }

    fn put(&mut self, path: &[String], value: Json, is_item: bool) -> Result<(), String> {
        let Some((last, before)) = path.split_last() else { return Ok(()) };
        let mut object = &mut self.object;
        for key in before {
            let inner = object.entry(key.clone()).or_insert_with(|| Json::Object(Object::new()));
            let Json::Object(inner) = inner else {
                return Err(format!("{} is already given as a whole", named(key)));
            };
            object = inner;
        }
        let given_by_items = self.lists.iter().any(|list| list == path);
        match object.get_mut(last) {
            None if is_item => {
                object.insert(last.clone(), Json::Array(vec![value]));
                self.lists.push(path.to_vec());
            }
            None => {
                object.insert(last.clone(), value);
            }
            Some(Json::Array(items)) if is_item && given_by_items => items.push(value),
            Some(Json::Object(_)) => return Err(format!("{} is already given by its parts", named(last))),
            Some(_) => return Err(format!("{} is given twice", named(last))),
        }
        Ok(())
    }
}

fn split(word: &str) -> Result<Word<'_>, String> {
    let Some((key, value)) = word.split_once('=') else {
        return Err("an argument is written key=value, or key:=json".to_owned());
    };
    let (key, is_json) = match key.strip_suffix(':') {
        Some(key) => (key, true),
        None => (key, false),
    };
    if key.is_empty() { Err("the key before `=` is missing".to_owned()) } else { Ok(Word { key, value, is_json }) }
}

/// The keys a word goes through, and whether `[]` says that its value is one item of a list. A property of exactly the
/// written name comes first; dots lead into an object only where there is one.
fn path(key: &str, parameters: &ObjectType) -> (Vec<String>, bool) {
    let is_known = |name: &str| parameters.fields.iter().any(|field| field.name == name);
    if is_known(key) {
        return (vec![key.to_owned()], false);
    }
    let (key, is_item) = match key.strip_suffix("[]") {
        Some(key) if !key.is_empty() => (key, true),
        _ => (key, false),
    };
    let leads_inside = key.split_once('.').is_some_and(|(first, rest)| {
        !rest.is_empty() && !rest.split('.').any(str::is_empty) && is_known(first) && !is_known(key)
    });
    if leads_inside { (key.split('.').map(str::to_owned).collect(), is_item) } else { (vec![key.to_owned()], is_item) }
}

fn object_of(kind: &Type) -> Option<ObjectType> {
    match kind {
        Type::Object(object) => Some(object.clone()),
        Type::Union(alternatives) if alternatives.iter().any(|kind| matches!(kind, Type::Object(_))) => {
            Some(types::parameters(kind))
        }
        _ => None,
    }
}

fn takes_items(kind: &Type) -> bool {
    match kind {
        Type::List(_) | Type::Tuple(..) => true,
        Type::Union(alternatives) => {
            // A text or a list of texts: one word is the text.
            alternatives.iter().all(|kind| takes_items(kind) || *kind == Type::Null)
        }
        _ => false,
    }
}

fn item_type(kind: &Type) -> &Type {
    match kind {
        Type::List(item) => item,
        Type::Union(alternatives) => match alternatives.iter().find(|kind| matches!(kind, Type::List(_))) {
            Some(Type::List(item)) => item,
            _ => &Type::Any,
        },
        _ => &Type::Any,
    }
}

/// A list takes `[…]` whole and anything else as one item.
fn read_or_item(kind: &Type, word: &Word<'_>) -> Result<Json, String> {
    if !takes_items(kind) {
        return read(kind, word);
    }
    if word.value.trim_start().starts_with('[') {
        return match parse(word.value) {
            Ok(list @ Json::Array(_)) => Ok(list),
            _ => Err(format!("this looks like a JSON list but is none; write {}[]= for one text item", word.key)),
        };
    }
    read(item_type(kind), word)
}

/// Reads a value by its type. Every reading the type allows is tried; there must be exactly one.
fn read(kind: &Type, word: &Word<'_>) -> Result<Json, String> {
    if matches!(kind, Type::Any | Type::Again(_)) {
        return Ok(Json::from(word.value));
    }
    let as_text = Json::from(word.value);
    let as_json = parse(word.value).ok();
    let mut readings: Vec<Json> = Vec::new();
    if admits(kind, &as_text) {
        readings.push(as_text);
    }
    // `"5"` in quotes is a text with quotes; JSON texts go after `:=`.
    if let Some(json) = as_json.filter(|json| !matches!(json, Json::String(_)) && admits(kind, json)) {
        readings.push(json);
    }
    if let Some(boolean) = readings.iter().position(|reading| matches!(reading, Json::Bool(_))) {
        return Ok(readings.swap_remove(boolean));
    }
    match readings.len() {
        1 => Ok(readings.remove(0)),
        0 => Err(mismatch(kind, word)),
        _ => {
            let ways: Vec<String> =
                readings.iter().map(|reading| format!("{}:='{}'", word.key, reading.to_text())).collect();
            Err(format!("this can be read in two ways; write {}", alternatives(&ways)))
        }
    }
}

fn mismatch(kind: &Type, word: &Word<'_>) -> String {
    let expected = expectation(kind);
    let hint = match kind {
        Type::Boolean => "; write true or false".to_owned(),
        Type::Object(object) => match object.fields.first() {
            Some(field) => format!("; write {}.{}=… or {}:='{{…}}'", word.key, field.name, word.key),
            None => format!("; write {}:='{{…}}'", word.key),
        },
        Type::Literals(values) => {
            let texts = values.iter().filter_map(Json::as_str);
            nearest(word.value, texts).map(|name| format!("; did you mean {}?", named(name))).unwrap_or_default()
        }
        _ => String::new(),
    };
    format!("expected {expected}, got {}{hint}", quoted(word.value, SHOWN_CHARACTERS))
}

fn expectation(kind: &Type) -> String {
    match kind {
        Type::Any | Type::Again(_) => "a value".to_owned(),
        Type::Never => "nothing".to_owned(),
        Type::Null => "null".to_owned(),
        Type::Boolean => "a boolean".to_owned(),
        Type::Integer => "an integer".to_owned(),
        Type::Number => "a number".to_owned(),
        Type::String => "a text".to_owned(),
        Type::List(_) | Type::Tuple(..) => "a list".to_owned(),
        Type::Object(_) => "an object".to_owned(),
        Type::Literals(values) => {
            let mut words: Vec<String> = values.iter().take(SHOWN_VALUES).map(shown).collect();
            if values.len() > SHOWN_VALUES {
                words.push(format!("{} more", values.len() - SHOWN_VALUES));
            }
            alternatives(&words)
        }
        Type::Union(kinds) => alternatives(&kinds.iter().map(expectation).collect::<Vec<_>>()),
    }
}

fn shown(value: &Json) -> String {
    value.as_str().map_or_else(|| folded(&value.to_text(), 30), |text| folded(text, 30))
}

fn name_list(fields: &[ObjectField]) -> String {
    let mut names: Vec<String> = fields.iter().take(SHOWN_NAMES).map(|field| named(&field.name)).collect();
    if fields.len() > SHOWN_NAMES {
        names.push("…".to_owned());
    }
    names.join(", ")
}

fn parse(text: &str) -> Result<Json, JsonProblem> {
    json::parse(text, ArgumentLimits::default().caps())
}

#[cfg(test)]
#[path = "coerce_tests.rs"]
mod tests;
