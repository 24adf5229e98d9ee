//! Owns what a server may ask a person by a form: which fields a form has, in the order they were written, and what a
//! terminal needs to ask for each of them.
//!
//! The protocol allows flat objects of a few field kinds. A schema beyond that is a typed [`FormProblem`], so that a
//! host can decline and say why; nothing of a form is guessed.

mod check;
mod elicitation;
mod format;
mod read;
mod secret;
mod url_request;

use std::fmt;

use serde_json::{Number, Value};

pub use check::{FieldProblem, FieldProblemKind, MAX_FIELD_PROBLEMS};
pub use elicitation::{Elicitation, ElicitationProblem, FormRequest, MAX_ELICITATION_BYTES};
pub use read::{MAX_FORM_BYTES, MAX_FORM_CHOICES, MAX_FORM_FIELDS};
pub use url_request::{MAX_URL_BYTES, UrlProblem, UrlRequest, UrlWarning};

use helve_model::text::{SHOWN_CHARACTERS, folded, named, quoted};
use helve_render::schema::json::JsonProblem;

/// Characters of a title shown beside a question.
const LABEL_CHARACTERS: usize = 120;
/// Characters of a description shown beside a question.
const HELP_CHARACTERS: usize = 500;
/// Characters of a default shown beside a question.
const DEFAULT_CHARACTERS: usize = 200;

/// A form: the fields to ask for, in order. It may have none, and then asks for a yes alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    fields: Vec<Field>,
    notices: Vec<FormNotice>,
}

/// One field of a form.
///
/// The texts are the server's own; what is shown comes from [`Field::label`], [`Field::help`] and
/// [`Field::default_shown`], where nothing hidden is left.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Field {
    /// The key of the answer.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What to answer.
    pub description: Option<String>,
    /// What kind of answer fits.
    pub kind: FieldKind,
    /// Must be answered.
    pub required: bool,
    /// What the server proposes; it fits the field.
    pub default: Option<Value>,
}

/// What kind of answer a field takes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FieldKind {
    /// A text.
    Text(TextRules),
    /// A number.
    Number(NumberRules),
    /// A whole number.
    Integer(NumberRules),
    /// Yes or no.
    Boolean,
    /// One of these.
    Choice(Vec<Choice>),
    /// Some of these.
    Choices {
        /// What there is to choose from.
        choices: Vec<Choice>,
        /// How many must be chosen.
        minimum: usize,
        /// How many may be chosen.
        maximum: Option<usize>,
    },
}

/// What holds for a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextRules {
    /// What it is written like.
    pub format: Option<TextFormat>,
    /// Fewest characters.
    pub minimum_length: Option<u64>,
    /// Most characters.
    pub maximum_length: Option<u64>,
    /// A regular expression it matches.
    pub pattern: Option<String>,
}

/// What a text is written like.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextFormat {
    /// An email address.
    Email,
    /// A URI with a scheme.
    Uri,
    /// A day, as in 2025-01-31.
    Date,
    /// A moment, as in 2025-01-31T12:00:00Z.
    DateTime,
    /// A format the protocol does not have: shown, never checked.
    Other(String),
}

/// What holds for a number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NumberRules {
    /// The lower end.
    pub minimum: Option<Bound>,
    /// The upper end.
    pub maximum: Option<Bound>,
}

/// One end of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bound {
    /// Where it is.
    pub value: Number,
    /// Whether the end itself is outside.
    pub exclusive: bool,
}

/// One thing to choose.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Choice {
    /// What is sent: a text, in rare forms a number or a boolean.
    pub value: Value,
    /// A name for people.
    pub title: Option<String>,
}

/// What comes of a question that is left empty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LeftEmpty<'a> {
    /// The default is taken.
    Default(&'a Value),
    /// The field is left out.
    Omitted,
    /// It has to be asked again.
    NeedsAnswer,
}

/// Why a schema is not a form that can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormProblem {
    /// The schema is not JSON, or too large to be looked at.
    Json(JsonProblem),
    /// The schema is not that of an object.
    NotAnObject,
    /// There are more fields than anybody would fill in.
    TooManyFields {
        /// How many.
        count: usize,
        /// The cap.
        limit: usize,
    },
    /// A field has more choices than anybody would look through.
    TooManyChoices {
        /// The field.
        field: String,
        /// How many.
        count: usize,
        /// The cap.
        limit: usize,
    },
    /// The schema uses something that forms do not have.
    Unsupported {
        /// The field, or nothing if it is the form itself.
        field: Option<String>,
        /// What it uses, in words.
        what: String,
    },
    /// A field that no answer can fit.
    Impossible {
        /// The field.
        field: String,
        /// Why.
        why: String,
    },
    /// `required` names a field that the form does not have.
    RequiredUnknown(String),
}

/// Something about a form that is used nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormNotice {
    /// The pattern is not checked: the linear engine does not know it, or it is too large.
    UncheckedPattern {
        /// The field.
        field: String,
        /// The pattern.
        pattern: String,
    },
    /// The proposed answer does not fit its own field and is left out.
    DefaultLeftOut {
        /// The field.
        field: String,
        /// Why it does not fit.
        why: String,
    },
    /// A rule is not written as rules are, and is not checked.
    RuleIgnored {
        /// The field.
        field: String,
        /// The keyword.
        keyword: &'static str,
    },
}

