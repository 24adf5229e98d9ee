//! Cutting a byte stream into lines: bounded, tolerant of CRLF and of characters split between reads, and without a
//! copy for large messages.

use bytes::Bytes;
use bytestring::ByteString;

use crate::envelope;

/// What a connection holds that never had a longer message.
const FIRST_BYTES: usize = 1 << 10;
/// What an idle connection holds.
const IDLE_BYTES: usize = 4 << 10;
/// The least room for a read once a message does not fit the idle buffer.
const READ_BYTES: usize = 64 << 10;
/// The most room made at once: doubling a large buffer would hold, and first touch, far more than the message needs.
const GROW_BYTES: usize = 8 << 20;
/// Lines from this size on take the buffer with them instead of being copied out of it.
const TAKE_BYTES: usize = 16 << 10;
/// What is kept of a line that is too large: enough to find its id at either end.
const HEAD_BYTES: usize = 4 << 10;
const TAIL_BYTES: usize = 1 << 10;

/// One line, or what is left of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Text, without its line end. Never blank.
    Text(ByteString),
    /// Not UTF-8; the text has replacement characters in it.
    NotUtf8(ByteString),
    /// Over the limit. Told once, as soon as the request it answers is known, at the latest when the line ends.
    TooLarge {
        /// The request it answers, if it is an answer and says so.
        id: Option<u64>,
    },
}

/// The bytes read and not yet handed on.
pub struct LineBuffer {
    limit: usize,
    data: Vec<u8>,
    /// Where the current line begins.
    start: usize,
    /// Up to where no line end was found.
    searched: usize,
    skipping: Option<Skipped>,
}

/// A line of which only the ends are kept.
struct Skipped {
    head: String,
    tail: Vec<u8>,
    told: bool,
}

impl LineBuffer {
    /// An empty buffer for lines of up to `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, data: Vec::new(), start: 0, searched: 0, skipping: None }
    }

    /// Room for the next read; what is read is appended.
    pub fn room(&mut self) -> &mut Vec<u8> {
        if self.start == self.data.len() {
            self.start = 0;
            self.searched = 0;
            if self.data.capacity() > READ_BYTES {
                self.data = Vec::new();
            }
            self.data.clear();
        } else if self.start > READ_BYTES || (self.start > 0 && self.data.capacity() - self.data.len() < IDLE_BYTES / 2)
        {
            drop(self.data.drain(..self.start));
            self.searched -= self.start;
            self.start = 0;
        }
        let room = match self.data.capacity() {
            _ if self.is_within_large() => self.data.len().clamp(READ_BYTES, GROW_BYTES),
            small if small < IDLE_BYTES && self.data.is_empty() => FIRST_BYTES,
            _ => IDLE_BYTES,
        };
        if self.data.capacity() - self.data.len() < room / 2 {
            self.data.reserve_exact(room);
        }
        &mut self.data
    }

    /// True while a message larger than the idle buffer is coming in.
    pub fn is_within_large(&self) -> bool {
        self.skipping.is_some() || self.data.len() - self.start >= IDLE_BYTES
    }

    /// The next complete line.
    pub fn next_line(&mut self) -> Option<Line> {
        loop {
            let fresh = self.data.get(self.searched..).unwrap_or_default();
            let Some(found) = memchr::memchr(b'\n', fresh) else {
                self.searched = self.data.len();
                return self.hold_back();
            };
            let end = self.searched + found;
            if self.skipping.is_some() {
                if let Some(line) = self.end_skipped(end) {
                    return Some(line);
                }
                continue;
            }
            if end - self.start > self.limit {
                self.skip(end);
                if let Some(line) = self.end_skipped(end) {
                    return Some(line);
                }
                continue;
            }
            let line = self.take(end);
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Some(to_text(line));
            }
        }
    }

    /// No line end in sight: above the limit the line is let go, and told about as soon as its id is known.
    fn hold_back(&mut self) -> Option<Line> {
        let waiting = self.data.len() - self.start;
        if self.skipping.is_none() && waiting <= self.limit {
            return None;
        }
        self.skip(self.data.len());
        let skipped = self.skipping.as_mut().filter(|skipped| !skipped.told)?;
        let id = envelope::recover_id(&skipped.head, "")?;
        skipped.told = true;
        Some(Line::TooLarge { id: Some(id) })
    }

    /// Lets go of the bytes up to `end`, keeping what the id can be found in.
    fn skip(&mut self, end: usize) {
        let bytes = self.data.get(self.start..end).unwrap_or_default();
        let skipped = self.skipping.get_or_insert_with(|| Skipped {
            head: String::from_utf8_lossy(bytes.get(..HEAD_BYTES).unwrap_or(bytes)).into_owned(),
            tail: Vec::new(),
            told: false,
        });
        skipped.tail.extend_from_slice(bytes.get(bytes.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default());
        let surplus = skipped.tail.len().saturating_sub(TAIL_BYTES);
        drop(skipped.tail.drain(..surplus));
        if end == self.data.len() {
            // The large buffer is given back at once; `room` makes a small one.
            self.data.clear();
            self.data.shrink_to(READ_BYTES);
            self.start = 0;
            self.searched = 0;
        } else {
            self.start = end;
            self.searched = end;
        }
    }

    /// The line end of a line that is being skipped.
    fn end_skipped(&mut self, end: usize) -> Option<Line> {
        if self.start < end {
            self.skip(end);
        }
        self.start = end + 1;
        self.searched = end + 1;
        let skipped = self.skipping.take()?;
        if skipped.told {
            return None;
        }
        Some(Line::TooLarge { id: envelope::recover_id(&skipped.head, &String::from_utf8_lossy(&skipped.tail)) })
    }

    /// The line that ends at `end`, without its line end.
    fn take(&mut self, end: usize) -> Bytes {
        let (start, next) = (self.start, end + 1);
        let carriage_return = end > start && self.data.get(end - 1) == Some(&b'\r');
        let text_end = end - usize::from(carriage_return);
        if text_end - start < TAKE_BYTES {
            let line = Bytes::copy_from_slice(self.data.get(start..text_end).unwrap_or_default());
            self.start = next;
            self.searched = next;
            return line;
        }
        let rest = self.data.split_off(next);
        let whole = std::mem::replace(&mut self.data, rest);
        self.start = 0;
        self.searched = 0;
        Bytes::from(whole).slice(start..text_end)
    }
}

impl std::fmt::Debug for LineBuffer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LineBuffer").field("waiting", &(self.data.len() - self.start)).finish_non_exhaustive()
    }
}

fn to_text(line: Bytes) -> Line {
    match ByteString::try_from(line.clone()) {
        Ok(text) => Line::Text(text),
        Err(_) => Line::NotUtf8(ByteString::from(String::from_utf8_lossy(&line).into_owned())),
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
