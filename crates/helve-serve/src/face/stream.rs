//! One agent on a byte stream: standard input and output, or a socket. One message a line, both eras.
//!
//! Everything happens in the task that serves the connection: reading, all requests at once, and writing, so that answers
//! that are ready together leave together.

use helve_model::protocol::methods;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytestring::ByteString;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use helve::Door;
use helve_model::json::RawJson;
use helve_wire::RpcError;
use helve_wire::plane::{Line, LineBuffer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::time::timeout;

use crate::agent::Agent;
use crate::batch::Batch;
use crate::exchange::Exchange;
use crate::gate::{self, Barred, Passed, Request};
use crate::gateway::{Gateway, HostPurpose, HostSource, Options};
use crate::ledger::Exceeded;
use crate::message::Message;
use crate::named_questions::NamedAnswerer;
use crate::outbox::{Outbox, Outlet};
use crate::principal::{Peer, Principal};
use crate::{batch, era, refusal};

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
    let agent = Arc::new(Agent::new(peer.principal(), Door::Stream, Arc::clone(&outlet)));
    agent.knows(&gateway.tasks);
    agent.sees(gateway.weak());
    let lines = Lines::new(reader, gateway.options.limits.message_bytes);
    let writing = pin!(outbox.write_into(writer));
    converse(gateway, agent, &outbox, lines, None, writing).await
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
    let agent = Arc::new(Agent::new(Principal::LOCAL, Door::Stream, outlet));
    let mut lines = Lines::new(reader, options.limits.message_bytes);
    let mut writing = pin!(outbox.write_into(writer));
    let first = loop {
        let line = tokio::select! {
            biased;
            line = lines.next() => line?,
            written = &mut writing => return written,
        };
        let Some(line) = line else {
            outbox.close();
            return timeout(LAST_ANSWERS, writing).await.unwrap_or(Ok(()));
        };
        match Opening::read(&line) {
            Opening::Settled(answer) => outbox.send(answer),
            Opening::Nothing => {}
            Opening::Begins { is_asked_by_request, capabilities } => {
                if let Some(capabilities) = capabilities {
                    agent.declare(&capabilities);
                }
                agent.comes_in(is_asked_by_request);
                break line;
            }
        }
    };
    let answerer = NamedAnswerer::of(Arc::<Agent>::clone(&agent));
    let host = source.start(answerer, HostPurpose::Everything).await.map_err(io::Error::other)?;
    let gateway = Gateway::new(host.clone(), options);
    agent.knows(&gateway.tasks);
    agent.sees(gateway.weak());
    let served = converse(&gateway, agent, &outbox, lines, Some(first), writing).await;
    host.shutdown().await;
    served
}

/// What a message means before there is a host: servers are told what the agent can do when they are started, so they are
/// started for the first message that says it, or that cannot be answered without them.
enum Opening {
    /// It needs no server to be answered.
    Settled(Message),
    /// It says nothing and asks nothing.
    Nothing,
    /// From here on there is a host, for an agent that is asked in this way and can do so much.
    Begins { is_asked_by_request: bool, capabilities: Option<RawJson> },
}

impl Opening {
    fn read(line: &Line) -> Self {
        let text = match text_of(line) {
            Ok(text) => text,
            Err(error) => return Self::Settled(unaddressed(error)),
        };
        if batch::is_batch(text) {
            return Self::Settled(unaddressed(match batch::read(None, text) {
                Err(error) => error,
                Ok(_) => refusal::of_noise(text),
            }));
        }
        match gate::read(text) {
            Ok(Passed::Request(request)) => {
                let meta = request.meta();
                let era = era::of(&request, &meta);
                match era.answer_without_host(&request, &meta) {
                    Some(answer) => Self::Settled(Message::answer(&request.id, &answer)),
                    None => {
                        let capabilities = era::declared(&request, meta);
                        Self::Begins { is_asked_by_request: era.is_asked_by_request(), capabilities }
                    }
                }
            }
            Ok(Passed::Notification(_) | Passed::Answer { .. }) | Err(Barred::Dropped) => Self::Nothing,
            Err(Barred::Refused { id, error }) => Self::Settled(addressed(id.as_ref(), error)),
        }
    }
}

