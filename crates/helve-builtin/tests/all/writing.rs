//! Writing: what is changed, what is left alone, and what is never overwritten.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use helve::Toolbox;
use insta::assert_snapshot;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{call, open, tree, without};

/// A directory `in` to write to, and one beside it that must stay as it is.
struct World {
    directory: TempDir,
    toolbox: Toolbox,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tree(&[("out/victim", "kept")]);
        for (path, content) in files {
            let path = directory.path().join("in").join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, content).unwrap();
        }
        let options: &[(&str, &[&str])] = &[("roots", &["in"]), ("writable", &["true"])];
        let toolbox = open("filesystem", options, directory.path());
        Self { directory, toolbox }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join("in").join(path)
    }

    /// A path that is not inside.
    fn out(&self, path: &str) -> String {
        self.directory.path().join("out").join(path).to_str().unwrap().to_owned()
    }

    fn link(&self, path: &str, target: &str) {
        fs_err::os::unix::fs::symlink(target, self.path(path)).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs_err::read_to_string(self.path(path)).unwrap()
    }

    async fn call(&self, tool: &str, arguments: serde_json::Value) -> String {
        without(&self.directory, &call(&self.toolbox, tool, &arguments.to_string()).await)
    }

    /// Every name inside, after a look outside.
    fn names(&self) -> Vec<String> {
        assert_eq!(fs_err::read_to_string(self.out("victim")).unwrap(), "kept");
        assert_eq!(below(&self.directory.path().join("out")), ["victim"]);
        assert_eq!(fs_err::read_dir(self.directory.path()).unwrap().count(), 2);
        below(&self.path(""))
    }
}

