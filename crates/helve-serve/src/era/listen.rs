//! `subscriptions/listen`: one long request by which a modern agent hears of changes.

use helve_model::protocol::notifications;
use std::sync::Arc;

use helve_model::json::{ObjectWriter, RawJson, quoted};
use helve_model::protocol::meta as meta_key;
use helve_wire::RpcError;

use crate::change_notices::{ChangeNotice, Listener};
use crate::exchange::Exchange;
use crate::gate::{self, Meta, Request};
use crate::message::Message;
use crate::outbox::Outlet;
use crate::refusal::invalid_params;
use crate::resources;
use crate::watching::Watching;

/// Resources that one request may want to hear about.
const MOST_URIS: usize = 512;

/// Listens until the agent takes the request back.
pub(crate) async fn listen(exchange: &Exchange, request: &Request, meta: &Meta) -> Result<RawJson, RpcError> {
    let wanted = request.param("notifications").filter(RawJson::is_object);
    let wanted = wanted.ok_or_else(|| invalid_params("`notifications` is missing, or no object"))?;
    let uris = wanted.member("resourceSubscriptions").and_then(|uris| uris.elements()).unwrap_or_default();
    if uris.len() > MOST_URIS {
        let message = format!("resourceSubscriptions has {} URIs: no more than {MOST_URIS} are taken", uris.len());
        return Err(invalid_params(message));
    }
    let wants = |key: &str| wanted.member(key).is_some_and(|value| value.as_str() == "true");
    let listening = Arc::new(Listening {
        tag: ObjectWriter::new().raw(meta_key::SUBSCRIPTION_ID, &request.id).finish(),
        stream: Arc::clone(&exchange.stream),
        tools: wants("toolsListChanged"),
        prompts: wants("promptsListChanged"),
        resources: wants("resourcesListChanged"),
    });
    let updates = Arc::clone(&listening);
    let watching = Watching::new(Arc::new(move |params: &RawJson| {
        updates.tell(notifications::RESOURCES_UPDATED, Some(params));
    }));
    let mut watched = Vec::new();
    for uri in uris.iter().filter_map(|uri| uri.parse::<String>().ok()) {
        let Ok(place) = resources::place_of_resource(exchange, &uri).await else { continue };
        let Ok(assigned) = exchange.host_for(&place.server).await else { continue };
        if gate::follow(exchange, &assigned.host, &place, meta).await.is_err() {
            continue;
        }
        let Ok(_turn) = exchange.turn_at(&place.server).await else { continue };
        if watching.add(&assigned.host, &place, &uri).await.is_ok() {
            watched.push(quoted(&uri));
        }
    }
    exchange.gateway.listeners.add(&listening);
    exchange.agent.listeners.add(&listening);
    listening.acknowledge(&watched);
    // What came between the list it was given and now, nobody told it.
    let now = exchange.catalog().listed(exchange.gateway.options.discovery);
    if exchange.agent.listed().is_some_and(|listed| listed != now) {
        Arc::clone(&listening).hear(ChangeNotice::Tools);
    }
    std::future::pending::<()>().await;
    drop(watching);
    Ok(RawJson::empty_object())
}

/// One who listens.
struct Listening {
    /// The metadata that marks every notification as belonging to the request.
    tag: RawJson,
    stream: Arc<dyn Outlet>,
    tools: bool,
    prompts: bool,
    resources: bool,
}

impl Listening {
    fn acknowledge(&self, watched: &[String]) {
        let lists = [
            (self.tools, "toolsListChanged"),
            (self.prompts, "promptsListChanged"),
            (self.resources, "resourcesListChanged"),
        ];
        let mut accepted = ObjectWriter::new();
        for (_, key) in lists.iter().filter(|(wanted, _)| *wanted) {
            accepted.add_raw(key, "true");
        }
        if !watched.is_empty() {
            accepted = accepted.array("resourceSubscriptions", watched);
        }
        let params = ObjectWriter::new().object("notifications", accepted).finish();
        self.tell(notifications::SUBSCRIPTIONS_ACKNOWLEDGED, Some(&params));
    }

    fn tell(&self, method: &str, params: Option<&RawJson>) {
        let params = params.map_or_else(ObjectWriter::new, ObjectWriter::after).raw("_meta", &self.tag);
        self.stream.send(Message::notification(method, Some(&params.finish())));
    }
}

impl Listener for Listening {
    fn hear(self: Arc<Self>, news: ChangeNotice) {
        let wants = match news {
            ChangeNotice::Tools => self.tools,
            ChangeNotice::Prompts => self.prompts,
            ChangeNotice::Resources => self.resources,
        };
        if wants {
            self.tell(news.method(), None);
        }
    }
}
