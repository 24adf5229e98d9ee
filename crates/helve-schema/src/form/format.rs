//! Owns when a text is written as its format or pattern says, and how numbers of any spelling compare.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::TextFormat;
use crate::validate::{ArgumentVerdict, LazyValidator};

impl TextFormat {
    /// What to write, with an example; nothing for a format that is not checked.
    pub(super) fn expectation(&self) -> Option<&'static str> {
        match self {
            Self::Email => Some("an email address like name@example.com"),
            Self::Uri => Some("a URI like https://example.com"),
            Self::Date => Some("a date like 2025-01-31"),
            Self::DateTime => Some("a date and time like 2025-01-31T12:00:00Z"),
            Self::Other(_) => None,
        }
    }

    pub(super) fn fits(&self, text: &str) -> bool {
        let name = match self {
            Self::Email => "email",
            Self::Uri => "uri",
            Self::Date => "date",
            Self::DateTime => "date-time",
            Self::Other(_) => return true,
        };
        let validator = jsonschema::options().should_validate_formats(true).build(&rule("format", name));
        validator.is_ok_and(|validator| validator.is_valid(&Value::from(text)))
    }
}

/// Whether the linear engine knows the pattern: it has no look-around and no back-references.
pub(super) fn pattern_is_supported(pattern: &str) -> bool {
    let validator = pattern_validator(pattern);
    validator.unvalidated().is_none() && validator.notices().is_empty()
}

/// Whether a text matches a pattern that is supported.
pub(super) fn matches_pattern(text: &str, pattern: &str) -> bool {
    !matches!(pattern_validator(pattern).check_value("", &Value::from(text), 0), ArgumentVerdict::Invalid(_))
}

/// A length or a count: a whole number that is not negative, `3.0` included.
pub(super) fn whole(number: &Number) -> Option<u64> {
    exact(number).and_then(|number| u64::try_from(number).ok())
}

/// Whether a number is a whole one, however it is spelled and however large.
pub(super) fn is_whole(number: &Number) -> bool {
    number.as_i128().is_some() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// The order of two numbers; whole numbers are compared exactly, however large.
pub(super) fn compare(one: &Number, other: &Number) -> Ordering {
    if let (Some(one), Some(other)) = (exact(one), exact(other)) {
        return one.cmp(&other);
    }
    // JSON has no numbers without an order.
    let float = |number: &Number| number.as_f64().unwrap_or_default();
    float(one).total_cmp(&float(other))
}

/// The number as a whole number, if it is one.
fn exact(number: &Number) -> Option<i128> {
    /// Past this, no whole number that a form can hold is left to compare with.
    const LARGEST: f64 = 1e30;
    if let Some(number) = number.as_i128() {
        return Some(number);
    }
    let float = number.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "a whole number within the range of the target")]
    (float.fract() == 0.0 && float.abs() < LARGEST).then_some(float as i128)
}

fn pattern_validator(pattern: &str) -> LazyValidator<String> {
    LazyValidator::new(rule("pattern", pattern).to_string())
}

fn rule(keyword: &str, value: &str) -> Value {
    Value::Object(Map::from_iter([(keyword.to_owned(), Value::from(value))]))
}
