//! What the forms of pages do: each posts to one verb, and leads to the page that shows what came of it.

use std::sync::Arc;
use std::time::Duration;

use helve_page::view::{Conflict, FileVersion, Said, Section, Settings, SignIn, Tab, Tone};
use http::{Response, StatusCode};

use super::rules::Sent;
use super::try_tool::Posted;
use super::{Fields, add, always, field, frame, rules, said, segment, servers, settings, try_tool};
use crate::actor::Actor;
use crate::answer::{self, Body};
use crate::door::SignedIn;
use crate::error::{Details, HubError};
use crate::hub::Hub;
use crate::verbs::pins::Pinning;
use crate::verbs::{self, changes, pins, sign_in, trust};

/// A call that ends within this time is shown at once; another one is followed.
const AT_ONCE: Duration = Duration::from_millis(800);

/// A test that ends within this time is shown at once; another one is followed.
const TESTED_AT_ONCE: Duration = Duration::from_millis(250);

/// What is said besides where an edit does not count yet.
const SOON: &str = " It takes effect within two seconds.";

type Answered = Result<Response<Body>, HubError>;

/// Says what was done, once it counts; false where that takes longer than a page waits.
pub(super) async fn say_done(hub: &Hub, signed_in: &SignedIn, what: String) -> bool {
    let counts = hub.edits.count().await;
    said(hub, signed_in, format!("{what}{}", if counts { "" } else { SOON }));
    counts
}

/// Answers a form that edits something; `None` where this path has none.
pub(super) async fn post(
    hub: &Arc<Hub>,
    signed_in: &SignedIn,
    path: &[&str],
    query: &Fields,
    fields: &Fields,
) -> Option<Answered> {
    Some(match path {
        ["servers", "new"] => new_server(hub, signed_in, fields).await,
        ["servers", name, "settings"] => save_settings(hub, signed_in, name, query, fields).await,
        ["servers", name, "tools", tool] => call(hub, signed_in, name, tool, fields).await,
        ["servers", name, "pins"] => pin(hub, signed_in, name, fields).await,
        ["servers", name, "pins", "accept"] => accept(hub, signed_in, name, fields).await,
        ["servers", name, "sign-in"] => begin_login(hub, signed_in, name).await,
        ["servers", name, "sign-out"] => match sign_in::end(hub, &Actor::Session, name).await {
            Ok(()) => {
                said(hub, signed_in, format!("You are signed out of {name}."));
                Ok(answer::see_other(&format!("/servers/{}", segment(name))))
            }
            Err(error) => Err(error),
        },
        ["rules"] => save_rules(hub, signed_in, query, fields).await,
        ["rules", "forget"] => forget(hub, signed_in, fields).await,
        ["trust"] => say_yes(hub, signed_in, fields).await,
        ["changes", seq, "undo"] => undo(hub, signed_in, seq, fields).await,
        ["approvals", id, "always"] => always(hub, signed_in, id, fields).await,
        _ => return None,
    })
}

/// The page of an edit that found its file changed; `None` for other errors.
pub(super) fn conflict(
    hub: &Arc<Hub>,
    signed_in: &SignedIn,
    path: &[&str],
    error: &HubError,
) -> Option<Response<Body>> {
    let Details::Conflict(texts) = error.details() else { return None };
    let section = if path.first() == Some(&"servers") { Section::Servers } else { Section::Rules };
    let view = Conflict {
        file: FileVersion { path: texts.file.clone(), version: texts.version.clone(), locked: None },
        changed_by: None,
        diff: helve_page::line_diff(&texts.theirs, &texts.mine),
        theirs: texts.theirs.clone(),
        mine: texts.mine.clone(),
        action: format!("/rules?edit={}", segment(&texts.file)),
        back: match path {
            ["servers", "new"] => "/servers/new".to_owned(),
            ["servers", name, ..] => format!("/servers/{}", segment(name)),
            ["changes", seq, ..] => format!("/changes/{}", segment(seq)),
            ["approvals", ..] => "/approvals".to_owned(),
            _ => "/rules".to_owned(),
        },
    };
    let page = helve_page::page::conflict(&frame(hub, signed_in, section), &view);
    Some(answer::html(StatusCode::CONFLICT, page))
}

