//! Coming in and going out: the first start, tokens, logins, a server that is switched off and on.

use anyhow::{Context, Result, ensure};

use super::{focus, reach};
use crate::page::Look;
use crate::page::browser::{Browser, ENTER, Looks};

/// The link signs in, once, and leads to the overview.
pub(super) fn first_start(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    let link = look.stage.link()?;
    browser.go(&link)?;
    ensure!(browser.url()? == look.stage.url("/"), "the link leads to {}", browser.url()?);
    browser.says("Overview")?;
    let mut other = look.driver.browser(Looks { scheme: "light", has_script: true })?;
    other.go(&link)?;
    other.says("A link opens this page")?;
    other.says("used already")
}

pub(super) fn tokens(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    let name = unused(look, "task")?;
    browser.follow("Tokens")?;
    browser.fill("#t-name", &name)?;
    browser.press_button("Make the token")?;
    browser.says("it is not shown again")?;
    let token = browser.run("return document.querySelector('.token').innerText;")?;
    let token = token.as_str().context("a token")?.trim().to_owned();
    ensure!(token.starts_with("hv_"), "this is not a token: {token}");
    browser.follow("Tokens")?;
    browser.says(&name)?;
    ensure!(!browser.text()?.contains(&token), "the token is shown again");
    browser.press_button(&format!("Revoke {name}"))?;
    browser.until("the token is gone from the table", |browser| {
        let rows = browser.run(
            "return [...document.querySelectorAll('main table th[scope=row]')].map(row => row.innerText).join();",
        )?;
        Ok((!rows.as_str().unwrap_or_default().contains(&name)).then_some(()))
    })
}

/// From the first key to the token, without a mouse.
pub(super) fn by_keyboard(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    let name = unused(look, "keys")?;
    browser.go(&look.stage.url("/"))?;
    reach(browser, "a", "Tokens")?;
    browser.press(ENTER)?;
    browser.says("A new token")?;
    focus(browser, "document.activeElement.id === 't-name'")?;
    browser.press(&name)?;
    browser.press(ENTER)?;
    browser.says("it is not shown again")
}

/// A login at the server's own page, and back; then it is given up.
pub(super) fn signed_in_to_a_server(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    browser.go(&look.stage.url("/"))?;
    browser.says("billing wants a login")?;
    browser.go(&look.stage.url("/servers/billing"))?;
    browser.says("Sign-in needed")?;
    browser.press_button("Sign in")?;
    browser.says(&look.stage.authority())?;
    browser.follow("Go there")?;
    browser.says("You are signed in to billing.")?;
    ensure!(browser.url()? == look.stage.url("/servers/billing"), "it leads to {}", browser.url()?);
    browser.until("the server is ready", |browser| {
        if browser.text()?.contains("ready") {
            return Ok(Some(()));
        }
        browser.go(&look.stage.url("/servers/billing"))?;
        Ok(None)
    })?;
    browser.choose("main form[action$='/sign-out'] button")?;
    browser.says("You are signed out of billing.")?;
    browser.until("it wants a login again", |browser| {
        if browser.text()?.contains("Sign-in needed") {
            return Ok(Some(()));
        }
        browser.go(&look.stage.url("/servers/billing"))?;
        Ok(None)
    })
}

/// The button leads back to the server, which is what it was told to be.
pub(super) fn switched(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    let page = look.stage.url("/servers/clock");
    browser.go(&page)?;
    browser.press_button("Switch off")?;
    browser.says("clock is switched off.")?;
    ensure!(browser.url()? == page, "it leads to {}", browser.url()?);
    let text = fs_err::read_to_string(look.stage.home().configuration())?;
    ensure!(text.contains("enabled = false"), "the file does not say so");
    browser.press_button("Switch on")?;
    browser.says("clock is switched on.")?;
    browser.find_saying("button", "Switch off").map(drop)
}

pub(super) fn sign_out(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    browser.press_button("Sign out")?;
    browser.says("A link opens this page")?;
    browser.go(&look.stage.url("/calls"))?;
    browser.says("A link opens this page")?;
    // The browser notes that it was refused, as it should.
    browser.complaints().map(drop)
}

/// A name that no token has had.
fn unused(look: &Look<'_>, name: &str) -> Result<String> {
    let tokens = look.stage.home().ask_json(&["token", "list"])?;
    let count = tokens.as_array().map_or(0, Vec::len);
    Ok(format!("{name}-{count}"))
}
