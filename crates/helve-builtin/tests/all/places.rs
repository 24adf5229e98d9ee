//! S3: rules about places hold for whatever a path leads to, and a call opens the place that was decided about.

use std::os::unix::fs::symlink;
use std::path::Path;

use helve::policy::{
    Caller, Decision, Directories, Permit, RuleSet, ServerAccess, SourcedRule, Subject, Trust, Whereabouts,
};
use helve::{Tool, ToolContext, Toolbox};
use helve_model::json::RawJson;
use helve_model::{AccessSpec, Action, Layer, Origin, Rule};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{told, tree, writable};

fn rules(toolbox: &Toolbox, rules: &[(&str, Action)]) -> RuleSet {
    let rule = |(pattern, action): &(&str, Action)| SourcedRule {
        rule: Rule {
            pattern: (!pattern.is_empty()).then(|| (*pattern).to_owned()),
            ..Rule::new("notes/*", *action, Origin::Program, Layer::User)
        },
        trust: Trust::Trusted,
    };
    let server = ServerAccess {
        name: toolbox.name().clone(),
        enabled: true,
        access: AccessSpec::default(),
        origin: Origin::Program,
        layer: Layer::User,
        trust: Trust::Trusted,
        identity: None,
        directories: Directories::default(),
    };
    let (rules, problems) = RuleSet::compile(rules.iter().map(rule), [server]);
    assert_eq!(problems, vec![]);
    rules
}

fn find<'a>(toolbox: &'a Toolbox, name: &str) -> &'a dyn Tool {
    toolbox.tools().iter().find(|tool| tool.definition().name().as_str() == name).unwrap().as_ref()
}

async fn decide(toolbox: &Toolbox, rules: &RuleSet, name: &str, arguments: &Value) -> Decision {
    let tool = find(toolbox, name);
    let arguments = RawJson::checked(arguments.to_string()).unwrap();
    let whereabouts = Whereabouts { places: tool.places(&arguments).await, ..Whereabouts::default() };
    let policy = rules.for_tool(Subject::tool(toolbox.name(), &tool.definition()));
    policy.decide_at(Caller::Agent, arguments, &whereabouts)
}

async fn call(toolbox: &Toolbox, name: &str, permit: &Permit) -> String {
    told(find(toolbox, name).call(permit, &ToolContext::new(Caller::Agent)).await)
}

/// What comes of a call: `denied`, `asked`, or what the tool says.
async fn met(toolbox: &Toolbox, rules: &RuleSet, name: &str, arguments: &Value) -> String {
    match decide(toolbox, rules, name, arguments).await {
        Decision::Allow(permit) => call(toolbox, name, &permit).await,
        Decision::Ask(_) => "asked".to_owned(),
        Decision::Deny(_) => "denied".to_owned(),
    }
}

/// `secrets/key` and several links that lead there.
fn world() -> TempDir {
    let directory =
        tree(&[("secrets/key", "SECRET"), ("docs/a", "open"), ("docs/deep/b", "open"), ("other/c", "open")]);
    let link = |target: &str, name: &str| symlink(target, directory.path().join(name)).unwrap();
    link("../secrets/key", "docs/link");
    link("secrets", "alias");
    link("../../secrets", "docs/deep/up");
    link("docs/deep", "deep");
    link("link", "docs/twice");
    directory
}

#[tokio::test]
async fn s3_links_and_spellings_lead_to_the_same_deny() {
    let directory = world();
    let toolbox = writable(&directory);
    let root = directory.path().to_str().unwrap();
    let denying = rules(&toolbox, &[("path=secrets/**", Action::Deny), ("", Action::Allow)]);
    let absolute = rules(&toolbox, &[(&format!("path={root}/secrets/**"), Action::Deny), ("", Action::Allow)]);
    for path in [
        "secrets/key",
        "./secrets/key",
        "docs/../secrets/key",
        "docs/link",
        "docs/twice",
        "alias/key",
        "docs/deep/up/key",
        "deep/up/key",
        "deep/../../secrets/key",
        "alias/../secrets/key",
        "alias/./key",
    ] {
        for path in [path.to_owned(), format!("{root}/{path}"), format!("{root}//docs/../{path}")] {
            for rules in [&denying, &absolute] {
                assert_eq!(met(&toolbox, rules, "read_file", &json!({ "path": path })).await, "denied", "{path}");
                assert_eq!(
                    met(&toolbox, rules, "read_many", &json!({"paths": ["docs/a", path]})).await,
                    "denied",
                    "{path}"
                );
            }
        }
    }
    for (name, arguments) in [
        ("write_file", json!({"path": "alias/new", "content": "x"})),
        ("create_directory", json!({"path": "docs/deep/up/new/newer"})),
        ("delete_file", json!({"path": "deep/up/key"})),
        ("move_file", json!({"source": "alias/key", "destination": "docs/k"})),
        ("move_file", json!({"source": "docs/a", "destination": "deep/up/a"})),
        ("move_file", json!({"source": "secrets", "destination": "open"})),
        ("list_directory", json!({"path": "alias"})),
        ("search_files", json!({"path": "docs/deep/up", "contains": "SECRET"})),
        ("file_info", json!({"path": "alias/key"})),
        ("edit_file", json!({"path": "alias/key", "edits": [{"old_text": "S", "new_text": "T"}]})),
    ] {
        assert_eq!(met(&toolbox, &denying, name, &arguments).await, "denied", "{name} {arguments}");
    }
    assert_eq!(met(&toolbox, &denying, "read_file", &json!({"path": "deep/b"})).await, "open");
    assert_eq!(
        met(&toolbox, &denying, "list_directory", &json!({"path": "docs/deep"})).await,
        "b  (4 bytes)\nup  (symlink)"
    );
}