async fn new_server(hub: &Arc<Hub>, signed_in: &SignedIn, fields: &Fields) -> Answered {
    let request = add::request(fields);
    let mut test = None;
    let mut refusal = None;
    match field(fields, "do") {
        "save" => {
            let asked = request.clone();
            match hub.read(move |hub| verbs::add::save(hub, &Actor::Session, &asked)).await {
                Ok(name) => {
                    let is_there = say_done(hub, signed_in, format!("{name} was added.")).await;
                    let page = format!("/servers/{}", segment(&name));
                    return Ok(answer::see_other(if is_there { &page } else { "/servers" }));
                }
                Err(error) if matches!(error.details(), Details::Conflict(_)) => return Err(error),
                Err(error) => refusal = Some(error),
            }
        }
        "test" => {
            let one = verbs::trials::begin(hub, &Actor::Session, &signed_in.cookie, request.clone())?;
            if signed_in.has_script {
                drop(tokio::time::timeout(TESTED_AT_ONCE, one.wait()).await);
            } else {
                one.wait().await;
            }
            test = Some(one);
        }
        _ => {}
    }
    let frame = frame(hub, signed_in, Section::Servers);
    let (status, page) = hub
        .read(move |hub| {
            let (status, view) = add::view(hub, &request, test.as_deref(), refusal.as_ref());
            Ok((status, helve_page::page::add(&frame, &view)))
        })
        .await?;
    Ok(answer::html(status, page))
}

async fn save_settings(hub: &Arc<Hub>, signed_in: &SignedIn, name: &str, query: &Fields, fields: &Fields) -> Answered {
    let is_text = field(query, "as") == "text";
    let (server, sent) = (name.to_owned(), fields.to_vec());
    let saved = hub
        .read(move |hub| {
            let version = field(&sent, "version");
            if is_text {
                let entry = verbs::settings::get(hub, &Actor::Session, &server)?;
                let object = format!("server {}", entry.name);
                verbs::settings::save_text(hub, &Actor::Session, &entry.file, version, field(&sent, "text"), object)
            } else {
                verbs::settings::save_form(hub, &Actor::Session, &server, version, &settings::posted(&sent)?)
            }
        })
        .await;
    let path = format!("/servers/{}/settings{}", segment(name), if is_text { "?as=text" } else { "" });
    match saved {
        Ok(Some(_)) => {
            say_done(hub, signed_in, format!("{name} was changed.")).await;
            // Whoever edits the text may have renamed the server.
            let is_there = hub.setup.read_configuration().server(name).is_some();
            Ok(answer::see_other(if is_there { &path } else { "/servers" }))
        }
        Ok(None) => {
            said(hub, signed_in, "Nothing was different: nothing was written.".to_owned());
            Ok(answer::see_other(&path))
        }
        Err(error) if matches!(error.details(), Details::Conflict(_)) => Err(error),
        Err(error) => {
            let status = error.status();
            let mut frame = frame(hub, signed_in, Section::Servers);
            let (server, sent) = (name.to_owned(), fields.to_vec());
            let page = hub.read(move |hub| {
                let tab = if is_text {
                    let made = (field(&sent, "text"), field(&sent, "version"));
                    settings::text(hub, &server, Some(made), add::problems(&error))?
                } else {
                    let hint = error.hints().first().map(|hint| format!(" ({hint})")).unwrap_or_default();
                    let text = format!("Nothing was written: {}{hint}", error.message());
                    frame.said = Some(Said { tone: Tone::Bad, text, link: None });
                    settings::form(hub, &server)?
                };
                let view = servers::with_tab(hub, &server, Tab::Settings(refilled(tab, &sent)))?;
                Ok(helve_page::page::server(&frame, &view))
            });
            Ok(answer::html(status, page.await?))
        }
    }
}

