//! Owns which schemas are forms: the field kinds of every revision of the protocol, and the harmless ways in which
//! common libraries write them (an optional field as a union with `null`). Everything else is a [`FormProblem`].

use super::check::check_value;
use super::format::{self, is_whole, pattern_is_supported};
use super::{Bound, Choice, Field, FieldKind, Form, FormNotice, FormProblem, NumberRules, TextFormat, TextRules};
use crate::validate::affordable_patterns;
use helve_model::text::{folded, named};
use helve_render::MAX_SCHEMA_DEPTH;
use helve_render::schema::json::{self, Caps, Json, Object, RepeatedKeys};

/// Bytes of a form's schema.
pub const MAX_FORM_BYTES: usize = 64 * 1024;
/// Fields of one form.
pub const MAX_FORM_FIELDS: usize = 100;
/// Choices of one field.
pub const MAX_FORM_CHOICES: usize = 1_000;

const CAPS: Caps = Caps {
    bytes: MAX_FORM_BYTES,
    depth: MAX_SCHEMA_DEPTH,
    values: MAX_FORM_BYTES,
    repeated_keys: RepeatedKeys::LastWins,
};

/// Keywords of the whole schema that would change what an answer is.
const UNSUPPORTED_IN_FORM: &[&str] = &[
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "patternProperties",
    "dependentRequired",
    "dependentSchemas",
];

/// Keywords of a field that would change what an answer is. Those that are not listed only describe, or narrow what the
/// server will check again.
const UNSUPPORTED_IN_FIELD: &[&str] =
    &["$ref", "$dynamicRef", "allOf", "not", "if", "properties", "patternProperties", "prefixItems", "contains"];

pub(super) fn read(text: &str) -> Result<Form, FormProblem> {
    let schema = json::parse(text, CAPS).map_err(FormProblem::Json)?;
    let Json::Object(schema) = schema else { return Err(FormProblem::NotAnObject) };
    if let Some(keyword) = UNSUPPORTED_IN_FORM.iter().find(|keyword| schema.contains_key(**keyword)) {
        return Err(FormProblem::Unsupported { field: None, what: format!("its schema has `{keyword}`") });
    }
    if schema.get("type").is_some_and(|kind| kind.as_str() != Some("object")) {
        return Err(FormProblem::NotAnObject);
    }
    let no_properties = Object::new();
    let properties = match schema.get("properties") {
        Some(Json::Object(properties)) => properties,
        None if schema.contains_key("type") => &no_properties,
        _ => return Err(FormProblem::NotAnObject),
    };
    if properties.len() > MAX_FORM_FIELDS {
        return Err(FormProblem::TooManyFields { count: properties.len(), limit: MAX_FORM_FIELDS });
    }
    let required: Vec<&str> =
        schema.get("required").and_then(Json::as_array).unwrap_or_default().iter().filter_map(Json::as_str).collect();
    if let Some(unknown) = required.iter().find(|name| !properties.contains_key(**name)) {
        return Err(FormProblem::RequiredUnknown((*unknown).to_owned()));
    }
    let mut form = Form { fields: Vec::with_capacity(properties.len()), notices: Vec::new() };
    let mut affordable = affordable_patterns();
    for (name, property) in properties {
        let mut reading = Reading { name, notices: &mut form.notices, affordable: &mut affordable };
        let field = reading.field(property, required.contains(&name.as_str()))?;
        form.fields.push(field);
    }
    Ok(form)
}

/// One field being read.
struct Reading<'a> {
    name: &'a str,
    notices: &'a mut Vec<FormNotice>,
    /// Whether one more pattern can be paid for: all patterns of a form share one budget.
    affordable: &'a mut dyn FnMut(&str) -> bool,
}

