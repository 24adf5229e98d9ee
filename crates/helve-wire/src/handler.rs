//! What a peer may tell us and ask us, behind one trait, so that callers never see the era.
//!
//! Notifications are handed over one by one, in wire order, from the task that reads the connection: all that came
//! before a response have been handed over when the call returns. Questions (sampling, elicitation, roots) come as
//! server-initiated requests in the legacy era and as `input_required` results in the modern one; both arrive here.

use helve_model::protocol::methods;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;

use helve_model::json::RawJson;
use tokio::sync::Notify;

use crate::error::RpcError;
use helve_model::sync::lock;

/// A future in a box, for traits that are used as objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The one who listens to a peer and answers its questions.
pub trait PeerHandler: Send + Sync + 'static {
    /// What may be asked of us. Declared once, when the connection is made.
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::default()
    }

    /// The peer says something. Called from the reading task: must not block, and must not wait for the peer.
    fn notification(&self, notification: Notification) {
        drop(notification);
    }

    /// The peer had forgotten us, or could not tell of changes for a while, and was greeted or listened to again: what it
    /// would have said meanwhile is lost. Or it no longer tells of something that it used to tell of. Whoever wants to
    /// hear of resources subscribes again, and learns whether he can. Called like [`PeerHandler::notification`].
    fn renewed(&self) {}

    /// The peer asks something that [`PeerHandler::capabilities`] allows; anything else is refused before it gets here.
    fn question(&self, question: PeerQuestion) -> BoxFuture<'_, Result<RawJson, RpcError>> {
        let method = question.kind.method();
        Box::pin(async move { Err(RpcError::method_not_found(method)) })
    }
}

/// A handler that hears everything and answers nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHandler;

impl PeerHandler for NoHandler {}

/// What a client can do for a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// Answers questions by form.
    pub elicitation_form: bool,
    /// Sends the person to a URL.
    pub elicitation_url: bool,
    /// Lends its model.
    pub sampling: bool,
    /// Lends its model together with tools.
    pub sampling_tools: bool,
    /// Names its working directories.
    pub roots: bool,
    /// Says when they change.
    pub roots_list_changed: bool,
    /// Answers with a task where it is asked to, and about that task. In which way is in `written`.
    pub tasks: bool,
    /// Extensions, by name, with their settings.
    pub extensions: Vec<(String, RawJson)>,
    /// Capabilities in the client's own words, by name: details of those above, and others that nobody here knows.
    pub written: Vec<(String, RawJson)>,
}

/// What a peer says without being asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The method, such as `notifications/tools/list_changed`.
    pub method: String,
    /// Its parameters.
    pub params: Option<RawJson>,
}

/// What a peer asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerQuestion {
    /// What kind of question.
    pub kind: QuestionKind,
    /// Its parameters, as the peer wrote them.
    pub params: Option<RawJson>,
    /// The request of ours in whose course it is asked, where the transport tells.
    pub during: Option<u64>,
}

/// The kinds of question a peer may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuestionKind {
    /// `sampling/createMessage`.
    Sampling,
    /// `elicitation/create`.
    Elicitation,
    /// `roots/list`.
    Roots,
    /// About a task that became of an earlier question. The legacy era alone has these.
    Task(TaskQuestion),
}

/// What a peer may ask about a task that somebody made for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskQuestion {
    /// `tasks/get`.
    Get,
    /// `tasks/result`.
    Result,
    /// `tasks/cancel`.
    Cancel,
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Grows with every report.
    pub progress: f64,
    /// What it grows to, if the server knows.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
    /// The parameters as the peer wrote them.
    pub raw: RawJson,
}

