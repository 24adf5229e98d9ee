//! Server-sent events: bytes in, events out, however the bytes are split. One event is bounded, and an answer that
//! comes as one line of data is never copied together.

use std::time::Duration;

use bytes::{Buf as _, Bytes};

use crate::envelope;

/// Data below this size is copied out of the buffer it was read into, so that a small result does not keep a large
/// buffer alive.
const COPY_BYTES: usize = 16 << 10;
/// What is kept of an event that is too large: enough to find the id of the message at either end.
const HEAD_BYTES: usize = 4 << 10;
const TAIL_BYTES: usize = 1 << 10;
/// A server cannot make us wait longer than this before connecting again.
const MAX_RETRY: Duration = Duration::from_secs(60 * 60);
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event, as the server sent it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// What to name when connecting again.
    pub(crate) id: Option<String>,
    /// The kind; none means `message`.
    pub(crate) event: Option<String>,
    /// The lines of data, joined by line feeds; none when the event has no such line.
    pub(crate) data: Option<Bytes>,
    /// How long to wait before connecting again.
    pub(crate) retry: Option<Duration>,
}

/// What comes out of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decoded {
    Event(SseEvent),
    /// An event went over the limit; it is dropped. Told at once, with the id of the message if its beginning has one,
    /// and again at its end if only the end has it.
    TooLarge {
        id: Option<u64>,
    },
}

/// The state between two reads.
pub(crate) struct SseDecoder {
    limit: usize,
    /// Read and not yet looked at.
    chunk: Bytes,
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    /// The last line ended with a carriage return: a line feed right after it belongs to it.
    after_return: bool,
    /// No line has ended yet: a byte order mark may come first.
    at_start: bool,
    event: Building,
    skipping: Option<Skipped>,
}

/// The event whose lines are coming in.
#[derive(Default)]
struct Building {
    id: Option<String>,
    event: Option<String>,
    data: Option<Data>,
    retry: Option<Duration>,
    bytes: usize,
}

enum Data {
    One(Bytes),
    Many(Vec<u8>),
}

/// An event of which only the ends are kept.
struct Skipped {
    tail: Vec<u8>,
    told: bool,
    /// The current line has something in it, so that its end does not end the event.
    in_line: bool,
}

