//! What a spoke hears: which servers its token may see and whose lists changed, on one stream for all of them. At `/feed`,
//! for whoever brings an agent's token.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use helve::{HostEvent, ServerEntry};
use helve_model::json::{ObjectWriter, RawJson};
use helve_model::sync::lock;
use helve_model::{Action, Definition as _, Principal, QualifiedName, ServerName, ServerStatus, ToolName};
use helve_policy::{Caller, Scope};
use helve_store::TokenKind;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use tokio::sync::{mpsc, watch};

use crate::answer::{self, Body};
use crate::hub::Hub;

/// How often something is said although nothing changed: whoever listens knows that the hub is there.
const BEAT: Duration = Duration::from_secs(10);

/// Between two lists on one stream: servers that come and go all the time cost no more.
const GAP: Duration = Duration::from_millis(250);

/// Streams that one token may have open.
const MOST_OF_ONE_TOKEN: usize = 64;

/// Servers that one stream tells of.
const MOST_SERVERS: usize = 256;

/// What is known for all streams.
#[derive(Debug)]
pub(crate) struct Feeds {
    /// Grows when a server comes, goes or lists something else.
    changed: watch::Sender<u64>,
    marks: Mutex<HashMap<ServerName, Mark>>,
    open: Mutex<HashMap<Principal, usize>>,
}

/// What the lists of a server are known by.
struct Mark {
    /// Of which this is the mark.
    entry: Arc<ServerEntry>,
    tools: u64,
    /// Grows when its resources or prompts are others.
    offers: u64,
}

/// One stream, counted while it is open.
struct Open {
    hub: Arc<Hub>,
    principal: Principal,
}

impl Default for Feeds {
    fn default() -> Self {
        Self { changed: watch::Sender::new(0), marks: Mutex::default(), open: Mutex::default() }
    }
}

impl Feeds {
    /// Something happened at the host.
    pub(crate) fn heard(&self, event: &HostEvent) {
        match event {
            HostEvent::ResourcesChanged { server } | HostEvent::PromptsChanged { server } => {
                if let Some(mark) = lock(&self.marks).get_mut(server) {
                    mark.offers += 1;
                }
            }
            HostEvent::Catalog { .. } | HostEvent::Status { .. } | HostEvent::Lost(_) => {}
            _ => return,
        }
        self.touch();
    }

    /// Every stream looks again at what it may tell, and whether it still may.
    pub(crate) fn touch(&self) {
        self.changed.send_modify(|number| *number += 1);
    }

    /// The mark of a server's lists: another one when an agent would be listed something else.
    fn mark(&self, entry: &Arc<ServerEntry>) -> String {
        let mut marks = lock(&self.marks);
        let known = marks.get(entry.name()).filter(|known| Arc::ptr_eq(&known.entry, entry));
        if let Some(known) = known {
            return format!("{:016x}-{}", known.tools, known.offers);
        }
        let tools = listed(entry);
        let offers = marks.get(entry.name()).map_or(0, |known| known.offers);
        marks.insert(entry.name().clone(), Mark { entry: Arc::clone(entry), tools, offers });
        format!("{tools:016x}-{offers}")
    }
}

/// A number for what agents are listed of a server.
fn listed(entry: &ServerEntry) -> u64 {
    let mut hasher = DefaultHasher::new();
    entry.instructions().hash(&mut hasher);
    for tool in entry.tools() {
        let is_denied = matches!(tool.policy().foresee(Caller::Agent), Some((Action::Deny, _)));
        (tool.definition().raw().as_str(), is_denied).hash(&mut hasher);
    }
    hasher.finish()
}

