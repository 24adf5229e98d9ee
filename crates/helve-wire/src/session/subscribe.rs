//! Hearing of changes: `resources/subscribe` in the legacy era, `subscriptions/listen` in the modern one, the same
//! notifications to the handler in both.
//!
//! A modern server sends nothing unasked, so one long request listens for everything that is wanted. When the wish
//! changes, a new request is made and acknowledged before the old one is let go, so that nothing is missed in
//! between. When it ends, it is made again; what the server does not take again is no longer wished for, and the
//! handler hears that something has to be asked for anew.

use helve_model::protocol::methods;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use helve_model::ErrorCode;
use helve_model::json::RawJson;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::{Session, Shared};
use crate::channel::Ask;
use crate::encode::{object, quoted};
use crate::error::{Error, Result};
use crate::pending::Listener;
use crate::request::Times;
use helve_model::sync::lock;

/// A request that listens has no time-out; years are long enough.
const FOR_EVER: Times = Times::exactly(Duration::from_secs(10 * 365 * 24 * 3600));
/// How long a listening that ended waits before it is made again: doubled each time, until one is acknowledged.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
const AGAIN_AT_MOST: Duration = Duration::from_secs(30);

/// Which lists' changes are to be heard of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// `notifications/tools/list_changed`.
    pub tools: bool,
    /// `notifications/prompts/list_changed`.
    pub prompts: bool,
    /// `notifications/resources/list_changed`.
    pub resources: bool,
}

/// What is wanted, and who listens for it.
#[derive(Debug, Default)]
pub(super) struct Listening {
    wish: Wish,
    task: Option<Task>,
    /// How many tasks there were so far.
    tasks: u64,
    /// What the server said last that it tells of, and to which task.
    acknowledged: Option<(u64, BTreeSet<String>)>,
}

/// One who listens; who comes later has the greater number.
#[derive(Debug)]
struct Task {
    number: u64,
    handle: AbortHandle,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Wish {
    changes: Changes,
    uris: BTreeSet<String>,
}

/// What became of a listening request: the last word counts.
#[derive(Debug, Clone)]
enum Heard {
    Nothing,
    /// The server took this part of the wish.
    Acknowledged(RawJson),
    Refused(String),
}

impl Session {
    /// Hears of changes of these lists, as `list_changed` notifications. A legacy server tells them unasked.
    ///
    /// # Errors
    /// When a modern server refuses to be listened to.
    pub async fn follow(&self, changes: Changes, times: Times) -> Result<()> {
        self.wish(|wish| wish.changes = changes, times).await.map(drop)
    }

    /// Hears of updates of a resource, as `notifications/resources/updated`.
    ///
    /// # Errors
    /// When the server refuses; a modern server may take the request and leave the resource out.
    pub async fn subscribe(&self, uri: &str, times: Times) -> Result<()> {
        if let Some(methods) = self.shared.speech.subscription_methods() {
            return self.ask_about(methods.subscribe, uri, times).await;
        }
        let accepted = self.wish(|wish| wish.uris.extend([uri.to_owned()]), times).await?;
        if accepted.is_some_and(|accepted| resources_of(&accepted).contains(uri)) {
            return Ok(());
        }
        lock(&self.shared.listening).wish.uris.remove(uri);
        Err(Error::new(ErrorCode::ResourceNotFound, format!("the server does not let {uri} be subscribed to"))
            .with_hint("read the resource again from time to time instead"))
    }

    /// No longer hears of updates of a resource.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn unsubscribe(&self, uri: &str, times: Times) -> Result<()> {
        if let Some(methods) = self.shared.speech.subscription_methods() {
            return self.ask_about(methods.unsubscribe, uri, times).await;
        }
        self.wish(|wish| wish.uris.retain(|wanted| wanted != uri), times).await.map(drop)
    }

    async fn ask_about(&self, method: &str, uri: &str, times: Times) -> Result<()> {
        let uri = quoted(uri);
        self.shared.ask(Ask { times, ..Ask::new(method, &[("uri", &uri)]) }).await.map(drop)
    }

    /// Changes what is listened for; gives the part the server took.
    async fn wish(&self, change: impl FnOnce(&mut Wish), times: Times) -> Result<Option<RawJson>> {
        if self.shared.speech.subscription_methods().is_some() {
            return Ok(None);
        }
        let (heard, wish, before, mut replaced) = {
            let mut listening = lock(&self.shared.listening);
            let before = listening.wish.clone();
            change(&mut listening.wish);
            if listening.wish == before && listening.task.as_ref().is_some_and(|task| !task.handle.is_finished()) {
                return Ok(Some(listening.wish.to_json()));
            }
            if listening.wish == Wish::default() {
                listening.stop();
                return Ok(None);
            }
            let (sender, heard) = watch::channel(Heard::Nothing);
            let wish = listening.wish.clone();
            listening.tasks += 1;
            let number = listening.tasks;
            let listen = listen(Arc::clone(&self.shared), number, wish.clone(), sender);
            let task = Task { number, handle: tokio::spawn(listen).abort_handle() };
            (heard, wish, before, Replaced(listening.task.replace(task)))
        };
        let acknowledged = acknowledged(heard, times).await;
        if acknowledged.is_err() {
            let mut listening = lock(&self.shared.listening);
            // All is as it was before, unless somebody has wished for something else meanwhile.
            if listening.wish == wish {
                listening.stop();
                listening.wish = before;
                listening.task = replaced.0.take();
                // Unless the one before was refused as well, when he was no longer the newest.
                let ended = listening.task.as_ref().filter(|task| task.handle.is_finished()).map(|task| task.number);
                if ended.is_some_and(|number| listening.loses(number)) {
                    drop(listening);
                    self.shared.channel.dispatcher().handler().renewed();
                }
            }
        }
        acknowledged.map(Some)
    }
}

