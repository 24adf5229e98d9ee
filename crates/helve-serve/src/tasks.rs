//! Calls that became tasks at a server: which names agents know them by, and whose they are.
//!
//! Agents get names that are made here. A name stands for one task of one server, made for one principal: no other principal
//! can use it, and no server can claim a task that another one made.

use helve_model::protocol::{methods, notifications};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use helve_model::json::{ObjectWriter, RawJson, quoted, scan};
use helve_model::{Owner, Principal, ServerName};
use helve_wire::RpcError;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio::time::Instant;

use crate::change_notices::Notification;
use crate::exchange::Exchange;
use crate::gate::{self, Meta, Request};
use crate::key::GatewayKey;
use crate::limits::Limits;
use crate::named_questions;
use crate::owner_store::{Bounds, OwnerStore};
use crate::refusal::{invalid_params, protocol_error};
use crate::resources::offering;
use helve_model::sync::lock;

/// The longest name that a server may give a task.
const MOST_ID_BYTES: usize = 1 << 10;

/// Bytes of the names of one server's tasks that are remembered for one principal.
const MOST_BYTES: usize = 1 << 20;

/// How long a task is remembered that nobody asks about.
const TASK_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// How a name that is made here begins: the version of what follows.
const NAME_VERSION: &str = "t1-";

/// Bytes of a name that is made here, before they are written as text.
const NAME_BYTES: usize = 24;

/// Pages of one server's list of tasks that are gone through, and tasks of all servers that are listed.
const MOST_PAGES: usize = 64;
const MOST_LISTED: usize = 4_096;

/// Where metadata names the task that a message belongs to.
const RELATED: &str = helve_model::protocol::meta::RELATED_TASK;

/// The states that a task does not leave.
const FINAL: [&str; 3] = ["completed", "failed", "cancelled"];

/// What notifications about tasks begin with.
const NOTICES: &str = notifications::TASKS;

/// Whose tasks are where.
#[derive(Debug)]
pub(crate) struct Tasks {
    /// What the servers call them, by the names that agents know.
    known: OwnerStore<Arc<str>>,
    /// Names are made with it; `None`: there is no randomness, and so no names.
    key: Option<[u8; 32]>,
}

impl Tasks {
    pub(crate) fn new(limits: &Limits, key: &GatewayKey) -> Self {
        let bounds = Bounds { entries: limits.tasks, bytes: MOST_BYTES, time: TASK_TIME };
        Self { known: OwnerStore::new(bounds), key: key.derived("task ids") }
    }

    /// Forgets tasks that nobody asked about for too long.
    pub(crate) fn sweep(&self) {
        self.known.sweep();
    }

    /// Remembers a task that a server made for a principal, and gives the name that the agent is to know it by: the same
    /// one however often the server names it.
    fn made(&self, owner: &Owner, id: &str) -> Result<String, RpcError> {
        let bytes = id.len();
        if bytes > MOST_ID_BYTES {
            let message = format!("the server's taskId has {bytes} bytes: no more than {MOST_ID_BYTES} are taken");
            return Err(protocol_error(message));
        }
        let name = self.name(owner, id).ok_or_else(|| protocol_error("tasks cannot be named here"))?;
        self.known.keep(owner, &name, Arc::from(id), bytes);
        Ok(name)
    }

    /// The name of a task that this server made for this principal; `None` when it made none of this id.
    fn known(&self, owner: &Owner, id: &str) -> Option<String> {
        if id.len() > MOST_ID_BYTES {
            return None;
        }
        self.name(owner, id).filter(|name| self.known.has(owner, name))
    }

