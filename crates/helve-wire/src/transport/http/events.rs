//! A stream of events over the body of an answer, and how its messages reach the dispatcher.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use bytestring::ByteString;

use crate::dispatch::{Dispatcher, MessageOrigin, Outlet, unacceptable};
use crate::transport::http::body::Body;
use crate::transport::http::sse::{Decoded, SseDecoder, SseEvent};

/// A stream being read.
pub(crate) struct EventStream {
    body: Body,
    decoder: SseDecoder,
    /// What to name when connecting again. Kept over the streams of one exchange.
    pub(crate) position: Position,
}

/// How far a stream was read, and what the server says about connecting again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Position {
    pub(crate) last_event_id: Option<String>,
    pub(crate) retry: Option<Duration>,
}

impl EventStream {
    pub(crate) fn new(body: Body, event_bytes: usize, position: Position) -> Self {
        Self { body, decoder: SseDecoder::new(event_bytes), position }
    }

    /// The next event; `None` when the stream has ended, `Err` when it broke. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Result<Decoded, hyper::Error>> {
        loop {
            if let Some(decoded) = self.decoder.next() {
                if let Decoded::Event(event) = &decoded {
                    self.position.note(event);
                }
                return Some(Ok(decoded));
            }
            match self.body.next().await? {
                Ok(chunk) => self.decoder.push(chunk),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Nothing more is expected: the connection is freed if the stream ends soon.
    pub(crate) fn finish(self) {
        self.body.discard();
    }
}

impl Position {
    fn note(&mut self, event: &SseEvent) {
        if let Some(id) = &event.id {
            // An empty id takes back what was said before.
            self.last_event_id = Some(id.clone()).filter(|id| !id.is_empty());
        }
        self.retry = event.retry.or(self.retry);
    }
}

/// Hands the message of an event, or the body of an answer, to the dispatcher. Priming events carry nothing.
pub(crate) fn deliver(dispatcher: &Dispatcher, data: Bytes, origin: MessageOrigin, outlet: &Arc<dyn Outlet>) {
    if data.iter().all(u8::is_ascii_whitespace) {
        return;
    }
    match ByteString::try_from(data.clone()) {
        Ok(text) => dispatcher.deliver(&text, origin, outlet),
        Err(_) => {
            let text = ByteString::from(String::from_utf8_lossy(&data).into_owned());
            dispatcher.deliver_broken(&text, unacceptable("is not UTF-8"));
        }
    }
}
