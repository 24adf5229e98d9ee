//! HTTP+SSE of the first version: one stream for everything that comes from us, and an address for what comes from the agent.

use std::sync::Arc;

use helve_wire::plane::{self, Incoming as Read};
use http::{Method, Response, StatusCode};

use super::body::{Body, Events, OnLeave};
use super::respond::{event_stream, plain, refused};
use super::sessions::{HttpSession, STANDALONE};
use super::{Incoming, Shared};
use crate::exchange::Exchange;
use crate::message::Message;
use crate::outbox::Outlet;
use crate::request::Request;
use crate::{batch, era, refusal};

/// Where agents of this transport send their messages.
pub(super) const MESSAGES: &str = "/messages";

/// Opens the stream, which tells its agent where to send messages. The session ends with it.
pub(super) fn open(shared: &Arc<Shared>, incoming: &Incoming) -> Response<Body> {
    if incoming.method != Method::GET {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "GET");
    }
    let session = shared.old_sessions.open(&shared.gateway, incoming.principal.clone());
    let place = session.and_then(|session| Some((session.stream(STANDALONE)?, session)));
    let Some((stream, session)) = place else {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions");
    };
    let endpoint = format!("event: endpoint\ndata: {MESSAGES}?sessionId={}\n\n", session.id);
    stream.name_events();
    let reader = stream.read_from(None).unwrap_or_default();
    let shared = Arc::clone(shared);
    let on_leave: OnLeave = Box::new(move |_| shared.old_sessions.close(&session));
    let mut events = Events::new(stream, reader);
    events.on_leave = Some(on_leave);
    events.parts.push_back(endpoint.into());
    event_stream(events)
}

/// Takes one message. What it is answered with comes on the stream.
pub(super) fn post(shared: &Arc<Shared>, incoming: &Incoming) -> Response<Body> {
    if incoming.method != Method::POST {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "POST");
    }
    let id = incoming.query.split('&').find_map(|pair| pair.strip_prefix("sessionId=")).unwrap_or_default();
    let Some(session) = shared.old_sessions.find(id, &incoming.principal) else {
        return plain(StatusCode::NOT_FOUND, "there is no such session");
    };
    if batch::is_batch(&incoming.body) {
        // No version of this transport has batches.
        let error = batch::read(None, &incoming.body).err().unwrap_or_else(|| refusal::of_noise(&incoming.body));
        return refused(StatusCode::BAD_REQUEST, None, &error);
    }
    match plane::read(&incoming.body) {
        Read::Request { id, method, params } => answer(shared, &session, Request { id, method, params }),
        Read::Notification { method, params } => {
            era::legacy::notified(&shared.gateway, &session.agent, &method, params.as_ref());
        }
        Read::Answer { id, body } => session.agent.asked.answered(id, body),
        Read::Unacceptable { id, problem } => {
            let problem = refusal::invalid_request(format!("the answer {problem}"));
            session.agent.asked.answered(id, Err(problem));
        }
        Read::Noise => return refused(StatusCode::BAD_REQUEST, None, &refusal::of_noise(&incoming.body)),
    }
    plain(StatusCode::ACCEPTED, "")
}

/// The answer has a task of its own: the request it belongs to is over before it.
fn answer(shared: &Arc<Shared>, session: &Arc<HttpSession>, request: Request) {
    let Some(stream) = session.stream(STANDALONE) else { return };
    let outlet: Arc<dyn Outlet> = stream;
    let (gateway, agent) = (Arc::clone(&shared.gateway), Arc::clone(&session.agent));
    tokio::spawn(async move {
        let exchange = Exchange { gateway, agent, stream: outlet };
        let meta = request.meta();
        let work = Box::pin(era::legacy::answer(&exchange, &request, meta));
        if let Some(answer) = exchange.agent.running.run(&request.id, work).await {
            exchange.stream.send(Message::answer(&request.id, &answer));
        }
    });
}
