//! Owns whether an answer fits its field, and the sentence that helps when it does not.

use std::fmt;

use helve_model::json::RawJson;
use serde_json::{Map, Number, Value};

use super::format::{compare, is_whole, matches_pattern};
use super::{Bound, Choice, Field, FieldKind, Form, NumberRules, TextRules};
use helve_model::text::nearest;
use helve_model::text::{SHOWN_CHARACTERS, alternatives, counted, folded, named, quoted};
use helve_render::schema::json::{Json, Object};

/// Problems told about one set of answers.
pub const MAX_FIELD_PROBLEMS: usize = 200;
/// Choices and names shown in a sentence.
const SHOWN_NAMES: usize = 12;

/// What is wrong with one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldProblem {
    /// The name of the field, or the name that is none.
    pub field: String,
    /// What kind of problem it is.
    pub kind: FieldProblemKind,
    /// What is wrong and what would fit.
    pub message: String,
}

/// What kind of problem an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldProblemKind {
    /// The form has no such field.
    Unknown,
    /// The field must be answered and is not.
    Missing,
    /// The answer does not fit.
    Invalid,
}

impl Form {
    /// Reads one typed answer.
    ///
    /// Numbers, booleans, choices and formatted texts are taken without the space around them, other texts as they are.
    /// A choice is taken by its value or its title, in any case. Several choices are written with commas between them,
    /// or as a JSON list.
    ///
    /// # Errors
    /// A sentence that says what would fit.
    pub fn check_field(&self, name: &str, text: &str) -> Result<Value, String> {
        match self.field(name) {
            Some(field) => check_text(field, text),
            None => Err(self.unknown(name).message),
        }
    }

    /// Checks answers as a whole: the content of an accepted elicitation, keys in the order of the form. A field
    /// answered `null` counts as left out.
    ///
    /// # Errors
    /// Every answer that does not fit, in the order of the form; unknown names last.
    pub fn check(&self, answers: &Map<String, Value>) -> Result<RawJson, Vec<FieldProblem>> {
        let mut content = Object::new();
        let mut problems = Vec::new();
        for field in &self.fields {
            let invalid = |message| FieldProblem::new(&field.name, FieldProblemKind::Invalid, message);
            match answers.get(&field.name).filter(|answer| !answer.is_null()) {
                Some(answer) => match check_value(field, answer) {
                    Ok(answer) => drop(content.insert(field.name.clone(), plain(answer))),
                    Err(message) => problems.push(invalid(message)),
                },
                None if field.required => problems.push(missing(field)),
                None => {}
            }
        }
        let strangers = answers.keys().filter(|name| self.field(name).is_none());
        let room = MAX_FIELD_PROBLEMS.saturating_sub(problems.len());
        problems.extend(strangers.take(room).map(|name| self.unknown(name)));
        if problems.is_empty() { Ok(RawJson::assembled(Json::Object(content).to_text())) } else { Err(problems) }
    }

    /// Reads answers given as words, `key=value` already split. Fields that take several choices may be named several
    /// times. What is not named stays open: see [`Form::fill_defaults`] and [`Form::check`].
    ///
    /// # Errors
    /// Every word that does not fit. A word for another form is a problem of the kind [`FieldProblemKind::Unknown`].
    pub fn from_words<K: AsRef<str>, V: AsRef<str>>(
        &self,
        words: &[(K, V)],
    ) -> Result<Map<String, Value>, Vec<FieldProblem>> {
        let mut answers = Map::new();
        let mut problems = Vec::new();
        for (name, text) in words {
            if problems.len() >= MAX_FIELD_PROBLEMS {
                break;
            }
            let name = name.as_ref();
            let Some(field) = self.field(name) else {
                problems.push(self.unknown(name));
                continue;
            };
            let read = check_items(field, text.as_ref()).and_then(|value| join(&mut answers, field, value));
            if let Err(message) = read {
                problems.push(FieldProblem::new(name, FieldProblemKind::Invalid, message));
            }
        }
        // How many were chosen is known at the end alone.
        for field in &self.fields {
            if let Some(Err(message)) = answers.get(&field.name).map(|answer| check_value(field, answer)) {
                problems.push(FieldProblem::new(&field.name, FieldProblemKind::Invalid, message));
            }
        }
        if problems.is_empty() { Ok(answers) } else { Err(problems) }
    }

