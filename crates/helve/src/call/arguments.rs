//! Do the arguments fit the tool's schema?

use helve_model::ErrorCode;
use helve_model::json::RawJson;
use helve_schema::{ArgumentLimits, Verdict};

use crate::catalog::ToolEntry;
use crate::error::CallError;

/// Checks the arguments; gives what could not be checked about them.
pub(super) fn check(tool: &ToolEntry, arguments: &RawJson) -> Result<Vec<String>, CallError> {
    let name = tool.name();
    let invalid = |message: String| CallError::new(ErrorCode::InvalidParams, message).at(name);
    match tool.validator().check(name.tool.as_str(), arguments.as_str(), ArgumentLimits::default()) {
        Verdict::Valid => Ok(Vec::new()),
        Verdict::Unvalidated(reason) => Ok(vec![format!("the arguments were not checked: {reason}")]),
        Verdict::Invalid(problem) => {
            Err(invalid(problem.to_string()).with_hint(format!("`helve tool {name}` shows the whole schema")))
        }
        Verdict::Refused(reason) => Err(invalid(format!("the arguments of {name} cannot be checked: {reason}"))),
    }
}