/// A form with what was typed into it.
fn refilled(settings: Settings, sent: &Fields) -> Settings {
    use helve_page::view::SettingControl;
    let Settings::Form { mut fields, file, kept } = settings else { return settings };
    for one in &mut fields {
        let Some((_, value)) = sent.iter().find(|(key, _)| *key == one.key) else { continue };
        match &mut one.control {
            SettingControl::Line(line) => line.clone_from(value),
            SettingControl::Lines(lines) => *lines = value.lines().map(ToOwned::to_owned).collect(),
            SettingControl::Choice(choices) => {
                choices.iter_mut().for_each(|choice| choice.is_chosen = choice.value == *value);
            }
            // What was typed into these may be a secret.
            _ => {}
        }
    }
    Settings::Form { fields, file, kept }
}

async fn call(hub: &Arc<Hub>, signed_in: &SignedIn, server: &str, tool: &str, fields: &Fields) -> Answered {
    let frame = frame(hub, signed_in, Section::Servers);
    let view = match try_tool::post(hub, &signed_in.cookie, server, tool, fields)? {
        Posted::Screen(view) => *view,
        Posted::Begun(one) => {
            drop(tokio::time::timeout(AT_ONCE, one.wait()).await);
            try_tool::run(hub, &one)?
        }
    };
    Ok(answer::html(StatusCode::OK, helve_page::page::try_tool(&frame, &view)))
}

async fn pin(hub: &Arc<Hub>, signed_in: &SignedIn, name: &str, fields: &Fields) -> Answered {
    // One form for all tools of the table: the button that was pressed says which, and what is wanted of it.
    let (pinning, tool) = match field(fields, "unpin") {
        "" => (Pinning::Pin, field(fields, "pin")),
        tool => (Pinning::Unpin, tool),
    };
    let (server, tool) = (name.to_owned(), tool.to_owned());
    let what = match pinning {
        Pinning::Pin => format!("{tool} is pinned: a change of its definition holds it back."),
        Pinning::Unpin => format!("{tool} is not pinned any more."),
    };
    hub.read(move |hub| pins::pin(hub, &Actor::Session, &server, &tool, pinning, None)).await?;
    say_done(hub, signed_in, what).await;
    Ok(answer::see_other(&format!("/servers/{}", segment(name))))
}

async fn accept(hub: &Arc<Hub>, signed_in: &SignedIn, name: &str, fields: &Fields) -> Answered {
    let (server, tool) = (name.to_owned(), field(fields, "tool").to_owned());
    let (shown, what) = (field(fields, "definition").to_owned(), format!("The new definition of {tool} counts."));
    hub.read(move |hub| pins::pin(hub, &Actor::Session, &server, &tool, Pinning::Pin, Some(&shown))).await?;
    say_done(hub, signed_in, what).await;
    Ok(answer::see_other(&format!("/servers/{}", segment(name))))
}

async fn save_rules(hub: &Arc<Hub>, signed_in: &SignedIn, query: &Fields, fields: &Fields) -> Answered {
    let name = field(query, "edit").to_owned();
    let (asked, sent) = (query.to_vec(), fields.to_vec());
    let saves = field(fields, "do") == "save";
    let mut frame_of_page = None;
    if !saves {
        frame_of_page = Some(frame(hub, signed_in, Section::Rules));
    }
    let done = hub
        .read(move |hub| {
            let (text, version) = (field(&sent, "text"), field(&sent, "version"));
            let file = verbs::settings::file(hub, &Actor::Session, &name)?;
            let view = |foreseen, error: Option<&HubError>| {
                let wrong = error.map(add::problems).unwrap_or_default();
                rules::view(hub, &asked, Some(Sent { text, version, foreseen, wrong }))
            };
            if saves {
                let object = format!("rules in {name}");
                return match verbs::settings::save_text(hub, &Actor::Session, &file, version, text, object) {
                    Ok(number) => Ok(Ok(number.is_some())),
                    Err(error) if matches!(error.details(), Details::Conflict(_)) => Err(error),
                    Err(error) => view(None, Some(&error)).map(|view| Err(Box::new((error.status(), view)))),
                };
            }
            match verbs::rules::what_would_change(hub, &Actor::Session, &file, text) {
                Ok(foreseen) => view(Some(foreseen), None).map(|view| Err(Box::new((StatusCode::OK, view)))),
                Err(error) => view(None, Some(&error)).map(|view| Err(Box::new((error.status(), view)))),
            }
        })
        .await?;
    match done {
        Ok(was_written) => {
            if was_written {
                say_done(hub, signed_in, "The rules were saved.".to_owned()).await;
            } else {
                said(hub, signed_in, "Nothing was different: nothing was written.".to_owned());
            }
            Ok(answer::see_other("/rules"))
        }
        Err(again) => {
            let (status, view) = *again;
            let frame = frame_of_page.unwrap_or_else(|| frame(hub, signed_in, Section::Rules));
            Ok(answer::html(status, helve_page::page::rules(&frame, &view)))
        }
    }
}

