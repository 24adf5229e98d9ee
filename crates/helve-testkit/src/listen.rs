//! Owns change notifications: `subscriptions/listen` of the modern era, and who is told what.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::call::{Call, ResultKind};
use crate::frame::MessageKind;
use crate::meta::{SUBSCRIPTION_ID, TASKS_EXTENSION};
use crate::peer::Connection;

/// The open subscriptions of a peer, over all its connections.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    open: Mutex<Vec<Listener>>,
    /// What becomes of those who come now.
    next: Mutex<NextListener>,
}

/// What a peer that has ended its subscriptions does with the next.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NextListener {
    #[default]
    Taken,
    /// An error.
    Refused,
    /// Acknowledged, without the resources.
    Shortened,
}

#[derive(Debug)]
struct Listener {
    call: Call,
    filter: Value,
}

/// Something a client may have asked to hear of.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    Resource(String),
}

impl Change {
    fn method(&self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Resource(_) => "notifications/resources/updated",
        }
    }

    fn wanted_by(&self, filter: &Value) -> bool {
        match self {
            Self::Tools => filter["toolsListChanged"] == true,
            Self::Prompts => filter["promptsListChanged"] == true,
            Self::Resources => filter["resourcesListChanged"] == true,
            Self::Resource(uri) => {
                filter["resourceSubscriptions"].as_array().is_some_and(|uris| uris.iter().any(|known| known == uri))
            }
        }
    }

    fn params(&self) -> Map<String, Value> {
        let mut params = Map::new();
        if let Self::Resource(uri) = self {
            params.insert("uri".to_string(), json!(uri));
        }
        params
    }
}

/// Opens a subscription: acknowledges what it will tell, and stays open.
pub(crate) fn listen(call: &Call) {
    let params = call.params();
    let Some(wanted) = params["notifications"].as_object() else {
        return call.error(-32602, "notifications is missing");
    };
    if wanted.contains_key("taskIds") && !call.client_can(&extension_pointer()) {
        return call.missing_capability(&json!({ "extensions": { TASKS_EXTENSION: {} } }));
    }
    let next = *call.peer.inner.listeners.next.lock().unwrap_or_else(PoisonError::into_inner);
    if let NextListener::Refused = next {
        return call.error(-32603, "no more listeners");
    }
    let offers = call.peer.scenario().offers;
    let mut filter = Map::new();
    for (key, value) in wanted {
        let offered = match key.as_str() {
            "toolsListChanged" => offers.tools,
            "promptsListChanged" => offers.prompts,
            "resourcesListChanged" => offers.resources,
            "resourceSubscriptions" => offers.resources && !matches!(next, NextListener::Shortened),
            _ => false,
        };
        if offered {
            filter.insert(key.clone(), value.clone());
        }
    }
    let filter = Value::Object(filter);
    call.running("subscriptions/listen", false);
    let acknowledged = json!({ "_meta": { SUBSCRIPTION_ID: call.id_value() }, "notifications": filter });
    call.notify("notifications/subscriptions/acknowledged", &acknowledged);
    call.peer.inner.listeners.lock().push(Listener { call: call.clone(), filter });
}

/// Tells everybody who wants to know: modern subscriptions, and the legacy client that caused it.
pub(crate) fn announce(cause: &Call, change: &Change) {
    for listener in cause.peer.inner.listeners.lock().iter() {
        if change.wanted_by(&listener.filter) {
            let mut params = change.params();
            params.insert("_meta".to_string(), json!({ SUBSCRIPTION_ID: listener.call.id_value() }));
            listener.call.notify(change.method(), &Value::Object(params));
        }
    }
    if cause.is_modern() {
        return;
    }
    if let Change::Resource(uri) = change
        && !cause.connection.state().subscribed.contains(uri)
    {
        return;
    }
    let mut message = json!({ "jsonrpc": "2.0", "method": change.method() });
    let params = change.params();
    if !params.is_empty() {
        message["params"] = Value::Object(params);
    }
    cause.connection.standalone.send_message(MessageKind::Other, message.to_string());
}

/// How a peer ends a subscription: the specification has a result on one page and a notification on another.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SubscriptionEnd {
    #[default]
    Result,
    Cancelled,
    /// Without a word.
    Abrupt,
}

/// Ends every subscription.
pub(crate) fn end_all(cause: &Call, how: SubscriptionEnd, next: NextListener) {
    *cause.peer.inner.listeners.next.lock().unwrap_or_else(PoisonError::into_inner) = next;
    let ended = std::mem::take(&mut *cause.peer.inner.listeners.lock());
    for listener in ended {
        let id = listener.call.id_value();
        match how {
            SubscriptionEnd::Result => {
                let mut own_meta = Map::new();
                own_meta.insert(SUBSCRIPTION_ID.to_string(), id);
                listener.call.result_text(ResultKind::Complete, "{}", own_meta);
            }
            SubscriptionEnd::Cancelled => listener.call.notify("notifications/cancelled", &json!({ "requestId": id })),
            SubscriptionEnd::Abrupt => {}
        }
        listener.call.finished();
    }
}

pub(crate) fn extension_pointer() -> String {
    format!("/extensions/{}", TASKS_EXTENSION.replace('/', "~1"))
}

impl Listeners {
    /// Forgets the subscription that this connection opened with this id.
    pub(crate) fn remove(&self, connection: &Arc<Connection>, id: &str) {
        self.lock().retain(|listener| listener.call.id != id || !Arc::ptr_eq(&listener.call.connection, connection));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Listener>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
