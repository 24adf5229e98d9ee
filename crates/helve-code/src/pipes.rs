//! Owns a worker's pipes as the host sees them: whole lines in, each within a limit; bytes out, as many as the pipe takes.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::unix::pipe;

/// What is read at once: a pipe has no more.
const READ_BYTES: usize = 64 << 10;

/// Lines of a worker, each within a limit.
pub(crate) struct Lines {
    /// What was read stands between `begin` and `end`; up to `seen` there is no line's end.
    buffer: Vec<u8>,
    begin: usize,
    seen: usize,
    end: usize,
    most: usize,
}

/// What came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// A line: [`Lines::line`] is it.
    Line,
    /// The end: there is nobody any more who writes.
    End,
}

impl Lines {
    pub(crate) fn new(unread: Vec<u8>, most: usize) -> Self {
        let end = unread.len();
        Self { buffer: unread, begin: 0, seen: 0, end, most }
    }

    /// Reads until there is a whole line. An error is a line over the limit.
    pub(crate) fn poll_line(
        &mut self,
        stdout: &mut pipe::Receiver,
        context: &mut Context<'_>,
    ) -> Poll<Result<Arrived, String>> {
        loop {
            let unseen = self.buffer.get(self.seen..self.end).unwrap_or_default();
            if let Some(length) = unseen.iter().position(|byte| *byte == b'\n') {
                self.seen += length;
                return Poll::Ready(Ok(Arrived::Line));
            }
            self.seen = self.end;
            if self.end - self.begin > self.most {
                return Poll::Ready(Err(format!("it wrote a message of more than {} bytes", self.most)));
            }
            self.make_room();
            let mut room = ReadBuf::new(self.buffer.get_mut(self.end..).unwrap_or_default());
            let read = ready!(Pin::new(&mut *stdout).poll_read(context, &mut room));
            match (read, room.filled().len()) {
                (Err(_), _) | (Ok(()), 0) => return Poll::Ready(Ok(Arrived::End)),
                (Ok(()), bytes) => self.end += bytes,
            }
        }
    }

    /// The line that came, without its end. It is given once.
    pub(crate) fn line(&mut self) -> &[u8] {
        let line = self.begin..self.seen;
        self.seen = (self.seen + 1).min(self.end);
        self.begin = self.seen;
        self.buffer.get(line).unwrap_or_default()
    }

    /// The next line; `None` at the end. Cancel safe: what was read stays.
    pub(crate) async fn next(&mut self, stdout: &mut pipe::Receiver) -> Result<Option<&[u8]>, String> {
        match poll_fn(|context| self.poll_line(stdout, context)).await? {
            Arrived::Line => Ok(Some(self.line())),
            Arrived::End => Ok(None),
        }
    }

    /// What was read behind the last line.
    pub(crate) fn rest(self) -> Vec<u8> {
        self.buffer.get(self.begin..self.end).unwrap_or_default().to_vec()
    }

    /// Room for what comes next. A long line makes it grow by doubling.
    fn make_room(&mut self) {
        if self.begin == self.end {
            (self.begin, self.seen, self.end) = (0, 0, 0);
        }
        if self.end < self.buffer.len() {
            return;
        }
        self.buffer.copy_within(self.begin..self.end, 0);
        self.end -= self.begin;
        (self.begin, self.seen) = (0, self.end);
        if self.end == self.buffer.len() {
            self.buffer.resize((2 * self.end).max(READ_BYTES), 0);
        }
    }
}

/// What a worker is to read.
#[derive(Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    written: usize,
}

impl Outbox {
    pub(crate) fn put(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Bytes that nobody has taken yet.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.written
    }

    /// Writes what the pipe takes. Whoever polls is woken when it takes more.
    pub(crate) fn poll_flush(&mut self, stdin: &mut pipe::Sender, context: &mut Context<'_>) {
        while self.written < self.bytes.len() {
            let left = self.bytes.get(self.written..).unwrap_or_default();
            match Pin::new(&mut *stdin).poll_write(context, left) {
                Poll::Pending => return,
                Poll::Ready(Ok(bytes)) => self.written += bytes,
                // It is gone, and its end is noticed where it is read.
                Poll::Ready(Err(_)) => self.written = self.bytes.len(),
            }
        }
        self.bytes.clear();
        self.written = 0;
    }
}

#[cfg(test)]
#[path = "pipes_tests.rs"]
mod tests;
