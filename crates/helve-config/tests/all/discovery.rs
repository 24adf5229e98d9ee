//! Which files are found: one planted in every place of every application, on both platforms.

use std::path::Path;

use helve_config::trust::NothingTrusted;
use helve_config::{Environment, LoadRequest, Platform, discover, load};
use helve_model::Layer;

fn plant(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs_err::create_dir_all(path.parent().expect("a parent")).expect("made");
    fs_err::write(path, text).expect("written");
}

/// A file with one server, named after its place, in the form its place demands.
fn content(path: &str) -> String {
    let name = path.replace(['/', '.', ' '], "-").trim_matches('-').to_owned();
    if path.ends_with("helve.toml") || path.ends_with("helve.local.toml") {
        return format!("[servers.\"{name}\"]\ncommand = \"x\"\n");
    }
    if path.ends_with("config.toml") && !path.ends_with("mcp-config.toml") {
        return format!("[mcp_servers.\"{name}\"]\ncommand = \"x\"\n");
    }
    if path.ends_with("mcp-config.toml") {
        return format!("[[servers]]\nname = \"{name}\"\ncommand = \"x\"\n");
    }
    if path.ends_with("settings.yaml") {
        return format!("mcp:\n  servers:\n    - name: \"{name}\"\n      command: x\n");
    }
    if path.ends_with(".yaml") {
        return format!("extensions:\n  \"{name}\":\n    type: stdio\n    cmd: x\n");
    }
    let entry = format!(r#"{{"{name}": {{"command": "x"}}}}"#);
    match path {
        _ if path.contains(".claude-loop") => format!(r#"{{"servers": [{{"name": "{name}", "endpoint": "x"}}]}}"#),
        _ if path.ends_with(".code-workspace") => format!(r#"{{"settings": {{"mcp": {{"servers": {entry}}}}}}}"#),
        _ if path.contains("devcontainer") => {
            format!(r#"{{"customizations": {{"vscode": {{"mcp": {{"servers": {entry}}}}}}}}}"#)
        }
        _ if path.contains("vscode/settings") || path.contains("User/settings") => {
            format!(r#"{{"mcp": {{"servers": {entry}}}}}"#)
        }
        _ if path.contains("vscode") || path.contains("/User/") && !path.contains("cline") => {
            format!(r#"{{"servers": {entry}}}"#)
        }
        _ if path.contains("opencode") || path.contains("kilo") || path.contains(".fx") => {
            format!(r#"{{"mcp": {{"{name}": {{"type": "local", "command": ["x"]}}}}}}"#)
        }
        _ if path.contains("zed") => format!(r#"{{"context_servers": {entry}}}"#),
        _ => format!(r#"{{"mcpServers": {entry}}}"#),
    }
}

const PROJECT_FILES: &[&str] = &[
    "helve.local.toml",
    "helve.toml",
    ".mcp.json",
    ".claude-loop/mcp-config.json",
    "mcp-config.toml",
    "config/settings.yaml",
    ".vscode/mcp.json",
    ".vscode/settings.json",
    "my.code-workspace",
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    ".cursor/mcp.json",
    ".codex/config.toml",
    ".github/mcp.json",
    ".gemini/settings.json",
    "opencode.json",
    "opencode.jsonc",
    ".opencode/opencode.json",
    ".opencode/opencode.jsonc",
    ".zed/settings.json",
    ".goose/config.yaml",
    ".kiro/settings/mcp.json",
    "config/mcporter.json",
    "mcp_servers.json",
    "mcp.json",
    "server_config.json",
    "kilo.json",
    ".kimi-code/mcp.json",
    ".grok/config.toml",
    ".pi/mcp.json",
    ".mastracode/mcp.json",
];

const HOME_FILES: &[&str] = &[
    ".mcp.json",
    ".claude.json",
    ".cursor/mcp.json",
    ".codex/config.toml",
    ".copilot/mcp-config.json",
    ".gemini/settings.json",
    ".gemini/config/mcp_config.json",
    ".codeium/windsurf/mcp_config.json",
    ".codeium/windsurf-next/mcp_config.json",
    ".cline/data/settings/cline_mcp_settings.json",
    ".kiro/settings/mcp.json",
    ".mcporter/mcporter.json",
    ".mcporter/mcporter.jsonc",
    ".mcp_servers.json",
    ".mcp-inspector/mcp.json",
    ".kimi-code/mcp.json",
    ".grok/config.toml",
    ".pi/agent/mcp.json",
    ".mastracode/mcp.json",
    ".fx/mcp.json",
    ".config/helve/helve.toml",
    ".config/opencode/opencode.json",
    ".config/opencode/opencode.jsonc",
    ".config/zed/settings.json",
    ".config/goose/config.yaml",
    ".config/mcporter/mcporter.json",
    ".config/mcporter/mcporter.jsonc",
    ".config/mcp/mcp_servers.json",
    ".config/kilo/kilo.json",
];

const SUPPORT_FILES: &[&str] = &[
    "Claude/claude_desktop_config.json",
    "Code/User/mcp.json",
    "Code/User/settings.json",
    "Code/User/profiles/a1/mcp.json",
    "Code - Insiders/User/mcp.json",
    "VSCodium/User/mcp.json",
    "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
];

#[test]
fn every_place_of_every_application_is_found_on_both_platforms() {
    for (platform, support, managed) in [
        (Platform::Linux, ".config", "etc/claude-code/managed-mcp.json"),
        (Platform::MacOs, "Library/Application Support", "Library/Application Support/ClaudeCode/managed-mcp.json"),
    ] {
        let root = tempfile::tempdir().expect("a directory");
        let (home, project, system) =
            (root.path().join("home"), root.path().join("home/work"), root.path().join("system"));
        let mut planted = Vec::new();
        for path in PROJECT_FILES {
            plant(&project, path, &content(path));
            planted.push(project.join(path));
        }
        for path in HOME_FILES {
            plant(&home, path, &content(path));
            planted.push(home.join(path));
        }
        for path in SUPPORT_FILES {
            plant(&home.join(support), path, &content(path));
            planted.push(home.join(support).join(path));
        }
        plant(&system, managed, &content("managed-mcp.json"));
        planted.push(system.join(managed));

        let environment = Environment::new(&project).with_home(&home).with_platform(platform).with_system_root(&system);
        let configuration = load(LoadRequest::new(&environment));
        for path in &planted {
            let file = configuration.files.iter().find(|file| file.place.path == *path);
            let file = file.unwrap_or_else(|| panic!("{} is not found", path.display()));
            assert_eq!(file.servers, 1, "{}: {:?}", path.display(), configuration.diagnostics);
            let expected = if path.starts_with(&project) { Layer::Project } else { Layer::User };
            assert_eq!(file.place.layer, expected, "{}", path.display());
        }
        assert_eq!(configuration.files.len(), planted.len());
        assert!(!configuration.has_errors(), "{:?}", configuration.diagnostics);
    }
}

#[test]
fn variables_move_the_files() {
    let root = tempfile::tempdir().expect("a directory");
    plant(root.path(), "claude/.claude.json", &content(".claude.json"));
    plant(root.path(), "codex/config.toml", &content(".codex/config.toml"));
    plant(root.path(), "xdg/zed/settings.json", &content("zed/settings.json"));
    plant(root.path(), "one.json", &content("opencode.json"));
    plant(root.path(), "more/opencode.json", &content("more/opencode.json"));
    let path = |name: &str| root.path().join(name).display().to_string();
    let environment = Environment::new(root.path().join("work")).with_home(root.path().join("home")).with_variables([
        ("CLAUDE_CONFIG_DIR", path("claude")),
        ("CODEX_HOME", path("codex")),
        ("XDG_CONFIG_HOME", path("xdg")),
        ("OPENCODE_CONFIG", path("one.json")),
        ("OPENCODE_CONFIG_DIR", path("more")),
    ]);
    assert_eq!(load(LoadRequest::new(&environment)).servers.len(), 5);
}

#[test]
fn parents_count_up_to_the_root_of_the_repository_and_the_nearest_wins() {
    let root = tempfile::tempdir().expect("a directory");
    let inner = root.path().join("home/repo/packages/one");
    fs_err::create_dir_all(&inner).expect("made");
    fs_err::create_dir_all(root.path().join("home/repo/.git")).expect("made");
    plant(root.path(), "home/.mcp.json", r#"{"mcpServers": {"home": {"command": "h"}}}"#);
    plant(root.path(), "home/repo/.mcp.json", r#"{"mcpServers": {"a": {"command": "far"}, "b": {"command": "b"}}}"#);
    plant(&inner, ".mcp.json", r#"{"mcpServers": {"a": {"command": "near"}}}"#);
    plant(root.path(), ".mcp.json", r#"{"mcpServers": {"outside": {"command": "o"}}}"#);
    let environment = Environment::new(&inner).with_home(root.path().join("home"));
    assert_eq!(discover::project_root(&environment), root.path().join("home/repo"));

    let trust = |_: &helve_config::trust::TrustRequest| true;
    let configuration = load(LoadRequest { trust: &trust, ..LoadRequest::new(&environment) });
    let mut names: Vec<(&str, Layer)> =
        configuration.servers.iter().map(|server| (server.name.as_str(), server.layer)).collect();
    names.sort_unstable();
    assert_eq!(names, [("a", Layer::Project), ("b", Layer::Project), ("home", Layer::User)]);
    let near = format!("{:?}", configuration.server("a").expect("there").spec);
    assert!(near.contains("near") && configuration.shadowed.len() == 1);
}

#[test]
fn own_files_have_a_place_before_they_exist() {
    let home = tempfile::tempdir().expect("a directory");
    let root = home.path().join("repository");
    plant(&root, ".git/HEAD", "");
    plant(&root, "inner/deep/README", "");
    let environment = Environment::new(root.join("inner/deep")).with_home(home.path());
    let project = |name| discover::own_project_file(&environment, name).path;
    assert_eq!(project(discover::PROJECT_FILE), root.join("helve.toml"));
    plant(&root, "inner/helve.toml", "");
    assert_eq!(project(discover::PROJECT_FILE), root.join("inner/helve.toml"), "the nearest that exists");
    assert_eq!(project(discover::LOCAL_FILE), root.join("helve.local.toml"));
    let user = discover::own_user_file(&environment).expect("a home");
    assert_eq!(user.path, home.path().join(".config/helve/helve.toml"));
    assert_eq!(discover::own_user_file(&Environment::new(root)).map(|place| place.path), None);
}

#[test]
fn a_persons_file_in_a_project_wins_over_everybodys() {
    let home = tempfile::tempdir().expect("a directory");
    plant(home.path(), "project/helve.toml", "[servers.a]\ncommand = \"theirs\"\n");
    plant(home.path(), "project/helve.local.toml", "[servers.a]\ncommand = \"mine\"\n");
    let environment = Environment::new(home.path().join("project")).with_home(home.path());
    let configuration =
        load(LoadRequest { trust: &|_: &helve_config::trust::TrustRequest| true, ..LoadRequest::new(&environment) });
    let origin = configuration.server("a").expect("it is there").origin.to_string();
    assert!(origin.ends_with("project/helve.local.toml:1:10"), "{origin}");
}

#[test]
fn without_a_repository_only_the_directory_itself_counts() {
    let root = tempfile::tempdir().expect("a directory");
    let inner = root.path().join("a/b");
    fs_err::create_dir_all(&inner).expect("made");
    plant(root.path(), "a/.mcp.json", r#"{"mcpServers": {"above": {"command": "o"}}}"#);
    let configuration = load(LoadRequest::new(&Environment::new(&inner)));
    assert!(configuration.servers.is_empty() && configuration.diagnostics.is_empty(), "missing files are silence");
}

#[test]
fn the_home_directory_is_the_persons_own_even_when_they_stand_in_it() {
    let root = tempfile::tempdir().expect("a directory");
    plant(root.path(), ".mcp.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    let configuration = load(LoadRequest::new(&Environment::new(root.path()).with_home(root.path())));
    assert_eq!(configuration.servers[0].layer, Layer::User);
    assert!(configuration.servers[0].is_usable());
}

#[test]
fn a_link_out_of_the_project_is_left_out() {
    let root = tempfile::tempdir().expect("a directory");
    plant(root.path(), "elsewhere.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    let project = root.path().join("project");
    fs_err::create_dir_all(&project).expect("made");
    fs_err::os::unix::fs::symlink(root.path().join("elsewhere.json"), project.join(".mcp.json")).expect("linked");
    let configuration = load(LoadRequest::new(&Environment::new(&project)));
    assert!(configuration.servers.is_empty());
    let message = configuration.diagnostics[0].message.replace(&root.path().display().to_string(), "ROOT");
    insta::assert_snapshot!(message, @"`ROOT/project/.mcp.json` is left out: it is a link to a file outside of the project");
}

#[test]
fn one_broken_file_stops_nobody() {
    let root = tempfile::tempdir().expect("a directory");
    plant(root.path(), ".mcp.json", "{ broken");
    plant(root.path(), "home/.cursor/mcp.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    let environment = Environment::new(root.path()).with_home(root.path().join("home"));
    let configuration = load(LoadRequest { trust: &NothingTrusted, ..LoadRequest::new(&environment) });
    assert_eq!(configuration.servers.len(), 1);
    assert_eq!(configuration.diagnostics.len(), 1);
}

#[test]
fn a_file_of_a_common_name_that_is_somebody_elses_is_left_alone() {
    let root = tempfile::tempdir().expect("a directory");
    plant(root.path(), "config/settings.yaml", "{{ template }}\n  - : broken");
    plant(root.path(), "server_config.json", "[not json");
    plant(root.path(), ".vscode/settings.json", "{ broken");
    let configuration = load(LoadRequest::new(&Environment::new(root.path())));
    assert!(configuration.diagnostics.is_empty() && configuration.files.is_empty(), "{:?}", configuration.diagnostics);
    plant(root.path(), "config/settings.yaml", "mcp: [broken");
    assert_eq!(load(LoadRequest::new(&Environment::new(root.path()))).diagnostics.len(), 1);
}

#[test]
fn the_person_chooses_what_is_imported_and_a_project_does_not() {
    let root = tempfile::tempdir().expect("a directory");
    let (home, project) = (root.path().join("home"), root.path().join("project"));
    plant(&home, ".cursor/mcp.json", r#"{"mcpServers": {"cursor": {"command": "x"}}}"#);
    plant(&home, ".mcp.json", r#"{"mcpServers": {"mcp": {"command": "x"}}}"#);
    plant(&project, "helve.toml", "[settings]\nimport = true\n");
    let environment = Environment::new(&project).with_home(&home);
    let names = || -> Vec<String> {
        load(LoadRequest::new(&environment)).servers.iter().map(|server| server.name.to_string()).collect()
    };
    assert_eq!(names(), ["mcp", "cursor"]);
    plant(&home, ".config/helve/helve.toml", "[settings]\nimport = [\"cursor\"]\n");
    assert_eq!(names(), ["cursor"]);
    plant(&home, ".config/helve/helve.toml", "[settings]\nimport = false\n");
    assert_eq!(names(), Vec::<String>::new());
    assert!(discover::applications().contains(&"cursor"));
}
