//! Calls: one made through a form, one found again, one looked into.

use anyhow::{Result, ensure};

use crate::page::Look;
use crate::page::browser::Browser;
use crate::page::stage::YESTERDAYS_TOOL;

/// The button that calls; another one before it is there for the key Enter alone.
pub(in crate::page) const CALL: &str = "button.main[value='call']";

/// A form with a group, a list that grows and an alternative, filled in and sent.
pub(super) fn nested(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    browser.go(&look.stage.url("/servers/orders"))?;
    browser.follow("create_order")?;
    fill_order(browser)?;
    browser.choose(CALL)?;
    browser.says("answered")?;
    browser.says("2026-117")?;
    let line = browser.run("return document.querySelector('pre[aria-label=\"The same in a shell\"]').innerText;")?;
    let line = line.as_str().unwrap_or_default();
    ensure!(line.contains("helve call orders/create_order") && line.contains("lamp"), "the same in a shell is {line}");
    // What is missing is said where it is missing, by the server as by the browser.
    browser.go(&look.stage.url("/servers/orders/tools/create_order"))?;
    browser.run("document.querySelectorAll('[required]').forEach(field => field.removeAttribute('required'));")?;
    browser.choose(CALL)?;
    browser.says("has a problem")
}

/// Fills the form of an order.
pub(in crate::page) fn fill_order(browser: &mut Browser) -> Result<()> {
    browser.fill("[name='a/customer/name']", "Ada")?;
    browser.fill("[name='a/customer/email']", "ada@example.com")?;
    if browser.run("return document.querySelector(\"[name='a/items/0/article']\") === null;")? == true {
        browser.press_button("Add an item")?;
    }
    browser.fill("[name='a/items/0/article']", "lamp")?;
    browser.press_button("Add an item")?;
    browser.fill("[name='a/items/1/article']", "chair")?;
    browser.fill("[name='a/items/1/quantity']", "4")?;
    browser.choose("[name='u/delivery'] option:nth-of-type(2)")?;
    if !browser.looks.has_script {
        browser.press_button("show")?;
    }
    browser.fill("[name='a/delivery/address']", "1 Long Road")
}

/// A call that was made before the hub was started, found by its tool.
pub(super) fn yesterday(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    browser.go(&look.stage.url("/"))?;
    browser.follow("Calls")?;
    browser.choose("#window option[value='week']")?;
    browser.fill("#tool", YESTERDAYS_TOOL)?;
    browser.press_button("Filter")?;
    browser.says("restore_backup")?;
    browser.choose("#live tbody tr a[href^='/calls/']")?;
    browser.says("token:nightly")?;
    browser.says("archive/*")
}

/// What is kept of a call, where the server's entry asks for it.
pub(super) fn recorded(look: &Look<'_>, browser: &mut Browser) -> Result<()> {
    browser.go(&look.stage.url("/calls?server=echo&tool=echo%2Fecho"))?;
    browser.choose("#live tbody tr a[href^='/calls/']")?;
    browser.says("/srv/project")
}
