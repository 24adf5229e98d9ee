//! Owns what happens when a tool's structured result does not fit the schema the tool promised.

use std::fmt;

use helve_render::schema::json::{self, Caps, RepeatedKeys};
use helve_render::{ArgumentLimits, MAX_ARGUMENT_DEPTH};

use crate::validate::{ArgumentVerdict, InvalidArguments, LazyValidator, Unvalidated, Violation};

/// Bytes of a structured result that are checked.
pub const MAX_CHECKED_RESULT_BYTES: usize = 4 * 1024 * 1024;
/// Values of a structured result that are checked.
pub const MAX_CHECKED_RESULT_VALUES: usize = 200_000;

/// How strictly results are held to their schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputCheck {
    /// Not at all.
    Off,
    /// The result goes on, with a warning.
    #[default]
    Warn,
    /// The result is an error.
    Enforce,
}

/// What comes of checking a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputVerdict {
    /// It fits, or is not checked.
    Accepted,
    /// It goes on; the person should know this.
    Warned(OutputProblem),
    /// It must not go on.
    Rejected(OutputProblem),
}

/// Why a result is not what was promised, or why that cannot be told.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputProblem {
    /// The tool has an output schema, and its result no `structuredContent`.
    Missing,
    /// It does not fit.
    Misfit(Vec<Violation>),
    /// It cannot be checked; this never rejects a result.
    Unchecked(String),
}

impl fmt::Display for OutputProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("the tool promises a structured result and gave none"),
            Self::Misfit(violations) => {
                f.write_str("the structured result does not fit the tool's output schema")?;
                violations.iter().try_for_each(|violation| write!(f, "\n  {violation}"))
            }
            Self::Unchecked(reason) => write!(f, "the structured result is not checked: {reason}"),
        }
    }
}

impl std::error::Error for OutputProblem {}

/// Checks the `structuredContent` of a successful result against the tool's `outputSchema`. A result that is an error
/// needs none: do not ask.
pub fn check_output<S: AsRef<str>>(
    validator: &LazyValidator<S>,
    structured_content: Option<&str>,
    check: OutputCheck,
) -> OutputVerdict {
    if check == OutputCheck::Off {
        return OutputVerdict::Accepted;
    }
    let problem = match structured_content {
        None => Some(OutputProblem::Missing),
        Some(content) => examine(validator, content),
    };
    match problem {
        None => OutputVerdict::Accepted,
        Some(problem @ OutputProblem::Unchecked(_)) => OutputVerdict::Warned(problem),
        Some(problem) if check == OutputCheck::Enforce => OutputVerdict::Rejected(problem),
        Some(problem) => OutputVerdict::Warned(problem),
    }
}

fn examine<S: AsRef<str>>(validator: &LazyValidator<S>, content: &str) -> Option<OutputProblem> {
    let limits = ArgumentLimits {
        bytes: MAX_CHECKED_RESULT_BYTES,
        depth: MAX_ARGUMENT_DEPTH,
        values: MAX_CHECKED_RESULT_VALUES,
    };
    if validator.fits_plainly(content, limits) {
        return None;
    }
    // What a server sends is shown as it is; here it is only looked at.
    let caps = Caps { repeated_keys: RepeatedKeys::LastWins, ..limits.caps() };
    let (value, shape) = match json::parse_value(content, caps) {
        Ok(read) => read,
        Err(problem) => return Some(OutputProblem::Unchecked(problem.to_string())),
    };
    match validator.check_value("", &value, shape.depth) {
        ArgumentVerdict::Valid => None,
        ArgumentVerdict::Invalid(InvalidArguments { violations, .. }) => Some(OutputProblem::Misfit(violations)),
        ArgumentVerdict::Unvalidated(Unvalidated::InvalidSchema(detail)) => {
            Some(OutputProblem::Unchecked(format!("its schema is not valid ({detail})")))
        }
        ArgumentVerdict::Unvalidated(Unvalidated::OverBudget(excess)) => {
            Some(OutputProblem::Unchecked(excess.to_string()))
        }
        ArgumentVerdict::Refused(refusal) => Some(OutputProblem::Unchecked(refusal.to_string())),
    }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
