//! Live topics: whoever looks at one hears that it changed; what is shown is rendered once for all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use helve_model::sync::lock;
use tokio::sync::watch;

/// What changed, told to whoever looks. Made before the hub, because the store's thread tells it too.
#[derive(Debug)]
pub struct Live {
    /// Grows with every call that was recorded and every change of a server.
    changed: watch::Sender<u64>,
    /// What each topic shows, rendered.
    topics: Mutex<HashMap<String, (u64, Bytes)>>,
}

impl Default for Live {
    fn default() -> Self {
        Self { changed: watch::Sender::new(0), topics: Mutex::default() }
    }
}

/// So many topics are kept rendered.
const KEPT: usize = 64;

impl Live {
    /// Something changed.
    pub fn touch(&self) {
        self.changed.send_modify(|number| *number += 1);
    }

    /// Hears every time that something changed.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// What a topic shows now: rendered by the first who asks, the same bytes for everybody else.
    pub(crate) fn rendered(&self, topic: &str, render: impl FnOnce() -> String) -> Bytes {
        let number = *self.changed.borrow();
        let mut topics = lock(&self.topics);
        if let Some((known, bytes)) = topics.get(topic)
            && *known == number
        {
            return bytes.clone();
        }
        if topics.len() >= KEPT {
            topics.clear();
        }
        let bytes = event(&render());
        topics.insert(topic.to_owned(), (number, bytes.clone()));
        bytes
    }
}

/// A text as one event of a stream.
fn event(text: &str) -> Bytes {
    let mut event = String::with_capacity(text.len() + 64);
    for line in text.lines() {
        event.push_str("data: ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    Bytes::from(event)
}

/// What an open stream is fed by: it ends when its session does.
pub(crate) type Topic = Arc<dyn Fn() -> Bytes + Send + Sync>;
