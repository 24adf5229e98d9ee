//! Owns what is measured in the browser: how soon a screen is painted, and how soon an event is on the page.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

use super::browser::Looks;
use super::screens::number;
use super::{Look, tell};

/// How often each is measured.
const ROUNDS: usize = 20;

/// Says what was measured. A machine that does other things meanwhile is not to be judged by it.
fn tell_of(name: &str, mut seconds: Vec<f64>) {
    seconds.sort_unstable_by(f64::total_cmp);
    let at = |part: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a rank"
        )]
        let rank = ((seconds.len() as f64 * part).ceil() as usize).saturating_sub(1);
        seconds.get(rank).copied().unwrap_or(f64::NAN) * 1e3
    };
    tell(&format!("{name}: p50 {:.0} ms, p99 {:.0} ms", at(0.5), at(0.99)));
}

pub(super) fn take(look: &Look<'_>) -> Result<()> {
    if !look.wants("figures") {
        return Ok(());
    }
    let mut browser = look.signed_in(Looks { scheme: "light", has_script: true })?;
    let mut painted = Vec::new();
    for _ in 0..ROUNDS {
        browser.go(&look.stage.url("/"))?;
        let paint = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null;";
        let paint = browser.until("the page is painted", |browser| Ok(browser.run(paint)?.as_f64()))?;
        painted.push(paint / 1e3);
    }
    tell_of("first contentful paint of the overview", painted);

    browser.go(&look.stage.url("/calls?live=1"))?;
    browser.find("#live tbody tr")?;
    let mut agent = look.stage.agent()?;
    let newest = "return document.querySelector('#live tbody tr a[href^=\"/calls/\"]')?.getAttribute('href') ?? '';";
    let mut shown = Vec::new();
    for _ in 0..ROUNDS {
        let before = browser.run(newest)?;
        let called = Instant::now();
        agent.request("tools/call", &json!({ "name": "echo__echo", "arguments": { "text": "live", "path": "/" } }))?;
        browser.until("the call is on the page", |browser| Ok((browser.run(newest)? != before).then_some(())))?;
        shown.push(called.elapsed().as_secs_f64());
        // The next event is another one.
        std::thread::sleep(Duration::from_millis(50));
    }
    tell_of("from a call to its row on a live page", shown);
    let sizes = browser
        .run("return performance.getEntriesByType('resource').reduce((sum, one) => sum + one.encodedBodySize, 0);")?;
    let whole = browser.run("return document.documentElement.outerHTML.length;").context("a page")?;
    tell(&format!("assets {:.0} bytes, the page of calls {:.0} bytes", number(&sizes), number(&whole)));
    Ok(())
}
