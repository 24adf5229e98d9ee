//! Do the arguments fit the tool's schema, and who is to say so?

use helve_model::json::RawJson;
use helve_model::{ErrorCode, Hint, Validation};
use helve_schema::{ArgumentLimits, ArgumentVerdict};

use super::CallContext;
use crate::catalog::ToolEntry;
use crate::error::CallError;
use crate::host_core::HostCore;

/// Checks the arguments, where that is not left to the server; gives what could not be checked about them.
pub(super) fn check(
    host: &HostCore,
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
        ArgumentVerdict::Valid => Ok(Vec::new()),
        ArgumentVerdict::Unvalidated(reason) => Ok(vec![format!("the arguments were not checked: {reason}")]),
        ArgumentVerdict::Invalid(problem) => {
            Err(invalid(problem.to_string()).with_hint(Hint::ShowTool { name: name.clone() }))
        }
        ArgumentVerdict::Refused(reason) => {
            let message = format!("the arguments of {} cannot be checked: {reason}", context.names(name));
            Err(invalid(message))
        }
    }
}

/// Where the arguments are checked: as the server's entry says, else the host, else whoever calls. A tool of this process has
/// nobody behind it who could.
fn judge(host: &HostCore, tool: &ToolEntry, context: &CallContext) -> Validation {
    match &tool.handle {
        Some(handle) => handle.spec().validation.or(host.settings.validation).unwrap_or(context.validation),
        None => Validation::Strict,
    }
}
