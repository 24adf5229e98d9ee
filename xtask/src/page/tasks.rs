//! Owns what people do on the page, done as they would: with links, fields and buttons, and with keys alone.

mod access;
mod adding;
mod approving;
mod calling;
mod ruling;

use anyhow::{Result, ensure};

use super::browser::{Browser, Looks, TAB};
use super::{Look, tell};

pub(super) use adding::begin as typed;
pub(super) use calling::{CALL, fill_order};
pub(super) use ruling::{draft, into_conflict};

/// A task: its name, and how it is done.
type Task = (&'static str, fn(&Look<'_>, &mut Browser) -> Result<()>);

const TASKS: &[Task] = &[
    ("first start", access::first_start),
    ("add a server by its command", adding::by_command),
    ("add a server by its address", adding::by_address),
    ("add a server by a snippet", adding::by_snippet),
    ("test a server that fails", adding::failing),
    ("try a tool with a nested form", calling::nested),
    ("change a rule after what would change", ruling::changed),
    ("undo a change", ruling::undone),
    ("find both texts after a conflict", ruling::conflict),
    ("make and revoke a token", access::tokens),
    ("make a token with keys alone", access::by_keyboard),
    ("sign in to a server and out again", access::signed_in_to_a_server),
    ("find one call of yesterday", calling::yesterday),
    ("see what a call sent and got", calling::recorded),
    ("approve a held call", approving::approved),
    ("approve a held call with keys alone", approving::by_keyboard),
    ("deny a held call with a reason", approving::denied),
    ("always allow what a held call asks", approving::always),
    ("switch a server off and on", access::switched),
    ("sign out", access::sign_out),
];

/// So many presses of a key lead everywhere on a page.
const PRESSES: usize = 120;

pub(super) fn run(look: &Look<'_>) -> Result<Vec<String>> {
    let mut missed = Vec::new();
    for has_script in [true, false] {
        let with = if has_script { "with script" } else { "without script" };
        let mut kept: Option<Browser> = None;
        for (name, task) in TASKS.iter().filter(|(name, _)| look.wants(name)) {
            let mut browser = match kept.take() {
                Some(browser) => browser,
                None => look.driver.browser(Looks { scheme: "light", has_script })?,
            };
            let done = look.sign_in(&mut browser).and_then(|()| task(look, &mut browser)).and_then(|()| {
                let complaints = browser.complaints()?;
                ensure!(complaints.is_empty(), "the console complains: {}", complaints.join("; "));
                browser.forget()
            });
            match done {
                Ok(()) => {
                    tell(&format!("{name}, {with}: done"));
                    kept = Some(browser);
                }
                Err(error) => {
                    let file = format!("missed-{}-{has_script}.png", name.replace(' ', "-"));
                    drop(browser.picture(&look.pictures.join(file)));
                    tell(&format!("{name}, {with}: MISSED: {error:#}"));
                    missed.push(format!("{name}, {with}: {error:#}"));
                }
            }
        }
    }
    Ok(missed)
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
