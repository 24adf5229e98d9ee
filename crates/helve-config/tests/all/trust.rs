//! What changes the hash of what would run, and what does not.

use std::path::Path;

use helve_config::trust::{TrustHash, hash_rules, hash_server};
use helve_config::{Dialect, Environment, FilePlace, read_text};
use helve_model::Layer;

/// The hash of the only server of a project's `.mcp.json`.
fn hash_with(project: &Path, entry: &str, environment: &Environment) -> TrustHash {
    let place = FilePlace {
        path: project.join(".mcp.json"),
        application: "mcp-json",
        dialect: Dialect::McpJson,
        layer: Layer::Project,
        project: project.to_path_buf(),
    };
    let content = read_text(&place, &format!("{{\"mcpServers\": {{\"a\": {entry}}}}}"), environment);
    let server = &content.servers[0];
    hash_server(server.spec.as_ref().expect("a spec"), &server.rules, project)
}

fn hash(project: &Path, entry: &str) -> TrustHash {
    hash_with(project, entry, &Environment::new(project).with_variables([("TOKEN", "one")]))
}

#[test]
fn every_change_of_what_would_run_changes_the_hash() {
    let directory = tempfile::tempdir().expect("a directory");
    let project = directory.path();
    let variants = [
        r#"{"command": "a"}"#,
        r#"{"command": "b"}"#,
        r#"{"command": "a", "args": ["x"]}"#,
        r#"{"command": "a", "args": ["x", ""]}"#,
        r#"{"command": "a", "args": ["", "x"]}"#,
        r#"{"command": "a", "env": {"A": "1"}}"#,
        r#"{"command": "a", "env": {"A": "2"}}"#,
        r#"{"command": "a", "env": {"B": "1"}}"#,
        r#"{"command": "a", "env": {"API_KEY": "literal"}}"#,
        r#"{"command": "a", "env": {"API_KEY": "another"}}"#,
        r#"{"command": "a", "env": {"A": "${TOKEN}"}}"#,
        r#"{"command": "a", "env": {"A": "${OTHER:-}"}}"#,
        r#"{"command": "a", "cwd": "sub"}"#,
        r#"{"url": "https://a.example.com"}"#,
        r#"{"url": "https://b.example.com"}"#,
        r#"{"url": "https://a.example.com", "headers": {"X": "1"}}"#,
        r#"{"url": "https://a.example.com", "headers": {"Y": "1"}}"#,
        r#"{"url": "https://a.example.com", "type": "sse"}"#,
        r#"{"command": "a", "tools": ["t"]}"#,
        r#"{"command": "a", "disabledTools": ["t"]}"#,
        r#"{"command": "a", "autoApprove": ["t"]}"#,
    ];
    let hashes: Vec<TrustHash> = variants.iter().map(|entry| hash(project, entry)).collect();
    for (index, one) in hashes.iter().enumerate() {
        for (other_index, other) in hashes.iter().enumerate().skip(index + 1) {
            assert_ne!(one, other, "{} and {}", variants[index], variants[other_index]);
        }
    }
}

#[test]
fn values_of_variables_and_the_look_of_the_file_change_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let project = directory.path();
    let entry = r#"{"command": "a", "env": {"A": "${TOKEN}"}}"#;
    let other = Environment::new(project).with_variables([("TOKEN", "rotated")]);
    assert_eq!(hash(project, entry), hash_with(project, entry, &other));
    assert_eq!(
        hash(project, entry),
        hash(project, "{ // comment\n \"env\": {\"A\": \"${TOKEN}\"},\n\n \"command\": \"a\", }")
    );
    let header = |value: &str| {
        hash(project, &format!("{{\"url\": \"https://a.example.com\", \"headers\": {{\"X\": \"{value}\"}}}}"))
    };
    assert_eq!(header("1"), header("2"), "only the names of headers count");
}

#[test]
fn the_content_of_a_started_script_counts() {
    let directory = tempfile::tempdir().expect("a directory");
    let project = &fs_err::canonicalize(directory.path()).expect("a real path");
    let outside = tempfile::tempdir().expect("a directory");
    let target = outside.path().join("target.sh");
    fs_err::write(&target, "1").expect("written");
    for (name, entry) in [
        ("run.sh", r#"{"command": "./run.sh"}"#),
        ("server.py", r#"{"command": "python", "args": ["-u", "server.py"]}"#),
        ("a.js", r#"{"command": "node", "args": ["--require=a.js", "-e", "1"]}"#),
        ("deep/x.sh", r#"{"command": "sh", "args": ["-c", "exec deep/x.sh --fast"]}"#),
        ("sub/y.py", r#"{"command": "python", "args": ["y.py"], "cwd": "sub"}"#),
        ("package.json", r#"{"command": "npm", "args": ["run", "mcp"]}"#),
    ] {
        let path = project.join(name);
        let missing = hash(project, entry);
        fs_err::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs_err::write(&path, "one").expect("written");
        let one = hash(project, entry);
        fs_err::write(&path, "two").expect("written");
        let two = hash(project, entry);
        assert!(missing != one && one != two, "{name}");
        fs_err::remove_file(&path).expect("removed");
        fs_err::os::unix::fs::symlink(&target, &path).expect("linked");
        let linked = hash(project, entry);
        fs_err::write(&target, format!("{name} changed")).expect("written");
        assert!(linked != two && linked != hash(project, entry), "{name}: a link out of the project counts too");
        fs_err::remove_file(&path).expect("removed");
    }
}

#[test]
fn a_database_that_changes_is_not_another_server() {
    let directory = tempfile::tempdir().expect("a directory");
    let project = &fs_err::canonicalize(directory.path()).expect("a real path");
    let entry = r#"{"command": "sqlite-server", "args": ["--db-path", "data.sqlite"]}"#;
    let before = hash(project, entry);
    fs_err::write(project.join("data.sqlite"), "rows").expect("written");
    assert_eq!(before, hash(project, entry));
}

#[test]
fn rules_that_allow_and_settings_have_a_hash_of_their_own() {
    let read = |text: &str| {
        let place = FilePlace {
            path: "helve.toml".into(),
            application: "helve",
            dialect: Dialect::Helve,
            layer: Layer::Project,
            project: "/p".into(),
        };
        let content = read_text(&place, text, &Environment::new("/p"));
        hash_rules(&content.rules, &content.settings)
    };
    let allow = read("[[rules]]\ntool = \"a/*\"\naction = \"allow\"\n");
    assert_ne!(allow, read("[[rules]]\ntool = \"b/*\"\naction = \"allow\"\n"));
    assert_ne!(allow, read("[[rules]]\ntool = \"a/*\"\npattern = \"x\"\naction = \"allow\"\n"));
    assert_ne!(read(""), read("[settings]\nmax_retries = 3\n"));
    assert_ne!(read(""), read("[settings]\nroots = [\"/\"]\n"));
    assert_ne!(read(""), read("[settings.sampling]\ncalls = 1000\n"));
    assert_eq!(read(""), read("[[rules]]\ntool = \"a/*\"\naction = \"deny\"\n"), "narrowing needs no trust");
}

#[test]
fn a_hash_is_read_back() {
    let hash = hash_rules(&[], &helve_config::SettingsPatch::default());
    assert_eq!(hash.to_string().parse::<TrustHash>(), Ok(hash));
    assert!("12".parse::<TrustHash>().is_err() && "é".repeat(32).parse::<TrustHash>().is_err());
}
