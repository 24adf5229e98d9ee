//! Signing in to a server: the person is sent to the server's own page, and comes back to the hub's address with an answer
//! that belongs to a login which was begun here.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use helve::auth::{Facts, LoginWish};
use helve::from_auth;
use helve_model::sync::lock;
use helve_model::{ServerSpec, ServerStatus};
use helve_setup::Secrets;
use helve_store::{Moment, NewChange};

use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;

/// How long a login can be finished.
const LIFE: Duration = Duration::from_secs(600);

/// So many logins are on their way at most; the oldest makes room.
const MOST: usize = 64;

/// Where a browser is sent back to.
pub(crate) const CALLBACK: &str = "/callback";

/// Logins on their way, by what the answer has to bring.
#[derive(Debug, Default)]
pub(crate) struct Logins(Mutex<HashMap<String, (String, Moment)>>);

/// Where a person is sent.
#[derive(Debug, Clone)]
pub(crate) struct SignInPage {
    pub(crate) url: String,
    pub(crate) issuer: String,
}

/// What is known about the login to a server; `None` for one that is not signed in to.
pub(crate) fn facts(hub: &Hub, _actor: &Actor, name: &str) -> Result<Option<Option<Facts>>, HubError> {
    let snapshot = hub.host().snapshot();
    let Some(entry) = snapshot.server(name) else { return Ok(None) };
    let Some(credentials) = hub.setup.credentials() else { return Ok(None) };
    if credentials.sign_ins.of(entry.spec())?.is_none() {
        return Ok(None);
    }
    Ok(Some(credentials.facts(entry.spec())?))
}

/// Begins a login. The person goes to the page that this gives; only a person can.
pub(crate) async fn begin(hub: &Hub, actor: &Actor, name: &str) -> Result<SignInPage, HubError> {
    is_person(actor)?;
    let (spec, challenge) = spec_of(hub, name)?;
    let sign_in = sign_in(hub, &spec).await?;
    let mut wish = LoginWish::default();
    wish.challenge = challenge;
    wish.redirect = Some(format!("{}{CALLBACK}", hub.options.address));
    let page = sign_in.begin(&wish).await.map_err(|error| from_auth(error, &spec))?;
    let state = page.url.query_pairs().find(|(key, _)| key == "state").map(|(_, state)| state.into_owned());
    let state = state.ok_or_else(|| HubError::failed("the page of the login brings no answer back"))?;
    hub.logins.add(state, name.to_owned(), hub.now());
    Ok(SignInPage { url: page.url.to_string(), issuer: page.issuer })
}

/// Finishes a login with what the browser brought back; gives the server's name.
pub(crate) async fn finish(hub: &Hub, actor: &Actor, query: &[(String, String)]) -> Result<String, HubError> {
    is_person(actor)?;
    let state = query.iter().find(|(key, _)| key == "state").map(|(_, state)| state.as_str()).unwrap_or_default();
    let name = hub.logins.take(state, hub.now()).ok_or_else(|| {
        HubError::invalid("this answer belongs to no login that was begun here")
            .hint("begin again at the server's page")
    })?;
    let (spec, _) = spec_of(hub, &name)?;
    let sign_in = sign_in(hub, &spec).await?;
    let pairs = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    let address = format!("{}{CALLBACK}?{pairs}", hub.options.address);
    sign_in.finish(&address).await.map_err(|error| from_auth(error, &spec))?;
    note(hub, actor, "signed in to", &name)?;
    // How it is doing then is told by its page.
    drop(hub.host().reconnect_server(&name).await);
    Ok(name)
}

/// Gives a login up.
pub(crate) async fn end(hub: &Hub, actor: &Actor, name: &str) -> Result<(), HubError> {
    is_person(actor)?;
    let (spec, _) = spec_of(hub, name)?;
    sign_in(hub, &spec).await?.logout(true).await.map_err(|error| from_auth(error, &spec))?;
    note(hub, actor, "signed out of", name)?;
    // It wants a login from now on; signing out has not failed.
    drop(hub.host().reconnect_server(name).await);
    Ok(())
}

/// A login is the person's own: no token gets or gives up one.
fn is_person(actor: &Actor) -> Result<(), HubError> {
    match actor {
        Actor::Session | Actor::Operator => Ok(()),
        Actor::Admin { .. } => Err(HubError::forbidden("a person signs in, on the page: a token cannot")),
    }
}

/// The server, and what it said to somebody who is not signed in.
fn spec_of(hub: &Hub, name: &str) -> Result<(ServerSpec, Option<String>), HubError> {
    let snapshot = hub.host().snapshot();
    let entry = snapshot.server(name).ok_or_else(|| HubError::not_found(format!("there is no server {name:?}")))?;
    let challenge = match hub.host().server_status(name).map(|report| report.status) {
        Some(ServerStatus::NeedsAuth { challenge }) => challenge,
        Some(ServerStatus::Disabled(reason)) => {
            return Err(HubError::conflict(format!("the server {name} is not used: {reason}")));
        }
        _ => None,
    };
    Ok((entry.spec().clone(), challenge))
}

async fn sign_in(hub: &Hub, spec: &ServerSpec) -> Result<std::sync::Arc<helve::auth::SignIn>, HubError> {
    let credentials = hub.setup.credentials().ok_or_else(|| {
        HubError::conflict("there is no home directory to keep a login in").hint("set HOME, and start the hub again")
    })?;
    let filled = helve::fill(spec, Some(&Secrets::new(&hub.setup))).await?;
    let found = credentials.sign_ins.of(filled.as_ref().unwrap_or(spec))?;
    found.ok_or_else(|| HubError::conflict(format!("the server {} is not one that is signed in to", spec.name)))
}

fn note(hub: &Hub, actor: &Actor, verb: &str, name: &str) -> Result<(), HubError> {
    hub.store.add_change(NewChange {
        at: hub.now(),
        actor: actor.name(),
        verb: verb.to_owned(),
        object: format!("server {name}"),
        ..NewChange::default()
    })?;
    Ok(())
}

impl Logins {
    fn add(&self, state: String, server: String, now: Moment) {
        let mut open = lock(&self.0);
        open.retain(|_, (_, until)| now < *until);
        if open.len() >= MOST
            && let Some(oldest) = open.iter().min_by_key(|(_, (_, until))| *until).map(|(state, _)| state.clone())
        {
            open.remove(&oldest);
        }
        open.insert(state, (server, now.after(LIFE)));
    }

    fn take(&self, state: &str, now: Moment) -> Option<String> {
        lock(&self.0).remove(state).filter(|(_, until)| now < *until).map(|(server, _)| server)
    }
}
