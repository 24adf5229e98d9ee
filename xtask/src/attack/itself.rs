//! Owns the attack by which helve is its own server: however it is written in an agent's file, one process serves.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};

use super::Figure;
use super::arena::{Arena, PATIENCE, Place};
use crate::interop::process::Peak;

/// The deepest helve that may start servers where it cannot know itself.
const DEEPEST: usize = 3;

/// Scripts that lead back to helve, side by side.
const SCRIPTS: usize = 3;
/// One, three of its, and in each the way through every other script once.
const BEHIND_SCRIPTS: usize = 1 + 3 + 6 + 6;

/// A count that does not change for so long has settled.
const SETTLED: Duration = Duration::from_secs(2);

pub(crate) fn run(arena: &Arena) -> Result<Vec<Figure>> {
    let links = tempfile::tempdir_in(arena.helve.parent().unwrap_or(Path::new("/")))?;
    let ways = ways(&arena.helve, links.path())?;
    // Where it starts itself, dozens come within this time.
    let watched = Duration::from_millis(arena.tries(300, 3_000) as u64);
    let mut most = 0;
    for (way, entry) in &ways {
        let place = arena.place()?;
        place.write("home/.claude.json", &json!({"mcpServers": {"helve": entry}}).to_string())?;
        let serving = serving(arena, &place, watched)?;
        ensure!(serving > 0, "{way}: nothing serves");
        most = most.max(serving);
    }
    let place = arena.place()?;
    let entry = json!({"command": arena.helve, "args": ["serve"]});
    place.write("home/.claude.json", &json!({"mcpServers": {"first": entry}}).to_string())?;
    place.write("home/.gemini/settings.json", &json!({"mcpServers": {"second": entry}}).to_string())?;
    let codex = format!("[mcp_servers.third]\ncommand = {}\nargs = [\"serve\"]\n", entry["command"]);
    place.write("home/.codex/config.toml", &codex)?;
    let three = serving(arena, &place, watched)?;

    let known = format!("serving processes, helve in an agent's file, {} ways", ways.len());
    Ok(vec![
        Figure { what: known, wanted: "1".to_owned(), reached: most.to_string(), holds: most == 1 },
        Figure {
            what: "serving processes, helve in three agents' files".to_owned(),
            wanted: "1".to_owned(),
            reached: three.to_string(),
            holds: three == 1,
        },
        hidden(arena)?,
        side_by_side(arena)?,
    ])
}

/// How an agent's file may name this program.
fn ways(helve: &Path, links: &Path) -> Result<Vec<(&'static str, Value)>> {
    std::os::unix::fs::symlink(helve, links.join("helve"))?;
    std::os::unix::fs::symlink(links.join("helve"), links.join("other"))?;
    fs_err::hard_link(helve, links.join("hard"))?;
    let by_path = json!({"PATH": format!("{}:/usr/bin:/bin", links.display())});
    let (program, inside) = (helve.display(), links.display());
    Ok(vec![
        ("plain", json!({"command": helve, "args": ["serve"]})),
        ("options first", json!({"command": helve, "args": ["--no-discover", "-v", "serve", "--wait", "1s"]})),
        ("kept", json!({"command": helve, "args": ["keep", "run"]})),
        ("by name", json!({"command": "helve", "args": ["serve"], "env": by_path})),
        ("link", json!({"command": links.join("other"), "args": ["serve"]})),
        ("hard link", json!({"command": links.join("hard"), "args": ["serve"]})),
        ("shell", json!({"command": "sh", "args": ["-c", format!("'{program}' serve")]})),
        (
            "shell in a directory",
            json!({"command": "bash", "args": ["-c", format!("cd {inside} && exec ./other serve")]}),
        ),
        ("shell with words", json!({"command": "sh", "args": ["-c", "exec \"$@\"", "sh", helve, "serve"]})),
        ("variable", json!({"command": "env", "args": ["X=y", helve, "serve"]})),
        (
            "wrappers",
            json!({"command": "nice", "args": ["-n", "1", "env", "sh", "-c", format!("nohup {program} serve")]}),
        ),
        ("package runner", json!({"command": "npx", "args": ["-y", "helve", "serve"], "env": by_path})),
    ])
}

