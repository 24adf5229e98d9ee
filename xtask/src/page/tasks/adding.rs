//! Adding a server in each of the ways there are, and one that does not come.

use anyhow::{Result, ensure};

use crate::page::Look;
use crate::page::browser::Browser;
use crate::page::stage::ORDERS_COMMAND;

/// A value that must be in no file and on no page.
const SECRET: &str = "sk-canary-4711";

/// A server of VS Code's, with a question for its person.
const SNIPPET: &str = r#"{"servers": {"branch": {"type": "stdio", "command": "python3", "args": ["orders.py"],
  "env": {"SHOP_KEY": "${input:key}"}}},
"inputs": [{"type": "promptString", "id": "key", "description": "The key of the shop", "password": true}]}"#;

/// Shown word by word, tested, saved, and there.
pub(super) fn by_command(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    begin(look, browser, ORDERS_COMMAND)?;
    browser.says("Understood as a command line")?;
    let words = browser.run("return [...document.querySelectorAll('ol.words li')].map(word => word.innerText);")?;
    ensure!(words[0] == "python3", "these words would run: {words}");
    name(browser, "warehouse")?;
    browser.choose("input[name='sandbox'][value='off']")?;
    // Another name is another thing than what was shown: it is shown first.
    browser.press_button("Read it again")?;
    browser.says("Understood as a command line")?;
    browser.press_button("Test connection")?;
    browser.says("3 tools")?;
    browser.says("create_order")?;
    browser.press_button("Save")?;
    browser.says("warehouse was added.")?;
    browser.says("cancel_order")?;
    removed(look, browser, "warehouse")
}

pub(super) fn by_address(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    begin(look, browser, &look.stage.far_address())?;
    browser.says("It would connect to")?;
    name(browser, "far")?;
    browser.press_button("Read it again")?;
    browser.says("It would connect to")?;
    browser.press_button("Save")?;
    browser.says("far was added.")?;
    removed(look, browser, "far")
}

/// A piece of another client's configuration: its secrets are asked for, kept sealed, and never shown again.
pub(super) fn by_snippet(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    begin(look, browser, SNIPPET)?;
    browser.says("The key of the shop")?;
    browser.says("the variable SHOP_KEY of the program python3")?;
    browser.choose("input[name='sandbox'][value='off']")?;
    browser.fill("input[name='secret:key']", SECRET)?;
    browser.press_button("Test connection")?;
    browser.says("3 tools")?;
    // What was typed before the test is saved after it.
    browser.press_button("Save")?;
    browser.says("branch was added.")?;
    let text = fs_err::read_to_string(look.stage.home().configuration())?;
    ensure!(text.contains("${secret:branch.key}"), "the entry refers to no secret:\n{text}");
    ensure!(!text.contains(SECRET), "the secret is in the file");
    browser.go(&look.stage.url("/servers/branch/settings?as=text"))?;
    let text = browser.run("return document.querySelector('#text').value;")?.to_string();
    ensure!(text.contains("SHOP_KEY") && !text.contains(SECRET), "the page shows {text}");
    let secrets = look.stage.home().command(&["secret", "list"]).output()?;
    let secrets = String::from_utf8_lossy(&secrets.stdout).into_owned();
    ensure!(secrets.contains("branch.key"), "the secret was not kept: {secrets:?}");
    removed(look, browser, "branch")
}

/// The exact failure, with what the program wrote.
pub(super) fn failing(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    begin(look, browser, "sh -c 'echo the port is taken >&2; exit 3'")?;
    browser.choose("input[name='sandbox'][value='off']")?;
    browser.press_button("Test connection")?;
    browser.says("TRANSPORT_ERROR")?;
    browser.says("the port is taken")?;
    let text = fs_err::read_to_string(look.stage.home().configuration())?;
    ensure!(!text.contains("the port is taken"), "a test has written something");
    Ok(())
}

/// What was typed is understood.
pub(in crate::page) fn begin(look: &Look<'_>, browser: &mut Browser, typed: &str) -> Result<()> {
    browser.go(&look.stage.url("/servers"))?;
    browser.follow("Add a server")?;
    browser.fill("#typed", typed)?;
    browser.press_button("Continue")?;
    browser.find("#name").map(drop)
}

fn name(browser: &mut Browser, name: &str) -> Result<()> {
    browser.fill("#name", name)
}

/// Takes a server out again, by its settings.
fn removed(look: &Look<'_>, browser: &mut Browser, name: &str) -> Result<()> {
    browser.go(&look.stage.url(&format!("/servers/{name}/settings")))?;
    browser.choose("input[name='sure']")?;
    browser.press_button("Remove")?;
    browser.says(&format!("{name} was removed"))?;
    let text = fs_err::read_to_string(look.stage.home().configuration())?;
    ensure!(!text.contains(&format!("[servers.{name}]")), "the entry is still there");
    Ok(())
}
