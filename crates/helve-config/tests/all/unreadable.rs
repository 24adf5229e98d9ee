//! S7: rules that cannot be read are not taken for none, in whatever way they cannot be read.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use helve_config::{Configuration, Dialect, Environment, LoadRequest, load, read_text};
use helve_model::{Action, Layer};

use crate::support::{describe, place, problems};

/// A person's home and a project in it, as a repository.
struct Places {
    _directory: tempfile::TempDir,
    home: PathBuf,
    project: PathBuf,
}

impl Places {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let root = fs_err::canonicalize(directory.path()).expect("a real path");
        let (home, project) = (root.join("home"), root.join("home/project"));
        fs_err::create_dir_all(project.join(".git")).expect("made");
        Self { _directory: directory, home, project }
    }

    fn load(&self) -> Configuration {
        load(LoadRequest::new(&Environment::new(&self.project).with_home(&self.home).with_system_root(&self.home)))
    }
}

const DENY: &str = "[[rules]]\ntool = \"*/*\"\naction = \"deny\"\n";

/// A way to spoil a file that may hold rules.
type Spoil = fn(&Path);

const WAYS: &[(&str, Spoil)] = &[
    ("a link to nothing", |path| symlink("nowhere", path).expect("linked")),
    ("a link to itself", |path| symlink(path, path).expect("linked")),
    ("a directory", |path| fs_err::create_dir(path).expect("made")),
    ("a pipe", |path| node(path, rustix_kind::FIFO)),
    ("a socket", |path| drop(std::os::unix::net::UnixListener::bind(path).expect("bound"))),
    ("a device", |path| symlink("/dev/zero", path).expect("linked")),
    ("a file of the kernel", |path| symlink("/proc/self/status", path).expect("linked")),
    ("not UTF-8", |path| fs_err::write(path, b"# caf\xe9\n").expect("written")),
    ("too large", |path| {
        let file = std::fs::File::create_new(path).expect("made");
        file.set_len(65 * 1024 * 1024).expect("stretched");
    }),
    ("not what its name says", |path| fs_err::write(path, "{[").expect("written")),
    ("behind a file", |path| {
        let parent = path.parent().expect("a parent");
        if fs_err::read_dir(parent).is_ok_and(|mut entries| entries.next().is_none()) {
            fs_err::remove_dir(parent).expect("removed");
            fs_err::write(parent, "").expect("written");
        } else {
            fs_err::create_dir(path).expect("made");
        }
    }),
    ("behind a link to nothing", |path| {
        let parent = path.parent().expect("a parent");
        if fs_err::read_dir(parent).is_ok_and(|mut entries| entries.next().is_none()) {
            fs_err::remove_dir(parent).expect("removed");
            symlink("nowhere", parent).expect("linked");
        } else {
            symlink("nowhere", path).expect("linked");
        }
    }),
    ("behind a link to itself", |path| {
        let parent = path.parent().expect("a parent");
        if fs_err::read_dir(parent).is_ok_and(|mut entries| entries.next().is_none()) {
            fs_err::remove_dir(parent).expect("removed");
            symlink(parent, parent).expect("linked");
        } else {
            symlink(path, path).expect("linked");
        }
    }),
    ("a number in the place of a table", |path| fs_err::write(path, "1").expect("written")),
];

mod rustix_kind {
    pub(super) const FIFO: rustix::fs::FileType = rustix::fs::FileType::Fifo;
}

fn node(path: &Path, kind: rustix::fs::FileType) {
    rustix::fs::mknodat(rustix::fs::CWD, path, kind, rustix::fs::Mode::RUSR, 0).expect("made");
}

