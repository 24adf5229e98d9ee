//! Every limit of a face, by name, with its default.

use std::time::Duration;

/// What one agent may make us hold, wait for or repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one message of an agent.
    pub message_bytes: usize,
    /// Requests of one agent that are being answered at one time; further ones wait unread.
    pub requests_in_flight: usize,
    /// Bytes waiting for an agent that does not read. Beyond it the oldest notifications go, and the agent is not read
    /// from until it reads.
    pub waiting_bytes: usize,
    /// Bytes of answers an agent may leave unread. Beyond it its connection is closed.
    pub unread_bytes: usize,
    /// How long an agent may take to answer a question.
    pub question_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 64 << 20,
            requests_in_flight: 1_024,
            waiting_bytes: 4 << 20,
            unread_bytes: 256 << 20,
            question_time: Duration::from_secs(10 * 60),
        }
    }
}