impl SseDecoder {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            chunk: Bytes::new(),
            line: Vec::new(),
            after_return: false,
            at_start: true,
            event: Building::default(),
            skipping: None,
        }
    }

    /// Takes what was read; call [`SseDecoder::next`] until it has nothing more before the next push.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        self.chunk = chunk;
    }

    /// The next event that is complete.
    pub(crate) fn next(&mut self) -> Option<Decoded> {
        loop {
            if self.after_return {
                match self.chunk.first() {
                    None => return None,
                    Some(b'\n') => self.chunk.advance(1),
                    Some(_) => {}
                }
                self.after_return = false;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', &self.chunk) else {
                return self.hold_rest();
            };
            let part = self.chunk.split_to(end);
            self.after_return = self.chunk.first() == Some(&b'\r');
            self.chunk.advance(1);
            let decoded = if self.skipping.is_some() {
                self.skip_part(&part);
                self.end_skipped_line()
            } else if self.line.is_empty() {
                self.take_line(part)
            } else {
                self.line.extend_from_slice(&part);
                let line = Bytes::from(std::mem::take(&mut self.line));
                self.take_line(line)
            };
            if decoded.is_some() {
                return decoded;
            }
        }
    }

    /// No line end in sight.
    fn hold_rest(&mut self) -> Option<Decoded> {
        let rest = std::mem::take(&mut self.chunk);
        if self.skipping.is_some() {
            self.skip_part(&rest);
            return None;
        }
        self.line.extend_from_slice(&rest);
        if self.line.first() == Some(&b':') {
            self.line.truncate(1);
        }
        if self.event.bytes + self.line.len() <= self.limit {
            return None;
        }
        let line = std::mem::take(&mut self.line);
        let in_line = !line.is_empty();
        Some(self.begin_skipping(&line, in_line))
    }

    fn take_line(&mut self, mut line: Bytes) -> Option<Decoded> {
        if std::mem::take(&mut self.at_start) && line.starts_with(BYTE_ORDER_MARK) {
            line.advance(BYTE_ORDER_MARK.len());
        }
        if line.is_empty() {
            return std::mem::take(&mut self.event).finish().map(Decoded::Event);
        }
        if line.starts_with(b":") {
            return None;
        }
        if self.event.bytes + line.len() > self.limit {
            return Some(self.begin_skipping(&line, false));
        }
        self.event.bytes += line.len();
        let (name, value) = split_field(&line);
        match name {
            b"data" => {
                let value = line.slice_ref(value);
                self.event.add_data(value);
            }
            b"event" => self.event.event = Some(text(value)),
            b"id" if !value.contains(&0) => self.event.id = Some(text(value)),
            b"retry" => self.event.retry = milliseconds(value).or(self.event.retry),
            _ => {}
        }
        None
    }

    /// Lets go of the event, keeping what the id of its message can be found in.
    fn begin_skipping(&mut self, line: &[u8], in_line: bool) -> Decoded {
        let event = std::mem::take(&mut self.event);
        let held: &[u8] = match &event.data {
            None => &[],
            Some(Data::One(data)) => data,
            Some(Data::Many(data)) => data,
        };
        let (name, value) = split_field(line);
        let value = if name == b"data" { value } else { &[] };
        let head: Vec<u8> = held.iter().chain(value).copied().take(HEAD_BYTES).collect();
        let id = envelope::recover_id(&String::from_utf8_lossy(&head), "");
        self.skipping = Some(Skipped { tail: Vec::new(), told: id.is_some(), in_line });
        self.skip_part(line);
        if !in_line && let Some(skipped) = &mut self.skipping {
            skipped.in_line = false;
        }
        Decoded::TooLarge { id }
    }

    fn skip_part(&mut self, part: &[u8]) {
        let Some(skipped) = &mut self.skipping else { return };
        skipped.in_line |= !part.is_empty();
        skipped.tail.extend_from_slice(part.get(part.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default());
        let surplus = skipped.tail.len().saturating_sub(TAIL_BYTES);
        drop(skipped.tail.drain(..surplus));
    }

    fn end_skipped_line(&mut self) -> Option<Decoded> {
        let skipped = self.skipping.as_mut()?;
        if std::mem::take(&mut skipped.in_line) {
            return None;
        }
        let skipped = self.skipping.take().filter(|skipped| !skipped.told)?;
        let id = envelope::recover_id("{", &String::from_utf8_lossy(&skipped.tail))?;
        Some(Decoded::TooLarge { id: Some(id) })
    }
}

impl Building {
    fn add_data(&mut self, value: Bytes) {
        self.data = Some(match self.data.take() {
            None => Data::One(value),
            Some(Data::One(first)) => {
                let mut lines = Vec::with_capacity(first.len() + 1 + value.len());
                lines.extend_from_slice(&first);
                lines.push(b'\n');
                lines.extend_from_slice(&value);
                Data::Many(lines)
            }
            Some(Data::Many(mut lines)) => {
                lines.push(b'\n');
                lines.extend_from_slice(&value);
                Data::Many(lines)
            }
        });
    }

    /// The event, unless there was nothing in it.
    fn finish(self) -> Option<SseEvent> {
        let data = self.data.map(|data| match data {
            Data::One(data) if data.len() < COPY_BYTES => Bytes::copy_from_slice(&data),
            Data::One(data) => data,
            Data::Many(data) => Bytes::from(data),
        });
        let event = SseEvent { id: self.id, event: self.event, data, retry: self.retry };
        (event != SseEvent::default()).then_some(event)
    }
}

fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(colon) = memchr::memchr(b':', line) else { return (line, &[]) };
    let (name, rest) = line.split_at(colon);
    let value = rest.get(1..).unwrap_or_default();
    (name, value.strip_prefix(b" ").unwrap_or(value))
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

fn milliseconds(value: &[u8]) -> Option<Duration> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // More digits than fit are as good as the longest wait.
    let number = std::str::from_utf8(value).ok()?.parse().unwrap_or(u64::MAX);
    Some(Duration::from_millis(number).min(MAX_RETRY))
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
