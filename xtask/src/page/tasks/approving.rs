//! Calls that wait for a person: the agent's own call goes on, or its agent reads why not.

use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;

use super::reach;
use crate::page::Look;
use crate::page::browser::{Browser, ENTER};

/// A click, and the agent has its answer.
pub(super) fn approved(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    let order = order("2026-201", browser);
    let call = waiting(look, browser, &order)?;
    press_on(browser, &order, "Allow once")?;
    browser.says("cancel_order may run, once.")?;
    let (text, is_error) = answer(call)?;
    ensure!(!is_error && text == format!("order {order} is cancelled"), "the agent reads {text}");
    browser.says("allowed")
}

/// The same with keys: with the page's own where there is script, else with the tab key.
pub(super) fn by_keyboard(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    let order = order("2026-202", browser);
    let call = waiting(look, browser, &order)?;
    if browser.looks.has_script {
        browser.press("j")?;
        browser.press("a")?;
        browser.until("the yes is in focus", |browser| {
            let held = browser.run("return document.activeElement.innerText.startsWith('Allow once');")?;
            Ok((held == true).then_some(()))
        })?;
    } else {
        reach(browser, "button", "Allow once")?;
    }
    browser.press(ENTER)?;
    browser.says("cancel_order may run, once.")?;
    let (text, _) = answer(call)?;
    ensure!(text == format!("order {order} is cancelled"), "the agent reads {text}");
    Ok(())
}

pub(super) fn denied(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    let order = order("2026-203", browser);
    let call = waiting(look, browser, &order)?;
    let field = browser.find("[data-approval] input[name^='reason:']")?;
    browser.type_into(&field, "this one was paid already")?;
    press_on(browser, &order, "Deny")?;
    browser.says("cancel_order was denied.")?;
    let (text, is_error) = answer(call)?;
    ensure!(is_error && text.contains("a person said no on the page"), "the agent reads {text}");
    ensure!(text.contains("this one was paid already"), "the agent does not read why: {text}");
    Ok(())
}

/// A rule is made of the call, which goes on; the next one like it is not asked about. Then the rule is taken back.
pub(super) fn always(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    let order = order("2026-204", browser);
    let call = waiting(look, browser, &order)?;
    browser.follow("Always…")?;
    browser.says("What it would have decided")?;
    browser.says(&format!("pattern = \"order={order}\""))?;
    browser.choose("input[name='argument'][value='*']")?;
    if !browser.looks.has_script {
        browser.press_button("Show the rule")?;
    }
    browser.until("the rule is for any arguments", |browser| {
        Ok((!browser.text()?.contains("pattern = ")).then_some(()))
    })?;
    browser.choose("input[name='argument'][value='order']")?;
    if !browser.looks.has_script {
        browser.press_button("Show the rule")?;
    }
    browser.says("pattern = ")?;
    browser.press_button("Save the rule")?;
    browser.says("The rule was saved, and cancel_order goes on")?;
    ensure!(!answer(call)?.1, "the call did not go on");
    let (text, is_error) = answer(look.stage.held_call(&order)?)?;
    ensure!(!is_error, "the next one is not let through: {text}");
    browser.follow("Changes")?;
    browser.says("added rule allow orders/cancel_order")?;
    browser.follow("added rule allow")?;
    browser.press_button("Undo this change")?;
    browser.says("The change was taken back.")
}

/// Another order with script than without.
fn order(number: &str, browser: &Browser) -> String {
    format!("{number}{}", if browser.looks.has_script { "a" } else { "b" })
}

/// A call that waits, on the screen.
fn waiting(look: &Look<'_>, browser: &mut Browser, order: &str) -> Result<JoinHandle<Result<Value>>> {
    let call = look.stage.held_call(order)?;
    browser.go(&look.stage.url("/approvals"))?;
    browser.until("the call waits on the page", |browser| {
        if browser.text()?.contains(order) {
            return Ok(Some(()));
        }
        if !browser.looks.has_script {
            browser.go(&look.stage.url("/approvals"))?;
        }
        Ok(None)
    })?;
    Ok(call)
}

/// Presses a button of the call of this order. A page that is drawn anew meanwhile is looked at again.
fn press_on(browser: &mut Browser, order: &str, words: &str) -> Result<()> {
    ensure!(browser.text()?.contains(order), "another call is on the page");
    browser.press_button(words)
}

/// What the agent got: the text, and whether it is an error.
fn answer(call: JoinHandle<Result<Value>>) -> Result<(String, bool)> {
    let answer = call.join().map_err(|_| anyhow!("the agent broke down"))??;
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().with_context(|| format!("no text: {answer}"))?;
    Ok((text.to_owned(), result["isError"] == true))
}
