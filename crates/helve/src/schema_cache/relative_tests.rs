//! Which kept lists belong to the directory their server is started in.

use super::*;

fn stdio(command: &str, arguments: &[&str]) -> StdioSpec {
    StdioSpec {
        command: command.into(),
        arguments: arguments.iter().map(|argument| ConfigText::literal(*argument)).collect(),
        environment: [].into_iter().collect(),
        working_directory: None,
    }
}

#[test]
fn s27_relative_paths_are_known_by_their_looks_or_by_being_there() {
    let directory = tempfile::tempdir().unwrap();
    fs_err::write(directory.path().join("server"), "").unwrap();
    let depends = |command: &str, arguments: &[&str]| depends_on(&stdio(command, arguments), directory.path());
    for (command, arguments) in [
        ("./server", &[][..]),
        ("bin/server", &[]),
        ("python3", &["server.py"]),
        ("python3", &["."]),
        ("node", &["dist/index.js"]),
        ("node", &["server"]),
        ("uvx", &["mcp-server-git", "--repository", "."]),
        ("x", &["--root=./data"]),
        ("x", &["--db=data.db"]),
        ("sh", &["-c", "cd sub && ./run.sh"]),
        ("sh", &["-c", "exec node server"]),
        ("x", &["-I../include"]),
    ] {
        assert!(depends(command, arguments), "{command} {arguments:?}");
    }
    for (command, arguments) in [
        ("npx", &["-y", "@modelcontextprotocol/server-everything@1.2.3"][..]),
        ("npx", &["-y", "package@1.2.3"]),
        ("uvx", &["mcp-server-time", "--local-timezone=UTC"]),
        ("/usr/bin/server", &["/etc/server.toml"]),
        ("x", &["https://example.com/mcp", "--verbose", "8080", "~/notes"]),
        ("docker", &["run", "-i", "--rm", "ghcr.io/a/b:latest"]),
    ] {
        assert!(!depends(command, arguments), "{command} {arguments:?}");
    }
    let mut placed = stdio("./server", &["."]);
    placed.working_directory = Some("/somewhere".into());
    assert!(!depends_on(&placed, directory.path()), "its own directory is in the key already");
    placed.working_directory = Some("below".into());
    assert!(depends_on(&placed, directory.path()));
}