#[tokio::test]
async fn s3_no_link_widens_an_allow() {
    let directory = world();
    let toolbox = writable(&directory);
    let allowing = rules(&toolbox, &[("path=docs/**", Action::Allow), ("source=docs/**", Action::Allow)]);
    let read = |path: &'static str| {
        let (toolbox, allowing) = (&toolbox, &allowing);
        async move { met(toolbox, allowing, "read_file", &json!({ "path": path })).await }
    };
    assert_eq!(read("docs/a").await, "open");
    assert_eq!(read("docs/deep/b").await, "open");
    for path in ["docs/link", "docs/twice", "docs/deep/up/key", "docs/nothing/../../secrets/key", "other/c"] {
        assert_eq!(read(path).await, "asked", "{path}");
    }
    assert_eq!(
        met(&toolbox, &allowing, "write_file", &json!({"path": "docs/deep/up/x", "content": ""})).await,
        "asked"
    );
    assert_eq!(
        met(&toolbox, &allowing, "write_file", &json!({"path": "docs/new", "content": "x"})).await,
        "created `docs/new`, 1 byte"
    );
}

/// Between the decision and the call the link is pointed elsewhere.
#[tokio::test]
async fn s3_a_link_swapped_after_the_decision_opens_what_was_decided() {
    let directory = tree(&[("secrets/key", "SECRET"), ("docs/a", "open"), ("docs/deep/key", "open too")]);
    let (toolbox, at) = (writable(&directory), |path: &str| directory.path().join(path));
    let rules = rules(&toolbox, &[("path=secrets/**", Action::Deny), ("", Action::Allow)]);
    let permitted = |path: &'static str| {
        let (toolbox, rules) = (&toolbox, &rules);
        async move {
            match decide(toolbox, rules, "read_file", &json!({ "path": path })).await {
                Decision::Allow(permit) => permit,
                other => panic!("{path}: {other:?}"),
            }
        }
    };
    // A link to a file.
    symlink("a", at("docs/link")).unwrap();
    let permit = permitted("docs/link").await;
    fs_err::remove_file(at("docs/link")).unwrap();
    symlink("../secrets/key", at("docs/link")).unwrap();
    assert_eq!(call(&toolbox, "read_file", &permit).await, "open");
    // A directory on the way becomes a link.
    let permit = permitted("docs/deep/key").await;
    fs_err::rename(at("docs/deep"), at("docs/moved")).unwrap();
    symlink("../secrets", at("docs/deep")).unwrap();
    let told = call(&toolbox, "read_file", &permit).await;
    assert!(told.starts_with("failed: ") && !told.contains("SECRET"), "{told}");
    // Something that led nowhere.
    symlink("/etc/passwd", at("docs/nowhere")).unwrap();
    let permit = permitted("docs/nowhere").await;
    fs_err::remove_file(at("docs/nowhere")).unwrap();
    symlink("../secrets/key", at("docs/nowhere")).unwrap();
    let told = call(&toolbox, "read_file", &permit).await;
    assert!(told.starts_with("failed: ") && !told.contains("SECRET"), "{told}");
}

#[tokio::test]
async fn s3_every_root_is_a_place_to_be_relative_to() {
    let directory = tree(&[("one/a", "open"), ("two/secrets/key", "SECRET")]);
    let at = |path: &str| directory.path().join(path);
    symlink(at("two"), at("named")).unwrap();
    let toolbox = crate::support::open("filesystem", &[("roots", &["one", "named"])], directory.path());
    let denying = rules(&toolbox, &[("path=secrets/**", Action::Deny), ("", Action::Allow)]);
    for root in ["two", "named"] {
        let path = at(root).join("secrets/key");
        let read = met(&toolbox, &denying, "read_file", &json!({ "path": path.to_str().unwrap() })).await;
        assert_eq!(read, "denied", "{path:?}");
    }
    assert_eq!(met(&toolbox, &denying, "read_file", &json!({"path": "a"})).await, "open");
}

fn component() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "secrets", "key", "docs", "deep", "up", "alias", "link", "twice", "..", ".", "", "a", "other", "b",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// What reads the secret where nothing is forbidden is denied where the secret is; what an allow lets through stays
    /// where it says.
    #[test]
    fn s3_whatever_leads_to_the_secret_is_denied(components in prop::collection::vec(component(), 1..7), absolute in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let directory = world();
        let toolbox = writable(&directory);
        let path = components.join("/");
        let path = if absolute { format!("{}/{path}", directory.path().to_str().unwrap()) } else { path };
        let arguments = json!({ "path": path });
        let open = rules(&toolbox, &[("", Action::Allow)]);
        let denying = rules(&toolbox, &[("path=secrets/**", Action::Deny), ("", Action::Allow)]);
        let allowing = rules(&toolbox, &[("path=docs/**", Action::Allow), ("", Action::Deny)]);
        runtime.block_on(async {
            let read = met(&toolbox, &open, "read_file", &arguments).await;
            let denied = met(&toolbox, &denying, "read_file", &arguments).await;
            if read == "SECRET" {
                prop_assert_eq!(denied, "denied", "{}", &path);
            } else if read == "open" {
                prop_assert!(denied == "open" || Path::new(&path).components().any(|part| part.as_os_str() == "secrets"), "{}", &path);
            }
            let allowed = met(&toolbox, &allowing, "read_file", &arguments).await;
            prop_assert_ne!(allowed, "SECRET", "{}", &path);
            Ok(())
        })?;
    }
}
