//! One agent on a byte stream: standard input and output, or a socket. One message a line, both eras.
//!
//! Everything happens in the task that serves the connection: reading, all requests at once, and writing, so that answers
//! that are ready together leave together.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytestring::ByteString;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use helve_model::json::RawJson;
use helve_wire::RpcError;
use helve_wire::plane::{self, Incoming, Line, LineBuffer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::time::timeout;

use crate::agent::Agent;
use crate::exchange::Exchange;
use crate::gateway::{Gateway, HostSource, Options, Purpose};
use crate::message::Message;
use crate::outbox::{Outbox, Outlet};
use crate::principal::Peer;
use crate::request::Request;
use crate::{era, refusal};

/// How long answers are still worked on, and how long they may take to be written, when an agent has closed its side.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Serves one of several agents until it goes. What it has asked for and not got is taken back then.
///
/// # Errors
/// When the stream breaks, or the agent leaves its answers unread.
pub async fn serve(
    gateway: &Arc<Gateway>,
    peer: Peer,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let outbox = Arc::new(Outbox::new(&gateway.options.limits));
    let outlet: Arc<dyn Outlet> = Arc::<Outbox>::clone(&outbox);
    let agent = Arc::new(Agent::new(peer.principal(), Arc::clone(&outlet)));
    let lines = Lines::new(reader, gateway.options.limits.message_bytes);
    converse(gateway, agent, &outbox, lines, None, writer).await
}

/// Serves the only agent there is. The host is started when the agent has said what it can do, so that servers may ask it,
/// and is ended when the agent goes.
///
/// # Errors
/// When the host cannot be started, the stream breaks, or the agent leaves its answers unread.
pub async fn serve_alone(
    source: &dyn HostSource,
    options: Options,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let outbox = Arc::new(Outbox::new(&options.limits));
    let outlet: Arc<dyn Outlet> = Arc::<Outbox>::clone(&outbox);
    let agent = Arc::new(Agent::new(Peer { connection: 0, user: None }.principal(), outlet));
    let mut lines = Lines::new(reader, options.limits.message_bytes);
    let Some(first) = lines.next().await? else { return Ok(()) };
    if let Line::Text(text) = &first
        && let Incoming::Request { id, method, params } = plane::read(text)
        && let Some(capabilities) = era::declared(&Request { id, method, params })
    {
        agent.declare(&capabilities);
    }
    let host = source.start(Arc::<Agent>::clone(&agent), Purpose::Everything).await.map_err(io::Error::other)?;
    let gateway = Gateway::new(host.clone(), options);
    let served = converse(&gateway, agent, &outbox, lines, Some(first), writer).await;
    host.shutdown().await;
    served
}

async fn converse<R: AsyncRead + Unpin>(
    gateway: &Arc<Gateway>,
    agent: Arc<Agent>,
    outbox: &Arc<Outbox>,
    mut lines: Lines<R>,
    first: Option<Line>,
    writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    gateway.listeners.add(&agent);
    let _gone = Gone(&agent);
    let connection = Connection { gateway, agent: &agent, outlet: Arc::<Outbox>::clone(outbox) };
    let limits = &gateway.options.limits;
    let mut requests = FuturesUnordered::new();
    let mut writing = pin!(outbox.write_into(writer));
    if let Some(first) = first {
        connection.receive(&first, |request| requests.push(connection.answer(request)));
    }
    loop {
        let is_full = outbox.is_full();
        let reads = requests.len() < limits.requests_in_flight && !is_full;
        tokio::select! {
            biased;
            line = lines.next(), if reads => match line? {
                Some(line) => connection.receive(&line, |request| requests.push(connection.answer(request))),
                None => break,
            },
            Some(()) = requests.next(), if !requests.is_empty() => {}
            () = outbox.drained(), if is_full => {}
            written = &mut writing => return written,
        }
    }
    // Who closes its side may still read what it asked for, as a script does; who is gone costs no more than this.
    let last_answers = timeout(LAST_ANSWERS, async { while requests.next().await.is_some() {} });
    tokio::select! {
        biased;
        _ = last_answers => outbox.close(),
        written = &mut writing => return written,
    }
    timeout(LAST_ANSWERS, writing).await.unwrap_or(Ok(()))
}

/// Ends what an agent had when it goes, whichever way.
struct Gone<'a>(&'a Agent);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What the requests of one stream share.
struct Connection<'a> {
    gateway: &'a Arc<Gateway>,
    agent: &'a Arc<Agent>,
    outlet: Arc<dyn Outlet>,
}

impl Connection<'_> {
    fn receive(&self, line: &Line, mut take: impl FnMut(Request)) {
        match line {
            Line::Text(text) => match is_batch(text).then(|| plane::batch(text)).flatten() {
                Some(batch) => batch.for_each(|message| self.receive_one(&message, &mut take)),
                None => self.receive_one(text, &mut take),
            },
            Line::NotUtf8(_) => self.refuse(refusal::parse_error()),
            Line::TooLarge { .. } => self.refuse(refusal::invalid_request("the message is too large")),
        }
    }

    fn receive_one(&self, text: &ByteString, take: &mut impl FnMut(Request)) {
        match plane::read(text) {
            Incoming::Request { id, method, params } => take(Request { id, method, params }),
            Incoming::Notification { method, params } => {
                era::legacy::notified(self.gateway, self.agent, &method, params.as_ref());
            }
            Incoming::Answer { id, body } => self.agent.asked.answered(id, body),
            Incoming::Unacceptable { id, problem } => {
                self.agent.asked.answered(id, Err(refusal::invalid_request(format!("the answer {problem}"))));
            }
            Incoming::Noise => self.refuse(refusal::of_noise(text)),
        }
    }

    /// Answers what cannot be read, and so has no id.
    fn refuse(&self, error: RpcError) {
        self.outlet.send(Message::answer(&RawJson::from_static("null"), &Err(error)));
    }

    async fn answer(&self, request: Request) {
        let (gateway, agent) = (Arc::clone(self.gateway), Arc::clone(self.agent));
        let exchange = Exchange { gateway, agent, stream: Arc::clone(&self.outlet) };
        // A call is a large future; it stays where it is made.
        let work = Box::pin(era::answer(&exchange, &request));
        if let Some(answer) = self.agent.running.run(&request.id, work).await {
            self.outlet.send(Message::answer(&request.id, &answer));
        }
    }
}

fn is_batch(text: &str) -> bool {
    text.trim_start().starts_with('[')
}

/// The lines of a stream.
struct Lines<R> {
    reader: R,
    buffer: LineBuffer,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(reader: R, limit: usize) -> Self {
        Self { reader, buffer: LineBuffer::new(limit) }
    }

    /// The next line; `None` at the end. Cancel safe.
    async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.buffer.next_line() {
                return Ok(Some(line));
            }
            if self.reader.read_buf(self.buffer.room()).await? == 0 {
                return Ok(None);
            }
        }
    }
}
