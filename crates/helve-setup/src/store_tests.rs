//! What is remembered is there again, whatever else happens to the files.

use std::path::PathBuf;
use std::sync::Arc;

use helve_config::trust::{TrustRequest, TrustStore as _, TrustSubject, hash_content};
use helve_model::{CallKind, Principal, QualifiedName, ServerName, ToolName};
use helve_policy::pin::DefinitionHash;
use helve_policy::{Approval, ApprovalSpan};

use super::Stores;
use super::approvals::ApprovalFile;
use super::pins::PinFile;
use super::trust::TrustFile;

fn stores() -> (tempfile::TempDir, Stores) {
    let directory = tempfile::tempdir().expect("a directory");
    let stores = Stores::in_directory(directory.path().join("state/helve"));
    (directory, stores)
}

fn request(project: &str, server: &str, content: &str) -> TrustRequest {
    TrustRequest {
        project: PathBuf::from(project),
        file: PathBuf::from(project).join(".mcp.json"),
        subject: TrustSubject::Server(server.to_owned()),
        parts: Vec::new(),
        hash: hash_content(content.as_bytes()),
    }
}

fn tool() -> QualifiedName {
    QualifiedName::new(ServerName::new("github").expect("a name"), ToolName::new("create_issue"))
}

#[test]
fn trust_is_for_exactly_what_was_shown() {
    let (directory, stores) = stores();
    let yes = request("/p", "github", "npx server");
    assert!(!stores.read::<TrustFile>().expect("read").is_trusted(&yes));
    stores.update(|file: &mut TrustFile| file.trust(&yes, None)).expect("written");
    stores.update(|file: &mut TrustFile| file.trust(&yes, None)).expect("written");

    let file: TrustFile = stores.read().expect("read");
    assert_eq!(file.trusted.len(), 1, "said twice, kept once");
    assert!(file.is_trusted(&yes));
    assert!(!file.is_trusted(&request("/p", "github", "npx other")), "another command");
    assert!(!file.is_trusted(&request("/q", "github", "npx server")), "another project");
    assert!(!file.is_trusted(&request("/p", "gitlab", "npx server")), "another server");
    assert!(!file.is_trusted(&TrustRequest { subject: TrustSubject::Rules, ..yes.clone() }), "the file's rules");

    let taken = stores.update(|file: &mut TrustFile| file.revoke(|trusted| trusted.project == "/p")).expect("written");
    assert_eq!(taken.len(), 1);
    assert!(!stores.read::<TrustFile>().expect("read").is_trusted(&yes));
    drop(directory);
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let (directory, stores) = stores();
    stores.update(|file: &mut TrustFile| file.trust(&request("/p", "a", "x"), None)).expect("written");
    let mode = |path: &str| fs_err::metadata(directory.path().join(path)).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode("state/helve"), 0o700);
    assert_eq!(mode("state/helve/trust.json"), 0o600);
}

#[test]
fn a_broken_file_is_named_and_kept() {
    let (directory, stores) = stores();
    let path = directory.path().join("state/helve/trust.json");
    fs_err::create_dir_all(path.parent().expect("a parent")).expect("made");
    for (text, expected) in [
        ("{\"trusted\": [", "cannot be understood"),
        ("{\"trusted\": 3}", "cannot be understood"),
        ("{\"version\": 3, \"trusted\": []}", "was written by a later helve (its version is 3)"),
        ("{\"version\": \"2\", \"trusted\": []}", "was written by a later helve (its version is \"2\")"),
    ] {
        fs_err::write(&path, text).expect("written");
        let failure = stores.read::<TrustFile>().expect_err("refused");
        assert_eq!(failure.message(), format!("{} {expected}", path.display()));
        assert_eq!(failure.code(), Some(helve_model::ErrorCode::Config));
        let request = request("/p", "a", "x");
        stores.update(|file: &mut TrustFile| file.trust(&request, None)).expect_err("refused");
        assert_eq!(fs_err::read_to_string(&path).expect("read"), text, "nothing is lost");
    }
}

