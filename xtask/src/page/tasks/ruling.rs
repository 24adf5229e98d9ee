//! Rules: changed after a look at what would change, taken back, and saved by two at once.

use anyhow::{Context, Result, ensure};

use crate::page::Look;
use crate::page::browser::{Browser, Element};

/// A rule about calls that were let through.
const RULE: &str = "\n[[rules]]\ntool = \"files/search*\"\naction = \"deny\"\n";

/// What would change is shown before it is saved.
pub(super) fn changed(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    draft(look, browser)?;
    let before = look.stage.home().configuration();
    let before = fs_err::read_to_string(before)?;
    ensure!(!before.contains("files/search*"), "a look has written something");
    browser.press_button("Save")?;
    browser.says("The rules were saved.")?;
    browser.says("every tool of files called search* never runs")
}

/// A draft, and what it would decide otherwise.
pub(in crate::page) fn draft(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    let field = editor(look, browser)?;
    browser.append(&field, RULE)?;
    browser.press_button("What would change?")?;
    browser.says("search_files")?;
    browser.says("were looked at")
}

/// The last change is taken back, which is a change, too.
pub(super) fn undone(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    let file = look.stage.home().configuration();
    if !fs_err::read_to_string(&file)?.contains("files/search*") {
        changed(look, browser)?;
    }
    browser.follow("Changes")?;
    browser.choose("main tbody tr a[href^='/changes/']")?;
    browser.says("The file would change like this")?;
    browser.press_button("Undo this change")?;
    browser.says("The change was taken back.")?;
    let text = fs_err::read_to_string(&file)?;
    ensure!(!text.contains("files/search*"), "the rule is still there");
    ensure!(text.starts_with("# Servers of the shop"), "a comment is gone:\n{text}");
    Ok(())
}

/// Somebody else saves between: nothing is lost, both texts are shown, and the person decides.
pub(super) fn conflict(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    let file = look.stage.home().configuration();
    let before = fs_err::read_to_string(&file)?;
    into_conflict(look, browser)?;
    ensure!(fs_err::read_to_string(&file)?.contains("# somebody else"), "their text was overwritten");
    browser.follow("Leave it as it is")?;
    browser.says("The first that fits decides")?;
    // The browser notes that the first text was refused, as it should.
    browser.complaints()?;
    fs_err::write(&file, before)?;
    Ok(())
}

/// To the screen that shows two texts.
pub(in crate::page) fn into_conflict(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    let field = editor(look, browser)?;
    browser.append(&field, RULE)?;
    let file = look.stage.home().configuration();
    let text = fs_err::read_to_string(&file)?;
    let times = text.matches("# somebody else").count();
    fs_err::write(&file, format!("# somebody else, {times} times before\n{text}"))?;
    browser.press_button("Save")?;
    browser.says("The file has changed meanwhile")
}

/// The editor of the person's own file.
fn editor(look: &Look<'_>, browser: &mut Browser) -> Result<Element> {
    browser.go(&look.stage.url("/rules"))?;
    browser.follow("Edit your file").context("no file can be edited")?;
    browser.find("#text")
}
