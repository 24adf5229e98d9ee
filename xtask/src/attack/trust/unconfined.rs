//! A yes where the system confines nothing: `--yes` alone is not one to a program that runs unconfined, and what was trusted on
//! another system does not start here without its sandbox.

use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};

use super::super::Figure;
use super::super::arena::{Arena, Place};
use crate::escapes::{Missing, take_away};

pub(super) fn run(arena: &Arena) -> Result<Vec<Figure>> {
    let place = arena.place()?;
    let scenario = helve_testkit::Scenario::modern();
    let rules = "[[rules]]\ntool = \"*/*\"\naction = \"allow\"\n";
    place.write("project/helve.toml", &format!("{}\n{rules}", place.server("s", scenario, "record")))?;
    let alone = without_landlock(place.command(&["trust", "--yes"]))?;
    let after = super::waiting(&place)?;
    let is_named = String::from_utf8_lossy(&alone.stderr).contains("cannot confine");
    let mut figures = vec![Figure::none_of(
        "trusted by `--yes` alone where nothing can be confined",
        1,
        usize::from(alone.status.success() || after == 0 || !is_named),
    )];
    // Trusted where it can be confined, and started where it cannot.
    let trusted = place.command(&["trust", "--yes"]).output()?;
    ensure!(trusted.status.success(), "the project cannot be trusted");
    let called = call(&place)?;
    figures.push(Figure::none_of(
        "started without the sandbox that it was trusted with",
        1,
        usize::from(called.status.success() || !place.frames("record").is_empty()),
    ));
    // A yes to just that is one.
    let named = without_landlock(place.command(&["trust", "s", "--sandbox", "off"]))?;
    ensure!(named.status.success(), "{}", String::from_utf8_lossy(&named.stderr));
    figures.push(Figure::all_of("runs after a yes to no sandbox", 1, usize::from(call(&place)?.status.success())));
    Ok(figures)
}

fn call(place: &Place) -> Result<Output> {
    without_landlock(place.command(&["call", "s/echo", "text=hello"]))
}

/// Runs a command whose kernel has no Landlock. The filter is its thread's alone, and its children's.
fn without_landlock(mut command: Command) -> Result<Output> {
    let run = std::thread::spawn(move || -> Result<Output> {
        take_away(Missing::Landlock)?;
        Ok(command.output()?)
    });
    run.join().ok().context("the thread without Landlock ended")?
}