impl Reading<'_> {
    fn field(&mut self, property: &Json, required: bool) -> Result<Field, FormProblem> {
        let Json::Object(written) = property else {
            return Err(self.unsupported("its schema is not an object"));
        };
        let schema = without_null(written);
        if let Some(keyword) = UNSUPPORTED_IN_FIELD.iter().find(|keyword| schema.contains_key(**keyword)) {
            return Err(self.unsupported(match *keyword {
                "properties" | "patternProperties" => "it is an object of its own".to_owned(),
                keyword => format!("it has `{keyword}`"),
            }));
        }
        let text = |key: &str| schema.get(key).and_then(Json::as_str).map(str::to_owned);
        let mut field = Field {
            name: self.name.to_owned(),
            title: text("title"),
            description: text("description"),
            kind: self.kind(&schema)?,
            required,
            default: None,
        };
        // Libraries write `null` for "no default".
        if let Some(default) = schema.get("default").filter(|default| **default != Json::Null) {
            match check_value(&field, &default.to_value()) {
                Ok(default) => field.default = Some(default),
                Err(why) => self.notices.push(FormNotice::DefaultLeftOut { field: self.name.to_owned(), why }),
            }
        }
        Ok(field)
    }

    fn kind(&mut self, schema: &Object) -> Result<FieldKind, FormProblem> {
        let kind = match schema.get("type") {
            None => None,
            Some(Json::String(kind)) => Some(kind.as_str()),
            Some(_) => return Err(self.unsupported("it takes several types")),
        };
        if kind == Some("array") {
            return self.choices_of_many(schema);
        }
        if let Some(choices) = self.choices(schema, kind)? {
            return Ok(FieldKind::Choice(choices));
        }
        match kind {
            Some("string") => self.text_rules(schema).map(FieldKind::Text),
            Some("number") => self.number_rules(schema).map(FieldKind::Number),
            Some("integer") => self.number_rules(schema).map(FieldKind::Integer),
            Some("boolean") => Ok(FieldKind::Boolean),
            Some("object") => Err(self.unsupported("it is an object of its own")),
            Some(other) => Err(self.unsupported(format!("it is of the type {}", named(other)))),
            None => Err(self.unsupported("it has no type")),
        }
    }

    fn choices_of_many(&mut self, schema: &Object) -> Result<FieldKind, FormProblem> {
        let Some(Json::Object(items)) = schema.get("items") else {
            return Err(self.unsupported("it is a list without choices"));
        };
        if let Some(keyword) = UNSUPPORTED_IN_FIELD.iter().find(|keyword| items.contains_key(**keyword)) {
            return Err(self.unsupported(format!("its items have `{keyword}`")));
        }
        let kind = items.get("type").and_then(Json::as_str);
        let Some(choices) = self.choices(items, kind)? else {
            return Err(self.unsupported("it is a list without choices"));
        };
        let minimum = self.count(schema, "minItems");
        let maximum = self.count(schema, "maxItems");
        let minimum = usize::try_from(minimum.unwrap_or(0)).unwrap_or(usize::MAX);
        let maximum = maximum.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
        if minimum > choices.len() {
            return Err(self.impossible(format!("it wants {minimum} of {} choices", choices.len())));
        }
        if maximum.is_some_and(|maximum| maximum < minimum) {
            return Err(self.impossible("`minItems` is more than `maxItems`"));
        }
        Ok(FieldKind::Choices { choices, minimum, maximum })
    }

    /// The choices of a schema, however it spells them; nothing if it has none.
    fn choices(&self, schema: &Object, kind: Option<&str>) -> Result<Option<Vec<Choice>>, FormProblem> {
        let spelled = if let Some(values) = schema.get("enum") {
            let values = values.as_array().ok_or_else(|| self.unsupported("its `enum` is not a list"))?;
            let titles = schema.get("enumNames").and_then(Json::as_array).unwrap_or_default();
            let title = |index: usize| titles.get(index).and_then(Json::as_str);
            values.iter().enumerate().map(|(index, value)| (value, title(index))).collect()
        } else if let Some(alternatives) = schema.get("oneOf").or_else(|| schema.get("anyOf")) {
            let alternatives = alternatives.as_array().unwrap_or_default();
            let constant = |alternative| constant(alternative).ok_or_else(|| self.unsupported("it has alternatives"));
            alternatives.iter().map(constant).collect::<Result<_, _>>()?
        } else if let Some(value) = schema.get("const") {
            vec![(value, None)]
        } else {
            return Ok(None);
        };
        self.distinct(spelled, kind).map(Some)
    }

    fn distinct(&self, spelled: Vec<(&Json, Option<&str>)>, kind: Option<&str>) -> Result<Vec<Choice>, FormProblem> {
        if spelled.len() > MAX_FORM_CHOICES {
            let field = self.name.to_owned();
            return Err(FormProblem::TooManyChoices { field, count: spelled.len(), limit: MAX_FORM_CHOICES });
        }
        let mut choices: Vec<Choice> = Vec::with_capacity(spelled.len());
        for (value, title) in spelled {
            // `null` among the values says that the field may be left out.
            if *value == Json::Null {
                continue;
            }
            let choice = Choice { value: value.to_value(), title: title.map(str::to_owned) };
            if choice.value.is_array() || choice.value.is_object() {
                return Err(self.unsupported("one of its choices is a list or an object"));
            }
            if fits_type(value, kind) && !choices.iter().any(|earlier| earlier.value == choice.value) {
                choices.push(choice);
            }
        }
        if choices.is_empty() {
            return Err(self.impossible("there is nothing to choose from"));
        }
        Ok(choices)
    }

    fn text_rules(&mut self, schema: &Object) -> Result<TextRules, FormProblem> {
        let format = schema.get("format").and_then(Json::as_str).map(|format| match format {
            "email" => TextFormat::Email,
            "uri" => TextFormat::Uri,
            "date" => TextFormat::Date,
            "date-time" => TextFormat::DateTime,
            other => TextFormat::Other(other.to_owned()),
        });
        let pattern = schema.get("pattern").and_then(Json::as_str).map(str::to_owned);
        let pattern = pattern.filter(|pattern| {
            let checked = (self.affordable)(pattern) && pattern_is_supported(pattern);
            if !checked {
                let (field, pattern) = (self.name.to_owned(), pattern.clone());
                self.notices.push(FormNotice::UncheckedPattern { field, pattern });
            }
            checked
        });
        let rules = TextRules {
            format,
            minimum_length: self.count(schema, "minLength"),
            maximum_length: self.count(schema, "maxLength"),
            pattern,
        };
        match (rules.minimum_length, rules.maximum_length) {
            (Some(least), Some(most)) if least > most => Err(self.impossible("`minLength` is more than `maxLength`")),
            _ => Ok(rules),
        }
    }

    fn number_rules(&mut self, schema: &Object) -> Result<NumberRules, FormProblem> {
        let lower = [self.bound(schema, "minimum", false), self.bound(schema, "exclusiveMinimum", true)];
        let upper = [self.bound(schema, "maximum", false), self.bound(schema, "exclusiveMaximum", true)];
        // Of two ends the narrower holds; of two at one place the one that is outside.
        let narrower = |ends: [Option<Bound>; 2], wanted: std::cmp::Ordering| {
            ends.into_iter().flatten().reduce(|one, other| {
                let order = format::compare(&other.value, &one.value);
                if order == wanted || order.is_eq() { other } else { one }
            })
        };
        let rules = NumberRules {
            minimum: narrower(lower, std::cmp::Ordering::Greater),
            maximum: narrower(upper, std::cmp::Ordering::Less),
        };
        if let (Some(minimum), Some(maximum)) = (&rules.minimum, &rules.maximum) {
            let order = format::compare(&minimum.value, &maximum.value);
            if order.is_gt() || (order.is_eq() && (minimum.exclusive || maximum.exclusive)) {
                return Err(self.impossible("the smallest number is larger than the largest"));
            }
        }
        Ok(rules)
    }

    fn bound(&mut self, schema: &Object, keyword: &'static str, exclusive: bool) -> Option<Bound> {
        match schema.get(keyword)? {
            Json::Number(value) => Some(Bound { value: value.clone(), exclusive }),
            Json::Null => None,
            Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => self.ignored(keyword),
        }
    }

    /// A length or a count: a whole number that is not negative.
    fn count(&mut self, schema: &Object, keyword: &'static str) -> Option<u64> {
        match schema.get(keyword)? {
            Json::Null => None,
            Json::Number(number) => format::whole(number).or_else(|| self.ignored(keyword)),
            Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => self.ignored(keyword),
        }
    }

    fn ignored<T>(&mut self, keyword: &'static str) -> Option<T> {
        self.notices.push(FormNotice::RuleIgnored { field: self.name.to_owned(), keyword });
        None
    }

    fn unsupported(&self, what: impl Into<String>) -> FormProblem {
        FormProblem::Unsupported { field: Some(self.name.to_owned()), what: folded(&what.into(), 200) }
    }

    fn impossible(&self, why: impl Into<String>) -> FormProblem {
        FormProblem::Impossible { field: self.name.to_owned(), why: why.into() }
    }
}

