//! Do the arguments fit the tool's schema, and who is to say so?

use helve_model::json::RawJson;
use helve_model::{ErrorCode, Hint, Validation};
use helve_schema::{ArgumentLimits, Verdict};

use super::CallContext;
use crate::catalog::ToolEntry;
use crate::error::CallError;
use crate::state::Shared;

/// Checks the arguments, where that is not left to the server; gives what could not be checked about them.
pub(super) fn check(
    host: &Shared,
    tool: &ToolEntry,
    arguments: &RawJson,
    context: &CallContext,
) -> Result<Vec<String>, CallError> {
    if judge(host, tool, context) == Validation::Server {
        return Ok(Vec::new());
    }
    let name = tool.name();
    let shown = context.known_as.as_deref().unwrap_or(name.tool.as_str());
    let invalid = |message: String| CallError::new(ErrorCode::InvalidParams, message).at(name);
    match tool.validator().check(shown, arguments.as_str(), ArgumentLimits::default()) {
        Verdict::Valid => Ok(Vec::new()),
        Verdict::Unvalidated(reason) => Ok(vec![format!("the arguments were not checked: {reason}")]),
        Verdict::Invalid(problem) => Err(invalid(problem.to_string()).with_hint(Hint::ShowTool { name: name.clone() })),
        Verdict::Refused(reason) => {
            let message = format!("the arguments of {} cannot be checked: {reason}", context.names(name));
            Err(invalid(message))
        }
    }
}

/// Who judges the arguments: as the server's entry says, else the host, else whoever calls. A tool of this process has
/// nobody behind it who could.
fn judge(host: &Shared, tool: &ToolEntry, context: &CallContext) -> Validation {
    match &tool.link {
        Some(link) => link.spec().validation.or(host.settings.validation).unwrap_or(context.validation),
        None => Validation::Strict,
    }
}
