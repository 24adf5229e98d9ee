//! From an attempt to connect to a server that is ready: its tools are listed, its changes are listened for, and it knows
//! its directories.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use helve_model::{ErrorCode, ServerSpec, ToolDefinition};
use helve_wire::{BoxFuture, Changes, Error as WireError, Listing, Session, Times};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::connect::{Alive, Known, connect, startup_time};
use crate::error::CallError;
use crate::event::StartStep;
use crate::handler::{RootsAsked, ServerHandler};
use crate::settings::{HostSettings, Surroundings};
use crate::start_guard::SharedStartGuard;

/// How long a connection waits for the word that its changes are listened for, once its tools are listed.
const FOLLOW_GRACE: Duration = Duration::from_millis(500);
/// How long a server that may ask for its directories has to do so before it is used, counted from its greeting: what it
/// is called with before it knows them, it answers as if there were none.
const ROOTS_QUESTION: Duration = Duration::from_millis(150);
/// How long the answer may take.
const ROOTS_ANSWER: Duration = Duration::from_secs(2);
/// How long a server has to look at the directories once it was told them.
const ROOTS_GRACE: Duration = Duration::from_millis(50);

/// A connection that was just made.
pub(crate) struct StartedServer {
    pub(crate) session: Session,
    pub(crate) following: Option<Following>,
    pub(crate) listing: Result<Listing<ToolDefinition>, WireError>,
    pub(crate) took: Duration,
}

/// Says that a server's changes are listened for from now on.
pub(crate) type Following = BoxFuture<'static, Result<(), WireError>>;

/// Makes a connection and finds out what the server has. Whatever is started for it keeps `alive`.
pub(crate) async fn start_up(
    spec: &ServerSpec,
    settings: &HostSettings,
    surroundings: &Surroundings,
    handler: Arc<ServerHandler>,
    known: Known,
    alive: Alive,
    guard: Option<SharedStartGuard>,
) -> Result<StartedServer, CallError> {
    let started = Instant::now();
    handler.roots.send_replace(RootsAsked::NotYet);
    let is_resumed = known.session.is_some();
    let session = connect(spec, settings, surroundings, &handler, known, alive, guard).await?;
    let greeted = Instant::now();
    let greeting = session.greeting();
    handler.started(|| StartStep::Greeted {
        version: greeting.negotiated.version.clone(),
        era: greeting.negotiated.era.to_string(),
    });
    let changes = Changes {
        tools: greeting.offers_part("tools", "listChanged"),
        prompts: greeting.offers_part("prompts", "listChanged"),
        resources: greeting.offers_part("resources", "listChanged"),
    };
    let left = startup_time(spec, settings).saturating_sub(started.elapsed());
    let times = Times::exactly(left);
    let mut following: Option<Following> = None;
    // The changes of a hub's servers are heard once for all of them: see `Host::lists_changed`.
    let is_alone = spec.name.place().is_none();
    if settings.follow_changes && is_alone && changes != Changes::default() {
        let session = session.clone();
        following = Some(Box::pin(async move { session.follow(changes, times).await }));
    }
    let mut list = pin!(timeout(left, session.list_tools(times)));
    let listing = loop {
        tokio::select! {
            // Listening is asked for first, so that no change is missed between it and the list.
            biased;
            _ = when_some(&mut following) => following = None,
            listing = &mut list => break listing,
        }
    };
    if following.is_some() && timeout(FOLLOW_GRACE, when_some(&mut following)).await.is_ok() {
        following = None;
    }
    if !is_resumed && session.asks_at_any_time() && handler.answerer.capabilities().roots {
        roots_told(&handler, greeted + ROOTS_QUESTION).await;
    }
    let listing = listing.unwrap_or_else(|_| {
        let message = "the server did not list its tools before its start-up time was over";
        Err(WireError::new(ErrorCode::Timeout, message))
    });
    Ok(StartedServer { session: session.clone(), following, listing, took: started.elapsed() })
}

/// Waits until a server that asks for its directories knows them; not for long where it does not ask.
async fn roots_told(handler: &ServerHandler, ask_before: Instant) {
    let mut roots = handler.roots.subscribe();
    // The sender lives as long as the handler.
    if timeout_at(ask_before, roots.wait_for(|roots| *roots != RootsAsked::NotYet)).await.is_err() {
        return;
    }
    if timeout(ROOTS_ANSWER, roots.wait_for(|roots| *roots == RootsAsked::Answered)).await.is_ok() {
        sleep(ROOTS_GRACE).await;
    }
}

pub(crate) async fn when_some<T>(future: &mut Option<BoxFuture<'static, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => pending().await,
    }
}