    /// The name that a task has for agents. Nobody can make one up, and it tells nothing.
    fn name(&self, owner: &Owner, id: &str) -> Option<String> {
        let mut hasher = Hmac::<Sha256>::new_from_slice(self.key.as_ref()?).ok()?;
        for part in [owner.principal.id(), owner.server.as_str(), id] {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
        let digest = hasher.finalize().into_bytes();
        Some(format!("{NAME_VERSION}{}", URL_SAFE_NO_PAD.encode(digest.get(..NAME_BYTES)?)))
    }

    /// What a server said to an agent, with the task in its metadata under the name that the agent knows. A task that is
    /// not the agent's is not mentioned.
    pub(crate) fn for_agent(&self, owner: &Owner, message: &RawJson) -> RawJson {
        with_related(message, |id| self.known(owner, id))
    }

    /// What an agent said to a server, with the task in its metadata as the server calls it.
    pub(crate) fn for_server(&self, owner: &Owner, message: &RawJson) -> RawJson {
        with_related(message, |name| self.known.get(owner, name).map(|id| id.to_string()))
    }

    /// A notification of a server as the agents of this principal get it; `None` when it is about a task of somebody else.
    pub(crate) fn notice(&self, principal: &Principal, notification: &Notification) -> Option<RawJson> {
        let owner = Owner::new(principal.clone(), notification.server.clone());
        let params = self.for_agent(&owner, &notification.params);
        if !notification.method.starts_with(NOTICES) {
            return Some(params);
        }
        let name = self.known(&owner, &params.member_str("taskId")?)?;
        Some(with_only(&params, "taskId", Some(&quoted(&name))))
    }

    /// The metadata of an agent's call, as the server gets it.
    pub(crate) fn meta_for_server(&self, owner: &Owner, meta: &RawJson) -> RawJson {
        renamed(meta, |name| self.known.get(owner, name).map(|id| id.to_string())).unwrap_or_else(|| meta.clone())
    }
}

/// The tasks of one agent that are not finished, as far as it was told: its own servers are not ended over them.
#[derive(Debug, Default)]
pub(crate) struct OpenTasks(Mutex<HashMap<String, Option<Instant>>>);

/// So many tasks keep an agent's servers running. Beyond it the oldest that has an end goes, else the new one is not counted.
const MOST_OPEN: usize = 256;

impl OpenTasks {
    /// A task of this name was made, or something was said about it.
    fn know(&self, name: &str, task: &RawJson) {
        let mut open = lock(&self.0);
        if task.member_str("status").is_some_and(|status| FINAL.contains(&status.as_str())) {
            open.remove(name);
            return;
        }
        let lasts = task.member("ttl").and_then(|ttl| ttl.parse::<u64>().ok()).map(Duration::from_millis);
        let until = lasts.and_then(|lasts| Instant::now().checked_add(lasts));
        open.retain(|_, until| until.is_none_or(|until| until > Instant::now()));
        if open.len() < MOST_OPEN || open.contains_key(name) {
            open.insert(name.to_owned(), until);
        }
    }

    /// A server said something about a task that the agent knows.
    pub(crate) fn hear(&self, params: &RawJson) {
        if let Some(name) = params.member_str("taskId").filter(|name| lock(&self.0).contains_key(name)) {
            self.know(&name, params);
        }
    }

    /// The agent has the result of a task, or wants none.
    fn close(&self, name: &str) {
        lock(&self.0).remove(name);
    }

