//! Owns the attack on rules that cannot be read: whatever keeps helve from reading them, no call is made meanwhile.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use helve_testkit::Scenario;
use serde_json::json;

use super::Figure;
use super::arena::{Arena, Place};
use super::shapes::{pipe, sparse};

/// The files that hold rules, below the root.
const FILES: &[&str] = &[
    "project/helve.toml",
    "home/.config/helve/helve.toml",
    "project/.claude/settings.json",
    "home/.claude/settings.json",
    "project/helve.local.toml",
];

/// Makes a file unreadable that does not exist yet; its directory does.
type Spoil = fn(&Path) -> Result<()>;

const WAYS: &[(&str, Spoil)] = &[
    ("a link to nothing", |path| Ok(symlink("nowhere", path)?)),
    ("a link to itself", |path| Ok(symlink(path, path)?)),
    ("a link out of the project, to a device", |path| Ok(symlink("/dev/zero", path)?)),
    ("a link to a file of the kernel", |path| Ok(symlink("/proc/self/status", path)?)),
    ("a directory", |path| Ok(fs_err::create_dir(path)?)),
    ("a pipe", pipe),
    ("a socket", |path| std::os::unix::net::UnixListener::bind(path).map(drop).map_err(Into::into)),
    ("not UTF-8", |path| Ok(fs_err::write(path, b"# caf\xe9\n")?)),
    ("UTF-16", |path| Ok(fs_err::write(path, b"\xff\xfe{\0}\0")?)),
    ("larger than is read", |path| Ok(fs_err::write(path, " ".repeat(70 * 1024 * 1024))?)),
    ("sparse", |path| Ok(sparse(path)?)),
    ("zero bytes", |path| Ok(fs_err::write(path, [0; 64])?)),
    ("cut off", |path| Ok(fs_err::write(path, "{\"permissions\": {\"deny\": [\"mcp")?)),
    ("a number", |path| Ok(fs_err::write(path, "1")?)),
    ("in a link to nothing", |path| instead_of_parent(path, |parent| symlink("nowhere", parent))),
    ("in a link to itself", |path| instead_of_parent(path, |parent| symlink(parent, parent))),
    ("in a file", |path| instead_of_parent(path, |parent| std::fs::File::create_new(parent).map(drop))),
    ("rules that are a number", |path| in_words(path, "rules = 1", r#"{"permissions": 1}"#)),
    ("rules under a misspelt key", |path| {
        in_words(path, "[[rule]]\ntool = \"*/*\"\naction = \"deny\"", r#"{"permissions": {"denied": ["mcp__own"]}}"#)
    }),
    ("a rule without a tool", |path| {
        in_words(path, "[[rules]]\naction = \"deny\"", r#"{"permissions": [{"action": "deny"}]}"#)
    }),
    ("a deny that is a text", |path| in_words(path, "rules = \"deny\"", r#"{"permissions": {"deny": "mcp__own"}}"#)),
];

pub(crate) fn run(arena: &Arena) -> Result<Vec<Figure>> {
    let mut tries = 0;
    let mut called = Vec::new();
    for file in FILES.iter().take(arena.tries(2, FILES.len())) {
        for (way, spoil) in WAYS {
            let place = arena.place()?;
            prepare(&place)?;
            let path = place.root().join(file);
            fs_err::create_dir_all(path.parent().context("a file has a parent")?)?;
            spoil(&path)?;
            tries += 1;
            by_call(&place)?;
            if !arena.is_quick {
                by_serve(&place)?;
            }
            if calls(&place) > 0 {
                called.push(format!("{file} {way}"));
            }
        }
    }
    // Everything that must not arrive would have, had there been no such file.
    let place = arena.place()?;
    prepare(&place)?;
    by_call(&place)?;
    by_serve(&place)?;
    ensure!(calls(&place) == 2, "a call that nothing keeps back arrives");
    let mut figures = vec![Figure::none_of(
        &format!("calls by rules that cannot be read, {} ways {}", WAYS.len(), called.join(", ")),
        tries,
        called.len(),
    )];
    figures.extend(without_permission(arena)?);
    Ok(figures)
}

/// A person's own server, in a file that holds no rules.
fn prepare(place: &Place) -> Result<()> {
    let scenario = Scenario::default().record_to(place.root().join("own.log")).to_json();
    let servers = json!({ "mcpServers": { "own": { "command": place.peer(), "args": [scenario] } } });
    place.write("home/.mcp.json", &servers.to_string())?;
    place.write("allow.toml", "[[rules]]\ntool = \"own/*\"\naction = \"allow\"\n")?;
    Ok(())
}

fn calls(place: &Place) -> usize {
    place.frames("own.log").iter().filter(|frame| frame["method"] == "tools/call").count()
}

const CALL: &[&str] = &["call", "own/echo", "text=x", "--yes"];

fn by_call(place: &Place) -> Result<()> {
    let mut command = place.command(CALL);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    Ok(())
}

/// An agent that calls at once; a file that the person named allows it.
fn by_serve(place: &Place) -> Result<()> {
    let mut command = place.command(&["--config", "../allow.toml", "serve", "--wait", "30s", "--prefix", "server"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut input = child.stdin.take().context("an input")?;
    let client = json!({ "name": "attack", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    for (id, method, params) in
        [(1, "initialize", hello), (2, "tools/call", json!({ "name": "own__echo", "arguments": { "text": "x" } }))]
    {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        // A gateway that refuses to start is gone already.
        drop(writeln!(input, "{message}"));
    }
    drop(input);
    child.wait_with_output()?;
    Ok(())
}

/// A directory that may not be searched. Nothing keeps the superuser out, so another user's eyes are borrowed.
fn without_permission(arena: &Arena) -> Result<Option<Figure>> {
    let mut arrived = [0, 0];
    for (spoiled, arrived) in [false, true].into_iter().zip(&mut arrived) {
        let place = arena.place()?;
        prepare(&place)?;
        place.write("home/.config/helve/helve.toml", "[[rules]]\ntool = \"*/*\"\naction = \"deny\"\n")?;
        if !spoiled {
            fs_err::remove_file(place.root().join("home/.config/helve/helve.toml"))?;
        }
        let open = Command::new("chmod").args(["-R", "a+rwX"]).arg(place.root()).status();
        if !open.is_ok_and(|status| status.success()) {
            return Ok(None);
        }
        let directory = place.root().join("home/.config/helve");
        fs_err::set_permissions(&directory, std::fs::Permissions::from_mode(if spoiled { 0o000 } else { 0o755 }))?;
        let call = place.command(CALL);
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(call.get_program())
            .args(call.get_args());
        command.env_clear().envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(place.root().join("project"));
        drop(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status());
        fs_err::set_permissions(&directory, std::fs::Permissions::from_mode(0o755))?;
        *arrived = calls(&place);
    }
    // Where another user cannot even run the program, this way cannot be tried.
    Ok((arrived[0] > 0).then(|| Figure::none_of("calls by rules in a directory without permission", 1, arrived[1])))
}

/// Puts something else where the file's directory is; where others need that directory, the file becomes a directory.
fn instead_of_parent(path: &Path, make: impl Fn(&Path) -> std::io::Result<()>) -> Result<()> {
    let parent = path.parent().context("a file has a parent")?;
    if parent.ends_with("project") {
        return Ok(fs_err::create_dir(path)?);
    }
    fs_err::remove_dir(parent)?;
    Ok(make(parent)?)
}

/// The same in the language of the file.
fn in_words(path: &Path, toml: &str, json: &str) -> Result<()> {
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    Ok(fs_err::write(path, if is_toml { toml } else { json })?)
}