/// The schema without the `null` by which libraries say "may be left out": `["string", "null"]`, or a union of one
/// schema and `null`. Whether it may is said by `required` alone.
fn without_null(written: &Object) -> Object {
    let mut schema = written.clone();
    for keyword in ["anyOf", "oneOf"] {
        let Some(alternatives) = written.get(keyword).and_then(Json::as_array) else { continue };
        let rest: Vec<&Json> = alternatives.iter().filter(|one| one.text("type") != Some("null")).collect();
        if let [Json::Object(only)] = rest.as_slice()
            && alternatives.len() == 2
        {
            schema.shift_remove(keyword);
            for (key, value) in only {
                schema.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
    }
    if let Some(Json::Array(kinds)) = schema.get("type") {
        let rest: Vec<&Json> = kinds.iter().filter(|kind| kind.as_str() != Some("null")).collect();
        if let [only] = rest.as_slice() {
            let only = (*only).clone();
            schema.insert("type".to_owned(), only);
        }
    }
    schema
}

/// `{"const": …, "title": …}`.
fn constant(alternative: &Json) -> Option<(&Json, Option<&str>)> {
    Some((alternative.get("const")?, alternative.text("title")))
}

fn fits_type(value: &Json, kind: Option<&str>) -> bool {
    match kind {
        Some("string") => matches!(value, Json::String(_)),
        Some("number") => matches!(value, Json::Number(_)),
        Some("integer") => matches!(value, Json::Number(number) if is_whole(number)),
        Some("boolean") => matches!(value, Json::Bool(_)),
        _ => true,
    }
}