async fn forget(hub: &Arc<Hub>, signed_in: &SignedIn, fields: &Fields) -> Answered {
    let id = field(fields, "id").to_owned();
    let what = hub.read(move |hub| verbs::rules::forget(hub, &Actor::Session, &id)).await?;
    said(hub, signed_in, format!("Taken back: {what}. It is asked again from now on."));
    Ok(answer::see_other("/rules"))
}

async fn say_yes(hub: &Arc<Hub>, signed_in: &SignedIn, fields: &Fields) -> Answered {
    let (file, version) = (field(fields, "file").to_owned(), field(fields, "version").to_owned());
    let what = format!("{file} is trusted as it is now.");
    hub.read(move |hub| trust::trust(hub, &Actor::Session, &file, &version)).await?;
    say_done(hub, signed_in, what).await;
    Ok(answer::see_other("/servers"))
}

async fn undo(hub: &Arc<Hub>, signed_in: &SignedIn, seq: &str, fields: &Fields) -> Answered {
    let (seq, version) = (super::number(seq)?, field(fields, "version").to_owned());
    let number = hub.read(move |hub| changes::undo(hub, &Actor::Session, seq, &version)).await?;
    say_done(hub, signed_in, "The change was taken back.".to_owned()).await;
    Ok(answer::see_other(&number.map_or_else(|| "/changes".to_owned(), |number| format!("/changes/{number}"))))
}

/// Saves the rule that was shown, and lets the call that waits go on.
async fn always(hub: &Arc<Hub>, signed_in: &SignedIn, id: &str, fields: &Fields) -> Answered {
    let (id, request) = (id.to_owned(), always::request(fields));
    let made = hub.read(move |hub| verbs::always::make(hub, &Actor::Session, &id, &request)).await?;
    let what = match &made.call {
        Ok(decided) => format!("The rule was saved, and {} goes on: {}.", decided.asked.tool, made.rule),
        Err(error) => format!("The rule was saved: {}. {}.", made.rule, error.message()),
    };
    say_done(hub, signed_in, what).await;
    Ok(answer::see_other("/approvals"))
}

/// The link to the page of a login: a browser that is sent there by a form would refuse to go.
async fn begin_login(hub: &Arc<Hub>, signed_in: &SignedIn, name: &str) -> Answered {
    let page = sign_in::begin(hub, &Actor::Session, name).await?;
    let (frame, name) = (frame(hub, signed_in, Section::Servers), name.to_owned());
    let page = hub.read(move |hub| {
        let mut view = servers::one(hub, &name, "tools", &[])?;
        view.head.sign_in = Some(SignIn {
            is_signed_in: false,
            said: "You sign in on a page of its own, and come back here within ten minutes.".to_owned(),
            provider: Some(page.issuer),
            page: Some(page.url),
        });
        Ok(helve_page::page::server(&frame, &view))
    });
    Ok(answer::html(StatusCode::OK, page.await?))
}

/// A browser that comes back from the page of a login.
pub(super) async fn signed_in_elsewhere(hub: &Arc<Hub>, signed_in: &SignedIn, query: &Fields) -> Answered {
    let name = sign_in::finish(hub, &Actor::Session, query).await?;
    said(hub, signed_in, format!("You are signed in to {name}."));
    Ok(answer::see_other(&format!("/servers/{}", segment(&name))))
}
