//! Streamable HTTP of the legacy era: sessions, a stream for each request, one for everything else, and coming back to a
//! stream that broke.

use std::collections::VecDeque;
use std::sync::Arc;

use helve_model::json::RawJson;
use helve_wire::plane::{self, Incoming as Read};
use http::{HeaderValue, Response, StatusCode};

use super::body::{Body, Events, OnLeave};
use super::events::{EventStream, parse_event_id};
use super::respond::{Answered, Streaming, Work, event_stream, plain, refused, respond};
use super::sessions::{HttpSession, STANDALONE};
use super::{Incoming, Shared};
use crate::era;
use crate::exchange::Exchange;
use crate::message::Message;
use crate::outbox::Outlet;
use crate::refusal;
use crate::request::Request;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

pub(super) async fn post(shared: &Arc<Shared>, incoming: Incoming) -> Response<Body> {
    let (request, opens) = match plane::read(&incoming.body) {
        Read::Request { id, method, params } => {
            let opens = method == "initialize";
            (Some(Request { id, method, params }), opens)
        }
        Read::Noise => {
            let error = refusal::of_noise(&incoming.body);
            return refused(StatusCode::BAD_REQUEST, None, &error);
        }
        Read::Answer { .. } | Read::Notification { .. } | Read::Unacceptable { .. } => (None, false),
    };
    let session = if opens {
        match shared.sessions.open(&shared.gateway, incoming.principal.clone()) {
            Some(session) => session,
            None => return plain(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions"),
        }
    } else {
        match find(shared, &incoming, request.as_ref().map(|request| &request.id)) {
            Ok(session) => session,
            Err(refusal) => return *refusal,
        }
    };
    let Some(request) = request else {
        take(shared, &session, &incoming);
        return plain(StatusCode::ACCEPTED, "");
    };
    let stream = Arc::new(EventStream::new(&shared.gateway.options.limits));
    let work = work(shared, &session, request, &stream);
    let streaming =
        InSession { shared: Arc::clone(shared), session: Arc::clone(&session), is_possible: incoming.accepts_events() };
    let mut response = respond(work, stream, streaming).await;
    if opens {
        match HeaderValue::from_str(&session.id) {
            Ok(id) if session.agent.version().is_some() => drop(response.headers_mut().insert(SESSION, id)),
            // What could not begin need not be remembered.
            _ => shared.sessions.close(&session),
        }
    }
    response
}

pub(super) fn get(shared: &Arc<Shared>, incoming: &Incoming) -> Response<Body> {
    if !incoming.accepts_events() {
        return plain(StatusCode::NOT_ACCEPTABLE, "accept text/event-stream");
    }
    let session = match find(shared, incoming, None) {
        Ok(session) => session,
        Err(refusal) => return *refusal,
    };
    let resumed = incoming.header("last-event-id").map(parse_event_id);
    let (number, after) = match resumed {
        None => (STANDALONE, None),
        Some(Some((number, event))) => (number, Some(event)),
        Some(None) => return plain(StatusCode::BAD_REQUEST, "there is no such event"),
    };
    let place = session.stream(number).and_then(|stream| Some((stream.read_from(after)?, stream)));
    let Some((reader, stream)) = place else {
        return plain(StatusCode::BAD_REQUEST, "there is no such event, or not any more");
    };
    session.reader_came();
    let leaving = Arc::clone(&session);
    let on_leave: OnLeave = Box::new(move |_| leaving.reader_went());
    event_stream(Events { stream, reader, work: None, on_leave: Some(on_leave), parts: VecDeque::new() })
}

pub(super) fn delete(shared: &Shared, incoming: &Incoming) -> Response<Body> {
    match find(shared, incoming, None) {
        Ok(session) => {
            shared.sessions.close(&session);
            plain(StatusCode::NO_CONTENT, "")
        }
        Err(refusal) => *refusal,
    }
}

/// What is done for a request of a session.
fn work(shared: &Arc<Shared>, session: &HttpSession, request: Request, stream: &Arc<EventStream>) -> Work {
    let outlet: Arc<dyn Outlet> = Arc::<EventStream>::clone(stream);
    session.agent.answers_on(&outlet);
    let (gateway, agent) = (Arc::clone(&shared.gateway), Arc::clone(&session.agent));
    let exchange = Exchange { gateway, agent, stream: outlet };
    Box::pin(async move {
        let meta = request.meta();
        let answer = Box::pin(era::legacy::answer(&exchange, &request, meta));
        let answer = exchange.agent.running.run(&request.id, answer).await?;
        Some(Answered { message: Message::answer(&request.id, &answer), status: StatusCode::OK })
    })
}

/// Takes what asks for no answer: notifications, and answers to what we asked.
fn take(shared: &Arc<Shared>, session: &HttpSession, incoming: &Incoming) {
    match plane::read(&incoming.body) {
        Read::Notification { method, params } => {
            era::legacy::notified(&shared.gateway, &session.agent, &method, params.as_ref());
        }
        Read::Answer { id, body } => session.agent.asked.answered(id, body),
        Read::Unacceptable { id, problem } => {
            let problem = refusal::invalid_request(format!("the answer {problem}"));
            session.agent.asked.answered(id, Err(problem));
        }
        Read::Request { .. } | Read::Noise => {}
    }
}

fn find(
    shared: &Shared,
    incoming: &Incoming,
    request: Option<&RawJson>,
) -> Result<Arc<HttpSession>, Box<Response<Body>>> {
    let refuse = |status: StatusCode, text: &str| {
        let error = helve_wire::RpcError { code: -32000, message: text.to_owned(), data: None };
        Box::new(refused(status, request, &error))
    };
    let Some(id) = incoming.header(SESSION) else {
        return Err(refuse(StatusCode::BAD_REQUEST, "Bad Request: there is no session; initialize first"));
    };
    if incoming.header(VERSION).is_some_and(|version| !era::legacy::speaks(version)) {
        return Err(refuse(StatusCode::BAD_REQUEST, "Bad Request: unsupported protocol version"));
    }
    let session = shared.sessions.find(id, &incoming.principal);
    session.ok_or_else(|| refuse(StatusCode::NOT_FOUND, "there is no such session"))
}

/// A stream of a session: the agent can come back to it.
struct InSession {
    shared: Arc<Shared>,
    session: Arc<HttpSession>,
    is_possible: bool,
}

impl Streaming for InSession {
    fn is_possible(&self) -> bool {
        self.is_possible
    }

    fn begin(&self, stream: &Arc<EventStream>) -> Option<OnLeave> {
        let primed = self.session.agent.version().is_some_and(|version| era::legacy::is_primed(&version));
        self.session.keep(stream, primed, &self.shared.gateway.options.limits);
        self.session.reader_came();
        let (session, resume_time) = (Arc::clone(&self.session), self.shared.gateway.options.limits.resume_time);
        Some(Box::new(move |work| {
            session.reader_went();
            // A connection that breaks takes nothing back: the agent has time to come and read the rest.
            if let (Some(work), Ok(runtime)) = (work, tokio::runtime::Handle::try_current()) {
                runtime.spawn(tokio::time::timeout(resume_time, work));
            }
        }))
    }
}
