//! Editing: exact replacements, all or none, and what is shown of them.

use insta::assert_snapshot;

use crate::support::{call, open, told, tree, unchecked, writable};

#[tokio::test]
async fn replacements() {
    let directory = tree(&[("a.rs", "fn one() {\n    body();\n}\n\nfn two() {\n    body();\n}\n")]);
    let toolbox = writable(&directory);
    let read = || fs_err::read_to_string(directory.path().join("a.rs")).unwrap();
    let before = read();
    let one = r#"{"path":"a.rs","edits":[{"old_text":"fn one() {\n    body();","new_text":"fn first() {\n    body();\n    more();"}]}"#;
    let dry = one.replace(r#""path""#, r#""dry_run":true,"path""#);
    assert_snapshot!(call(&toolbox, "edit_file", &dry).await, @"
    would make 1 replacement in `a.rs`
    @@ line 1 @@
    -fn one() {
    -    body();
    +fn first() {
    +    body();
    +    more();
    ");
    assert_eq!(read(), before);
    assert_snapshot!(call(&toolbox, "edit_file", one).await, @"
    made 1 replacement in `a.rs`
    @@ line 1 @@
    -fn one() {
    -    body();
    +fn first() {
    +    body();
    +    more();
    ");
    assert_snapshot!(read(), @"
    fn first() {
        body();
        more();
    }

    fn two() {
        body();
    }
    ");

    let several = r#"{"path":"a.rs","edits":[
        {"old_text":"body()","new_text":"work()","replace_all":true},
        {"old_text":"fn two() {\n    work();\n}\n","new_text":""},
        {"old_text":"}","new_text":"} // end"}]}"#;
    assert_snapshot!(call(&toolbox, "edit_file", several).await, @"
    made 4 replacements in `a.rs`
    @@ line 2 @@
    -    body();
    +    work();
    @@ line 7 @@
    -    body();
    +    work();
    @@ line 6 @@
    -fn two() {
    -    work();
    -}
    @@ line 4 @@
    -}
    +} // end
    ");
    assert_snapshot!(read(), @"
    fn first() {
        work();
        more();
    } // end
    ");
}

#[tokio::test]
async fn edits_that_do_not_fit_change_nothing() {
    let directory = tree(&[("a.txt", "x\nx\nx\nx\nx\nx\ny\n"), ("large", &"a".repeat(90))]);
    fs_err::write(directory.path().join("latin1"), b"caf\xe9").unwrap();
    fs_err::os::unix::fs::symlink("a.txt", directory.path().join("link")).unwrap();
    let toolbox = open("filesystem", &[("writable", &["true"]), ("max_file_bytes", &["100"])], directory.path());
    let mut told = String::new();
    for arguments in [
        r#"{"path":"a.txt","edits":[{"old_text":"z","new_text":""}]}"#,
        r#"{"path":"a.txt","edits":[{"old_text":"y","new_text":"z"},{"old_text":"y","new_text":"z"}]}"#,
        r#"{"path":"a.txt","edits":[{"old_text":"x","new_text":"z"}]}"#,
        r#"{"path":"a.txt","edits":[{"old_text":"y","new_text":"y"}]}"#,
        r#"{"path":"large","edits":[{"old_text":"a","new_text":"bb","replace_all":true}]}"#,
        r#"{"path":"latin1","edits":[{"old_text":"c","new_text":"b"}]}"#,
        r#"{"path":"link","edits":[{"old_text":"y","new_text":"z"}]}"#,
        r#"{"path":"missing","edits":[{"old_text":"y","new_text":"z"}]}"#,
        r#"{"path":"../a","edits":[{"old_text":"y","new_text":"z"}]}"#,
    ] {
        told.push_str(&format!(
            "{}\n",
            crate::support::without(&directory, &call(&toolbox, "edit_file", arguments).await)
        ));
    }
    assert_snapshot!(told, @"
    failed: edit 1: `a.txt` does not contain this text; spaces and line breaks count. Nothing was changed
    failed: edit 2: `a.txt` does not contain this text; spaces and line breaks count. Nothing was changed
    failed: edit 1: `a.txt` contains this text 6 times (lines 1, 2, 3, 4, 5, …): take in more of the lines around it, or set replace_all. Nothing was changed
    INVALID_PARAMS: edit 1 changes nothing
    failed: `large` would grow above 100 bytes (max_file_bytes)
    failed: `latin1` is not UTF-8 text; it cannot be edited
    failed: `link` is a symbolic link; name the file it points to
    failed: there is no `missing`
    failed: `../a` leads outside the directories that may be used: [dir]
    ");
    assert_eq!(fs_err::read_to_string(directory.path().join("a.txt")).unwrap(), "x\nx\nx\nx\nx\nx\ny\n");
}

#[tokio::test]
async fn arguments_that_make_no_sense() {
    let directory = tree(&[("a", "x")]);
    let toolbox = writable(&directory);
    for arguments in [r#"{"path":"a","edits":[]}"#, r#"{"path":"a","edits":[{"old_text":"","new_text":"x"}]}"#] {
        let answer = told(unchecked(&toolbox, "edit_file", arguments).await);
        assert!(answer.starts_with("INVALID_PARAMS: "), "{answer}");
    }
}

#[tokio::test]
async fn long_changes_are_cut() {
    let lines: String = (0..200).map(|number| format!("line {number}\n")).collect();
    let directory = tree(&[("a", &lines)]);
    let toolbox = writable(&directory);
    let all = r#"{"path":"a","edits":[{"old_text":"line","new_text":"row","replace_all":true}]}"#;
    let shown = call(&toolbox, "edit_file", all).await;
    assert_snapshot!(shown.lines().next().unwrap(), @"made 200 replacements in `a`");
    assert_snapshot!(shown.lines().last().unwrap(), @"[150 more places]");
    let rows: String = (0..60).map(|number| format!("row {number}\n")).collect();
    let arguments =
        serde_json::json!({ "path": "a", "edits": [{ "old_text": rows, "new_text": "gone\n" }] }).to_string();
    let shown = call(&toolbox, "edit_file", &arguments).await;
    assert_snapshot!(shown.lines().skip(38).collect::<Vec<_>>().join("\n"), @"
    -row 36
    -row 37
    -row 38
    -row 39
    -[21 more lines]
    +gone
    +row 60
    ");
}

/// Two edits at once: both count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_edit_is_lost() {
    let names: Vec<String> = (0..32).map(|number| format!("<{number}>")).collect();
    let directory = tree(&[("a", &names.concat())]);
    let toolbox = writable(&directory);
    let edits = names
        .iter()
        .map(|name| serde_json::json!({ "path": "a", "edits": [{ "old_text": name, "new_text": "+" }] }).to_string());
    let edits: Vec<String> = edits.collect();
    let calls = edits.iter().map(|arguments| call(&toolbox, "edit_file", arguments));
    for answer in futures_util::future::join_all(calls).await {
        assert!(answer.starts_with("made 1 replacement"), "{answer}");
    }
    assert_eq!(fs_err::read_to_string(directory.path().join("a")).unwrap(), "+".repeat(32));
}
