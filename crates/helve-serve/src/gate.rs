//! The one place that everything an agent sends passes before a byte of it can leave for a server, and that what a server
//! asks and answers passes before it gets to an agent.
//!
//! A message is checked whole: it is JSON, no object in it names a member twice, and its method stands in the closed table
//! of [`helve_model::method`], written as it stands there. What a method needs is decided afterwards: calls go by a permit,
//! everything else by a clearance ([`relay`]). A [`Request`] cannot be made anywhere else.

mod answer;
mod relay;
mod request;

use bytestring::ByteString;
use helve_model::json::RawJson;
use helve_model::json::strict::{self, Flaw};
use helve_model::method;
use helve_wire::RpcError;
use helve_wire::plane::{self, AnswerId, Incoming};

use crate::lookups::{self, Lookup};
use crate::refusal::{invalid_request, of_noise, parse_error};

pub(crate) use answer::{Reader, is_about_a_page, is_about_a_task, is_heard, pages, question, result};
pub(crate) use relay::{complete, follow, relay, relay_to, tell};
pub(crate) use request::{Meta, Request};

/// A message of an agent that was checked.
#[derive(Debug)]
pub(crate) enum Passed {
    /// To be answered.
    Request(Request),
    /// To be heard.
    Notification(Notification),
    /// The answer to something that the agent was asked.
    Answer { id: AnswerId, body: Result<RawJson, RpcError> },
}

/// What an agent tells: one of the protocol's own notifications, or one that a rule may open.
#[derive(Debug)]
pub(crate) struct Notification {
    pub(crate) method: String,
    pub(crate) params: Option<RawJson>,
}

/// A message that goes no further.
#[derive(Debug)]
pub(crate) enum Barred {
    /// It is answered with an error; without an id when it has none that could be read.
    Refused { id: Option<RawJson>, error: RpcError },
    /// Nobody waits for an answer to it.
    Dropped,
}

/// Checks one message. Batches are taken apart before.
pub(crate) fn read(text: &ByteString) -> Result<Passed, Barred> {
    lookups::note(Lookup::Params);
    // Nearly every message is gone through once, for both.
    let (incoming, flaw) = match strict::outline(text) {
        Some(outline) => (plane::read_outlined(text, &outline), None),
        None => (plane::read(text), strict::check(text).err().map(of_flaw)),
    };
    match (incoming, flaw) {
        (Incoming::Request { id, .. }, Some(error)) => Err(Barred::Refused { id: Some(id), error }),
        (Incoming::Request { id, method, params }, None) => {
            let has_object = params.as_ref().is_none_or(RawJson::is_object);
            if !has_object {
                return Err(Barred::Refused { id: Some(id), error: invalid_request("`params` is not an object") });
            }
            if method::request(&method).is_none() && method::is_reserved(&method) {
                return Err(Barred::Refused { id: Some(id), error: RpcError::method_not_found(&method) });
            }
            Ok(Passed::Request(Request::passed(id, method, params)))
        }
        (Incoming::Notification { method, params }, None)
            if params.as_ref().is_none_or(RawJson::is_object)
                && (method::client_notification(&method).is_some() || !method::is_reserved(&method)) =>
        {
            Ok(Passed::Notification(Notification { method, params }))
        }
        // There is no way to answer what is not a request.
        (Incoming::Notification { .. }, _) => Err(Barred::Dropped),
        (Incoming::Answer { id, body }, None) => Ok(Passed::Answer { id, body }),
        (Incoming::Answer { id, .. } | Incoming::Unacceptable { id, .. }, Some(error)) => {
            Ok(Passed::Answer { id, body: Err(error) })
        }
        (Incoming::Unacceptable { id, problem }, None) => {
            Ok(Passed::Answer { id, body: Err(invalid_request(format!("the answer {problem}"))) })
        }
        (Incoming::Noise, flaw) => Err(Barred::Refused { id: None, error: flaw.unwrap_or_else(|| of_noise(text)) }),
    }
}

fn of_flaw(flaw: Flaw) -> RpcError {
    match flaw {
        Flaw::Syntax => parse_error(),
        Flaw::Twice | Flaw::TooDeep => invalid_request(format!("the message cannot be taken: {flaw}")),
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
