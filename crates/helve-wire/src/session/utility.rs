//! The small requests: is it alive, how much should it log, what could come next; and what we know when it fails.

use std::sync::Arc;

use helve_model::SecretSet;
use helve_model::json::RawJson;
use helve_model::protocol::methods;

use super::Session;
use crate::channel::Ask;
use crate::encode::{object, quoted};
use crate::error::Result;
#[cfg(unix)]
use crate::launch::ExitReport;
use crate::request::Times;

/// How much a server should tell in its log notifications.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Everything.
    #[default]
    Debug,
    /// What it does.
    Info,
    /// What is worth knowing.
    Notice,
    /// What may go wrong.
    Warning,
    /// What went wrong.
    Error,
    /// What must be looked at.
    Critical,
    /// What must be looked at now.
    Alert,
    /// What has broken down.
    Emergency,
}

/// What a completion is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionSubject<'a> {
    /// An argument of the prompt of this name.
    Prompt(&'a str),
    /// A variable of this resource template.
    ResourceTemplate(&'a str),
}

/// What is known about a connection beyond its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostics {
    /// The newest part of the server's stderr.
    pub stderr: String,
    /// Messages that were not JSON-RPC: log lines on stdout, most likely.
    pub noise: u64,
    /// The first few of them, shortened.
    pub first_noise: Vec<String>,
    /// Answers and progress reports to nothing that was asked, or asked no longer.
    pub unmatched: u64,
    /// Notifications that were left out because the server did not read what waited for it.
    pub dropped: u64,
    /// How the server's process ended, if it is a process and has ended.
    #[cfg(unix)]
    pub exit: Option<ExitReport>,
}

impl Session {
    /// Is the server alive? `ping`, or the modern era's `server/discover`.
    ///
    /// # Errors
    /// When no answer comes in time.
    pub async fn ping(&self, times: Times) -> Result<()> {
        let method = self.shared.speech.liveness_method();
        self.shared.ask(Ask { times, ..Ask::new(method, &[]) }).await.map(drop)
    }

    /// True when the server is reached over HTTP+SSE, the older of the two HTTP transports.
    #[must_use]
    pub fn is_over_sse(&self) -> bool {
        self.shared.channel.link().is_sse()
    }

    /// Asks for log messages from this level on: at once in the legacy era, with each request in the modern one.
    ///
    /// # Errors
    /// When a legacy server refuses.
    pub async fn set_log_level(&self, level: LogLevel, times: Times) -> Result<()> {
        let Some(method) = self.shared.speech.log_level_method() else {
            self.set_log_level_in_meta(level);
            return Ok(());
        };
        let level = quoted(level.as_str());
        self.shared.ask(Ask { times, ..Ask::new(method, &[("level", &level)]) }).await.map(drop)
    }

    /// What could stand for an argument that begins with `value`; `context` has the arguments chosen before.
    ///
    /// # Errors
    /// When the server does not offer completion, or refuses.
    pub async fn complete(
        &self,
        subject: CompletionSubject<'_>,
        argument: &str,
        value: &str,
        context: Option<&RawJson>,
        times: Times,
    ) -> Result<RawJson> {
        let subject = match subject {
            CompletionSubject::Prompt(name) => object(&[("type", r#""ref/prompt""#), ("name", &quoted(name))]),
            CompletionSubject::ResourceTemplate(uri) => object(&[("type", r#""ref/resource""#), ("uri", &quoted(uri))]),
        };
        let argument = object(&[("name", &quoted(argument)), ("value", &quoted(value))]);
        let context = context.map(|arguments| object(&[("arguments", arguments.as_str())]));
        let mut members = vec![("ref", subject.as_str()), ("argument", argument.as_str())];
        members.extend(context.as_ref().map(|context| ("context", context.as_str())));
        self.shared.ask(Ask { times, ..Ask::new(methods::COMPLETION_COMPLETE, &members) }).await
    }

    /// The values of this server that must not be repeated; `None` when it has none.
    #[must_use]
    pub fn secrets(&self) -> Option<&Arc<SecretSet>> {
        self.shared.channel.dispatcher().secrets()
    }

    /// How many messages were none of the protocol's so far.
    #[must_use]
    pub fn noise(&self) -> u64 {
        self.shared.channel.dispatcher().noises()
    }

    /// What the server wrote since there were `before` of them that is not a message of the protocol, in words; `None` when there
    /// was nothing.
    #[must_use]
    pub fn noise_since(&self, before: u64) -> Option<String> {
        self.shared.channel.dispatcher().noise_since(before)
    }

    /// What is known beyond the answers: for people who look for the reason of a failure.
    #[must_use]
    pub fn diagnostics(&self) -> Diagnostics {
        let (noise, first_noise) = self.shared.channel.dispatcher().noise();
        let unmatched = self.shared.channel.dispatcher().unmatched();
        let link = self.shared.channel.link();
        Diagnostics {
            stderr: link.stderr(),
            noise,
            first_noise,
            unmatched,
            dropped: link.dropped(),
            #[cfg(unix)]
            exit: link.exit(),
        }
    }
}

impl LogLevel {
    /// All of them, the least important first.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// The level that the protocol has this word for.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }

    /// The protocol's word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}
