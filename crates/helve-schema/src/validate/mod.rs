//! Owns the answer to "do these arguments fit this tool?": compiled at the first question, bounded in every direction,
//! and typed where there is no answer.

mod budget;
mod compile;
mod explain;
mod meter;
mod pattern;
mod plain;

use std::fmt;
use std::sync::OnceLock;

use serde_json::Value;

pub use budget::{
    Excess, MAX_EMBEDDED_RESOURCES, MAX_ENUM_VALUES, MAX_EXPANDED_SUBSCHEMAS, MAX_NESTED_SUBSCHEMAS, MAX_SUBSCHEMAS,
};
use compile::{Checker, Compiled, State};
pub use explain::{InvalidArguments, MAX_VIOLATIONS, Violation};
use meter::{CHECK_LOOKS, Look, metered};
pub(crate) use pattern::affordable as affordable_patterns;
pub use pattern::{MAX_PATTERN_ATOMS, MAX_PATTERN_ATOMS_IN_SCHEMA};
use plain::Plain;

use helve_model::text::{SHOWN_CHARACTERS, quoted};
use helve_render::ArgumentLimits;
use helve_render::schema::json::{self, JsonProblem};

/// Schemas that may be open at once while arguments are checked: each holds a piece of the stack.
const MAX_FRAMES: u64 = 1_200;

/// The validator of one tool. Making one costs nothing: the schema is read at the first check, once.
///
/// `S` is how the schema's text is kept: anything that can be seen as a string, so a shared buffer need not be copied.
#[derive(Debug)]
pub struct LazyValidator<S = Box<str>> {
    schema: S,
    read: OnceLock<Box<Read>>,
}

/// A schema after the first question about it.
#[derive(Debug)]
struct Read {
    /// The short way to a yes, for schemas of plain keywords.
    plain: Option<Plain>,
    /// Compiled for what the short way does not answer: most tools never need it, and it costs a thousand times as much.
    compiled: OnceLock<Compiled>,
}

/// Whether the arguments of a call fit its tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentVerdict {
    /// They do.
    Valid,
    /// They do not, and this is why.
    Invalid(InvalidArguments),
    /// It cannot be told. The call may go on; the reason is a warning for the person.
    Unvalidated(Unvalidated),
    /// It cannot be told, and the call must not go on.
    Refused(CheckRefusal),
}

/// Why arguments are not checked though the call may go on. The tool is the server's own: a schema that is broken or
/// beyond measure harms its server, and refusing it would only take the tool from the person.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unvalidated {
    /// The server's schema is not a valid schema; what is wrong with it.
    InvalidSchema(String),
    /// The schema, or the schema with these arguments, is beyond the budget.
    OverBudget(Excess),
}

/// Why a call must not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckRefusal {
    /// The schema needs another document. The protocol forbids fetching it and asks not to wave the call through.
    ExternalReference(String),
    /// The arguments are too large, too deep, or say one thing twice.
    Arguments(JsonProblem),
}

/// What a person should know about a schema that is used nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaNotice {
    /// A pattern is not checked: the linear engine does not know look-around and back-references, or it is too large.
    UnvalidatedPattern {
        /// The schema that has the pattern.
        pointer: String,
        /// The pattern.
        pattern: String,
    },
    /// `$schema` names an unknown dialect; the schema is read as 2020-12.
    UnknownDialect(String),
    /// No `$schema`, not valid as 2020-12, but valid as this older draft.
    OlderDraft(&'static str),
}

impl<S: AsRef<str>> LazyValidator<S> {
    /// Keeps the schema for later.
    pub fn new(schema: S) -> Self {
        Self { schema, read: OnceLock::new() }
    }

    /// The text of the schema.
    pub fn schema(&self) -> &str {
        self.schema.as_ref()
    }

    /// Whether anybody has asked for the schema to be read.
    pub fn is_read(&self) -> bool {
        self.read.get().is_some()
    }

    /// Checks the arguments of a call, given as JSON text. `tool` is the name to show.
    pub fn check(&self, tool: &str, arguments: &str, limits: ArgumentLimits) -> ArgumentVerdict {
        if self.fits_plainly(arguments, limits) {
            ArgumentVerdict::Valid
        } else {
            self.check_whole(tool, arguments, limits)
        }
    }

