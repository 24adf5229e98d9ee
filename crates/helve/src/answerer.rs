//! What servers ask of a host and tell it, in the protocol's own words, whichever era they speak; and the four kinds of
//! answerer a program can give instead, each for one kind of question.

use std::fmt;

use helve_model::ServerName;
use helve_model::json::RawJson;
use helve_schema::{Elicitation, SamplingRequest};
use helve_wire::{BoxFuture, ClientCapabilities, EraPreference, PeerQuestion, RpcError};

/// Answers whatever servers ask, unopened: for programs that pass questions on.
///
/// Programs that answer themselves give an [`Elicitor`], a [`Sampler`] or a [`RootsProvider`], which get only questions
/// that can be answered, and whose answers are checked.
pub trait Answerer: Send + Sync {
    /// What servers are told they may ask.
    fn capabilities(&self) -> ClientCapabilities;

    /// In which era servers that have both are to be spoken to: one who is asked in the way of the legacy era gets more
    /// from servers that can ask in no other.
    fn era_preference(&self) -> EraPreference {
        EraPreference::Newest
    }

    /// A server asks something that the capabilities allow.
    fn question<'a>(
        &'a self,
        server: &'a ServerName,
        question: PeerQuestion,
    ) -> BoxFuture<'a, Result<RawJson, RpcError>>;

    /// A server logs something. Must not block: the server is not heard meanwhile.
    fn log(&self, server: &ServerName, params: &RawJson) {
        let _: (&ServerName, &RawJson) = (server, params);
    }
}

/// Answers what servers ask a person in the course of a call.
pub trait Elicitor: Send + Sync {
    /// A server wants to know something, by a form or by sending the person to a URL. No server asks twice at once.
    fn elicit(&self, request: ElicitationRequest) -> BoxFuture<'_, ElicitationAnswer>;
}

/// What a server wants to know.
#[derive(Debug, Clone, PartialEq)]
pub struct ElicitationRequest {
    /// Which server asks.
    pub server: ServerName,
    /// The question, which can be put to a person.
    pub question: Elicitation,
    /// The parameters as the server wrote them.
    pub params: RawJson,
}

/// What the person answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElicitationAnswer {
    /// The fields of the form, as an object; for a URL, consent to open it.
    Accept(Option<RawJson>),
    /// No.
    Decline,
    /// The person went away without an answer.
    Cancel,
}

/// Lends a model to servers.
pub trait Sampler: Send + Sync {
    /// A server wants a message of the model. The answer is a `sampling/createMessage` result; an error is a sentence
    /// the server gets.
    fn sample(&self, request: SamplingCall) -> BoxFuture<'_, Result<RawJson, String>>;

    /// The model can be given tools.
    fn takes_tools(&self) -> bool {
        false
    }
}

/// What a server wants a model to answer.
#[derive(Debug, Clone)]
pub struct SamplingCall {
    /// Which server asks.
    pub server: ServerName,
    /// The request; its raw form has everything the server wrote.
    pub request: SamplingRequest,
}

/// How much of the model servers may use. Each server has as much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplingLimits {
    /// Requests, for as long as the host lives.
    pub calls: u32,
    /// Tokens that may be asked for, all requests together.
    pub tokens: u64,
    /// Requests of one server that may be open at once, those within others included.
    pub concurrent: u32,
}

/// Says in which directories servers are to work.
pub trait RootsProvider: Send + Sync {
    /// The directories for this server.
    fn roots(&self, server: &ServerName) -> Vec<Root>;
}

/// A directory to work in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// A `file://` URI.
    pub uri: String,
    /// What people call it.
    pub name: Option<String>,
}

/// Hears what servers log.
pub trait LogSink: Send + Sync {
    /// A server logs something. Must not block: the server is not heard meanwhile.
    fn log(&self, line: LogLine);
}

/// What a server logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Which server.
    pub server: ServerName,
    /// How grave it is, in the server's word.
    pub level: String,
    /// Which part of the server.
    pub logger: Option<String>,
    /// What it logs: a text most often, any JSON.
    pub data: RawJson,
}

impl Default for SamplingLimits {
    fn default() -> Self {
        Self { calls: 100, tokens: 200_000, concurrent: 2 }
    }
}

impl LogLine {
    pub(crate) fn read(server: &ServerName, params: &RawJson) -> Self {
        Self {
            server: server.clone(),
            level: params.member_str("level").unwrap_or_else(|| "info".to_owned()),
            logger: params.member_str("logger"),
            data: params.member("data").unwrap_or_else(|| params.clone()),
        }
    }

    /// What it logs as text: a string as it is, everything else as JSON.
    #[must_use]
    pub fn text(&self) -> String {
        self.data.parse::<String>().unwrap_or_else(|_| self.data.as_str().to_owned())
    }
}

impl fmt::Debug for dyn Answerer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Answerer").field("capabilities", &self.capabilities()).finish_non_exhaustive()
    }
}

macro_rules! named_in_debug {
    ($($name:ident),*) => {$(
        impl fmt::Debug for dyn $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(stringify!($name))
            }
        }
    )*};
}

named_in_debug!(Elicitor, Sampler, RootsProvider, LogSink);
