//! Owns what people do on the page, done as they would: with links, fields and buttons, and once with keys alone.

use anyhow::{Context, Result, ensure};

use super::browser::{Browser, ENTER, Looks, TAB};
use super::stage::YESTERDAYS_TOOL;
use super::{Look, tell};

/// A task: its name, and how it is done.
type Task = (&'static str, fn(&Look<'_>, &mut Browser) -> Result<()>);

const TASKS: &[Task] = &[
    ("first start", first_start),
    ("make and revoke a token", tokens),
    ("make a token with keys alone", by_keyboard),
    ("find one call of yesterday", yesterday),
    ("see what a call sent and got", recorded),
    ("switch a server off and on", switched),
    ("sign out", sign_out),
];

/// So many presses of a key lead everywhere on a page.
const PRESSES: usize = 120;

pub(super) fn run(look: &Look<'_>) -> Result<Vec<String>> {
    let mut missed = Vec::new();
    for has_script in [true, false] {
        for (name, task) in TASKS.iter().filter(|(name, _)| look.wants(name)) {
            let mut browser = look.signed_in(Looks { scheme: "light", has_script })?;
            let with = if has_script { "with script" } else { "without script" };
            let done = task(look, &mut browser).and_then(|()| {
                let complaints = browser.complaints()?;
                ensure!(complaints.is_empty(), "the console complains: {}", complaints.join("; "));
                Ok(())
            });
            match done {
                Ok(()) => tell(&format!("{name}, {with}: done")),
                Err(error) => {
                    let file = format!("missed-{}-{has_script}.png", name.replace(' ', "-"));
                    drop(browser.picture(&look.pictures.join(file)));
                    missed.push(format!("{name}, {with}: {error:#}"));
                }
            }
        }
    }
    Ok(missed)
}

/// The link signs in, once, and leads to the overview.
fn first_start(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    let link = look.stage.link()?;
    browser.go(&link)?;
    ensure!(browser.url()? == look.stage.url("/"), "the link leads to {}", browser.url()?);
    browser.says("Overview")?;
    let mut other = look.driver.browser(Looks { scheme: "light", has_script: true })?;
    other.go(&link)?;
    other.says("A link opens this page")?;
    other.says("used already")
}

fn tokens(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    let name = unused(look, "task")?;
    follow(browser, "Tokens")?;
    let field = browser.find("#t-name")?;
    browser.type_into(&field, &name)?;
    press(browser, "Make the token")?;
    browser.says("it is not shown again")?;
    let token = browser.run("return document.querySelector('.token').innerText;")?;
    let token = token.as_str().context("a token")?.trim().to_owned();
    ensure!(token.starts_with("hv_"), "this is not a token: {token}");
    follow(browser, "Tokens")?;
    browser.says(&name)?;
    ensure!(!browser.text()?.contains(&token), "the token is shown again");
    press(browser, &format!("Revoke {name}"))?;
    browser.until("the token is gone from the table", |browser| {
        let rows = browser.run(
            "return [...document.querySelectorAll('main table th[scope=row]')].map(row => row.innerText).join();",
        )?;
        Ok((!rows.as_str().unwrap_or_default().contains(&name)).then_some(()))
    })
}

/// From the first key to the token, without a mouse.
fn by_keyboard(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
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

/// A call that was made before the hub was started, found by its tool.
fn yesterday(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    browser.go(&look.stage.url("/"))?;
    follow(browser, "Calls")?;
    let window = browser.find("#window option[value='week']")?;
    browser.click(&window)?;
    let tool = browser.find("#tool")?;
    browser.type_into(&tool, YESTERDAYS_TOOL)?;
    press(browser, "Filter")?;
    browser.says("restore_backup")?;
    let row = browser.find("#live tbody tr a[href^='/calls/']")?;
    browser.click(&row)?;
    browser.says("token:nightly")?;
    browser.says("archive/*")
}

/// What is kept of a call, where the server's entry asks for it.
fn recorded(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    browser.go(&look.stage.url("/calls?server=echo&tool=echo%2Fecho"))?;
    let row = browser.find("#live tbody tr a[href^='/calls/']")?;
    browser.click(&row)?;
    browser.says("/srv/project")
}

fn switched(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    browser.go(&look.stage.url("/servers/clock"))?;
    press(browser, "Switch off")?;
    browser.find_saying("button", "Switch on")?;
    let text = fs_err::read_to_string(look.stage.home().configuration())?;
    ensure!(text.contains("enabled = false"), "the file does not say so");
    press(browser, "Switch on")?;
    browser.find_saying("button", "Switch off").map(drop)
}

fn sign_out(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    press(browser, "Sign out")?;
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

fn follow(browser: &mut Browser, words: &str) -> Result<()> {
    let link = browser.find_saying("a", words)?;
    browser.click(&link)
}

fn press(browser: &mut Browser, words: &str) -> Result<()> {
    let button = browser.find_saying("button", words)?;
    browser.click(&button)
}

/// Goes on with the tab key until the focus is on a link or button that says this.
fn reach(browser: &mut Browser, kind: &str, words: &str) -> Result<()> {
    let held = format!(
        "document.activeElement.matches({kind:?}) && document.activeElement.innerText.trim().startsWith({words:?})"
    );
    focus(browser, &held)
}

fn focus(browser: &mut Browser, held: &str) -> Result<()> {
    for _ in 0..PRESSES {
        if browser.run(&format!("return {held};"))? == true {
            return Ok(());
        }
        browser.press(TAB)?;
    }
    anyhow::bail!("the keyboard does not lead to where {held}")
}
