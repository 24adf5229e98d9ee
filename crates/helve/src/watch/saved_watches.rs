//! Watches over a restart of the process: what was watched, and what it looked like.

use std::sync::Arc;
use std::time::Duration;

use helve_model::json::RawJson;
use helve_model::{QualifiedName, ServerName, ToolName};
use serde::{Deserialize, Serialize};

use super::poll::Standing;
use super::{Watch, WatchChange, WatchId, WatchSource, Watcher};
use crate::error::CallError;
use helve_model::sync::lock;

/// A watch as it is kept. What it holds of the content is a hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedWatch {
    /// Its number, by which whoever made it knows it. Those kept before there was one get a new one.
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    events: u64,
    #[serde(default)]
    polls: u64,
    #[serde(default)]
    failures: u64,
    server: String,
    reason: Option<String>,
    /// The URI or the tool's name.
    target: String,
    kind: Kind,
    content: Option<[u8; 32]>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Subscription,
    Tool { arguments: String, every_ms: u64 },
    Resource { every_ms: u64 },
}

impl Watcher {
    /// What is watched, to be kept.
    #[must_use]
    pub fn save(&self) -> Vec<SavedWatch> {
        let watches = lock(&self.inner.watches);
        let saved = watches.values().map(|watch| {
            let kind = match &watch.source {
                WatchSource::Subscription { .. } => Kind::Subscription,
                WatchSource::PolledTool { arguments, every, .. } => {
                    Kind::Tool { arguments: arguments.as_str().to_owned(), every_ms: milliseconds(*every) }
                }
                WatchSource::PolledResource { every, .. } => Kind::Resource { every_ms: milliseconds(*every) },
            };
            let counts = lock(&watch.counts);
            SavedWatch {
                id: Some(watch.id.0),
                events: counts.events,
                polls: counts.polls,
                failures: counts.failures,
                server: watch.source.server().as_str().to_owned(),
                reason: watch.reason.clone(),
                target: watch.source.target().to_owned(),
                kind,
                content: counts.content,
            }
        });
        saved.collect()
    }

    /// Goes on with a watch that was kept, under its id if this owner has no other of that id. A subscription tells at once
    /// that it may have changed; a poll tells when the content is another one than it was. Permission for what a poll does is
    /// asked anew.
    ///
    /// # Errors
    /// As [`Watcher::subscribe`] and [`Watcher::poll_tool`].
    pub async fn resume(&self, saved: &SavedWatch) -> Result<WatchId, CallError> {
        let reason = saved.reason.as_deref().unwrap_or_default();
        let source = match &saved.kind {
            Kind::Subscription => {
                let watch = self.subscribed(&saved.server, &saved.target, reason, saved.id()).await?;
                saved.count(&watch);
                watch.tell(WatchChange::MayHaveChanged);
                return Ok(self.keep(watch));
            }
            Kind::Tool { arguments, every_ms } => {
                let server = self.server_name(&saved.server)?;
                let arguments = RawJson::checked(arguments.as_str()).map_err(|error| unusable(&error.to_string()))?;
                let every = Duration::from_millis(*every_ms);
                let name = QualifiedName::new(server, ToolName::new(saved.target.as_str()));
                WatchSource::PolledTool { name, arguments, every }
            }
            Kind::Resource { every_ms } => WatchSource::PolledResource {
                server: self.server_name(&saved.server)?,
                uri: saved.target.clone(),
                every: Duration::from_millis(*every_ms),
            },
        };
        let (WatchSource::PolledTool { every, .. } | WatchSource::PolledResource { every, .. }) = source.clone() else {
            return Err(unusable("it is of no kind"));
        };
        super::poll::check(every)?;
        let watch = self.new_watch(source, reason, saved.id())?;
        saved.count(&watch);
        Ok(self.begin_polling(watch, Arc::new(Standing::new(self.inner.host.clone())), every))
    }

    fn server_name(&self, server: &str) -> Result<ServerName, CallError> {
        self.host()?.shared().check_known(server)?;
        ServerName::new(server).map_err(|problem| unusable(&problem.to_string()))
    }
}

impl SavedWatch {
    fn id(&self) -> Option<WatchId> {
        self.id.map(WatchId)
    }

    fn count(&self, watch: &Watch) {
        let mut counts = lock(&watch.counts);
        (counts.events, counts.polls, counts.failures) = (self.events, self.polls, self.failures);
        counts.content = self.content;
    }
}

fn unusable(problem: &str) -> CallError {
    CallError::new(helve_model::ErrorCode::InvalidParams, format!("a kept watch cannot be used: {problem}"))
}

fn milliseconds(every: Duration) -> u64 {
    u64::try_from(every.as_millis()).unwrap_or(u64::MAX)
}
