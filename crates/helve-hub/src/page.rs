//! The pages: which view each path shows, and which verb each form does. No logic of its own: verbs decide.

mod add;
mod always;
mod approvals;
mod calls;
mod edits;
mod hub;
mod overview;
mod rules;
mod servers;
mod settings;
mod shown;
mod stream;
mod tokens;
mod trust;
mod try_tool;

use std::sync::Arc;

use helve_page::view::{ErrorPage, Frame, LinkNeeded, Said, Section, Tone};
use http::{Method, Response, StatusCode};

use crate::actor::Actor;
use crate::answer::{self, Body};
use crate::door::SignedIn;
use crate::error::HubError;
use crate::hub::Hub;
use crate::verbs::approvals as verbs;
use crate::verbs::servers::Switch;

/// Fields of a query or a form.
pub(crate) type Fields = [(String, String)];

pub(crate) fn field<'a>(fields: &'a Fields, key: &str) -> &'a str {
    fields.iter().find(|(name, _)| name == key).map_or("", |(_, value)| value.as_str())
}

/// The page without a session: never data, never a redirect.
pub(crate) fn link_needed(said: &str) -> Response<Body> {
    let view = LinkNeeded { said: said.to_owned() };
    answer::html(StatusCode::UNAUTHORIZED, helve_page::page::link_needed(&view))
}

pub(crate) fn refused(error: &HubError) -> Response<Body> {
    let view = ErrorPage {
        status: error.status().as_u16(),
        what: error.message().to_owned(),
        advice: error.hints().to_vec(),
        links: Vec::new(),
    };
    answer::html(error.status(), helve_page::page::error(&view))
}

pub(crate) async fn answer(
    hub: &Arc<Hub>,
    signed_in: SignedIn,
    method: &Method,
    path: &[&str],
    query: &Fields,
    fields: &Fields,
) -> Response<Body> {
    let answered = match *method {
        Method::GET | Method::HEAD => get(hub, &signed_in, path, query).await,
        Method::POST => match edits::post(hub, &signed_in, path, query, fields).await {
            Some(answered) => answered,
            None => post(hub, &signed_in, path, fields).await,
        },
        _ => Err(HubError::not_found("pages are read or posted to")),
    };
    answered.unwrap_or_else(|error| edits::conflict(hub, &signed_in, path, &error).unwrap_or_else(|| refused(&error)))
}

