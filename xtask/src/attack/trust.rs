//! Owns the attack on a yes: a project is trusted, changed in every way that decides what runs, with which rights or where
//! values go, and must be asked about again; and changed in ways that decide nothing, and must not.

mod cases;
mod keys;
mod unconfined;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::SystemTime;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::Figure;
use super::arena::{Arena, Place};
use cases::Case;

/// How often an unchanged project is looked at, every day and where time does not matter.
const QUICK_RELOADS: usize = 20;
const RELOADS: usize = 1_000;

pub(super) fn run(arena: &Arena) -> Result<Vec<Figure>> {
    let changes = cases::all();
    let noticed = noticed(arena, &changes)?;
    let generated = changes.len();
    let mut figures =
        vec![Figure::all_of("changes after trust that are noticed", generated, generated - noticed.len())];
    figures.extend(named("a change that nobody was asked about", &noticed));
    figures.extend(keys::run(arena)?);
    figures.push(false_alarms(arena, &changes)?);
    figures.extend(unconfined::run(arena)?);
    Ok(figures)
}

/// What was missed, by name: a figure that does not hold has to say which.
fn named(what: &str, missed: &[String]) -> Option<Figure> {
    (!missed.is_empty()).then(|| Figure {
        what: what.to_owned(),
        wanted: "none".to_owned(),
        reached: missed.join("; "),
        holds: false,
    })
}

/// Trusts all cases at once, each a server with a directory of its own, changes them all, and says which went unnoticed.
fn noticed(arena: &Arena, cases: &[Case]) -> Result<Vec<String>> {
    let place = arena.place()?;
    write(&place, cases, false)?;
    trust(&place)?;
    let before = states(&place, "one")?;
    write(&place, cases, true)?;
    let after = states(&place, "one")?;
    let mut missed = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let name = format!("c{number}");
        let state = |states: &BTreeMap<String, String>| states.get(&name).cloned().unwrap_or_default();
        ensure!(!matches!(state(&before).as_str(), "" | "untrusted"), "{} cannot be trusted: {before:?}", case.what);
        if state(&after) != "untrusted" {
            missed.push(case.what.clone());
        }
    }
    Ok(missed)
}

/// Everything that decides nothing.
fn false_alarms(arena: &Arena, cases: &[Case]) -> Result<Figure> {
    let place = arena.place()?;
    write(&place, cases, false)?;
    place.write("project/data.db", "rows")?.write("project/notes.txt", "one")?;
    trust(&place)?;
    let reloads = arena.tries(QUICK_RELOADS, RELOADS);
    let mut alarms = 0;
    let mut look = |value: &str| -> Result<()> {
        alarms += usize::from(states(&place, value)?.values().any(|state| state == "untrusted"));
        Ok(())
    };
    for _ in 0..reloads {
        look("one")?;
    }
    look("rotated")?;
    let files = files_below(&place.root().join("project"))?;
    for file in &files {
        let about = fs_err::OpenOptions::new().append(true).open(file)?;
        about.file().set_modified(SystemTime::UNIX_EPOCH)?;
        fs_err::set_permissions(file, std::fs::Permissions::from_mode(0o700))?;
    }
    look("one")?;
    for file in &files {
        let content = fs_err::read(file)?;
        fs_err::remove_file(file)?;
        fs_err::write(file, content)?;
    }
    look("one")?;
    place.write("project/data.db", "other rows")?.write("project/notes.txt", "two")?;
    look("one")?;
    Ok(Figure::none_of("false alarms: unchanged, rotated, touched, checked out again, data", reloads + 4, alarms))
}

fn files_below(directory: &std::path::Path) -> Result<Vec<std::path::PathBuf>> {
    let mut files = Vec::new();
    for entry in fs_err::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            files.extend(files_below(&entry.path())?);
        } else if entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    Ok(files)
}

/// The project, before or after.
fn write(place: &Place, cases: &[Case], is_after: bool) -> Result<()> {
    let mut config = String::new();
    for (number, case) in cases.iter().enumerate() {
        let own = |text: &str| text.replace("{dir}", &format!("c{number}"));
        let entry = if is_after { &case.after } else { &case.entry };
        config.push_str(&format!("[servers.c{number}]\n{}\n\n", own(entry)));
        for (path, before, after) in &case.files {
            place.write(&format!("project/c{number}/{path}"), &own(if is_after { after } else { before }))?;
        }
    }
    place.write("project/helve.toml", &config)?;
    Ok(())
}

fn trust(place: &Place) -> Result<()> {
    let mut command = place.command(&["trust", "--yes"]);
    let trusted = command.env("A", "one").env("AWS_SECRET", "hunter").stdout(Stdio::null()).stderr(Stdio::null());
    ensure!(trusted.status()?.success(), "the project cannot be trusted");
    Ok(())
}

/// The state of every server, with this value in the variable that entries refer to.
fn states(place: &Place, value: &str) -> Result<BTreeMap<String, String>> {
    let output = place.command(&["--json"]).env("A", value).env("AWS_SECRET", "hunter").output()?;
    let json: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("no JSON: {}", String::from_utf8_lossy(&output.stderr)))?;
    let servers = json["servers"].as_array().context("servers")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(servers.iter().map(|server| (text(&server["name"]), text(&server["state"]))).collect())
}

/// How many things of a project wait for trust.
fn waiting(place: &Place) -> Result<u64> {
    let output = place.command(&["--json"]).env("A", "one").env("AWS_SECRET", "hunter").output()?;
    let json: Value = serde_json::from_slice(&output.stdout)?;
    json["untrusted"].as_u64().context("a number")
}
