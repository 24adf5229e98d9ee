//! What a server answers, asks and tells, before an agent gets it: results of the types there are, questions that the agent
//! said it can answer, pages of the web, and notifications of a closed list.

use helve::{CallError, Host};
use helve_model::json::{RawJson, scan, strict};
use helve_model::method::{self, MethodPart, Need, TASKS};
use helve_model::protocol::code;
use helve_model::protocol::notifications;
use helve_model::{ErrorCode, ServerName};
use helve_policy::Caller;
use helve_schema::UrlRequest;
use helve_wire::{ClientCapabilities, QuestionKind, RpcError};

use super::Meta;
use crate::capabilities::{self, missing_for};
use crate::refusal;

/// Members of a result that decide what it is.
const DECIDING: [&str; 3] = ["resultType", "inputRequests", "requestState"];

/// The agent that gets a result.
#[derive(Debug)]
pub(crate) enum Reader {
    /// One that is asked by requests, and knows no types of results.
    Legacy,
    /// One that is asked by results, and can do this.
    Modern(Box<ClientCapabilities>),
}

impl Reader {
    /// The one who sent a request with this metadata.
    pub(crate) fn of(meta: &Meta) -> Self {
        match (&meta.protocol_version, &meta.client_capabilities) {
            (Some(_), Some(can)) => Self::Modern(Box::new(capabilities::read(can))),
            _ => Self::Legacy,
        }
    }
}

/// Is this a result that the agent can be given? Its syntax was checked.
///
/// # Errors
/// `PROTOCOL_ERROR`, or which capability the agent would need.
pub(crate) fn result(result: &RawJson, reader: &Reader) -> Result<(), RpcError> {
    let mut found = [None; DECIDING.len()];
    for member in scan::members(result.as_str()).into_iter().flatten().map_while(Result::ok) {
        let Some(slot) = DECIDING.iter().position(|key| member.key_is(key)).and_then(|at| found.get_mut(at)) else {
            continue;
        };
        if slot.replace(member.value).is_some() {
            return Err(broken("the server's result says twice what it is"));
        }
    }
    let [kind, questions, state] = found;
    match (kind, reader) {
        (None | Some("\"complete\""), _) => Ok(()),
        (Some("\"input_required\""), Reader::Modern(can)) => match (questions, state) {
            (Some(questions), _) => questions_of_result(&RawJson::part_of(result.shared(), questions), can),
            (None, Some(_)) => Ok(()),
            (None, None) => Err(broken("the server asks for input but says neither which nor in which state")),
        },
        (Some("\"task\""), Reader::Modern(can)) if can.extensions.iter().any(|(name, _)| name == TASKS) => Ok(()),
        (Some(_), _) => Err(broken("the server's result is of a type that the agent does not know")),
    }
}

fn questions_of_result(questions: &RawJson, can: &ClientCapabilities) -> Result<(), RpcError> {
    if strict::check(questions.as_str()).is_err() || !questions.is_object() {
        return Err(broken("the server asks in a form that cannot be read"));
    }
    for member in scan::members(questions.as_str()).into_iter().flatten().map_while(Result::ok) {
        let asked = RawJson::part_of(questions.shared(), member.value);
        let kind = asked.member_str("method").and_then(|method| QuestionKind::of_method(&method));
        let Some(kind) = kind else {
            return Err(broken("the server asks for something that the protocol has no question for"));
        };
        let params = asked.member("params");
        if let Some(missing) = missing_for(Some(kind), params.as_ref(), can) {
            return Err(crate::era::modern::missing_capability(missing));
        }
        question(kind, params.as_ref(), can)?;
    }
    Ok(())
}

/// May an agent that can do this be asked so?
///
/// # Errors
/// `PROTOCOL_ERROR`, or what the agent did not say it can do.
pub(crate) fn question(kind: QuestionKind, params: Option<&RawJson>, can: &ClientCapabilities) -> Result<(), RpcError> {
    if params.is_some_and(|params| !params.is_object() || strict::check(params.as_str()).is_err()) {
        return Err(broken("the server asks in a form that cannot be read"));
    }
    if let Some(missing) = missing_for(Some(kind), params, can) {
        return Err(refusal::invalid_params(format!("the client does not declare {missing}")));
    }
    if kind == QuestionKind::Elicitation {
        let params = params.map_or("{}", RawJson::as_str);
        let written = RawJson::assembled(params.to_owned());
        let mode = written.member("mode");
        let names_a_page = written.member("url").is_some();
        match mode.as_ref().map(RawJson::as_str) {
            None | Some("\"form\"") if !names_a_page => {}
            None | Some("\"form\"" | "\"url\"") => page(params)?,
            Some(_) => return Err(broken("the server asks in a way that the protocol does not have")),
        }
    }
    Ok(())
}

/// An error as the agent may get it: pages that it names are of the web, and its data can be read.
pub(crate) fn pages(error: &RpcError) -> RpcError {
    let Some(data) = &error.data else { return error.clone() };
    if data.check().is_err() {
        return RpcError { data: None, ..error.clone() };
    }
    if error.code == code::URL_ELICITATION_REQUIRED {
        let pages = data.member("elicitations").and_then(|pages| pages.elements()).unwrap_or_default();
        if let Some(problem) = pages.iter().find_map(|asked| page(asked.as_str()).err()) {
            return problem;
        }
    }
    error.clone()
}

/// Is this a notification of a server that its only agent hears? What belongs to one request, and changes of lists, are
/// told elsewhere.
pub(crate) fn is_heard(host: &Host, server: &ServerName, name: &str, params: &RawJson) -> bool {
    let is_open = match method::server_notification(name) {
        Some(known) => match (known.of, known.need) {
            (MethodPart::Extension(extension), _) => host.declares(server, extension),
            (MethodPart::Core, Need::Nothing) => is_about_a_page(name),
            (MethodPart::Core, _) => false,
        },
        None => !method::is_reserved(name) && host.opens(server, name, Caller::Agent),
    };
    is_open && params.is_object() && strict::check(params.as_str()).is_ok()
}

/// Does a notification of a server say that a person is done with a page?
pub(crate) fn is_about_a_page(name: &str) -> bool {
    name == notifications::ELICITATION_COMPLETE
}

/// Does a notification of a server name the task, and so the agent, that it is for?
pub(crate) fn is_about_a_task(name: &str) -> bool {
    method::server_notification(name).is_some_and(|known| matches!(known.need, Need::Task(_)))
}

fn page(params: &str) -> Result<(), RpcError> {
    match UrlRequest::read(params) {
        Ok(_) => Ok(()),
        Err(problem) => Err(broken(&format!("the server names a page that nobody may be sent to: {problem}"))),
    }
}

fn broken(problem: &str) -> RpcError {
    refusal::of_call(&CallError::new(ErrorCode::ProtocolError, problem))
}