    /// Gives every open field its default, if it has one.
    pub fn fill_defaults(&self, answers: &mut Map<String, Value>) {
        for field in &self.fields {
            if let Some(default) = &field.default {
                let answer = answers.entry(field.name.clone()).or_insert_with(|| default.clone());
                if answer.is_null() {
                    *answer = default.clone();
                }
            }
        }
    }

    fn unknown(&self, name: &str) -> FieldProblem {
        let names = || self.fields.iter().map(|field| field.name.as_str());
        let hint = match nearest(name, names()) {
            Some(meant) => format!("; did you mean {}?", named(meant)),
            None if self.fields.is_empty() => "; it has none".to_owned(),
            None => format!("; there is {}", list(names().map(named), self.fields.len())),
        };
        FieldProblem::new(name, FieldProblemKind::Unknown, format!("the form has no such field{hint}"))
    }
}

impl FieldProblem {
    fn new(field: &str, kind: FieldProblemKind, message: String) -> Self {
        Self { field: field.to_owned(), kind, message }
    }
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", named(&self.field), self.message)
    }
}

impl std::error::Error for FieldProblem {}

/// Whether a JSON value fits a field; the value as it is sent.
pub(super) fn check_value(field: &Field, answer: &Value) -> Result<Value, String> {
    let fits = match (&field.kind, answer) {
        (FieldKind::Text(rules), Value::String(text)) => check_text_rules(rules, text),
        (FieldKind::Number(rules), Value::Number(number)) => check_number_rules(rules, number, "a number"),
        (FieldKind::Integer(rules), Value::Number(number)) if is_whole(number) => {
            check_number_rules(rules, number, "a whole number")
        }
        (FieldKind::Boolean, Value::Bool(_)) => Ok(()),
        (FieldKind::Choice(choices), answer) if !answer.is_array() && !answer.is_object() => {
            known_choice(choices, answer)
        }
        (FieldKind::Choices { choices, minimum, maximum }, Value::Array(chosen)) => {
            chosen.iter().try_for_each(|value| known_choice(choices, value))?;
            check_count(chosen.len(), *minimum, *maximum)
        }
        (FieldKind::Boolean, other) => Err(format!("expected true or false, got {}", shown(other))),
        (kind, other) => Err(format!("expected {}, got {}", expectation(kind), shown(other))),
    };
    fits.map(|()| answer.clone())
}

/// One typed answer, checked.
fn check_text(field: &Field, text: &str) -> Result<Value, String> {
    let value = check_items(field, text)?;
    check_value(field, &value)
}

/// One typed answer, or, for a field of several choices, some of its items.
fn check_items(field: &Field, text: &str) -> Result<Value, String> {
    let trimmed = text.trim();
    match &field.kind {
        FieldKind::Text(TextRules { format: Some(format), .. }) if format.expectation().is_some() => {
            Ok(Value::from(trimmed))
        }
        FieldKind::Text(_) => Ok(Value::from(text)),
        FieldKind::Number(_) => read_number(trimmed).map(Value::Number),
        FieldKind::Integer(_) => read_integer(trimmed).map(Value::Number),
        FieldKind::Boolean => match trimmed.to_lowercase().as_str() {
            "true" | "yes" | "y" | "on" | "1" => Ok(Value::Bool(true)),
            "false" | "no" | "n" | "off" | "0" => Ok(Value::Bool(false)),
            _ => Err(format!("expected yes or no, got {}", quoted(text, SHOWN_CHARACTERS))),
        },
        FieldKind::Choice(choices) => find_choice(choices, trimmed).map(|choice| choice.value.clone()),
        FieldKind::Choices { choices, .. } => read_choices(choices, trimmed).map(Value::Array),
    }
}

/// Puts a word's answer beside those that came before it.
fn join(answers: &mut Map<String, Value>, field: &Field, value: Value) -> Result<(), String> {
    match (answers.get_mut(&field.name), value) {
        (None, value) => drop(answers.insert(field.name.clone(), value)),
        (Some(Value::Array(chosen)), Value::Array(more)) => {
            for value in more {
                if !chosen.contains(&value) {
                    chosen.push(value);
                }
            }
        }
        (Some(_), _) => return Err("it is answered twice".to_owned()),
    }
    Ok(())
}

