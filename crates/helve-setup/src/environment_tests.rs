//! Directories and paths as they follow from what was handed in.

use std::path::Path;

use super::Environment;

fn environment(variables: &[(&str, &str)]) -> Environment {
    Environment::new("/home/me/project")
        .with_variables(variables.iter().map(|(name, value)| ((*name).into(), (*value).into())))
        .with_home("/home/me")
}

#[test]
fn directories_follow_xdg() {
    let plain = environment(&[]).directories;
    assert_eq!(plain.config, Some("/home/me/.config/helve".into()));
    assert_eq!(plain.state, Some("/home/me/.local/state/helve".into()));
    assert_eq!(plain.cache, Some("/home/me/.cache/helve".into()));
    assert_eq!(plain.runtime, None);

    let moved =
        environment(&[("XDG_STATE_HOME", "/state"), ("XDG_CACHE_HOME", "relative"), ("XDG_RUNTIME_DIR", "/run/1")]);
    assert_eq!(moved.directories.state, Some("/state/helve".into()));
    assert_eq!(moved.directories.cache, Some("/home/me/.cache/helve".into()), "a relative path does not count");
    assert_eq!(moved.directories.runtime, Some("/run/1/helve".into()));
}

#[test]
fn paths_are_shown_from_where_the_person_stands() {
    let environment = environment(&[]);
    for (path, shown) in [
        ("/home/me/project/helve.toml", "helve.toml"),
        ("/home/me/project", "~/project"),
        ("/home/me/.cursor/mcp.json", "~/.cursor/mcp.json"),
        ("/home/me", "~"),
        ("/etc/claude-code/managed-mcp.json", "/etc/claude-code/managed-mcp.json"),
    ] {
        assert_eq!(environment.shown(Path::new(path)), shown);
    }
}
