//! Directories, width and paths as they follow from the surroundings.

use std::path::{Path, PathBuf};

use super::{Env, Surroundings};

fn env(variables: &[(&str, &str)]) -> Env {
    Env::new(Surroundings {
        variables: variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        home: Some(PathBuf::from("/home/me")),
        working_directory: PathBuf::from("/home/me/project"),
        stdin_is_terminal: true,
        stdout_is_terminal: true,
        stderr_is_terminal: true,
        columns: Some(100),
        ..Surroundings::empty()
    })
}

#[test]
fn directories_follow_xdg() {
    let plain = env(&[]).directories;
    assert_eq!(plain.config, Some("/home/me/.config/helve".into()));
    assert_eq!(plain.state, Some("/home/me/.local/state/helve".into()));
    assert_eq!(plain.cache, Some("/home/me/.cache/helve".into()));
    assert_eq!(plain.runtime, None);

    let moved = env(&[("XDG_STATE_HOME", "/state"), ("XDG_CACHE_HOME", "relative"), ("XDG_RUNTIME_DIR", "/run/1")]);
    assert_eq!(moved.directories.state, Some("/state/helve".into()));
    assert_eq!(moved.directories.cache, Some("/home/me/.cache/helve".into()), "a relative path does not count");
    assert_eq!(moved.directories.runtime, Some("/run/1/helve".into()));
}

#[test]
fn the_width_is_the_terminals_or_what_the_person_says() {
    assert_eq!(env(&[]).width(), Some(100));
    assert_eq!(env(&[("COLUMNS", "60")]).width(), Some(60));
    assert_eq!(env(&[("COLUMNS", "3")]).width(), Some(40));
    assert_eq!(env(&[("COLUMNS", "wide")]).width(), Some(100));
    let mut piped = env(&[("COLUMNS", "60")]);
    piped.surroundings.stdout_is_terminal = false;
    assert_eq!(piped.width(), None);
}

#[test]
fn paths_are_shown_from_where_the_person_stands() {
    let env = env(&[]);
    for (path, shown) in [
        ("/home/me/project/helve.toml", "helve.toml"),
        ("/home/me/project", "~/project"),
        ("/home/me/.cursor/mcp.json", "~/.cursor/mcp.json"),
        ("/home/me", "~"),
        ("/etc/claude-code/managed-mcp.json", "/etc/claude-code/managed-mcp.json"),
    ] {
        assert_eq!(env.shown(Path::new(path)), shown);
    }
}
