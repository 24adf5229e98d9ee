//! How things that went wrong are told to an agent: as JSON-RPC errors, or as results that its model can act on.

use helve::CallError;
use helve_model::json::{ObjectWriter, RawJson};
use helve_model::protocol::code;
use helve_model::{ErrorCode, Outcome};
use helve_wire::RpcError;

use crate::approver_source::elicitation;
use crate::gate;

pub(crate) fn parse_error() -> RpcError {
    plain(code::PARSE_ERROR, "this is not JSON")
}

pub(crate) fn invalid_request(message: impl Into<String>) -> RpcError {
    plain(code::INVALID_REQUEST, message)
}

pub(crate) fn invalid_params(message: impl Into<String>) -> RpcError {
    plain(code::INVALID_PARAMS, message)
}

/// A limit is reached.
pub(crate) fn too_many(message: impl Into<String>) -> RpcError {
    plain(code::SERVER_ERROR, message)
}

/// A server said something that nobody can make anything of.
pub(crate) fn protocol_error(message: impl Into<String>) -> RpcError {
    of_call(&CallError::new(ErrorCode::ProtocolError, message.into()))
}

/// The error of a request that could not be done. What a server answered is passed on as it came; which file, rule or
/// command is behind it is in the record of calls, and not told to agents.
pub(crate) fn of_call(error: &CallError) -> RpcError {
    if let Some(refusal) = error.rpc() {
        return gate::pages(refusal);
    }
    let code = match error.code() {
        ErrorCode::ToolNotFound
        | ErrorCode::ServerNotFound
        | ErrorCode::InvalidParams
        | ErrorCode::PromptNotFound
        | ErrorCode::ResourceNotFound => code::INVALID_PARAMS,
        _ => code::SERVER_ERROR,
    };
    let told = error.to_agent();
    RpcError { code, message: told.chain(), data: Some(told.to_json()) }
}

/// What a call came to, for an agent. A refusal, or arguments that do not fit, is a result: the model is the one who can
/// do better.
pub(crate) fn outcome_of_call(error: &CallError) -> Result<RawJson, RpcError> {
    match error.code() {
        _ if error.rpc().is_some() => Err(of_call(error)),
        _ if error.answer_page().is_some() => Err(with_page(error)),
        ErrorCode::Denied | ErrorCode::ApprovalRequired | ErrorCode::InvalidParams => {
            let told = error.to_agent();
            let hints = told.hints().iter().map(|hint| format!("\nhint: {hint}"));
            let text: String = std::iter::once(told.chain()).chain(hints).collect();
            Ok(Outcome::failure(&text).raw().clone())
        }
        _ => Err(of_call(error)),
    }
}

/// The call can be made again once a person has answered on a page: the agent is given the page, in the protocol's own way.
fn with_page(error: &CallError) -> RpcError {
    let pages = error.answer_page().map(|page| elicitation(page, error.message()).into_text());
    let data = ObjectWriter::new().array("elicitations", pages).finish();
    RpcError { code: code::URL_ELICITATION_REQUIRED, message: error.message().to_owned(), data: Some(data) }
}

fn plain(code: i64, message: impl Into<String>) -> RpcError {
    RpcError { code, message: message.into(), data: None }
}

/// Why a message is none.
pub(crate) fn of_noise(text: &str) -> RpcError {
    match RawJson::checked(text) {
        Ok(_) => invalid_request("this is not a request of JSON-RPC 2.0"),
        Err(_) => parse_error(),
    }
}
