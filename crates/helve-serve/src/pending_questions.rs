//! Questions to an agent that speaks the legacy protocol: sent as requests of ours, answered by id.

use helve_model::protocol::notifications;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use helve_model::json::{ObjectWriter, RawJson};
use helve_model::protocol::code;
use helve_wire::RpcError;
use helve_wire::plane::AnswerId;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::message::Message;
use crate::outbox::Outlet;
use helve_model::sync::lock;

/// How long an agent may take to answer: there may be a person behind it.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10 * 60);

type Answer = Result<RawJson, RpcError>;

/// What one agent was asked and has not answered yet.
#[derive(Debug, Default)]
pub(crate) struct PendingQuestions {
    last: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
}

impl PendingQuestions {
    /// Asks, and waits for the answer. Dropped before that, the agent is told that nobody waits any more.
    pub(crate) async fn ask(&self, outlet: &dyn Outlet, method: &str, params: Option<&RawJson>) -> Answer {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answered) = oneshot::channel();
        lock(&self.waiting).insert(id, sender);
        let open = Open { asked: self, outlet, id };
        outlet.send(Message::question(id, method, params));
        match timeout(ANSWERED_WITHIN, answered).await {
            Ok(Ok(answer)) => answer,
            // Whoever holds the sender is gone, and the agent with it.
            Ok(Err(_)) => Err(nobody("the agent is gone")),
            Err(_) => {
                drop(open);
                Err(nobody("the agent did not answer in time"))
            }
        }
    }

    /// An answer has come; what nobody waits for is dropped.
    pub(crate) fn answered(&self, id: AnswerId, answer: Answer) {
        let (AnswerId::Ours(id) | AnswerId::Mistyped(id)) = id else { return };
        let waiting = lock(&self.waiting).remove(&id);
        if let Some(waiting) = waiting {
            // The one who asked may just have gone.
            drop(waiting.send(answer));
        }
    }
}

/// A question in the air.
struct Open<'a> {
    asked: &'a PendingQuestions,
    outlet: &'a dyn Outlet,
    id: u64,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if lock(&self.asked.waiting).remove(&self.id).is_some() {
            let params = ObjectWriter::new().number("requestId", self.id).finish();
            self.outlet.send(Message::notification(notifications::CANCELLED, Some(&params)));
        }
    }
}

fn nobody(message: &str) -> RpcError {
    RpcError { code: code::SERVER_ERROR, message: message.to_owned(), data: None }
}
