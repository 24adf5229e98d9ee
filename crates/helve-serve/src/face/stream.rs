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
use helve_wire::plane::{self, Incoming, Line, LineBuffer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::time::timeout;

use crate::era;
use crate::gateway::Gateway;
use crate::message::Message;
use crate::outbox::{Outbox, Outlet};
use crate::refusal;
use crate::request::Request;
use crate::session::Session;

/// Serves one agent until it goes. What it has asked for and not got is taken back then.
///
/// # Errors
/// When the stream breaks, or the agent leaves its answers unread.
pub async fn serve(
    gateway: &Arc<Gateway>,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let limits = &gateway.options.limits;
    let outbox = Arc::new(Outbox::new(limits));
    let outlet: Arc<dyn Outlet> = Arc::<Outbox>::clone(&outbox);
    let session = Arc::new(Session::new(Arc::clone(&outlet)));
    gateway.listeners.add(&session);
    let connection = Connection { gateway, session, outlet };

    let mut lines = Lines { reader, buffer: LineBuffer::new(limits.message_bytes) };
    let mut requests = FuturesUnordered::new();
    let mut writing = pin!(outbox.write_into(writer));
    loop {
        let reads = requests.len() < limits.requests_in_flight && !outbox.is_full();
        tokio::select! {
            biased;
            line = lines.next(), if reads => match line? {
                Some(Line::Text(text)) => connection.receive(&text, |request| requests.push(connection.answer(request))),
                Some(Line::NotUtf8(_)) => connection.refuse(refusal::parse_error()),
                Some(Line::TooLarge { .. }) => connection.refuse(refusal::invalid_request("the message is too large")),
                None => break,
            },
            Some(()) = requests.next(), if !requests.is_empty() => {}
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

/// How long answers are still worked on, and how long they may take to be written, when an agent has closed its side.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// What the requests of one stream share.
struct Connection<'a> {
    gateway: &'a Arc<Gateway>,
    session: Arc<Session>,
    outlet: Arc<dyn Outlet>,
}

impl Connection<'_> {
    fn receive(&self, text: &ByteString, mut take: impl FnMut(Request)) {
        if text.trim_start().starts_with('[')
            && let Some(batch) = plane::batch(text)
        {
            return batch.for_each(|message| self.receive_one(&message, &mut take));
        }
        self.receive_one(text, &mut take);
    }

    fn receive_one(&self, text: &ByteString, take: &mut impl FnMut(Request)) {
        match plane::read(text) {
            Incoming::Request { id, method, params } => take(Request { id, method, params }),
            Incoming::Notification { method, params } => {
                era::legacy::notified(&self.session, &method, params.as_ref());
            }
            // Nothing was asked.
            Incoming::Answer { .. } | Incoming::Unacceptable { .. } => {}
            Incoming::Noise => self.refuse(match RawJson::checked(text.to_string()) {
                Ok(_) => refusal::invalid_request("this is no request of JSON-RPC 2.0"),
                Err(_) => refusal::parse_error(),
            }),
        }
    }

    /// Answers what cannot be read, and so has no id.
    fn refuse(&self, error: helve_wire::RpcError) {
        self.outlet.send(Message::answer(&RawJson::from_static("null"), &Err(error)));
    }

    async fn answer(&self, request: Request) {
        // A call is a large future; it stays where it is made.
        let work = Box::pin(era::answer(self.gateway, &self.session, &self.outlet, &request));
        if let Some(answer) = self.session.running.run(&request.id, work).await {
            self.outlet.send(Message::answer(&request.id, &answer));
        }
    }
}

/// The lines of a stream.
struct Lines<R> {
    reader: R,
    buffer: LineBuffer,
}

impl<R: AsyncRead + Unpin> Lines<R> {
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