async fn get(hub: &Arc<Hub>, signed_in: &SignedIn, path: &[&str], query: &Fields) -> Result<Response<Body>, HubError> {
    let html = |text: String| Ok(answer::html(StatusCode::OK, text));
    match path {
        [] => {
            let frame = frame(hub, signed_in, Section::Overview);
            html(hub.read(move |hub| Ok(helve_page::page::overview(&frame, &overview::view(hub)?))).await?)
        }
        ["servers"] => {
            let (frame, filter) = (frame(hub, signed_in, Section::Servers), field(query, "q").to_owned());
            html(hub.read(move |hub| Ok(helve_page::page::servers(&frame, &servers::page(hub, &filter)?))).await?)
        }
        ["servers", "new"] => {
            let (frame, typed) = (frame(hub, signed_in, Section::Servers), field(query, "typed").to_owned());
            html(hub.read(move |hub| Ok(helve_page::page::add(&frame, &add::empty(hub, &typed)))).await?)
        }
        ["servers", name] => server(hub, signed_in, name, "tools", query).await,
        ["servers", name, "tools", tool] => {
            let frame = frame(hub, signed_in, Section::Servers);
            let (name, tool, query) = ((*name).to_owned(), (*tool).to_owned(), query.to_vec());
            let run = field(&query, "run").to_owned();
            let one = (!run.is_empty()).then(|| hub.tries.find(&run, &signed_in.cookie)).transpose()?;
            let page = hub.read(move |hub| {
                let view = match one {
                    Some(one) => try_tool::run(hub, &one)?,
                    None => try_tool::view(hub, &name, &tool, &query)?,
                };
                Ok(helve_page::page::try_tool(&frame, &view))
            });
            html(page.await?)
        }
        ["rules"] => {
            let (frame, query) = (frame(hub, signed_in, Section::Rules), query.to_vec());
            html(hub.read(move |hub| Ok(helve_page::page::rules(&frame, &rules::view(hub, &query, None)?))).await?)
        }
        ["trust"] => {
            let (frame, file) = (frame(hub, signed_in, Section::Servers), field(query, "file").to_owned());
            html(hub.read(move |hub| Ok(helve_page::page::trust(&frame, &trust::view(hub, &file)?))).await?)
        }
        ["callback"] => edits::signed_in_elsewhere(hub, signed_in, query).await,
        ["servers", name, tab @ ("settings" | "log" | "calls")] => server(hub, signed_in, name, tab, query).await,
        ["approvals"] => {
            let frame = frame(hub, signed_in, Section::Approvals);
            html(hub.read(move |hub| Ok(helve_page::page::approvals(&frame, &approvals::view(hub)?))).await?)
        }
        ["approvals", id] => {
            let (frame, id) = (frame(hub, signed_in, Section::Approvals), (*id).to_owned());
            html(hub.read(move |hub| Ok(helve_page::page::approvals(&frame, &approvals::view_of(hub, &id)?))).await?)
        }
        ["approvals", id, "always"] => {
            let (frame, id, query) = (frame(hub, signed_in, Section::Approvals), (*id).to_owned(), query.to_vec());
            html(hub.read(move |hub| Ok(helve_page::page::always(&frame, &always::view(hub, &id, &query)?))).await?)
        }
        ["calls"] => {
            let (frame, query) = (frame(hub, signed_in, Section::Calls), query.to_vec());
            html(hub.read(move |hub| Ok(helve_page::page::calls(&frame, &calls::list(hub, &query)?))).await?)
        }
        ["calls", "export"] => {
            let query = query.to_vec();
            let lines = hub.read(move |hub| calls::export(hub, &query)).await?;
            Ok(answer::of(StatusCode::OK, "application/x-ndjson", lines))
        }
        ["calls", seq] => {
            let (frame, seq) = (frame(hub, signed_in, Section::Calls), number(seq)?);
            html(hub.read(move |hub| Ok(helve_page::page::call(&frame, &calls::one(hub, seq)?))).await?)
        }
        ["tokens"] => {
            let frame = frame(hub, signed_in, Section::Tokens);
            html(hub.read(move |hub| Ok(helve_page::page::tokens(&frame, &tokens::view(hub, None, None)?))).await?)
        }
        ["changes"] => {
            let before = Some(field(query, "before")).filter(|text| !text.is_empty()).map(number).transpose()?;
            let frame = frame(hub, signed_in, Section::Changes);
            html(hub.read(move |hub| Ok(helve_page::page::changes(&frame, &hub::changes(hub, before)?))).await?)
        }
        ["changes", seq] => {
            let (frame, seq) = (frame(hub, signed_in, Section::Changes), number(seq)?);
            html(hub.read(move |hub| Ok(helve_page::page::change(&frame, &hub::change(hub, seq)?))).await?)
        }
        ["hub"] => {
            let frame = frame(hub, signed_in, Section::Hub);
            html(hub.read(move |hub| Ok(helve_page::page::hub(&frame, &hub::view(hub)?))).await?)
        }
        ["live", topic @ ..] => stream::open(hub, signed_in, topic, query),
        _ => Err(HubError::not_found("There is no such page.")),
    }
}

async fn server(
    hub: &Arc<Hub>,
    signed_in: &SignedIn,
    name: &str,
    tab: &str,
    query: &Fields,
) -> Result<Response<Body>, HubError> {
    let frame = frame(hub, signed_in, Section::Servers);
    let (name, tab, query) = (name.to_owned(), tab.to_owned(), query.to_vec());
    let page = hub.read(move |hub| Ok(helve_page::page::server(&frame, &servers::one(hub, &name, &tab, &query)?)));
    Ok(answer::html(StatusCode::OK, page.await?))
}