    /// Is there none?
    pub(crate) fn is_empty(&self) -> bool {
        let mut open = lock(&self.0);
        open.retain(|_, until| until.is_none_or(|until| until > Instant::now()));
        open.is_empty()
    }
}

/// The result of a call as the agent gets it: with our name for the task that it became, if it did.
pub(crate) fn remember(exchange: &Exchange, server: &ServerName, result: RawJson) -> Result<RawJson, RpcError> {
    let (mut task, mut kind, mut id, mut has_meta) = (None, None, None, false);
    for member in scan::members(result.as_str()).into_iter().flatten().map_while(Result::ok) {
        match member.key().as_deref() {
            Some("task") => task = Some(RawJson::part_of(result.shared(), member.value)),
            Some("resultType") => kind = Some(member.value),
            Some("taskId") => id = Some(RawJson::part_of(result.shared(), member.value)),
            Some("_meta") => has_meta = true,
            _ => {}
        }
    }
    let tasks = &exchange.gateway.tasks;
    let owner = || exchange.owner(server);
    let made = match (task.filter(RawJson::is_object), id.filter(|_| kind == Some(r#""task""#))) {
        (Some(task), _) => {
            let id = task.member_str("taskId").ok_or_else(|| protocol_error("the server's task has no taskId"))?;
            let name = tasks.made(&owner(), &id)?;
            exchange.agent.open_tasks.know(&name, &task);
            let task = with_only(&task, "taskId", Some(&quoted(&name)));
            with_only(&result, "task", Some(task.as_str()))
        }
        (None, Some(id)) => {
            let id: String = id.parse().map_err(|_| protocol_error("the server's taskId is not a string"))?;
            with_only(&result, "taskId", Some(&quoted(&tasks.made(&owner(), &id)?)))
        }
        (None, None) => result,
    };
    Ok(if has_meta { tasks.for_agent(&owner(), &made) } else { made })
}

/// Asks the server of a task about it.
pub(crate) async fn relay(exchange: &Exchange, request: &Request, meta: &Meta) -> Result<RawJson, RpcError> {
    let name = request.required("taskId")?;
    let (gateway, principal) = (&exchange.gateway, &exchange.agent.principal);
    let Some((server, id)) = gateway.tasks.known.find(principal, &name) else {
        return Err(invalid_params(format!("Unknown task: {name}")));
    };
    let owner = Owner::new(principal.clone(), server);
    let params = request.params_for_server().unwrap_or_else(RawJson::empty_object);
    let params = gateway.tasks.for_server(&owner, &with_only(&params, "taskId", Some(&quoted(&id))));
    let result = gate::relay_to(exchange, &owner.server, &request.method, Some(params), meta).await?;
    let result = named_questions::in_result(&owner.server, result);
    // A server that answers about another task than the one that was asked about answers nothing.
    let result = match result.member("taskId").map(|told| told.parse::<String>()) {
        None => result,
        Some(Ok(told)) if *told == *id => with_only(&result, "taskId", Some(&quoted(&name))),
        Some(_) => return Err(protocol_error("the server answered about another task")),
    };
    match request.method.as_str() {
        methods::TASKS_RESULT | methods::TASKS_CANCEL => exchange.agent.open_tasks.close(&name),
        _ => exchange.agent.open_tasks.hear(&result),
    }
    let result = gateway.tasks.for_agent(&owner, &result);
    Ok(match result.member("result").filter(RawJson::is_object) {
        Some(inner) => with_only(&result, "result", Some(gateway.tasks.for_agent(&owner, &inner).as_str())),
        None => result,
    })
}

/// The tasks of all servers that are this principal's. Of a server that agents share, only those that were made for it;
/// a server that is the agent's alone has no others.
pub(crate) async fn list(exchange: &Exchange, request: &Request, meta: &Meta) -> Result<RawJson, RpcError> {
    if request.param("cursor").is_some() {
        return Err(invalid_params("there is no page of this cursor"));
    }
    let servers = offering(&exchange.gateway.host, "tasks");
    if servers.is_empty() {
        return Err(RpcError::method_not_found(&request.method));
    }
    let mut listed = Vec::new();
    let mut failure = None;
    for server in &servers {
        if let Err(error) = list_server(exchange, server, meta, &mut listed).await {
            failure = Some(error);
        }
    }
    match failure {
        Some(error) if listed.is_empty() => Err(error),
        _ => Ok(ObjectWriter::new().array("tasks", listed).finish()),
    }
}

async fn list_server(
    exchange: &Exchange,
    server: &ServerName,
    meta: &Meta,
    listed: &mut Vec<String>,
) -> Result<(), RpcError> {
    let gateway = &exchange.gateway;
    let owner = exchange.owner(server);
    let is_shared = gateway.is_shared_with(&exchange.agent, server);
    let mut cursors: HashMap<String, ()> = HashMap::new();
    let mut params = RawJson::empty_object();
    for _ in 0..MOST_PAGES {
        let page = gate::relay_to(exchange, server, methods::TASKS_LIST, Some(params), meta).await?;
        for task in page.member("tasks").and_then(|tasks| tasks.elements()).unwrap_or_default() {
            let Some(id) = task.member_str("taskId") else { continue };
            let name = if is_shared { gateway.tasks.known(&owner, &id) } else { gateway.tasks.made(&owner, &id).ok() };
            if let Some(name) = name.filter(|_| listed.len() < MOST_LISTED) {
                listed.push(with_only(&task, "taskId", Some(&quoted(&name))).as_str().to_owned());
            }
        }
        let Some(cursor) = page.member_str("nextCursor") else { return Ok(()) };
        params = ObjectWriter::new().text("cursor", &cursor).finish();
        if listed.len() >= MOST_LISTED || cursors.insert(cursor, ()).is_some() {
            return Ok(());
        }
    }
    Ok(())
}

/// The message with another name of the task in its metadata; with none where there is no other name.
fn with_related(message: &RawJson, name: impl FnOnce(&str) -> Option<String>) -> RawJson {
    match message.member("_meta").and_then(|meta| renamed(&meta, name)) {
        Some(meta) => with_only(message, "_meta", Some(meta.as_str())),
        None => message.clone(),
    }
}

/// The same for metadata; `None` when it names no task.
fn renamed(meta: &RawJson, name: impl FnOnce(&str) -> Option<String>) -> Option<RawJson> {
    let related = meta.member(RELATED)?;
    let name = related.member_str("taskId").and_then(|id| name(&id));
    let related = name.map(|name| with_only(&related, "taskId", Some(&quoted(&name))));
    Some(with_only(meta, RELATED, related.as_ref().map(RawJson::as_str)))
}

/// The object with one member of this key and value, however many it had; `None`: with none.
fn with_only(object: &RawJson, key: &str, value: Option<&str>) -> RawJson {
    let mut written = ObjectWriter::new().with_room(object.as_str().len() + value.map_or(0, str::len));
    let mut value = value;
    for member in scan::members(object.as_str()).into_iter().flatten().map_while(Result::ok) {
        let kept = if member.key_is(key) { value.take() } else { Some(member.value) };
        if let Some(kept) = kept {
            written.add_written(member.raw_key, kept);
        }
    }
    written.optional(key, value).finish()
}

#[cfg(test)]
#[path = "tasks_tests.rs"]
mod tests;
