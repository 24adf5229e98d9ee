//! What each principal may hold at one time, so that none of them costs another anything.
//!
//! Every limit is one principal's. A principal that reaches one waits a moment for what it holds to come free, and then hears which limit
//! it was and when to try again.

mod pace;
mod tally;
mod turns;

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use helve::CallError;
use helve_model::{ErrorCode, ServerName};
use helve_wire::RpcError;

pub(crate) use pace::Pace;
pub use pace::behind_the_others;
pub(crate) use tally::{Held, Tally};
pub(crate) use turns::{Taken, Taker, Turns};

use crate::limits::Limits;
use crate::refusal;
use helve_model::sync::lock;

/// How long a request waits at a limit.
pub(crate) const WAIT: Duration = Duration::from_secs(1);

/// When it is worth trying again.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Requests of one principal that wait at one limit; further ones are refused at once.
const MOST_WAITING: usize = 256;

/// Notifications of one principal that are on their way to servers.
const MOST_NOTIFICATIONS: usize = 64;

/// Messages up to this size are not counted in bytes: the number of connections and requests bounds them.
pub(crate) const UNCOUNTED_BYTES: usize = 64 << 10;

/// A limit of one principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Requests being answered.
    Requests,
    /// Calls on their way to a server that principals share.
    ServerCalls,
    /// Calls that wait for an answer of the agent.
    ParkedCalls,
    /// Bytes of what those calls say.
    ParkedBytes,
    /// Sessions over HTTP.
    Sessions,
    /// Connections over HTTP.
    Connections,
    /// Notifications on their way to servers.
    Notifications,
    /// Bytes of requests.
    RequestBytes,
    /// Bytes of answers.
    AnswerBytes,
}

/// A principal holds as much as it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exceeded(pub(crate) Limit);

/// The limits of a gateway, and who holds what of them.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Requests being answered.
    pub(crate) requests: Turns,
    /// Calls that wait for an answer of the agent.
    pub(crate) parked: Tally,
    /// Bytes of what those calls say.
    pub(crate) parked_bytes: Tally,
    /// Notifications on their way to servers.
    pub(crate) notifications: Tally,
    /// Bytes of requests that are being read or answered.
    pub(crate) request_bytes: Tally,
    /// Bytes of answers that were not read yet.
    pub(crate) unread_bytes: Tally,
    /// Whose request is next.
    pub(crate) pace: Pace,
    /// Bytes of finished streams kept for agents that come back.
    pub(crate) kept_answers: Tally,
    /// Calls on their way to servers that principals share.
    servers: Mutex<HashMap<ServerName, Turns>>,
    /// Turns at one such server.
    calls_per_server: usize,
}

impl Ledger {
    pub(crate) fn new(limits: &Limits, calls_per_server: usize) -> Self {
        // Whoever is alone has all that a server is to have, and whoever comes then finds room besides: a principal takes at
        // most half of this. Of a single call there is no half.
        let calls_per_server = if calls_per_server > 1 { calls_per_server.saturating_mul(2) } else { 1 };
        Self {
            requests: Turns::new(Limit::Requests, limits.requests),
            parked: Tally::new(Limit::ParkedCalls, limits.parked_calls),
            parked_bytes: Tally::new(Limit::ParkedBytes, limits.parked_bytes),
            notifications: Tally::new(Limit::Notifications, MOST_NOTIFICATIONS),
            request_bytes: Tally::new(Limit::RequestBytes, limits.request_bytes),
            unread_bytes: Tally::new(Limit::AnswerBytes, limits.unread_bytes),
            pace: Pace::default(),
            kept_answers: Tally::new(Limit::AnswerBytes, limits.answer_bytes),
            servers: Mutex::default(),
            calls_per_server,
        }
    }

    /// The turns at one server.
    pub(crate) fn server(&self, server: &ServerName) -> Turns {
        let mut servers = lock(&self.servers);
        if let Some(turns) = servers.get(server) {
            return turns.clone();
        }
        let turns = Turns::new(Limit::ServerCalls, self.calls_per_server);
        servers.insert(server.clone(), turns.clone());
        turns
    }
}

impl Limit {
    /// The limit in a word for programs, and what there is too much of.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Requests => ("requests", "requests being answered"),
            Self::ServerCalls => ("serverCalls", "calls on their way to this server"),
            Self::ParkedCalls => ("parkedCalls", "calls waiting for an answer"),
            Self::ParkedBytes => ("parkedBytes", "bytes of calls waiting for an answer"),
            Self::Sessions => ("sessions", "sessions"),
            Self::Connections => ("connections", "connections"),
            Self::Notifications => ("notifications", "notifications on their way"),
            Self::RequestBytes => ("requestBytes", "bytes of requests"),
            Self::AnswerBytes => ("answerBytes", "bytes of unread answers"),
        }
    }
}

impl Exceeded {
    pub(crate) fn call_error(self) -> CallError {
        let (word, what) = self.0.words();
        let message = format!("the same user or token has as many {what} as it may have");
        CallError::new(ErrorCode::LimitExceeded, message).with_limit(word, RETRY_AFTER)
    }
}

impl From<Exceeded> for RpcError {
    fn from(exceeded: Exceeded) -> Self {
        refusal::of_call(&exceeded.call_error())
    }
}
