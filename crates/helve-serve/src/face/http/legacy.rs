//! Streamable HTTP of the legacy era: sessions, a stream for each request, one for everything else, and coming back to a
//! stream that broke.

use helve_model::protocol::methods;
use std::sync::Arc;
use std::time::Duration;

use helve_model::json::RawJson;
use helve_model::protocol::code;
use helve_wire::{BoxFuture, RpcError};
use http::{HeaderValue, Response, StatusCode};

use super::body::{Body, Events, OnLeave};
use super::events::{EventStream, parse_event_id};
use super::respond::{Answered, Streaming, Work, event_stream, limited, plain, refused, respond};
use super::sessions::{HttpSession, STANDALONE, Unopened};
use super::{Incoming, Shared};
use crate::batch;
use crate::era::legacy::Legacy;
use crate::era::{self, AgentEra as _};
use crate::exchange::Exchange;
use crate::gate::{Barred, Passed, Request};
use crate::ledger::Exceeded;
use crate::message::Message;
use crate::outbox::Outlet;

pub(super) const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

pub(super) async fn post(shared: &Arc<Shared>, mut incoming: Incoming) -> Response<Body> {
    if batch::is_batch(&incoming.body) {
        return post_batch(shared, incoming).await;
    }
    let passed = match incoming.take_message() {
        Ok(passed) => Some(passed),
        Err(Barred::Refused { id, error }) => return refused(status(&error), id.as_ref(), &error),
        Err(Barred::Dropped) => None,
    };
    let (request, other) = match passed {
        Some(Passed::Request(request)) => (Some(request), None),
        other => (None, other),
    };
    let opens = request.as_ref().is_some_and(|request| request.method == methods::INITIALIZE);
    let session = if opens {
        match shared.sessions.open(
            &shared.gateway,
            &shared.connections,
            incoming.principal.clone(),
            incoming.reach.clone(),
        ) {
            Ok(session) => session,
            Err(unopened) => return no_session(unopened, request.as_ref().map(|request| &request.id)),
        }
    } else {
        match find(shared, &incoming, request.as_ref().map(|request| &request.id)) {
            Ok(session) => session,
            Err(refusal) => return *refusal,
        }
    };
    session.came_by(incoming.connection);
    let Some(request) = request else {
        return match other.map_or(Ok(()), |other| take(shared, &session, other)) {
            Ok(()) => plain(StatusCode::ACCEPTED, ""),
            Err(exceeded) => limited(None, exceeded),
        };
    };
    if !opens {
        session.does_something();
    }
    let mut streaming = InSession::new(shared, &session, &incoming, vec![request.id.clone()]);
    // The head of the first answer tells the session, which is there when the answer is: however long that takes, it is no
    // stream.
    streaming.is_possible &= !opens;
    let stream = Arc::new(EventStream::new(&shared.gateway.options.limits));
    let exchange = streaming.exchange(&stream);
    let work: Work = Box::pin(async move {
        let message = answer(&exchange, request).await?;
        Some(Answered { message, status: StatusCode::OK })
    });
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

/// Several messages in one, where the version has that.
async fn post_batch(shared: &Arc<Shared>, incoming: Incoming) -> Response<Body> {
    let session = match find(shared, &incoming, None) {
        Ok(session) => session,
        Err(refusal) => return *refusal,
    };
    let mut batch = match batch::read(session.agent.version().as_deref(), &incoming.body) {
        Ok(batch) => batch,
        Err(error) => return refused(StatusCode::BAD_REQUEST, None, &error),
    };
    for message in std::mem::take(&mut batch.others) {
        // What the requests beside it are answered with says more than that it was dropped.
        let _: Result<(), Exceeded> = take(shared, &session, message);
    }
    if !batch.asks() {
        return plain(StatusCode::ACCEPTED, "");
    }
    session.does_something();
    let ids = batch.requests.iter().map(|request| request.id.clone()).collect();
    let streaming = InSession::new(shared, &session, &incoming, ids);
    let stream = Arc::new(EventStream::new(&shared.gateway.options.limits));
    let exchange = streaming.exchange(&stream);
    let work: Work = Box::pin(async move {
        let who = Some(exchange.agent.principal.clone());
        let one_by_one = async |request| {
            exchange.gateway.ledger.pace.enter(&who).await;
            answer(&exchange, request).await
        };
        let message = exchange.counted(&RawJson::from_static("null"), batch.answer(one_by_one).await?);
        Some(Answered { message, status: StatusCode::OK })
    });
    respond(work, stream, streaming).await
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
    session.does_something();
    session.reader_came();
    if number == STANDALONE {
        session.agent.wake_watched();
    }
    let leaving = Arc::clone(&session);
    let limits = shared.gateway.options.limits.clone();
    let on_leave: OnLeave = Box::new(move |_| {
        leaving.reader_went();
        leaving.settle(&limits);
    });
    let mut events = Events::new(stream, reader);
    events.on_leave = Some(on_leave);
    event_stream(events)
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

/// Tells why there is no session.
pub(super) fn no_session(unopened: Unopened, request: Option<&RawJson>) -> Response<Body> {
    match unopened {
        Unopened::TooMany(exceeded) => limited(request, exceeded),
        Unopened::NoRandomness => plain(StatusCode::SERVICE_UNAVAILABLE, "no session can be opened now"),
    }
}

/// The answer to one request; `None` when the agent took it back.
async fn answer(exchange: &Exchange, request: Request) -> Option<Message> {
    let meta = request.meta();
    let work = Legacy.answer(exchange, &request, meta);
    let answer = exchange.agent.running.run(&request.id, work).await?;
    Some(exchange.answered(&request.id, &answer))
}

/// Takes what asks for no answer: notifications, and answers to what we asked.
pub(super) fn take(shared: &Arc<Shared>, session: &HttpSession, message: Passed) -> Result<(), Exceeded> {
    match message {
        Passed::Notification(notification) => {
            return era::legacy::notified(&shared.gateway, &session.agent, notification);
        }
        Passed::Answer { id, body } => session.agent.answered(id, body),
        Passed::Request(_) => {}
    }
    Ok(())
}

/// A method that nobody has is refused in the answer; what cannot be read is not a request.
fn status(error: &RpcError) -> StatusCode {
    if error.code == code::METHOD_NOT_FOUND { StatusCode::OK } else { StatusCode::BAD_REQUEST }
}

fn find(
    shared: &Shared,
    incoming: &Incoming,
    request: Option<&RawJson>,
) -> Result<Arc<HttpSession>, Box<Response<Body>>> {
    let refuse = |status: StatusCode, text: &str| {
        let error = helve_wire::RpcError { code: code::SERVER_ERROR, message: text.to_owned(), data: None };
        Box::new(refused(status, request, &error))
    };
    let Some(id) = incoming.header(SESSION) else {
        return Err(refuse(StatusCode::BAD_REQUEST, "Bad Request: there is no session; initialize first"));
    };
    if incoming.header(VERSION).is_some_and(|version| !Legacy.speaks(version)) {
        return Err(refuse(StatusCode::BAD_REQUEST, "Bad Request: unsupported protocol version"));
    }
    let session = shared.sessions.find(id, &incoming.principal, incoming.reach.within());
    session.iter().for_each(|session| session.came_by(incoming.connection));
    session.ok_or_else(|| refuse(StatusCode::NOT_FOUND, "there is no such session"))
}

/// A stream of a session: the agent can come back to it.
struct InSession {
    shared: Arc<Shared>,
    session: Arc<HttpSession>,
    is_possible: bool,
    /// The requests that are answered on it.
    requests: Vec<RawJson>,
}

impl InSession {
    fn new(shared: &Arc<Shared>, session: &Arc<HttpSession>, incoming: &Incoming, requests: Vec<RawJson>) -> Self {
        let (shared, session) = (Arc::clone(shared), Arc::clone(session));
        Self { shared, session, is_possible: incoming.accepts_events(), requests }
    }

    /// What belongs to the request goes on its stream, or to whoever reads beside it.
    fn exchange(&self, stream: &Arc<EventStream>) -> Exchange {
        let beside = if self.is_possible { None } else { self.session.stream(STANDALONE) };
        let outlet: Arc<dyn Outlet> = match beside {
            Some(standalone) => Arc::new(Beside(standalone)),
            None => Arc::<EventStream>::clone(stream),
        };
        self.session.agent.answers_on(&outlet);
        let (gateway, agent) = (Arc::clone(&self.shared.gateway), Arc::clone(&self.session.agent));
        Exchange { gateway, agent, stream: outlet }
    }
}

impl Streaming for InSession {
    fn is_possible(&self) -> bool {
        self.is_possible
    }

    fn begin(&self, stream: &Arc<EventStream>) -> Option<OnLeave> {
        let limits = self.shared.gateway.options.limits.clone();
        let primed = self.session.agent.version().is_some_and(|version| era::legacy::is_primed(&version));
        self.session.keep(stream, primed, &limits);
        self.session.reader_came();
        let (session, stream, requests) = (Arc::clone(&self.session), Arc::clone(stream), self.requests.clone());
        Some(Box::new(move |work| {
            session.reader_went();
            session.settle(&limits);
            // A connection that breaks takes nothing back: the agent has time to come and read the rest.
            if let (Some(work), Ok(runtime)) = (work, tokio::runtime::Handle::try_current()) {
                runtime.spawn(work_on(work, stream, requests, limits.resume_time));
            }
        }))
    }
}

/// Works on for an agent that lost the stream, for as long as it reads or may come back.
async fn work_on(work: BoxFuture<'static, ()>, stream: Arc<EventStream>, requests: Vec<RawJson>, time: Duration) {
    tokio::select! {
        biased;
        () = work => return,
        () = stream.unread_for(time) => {}
    }
    // Dropping the work has told the server. A reader that comes even later hears why there is no answer.
    stream.give_up();
    let error = RpcError {
        code: code::SERVER_ERROR,
        message: format!(
            "nobody came back to this stream within {} s, and the request was given up",
            time.as_secs_f64()
        ),
        data: None,
    };
    for id in requests {
        stream.send(Message::answer(&id, &Err(error.clone())));
    }
    stream.end();
}

/// For an agent that reads no stream of its request: it hears of it on the stream of the session, while it reads that.
struct Beside(Arc<EventStream>);

impl Outlet for Beside {
    fn send(&self, message: Message) {
        if self.is_heard() {
            self.0.send(message);
        }
    }

    fn is_heard(&self) -> bool {
        self.0.is_read()
    }
}
