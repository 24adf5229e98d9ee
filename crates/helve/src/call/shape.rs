//! What becomes of a result: checked against the tool's promise.

use helve_model::Outcome;
use helve_schema::{OutputCheck, OutputVerdict, check_output};

use crate::catalog::ToolEntry;

/// What is wrong with a structured result, when the tool promised a form.
pub(super) fn broken_promise(tool: &ToolEntry, outcome: &Outcome) -> Option<String> {
    let validator = tool.output_validator()?;
    if outcome.is_error() {
        return None;
    }
    let structured = outcome.raw().member("structuredContent");
    match check_output(validator, structured.as_ref().map(helve_model::json::RawJson::as_str), OutputCheck::Warn) {
        OutputVerdict::Accepted => None,
        OutputVerdict::Warned(problem) | OutputVerdict::Rejected(problem) => Some(problem.to_string()),
    }
}