/// The earlier listener. Until the new request is acknowledged, the old one hears what happens; then, or when the
/// change is given up, it is let go.
struct Replaced(Option<Task>);

impl Drop for Replaced {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.handle.abort();
        }
    }
}

impl Listening {
    fn stop(&mut self) {
        if let Some(task) = self.task.take() {
            task.handle.abort();
        }
    }

    /// The server says to a task what it tells of. What it told of before and is still wanted, and is not in it, is no
    /// longer listened to; true when there is such.
    fn takes(&mut self, task: u64, uris: BTreeSet<String>) -> bool {
        let before = match &self.acknowledged {
            // A task that has been replaced since, and was not stopped yet.
            Some((newest, _)) if *newest > task => return false,
            Some((_, before)) => before,
            None => &BTreeSet::new(),
        };
        let lost: Vec<String> = before.difference(&uris).filter(|uri| self.wish.uris.contains(*uri)).cloned().collect();
        self.wish.uris.retain(|uri| !lost.contains(uri));
        self.acknowledged = Some((task, uris));
        !lost.is_empty()
    }

    /// The server no longer lets a task listen. True when it was its turn, and something is no longer heard of.
    fn loses(&mut self, task: u64) -> bool {
        if self.task.as_ref().is_none_or(|current| current.number != task) {
            return false;
        }
        self.task = None;
        self.wish.uris.clear();
        self.acknowledged.take().is_some()
    }
}

impl Shared {
    pub(super) fn stop_listening(&self) {
        lock(&self.listening).stop();
    }
}

/// The resources that an acknowledgement speaks of.
fn resources_of(accepted: &RawJson) -> BTreeSet<String> {
    let uris = accepted.member("resourceSubscriptions").and_then(|uris| uris.parse().ok());
    uris.unwrap_or_default()
}

async fn acknowledged(mut heard: watch::Receiver<Heard>, times: Times) -> Result<RawJson> {
    let refusal = |reason: &str| {
        Error::new(ErrorCode::ProtocolError, format!("the server cannot be listened to: {reason}"))
            .with_hint("list again from time to time instead")
    };
    match timeout(times.idle, heard.wait_for(|heard| !matches!(heard, Heard::Nothing))).await {
        Ok(Ok(heard)) => match &*heard {
            Heard::Acknowledged(accepted) => Ok(accepted.clone()),
            Heard::Refused(reason) => Err(refusal(reason)),
            Heard::Nothing => Err(refusal("it does not answer")),
        },
        Ok(Err(_)) => Err(refusal("the connection has ended")),
        Err(_) => Err(Error::new(ErrorCode::Timeout, "the server did not acknowledge the subscription in time")
            .with_hint("raise the time-out of this server, or list again from time to time instead")),
    }
}

/// Listens for as long as the connection lives, and the server lets it.
async fn listen(shared: Arc<Shared>, task: u64, wish: Wish, heard: watch::Sender<Heard>) {
    let heard = Arc::new(heard);
    let filter = wish.to_json();
    let mut pause = AGAIN_AFTER;
    let mut was_ever_acknowledged = false;
    loop {
        let was_acknowledged = Arc::new(Mutex::new(false));
        let (sender, acknowledged) = (Arc::clone(&heard), Arc::clone(&was_acknowledged));
        let handler = Arc::clone(shared.channel.dispatcher().handler());
        // The listener lives in what is shared.
        let weak: Weak<Shared> = Arc::downgrade(&shared);
        let listener = Listener::Acknowledged(Arc::new(move |params: &RawJson| {
            *lock(&acknowledged) = true;
            let accepted = params.member("notifications").unwrap_or_else(RawJson::empty_object);
            let has_lost =
                weak.upgrade().is_some_and(|shared| lock(&shared.listening).takes(task, resources_of(&accepted)));
            sender.send_replace(Heard::Acknowledged(accepted));
            if was_ever_acknowledged || has_lost {
                handler.renewed();
            }
        }));
        let members = [("notifications", filter.as_str())];
        let ask = Ask {
            times: FOR_EVER,
            listener: Some(listener),
            in_turn: false,
            ..Ask::new(methods::SUBSCRIPTIONS_LISTEN, &members)
        };
        let ended = shared.ask(ask).await;
        if shared.channel.dispatcher().pending.closed().is_some() {
            return;
        }
        if *lock(&was_acknowledged) {
            was_ever_acknowledged = true;
            pause = AGAIN_AFTER;
        } else if let Err(error) = ended {
            let reason = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            heard.send_replace(Heard::Refused(reason));
            if error.rpc().is_some() {
                if was_ever_acknowledged && lock(&shared.listening).loses(task) {
                    shared.channel.dispatcher().handler().renewed();
                }
                return;
            }
        }
        sleep(pause).await;
        pause = (pause * 2).min(AGAIN_AT_MOST);
    }
}

impl Wish {
    fn to_json(&self) -> RawJson {
        let mut members: Vec<(&str, &str)> = Vec::new();
        for (wanted, key) in [
            (self.changes.tools, "toolsListChanged"),
            (self.changes.prompts, "promptsListChanged"),
            (self.changes.resources, "resourcesListChanged"),
        ] {
            if wanted {
                members.push((key, "true"));
            }
        }
        let uris: Vec<String> = self.uris.iter().map(|uri| quoted(uri)).collect();
        let uris = format!("[{}]", uris.join(","));
        if !self.uris.is_empty() {
            members.push(("resourceSubscriptions", &uris));
        }
        object(&members)
    }
}
