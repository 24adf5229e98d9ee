//! HTTP+SSE of the first version: one stream for everything that comes from us, and an address for what comes from the agent.

use helve_model::protocol::methods;
use std::sync::Arc;

use http::{Method, Response, StatusCode};

use super::body::{Body, Events, OnLeave};
use super::legacy::{no_session, take};
use super::respond::{event_stream, limited, not_allowed, plain, refused};
use super::sessions::{HttpSession, STANDALONE};
use super::{Incoming, Shared};
use crate::era::AgentEra as _;
use crate::era::legacy::Legacy;
use crate::exchange::Exchange;
use crate::gate::{self, Barred, Passed, Request};
use crate::message::Message;
use crate::outbox::Outlet;
use crate::{batch, refusal};

/// Where agents of this transport send their messages.
pub(super) const MESSAGES: &str = "/messages";

/// Opens the stream, which tells its agent where to send messages. The session ends with it.
pub(super) fn open(shared: &Arc<Shared>, incoming: &Incoming) -> Response<Body> {
    if incoming.method != Method::GET {
        return not_allowed("GET");
    }
    let (principal, reach) = (incoming.principal.clone(), incoming.reach.clone());
    let session = match shared.old_sessions.open(&shared.gateway, &shared.connections, principal, reach) {
        Ok(session) => session,
        Err(unopened) => return no_session(unopened, None),
    };
    let Some(stream) = session.stream(STANDALONE) else {
        return plain(StatusCode::NOT_FOUND, "there is no such session");
    };
    session.came_by(incoming.connection);
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
        return not_allowed("POST");
    }
    let id = incoming.query.split('&').find_map(|pair| pair.strip_prefix("sessionId=")).unwrap_or_default();
    let Some(session) = shared.old_sessions.find(id, &incoming.principal, None) else {
        return plain(StatusCode::NOT_FOUND, "there is no such session");
    };
    if batch::is_batch(&incoming.body) {
        // No version of this transport has batches.
        let error = batch::read(None, &incoming.body).err().unwrap_or_else(|| refusal::of_noise(&incoming.body));
        return refused(StatusCode::BAD_REQUEST, None, &error);
    }
    match gate::read(&incoming.body) {
        Ok(Passed::Request(request)) => {
            if request.method != methods::INITIALIZE {
                session.does_something();
            }
            answer(shared, &session, request);
        }
        Ok(other) => {
            if let Err(exceeded) = take(shared, &session, other) {
                return limited(None, exceeded);
            }
        }
        Err(Barred::Refused { id: Some(id), error }) => {
            if let Some(stream) = session.stream(STANDALONE) {
                stream.send(Message::answer(&id, &Err(error)));
            }
        }
        Err(Barred::Refused { id: None, error }) => return refused(StatusCode::BAD_REQUEST, None, &error),
        Err(Barred::Dropped) => {}
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
        let work = Legacy.answer(&exchange, &request, meta);
        if let Some(answer) = exchange.agent.running.run(&request.id, work).await {
            exchange.stream.send(exchange.answered(&request.id, &answer));
        }
    });
}