#[test]
fn s7_every_way_of_not_being_readable_is_a_reason_to_start_nothing() {
    let files: [fn(&Places) -> PathBuf; 5] = [
        |places| places.project.join("helve.toml"),
        |places| places.project.join("helve.local.toml"),
        |places| places.home.join(".config/helve/helve.toml"),
        |places| places.project.join(".claude/settings.json"),
        |places| places.home.join(".claude/settings.json"),
    ];
    for file in files {
        for (way, spoil) in WAYS {
            let places = Places::new();
            let path = file(&places);
            fs_err::create_dir_all(path.parent().expect("a parent")).expect("made");
            assert!(places.load().broken_rules().is_none(), "without a file nothing is wrong");
            spoil(&path);
            let configuration = places.load();
            let broken = configuration.broken_rules();
            assert!(broken.is_some(), "{}: {way}: {:?}", path.display(), configuration.diagnostics);
            let shown = broken.expect("a diagnostic").render();
            assert!(shown.contains(&*path.parent().expect("a parent").to_string_lossy()), "{shown}");
        }
    }
}

#[test]
fn s7_a_link_out_of_the_project_is_told_and_stops() {
    let places = Places::new();
    fs_err::write(places.home.join("elsewhere.toml"), DENY).expect("written");
    symlink("../elsewhere.toml", places.project.join("helve.toml")).expect("linked");
    let configuration = places.load();
    let broken = configuration.broken_rules().expect("a diagnostic");
    assert!(broken.message.contains("it is a link to a file outside of the project"), "{broken}");
    assert!(configuration.rules.is_empty());

    // The person's own file may be a link to anywhere: it is theirs.
    let places = Places::new();
    fs_err::write(places.home.join("dotfiles.toml"), DENY).expect("written");
    fs_err::create_dir_all(places.home.join(".config/helve")).expect("made");
    symlink("../../dotfiles.toml", places.home.join(".config/helve/helve.toml")).expect("linked");
    let configuration = places.load();
    assert!(configuration.broken_rules().is_none());
    assert_eq!(configuration.rules.len(), 1);
}

#[test]
fn s7_a_missing_file_and_a_home_that_is_no_directory_are_silence() {
    let places = Places::new();
    assert!(places.load().diagnostics.is_empty());
    for home in ["/dev/null", "/nonexistent"] {
        let configuration = load(LoadRequest::new(&Environment::new(&places.project).with_home(home)));
        assert!(configuration.broken_rules().is_none(), "{home}: {:?}", configuration.diagnostics);
    }
}

#[test]
fn s7_other_applications_files_do_not_stop_anything() {
    let places = Places::new();
    for file in [".mcp.json", "opencode.json"] {
        fs_err::create_dir(places.project.join(file)).expect("made");
    }
    let configuration = places.load();
    assert!(configuration.broken_rules().is_none());
    let shown: Vec<String> = configuration.diagnostics.iter().map(|diagnostic| diagnostic.message.clone()).collect();
    assert!(shown.iter().all(|message| message.ends_with("is left out: it is a directory, not a file")), "{shown:?}");
    assert_eq!(shown.len(), 2);
}

#[test]
fn s7_a_form_that_nobody_understands_stops() {
    let own = [
        "rules = 1",
        "rules = [\"*\"]",
        "settings = 1",
        "[[settings]]\nreadonly = true",
        "[setting]\nreadonly = true",
        "[[rule]]\ntool = \"*/*\"\naction = \"deny\"",
        "[settings]\nread_only = true",
        "[[rules]]\naction = \"deny\"",
    ];
    for text in own {
        let places = Places::new();
        fs_err::write(places.project.join("helve.toml"), text).expect("written");
        assert!(places.load().broken_rules().is_some(), "{text}");
    }
    let claude = [
        r#"{"permissions": 1}"#,
        r#"{"permissions": "mcp__a__b"}"#,
        r#"{"permissions": {"deny": "mcp__a__b"}}"#,
        r#"{"permissions": {"deny": [1]}}"#,
        r#"{"permissions": {"denied": ["mcp__a__b"]}}"#,
        r#"{"permissions": ["mcp__a__b"]}"#,
        r#"{"permissions": [{"action": "deny"}]}"#,
        r#"{"permissions": [{"tool": "mcp__a__b", "action": "forbid"}]}"#,
    ];
    for text in claude {
        let places = Places::new();
        fs_err::create_dir(places.project.join(".claude")).expect("made");
        fs_err::write(places.project.join(".claude/settings.json"), text).expect("written");
        assert!(places.load().broken_rules().is_some(), "{text}");
    }
}