fn check_text_rules(rules: &TextRules, text: &str) -> Result<(), String> {
    let length = text.chars().count() as u64;
    let got = || if length == 0 { "nothing".to_owned() } else { quoted(text, SHOWN_CHARACTERS) };
    if let Some(format) = &rules.format
        && let Some(expectation) = format.expectation()
        && !format.fits(text)
    {
        return Err(format!("expected {expectation}, got {}", got()));
    }
    let characters = |limit: u64| counted(usize::try_from(limit).unwrap_or(usize::MAX), "character", "characters");
    if let Some(least) = rules.minimum_length.filter(|least| length < *least) {
        return Err(format!("expected at least {}, got {length}", characters(least)));
    }
    if let Some(most) = rules.maximum_length.filter(|most| length > *most) {
        return Err(format!("expected at most {}, got {length}", characters(most)));
    }
    match &rules.pattern {
        Some(pattern) if !matches_pattern(text, pattern) => {
            Err(format!("expected a text that matches {}, got {}", folded(pattern, 120), got()))
        }
        _ => Ok(()),
    }
}

fn check_number_rules(rules: &NumberRules, number: &Number, kind: &str) -> Result<(), String> {
    let below = |bound: &Bound| {
        let order = compare(number, &bound.value);
        order.is_lt() || (order.is_eq() && bound.exclusive)
    };
    let above = |bound: &Bound| {
        let order = compare(number, &bound.value);
        order.is_gt() || (order.is_eq() && bound.exclusive)
    };
    let outside = rules.minimum.as_ref().is_some_and(below) || rules.maximum.as_ref().is_some_and(above);
    if outside { Err(format!("expected {kind}{}, got {number}", range(rules))) } else { Ok(()) }
}

/// ` from 1 to 10`, ` of at least 1`, ` greater than 0`.
fn range(rules: &NumberRules) -> String {
    let lower = |bound: &Bound| match bound.exclusive {
        true => format!(" greater than {}", bound.value),
        false => format!(" of at least {}", bound.value),
    };
    let upper = |bound: &Bound| match bound.exclusive {
        true => format!(" less than {}", bound.value),
        false => format!(" of at most {}", bound.value),
    };
    match (&rules.minimum, &rules.maximum) {
        (Some(lowest), Some(highest)) if !lowest.exclusive && !highest.exclusive => {
            format!(" from {} to {}", lowest.value, highest.value)
        }
        (Some(lowest), Some(highest)) => format!("{} and{}", lower(lowest), upper(highest)),
        (Some(lowest), None) => lower(lowest),
        (None, Some(highest)) => upper(highest),
        (None, None) => String::new(),
    }
}

fn check_count(count: usize, minimum: usize, maximum: Option<usize>) -> Result<(), String> {
    let words = match maximum {
        Some(maximum) if minimum == maximum => format!("exactly {}", counted(minimum, "choice", "choices")),
        Some(maximum) if minimum > 0 => format!("{minimum} to {}", counted(maximum, "choice", "choices")),
        Some(maximum) => format!("at most {}", counted(maximum, "choice", "choices")),
        None => format!("at least {}", counted(minimum, "choice", "choices")),
    };
    if count < minimum || maximum.is_some_and(|maximum| count > maximum) {
        let got = if count == 0 { "none".to_owned() } else { count.to_string() };
        return Err(format!("expected {words}, got {got}"));
    }
    Ok(())
}

fn read_number(text: &str) -> Result<Number, String> {
    if let Ok(number) = read_integer(text) {
        return Ok(number);
    }
    let is_number = text.chars().all(|character| character.is_ascii_digit() || "+-.eE".contains(character));
    let number = text.parse::<f64>().ok().filter(|_| is_number).and_then(Number::from_f64);
    number.ok_or_else(|| {
        let hint = if text.contains(',') { "; write the decimals after a point" } else { "" };
        format!("expected a number, got {}{hint}", quoted(text, SHOWN_CHARACTERS))
    })
}

fn read_integer(text: &str) -> Result<Number, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_integer = !digits.is_empty() && digits.chars().all(|character| character.is_ascii_digit());
    if !is_integer {
        return Err(format!("expected a whole number, got {}", quoted(text, SHOWN_CHARACTERS)));
    }
    let number = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
    number.map_err(|_| format!("expected a whole number that fits 64 bits, got {}", folded(text, SHOWN_CHARACTERS)))
}