impl ClientCapabilities {
    /// As JSON, for `initialize` and for the metadata of modern requests.
    #[must_use]
    pub fn to_json(&self) -> String {
        const KNOWN: [&str; 4] = ["elicitation", "sampling", "roots", "extensions"];
        let written = |name: &str| {
            let (_, value) = self.written.iter().find(|(written, _)| written == name)?;
            Some(format!(r#""{name}":{value}"#))
        };
        let mut members: Vec<String> = Vec::new();
        let mut elicitation: Vec<&str> = Vec::new();
        if self.elicitation_form {
            elicitation.push(r#""form":{}"#);
        }
        if self.elicitation_url {
            elicitation.push(r#""url":{}"#);
        }
        if !elicitation.is_empty() {
            let built = || format!(r#""elicitation":{{{}}}"#, elicitation.join(","));
            members.push(written("elicitation").unwrap_or_else(built));
        }
        if self.sampling {
            let built = || format!(r#""sampling":{{{}}}"#, if self.sampling_tools { r#""tools":{}"# } else { "" });
            members.push(written("sampling").unwrap_or_else(built));
        }
        if self.roots {
            let list_changed = if self.roots_list_changed { r#""listChanged":true"# } else { "" };
            members.push(written("roots").unwrap_or_else(|| format!(r#""roots":{{{list_changed}}}"#)));
        }
        if !self.extensions.is_empty() {
            let extensions: Vec<String> = self
                .extensions
                .iter()
                .map(|(name, settings)| format!("{}:{settings}", serde_json::Value::from(name.as_str())))
                .collect();
            members.push(format!(r#""extensions":{{{}}}"#, extensions.join(",")));
        }
        let unknown = self.written.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str()));
        members.extend(unknown.map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name.as_str()))));
        format!("{{{}}}", members.join(","))
    }

    /// May the peer ask this?
    #[must_use]
    pub const fn allow(&self, kind: QuestionKind) -> bool {
        match kind {
            QuestionKind::Sampling => self.sampling,
            QuestionKind::Elicitation => self.elicitation_form || self.elicitation_url,
            QuestionKind::Roots => self.roots,
            QuestionKind::Task(_) => self.tasks,
        }
    }
}

impl QuestionKind {
    /// The method that asks it.
    #[must_use]
    pub const fn method(self) -> &'static str {
        match self {
            Self::Sampling => methods::SAMPLING_CREATE_MESSAGE,
            Self::Elicitation => methods::ELICITATION_CREATE,
            Self::Roots => methods::ROOTS_LIST,
            Self::Task(TaskQuestion::Get) => methods::TASKS_GET,
            Self::Task(TaskQuestion::Result) => methods::TASKS_RESULT,
            Self::Task(TaskQuestion::Cancel) => methods::TASKS_CANCEL,
        }
    }

    /// The kind a method asks, in either era.
    #[must_use]
    pub fn of_method(method: &str) -> Option<Self> {
        [Self::Sampling, Self::Elicitation, Self::Roots].into_iter().find(|kind| kind.method() == method)
    }

    /// The kind that a request of a peer asks: besides the others, about tasks.
    pub(crate) fn of_request(method: &str) -> Option<Self> {
        let about_tasks = [TaskQuestion::Get, TaskQuestion::Result, TaskQuestion::Cancel].map(Self::Task);
        Self::of_method(method).or_else(|| about_tasks.into_iter().find(|kind| kind.method() == method))
    }
}

/// Notifications waiting for somebody who takes them at leisure: ordered, bounded, and honest about what was lost.
#[derive(Debug)]
pub struct EventQueue {
    limit: usize,
    state: Mutex<QueueState>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<Notification>,
    lost: u64,
}

/// What comes out of an [`EventQueue`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The next notification.
    Notification(Notification),
    /// The queue was full: so many older notifications were dropped here.
    Lost(u64),
}

impl EventQueue {
    /// A queue that holds at most `limit` notifications: the newest.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default(), arrived: Notify::new() }
    }

    /// Puts one in; when the queue is full the oldest goes.
    pub fn push(&self, notification: Notification) {
        {
            let mut state = lock(&self.state);
            if state.waiting.len() >= self.limit {
                drop(state.waiting.pop_front());
                state.lost += 1;
            }
            state.waiting.push_back(notification);
        }
        self.arrived.notify_one();
    }

    /// The next event, in order. Cancel safe.
    pub async fn next(&self) -> Event {
        loop {
            let arrived = self.arrived.notified();
            if let Some(event) = self.try_next() {
                return event;
            }
            arrived.await;
        }
    }

    /// The next event, if one is waiting.
    pub fn try_next(&self) -> Option<Event> {
        let mut state = lock(&self.state);
        match std::mem::take(&mut state.lost) {
            0 => state.waiting.pop_front().map(Event::Notification),
            lost => Some(Event::Lost(lost)),
        }
    }
}

impl fmt::Debug for dyn PeerHandler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PeerHandler").field("capabilities", &self.capabilities()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_as_json() {
        let all = ClientCapabilities {
            elicitation_form: true,
            elicitation_url: true,
            sampling: true,
            sampling_tools: true,
            roots: true,
            roots_list_changed: true,
            tasks: false,
            extensions: vec![("io.modelcontextprotocol/tasks".into(), RawJson::empty_object())],
            written: Vec::new(),
        };
        insta::assert_snapshot!(all.to_json(), @r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#);
        assert_eq!(ClientCapabilities::default().to_json(), "{}");
    }

    #[test]
    fn a_full_queue_keeps_the_newest_and_says_what_is_lost() {
        let queue = EventQueue::new(2);
        for number in 0..5 {
            queue.push(Notification { method: number.to_string(), params: None });
        }
        assert_eq!(queue.try_next(), Some(Event::Lost(3)));
        let event = |method: &str| Event::Notification(Notification { method: method.into(), params: None });
        assert_eq!(queue.try_next(), Some(event("3")));
        assert_eq!(queue.try_next(), Some(event("4")));
        assert_eq!(queue.try_next(), None);
    }
}
