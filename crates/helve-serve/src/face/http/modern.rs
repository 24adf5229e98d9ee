//! Streamable HTTP of the modern era: every request stands for itself, its headers repeat what its body says, and hanging up
//! takes it back.

use std::sync::Arc;

use helve_model::json::RawJson;
use helve_model::protocol::{code, meta as meta_key, methods};
use http::{Response, StatusCode};

use super::body::{Body, OnLeave};
use super::events::EventStream;
use super::respond::{Answered, Streaming, Work, plain, refused, respond};
use super::{Incoming, Shared, headers};
use crate::era::modern::Modern;
use crate::era::{self, AgentEra as _};
use crate::exchange::Exchange;
use crate::gate::{Barred, Passed};
use crate::outbox::Outlet;

/// Is this request of the modern era, by its header or its body?
pub(super) fn is_stateless(incoming: &Incoming) -> bool {
    says_so(incoming) || says_so_in_its_body(incoming)
}

/// Does its header name a version of the modern era?
pub(super) fn says_so(incoming: &Incoming) -> bool {
    incoming.header("mcp-protocol-version").is_some_and(|version| Modern.speaks(version))
}

fn says_so_in_its_body(incoming: &Incoming) -> bool {
    incoming.header("mcp-session-id").is_none() && says_version(incoming)
}

/// The metadata may be anywhere in the body: most bodies of the other era need not be gone through.
fn says_version(incoming: &Incoming) -> bool {
    let is_near = memchr::memmem::find(incoming.body.as_bytes(), meta_key::PROTOCOL_VERSION.as_bytes()).is_some();
    let discovers = || memchr::memmem::find(incoming.body.as_bytes(), methods::SERVER_DISCOVER.as_bytes()).is_some();
    (is_near || discovers())
        && match incoming.message() {
            Ok(Passed::Request(request)) => !era::of(request, &request.meta()).is_asked_by_request(),
            _ => false,
        }
}

pub(super) async fn post(shared: &Arc<Shared>, mut incoming: Incoming) -> Response<Body> {
    let request = match incoming.take_message() {
        Ok(Passed::Request(request)) => request,
        Err(Barred::Refused { id, error }) => {
            let status =
                if error.code == code::METHOD_NOT_FOUND { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST };
            return refused(status, id.as_ref(), &error);
        }
        // What asks for no answer concerns nothing that is remembered.
        Ok(Passed::Answer { .. } | Passed::Notification(_)) | Err(Barred::Dropped) => {
            return plain(StatusCode::ACCEPTED, "");
        }
    };
    let meta = request.meta();
    let checked = headers::check(shared, &incoming, &request, &meta).and_then(|()| Modern.check(&meta));
    if let Err(error) = checked {
        return refused(StatusCode::BAD_REQUEST, Some(&request.id), &error);
    }
    let stream = Arc::new(EventStream::new(&shared.gateway.options.limits));
    let outlet: Arc<dyn Outlet> = Arc::<EventStream>::clone(&stream);
    let gateway = Arc::clone(&shared.gateway);
    let capabilities = meta.client_capabilities.clone().unwrap_or_else(RawJson::empty_object);
    let agent = match gateway.agent(&incoming.principal, &incoming.reach, &capabilities) {
        Ok(agent) => agent,
        Err(error) => return refused(StatusCode::BAD_REQUEST, Some(&request.id), &error),
    };
    let exchange = Exchange { gateway, agent, stream: outlet };
    let work: Work = Box::pin(async move {
        let answer = Modern.answer(&exchange, &request, meta).await;
        let status = answer.as_ref().map_or_else(|error| status(error.code), |_| StatusCode::OK);
        Some(Answered { message: exchange.answered(&request.id, &answer), status })
    });
    respond(work, stream, Stateless { is_possible: incoming.accepts_events() }).await
}

fn status(code: i64) -> StatusCode {
    match code {
        code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        code if code::MODERN.contains(&code) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// A stream that is gone when its reader is, and the work with it.
struct Stateless {
    is_possible: bool,
}

impl Streaming for Stateless {
    fn is_possible(&self) -> bool {
        self.is_possible
    }

    fn begin(&self, _stream: &Arc<EventStream>) -> Option<OnLeave> {
        None
    }
}