impl Form {
    /// Reads the `requestedSchema` of an elicitation.
    ///
    /// ```
    /// let form = helve_schema::Form::read(
    ///     r#"{"type": "object", "required": ["age"], "properties": {
    ///         "age": {"type": "integer", "title": "Your age", "minimum": 18},
    ///         "plan": {"type": "string", "enum": ["f", "p"], "enumNames": ["Free", "Paid"], "default": "f"}}}"#,
    /// )?;
    /// assert_eq!(form.fields()[0].label(), "Your age");
    /// assert_eq!(form.check_field("age", "17"), Err("expected a whole number of at least 18, got 17".to_owned()));
    ///
    /// let mut answers = form.from_words(&[("age", "30")]).unwrap();
    /// form.fill_defaults(&mut answers);
    /// assert_eq!(form.check(&answers).unwrap().as_str(), r#"{"age":30,"plan":"f"}"#);
    /// # Ok::<(), helve_schema::FormProblem>(())
    /// ```
    ///
    /// # Errors
    /// When the schema is not a form as the protocol has them, in any of its revisions.
    pub fn read(requested_schema: &str) -> Result<Self, FormProblem> {
        read::read(requested_schema)
    }

    /// The fields, in the order of the schema.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// A field by its name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// What a person may want to know about the form itself.
    pub fn notices(&self) -> &[FormNotice] {
        &self.notices
    }
}

impl Field {
    /// The question in a few words: the title, or the name.
    pub fn label(&self) -> String {
        folded(self.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or(&self.name), LABEL_CHARACTERS)
    }

    /// What the server says about the answer, in one line.
    pub fn help(&self) -> Option<String> {
        let help = folded(self.description.as_deref()?, HELP_CHARACTERS);
        (!help.is_empty()).then_some(help)
    }

    /// The default as a person reads it: titles of choices, yes and no.
    pub fn default_shown(&self) -> Option<String> {
        let default = self.default.as_ref()?;
        let label = |value: &Value| match self.choices().iter().find(|choice| choice.value == *value) {
            Some(choice) => choice.label(),
            None => shown(value),
        };
        let text = match default {
            Value::Array(chosen) => chosen.iter().map(label).collect::<Vec<_>>().join(", "),
            Value::Bool(yes) if self.kind == FieldKind::Boolean => if *yes { "yes" } else { "no" }.to_owned(),
            other => label(other),
        };
        Some(folded(&text, DEFAULT_CHARACTERS))
    }

    /// What there is to choose from; empty for fields without choices.
    pub fn choices(&self) -> &[Choice] {
        match &self.kind {
            FieldKind::Choice(choices) | FieldKind::Choices { choices, .. } => choices,
            FieldKind::Text(_) | FieldKind::Number(_) | FieldKind::Integer(_) | FieldKind::Boolean => &[],
        }
    }

    /// What comes of it when the person just goes on.
    pub fn left_empty(&self) -> LeftEmpty<'_> {
        match &self.default {
            Some(default) => LeftEmpty::Default(default),
            None if self.required => LeftEmpty::NeedsAnswer,
            None => LeftEmpty::Omitted,
        }
    }

    /// The kind of secret this field seems to ask for. The protocol forbids asking for secrets by a form, so whoever
    /// shows the form should warn. A guess from the words of the field: neither sure nor complete.
    pub fn looks_like_secret(&self) -> Option<&'static str> {
        secret::looks_like_secret(self)
    }
}

impl Choice {
    /// The choice as a person reads it: its title, or its value.
    pub fn label(&self) -> String {
        match self.title.as_deref().filter(|title| !title.trim().is_empty()) {
            Some(title) => folded(title, LABEL_CHARACTERS),
            None => shown(&self.value),
        }
    }

    /// The value as it is typed.
    pub fn value_text(&self) -> String {
        self.value.as_str().map_or_else(|| self.value.to_string(), str::to_owned)
    }
}

impl fmt::Display for FormProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(problem) => write!(f, "the form cannot be read: {problem}"),
            Self::NotAnObject => f.write_str("the form cannot be read: its schema is not that of an object"),
            Self::TooManyFields { count, limit } => write!(f, "the form has {count} fields, the limit is {limit}"),
            Self::TooManyChoices { field, count, limit } => {
                write!(f, "the field {} has {count} choices, the limit is {limit}", named(field))
            }
            Self::Unsupported { field: Some(field), what } => {
                write!(f, "the field {} cannot be shown in a form: {what}", named(field))
            }
            Self::Unsupported { field: None, what } => write!(f, "the form cannot be shown: {what}"),
            Self::Impossible { field, why } => write!(f, "no answer can fit the field {}: {why}", named(field)),
            Self::RequiredUnknown(name) => {
                write!(f, "the form requires {}, which is not one of its fields", named(name))
            }
        }
    }
}

impl std::error::Error for FormProblem {}

impl fmt::Display for FormNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UncheckedPattern { field, pattern } => {
                write!(f, "{}: the pattern {} is not checked", named(field), quoted(pattern, SHOWN_CHARACTERS))
            }
            Self::DefaultLeftOut { field, why } => write!(f, "{}: the default is left out: {why}", named(field)),
            Self::RuleIgnored { field, keyword } => {
                write!(f, "{}: `{keyword}` is not written as it should be and is not checked", named(field))
            }
        }
    }
}

/// A scalar as a person reads it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => folded(text, LABEL_CHARACTERS),
        other => folded(&other.to_string(), LABEL_CHARACTERS),
    }
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
