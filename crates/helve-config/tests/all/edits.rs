//! Edits: in every dialect a server is added, changed, switched and removed, and nothing else moves.

use std::time::Duration;

use helve_config::edit::{Change, EditError, NewServer, NewTransport, edit_file, edit_text};
use helve_config::trust::hash_content;
use helve_config::{Dialect, FilePlace};
use helve_model::{HttpFlavour, Layer, TransportSpec};

use crate::dialects::EXAMPLES;
use crate::support::{place, read};

fn edit(dialect: Dialect, path: &str, text: &str, server: &str, change: &Change) -> String {
    edit_text(&place(dialect, path, Layer::User), text, server, change)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn program() -> NewServer {
    let mut new = NewServer::program("my-server", ["--flag", "two words", "quote\"d"]);
    if let NewTransport::Program { environment, .. } = &mut new.transport {
        environment.push(("MODE".to_owned(), "fast: yes".to_owned()));
    }
    new
}

fn editable() -> impl Iterator<Item = &'static (Dialect, &'static str, &'static str)> {
    EXAMPLES.iter().filter(|(dialect, _, _)| *dialect != Dialect::ClaudeSettings)
}

/// Lines of `before` that are not in `after`.
fn lost<'text>(before: &'text str, after: &str) -> Vec<&'text str> {
    before.lines().filter(|line| !after.lines().any(|other| other == *line || other == format!("{line},"))).collect()
}

#[test]
fn a_program_is_added_in_every_dialect_and_everything_stays() {
    for (dialect, path, text) in editable() {
        let after = edit(*dialect, path, text, "added", &Change::Add(program()));
        let content = read(*dialect, path, &after);
        let added = content.servers.iter().find(|server| server.name.as_str() == "added").expect("it is there");
        let Some(TransportSpec::Stdio(stdio)) = added.spec.as_ref().map(|spec| &spec.transport) else {
            panic!("{dialect}: not a program")
        };
        assert_eq!(stdio.command.written(), "my-server", "{dialect}");
        let arguments: Vec<&str> = stdio.arguments.iter().map(|text| text.written()).collect();
        assert_eq!(arguments, ["--flag", "two words", "quote\"d"], "{dialect}");
        assert_eq!(stdio.environment.get("MODE").map(|text| text.written()), Some("fast: yes"), "{dialect}");
        assert_eq!(lost(text, &after), Vec::<&str>::new(), "{dialect}\n{after}");

        let removed = edit(*dialect, path, &after, "added", &Change::Remove);
        assert_eq!(removed.trim_end(), text.trim_end(), "{dialect}: removing it gives the file back");
    }
}

#[test]
fn a_program_is_added_to_an_empty_file_of_every_dialect() {
    for (dialect, path, _) in editable() {
        let after = edit(*dialect, path, "", "added", &Change::Add(program()));
        assert_eq!(read(*dialect, path, &after).servers.len(), 1, "{dialect}\n{after}");
        assert!(after.ends_with('\n'), "{dialect}\n{after:?}");
    }
}

#[test]
fn an_address_is_added_where_the_application_can_reach_one() {
    for (dialect, path, text) in editable() {
        for flavour in [HttpFlavour::Auto, HttpFlavour::Streamable, HttpFlavour::Sse] {
            let transport = NewTransport::Address {
                url: "https://added.example.com/mcp".to_owned(),
                headers: vec![("X-Team".to_owned(), "core".to_owned())],
                flavour,
            };
            let new = NewServer { transport, ..NewServer::address("") };
            let result = edit_text(&place(*dialect, path, Layer::User), text, "added", &Change::Add(new));
            let cannot = matches!(dialect, Dialect::ClaudeDesktop | Dialect::Loom)
                || (*dialect == Dialect::Codex && flavour == HttpFlavour::Sse);
            assert_eq!(matches!(result, Err(EditError::NotPossible(_))), cannot, "{dialect} {flavour:?} {result:?}");
            let Ok(after) = result else { continue };
            let content = read(*dialect, path, &after);
            let added = content.servers.iter().find(|server| server.name.as_str() == "added").expect("it is there");
            let Some(TransportSpec::Http(http)) = added.spec.as_ref().map(|spec| &spec.transport) else {
                panic!("{dialect}: not an address")
            };
            assert_eq!(http.headers.get("X-Team").map(|text| text.expose()), Some("core"), "{dialect}");
            if flavour == HttpFlavour::Sse {
                assert_ne!(http.flavour, HttpFlavour::Streamable, "{dialect}");
            } else {
                assert!(matches!(http.flavour, HttpFlavour::Auto | HttpFlavour::Streamable), "{dialect}");
            }
        }
    }
}