async fn converse<R: AsyncRead + Unpin>(
    gateway: &Arc<Gateway>,
    agent: Arc<Agent>,
    outbox: &Arc<Outbox>,
    mut lines: Lines<R>,
    first: Option<Line>,
    mut writing: Pin<&mut impl Future<Output = io::Result<()>>>,
) -> io::Result<()> {
    gateway.listeners.add(&agent);
    let _gone = Gone(&agent);
    let connection = Connection { gateway, agent: &agent, outlet: Arc::<Outbox>::clone(outbox) };
    let limits = &gateway.options.limits;
    let mut requests = FuturesUnordered::new();
    if let Some(first) = first {
        connection.receive(&first, |asked| requests.push(connection.answer(asked)));
    }
    loop {
        let is_full = outbox.is_full();
        let reads = requests.len() < limits.requests_in_flight && !is_full;
        tokio::select! {
            biased;
            line = lines.next(), if reads => match line? {
                Some(line) => connection.receive(&line, |asked| requests.push(connection.answer(asked))),
                None => break,
            },
            Some(()) = requests.next(), if !requests.is_empty() => {}
            () = outbox.drained(), if is_full => {}
            written = &mut writing => return written,
        }
    }
    // A client that closes its side may still read what it asked for, as a script does; one that is gone costs no more than this.
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

/// What is answered with one message.
enum Asked {
    One(Request),
    Several(Batch),
}

impl Connection<'_> {
    fn receive(&self, line: &Line, mut take: impl FnMut(Asked)) {
        let text = match text_of(line) {
            Ok(text) => text,
            Err(error) => return self.refuse(error),
        };
        if !batch::is_batch(text) {
            return match gate::read(text) {
                Ok(Passed::Request(request)) => {
                    if request.method == methods::INITIALIZE {
                        self.agent.opens();
                    }
                    take(Asked::One(request));
                }
                Ok(other) => self.hear(other),
                Err(Barred::Refused { id, error }) => self.outlet.send(addressed(id.as_ref(), error)),
                Err(Barred::Dropped) => {}
            };
        }
        match batch::read(self.agent.version().as_deref(), text) {
            Ok(mut batch) => {
                std::mem::take(&mut batch.others).into_iter().for_each(|other| self.hear(other));
                if batch.asks() {
                    take(Asked::Several(batch));
                }
            }
            Err(error) => self.refuse(error),
        }
    }

    /// Takes what asks for no answer.
    fn hear(&self, message: Passed) {
        match message {
            Passed::Notification(notification) => {
                // Nobody waits for an answer that could say so.
                let _: Result<(), Exceeded> = era::legacy::notified(self.gateway, self.agent, notification);
            }
            Passed::Answer { id, body } => self.agent.answered(id, body),
            Passed::Request(_) => {}
        }
    }

    /// Answers what cannot be read, and so has no id.
    fn refuse(&self, error: RpcError) {
        self.outlet.send(unaddressed(error));
    }

    async fn answer(&self, asked: Asked) {
        let opens = matches!(&asked, Asked::One(request) if request.method == methods::INITIALIZE);
        let answer = match asked {
            Asked::One(request) => self.answer_one(request).await,
            Asked::Several(batch) => batch.answer(|request| self.answer_one(request)).await,
        };
        if let Some(answer) = answer {
            self.outlet.send(answer);
        }
        if opens {
            self.agent.has_opened();
        }
    }

    async fn answer_one(&self, request: Request) -> Option<Message> {
        let (gateway, agent) = (Arc::clone(self.gateway), Arc::clone(self.agent));
        let exchange = Exchange { gateway, agent, stream: Arc::clone(&self.outlet) };
        // A call is a large future; it stays where it is made.
        let work = Box::pin(async {
            // What was asked together with `initialize` is answered after it, to an agent that hears of changes by then.
            if request.method != methods::INITIALIZE {
                exchange.agent.opened().await;
            }
            era::answer(&exchange, &request).await
        });
        let answer = self.agent.running.run(&request.id, work).await?;
        Some(Message::answer(&request.id, &answer))
    }
}

/// The text of a line that can be read at all.
fn text_of(line: &Line) -> Result<&ByteString, RpcError> {
    match line {
        Line::Text(text) => Ok(text),
        Line::NotUtf8(_) => Err(refusal::parse_error()),
        Line::TooLarge { .. } => Err(refusal::invalid_request("the message is too large")),
    }
}

/// The answer to something that has no id.
fn unaddressed(error: RpcError) -> Message {
    addressed(None, error)
}

fn addressed(id: Option<&RawJson>, error: RpcError) -> Message {
    Message::answer(id.unwrap_or(&RawJson::from_static("null")), &Err(error))
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
