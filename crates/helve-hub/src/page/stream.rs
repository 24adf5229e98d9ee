//! The live parts of pages: streams of what a topic shows, rendered once for everybody who looks.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use tokio::sync::mpsc;

use super::{Fields, add, approvals, calls, overview, servers, try_tool};
use crate::actor::Actor;
use crate::answer::{self, Body};
use crate::door::SignedIn;
use crate::error::HubError;
use crate::hub::Hub;
use crate::live::Topic;

/// A topic is sent at most so often.
const LIVE_EVERY: Duration = Duration::from_millis(250);

/// An open stream says so often that it is there; a session that ended ends it then, too.
const LIVE_BEAT: Duration = Duration::from_secs(15);

/// The stream of a topic.
pub(super) fn open(
    hub: &Arc<Hub>,
    signed_in: &SignedIn,
    topic: &[&str],
    query: &Fields,
) -> Result<Response<Body>, HubError> {
    let looked_at = Arc::clone(hub);
    let endless = || false;
    Ok(match topic {
        ["overview"] => {
            let render = move || overview::view(&looked_at).map(|view| helve_page::live::overview(&view));
            live(hub, signed_in, "overview", render, endless)
        }
        ["servers"] => {
            let render = move || servers::list(&looked_at, "").map(|view| helve_page::live::servers(&view));
            live(hub, signed_in, "servers", render, endless)
        }
        ["approvals"] => {
            let render = move || approvals::view(&looked_at).map(|view| helve_page::live::approvals(&view));
            live(hub, signed_in, "approvals", render, endless)
        }
        ["calls"] => {
            let query = query.to_vec();
            let name = format!("calls {query:?}");
            let render = move || calls::list(&looked_at, &query).map(|view| helve_page::live::calls(&view));
            live(hub, signed_in, &name, render, endless)
        }
        ["server", name] => {
            let server = hub.server_name(name)?.to_string();
            let render = move || {
                let info = crate::verbs::servers::get(&looked_at, &Actor::Session, &server)?;
                Ok(helve_page::live::server(&servers::head(&looked_at, &info)))
            };
            live(hub, signed_in, &format!("server {name}"), render, endless)
        }
        ["log", name] => {
            let server = hub.server_name(name)?.to_string();
            let render = move || {
                let info = crate::verbs::servers::get(&looked_at, &Actor::Session, &server)?;
                let (lines, dropped) = servers::log_lines(&info);
                Ok(helve_page::live::log(&lines, dropped))
            };
            live(hub, signed_in, &format!("log {name}"), render, endless)
        }
        ["try", id] => {
            let one = hub.tries.find(id, &signed_in.cookie)?;
            let ends = Arc::clone(&one);
            let render = move || try_tool::run(&looked_at, &one).map(|view| helve_page::live::try_tool(&view));
            live(hub, signed_in, &format!("try {id}"), render, move || !ends.is_running())
        }
        ["test", id] => {
            let one = hub.trials.find(id, &signed_in.cookie)?;
            let ends = Arc::clone(&one);
            let render = move || Ok(helve_page::live::test(&add::followed(&looked_at, &one)));
            live(hub, signed_in, &format!("test {id}"), render, move || !ends.is_running())
        }
        _ => return Err(HubError::not_found("There is no such topic.")),
    })
}

/// A stream of what a topic shows: rendered once for everybody, sent when it changes.
fn live(
    hub: &Arc<Hub>,
    signed_in: &SignedIn,
    name: &str,
    render: impl Fn() -> Result<String, HubError> + Send + Sync + 'static,
    is_over: impl Fn() -> bool + Send + Sync + 'static,
) -> Response<Body> {
    let (sender, receiver) = mpsc::channel(4);
    let (hub, cookie, name) = (Arc::clone(hub), signed_in.cookie.clone(), name.to_owned());
    let rendering = Arc::clone(&hub);
    let topic: Topic = Arc::new(move || rendering.live.rendered(&name, || render().unwrap_or_default()));
    tokio::spawn(async move {
        let mut changed = hub.live.subscribe();
        loop {
            // What looks but does not click keeps no session alive, and ends with it.
            if !hub.sessions.is_open(&cookie, hub.now()) {
                return;
            }
            let (rendered, ends) = (Arc::clone(&topic), is_over());
            let Ok(event) = tokio::task::spawn_blocking(move || rendered()).await else { return };
            if sender.send(event).await.is_err() {
                return;
            }
            if ends {
                drop(sender.send(Bytes::from_static(b"event: done\ndata:\n\n")).await);
                return;
            }
            tokio::time::sleep(LIVE_EVERY).await;
            loop {
                match tokio::time::timeout(LIVE_BEAT, changed.changed()).await {
                    Ok(Ok(())) => break,
                    Ok(Err(_)) => return,
                    Err(_) => {
                        let is_open = hub.sessions.is_open(&cookie, hub.now());
                        if !is_open || sender.send(Bytes::from_static(b": here\n\n")).await.is_err() {
                            return;
                        }
                    }
                }
            }
        }
    });
    answer::events(receiver)
}
