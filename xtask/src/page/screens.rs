//! Owns the look at every screen: in light and dark, with script and without, on a wide window and on a phone.

use anyhow::{Context, Result};
use serde_json::Value;

use super::browser::{Browser, Looks};
use super::{Look, tell};

/// Every screen: its name, its path, and what its first heading begins with.
const SCREENS: &[(&str, &str, &str)] = &[
    ("overview", "/", "Overview"),
    ("servers", "/servers", "Servers"),
    ("server", "/servers/echo", "echo"),
    ("server-broken", "/servers/broken", "broken"),
    ("server-log", "/servers/broken/log", "broken"),
    ("calls", "/calls?window=week", "Calls"),
    ("calls-live", "/calls?live=1", "Calls"),
    ("call", "/calls/1", "archive/list_backups"),
    ("tokens", "/tokens", "Tokens"),
    ("changes", "/changes", "Changes"),
    ("hub", "/hub", "Hub"),
    ("nothing-there", "/no-such-page", "There"),
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
    for looks in [
        Looks { scheme: "light", has_script: true },
        Looks { scheme: "dark", has_script: true },
        Looks { scheme: "light", has_script: false },
        Looks { scheme: "dark", has_script: false },
    ] {
        let mut browser = look.signed_in(looks)?;
        for (name, path, heading) in SCREENS.iter().filter(|(name, _, _)| look.wants(name)) {
            let dressed = format!("{name}-{}{}", looks.scheme, if looks.has_script { "" } else { "-no-script" });
            seen += 1;
            match one(look, &mut browser, looks, &dressed, path, heading) {
                Ok(found) => missed.extend(found.into_iter().map(|what| format!("{dressed}: {what}"))),
                Err(error) => missed.push(format!("{dressed}: {error:#}")),
            }
        }
    }
    tell(&format!("{seen} screens looked at, {} findings", missed.len()));
    Ok(missed)
}

fn one(
    look: &Look<'_>,
    browser: &mut Browser,
    looks: Looks,
    name: &str,
    path: &str,
    heading: &str,
) -> Result<Vec<String>> {
    browser.complaints()?;
    browser.go(&look.stage.url(path))?;
    let said = browser.run("return document.querySelector('h1')?.innerText ?? '';")?;
    let said = said.as_str().unwrap_or_default();
    let mut found = Vec::new();
    if !said.starts_with(heading) {
        found.push(format!("its heading is {said:?}"));
    }
    // A screen that is not there is answered so, which the console notes.
    if !path.contains("no-such") {
        found.extend(browser.complaints()?);
    }
    browser.picture(&look.pictures.join(format!("{name}.png")))?;
    if looks.has_script {
        found.extend(accessible(look, browser)?);
        found.extend(on_a_phone(look, browser, name)?);
    }
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
        browser.picture(&look.pictures.join(format!("{name}-phone.png")))?;
    }
    browser.resize(1280, 900)?;
    let wider = wider.as_f64().unwrap_or_default();
    Ok((wider > 0.0).then(|| format!("{wider} pixels wider than a phone")))
}

/// A value of a page as a number.
pub(super) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}