/// Answers at `/feed`.
pub(crate) fn answer(hub: &Arc<Hub>, method: &Method, headers: &HeaderMap) -> Response<Body> {
    let bearer = crate::door::bearer(headers).map(ToOwned::to_owned);
    let holder = bearer.as_deref().and_then(|token| hub.tokens.holder(token, hub.now()));
    let Some((bearer, holder)) = bearer.zip(holder.filter(|holder| holder.kind == TokenKind::Agent)) else {
        let mut response = answer::plain(StatusCode::UNAUTHORIZED, "an agent's token is needed");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return response;
    };
    if *method != Method::GET {
        return answer::plain(StatusCode::METHOD_NOT_ALLOWED, "a stream is asked for with GET");
    }
    if let Some((status, why)) = hub.face.bars_circle(headers) {
        return answer::plain(status, why);
    }
    let Some(open) = Open::new(hub, &holder.principal) else {
        return answer::plain(StatusCode::TOO_MANY_REQUESTS, "this token has as many streams open as it may");
    };
    let device = headers.get(helve_setup::DEVICE_HEADER).and_then(|name| name.to_str().ok()).map(ToOwned::to_owned);
    if let Some(device) = &device {
        hub.devices.saw(&holder.id, device, hub.now());
    }
    let (sender, receiver) = mpsc::channel(2);
    tokio::spawn(tell(open, bearer, holder.id, device, sender));
    answer::events(receiver)
}

/// Tells of servers until nobody listens, or the token does not count any more.
async fn tell(open: Open, bearer: String, id: String, device: Option<String>, sender: mpsc::Sender<Bytes>) {
    let hub = &open.hub;
    let mut changed = hub.feeds.changed.subscribe();
    let mut told: Option<Bytes> = None;
    loop {
        changed.mark_unchanged();
        let now = hub.now();
        if hub.tokens.holder(&bearer, now).is_none() {
            return;
        }
        if let Some(device) = &device {
            hub.devices.saw(&id, device, now);
        }
        // The scope anew each time: it is the token's, and the token may be another by now.
        let list = servers(hub, &hub.tokens.scope(&open.principal));
        let event = if told.as_ref() == Some(&list) { Bytes::from_static(b": here\n\n") } else { list.clone() };
        told = Some(list);
        if sender.send(event).await.is_err() {
            return;
        }
        tokio::time::sleep(GAP).await;
        tokio::select! {
            () = sender.closed() => return,
            // Nobody can change anything any more when the hub is gone.
            heard = tokio::time::timeout(BEAT, changed.changed()) => if matches!(heard, Ok(Err(_))) { return },
        }
    }
}

/// The servers that somebody of this scope may see, as an event. Those that the hub itself has from another hub are not
/// handed on: lists of hubs that joined each other would grow without end.
fn servers(hub: &Hub, scope: &Scope) -> Bytes {
    let snapshot = hub.host().snapshot();
    let is_on = |entry: &&Arc<ServerEntry>| {
        let status = hub.host().server_status(entry.name().as_str()).map(|report| report.status);
        !matches!(status, Some(ServerStatus::Disabled(_)))
    };
    let is_own = |entry: &&Arc<ServerEntry>| entry.name().place().is_none();
    let shown = snapshot.servers().filter(is_own).filter(|entry| may_see(scope, entry)).filter(is_on);
    let shown = shown.take(MOST_SERVERS);
    let shown = shown.map(|entry| {
        ObjectWriter::new().text("name", entry.name().as_str()).text("lists", &hub.feeds.mark(entry)).into_text()
    });
    let list = ObjectWriter::new().raw("servers", RawJson::array(shown)).into_text();
    Bytes::from(format!("event: servers\ndata: {list}\n\n"))
}

/// Is there anything of a server in a scope? Of one whose tools are not known, something may be.
fn may_see(scope: &Scope, entry: &ServerEntry) -> bool {
    let includes = |tool: ToolName| scope.includes(&QualifiedName::new(entry.name().clone(), tool));
    let mut tools = entry.tools().peekable();
    if tools.peek().is_none() {
        return includes(ToolName::new("*"));
    }
    tools.any(|tool| scope.includes(tool.name()))
}

impl Open {
    /// `None` when the token has as many as it may.
    fn new(hub: &Arc<Hub>, principal: &Principal) -> Option<Self> {
        let mut open = lock(&hub.feeds.open);
        let count = open.entry(principal.clone()).or_default();
        if *count >= MOST_OF_ONE_TOKEN {
            return None;
        }
        *count += 1;
        Some(Self { hub: Arc::clone(hub), principal: principal.clone() })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut open = lock(&self.hub.feeds.open);
        if let Some(count) = open.get_mut(&self.principal) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.principal);
            }
        }
    }
}

impl std::fmt::Debug for Mark {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Mark").field("tools", &self.tools).field("offers", &self.offers).finish_non_exhaustive()
    }
}
