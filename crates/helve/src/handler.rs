//! What one server tells the host and asks of it.

use std::sync::Arc;

use helve_model::ServerName;
use helve_model::json::RawJson;
use helve_wire::{BoxFuture, ClientCapabilities, Notification, PeerHandler, Question, QuestionKind, RpcError};
use tokio::sync::Notify;

use crate::ask::{ElicitationAnswer, ElicitationRequest, Elicitor};
use crate::event::{EventSink, HostEvent};

/// Listens to one server for its supervisor.
#[derive(Debug)]
pub(crate) struct ServerHandler {
    pub(crate) server: ServerName,
    pub(crate) events: EventSink,
    pub(crate) elicitor: Option<Arc<dyn Elicitor>>,
    /// The list of tools has changed. Holds one permit at most, so that a flood is one change.
    pub(crate) tools_changed: Arc<Notify>,
}

impl PeerHandler for ServerHandler {
    fn capabilities(&self) -> ClientCapabilities {
        let answers = self.elicitor.is_some();
        ClientCapabilities { elicitation_form: answers, elicitation_url: answers, ..ClientCapabilities::default() }
    }

    fn notification(&self, notification: Notification) {
        match notification.method.as_str() {
            "notifications/tools/list_changed" => self.tools_changed.notify_one(),
            "notifications/message" => self.events.send(|| HostEvent::Log {
                server: self.server.clone(),
                params: notification.params.unwrap_or_else(RawJson::empty_object),
            }),
            _ => {}
        }
    }

    fn question(&self, question: Question) -> BoxFuture<'_, Result<RawJson, RpcError>> {
        Box::pin(async move {
            match (question.kind, &self.elicitor) {
                (QuestionKind::Elicitation, Some(elicitor)) => {
                    let params = question.params.unwrap_or_else(RawJson::empty_object);
                    let request = ElicitationRequest { server: self.server.clone(), params };
                    Ok(answer(elicitor.elicit(request).await))
                }
                (kind, _) => Err(RpcError::method_not_found(kind.method())),
            }
        })
    }
}

fn answer(answer: ElicitationAnswer) -> RawJson {
    RawJson::assembled(match answer {
        ElicitationAnswer::Accept(Some(content)) => {
            format!(r#"{{"action":"accept","content":{}}}"#, content.as_str())
        }
        ElicitationAnswer::Accept(None) => r#"{"action":"accept"}"#.to_owned(),
        ElicitationAnswer::Decline => r#"{"action":"decline"}"#.to_owned(),
        ElicitationAnswer::Cancel => r#"{"action":"cancel"}"#.to_owned(),
    })
}