#[test]
fn s7_permissions_as_a_list_are_rules_in_its_order() {
    let text = r#"{"permissions": [
      {"tool": "mcp__github__destroy", "action": "deny"},
      {"tool": "mcp__github__*", "action": "allow", "pattern": "repo=me/*"},
      {"tool": "Bash", "action": "allow"},
      {"tool": "mcp__*", "action": "ask"},
      {"tool": "mcp_*", "action": "allow"},
      {"tool": "mcp_*", "action": "deny"},
      {"tool": "*", "action": "allow"}
    ]}"#;
    let content = crate::support::read(Dialect::ClaudeSettings, ".claude/settings.json", text);
    insta::assert_snapshot!(describe(&content), @r"
    rule deny mcp__github__destroy at 2:16
    rule allow mcp__github__* pattern=repo=me/* at 3:16
    rule ask mcp__*__* at 5:16
    rule deny */* at 7:16
    rule allow */* at 8:16
    ");
    assert_eq!(problems(&content), "");

    // A project's deny counts at once, its allow only when the person trusts it.
    let places = Places::new();
    fs_err::create_dir(places.project.join(".claude")).expect("made");
    fs_err::write(places.project.join(".claude/settings.json"), text).expect("written");
    let configuration = places.load();
    assert!(configuration.rules.iter().all(|rule| rule.action != Action::Allow));
    assert_eq!(configuration.rules.len(), 3);
    assert_eq!(configuration.withheld_rules.len(), 2);
}

#[test]
fn s7_what_a_rule_cannot_say_narrows_and_never_allows() {
    let text =
        r#"{"permissions": {"deny": ["mcp__a__b(x:*)", "Bash(rm:*)", "*"], "allow": ["mcp__a__c(x:*)", "mcp*"]}}"#;
    let content = crate::support::read(Dialect::ClaudeSettings, ".claude/settings.json", text);
    insta::assert_snapshot!(describe(&content), @r"
    rule deny mcp__a__b at 1:27
    rule deny */* at 1:59
    ");
}

/// S17: an answer is for the file that asked, and so is the question.
#[test]
fn s17_an_answer_to_one_files_input_is_no_other_files() {
    let text = "[[inputs]]\nid = \"token\"\n[servers.a]\ncommand = \"a\"\nargs = [\"${input:token}\"]\n";
    let environment = Environment::new("/p").with_answer("/home/me/.config/helve/helve.toml", "token", "hunter2");
    let read = |path: &str| {
        let content = read_text(&place(Dialect::Helve, path, Layer::User), text, &environment);
        content.servers[0].blockers.len()
    };
    assert_eq!(read("/home/me/.config/helve/helve.toml"), 0);
    assert_eq!(read("/p/helve.toml"), 1, "the project asks for itself");
}

/// S17: what answers by a variable is named to whoever is asked for trust.
#[test]
fn s17_an_input_answered_by_a_variable_reads_that_variable() {
    let text = "[[inputs]]\nid = \"token\"\n[servers.a]\ncommand = \"a\"\nargs = [\"${input:token}\"]\n";
    let environment = Environment::new("/p").with_variables([("HELVE_INPUT_TOKEN", "hunter2")]);
    let content = read_text(&place(Dialect::Helve, "/p/helve.toml", Layer::Project), text, &environment);
    assert_eq!(content.servers[0].variables, ["HELVE_INPUT_TOKEN"]);
    assert!(content.servers[0].blockers.is_empty());
}