/// Serves an agent, and says how many processes did within this time.
fn serving(arena: &Arena, place: &Place, watched: Duration) -> Result<usize> {
    let mut agent = place.serve(&["--wait", "1s"])?;
    agent.initialize(&json!({}))?;
    let peak = Peak::watch_home(&arena.helve, &place.root().join("home"));
    let listed = agent.request("tools/list", &json!({}))?;
    let has_tools = listed["result"]["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    std::thread::sleep(watched);
    let most = peak.end();
    ensure!(has_tools, "the built-in servers are gone: {listed}");
    Ok(most)
}

/// Behind a script that hides everything: nobody can know, the depth ends it.
fn hidden(arena: &Arena) -> Result<Figure> {
    let place = arena.place()?;
    script(arena, &place, "wrapper", "env -u HELVE_DEPTH -u HELVE_TRAIL")?;
    let entry = json!({"command": place.root().join("wrapper")});
    place.write("home/.claude.json", &json!({"mcpServers": {"hidden": entry}}).to_string())?;
    let mut agent = place.serve(&[])?;
    agent.initialize(&json!({}))?;
    let deadline = Instant::now() + PATIENCE;
    let read = |name: &str| fs_err::read_to_string(place.root().join(name)).unwrap_or_default();
    // After that nothing more can come. More starts than are wanted need not be waited for.
    while !read("words").contains("nothing is started") && read("starts").lines().count() <= DEEPEST + 1 {
        ensure!(Instant::now() < deadline, "the deepest says nothing: {}", read("words"));
        std::thread::sleep(Duration::from_millis(20));
    }
    let depth = read("starts").lines().count().saturating_sub(1);
    Ok(Figure {
        what: "deepest helve that starts servers, behind a script that hides".to_owned(),
        wanted: DEEPEST.to_string(),
        reached: depth.to_string(),
        holds: depth == DEEPEST,
    })
}

/// Several scripts side by side must not multiply at each depth.
fn side_by_side(arena: &Arena) -> Result<Figure> {
    let place = arena.place()?;
    let mut servers = Map::new();
    for number in 0..SCRIPTS {
        let name = format!("wrapper{number}");
        script(arena, &place, &name, "env")?;
        servers.insert(name.clone(), json!({"command": place.root().join(name)}));
    }
    place.write("home/.claude.json", &json!({"mcpServers": servers}).to_string())?;
    let mut agent = place.serve(&[])?;
    agent.initialize(&json!({}))?;
    let peak = Peak::watch_home(&arena.helve, &place.root().join("home"));
    let deadline = Instant::now() + PATIENCE;
    let (mut known, mut since) = (0, Instant::now());
    while since.elapsed() < SETTLED && Instant::now() < deadline {
        let now = peak.now();
        if now != known {
            (known, since) = (now, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let most = peak.end();
    Ok(Figure {
        what: format!("serving processes, behind {SCRIPTS} scripts side by side"),
        wanted: format!("≤ {BEHIND_SCRIPTS}"),
        reached: most.to_string(),
        holds: (1..=BEHIND_SCRIPTS).contains(&most),
    })
}

/// A script that leaves a line and then starts helve through `through`.
fn script(arena: &Arena, place: &Place, name: &str, through: &str) -> Result<()> {
    let root = place.root().display();
    let helve = arena.helve.display();
    let text = format!("#!/bin/sh\necho >>'{root}/starts'\nexec {through} '{helve}' serve 2>>'{root}/words'\n");
    place.write(name, &text)?;
    fs_err::set_permissions(place.root().join(name), std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}