/// Every name below a directory: nothing may be left behind.
fn below(directory: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut ahead = vec![directory.to_path_buf()];
    while let Some(path) = ahead.pop() {
        for entry in fs_err::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            names.push(entry.path().strip_prefix(directory).unwrap().to_str().unwrap().to_owned());
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
    let world = World::new(&[("old.txt", "before"), ("sub/x", "")]);
    fs_err::set_permissions(world.path("old.txt"), std::fs::Permissions::from_mode(0o640)).unwrap();
    let write = |path, content| world.call("write_file", json!({ "path": path, "content": content }));
    assert_snapshot!(write("new.txt", "héllo\n").await, @"created `new.txt`, 7 bytes");
    assert_snapshot!(write("old.txt", "").await, @"replaced `old.txt`, 0 bytes");
    assert_snapshot!(write("sub/../sub/y", "y").await, @"created `sub/../sub/y`, 1 byte");
    assert_eq!((world.read("new.txt"), world.read("old.txt")), ("héllo\n".to_owned(), String::new()));
    assert_eq!(fs_err::metadata(world.path("old.txt")).unwrap().mode() & 0o777, 0o640, "permissions stay");
    assert_eq!(world.names(), ["new.txt", "old.txt", "sub", "sub/x", "sub/y"]);
}

#[tokio::test]
async fn what_is_not_written_to() {
    let world = World::new(&[("dir/x", ""), ("file", "kept")]);
    world.link("link", "file");
    world.link("away", &world.out("victim"));
    world.link("near", "../out/victim");
    world.link("dangling", "../out/new");
    world.link("directory", "../out");
    let mode = Mode::from_raw_mode(0o666);
    mknodat(CWD, world.path("pipe"), FileType::Fifo, mode, 0).unwrap();
    let outside = world.out("new");
    let mut told = String::new();
    for path in [
        "dir",
        ".",
        "..",
        "dir/..",
        "link",
        "away",
        "near",
        "dangling",
        "directory/new",
        "pipe",
        "missing/x",
        "file/x",
        "../out/new",
        &outside,
        "",
    ] {
        let answer = world.call("write_file", json!({ "path": path, "content": "written" })).await;
        told.push_str(&format!("{answer}\n"));
    }
    assert_snapshot!(told, @"
    failed: `dir` is a directory; list_directory shows what is in it
    failed: `.` does not end in a name
    failed: `..` does not end in a name
    failed: `dir/..` does not end in a name
    failed: `link` is a symbolic link; name the file it points to
    failed: `away` is a symbolic link; name the file it points to
    failed: `near` is a symbolic link; name the file it points to
    failed: `dangling` is a symbolic link; name the file it points to
    failed: `directory/new` leads outside the directories that may be used: [dir]/in
    failed: `pipe` is a named pipe, not a file
    failed: there is no `missing/x`
    failed: `file/x` is not a directory, or passes something that is not
    failed: `../out/new` leads outside the directories that may be used: [dir]/in
    failed: `[dir]/out/new` is outside the directories that may be used: [dir]/in
    failed: the path is empty; `.` is the directory itself
    ");
    assert_eq!(world.read("file"), "kept");
    assert_eq!(world.names(), ["away", "dangling", "dir", "dir/x", "directory", "file", "link", "near", "pipe"]);
}

#[tokio::test]
async fn a_protected_file_stays() {
    let world = World::new(&[("protected", "kept")]);
    let path = world.path("protected");
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    // The superuser writes everything, so this cannot be tested.
    if fs_err::OpenOptions::new().write(true).open(&path).is_ok() {
        return;
    }
    let answer = world.call("write_file", json!({ "path": "protected", "content": "x" })).await;
    assert_eq!(answer, "failed: no permission for `protected`");
    assert_eq!(world.read("protected"), "kept");
}

#[tokio::test]
async fn directories() {
    let world = World::new(&[("file", ""), ("real/.keep", "")]);
    world.link("away", &world.out(""));
    world.link("near", "real");
    let mut told = String::new();
    let deep = "d/".repeat(65);
    for path in ["a/b/c", "a/b/c", "a/../e", "file", "file/x", "away/x", "near/x", "../out/x", ".", deep.as_str()] {
        told.push_str(&format!("{}\n", world.call("create_directory", json!({ "path": path })).await));
    }
    assert_snapshot!(told, @"
    created `a/b/c`
    there is already a directory `a/b/c`
    created `a/../e`
    failed: `file` is not a directory, or passes something that is not
    failed: `file/x` is not a directory, or passes something that is not
    failed: `away/x` leads outside the directories that may be used: [dir]/in
    created `near/x`
    failed: `../out/x` leads outside the directories that may be used: [dir]/in
    there is already a directory `.`
    failed: `d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/` is deeper than 64 names
    ");
    let made = ["a", "a/b", "a/b/c", "away", "e", "file", "near", "real", "real/.keep", "real/x"];
    assert_eq!(world.names(), made);
}

#[tokio::test]
async fn moving() {
    let world = World::new(&[("a", "a"), ("b", "b"), ("dir/x", "x"), ("other/y", "y")]);
    world.link("away", &world.out("victim"));
    let outside = world.out("z");
    let mut told = String::new();
    for (source, destination) in [
        ("a", "b"),
        ("a", "c"),
        ("c", "dir/c"),
        ("dir", "other/dir"),
        ("other", "other/dir/inside"),
        ("missing", "z"),
        ("b", "missing/z"),
        ("b", "../out/z"),
        ("b", &outside),
        ("../out/victim", "z"),
        ("b", "away"),
        ("away", "moved-link"),
        (".", "z"),
        ("b", "."),
        ("b", "other/"),
    ] {
        let answer = world.call("move_file", json!({ "source": source, "destination": destination })).await;
        told.push_str(&format!("{answer}\n"));
    }
    assert_snapshot!(told, @"
    failed: there is already something at `b`
    moved `a` to `c`
    moved `c` to `dir/c`
    moved `dir` to `other/dir`
    failed: `other` cannot be moved into itself
    failed: there is no `missing`
    failed: there is no `missing/z`
    failed: `../out/z` leads outside the directories that may be used: [dir]/in
    failed: `[dir]/out/z` is outside the directories that may be used: [dir]/in
    failed: `../out/victim` leads outside the directories that may be used: [dir]/in
    failed: there is already something at `away`
    moved `away` to `moved-link`
    failed: `.` does not end in a name
    failed: `.` does not end in a name
    failed: there is already something at `other/`
    ");
    assert_eq!(world.names(), ["b", "moved-link", "other", "other/dir", "other/dir/c", "other/dir/x", "other/y"]);
    assert_eq!(world.read("b"), "b");
}

#[tokio::test]
async fn deleting() {
    let world = World::new(&[("a", ""), ("full/x", ""), ("target", "kept"), ("empty/.keep", "")]);
    fs_err::remove_file(world.path("empty/.keep")).unwrap();
    world.link("link", "target");
    world.link("away", "../out");
    let outside = world.out("victim");
    let mut told = String::new();
    for path in ["a", "a", "empty", "full", "link", "away/victim", ".", "..", "full/..", "../out/victim", &outside] {
        told.push_str(&format!("{}\n", world.call("delete_file", json!({ "path": path })).await));
    }
    assert_snapshot!(told, @"
    deleted `a`
    failed: there is no `a`
    deleted `empty`
    failed: the directory `full` is not empty
    deleted `link`
    failed: `away/victim` leads outside the directories that may be used: [dir]/in
    failed: `.` does not end in a name
    failed: `..` does not end in a name
    failed: `full/..` does not end in a name
    failed: `../out/victim` leads outside the directories that may be used: [dir]/in
    failed: `[dir]/out/victim` is outside the directories that may be used: [dir]/in
    ");
    assert_eq!(world.names(), ["away", "full", "full/x", "target"]);
}

/// A reader beside writers sees one content or the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_sees_half_a_file() {
    let one = "1".repeat(100_000);
    let two = "2".repeat(200_000);
    let world = World::new(&[("file", &one)]);
    let writer = async {
        for _ in 0..20 {
            world.call("write_file", json!({ "path": "file", "content": two })).await;
            world.call("write_file", json!({ "path": "file", "content": one })).await;
        }
    };
    let reader = async {
        for _ in 0..200 {
            let seen = world.call("read_file", json!({ "path": "file" })).await;
            assert!(seen == one || seen == two, "{} bytes", seen.len());
        }
    };
    tokio::join!(writer, reader);
    assert_eq!(world.names(), ["file"]);
}