async fn post(
    hub: &Arc<Hub>,
    signed_in: &SignedIn,
    path: &[&str],
    fields: &Fields,
) -> Result<Response<Body>, HubError> {
    let actor = Actor::Session;
    match path {
        ["sign-out"] => {
            hub.sessions.sign_out(&signed_in.cookie);
            Ok(link_needed("You are signed out."))
        }
        ["sign-out-everywhere"] => {
            hub.sessions.sign_out_everywhere();
            Ok(link_needed("You are signed out everywhere."))
        }
        ["tokens"] => {
            let frame = frame(hub, signed_in, Section::Tokens);
            let fields = fields.to_vec();
            let page = hub.read(move |hub| Ok(helve_page::page::tokens(&frame, &tokens::make(hub, &actor, &fields)?)));
            Ok(answer::html(StatusCode::OK, page.await?))
        }
        ["approvals", id, verb @ ("allow" | "deny")] => {
            let (id, is_allowed) = ((*id).to_owned(), *verb == "allow");
            let reason = field(fields, &format!("reason:{id}")).to_owned();
            let decided = hub.read(move |hub| {
                if is_allowed { verbs::allow(hub, &actor, &id) } else { verbs::deny(hub, &actor, &id, Some(&reason)) }
            });
            match decided.await {
                Ok(decided) if is_allowed => said(hub, signed_in, format!("{} may run, once.", decided.asked.tool)),
                Ok(decided) => said(hub, signed_in, format!("{} was denied.", decided.asked.tool)),
                // Whoever was too late reads who was first, and sees the rest of what waits.
                Err(error) if error.status() == StatusCode::CONFLICT => {
                    hub.sessions.say(&signed_in.cookie, false, error.message().to_owned());
                }
                Err(error) => return Err(error),
            }
            Ok(answer::see_other("/approvals"))
        }
        ["tokens", id, "revoke"] => {
            let id = (*id).to_owned();
            let name = hub.read(move |hub| tokens::revoke(hub, &actor, &id)).await?;
            said(hub, signed_in, format!("The token {name} does not count any more. Whoever used it was cut off."));
            Ok(answer::see_other("/tokens"))
        }
        ["servers", name, "restart"] => {
            crate::verbs::servers::restart(hub, &actor, name).await?;
            said(hub, signed_in, format!("{name} starts again."));
            Ok(answer::see_other(&format!("/servers/{}", segment(name))))
        }
        ["servers", name, verb @ ("enable" | "disable" | "remove")] => {
            let to = match *verb {
                "enable" => Switch::On,
                "disable" => Switch::Off,
                _ => Switch::Remove,
            };
            let version = Some(field(fields, "version").to_owned()).filter(|version| !version.is_empty());
            let server = (*name).to_owned();
            hub.read(move |hub| crate::verbs::servers::switch(hub, &actor, &server, to, version.as_deref())).await?;
            let (what, next) = match to {
                Switch::On => ("is switched on", format!("/servers/{}", segment(name))),
                Switch::Off => ("is switched off", format!("/servers/{}", segment(name))),
                Switch::Remove => ("was removed; Changes can take that back", "/servers".to_owned()),
            };
            edits::say_done(hub, signed_in, format!("{name} {what}.")).await;
            Ok(answer::see_other(&next))
        }
        _ => Err(HubError::not_found("There is nothing to post to here.")),
    }
}

fn said(hub: &Hub, signed_in: &SignedIn, text: String) {
    hub.sessions.say(&signed_in.cookie, true, text);
}

fn frame(hub: &Hub, signed_in: &SignedIn, section: Section) -> Frame {
    let said = hub.sessions.take_said(&signed_in.cookie).map(|(is_good, text)| Said {
        tone: if is_good { Tone::Good } else { Tone::Bad },
        text,
        link: None,
    });
    let address = hub.options.address.split_once("://").map_or(hub.options.address.as_str(), |(_, rest)| rest);
    Frame {
        section,
        csrf: signed_in.session.csrf.clone(),
        waiting: Some(hub.approvals.open()),
        lost_records: hub.store.health().lost,
        said,
        address: address.to_owned(),
    }
}

fn number(text: &str) -> Result<i64, HubError> {
    text.parse().map_err(|_| HubError::not_found(format!("There is nothing of the number {text:?}.")))
}

/// A name as a part of a path.
pub(crate) fn segment(name: &str) -> String {
    url::form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>().replace('+', "%20")
}