#[test]
fn every_server_of_every_example_can_be_switched_and_changed() {
    for (dialect, path, text) in editable() {
        let names: Vec<String> =
            read(*dialect, path, text).servers.iter().map(|server| server.name.to_string()).collect();
        for name in names {
            let off = edit(*dialect, path, text, &name, &Change::Disable);
            let is_off = |text: &str| {
                let content = read(*dialect, path, text);
                content
                    .servers
                    .iter()
                    .find(|server| server.name.as_str() == name)
                    .expect("still there")
                    .disabled_by
                    .is_some()
            };
            assert!(is_off(&off), "{dialect} {name}\n{off}");
            let on = edit(*dialect, path, &off, &name, &Change::Enable);
            assert!(!is_off(&on), "{dialect} {name}\n{on}");

            let changed = edit(*dialect, path, text, &name, &Change::Update(program()));
            let content = read(*dialect, path, &changed);
            let spec = content
                .servers
                .iter()
                .find(|server| server.name.as_str() == name)
                .and_then(|server| server.spec.as_ref());
            assert!(
                matches!(&spec.expect("readable").transport, TransportSpec::Stdio(stdio) if stdio.command.written() == "my-server")
            );

            let removed = edit(*dialect, path, text, &name, &Change::Remove);
            let content = read(*dialect, path, &removed);
            let left = content.servers.iter().find(|server| server.name.as_str() == name);
            // Claude Code's example configures `search` twice: for the directory, and for everywhere.
            let may_stay = *dialect == Dialect::ClaudeCode && name == "search";
            assert!(left.is_none_or(|server| may_stay && !server.is_local), "{dialect} {name}");
        }
    }
}

