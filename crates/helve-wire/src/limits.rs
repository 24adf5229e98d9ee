//! Every limit of the wire, by name, with its default.

use std::time::Duration;

/// What one peer may make us hold, wait for or repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one message, either way. A larger answer fails its own call; the connection lives.
    pub message_bytes: usize,
    /// Bytes of one server-sent event.
    pub event_bytes: usize,
    /// Bytes of the server's stderr kept for diagnostics: the newest.
    pub stderr_bytes: usize,
    /// Notifications waiting in an [`crate::EventQueue`].
    pub notifications_queued: usize,
    /// Calls in flight on one connection.
    pub calls_in_flight: usize,
    /// Questions of the server being answered at the same time.
    pub questions_in_flight: usize,
    /// Bytes waiting to be written to a server that does not read.
    pub outgoing_bytes: usize,
    /// How long a message may wait for the server to read anything at all.
    pub write_stall: Duration,
    /// Rounds of questions within one call.
    pub rounds: u32,
    /// Pages of one listing.
    pub pages: usize,
    /// Items of one listing.
    pub items: usize,
    /// Bytes of a page's cursor.
    pub cursor_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 64 << 20,
            event_bytes: 64 << 20,
            stderr_bytes: 64 << 10,
            notifications_queued: 1_024,
            calls_in_flight: 4_096,
            questions_in_flight: 16,
            outgoing_bytes: 256 << 20,
            write_stall: Duration::from_secs(30),
            rounds: 10,
            pages: 1_000,
            items: 100_000,
            cursor_bytes: 64 << 10,
        }
    }
}