fn read_choices(choices: &[Choice], text: &str) -> Result<Vec<Value>, String> {
    let mut chosen: Vec<Value> = Vec::new();
    let mut choose = |text: &str| {
        let choice = find_choice(choices, text)?;
        if !chosen.contains(&choice.value) {
            chosen.push(choice.value.clone());
        }
        Ok::<_, String>(())
    };
    if text.is_empty() {
        return Ok(chosen);
    }
    // The whole text first: a choice may have a comma or a bracket in its name.
    if choose(text).is_ok() {
        return Ok(chosen);
    }
    if let Ok(Value::Array(items)) = serde_json::from_str(text) {
        items.iter().try_for_each(|item| choose(&plain_text(item)))?;
    } else {
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).try_for_each(choose)?;
    }
    Ok(chosen)
}

/// The choice a text names: by value, then by title, then by either in any case; two are one too many.
fn find_choice<'a>(choices: &'a [Choice], text: &str) -> Result<&'a Choice, String> {
    let title = |choice: &Choice| choice.title.clone().unwrap_or_default();
    if let Some(choice) = choices.iter().find(|choice| choice.value_text() == text) {
        return Ok(choice);
    }
    let folded = text.to_lowercase();
    let titled: Vec<&Choice> = choices.iter().filter(|choice| !text.is_empty() && title(choice) == text).collect();
    let similar = |choice: &&Choice| {
        choice.value_text().to_lowercase() == folded || (!text.is_empty() && title(choice).to_lowercase() == folded)
    };
    let found = if titled.is_empty() { choices.iter().filter(similar).collect() } else { titled };
    match found.as_slice() {
        [only] => Ok(only),
        [] => Err(no_choice(choices, text)),
        several => {
            let values: Vec<String> =
                several.iter().take(SHOWN_NAMES).map(|choice| quoted(&choice.value_text(), SHOWN_CHARACTERS)).collect();
            Err(format!("{} names several choices; write {}", quoted(text, SHOWN_CHARACTERS), alternatives(&values)))
        }
    }
}

fn known_choice(choices: &[Choice], answer: &Value) -> Result<(), String> {
    let same = |choice: &Choice| match (&choice.value, answer) {
        (Value::Number(one), Value::Number(other)) => compare(one, other).is_eq(),
        (one, other) => one == other,
    };
    if choices.iter().any(same) { Ok(()) } else { Err(no_choice(choices, &plain_text(answer))) }
}

fn no_choice(choices: &[Choice], text: &str) -> String {
    let names: Vec<String> = choices.iter().flat_map(|choice| [choice.value_text(), choice.label()]).collect();
    let hint = nearest(text, names.iter().map(String::as_str));
    let hint = hint.map(|meant| format!("; did you mean {}?", folded(meant, SHOWN_CHARACTERS))).unwrap_or_default();
    let got = if text.is_empty() { "nothing".to_owned() } else { quoted(text, SHOWN_CHARACTERS) };
    format!("expected {}, got {got}{hint}", list(choices.iter().map(Choice::label), choices.len()))
}

fn missing(field: &Field) -> FieldProblem {
    let message = format!("an answer is required: {}", expectation(&field.kind));
    FieldProblem::new(&field.name, FieldProblemKind::Missing, message)
}

/// What a field wants, in a few words.
fn expectation(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Text(rules) => {
            rules.format.as_ref().and_then(|format| format.expectation()).unwrap_or("a text").to_owned()
        }
        FieldKind::Number(rules) => format!("a number{}", range(rules)),
        FieldKind::Integer(rules) => format!("a whole number{}", range(rules)),
        FieldKind::Boolean => "yes or no".to_owned(),
        FieldKind::Choice(choices) => list(choices.iter().map(Choice::label), choices.len()),
        FieldKind::Choices { choices, .. } => {
            format!("a list of {}", list(choices.iter().map(Choice::label), choices.len()))
        }
    }
}

/// Some names of many, in one sentence.
fn list(names: impl Iterator<Item = String>, count: usize) -> String {
    let mut shown: Vec<String> = names.take(SHOWN_NAMES).map(|name| folded(&name, SHOWN_CHARACTERS)).collect();
    if count > SHOWN_NAMES {
        shown.push(format!("{} more", count - SHOWN_NAMES));
    }
    alternatives(&shown)
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text, SHOWN_CHARACTERS),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Answers are scalars or lists of them.
fn plain(answer: Value) -> Json {
    match answer {
        Value::Bool(yes) => Json::Bool(yes),
        Value::Number(number) => Json::Number(number),
        Value::String(text) => Json::String(text),
        Value::Array(items) => Json::Array(items.into_iter().map(plain).collect()),
        Value::Null | Value::Object(_) => Json::Null,
    }
}
