//! Owns what the peer remembers of its client: every frame and every event, in order, and waiting for them without sleeping.

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Notify;

/// A handle on what one peer has seen. Clones see the same.
#[derive(Clone, Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
}

/// One thing the peer has seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedEvent {
    /// A message from the client, as it came (invalid UTF-8 replaced).
    Frame(String),
    /// The client closed its side of a byte stream.
    Eof,
    /// The client cancelled this request (its id as JSON text): by notification, or by hanging up in the modern era.
    Cancelled { id: String, tool: Option<String> },
    /// The client did what it must not; the text says what.
    Violation(String),
    /// A retry brought this `requestState` back.
    RequestState { same_value: bool, same_bytes: bool },
    /// The client answered a request of the peer.
    Answered { method: String, answer: Value },
    /// The peer ended itself.
    Exited { status: i32 },
    /// An HTTP request; header names in lower case.
    Http { verb: String, path: String, headers: Vec<(String, String)> },
}

/// Nothing of the kind was seen in time; says what was.
#[derive(Debug, thiserror::Error)]
#[error("not seen within {waited:?}: {wanted}; the peer has seen:\n{seen}")]
pub struct NotSeen {
    wanted: String,
    waited: Duration,
    seen: Recording,
}

/// Everything seen so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recording {
    pub entries: Vec<RecordedEvent>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    recording: Recording,
    bytes: u64,
    file: Option<fs_err::File>,
}

impl Recorder {
    /// A recorder that also appends each entry to `file`, one JSON object per line.
    pub(crate) fn new(file: Option<&Path>) -> Self {
        let mut state = State::default();
        if let Some(path) = file {
            match fs_err::OpenOptions::new().create(true).append(true).open(path) {
                Ok(file) => state.file = Some(file),
                Err(error) => state.recording.entries.push(RecordedEvent::Violation(format!("cannot record: {error}"))),
            }
        }
        Self { shared: Arc::new(Shared { state: Mutex::new(state), changed: Notify::new() }) }
    }

    pub(crate) fn add(&self, entry: RecordedEvent) {
        {
            let mut state = self.state();
            if let Some(file) = &mut state.file
                && let Ok(mut line) = serde_json::to_vec(&entry)
            {
                line.push(b'\n');
                // A recording that cannot be written shows in the test that reads it.
                drop(file.write_all(&line));
            }
            state.recording.entries.push(entry);
        }
        self.shared.changed.notify_waiters();
    }

    pub(crate) fn add_frame(&self, frame: &[u8]) {
        self.add(RecordedEvent::Frame(String::from_utf8_lossy(frame).into_owned()));
    }

    pub(crate) fn add_bytes(&self, count: usize) {
        self.state().bytes += count as u64;
    }

    /// Everything seen so far.
    pub fn recording(&self) -> Recording {
        self.state().recording.clone()
    }

    /// The frames the client wrote, in order.
    pub fn frames(&self) -> Vec<String> {
        self.recording().frames()
    }

    /// The frames as JSON; those that are none are left out.
    pub fn messages(&self) -> Vec<Value> {
        self.recording().messages()
    }

    /// The methods of the requests and notifications the client sent, in order.
    pub fn methods(&self) -> Vec<String> {
        self.recording().methods()
    }

    /// How many messages with this method came.
    pub fn count(&self, method: &str) -> usize {
        self.methods().iter().filter(|seen| *seen == method).count()
    }

    /// How many bytes the client wrote to the stream (byte streams only).
    pub fn bytes_received(&self) -> u64 {
        self.state().bytes
    }

    /// What the client did wrong, in the peer's eyes.
    pub fn violations(&self) -> Vec<String> {
        let entries = self.recording().entries;
        entries
            .into_iter()
            .filter_map(|entry| if let RecordedEvent::Violation(text) = entry { Some(text) } else { None })
            .collect()
    }

    /// Waits until `find` returns something; `wanted` names it in the error.
    pub async fn wait_for<T>(
        &self,
        wanted: &str,
        deadline: Duration,
        find: impl Fn(&Recording) -> Option<T>,
    ) -> Result<T, NotSeen> {
        let search = async {
            loop {
                let changed = self.shared.changed.notified();
                if let Some(found) = find(&self.state().recording) {
                    return found;
                }
                changed.await;
            }
        };
        match tokio::time::timeout(deadline, search).await {
            Ok(found) => Ok(found),
            Err(_) => Err(NotSeen { wanted: wanted.to_string(), waited: deadline, seen: self.recording() }),
        }
    }

    /// Waits until `count` messages with this method have come, and returns the last of them.
    pub async fn wait_for_method(&self, method: &str, count: usize, deadline: Duration) -> Result<Value, NotSeen> {
        self.wait_for(&format!("{count} × {method}"), deadline, |recording| {
            let mut found = recording.messages().into_iter().filter(|message| message["method"] == method);
            found.nth(count.checked_sub(1)?)
        })
        .await
    }

    /// Waits until a request was cancelled, and returns its id as JSON text.
    pub async fn wait_for_cancel(&self, deadline: Duration) -> Result<String, NotSeen> {
        self.wait_for("a cancelled request", deadline, |recording| {
            recording.entries.iter().find_map(|entry| match entry {
                RecordedEvent::Cancelled { id, .. } => Some(id.clone()),
                _ => None,
            })
        })
        .await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recording {
    /// Reads the file named by [`Scenario::record_to`](crate::Scenario::record_to); a last line cut short is left out.
    pub fn load(path: &Path) -> std::io::Result<Self> {
        let text = fs_err::read_to_string(path)?;
        Ok(Self { entries: text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect() })
    }

    pub fn frames(&self) -> Vec<String> {
        let frames = self
            .entries
            .iter()
            .filter_map(|entry| if let RecordedEvent::Frame(text) = entry { Some(text) } else { None });
        frames.cloned().collect()
    }

    pub fn messages(&self) -> Vec<Value> {
        let frames = self
            .entries
            .iter()
            .filter_map(|entry| if let RecordedEvent::Frame(text) = entry { Some(text) } else { None });
        frames.filter_map(|frame| serde_json::from_str(frame).ok()).collect()
    }

    pub fn methods(&self) -> Vec<String> {
        self.messages().iter().filter_map(|message| message["method"].as_str().map(str::to_string)).collect()
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.entries {
            writeln!(formatter, "  {}", serde_json::to_string(entry).unwrap_or_default())?;
        }
        Ok(())
    }
}
