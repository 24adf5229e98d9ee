//! Tests of the verdict over made-up results.

use insta::assert_snapshot;

use super::*;

#[test]
fn a_required_scenario_needs_a_success_and_a_client_that_ends_well() {
    assert_eq!(verdict(&["SUCCESS", "SKIPPED", "INFO"], CLIENT_DONE, &[]), Verdict::Passed { checks: 1 });
    assert_snapshot!(told(&["SKIPPED"], CLIENT_DONE), @"not one check succeeded");
    assert_snapshot!(told(&["SUCCESS"], "halfway"), @"the client did not get to its end: last words");
    assert_snapshot!(told(&["SUCCESS", "WARNING"], CLIENT_DONE), @"check-1: it went wrong");
}

#[test]
fn an_expected_failure_must_still_fail() {
    assert_eq!(verdict(&["FAILURE"], "", &["tools_call"]), Verdict::FailedAsExpected);
    assert_eq!(verdict(&["SUCCESS"], "", &["tools_call"]), Verdict::Stale);
    assert!(!Verdict::Stale.is_good());
}

#[test]
fn what_a_revision_does_not_score_cannot_fail_unless_we_want_it() {
    let records = BTreeMap::from([
        ("auth/not-yet-scored".to_owned(), record(&["FAILURE"], "")),
        ("json-schema-2020-12-preservation".to_owned(), record(&["FAILURE"], CLIENT_DONE)),
    ]);
    let verdicts = judge(&Demands { leg: Leg::Client, scored: &[], expected: &[] }, &records);
    assert_eq!(verdicts["auth/not-yet-scored"], Verdict::NotScored);
    assert!(!verdicts["json-schema-2020-12-preservation"].is_good());
}

#[test]
fn a_scenario_that_never_ran_fails() {
    for leg in [Leg::Client, Leg::Server] {
        let demands = Demands { leg, scored: &["sse-retry".to_owned()], expected: &[] };
        assert!(!judge(&demands, &BTreeMap::new())["sse-retry"].is_good());
    }
}

#[test]
fn of_a_server_everything_is_demanded_but_what_the_suite_skips() {
    let records = BTreeMap::from([
        ("scored".to_owned(), record(&["SUCCESS", "INFO"], "")),
        ("scored-skipped".to_owned(), record(&["SKIPPED"], "")),
        ("tasks-lifecycle".to_owned(), record(&["SUCCESS", "WARNING"], "")),
        ("tasks-status-notifications".to_owned(), record(&["SKIPPED"], "")),
        ("skills".to_owned(), record(&["FAILURE"], "")),
        ("polling".to_owned(), record(&["SUCCESS"], "")),
    ]);
    let scored = ["scored".to_owned(), "scored-skipped".to_owned()];
    let expected = ["skills".to_owned(), "polling".to_owned()];
    let verdicts = judge(&Demands { leg: Leg::Server, scored: &scored, expected: &expected }, &records);
    let told: Vec<String> = verdicts.iter().map(|(name, verdict)| format!("{name}: {verdict:?}")).collect();
    assert_snapshot!(told.join("\n"), @r#"
    polling: Stale
    scored: Passed { checks: 1 }
    scored-skipped: Failed(["not one check succeeded"])
    skills: FailedAsExpected
    tasks-lifecycle: Failed(["check-1: it went wrong"])
    tasks-status-notifications: Skipped
    "#);
}

#[test]
fn lists_are_read_from_yaml() {
    let yaml = "# Comment\nserver:\n  - tools-list\nclient:\n  # Reason\n  - auth/one # why\n\n  - two:check\nnot_scored:\n  - scenario: three\n";
    assert_eq!(list(yaml, "client"), ["auth/one", "two:check"]);
}

#[test]
fn results_are_read_from_the_suite_s_directory() {
    let directory = tempfile::TempDir::new().unwrap();
    let folder = directory.path().join("auth/basic-cimd-2026-11-15T20-48-37-782Z");
    fs_err::create_dir_all(&folder).unwrap();
    fs_err::write(folder.join("checks.json"), r#"[{"id": "a", "status": "SUCCESS", "name": "A"}]"#).unwrap();
    fs_err::write(folder.join("stdout.txt"), "out").unwrap();
    fs_err::write(folder.join("stderr.txt"), "").unwrap();
    let records = read(Leg::Client, directory.path()).unwrap();
    assert_eq!(records.keys().collect::<Vec<_>>(), ["auth/basic-cimd"]);
    assert_eq!(records["auth/basic-cimd"].checks.len(), 1);

    let directory = tempfile::TempDir::new().unwrap();
    let folder = directory.path().join("server-tools-list-2026-11-15T20-48-37-782Z");
    fs_err::create_dir_all(&folder).unwrap();
    fs_err::write(folder.join("checks.json"), "[]").unwrap();
    let records = read(Leg::Server, directory.path()).unwrap();
    assert_eq!(records.keys().collect::<Vec<_>>(), ["tools-list"]);
}

fn told(statuses: &[&str], stdout: &str) -> String {
    match verdict(statuses, stdout, &[]) {
        Verdict::Failed(complaints) => complaints.join("\n"),
        other => format!("{other:?}"),
    }
}

fn verdict(statuses: &[&str], stdout: &str, expected: &[&str]) -> Verdict {
    let name = "tools_call".to_owned();
    let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
    let records = BTreeMap::from([(name.clone(), record(statuses, stdout))]);
    let demands = Demands { leg: Leg::Client, scored: std::slice::from_ref(&name), expected: &expected };
    judge(&demands, &records).remove(&name).unwrap()
}

fn record(statuses: &[&str], stdout: &str) -> Record {
    let checks = statuses.iter().enumerate().map(|(index, status)| Check {
        id: format!("check-{index}"),
        status: (*status).to_owned(),
        error: (*status != "SUCCESS").then(|| "it went wrong".to_owned()),
    });
    Record { checks: checks.collect(), stdout: format!("{stdout}\n"), stderr: "first\nlast words\n".to_owned() }
}
