//! Owns the look at every screen: in light and dark, with script and without, on a wide window and on a phone.

use anyhow::{Context, Result};
use serde_json::Value;

use super::browser::{Browser, Looks};
use super::stage::ORDERS_COMMAND;
use super::tasks::{CALL, draft, fill_order, into_conflict, typed};
use super::{Look, SHOWN, tell};

/// A screen.
struct Screen {
    name: &'static str,
    /// What its first heading begins with.
    heading: &'static str,
    way: Way,
}

/// How a screen is come to.
enum Way {
    Path(&'static str),
    Steps(fn(&Look<'_>, &mut Browser) -> Result<()>),
    /// The same for one that the browser is told of by a status that its console notes.
    Refused(fn(&Look<'_>, &mut Browser) -> Result<()>),
}

const fn at(name: &'static str, path: &'static str, heading: &'static str) -> Screen {
    Screen { name, heading, way: Way::Path(path) }
}

const fn by(name: &'static str, heading: &'static str, steps: fn(&Look<'_>, &mut Browser) -> Result<()>) -> Screen {
    Screen { name, heading, way: Way::Steps(steps) }
}

/// Every screen.
const SCREENS: &[Screen] = &[
    at("overview", "/", "Overview"),
    at("servers", "/servers", "Servers"),
    at("add", "/servers/new", "Add a server"),
    by("add-understood", "Add a server", |look, browser| typed(look, browser, ORDERS_COMMAND)),
    by("add-tested", "Add a server", |look, browser| {
        typed(look, browser, ORDERS_COMMAND)?;
        browser.choose("input[name='sandbox'][value='off']")?;
        browser.press_button("Test connection")?;
        browser.says("3 tools")
    }),
    by("add-failed", "Add a server", |look, browser| {
        typed(look, browser, "sh -c 'echo the port is taken >&2; exit 3'")?;
        browser.choose("input[name='sandbox'][value='off']")?;
        browser.press_button("Test connection")?;
        browser.says("the port is taken")
    }),
    at("server", "/servers/orders", "orders"),
    at("server-broken", "/servers/broken", "broken"),
    at("server-log", "/servers/orders/log", "orders"),
    at("server-calls", "/servers/echo/calls", "echo"),
    at("server-settings", "/servers/orders/settings", "orders"),
    at("server-text", "/servers/orders/settings?as=text", "orders"),
    at("server-login", "/servers/billing", "billing"),
    at("trust", "/trust?file=helve.toml", "Trust"),
    at("try", "/servers/orders/tools/create_order", "create_order"),
    by("try-answered", "create_order", |look, browser| {
        browser.go(&look.stage.url("/servers/orders/tools/create_order"))?;
        fill_order(browser)?;
        browser.choose(CALL)?;
        browser.says("2026-117")
    }),
    by("try-asked", "cancel_order", |look, browser| {
        browser.go(&look.stage.url("/servers/orders/tools/cancel_order"))?;
        browser.fill("[name='a/order']", "2026-116")?;
        browser.choose(CALL)?;
        browser.says("A rule asks first.")
    }),
    at("approvals", "/approvals", "Approvals"),
    by("always", "Always allow", |look, browser| {
        browser.go(&look.stage.url("/approvals"))?;
        browser.follow("Always…")?;
        browser.says("What it would have decided")
    }),
    at("calls", "/calls?window=week", "Calls"),
    at("calls-live", "/calls?live=1", "Calls"),
    at("call", "/calls/1", "archive/list_backups"),
    at("rules", "/rules", "Rules"),
    at("rules-explained", "/rules?server=orders&tool=cancel_order", "Rules"),
    by("rules-checked", "Rules", draft),
    Screen { name: "conflict", heading: "The file has changed", way: Way::Refused(into_conflict) },
    at("tokens", "/tokens", "Tokens"),
    at("changes", "/changes", "Changes"),
    by("change", "", |look, browser| {
        browser.go(&look.stage.url("/changes"))?;
        browser.choose("main tbody tr a[href^='/changes/']")?;
        browser.says("What changed")
    }),
    at("hub", "/hub", "Hub"),
    Screen {
        name: "nothing-there",
        heading: "There",
        way: Way::Refused(|look, browser| browser.go(&look.stage.url("/no-such-page"))),
    },
    Screen {
        name: "link-needed",
        heading: "A link opens this page",
        way: Way::Refused(|look, browser| {
            browser.forget()?;
            browser.go(&look.stage.url("/"))
        }),
    },
];

/// What the checker found, in words.
const FINDINGS: &str = "
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ['violations'] }).then(
    found => done(found.violations.map(one => one.id + ': ' + one.nodes.map(node => node.html.slice(0, 120)).join(' | '))),
    error => done(['axe failed: ' + error]));
";

pub(super) fn run(look: &Look<'_>) -> Result<Vec<String>> {
    let mut missed = Vec::new();
    let mut seen = 0;
    if !SCREENS.iter().any(|screen| look.wants(screen.name)) {
        return Ok(missed);
    }
    // Two that wait, for as long as the screens are looked at.
    drop((look.stage.held_call("2026-115")?, look.stage.held_call("2026-116")?));
    for looks in [
        Looks { scheme: "light", has_script: true },
        Looks { scheme: "dark", has_script: true },
        Looks { scheme: "light", has_script: false },
        Looks { scheme: "dark", has_script: false },
    ] {
        let mut browser = look.signed_in(looks)?;
        for screen in SCREENS.iter().filter(|screen| look.wants(screen.name)) {
            let dressed =
                format!("{}-{}{}", screen.name, looks.scheme, if looks.has_script { "" } else { "-no-script" });
            seen += 1;
            match one(look, &mut browser, screen, &dressed) {
                Ok(found) => missed.extend(found.into_iter().map(|what| format!("{dressed}: {what}"))),
                Err(error) => {
                    drop(browser.picture(&look.pictures.join(format!("missed-{dressed}.png"))));
                    missed.push(format!("{dressed}: {error:#}"));
                }
            }
        }
    }
    tell(&format!("{seen} screens looked at, {} findings", missed.len()));
    Ok(missed)
}

fn one(look: &Look<'_>, browser: &mut Browser, screen: &Screen, name: &str) -> Result<Vec<String>> {
    browser.complaints()?;
    match screen.way {
        Way::Path(path) => browser.go(&look.stage.url(path))?,
        Way::Steps(steps) | Way::Refused(steps) => steps(look, browser)?,
    }
    let said = browser.run("return document.querySelector('h1')?.innerText ?? '';")?;
    let said = said.as_str().unwrap_or_default();
    let mut found = Vec::new();
    if !said.starts_with(screen.heading) {
        found.push(format!("its heading is {said:?}"));
    }
    let complaints = browser.complaints()?;
    if !matches!(screen.way, Way::Refused(_)) {
        found.extend(complaints);
    }
    browser.whole_picture(&look.pictures.join(format!("{name}.png")))?;
    if name.ends_with("-light") && SHOWN.iter().any(|(shown, _)| *shown == screen.name) {
        browser.picture(&look.pictures.join(format!("shown-{}.png", screen.name)))?;
    }
    if browser.looks.has_script {
        found.extend(accessible(look, browser)?);
    }
    found.extend(on_a_phone(look, browser, name)?);
    Ok(found)
}

/// What axe has against what is shown.
pub(super) fn accessible(look: &Look<'_>, browser: &mut Browser) -> Result<Vec<String>> {
    browser.run(&look.axe)?;
    let found = browser.run_and_wait(FINDINGS)?;
    let found = found.as_array().context("findings")?;
    Ok(found.iter().map(|one| format!("axe: {}", one.as_str().unwrap_or_default())).collect())
}

/// On a phone nothing is wider than the window.
fn on_a_phone(look: &Look<'_>, browser: &mut Browser, name: &str) -> Result<Option<String>> {
    browser.resize(390, 844)?;
    let wider = browser.run("return document.documentElement.scrollWidth - window.innerWidth;")?;
    if name.ends_with("-light") {
        browser.whole_picture(&look.pictures.join(format!("{name}-phone.png")))?;
    }
    browser.resize(1280, 900)?;
    let wider = wider.as_f64().unwrap_or_default();
    Ok((wider > 0.0).then(|| format!("{wider} pixels wider than a phone")))
}

/// A value of a page as a number.
pub(super) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}
