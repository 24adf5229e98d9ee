//! From configuration to plan: who is held back, whose rules count.

use helve_config::{Environment, LoadRequest, load};
use helve_policy::Trust;

use super::{Plan, compile, held_text};
use crate::setup::{Choices, Setup};

struct Planned {
    _directory: tempfile::TempDir,
    plan: Plan,
}

fn planned(files: &[(&str, &str)], trusted: bool, choices: Choices) -> Planned {
    let directory = tempfile::tempdir().expect("a directory");
    for (path, text) in files {
        let path = directory.path().join(path);
        fs_err::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs_err::write(path, text).expect("written");
    }
    let project = directory.path().join("project");
    fs_err::create_dir_all(&project).expect("made");
    let environment = Environment::new(&project).with_home(directory.path());
    let configuration =
        load(LoadRequest { trust: &|_: &helve_config::trust::TrustRequest| trusted, ..LoadRequest::new(&environment) });
    let setup = Setup::new(crate::Environment::new(project).with_home(directory.path())).with_choices(choices);
    Planned { plan: setup.plan(&configuration).expect("a plan"), _directory: directory }
}

impl Planned {
    fn servers(&self) -> String {
        let line = |planned: &helve::Planned| {
            let held = held_text(planned.held.as_ref());
            format!("{} {:?} {held} readonly={:?}", planned.spec.name, planned.trust, planned.spec.access.readonly)
        };
        self.plan.servers.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn rules(&self) -> String {
        let line = |sourced: &helve_policy::SourcedRule| {
            format!("{} {} {} {:?}", sourced.rule.layer, sourced.rule.action, sourced.rule.tool, sourced.trust)
        };
        self.plan.rules.iter().flatten().map(line).collect::<Vec<_>>().join("\n")
    }
}

const USER: &str = "
[servers.mine]
command = \"mine\"
[servers.off]
command = \"off\"
enabled = false
[servers.unset]
command = \"unset\"
env = { TOKEN = \"${NOBODY}\" }
[[rules]]
tool = \"mine/*\"
action = \"allow\"
";

const PROJECT: &str = "
[servers.theirs]
command = \"theirs\"
[[rules]]
tool = \"theirs/*\"
action = \"allow\"
[[rules]]
tool = \"mine/delete\"
action = \"deny\"
";

const FILES: &[(&str, &str)] = &[(".config/helve/helve.toml", USER), ("project/helve.toml", PROJECT)];

#[test]
fn a_project_is_held_back_until_it_is_trusted() {
    let untrusted = planned(FILES, false, Choices::default());
    insta::assert_snapshot!(untrusted.servers(), @"
    mine Trusted on readonly=None
    off Trusted off readonly=None
    unset Trusted NOBODY is not set readonly=None
    theirs Untrusted not trusted readonly=None
    ");
    insta::assert_snapshot!(untrusted.rules(), @"
    project deny mine/delete Untrusted
    user allow mine/* Trusted
    project allow theirs/* Untrusted
    ");
    let trusted = planned(FILES, true, Choices::default());
    insta::assert_snapshot!(trusted.servers(), @"
    theirs Trusted on readonly=None
    mine Trusted on readonly=None
    off Trusted off readonly=None
    unset Trusted NOBODY is not set readonly=None
    ");
    insta::assert_snapshot!(trusted.rules(), @"
    project allow theirs/* Trusted
    project deny mine/delete Trusted
    user allow mine/* Trusted
    ");
    assert!(compile(&trusted.plan).1.is_empty());
}

#[test]
fn one_switch_turns_everything_off() {
    let off = || Choices { no_mcp: true, ..Choices::default() };
    insta::assert_snapshot!(planned(FILES, true, off()).servers(), @"
    theirs Trusted MCP is off readonly=None
    mine Trusted MCP is off readonly=None
    off Trusted MCP is off readonly=None
    unset Trusted MCP is off readonly=None
    ");
    insta::assert_snapshot!(planned(&[], true, off()).servers(), @"
    filesystem Trusted MCP is off readonly=None
    time Trusted MCP is off readonly=None
    ");
}

#[test]
fn the_defaults_serve_only_where_nobody_configured_anything() {
    insta::assert_snapshot!(planned(&[], false, Choices::default()).servers(), @"
    filesystem Trusted on readonly=None
    time Trusted on readonly=None
    ");
    let named = Choices { files: vec!["empty.toml".into()], ..Choices::default() };
    assert_eq!(planned(&[], false, named).plan.servers.len(), 0, "the person chose the files");
}

#[test]
fn the_setting_readonly_holds_where_a_server_says_nothing() {
    let text =
        "[settings]\nreadonly = false\n[servers.a]\ncommand = \"a\"\n[servers.b]\ncommand = \"b\"\nreadonly = true\n";
    insta::assert_snapshot!(planned(&[(".config/helve/helve.toml", text)], false, Choices::default()).servers(), @"
    a Trusted on readonly=Some(false)
    b Trusted on readonly=Some(true)
    ");
}

#[test]
fn hidden_entries_still_narrow() {
    let user = "[servers.a]\ncommand = \"mine\"\ndisabled_tools = [\"rm\"]\n";
    let project = "[servers.a]\ncommand = \"theirs\"\n";
    let both =
        planned(&[(".config/helve/helve.toml", user), ("project/helve.toml", project)], true, Choices::default());
    assert_eq!(both.plan.servers.len(), 1);
    let [hidden] = &both.plan.narrowing[..] else { panic!("{:?}", both.plan.narrowing) };
    assert_eq!(hidden.trust, Trust::Trusted);
    assert_eq!(hidden.access.disabled_tools.len(), 1);
}

#[test]
fn accepted_definitions_count_where_they_were_accepted() {
    let pins = r#"{"pins": [
        {"server": "mine", "tool": "t", "definition": "{}"},
        {"server": "gone", "tool": "t", "definition": "{}"},
        {"project": "/elsewhere", "server": "theirs", "tool": "t", "definition": "{}"}
    ]}"#;
    let files = [FILES, &[(".local/state/helve/pins.json", pins)]].concat();
    let plan = planned(&files, true, Choices::default()).plan;
    let names: Vec<String> = plan.pins.expect("pins").keys().map(ToString::to_string).collect();
    assert_eq!(names, ["mine/t"]);
}
