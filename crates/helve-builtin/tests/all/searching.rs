//! Searching by name and by content, and where a search ends.

use insta::assert_snapshot;

use crate::support::{call, files, open, structured, told, tree, unchecked, without};

#[tokio::test]
async fn by_name() {
    let directory = tree(&[
        ("README.md", ""),
        ("src/main.rs", ""),
        ("src/deep/lib.rs", ""),
        ("src/deep/lib.txt", ""),
        ("target/out.rs", ""),
        (".git/hook.rs", ""),
        (".hidden/a.rs", ""),
    ]);
    let toolbox = files(&directory);
    let mut told = String::new();
    for arguments in [
        r#"{"pattern":"*.rs"}"#,
        r#"{"pattern":"*.rs","exclude":["target"]}"#,
        r#"{"pattern":"*.rs","exclude":[]}"#,
        r#"{"pattern":"src/*.rs"}"#,
        r#"{"pattern":"src/**/*.rs"}"#,
        r#"{"pattern":"/README*"}"#,
        r#"{"pattern":"./src/"}"#,
        r#"{"pattern":"deep"}"#,
        r#"{"pattern":"*.{md,txt}"}"#,
        r#"{"pattern":"*.rs","path":"src"}"#,
        r#"{"pattern":"deep/*","path":"src"}"#,
        r#"{"pattern":"*","path":"src/deep","exclude":["*.txt"]}"#,
        r#"{"pattern":"nothing"}"#,
        r#"{"pattern":"*.rs","max_results":2}"#,
        r#"{"pattern":"../*"}"#,
        r#"{"pattern":"[z"}"#,
        r#"{"pattern":"*","path":"README.md"}"#,
        r#"{"pattern":"*","path":".."}"#,
        r#"{}"#,
    ] {
        let answer = call(&toolbox, "search_files", arguments).await;
        told.push_str(&format!("{arguments}\n{answer}\n\n"));
    }
    assert_snapshot!(without(&directory, &told), @r#"
    {"pattern":"*.rs"}
    .hidden/a.rs
    src/deep/lib.rs
    src/main.rs
    target/out.rs

    {"pattern":"*.rs","exclude":["target"]}
    .git/hook.rs
    .hidden/a.rs
    src/deep/lib.rs
    src/main.rs

    {"pattern":"*.rs","exclude":[]}
    .git/hook.rs
    .hidden/a.rs
    src/deep/lib.rs
    src/main.rs
    target/out.rs

    {"pattern":"src/*.rs"}
    src/main.rs

    {"pattern":"src/**/*.rs"}
    src/deep/lib.rs
    src/main.rs

    {"pattern":"/README*"}
    README.md

    {"pattern":"./src/"}
    src/

    {"pattern":"deep"}
    src/deep/

    {"pattern":"*.{md,txt}"}
    README.md
    src/deep/lib.txt

    {"pattern":"*.rs","path":"src"}
    src/deep/lib.rs
    src/main.rs

    {"pattern":"deep/*","path":"src"}
    src/deep/lib.rs
    src/deep/lib.txt

    {"pattern":"*","path":"src/deep","exclude":["*.txt"]}
    src/deep/lib.rs

    {"pattern":"nothing"}
    [nothing found]

    {"pattern":"*.rs","max_results":2}
    .hidden/a.rs
    src/deep/lib.rs
    [there is more: narrow the search, or raise max_results]

    {"pattern":"../*"}
    [nothing found]

    {"pattern":"[z"}
    INVALID_PARAMS: `[z` is not a glob: unclosed character class; missing ']'

    {"pattern":"*","path":"README.md"}
    failed: `README.md` is not a directory, or passes something that is not

    {"pattern":"*","path":".."}
    failed: `..` leads outside the directories that may be used: [dir]

    {}
    INVALID_PARAMS: give `pattern`, `contains`, or both
    "#);
    let absolute = serde_json::json!({ "pattern": "main.rs", "path": directory.path().join("src") }).to_string();
    assert_eq!(without(&directory, &call(&toolbox, "search_files", &absolute).await), "[dir]/src/main.rs");
}

#[tokio::test]
async fn by_content() {
    let directory = tree(&[
        ("a.txt", "Needle\nhay\nneedle needle\n  a needle\r\n"),
        ("b.rs", "fn needle() {\n\tneedle\n}"),
        ("two-lines.txt", "one\ntwo\nthree"),
        ("umlaut.txt", "Äpfel und ÄPFEL"),
        ("long.txt", &format!("{}needle", "x".repeat(400))),
    ]);
    fs_err::write(directory.path().join("binary"), b"needle\0").unwrap();
    fs_err::write(directory.path().join("latin1"), b"caf\xe9 needle").unwrap();
    fs_err::os::unix::fs::symlink("a.txt", directory.path().join("link")).unwrap();
    let toolbox = files(&directory);
    let mut told = String::new();
    for arguments in [
        r#"{"contains":"needle"}"#,
        r#"{"contains":"needle","pattern":"*.rs"}"#,
        r#"{"contains":"NEEDLE","ignore_case":true,"pattern":"a.txt"}"#,
        r#"{"contains":"äpfel","ignore_case":true}"#,
        r#"{"contains":"two\nthree"}"#,
        r#"{"contains":"needle","max_results":3}"#,
        r#"{"contains":"needle","max_results":7}"#,
        r#"{"contains":".*"}"#,
    ] {
        let answer = call(&toolbox, "search_files", arguments).await;
        told.push_str(&format!("{arguments}\n{answer}\n\n"));
    }
    assert_snapshot!(told, @r#"
    {"contains":"needle"}
    a.txt:3: needle needle
    a.txt:4:   a needle
    b.rs:1: fn needle() {
    b.rs:2: 	needle
    latin1:1: caf� needle
    long.txt:1: …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxneedle

    {"contains":"needle","pattern":"*.rs"}
    b.rs:1: fn needle() {
    b.rs:2: 	needle

    {"contains":"NEEDLE","ignore_case":true,"pattern":"a.txt"}
    a.txt:1: Needle
    a.txt:3: needle needle
    a.txt:4:   a needle

    {"contains":"äpfel","ignore_case":true}
    umlaut.txt:1: Äpfel und ÄPFEL

    {"contains":"two\nthree"}
    two-lines.txt:2: two

    {"contains":"needle","max_results":3}
    a.txt:3: needle needle
    a.txt:4:   a needle
    b.rs:1: fn needle() {
    [there is more: narrow the search, or raise max_results]

    {"contains":"needle","max_results":7}
    a.txt:3: needle needle
    a.txt:4:   a needle
    b.rs:1: fn needle() {
    b.rs:2: 	needle
    latin1:1: caf� needle
    long.txt:1: …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxneedle

    {"contains":".*"}
    [nothing found]
    "#);
    assert_snapshot!(structured(&toolbox, "search_files", r#"{"contains":"three"}"#).await, @r#"{"matches":[{"path":"two-lines.txt","kind":"file","line":3,"text":"three"}],"truncated":false}"#);
}

#[tokio::test]
async fn files_too_large_are_counted() {
    let directory = tree(&[("large", &"needle\n".repeat(100)), ("small", "needle")]);
    let toolbox = open("filesystem", &[("max_file_bytes", &["100"])], directory.path());
    assert_snapshot!(call(&toolbox, "search_files", r#"{"contains":"needle"}"#).await, @"
    small:1: needle
    [not searched, too large: 1 file]
    ");
    assert_snapshot!(structured(&toolbox, "search_files", r#"{"contains":"needle"}"#).await, @r#"{"matches":[{"path":"small","kind":"file","line":1,"text":"needle"}],"truncated":false,"too_large":1}"#);
}

/// Files without a single byte on the disk, and more to read than a search does.
#[tokio::test]
async fn searches_end_after_so_many_bytes() {
    let directory = tree(&[("a", "needle"), ("z", "needle")]);
    for number in 0..26 {
        fs_err::File::create(directory.path().join(format!("b{number}"))).unwrap().set_len(10 << 20).unwrap();
    }
    let toolbox = files(&directory);
    assert_snapshot!(call(&toolbox, "search_files", r#"{"contains":"needle"}"#).await, @"
    a:1: needle
    [the search was too large and ended early: start it further down, or exclude more]
    ");
}

#[tokio::test]
async fn deep_trees_end() {
    let directory = tree(&[]);
    let mut path = directory.path().to_path_buf();
    for _ in 0..100 {
        path.push("d");
        fs_err::create_dir(&path).unwrap();
        fs_err::write(path.join("f"), "").unwrap();
    }
    let toolbox = files(&directory);
    let found: serde_json::Value =
        serde_json::from_str(&structured(&toolbox, "search_files", r#"{"pattern":"f","max_results":1000}"#).await)
            .unwrap();
    assert_eq!(found["matches"].as_array().unwrap().len(), 63);
    assert_eq!((&found["truncated"], &found["stopped_by"]), (&true.into(), &"depth".into()));
    let text = call(&toolbox, "search_files", r#"{"pattern":"nothing"}"#).await;
    assert_snapshot!(text, @"
    [nothing found]
    [directories too deep were left out: start the search further down]
    ");
}

/// A tree that contains itself by a link is walked once.
#[tokio::test]
async fn links_are_not_followed() {
    let directory = tree(&[("a/file", "needle")]);
    fs_err::os::unix::fs::symlink("..", directory.path().join("a/up")).unwrap();
    fs_err::os::unix::fs::symlink("/etc", directory.path().join("a/etc")).unwrap();
    let toolbox = files(&directory);
    assert_snapshot!(call(&toolbox, "search_files", r#"{"pattern":"**"}"#).await, @"
    a/
    a/etc
    a/file
    a/up
    ");
    assert_snapshot!(call(&toolbox, "search_files", r#"{"contains":"needle"}"#).await, @"a/file:1: needle");
}

#[tokio::test]
async fn arguments_that_make_no_sense() {
    let directory = tree(&[]);
    let toolbox = files(&directory);
    for arguments in
        [r#"{"contains":""}"#, r#"{"pattern":"*","max_results":0}"#, r#"{"pattern":"*","max_results":1001}"#]
    {
        let answer = told(unchecked(&toolbox, "search_files", arguments).await);
        assert!(answer.starts_with("INVALID_PARAMS: "), "{answer}");
    }
}