#[test]
fn comments_order_and_unknown_keys_stay_in_json() {
    let text = r#"{
  // My servers.
  "servers": {
    "one": { "command": "one" }, // the first
    /* the second */
    "two": {
      "command": "two", // slow
      "args": ["-x"],
      "custom": {"kept": [1, 2]},
    },
  },
}
"#;
    let change = Change::Update(NewServer::program("three", ["-y"]));
    insta::assert_snapshot!(edit(Dialect::VsCode, ".vscode/mcp.json", text, "two", &change), @r#"
    {
      // My servers.
      "servers": {
        "one": { "command": "one" }, // the first
        /* the second */
        "two": {
          "command": "three", // slow
          "args": ["-y"],
          "custom": {"kept": [1, 2]},
        },
      },
    }
    "#);
    insta::assert_snapshot!(edit(Dialect::VsCode, ".vscode/mcp.json", text, "one", &Change::Disable), @r#"
    {
      // My servers.
      "servers": {
        "one": { "command": "one", "disabled": true }, // the first
        /* the second */
        "two": {
          "command": "two", // slow
          "args": ["-x"],
          "custom": {"kept": [1, 2]},
        },
      },
    }
    "#);
    insta::assert_snapshot!(edit(Dialect::VsCode, ".vscode/mcp.json", text, "two", &Change::Remove), @r#"
    {
      // My servers.
      "servers": {
        "one": { "command": "one" }, // the first
        /* the second */
      },
    }
    "#);
    insta::assert_snapshot!(edit(Dialect::VsCode, ".vscode/mcp.json", text, "new", &Change::Add(program())), @r#"
    {
      // My servers.
      "servers": {
        "one": { "command": "one" }, // the first
        /* the second */
        "two": {
          "command": "two", // slow
          "args": ["-x"],
          "custom": {"kept": [1, 2]},
        },
        "new": {
          "type": "stdio",
          "command": "my-server",
          "args": ["--flag", "two words", "quote\"d"],
          "env": {
            "MODE": "fast: yes",
          },
        },
      },
    }
    "#);
}

#[test]
fn comments_order_and_unknown_keys_stay_in_toml() {
    let text = r#"# mine
[settings] # global
max_retries = 1

# the first
[servers.one]
command = "one" # fast
args = ["a"]  # short

[servers.two]
url = "https://two.example.com/mcp"

[[rules]]
tool = "one/*"
action = "allow"
"#;
    let change =
        Change::Update(NewServer::program("other", ["b", "c"]).with_call_timeout(Duration::from_millis(1_500)));
    insta::assert_snapshot!(edit(Dialect::Helve, "helve.toml", text, "one", &change), @r#"
    # mine
    [settings] # global
    max_retries = 1

    # the first
    [servers.one]
    command = "other" # fast
    args = ["b", "c"]  # short
    timeout_seconds = 1.5

    [servers.two]
    url = "https://two.example.com/mcp"

    [[rules]]
    tool = "one/*"
    action = "allow"
    "#);
    insta::assert_snapshot!(edit(Dialect::Helve, "helve.toml", text, "two", &Change::Disable), @r#"
    # mine
    [settings] # global
    max_retries = 1

    # the first
    [servers.one]
    command = "one" # fast
    args = ["a"]  # short

    [servers.two]
    url = "https://two.example.com/mcp"
    enabled = false

    [[rules]]
    tool = "one/*"
    action = "allow"
    "#);
    insta::assert_snapshot!(edit(Dialect::Helve, "helve.toml", text, "one", &Change::Remove), @r#"
    # mine
    [settings] # global
    max_retries = 1

    [servers.two]
    url = "https://two.example.com/mcp"

    [[rules]]
    tool = "one/*"
    action = "allow"
    "#);
    insta::assert_snapshot!(edit(Dialect::Helve, "helve.toml", text, "new", &Change::Add(program())), @r#"
    # mine
    [settings] # global
    max_retries = 1

    # the first
    [servers.one]
    command = "one" # fast
    args = ["a"]  # short

    [servers.two]
    url = "https://two.example.com/mcp"

    [servers.new]
    command = "my-server"
    args = ["--flag", "two words", 'quote"d']
    env = { MODE = "fast: yes" }

    [[rules]]
    tool = "one/*"
    action = "allow"
    "#);
}

#[test]
fn comments_order_anchors_and_unknown_keys_stay_in_yaml() {
    let text = "\
# mine
base: &base
  command: npx # runs things
  enabled: true
mcp:
  servers:
    # the first
    - name: one
      <<: *base
      args:  # two of them
        - a
        - b
    - {name: two, command: two}
    - name: three # last
      url: http://localhost/mcp
other: kept
";
    let path = "settings.yaml";
    insta::assert_snapshot!(edit(Dialect::Strawberry, path, text, "one", &Change::Disable), @r"
    # mine
    base: &base
      command: npx # runs things
      enabled: true
    mcp:
      servers:
        # the first
        - name: one
          <<: *base
          args:  # two of them
            - a
            - b
          enabled: false
        - {name: two, command: two}
        - name: three # last
          url: http://localhost/mcp
    other: kept
    ");
    insta::assert_snapshot!(edit(Dialect::Strawberry, path, text, "two", &Change::Disable), @r"
    # mine
    base: &base
      command: npx # runs things
      enabled: true
    mcp:
      servers:
        # the first
        - name: one
          <<: *base
          args:  # two of them
            - a
            - b
        - {name: two, command: two, enabled: false}
        - name: three # last
          url: http://localhost/mcp
    other: kept
    ");
    insta::assert_snapshot!(edit(Dialect::Strawberry, path, text, "one", &Change::Update(NewServer::program("npx", ["c"]))), @r"
    # mine
    base: &base
      command: npx # runs things
      enabled: true
    mcp:
      servers:
        # the first
        - name: one
          <<: *base
          args: [c]  # two of them
        - {name: two, command: two}
        - name: three # last
          url: http://localhost/mcp
    other: kept
    ");
    insta::assert_snapshot!(edit(Dialect::Strawberry, path, text, "three", &Change::Remove), @r"
    # mine
    base: &base
      command: npx # runs things
      enabled: true
    mcp:
      servers:
        # the first
        - name: one
          <<: *base
          args:  # two of them
            - a
            - b
        - {name: two, command: two}
    other: kept
    ");
    insta::assert_snapshot!(edit(Dialect::Strawberry, path, text, "new", &Change::Add(program())), @r#"
    # mine
    base: &base
      command: npx # runs things
      enabled: true
    mcp:
      servers:
        # the first
        - name: one
          <<: *base
          args:  # two of them
            - a
            - b
        - {name: two, command: two}
        - name: three # last
          url: http://localhost/mcp
        - name: new
          transport: stdio
          command: my-server
          args: ["--flag", "two words", "quote\"d"]
          env:
            MODE: "fast: yes"
    other: kept
    "#);
}

#[test]
fn line_breaks_stay_what_they_are() {
    for (dialect, path, text) in editable() {
        let text = text.replace('\n', "\r\n");
        let name = read(*dialect, path, &text).servers[0].name.to_string();
        for change in [Change::Disable, Change::Update(program()), Change::Remove] {
            let after = edit(*dialect, path, &text, &name, &change);
            assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{dialect} {change:?}\n{after:?}");
        }
        let after = edit(*dialect, path, &text, "added", &Change::Add(program()));
        assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{dialect}\n{after:?}");
    }
}

#[test]
fn a_byte_order_mark_stays() {
    for (dialect, path, text) in editable() {
        let text = format!("\u{feff}{text}");
        let name = read(*dialect, path, &text).servers[0].name.to_string();
        let after = edit(*dialect, path, &text, &name, &Change::Disable);
        assert!(after.starts_with('\u{feff}') && after.matches('\u{feff}').count() == 1, "{dialect}\n{after:?}");
    }
}

#[test]
fn a_list_in_yaml_may_be_empty_or_missing() {
    for text in [
        "mcp:\n  servers: []\nother: 1\n",
        "mcp:\n  servers: # none yet\nother: 1\n",
        "other: 1\n",
        "mcp:\n  enabled: true\n",
    ] {
        let after = edit(Dialect::Strawberry, "settings.yaml", text, "new", &Change::Add(program()));
        assert_eq!(read(Dialect::Strawberry, "settings.yaml", &after).servers.len(), 1, "{after}");
        assert!(!text.contains('#') || after.contains("# none yet"), "{after}");
    }
}

#[test]
fn what_is_refused_says_why() {
    let attempt = |dialect, path: &str, text: &str, server: &str, change: &Change| {
        edit_text(&place(dialect, path, Layer::User), text, server, change).expect_err("refused").to_string()
    };
    let json = r#"{"mcpServers": {"github": {"command": "a"}}}"#;
    insta::assert_snapshot!(attempt(Dialect::McpJson, ".mcp.json", json, "githb", &Change::Remove), @"there is no server `githb` in this file; did you mean `github`?");
    insta::assert_snapshot!(attempt(Dialect::McpJson, ".mcp.json", "{}", "github", &Change::Enable), @"there is no server `github` in this file");
    insta::assert_snapshot!(attempt(Dialect::McpJson, ".mcp.json", json, "github", &Change::Add(program())), @"there is a server `github` in this file already");
    insta::assert_snapshot!(attempt(Dialect::McpJson, ".mcp.json", "{", "github", &Change::Remove), @"the file has to be repaired first: .mcp.json:1:1: error: this is not JSON: unterminated object");
    insta::assert_snapshot!(attempt(Dialect::ClaudeSettings, "settings.json", "{}", "x", &Change::Remove), @"Claude Code settings holds no servers");
    insta::assert_snapshot!(attempt(Dialect::Loom, "mcp-config.toml", "", "x", &Change::Add(NewServer::address("https://x"))), @"loom cannot reach an address; it only starts programs");
    let aliased = "one: &one\n  name: a\n  command: b\nmcp:\n  servers:\n    - *one\n";
    insta::assert_snapshot!(attempt(Dialect::Strawberry, "settings.yaml", aliased, "a", &Change::Disable), @"server `a` cannot be changed without touching something else; edit line 2 by hand");
}

fn file_place(path: std::path::PathBuf) -> FilePlace {
    place(Dialect::McpJson, path, Layer::User)
}

#[test]
fn a_file_is_replaced_whole_with_its_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("real.json");
    fs_err::write(&path, "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}\n").expect("written");
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("set");
    let link = directory.path().join(".mcp.json");
    fs_err::os::unix::fs::symlink(&path, &link).expect("linked");

    let edited = edit_file(&file_place(link.clone()), None, "a", &Change::Disable).expect("edited");
    assert_eq!(fs_err::read_to_string(&path).expect("read"), edited.after);
    assert!(edited.after.contains("\"disabled\": true"), "{}", edited.after);
    assert_eq!(fs_err::metadata(&path).expect("there").permissions().mode() & 0o777, 0o640);
    assert!(fs_err::symlink_metadata(&link).expect("there").file_type().is_symlink(), "a link stays a link");
    assert_eq!(fs_err::read_dir(directory.path()).expect("read").count(), 2, "no temporary file is left");
}

#[test]
fn a_file_that_changed_meanwhile_is_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(".mcp.json");
    let loaded = "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}";
    fs_err::write(&path, loaded).expect("written");
    let stamp = hash_content(loaded.as_bytes());
    fs_err::write(&path, "{\"mcpServers\": {\"a\": {\"command\": \"b\"}}}").expect("changed");

    let refused = edit_file(&file_place(path.clone()), Some(stamp), "a", &Change::Remove).expect_err("refused");
    assert!(matches!(refused, EditError::ChangedMeanwhile(_)));
    assert!(refused.to_string().ends_with("was changed by somebody else meanwhile; nothing was written"));
    assert!(fs_err::read_to_string(&path).expect("read").contains("\"b\""));
}

/// Whoever edits at the same time waits for his turn; nothing is lost, and no directory is made for nothing.
#[test]
fn edits_at_the_same_time_all_land() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("deep/.mcp.json");
    edit_file(&file_place(path.clone()), None, "a", &Change::Remove).expect_err("refused");
    assert!(!directory.path().join("deep").exists());
    std::thread::scope(|scope| {
        for number in 0..16 {
            let place = file_place(path.clone());
            scope.spawn(move || {
                let server = NewServer::program("x", [number.to_string()]);
                edit_file(&place, None, &format!("c{number}"), &Change::Add(server)).expect("added");
            });
        }
    });
    let text = fs_err::read_to_string(&path).expect("read");
    assert_eq!(text.matches("\"command\"").count(), 16, "{text}");
    assert_eq!(fs_err::read_dir(path.parent().expect("a parent")).expect("read").count(), 1, "nothing else is left");
}

#[test]
fn a_missing_file_is_made_by_adding() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("deep/er/.mcp.json");
    edit_file(&file_place(path.clone()), None, "a", &Change::Add(NewServer::program("x", ["y"]))).expect("made");
    insta::assert_snapshot!(fs_err::read_to_string(&path).expect("read"), @r#"
    {
      "mcpServers": {
        "a": {
          "type": "stdio",
          "command": "x",
          "args": ["y"]
        }
      }
    }
    "#);
}

#[test]
fn a_file_of_comments_keeps_them_in_front_of_its_first_server() {
    let text = "# My servers.\n# More about them.\n\n# [servers.example]\n# command = \"run\"\n";
    let edited = edit(Dialect::Helve, "helve.toml", text, "a", &Change::Add(NewServer::program("run", ["--fast"])));
    insta::assert_snapshot!(edited, @r#"
    # My servers.
    # More about them.

    # [servers.example]
    # command = "run"

    [servers.a]
    command = "run"
    args = ["--fast"]
    "#);
    assert_eq!(edit(Dialect::Helve, "helve.toml", &edited, "a", &Change::Remove), text);
}

#[test]
fn a_removed_server_takes_the_comment_right_above_it_along() {
    let text = "# My servers.\n\n# About a.\n[servers.a]\ncommand = \"a\"\n\n# About b.\n[servers.b]\ncommand = \"b\"\n\n# The end.\n";
    insta::assert_snapshot!(edit(Dialect::Helve, "helve.toml", text, "a", &Change::Remove), @r#"
    # My servers.

    # About b.
    [servers.b]
    command = "b"

    # The end.
    "#);
    insta::assert_snapshot!(edit(Dialect::Helve, "helve.toml", text, "b", &Change::Remove), @r#"
    # My servers.

    # About a.
    [servers.a]
    command = "a"

    # The end.
    "#);
}

#[test]
fn a_file_stays_its_owners_when_the_superuser_edits_it() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("mcp.json");
    fs_err::write(&path, "{}").expect("written");
    // Only the superuser can try it.
    if chown(&path, Some(65_534), Some(65_534)).is_err() {
        return;
    }
    let place = FilePlace {
        path: path.clone(),
        application: "cursor",
        dialect: Dialect::Cursor,
        layer: Layer::User,
        project: directory.path().to_owned(),
    };
    edit_file(&place, None, "new", &Change::Add(NewServer::program("npx", ["x"]))).expect("edited");
    let about = fs_err::metadata(&path).expect("there");
    assert_eq!((about.uid(), about.gid()), (65_534, 65_534));
}
