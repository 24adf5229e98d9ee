//! Writing: what is changed, what is left alone, and what is never overwritten.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::support::{call, tree, without, writable};

fn read(directory: &TempDir, path: &str) -> String {
    fs_err::read_to_string(directory.path().join(path)).unwrap()
}

/// Every name below a directory: nothing may be left behind.
fn names(directory: &TempDir) -> Vec<String> {
    let mut names = Vec::new();
    let mut ahead = vec![directory.path().to_path_buf()];
    while let Some(path) = ahead.pop() {
        for entry in fs_err::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            names.push(entry.path().strip_prefix(directory.path()).unwrap().to_str().unwrap().to_owned());
            if entry.file_type().unwrap().is_dir() {
                ahead.push(entry.path());
            }
        }
    }
    names.sort();
    names
}

#[tokio::test]
async fn files() {
    let directory = tree(&[("old.txt", "before"), ("sub/x", "")]);
    let old = directory.path().join("old.txt");
    fs_err::set_permissions(&old, std::fs::Permissions::from_mode(0o640)).unwrap();
    let toolbox = writable(&directory);
    assert_snapshot!(call(&toolbox, "write_file", r#"{"path":"new.txt","content":"héllo\n"}"#).await, @"created `new.txt`, 7 bytes");
    assert_snapshot!(call(&toolbox, "write_file", r#"{"path":"old.txt","content":""}"#).await, @"replaced `old.txt`, 0 bytes");
    assert_snapshot!(call(&toolbox, "write_file", r#"{"path":"sub/../sub/y","content":"y"}"#).await, @"created `sub/../sub/y`, 1 byte");
    assert_eq!((read(&directory, "new.txt"), read(&directory, "old.txt")), ("héllo\n".to_owned(), String::new()));
    assert_eq!(fs_err::metadata(&old).unwrap().mode() & 0o777, 0o640, "permissions stay");
    assert_eq!(names(&directory), ["new.txt", "old.txt", "sub", "sub/x", "sub/y"]);
}

#[tokio::test]
async fn what_is_not_written_to() {
    let directory = tree(&[("dir/x", ""), ("file", "kept")]);
    fs_err::os::unix::fs::symlink("file", directory.path().join("link")).unwrap();
    fs_err::os::unix::fs::symlink("/etc/passwd", directory.path().join("away")).unwrap();
    fs_err::os::unix::fs::symlink("not-yet", directory.path().join("dangling")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        directory.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o666),
        0,
    )
    .unwrap();
    let toolbox = writable(&directory);
    let mut told = String::new();
    for path in
        ["dir", ".", "..", "dir/..", "link", "away", "dangling", "pipe", "missing/x", "file/x", "../x", "/x", ""]
    {
        let arguments = serde_json::json!({ "path": path, "content": "written" }).to_string();
        told.push_str(&call(&toolbox, "write_file", &arguments).await);
        told.push('\n');
    }
    assert_snapshot!(without(&directory, &told), @"
    failed: `dir` is a directory; list_directory shows what is in it
    failed: `.` does not end in a name
    failed: `..` does not end in a name
    failed: `dir/..` does not end in a name
    failed: `link` is a symbolic link; name the file it points to
    failed: `away` is a symbolic link; name the file it points to
    failed: `dangling` is a symbolic link; name the file it points to
    failed: `pipe` is a named pipe, not a file
    failed: there is no `missing/x`
    failed: `file/x` is not a directory, or passes something that is not
    failed: `../x` leads outside the directories that may be used: [dir]
    failed: `/x` is outside the directories that may be used: [dir]
    failed: the path is empty; `.` is the directory itself
    ");
    assert_eq!(read(&directory, "file"), "kept");
    assert_eq!(names(&directory), ["away", "dangling", "dir", "dir/x", "file", "link", "pipe"]);
}

#[tokio::test]
async fn a_protected_file_stays() {
    let directory = tree(&[("protected", "kept")]);
    let path = directory.path().join("protected");
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    // Who may write everything cannot be tested.
    if fs_err::OpenOptions::new().write(true).open(&path).is_ok() {
        return;
    }
    let answer = call(&writable(&directory), "write_file", r#"{"path":"protected","content":"x"}"#).await;
    assert_eq!(answer, "failed: no permission for `protected`");
    assert_eq!(read(&directory, "protected"), "kept");
}

#[tokio::test]
async fn directories() {
    let directory = tree(&[("file", "")]);
    fs_err::os::unix::fs::symlink("/", directory.path().join("away")).unwrap();
    fs_err::create_dir(directory.path().join("real")).unwrap();
    fs_err::os::unix::fs::symlink("real", directory.path().join("near")).unwrap();
    let toolbox = writable(&directory);
    let mut told = String::new();
    let deep = "d/".repeat(65);
    for path in ["a/b/c", "a/b/c", "a/../e", "file", "file/x", "away/x", "near/x", "../x", ".", deep.as_str()] {
        let arguments = serde_json::json!({ "path": path }).to_string();
        told.push_str(&call(&toolbox, "create_directory", &arguments).await);
        told.push('\n');
    }
    assert_snapshot!(without(&directory, &told), @"
    created `a/b/c`
    there is already a directory `a/b/c`
    created `a/../e`
    failed: `file` is not a directory, or passes something that is not
    failed: `file/x` is not a directory, or passes something that is not
    failed: `away/x` leads outside the directories that may be used: [dir]
    created `near/x`
    failed: `../x` leads outside the directories that may be used: [dir]
    there is already a directory `.`
    failed: `d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/` is deeper than 64 names
    ");
    assert_eq!(names(&directory), ["a", "a/b", "a/b/c", "away", "e", "file", "near", "real", "real/x"]);
}

#[tokio::test]
async fn moving() {
    let directory = tree(&[("a", "a"), ("b", "b"), ("dir/x", "x"), ("other/y", "y")]);
    fs_err::os::unix::fs::symlink("/etc/passwd", directory.path().join("away")).unwrap();
    let toolbox = writable(&directory);
    let mut told = String::new();
    for (source, destination) in [
        ("a", "b"),
        ("a", "c"),
        ("c", "dir/c"),
        ("dir", "other/dir"),
        ("other", "other/dir/inside"),
        ("missing", "z"),
        ("b", "missing/z"),
        ("b", "../z"),
        ("b", "/z"),
        ("../b", "z"),
        ("b", "away"),
        ("away", "moved-link"),
        (".", "z"),
        ("b", "."),
        ("b", "other/"),
    ] {
        let arguments = serde_json::json!({ "source": source, "destination": destination }).to_string();
        told.push_str(&format!("{}\n", call(&toolbox, "move_file", &arguments).await));
    }
    assert_snapshot!(without(&directory, &told), @"
    failed: there is already something at `b`
    moved `a` to `c`
    moved `c` to `dir/c`
    moved `dir` to `other/dir`
    failed: `other` cannot be moved into itself
    failed: there is no `missing`
    failed: there is no `missing/z`
    failed: `../z` leads outside the directories that may be used: [dir]
    failed: `/z` is outside the directories that may be used: [dir]
    failed: `../b` leads outside the directories that may be used: [dir]
    failed: there is already something at `away`
    moved `away` to `moved-link`
    failed: `.` does not end in a name
    failed: `.` does not end in a name
    failed: there is already something at `other/`
    ");
    assert_eq!(names(&directory), ["b", "moved-link", "other", "other/dir", "other/dir/c", "other/dir/x", "other/y"]);
    assert_eq!(read(&directory, "b"), "b");
}

#[tokio::test]
async fn deleting() {
    let directory = tree(&[("a", ""), ("full/x", ""), ("target", "kept")]);
    fs_err::create_dir(directory.path().join("empty")).unwrap();
    fs_err::os::unix::fs::symlink("target", directory.path().join("link")).unwrap();
    let toolbox = writable(&directory);
    let mut told = String::new();
    for path in ["a", "a", "empty", "full", "link", ".", "..", "full/..", "/etc/passwd"] {
        let arguments = serde_json::json!({ "path": path }).to_string();
        told.push_str(&format!("{}\n", call(&toolbox, "delete_file", &arguments).await));
    }
    assert_snapshot!(without(&directory, &told), @"
    deleted `a`
    failed: there is no `a`
    deleted `empty`
    failed: the directory `full` is not empty
    deleted `link`
    failed: `.` does not end in a name
    failed: `..` does not end in a name
    failed: `full/..` does not end in a name
    failed: `/etc/passwd` is outside the directories that may be used: [dir]
    ");
    assert_eq!(names(&directory), ["full", "full/x", "target"]);
}

/// Who reads while others write sees one content or the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_sees_half_a_file() {
    let one = "1".repeat(100_000);
    let two = "2".repeat(200_000);
    let directory = tree(&[("file", &one)]);
    let toolbox = writable(&directory);
    let write = |content: &str| serde_json::json!({ "path": "file", "content": content }).to_string();
    let (first, second) = (write(&one), write(&two));
    let writer = async {
        for _ in 0..50 {
            call(&toolbox, "write_file", &second).await;
            call(&toolbox, "write_file", &first).await;
        }
    };
    let reader = async {
        for _ in 0..200 {
            let seen = call(&toolbox, "read_file", r#"{"path":"file"}"#).await;
            assert!(seen == one || seen == two, "{} bytes", seen.len());
        }
    };
    tokio::join!(writer, reader);
    assert_eq!(names(&directory), ["file"]);
}