#[test]
fn s5_what_an_earlier_version_knew_ends_once_and_is_named() {
    let (directory, stores) = stores();
    let path = directory.path().join("state/helve/trust.json");
    fs_err::create_dir_all(path.parent().expect("a parent")).expect("made");
    let old = r#"{"version": 1, "trusted": [
        {"project": "/q", "file": "/q/helve.toml", "hash": "1"},
        {"project": "/p", "file": "/p/helve.toml", "server": "a", "hash": "2"},
        {"project": "/p", "file": "/p/helve.toml", "hash": "3"}], "more": 1}"#;
    fs_err::write(&path, old).expect("written");
    assert_eq!(stores.retire::<TrustFile>().expect("read"), ["/p", "/q"]);
    assert_eq!(stores.retire::<TrustFile>().expect("read"), Vec::<String>::new(), "once");
    insta::assert_snapshot!(fs_err::read_to_string(&path).expect("read"), @r#"
    {
      "version": 2,
      "trusted": [],
      "more": 1
    }
    "#);
    let approvals = directory.path().join("state/helve/approvals.json");
    fs_err::write(&approvals, r#"{"approvals": [{"server": "a", "tool": "t", "kind": "tool"}]}"#).expect("written");
    assert_eq!(stores.retire::<ApprovalFile>().expect("read"), ["a/t"]);
    assert_eq!(stores.read::<ApprovalFile>().expect("read").stored().len(), 0);
    fs_err::write(&path, r#"{"version": 3, "trusted": []}"#).expect("written");
    stores.retire::<TrustFile>().expect_err("a later one is refused");
    assert_eq!(fs_err::read_to_string(&path).expect("read"), r#"{"version": 3, "trusted": []}"#, "and not rewritten");
}

#[test]
fn what_a_later_version_added_stays() {
    let (directory, stores) = stores();
    let path = directory.path().join("state/helve/approvals.json");
    fs_err::create_dir_all(path.parent().expect("a parent")).expect("made");
    let text =
        r#"{"version": 2, "approvals": [{"server": "a", "tool": "t", "kind": "dance", "since": 3}], "more": true}"#;
    fs_err::write(&path, text).expect("written");
    let approval = Approval {
        principal: Principal::LOCAL,
        tool: tool(),
        kind: CallKind::Tool,
        pattern: None,
        definition: None,
        server: None,
        span: ApprovalSpan::Always,
    };
    stores.update(|file: &mut ApprovalFile| file.add(&approval)).expect("written");
    insta::assert_snapshot!(fs_err::read_to_string(&path).expect("read"), @r#"
    {
      "version": 2,
      "approvals": [
        {
          "server": "a",
          "tool": "t",
          "kind": "dance",
          "since": 3
        },
        {
          "server": "github",
          "tool": "create_issue",
          "kind": "tool"
        }
      ],
      "more": true
    }
    "#);
}

#[test]
fn approvals_for_good_come_back_and_others_are_not_kept() {
    let (directory, stores) = stores();
    let definition = Some(DefinitionHash::of(r#"{"name": "create_issue"}"#));
    let always = Approval {
        principal: Principal::LOCAL,
        tool: tool(),
        kind: CallKind::Tool,
        pattern: Some("title=*".to_owned()),
        definition,
        server: None,
        span: ApprovalSpan::Always,
    };
    let once = Approval { span: ApprovalSpan::Once, ..always.clone() };
    let add = |approval: &Approval| stores.update(|file: &mut ApprovalFile| file.add(approval)).expect("written");
    add(&once);
    add(&always);
    add(&always);
    let kept: Vec<Approval> = stores.read::<ApprovalFile>().expect("read").approvals().collect();
    assert_eq!(kept, [always]);
    let taken = stores.update(|file: &mut ApprovalFile| file.revoke(|approval| approval.tool == tool()));
    assert_eq!(taken.expect("written").len(), 1);
    assert_eq!(stores.read::<ApprovalFile>().expect("read").approvals().count(), 0);
    drop(directory);
}

#[test]
fn pins_keep_the_definition_of_each_project_apart() {
    let (directory, stores) = stores();
    let accept = |project, definition: &str| {
        stores.update(|file: &mut PinFile| file.accept(project, &tool(), definition)).expect("written");
    };
    accept(None, "{\"a\":1}");
    accept(Some("/p"), "{\"a\":2}");
    accept(None, "{\"a\":3}");
    let file: PinFile = stores.read().expect("read");
    let accepted = |project| -> Vec<(QualifiedName, String)> {
        let server = tool().server;
        let pins = file.of_server(project, &server);
        pins.map(|(tool, pin)| (tool, pin.definition.clone())).collect()
    };
    assert_eq!(accepted(None), [(tool(), "{\"a\":3}".to_owned())]);
    assert_eq!(accepted(Some("/p")), [(tool(), "{\"a\":2}".to_owned())]);
    assert_eq!(accepted(Some("/q")), []);
    let forgotten = stores.update(|file: &mut PinFile| file.forget(|pin| pin.project.is_none())).expect("written");
    assert_eq!(forgotten.len(), 1);
    drop(directory);
}

#[test]
fn writers_take_turns() {
    let (directory, stores) = stores();
    let stores = Arc::new(stores);
    let writers: Vec<_> = (0..8)
        .map(|number| {
            let stores = Arc::clone(&stores);
            std::thread::spawn(move || {
                for index in 0..10 {
                    let request = request("/p", "a", &format!("{number} {index}"));
                    stores.update(|file: &mut TrustFile| file.trust(&request, None)).expect("written");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().expect("no panic");
    }
    assert_eq!(stores.read::<TrustFile>().expect("read").trusted.len(), 80, "nobody's answer is lost");
    drop(directory);
}
