//! What is remembered of an agent that speaks the legacy protocol, from its `initialize` to its end.

use std::fmt;
use std::sync::{Arc, Mutex};

use helve_model::json::RawJson;

use crate::message::Message;
use crate::news::{Level, Listener, News};
use crate::outbox::Outlet;
use crate::running::Running;
use crate::sync::lock;

/// The session of one agent.
pub(crate) struct Session {
    state: Mutex<State>,
    /// For what belongs to no request.
    standalone: Arc<dyn Outlet>,
    pub(crate) running: Running,
}

#[derive(Debug, Default)]
struct State {
    /// The agent has said `initialize`.
    greeted: bool,
    /// The agent hears log messages from this level on.
    log_level: Level,
}

impl Session {
    pub(crate) fn new(standalone: Arc<dyn Outlet>) -> Self {
        Self { state: Mutex::default(), standalone, running: Running::default() }
    }

    pub(crate) fn greet(&self) {
        lock(&self.state).greeted = true;
    }

    pub(crate) fn set_log_level(&self, level: Level) {
        lock(&self.state).log_level = level;
    }

    fn tell(&self, method: &str, params: Option<&RawJson>) {
        self.standalone.send(Message::notification(method, params));
    }
}

impl Listener for Session {
    fn hear(&self, news: &News) {
        {
            let state = lock(&self.state);
            if !state.greeted || matches!(news, News::Log { level, .. } if *level < state.log_level) {
                return;
            }
        }
        match news {
            News::Tools => self.tell("notifications/tools/list_changed", None),
            News::Log { params, .. } => self.tell("notifications/message", Some(params)),
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Session").field("state", &self.state).finish_non_exhaustive()
    }
}