    /// True when `arguments` is certainly an object that fits; false says nothing.
    pub(crate) fn fits_plainly(&self, arguments: &str, limits: ArgumentLimits) -> bool {
        let Some(plain) = &self.read().plain else { return false };
        let is_valid = plain.is_sound() || matches!(self.compiled().state, State::Ready(_));
        is_valid && plain.accepts(arguments, limits)
    }

    /// The same by the whole validator, whose word counts.
    fn check_whole(&self, tool: &str, arguments: &str, limits: ArgumentLimits) -> ArgumentVerdict {
        let caps = limits.caps();
        let (value, shape) = match json::parse_value(arguments, caps) {
            Ok(read) => read,
            Err(problem @ JsonProblem::Syntax(_)) => return self.misfit(tool, Violation::not_json(&problem)),
            Err(problem) => return ArgumentVerdict::Refused(CheckRefusal::Arguments(problem)),
        };
        if !value.is_object() {
            return self.misfit(tool, Violation::not_an_object(&value));
        }
        self.check_value(tool, &value, shape.depth)
    }

    /// Checks any JSON value; for results, which need not be objects.
    pub(crate) fn check_value(&self, tool: &str, value: &Value, depth: usize) -> ArgumentVerdict {
        match &self.compiled().state {
            State::Ready(checker) => checker.check(tool, self.schema(), value, depth),
            State::Unvalidated(reason) => ArgumentVerdict::Unvalidated(reason.clone()),
            State::Refused(reason) => ArgumentVerdict::Refused(reason.clone()),
        }
    }

    /// Compiles the schema if that has not happened, and tells what a person should know about it.
    pub fn notices(&self) -> &[SchemaNotice] {
        &self.compiled().notices
    }

    /// Compiles the schema if that has not happened; why no call of this tool is checked, if so.
    pub fn unvalidated(&self) -> Option<&Unvalidated> {
        if let State::Unvalidated(reason) = &self.compiled().state { Some(reason) } else { None }
    }

    fn read(&self) -> &Read {
        self.read.get_or_init(|| Box::new(Read { plain: Plain::read(self.schema()), compiled: OnceLock::new() }))
    }

    fn compiled(&self) -> &Compiled {
        self.read().compiled.get_or_init(|| compile::compile(self.schema()))
    }

    fn misfit(&self, tool: &str, violation: Violation) -> ArgumentVerdict {
        ArgumentVerdict::Invalid(InvalidArguments::of_one(tool, self.schema(), violation))
    }
}

impl Checker {
    fn check(&self, tool: &str, schema: &str, value: &Value, depth: usize) -> ArgumentVerdict {
        let levels = if self.counts.recursive { depth as u64 + 1 } else { 1 };
        if u64::from(self.counts.nested) * levels > MAX_FRAMES {
            return ArgumentVerdict::Unvalidated(Unvalidated::OverBudget(Excess::Frames));
        }
        let (valid, sufficed) = metered(CHECK_LOOKS, self.weight, || self.validator.is_valid(Look(value)));
        match (sufficed, valid) {
            (false, _) => ArgumentVerdict::Unvalidated(Unvalidated::OverBudget(Excess::Looks)),
            (true, true) => ArgumentVerdict::Valid,
            (true, false) => ArgumentVerdict::Invalid(explain::explain(self, tool, schema, value, levels)),
        }
    }
}

impl fmt::Display for Unvalidated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidSchema(detail) => {
                write!(f, "arguments not checked: the server's schema is not valid ({detail})")
            }
            Self::OverBudget(excess) => write!(f, "arguments not checked: {excess}"),
        }
    }
}

impl fmt::Display for CheckRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExternalReference(reference) => write!(
                f,
                "the tool's schema refers to {}, which is not part of it; schemas are never fetched, so nothing can be \
                 checked by it",
                quoted(reference, SHOWN_CHARACTERS)
            ),
            Self::Arguments(problem) => write!(f, "arguments not accepted: {problem}"),
        }
    }
}

impl std::error::Error for CheckRefusal {}

impl fmt::Display for SchemaNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnvalidatedPattern { pointer, pattern } => {
                let place = if pointer.is_empty() { "the schema" } else { pointer };
                write!(f, "pattern {} of {place} is not checked", quoted(pattern, SHOWN_CHARACTERS))
            }
            Self::UnknownDialect(name) => {
                write!(f, "unknown schema dialect {}, read as 2020-12", quoted(name, SHOWN_CHARACTERS))
            }
            Self::OlderDraft(draft) => write!(f, "not valid as JSON Schema 2020-12, read as {draft}"),
        }
    }
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
