//! No byte from outside: trees of links and paths made up at random, names that change while they are used, limits.
//!
//! Everything is tried with both resolvers, which must agree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use fs_err::os::unix::fs::symlink;
use helve::ToolFailure;
use helve_model::ErrorCode;
use helve_model::json::RawJson;
use proptest::prelude::*;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::answer::Trouble;
use crate::tool::Cancelled;

/// What every file outside says.
const SECRET: &str = "the secret from outside";

/// A name that is outside and in no link.
const UNNAMED: &str = "never-named";

/// How deep the root is: so many `..` that no path made up here climbs out of the temporary directory, should the
/// code under test let it.
const DEPTH: usize = 100;

/// A root with something outside of it, beside it and above it.
struct World {
    _temporary: TempDir,
    base: PathBuf,
}

impl World {
    fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let base = temporary.path().join("n/".repeat(DEPTH));
        for path in ["outside/secret", "outside/never-named", "outside/a/secret", "root-too/secret", "secret"] {
            let path = base.join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, SECRET).unwrap();
        }
        fs_err::create_dir(base.join("root")).unwrap();
        Self { _temporary: temporary, base }
    }

    fn root(&self) -> PathBuf {
        self.base.join("root")
    }

    /// The same files twice: by the kernel, and by walking.
    fn files(&self) -> [Files; 2] {
        [false, true].map(|walk| {
            let mut roots = Roots::open(&[self.root()]).unwrap();
            if walk {
                roots.walk_always();
            }
            Files {
                roots: Arc::new(roots),
                max_file_bytes: MAX_FILE_BYTES,
                changing: Arc::default(),
                decided: Vec::new(),
            }
        })
    }

    /// Everything that is not below the root.
    fn outside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = content_of(&self.base);
        found.retain(|path, _| !path.starts_with(self.root()));
        found
    }
}

/// Every path below a directory with its content; links are not followed.
fn content_of(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut ahead = vec![directory.to_path_buf()];
    while let Some(path) = ahead.pop() {
        for entry in fs_err::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            let content = if kind.is_file() { fs_err::read(entry.path()).unwrap() } else { Vec::new() };
            if kind.is_dir() {
                ahead.push(entry.path());
            }
            found.insert(entry.path(), content);
        }
    }
    found
}

/// What a tool gave, whatever it is, as one text.
fn told(run: Run<Files>, files: &Files, arguments: &serde_json::Value) -> (bool, String) {
    let raw = RawJson::checked(arguments.to_string()).unwrap();
    match run(files, &raw, &Cancelled::default()) {
        Ok(outcome) => (true, outcome.raw().as_str().to_owned()),
        Err(Trouble::Failed(reason)) => (false, reason),
        Err(Trouble::NotRun(failure)) => (false, failure.to_string()),
    }
}

/// Something to put below the root.
#[derive(Debug, Clone)]
enum Thing {
    Directory(String),
    File(String),
    Link(String, String),
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c", "d"])
}

fn below() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..=3).prop_map(|names| names.join("/"))
}

/// Where paths start that are only read.
const STARTS: &[&str] = &[
    "",
    "",
    "",
    "",
    "",
    "BASE/root/",
    "BASE/root/../",
    "BASE/root-too/",
    "BASE/outside/",
    "BASE/",
    "./",
    "/",
    "//",
    "/proc/self/cwd/",
    "/proc/self/root/BASE/outside/",
];

/// How many of them may be written to as well: should the code under test let it, only this test is the worse for it.
const HARMLESS_STARTS: usize = 11;

/// A path as somebody hostile writes it; `BASE` is the directory around the root.
fn hostile_path(starts: &'static [&'static str]) -> impl Strategy<Value = String> {
    let part =
        prop::sample::select(vec!["a", "b", "c", "d", "a", "b", "..", "..", ".", "", "secret", "outside", "root"]);
    let start = prop::sample::select(starts);
    (start, prop::collection::vec(part, 0..=6))
        .prop_map(|(start, parts)| format!("{start}{}", parts.join("/").trim_start_matches('/')))
}

fn thing(starts: &'static [&'static str]) -> impl Strategy<Value = Thing> {
    prop_oneof![
        1 => below().prop_map(Thing::Directory),
        1 => below().prop_map(Thing::File),
        4 => (below(), hostile_path(starts)).prop_map(|(at, target)| Thing::Link(at, target)),
    ]
}

fn put(world: &World, thing: &Thing) {
    let make_parent = |path: &Path| {
        // A parent that is a link out would put it outside: only real directories take things.
        let parent = path.parent().unwrap();
        let mut made = world.root();
        for part in parent.strip_prefix(world.root()).unwrap().components() {
            made.push(part);
            if fs_err::symlink_metadata(&made).is_err() {
                fs_err::create_dir(&made).unwrap();
            }
            if !fs_err::symlink_metadata(&made).unwrap().is_dir() {
                return false;
            }
        }
        fs_err::symlink_metadata(path).is_err()
    };
    let at = |path: &String| world.root().join(path);
    match thing {
        Thing::Directory(path) if make_parent(&at(path)) => fs_err::create_dir(at(path)).unwrap(),
        Thing::File(path) if make_parent(&at(path)) => fs_err::write(at(path), "inside").unwrap(),
        Thing::Link(path, target) if !target.is_empty() && make_parent(&at(path)) => {
            symlink(target.replace("BASE", world.base.to_str().unwrap()), at(path)).unwrap();
        }
        Thing::Directory(_) | Thing::File(_) | Thing::Link(..) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_outside_is_read(
        things in prop::collection::vec(thing(STARTS), 0..12),
        paths in prop::collection::vec(hostile_path(STARTS), 1..10),
    ) {
        let world = World::new();
        things.iter().for_each(|thing| put(&world, thing));
        let files = world.files();
        for path in paths.iter().map(|path| path.replace("BASE", world.base.to_str().unwrap())) {
            for (run, arguments) in [
                (read::read_file as Run<Files>, json!({ "path": path })),
                (read::read_file, json!({ "path": path, "head": 5 })),
                (read::read_file, json!({ "path": path, "tail": 5 })),
                (read::read_many, json!({ "paths": [path, "a"] })),
                (list::list_directory, json!({ "path": path })),
                (search::search_files, json!({ "path": path, "contains": "e" })),
                (search::search_files, json!({ "path": path, "pattern": "**" })),
                (info::file_info, json!({ "path": path })),
            ] {
                let [kernel, walk] = [&files[0], &files[1]].map(|files| told(run, files, &arguments));
                for (_, text) in [&kernel, &walk] {
                    prop_assert!(!text.contains(SECRET) && !text.contains(UNNAMED), "{arguments}: {text}");
                }
                prop_assert_eq!(kernel.0, walk.0, "{}: {} / {}", arguments, kernel.1, walk.1);
                if kernel.0 {
                    prop_assert_eq!(kernel.1, walk.1);
                }
            }
        }
    }

    #[test]
    fn nothing_outside_is_changed(
        things in prop::collection::vec(thing(&STARTS[..HARMLESS_STARTS]), 0..12),
        paths in prop::collection::vec(hostile_path(&STARTS[..HARMLESS_STARTS]), 2..6),
        walking in any::<bool>(),
    ) {
        let world = World::new();
        things.iter().for_each(|thing| put(&world, thing));
        let before = world.outside();
        let files = &world.files()[usize::from(walking)];
        let paths: Vec<String> =
            paths.iter().map(|path| path.replace("BASE", world.base.to_str().unwrap())).collect();
        for pair in paths.windows(2) {
            let (path, other) = (&pair[0], &pair[1]);
            for (run, arguments) in [
                (write::write_file as Run<Files>, json!({ "path": path, "content": "written" })),
                (edit::edit_file, json!({ "path": path, "edits": [{ "old_text": "e", "new_text": "x", "replace_all": true }] })),
                (write::create_directory, json!({ "path": path })),
                (write::move_file, json!({ "source": path, "destination": other })),
                (write::delete_file, json!({ "path": path })),
            ] {
                let (_, text) = told(run, files, &arguments);
                prop_assert!(!text.contains(SECRET) && !text.contains(UNNAMED), "{arguments}: {text}");
            }
        }
        prop_assert_eq!(world.outside(), before);
        for (path, content) in content_of(&world.root()) {
            prop_assert!(!String::from_utf8_lossy(&content).contains(SECRET), "{}", path.display());
            prop_assert!(!path.to_string_lossy().contains(".tmp."), "{} was left behind", path.display());
        }
    }
}

/// How a link leaves the root for the directory `outside`, from so many directories below it..
fn way_out(depth: usize) -> impl Strategy<Value = String> {
    let climb = "../".repeat(depth + 1);
    prop::sample::select(vec![
        format!("{climb}outside"),
        format!("./{climb}root/../outside/."),
        format!("{climb}root-too/../outside"),
        "BASE/outside".to_owned(),
        "BASE/root/../outside/a/..".to_owned(),
        "/proc/self/root/BASE/outside".to_owned(),
    ])
}

/// Directories below the root, a link in the last of them that leads out, and so many links on the way to it.
fn escape() -> impl Strategy<Value = (Vec<&'static str>, String, usize)> {
    prop::collection::vec(name(), 0..3)
        .prop_flat_map(|directories| (Just(directories.clone()), way_out(directories.len()), 0..4_usize))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Each path here does lead outside for whoever just opens it, and gives nothing of it to a tool.
    #[test]
    fn what_really_leads_outside_gives_nothing(
        (directories, target, hops) in escape(),
        wanted in prop::sample::select(vec!["secret", "a/secret", "a/../secret"]),
    ) {
        let world = World::new();
        let (root, base) = (world.root(), world.base.to_str().unwrap());
        let inside = directories.join("/");
        fs_err::create_dir_all(root.join(&inside)).unwrap();
        let mut entrance = Path::new(&inside).join("out");
        symlink(target.replace("BASE", base).replace("//", "/"), root.join(&entrance)).unwrap();
        for hop in 0..hops {
            let next = PathBuf::from(format!("hop-{hop}"));
            symlink(&entrance, root.join(&next)).unwrap();
            entrance = next;
        }
        let (entrance, file) = (entrance.to_str().unwrap(), entrance.join(wanted));
        let file = file.to_str().unwrap();
        prop_assert_eq!(fs_err::read_to_string(root.join(file)).unwrap(), SECRET, "{} leads nowhere", file);

        let before = world.outside();
        for files in world.files() {
            for (run, arguments) in [
                (read::read_file as Run<Files>, json!({ "path": file })),
                (read::read_file, json!({ "path": root.join(file) })),
                (read::read_many, json!({ "paths": [file, file] })),
                (list::list_directory, json!({ "path": entrance })),
                (list::list_directory, json!({ "path": format!("{entrance}/a/..") })),
                (search::search_files, json!({ "path": entrance, "pattern": "**" })),
                (search::search_files, json!({ "contains": "secret from" })),
                (info::file_info, json!({ "path": file })),
                (write::write_file, json!({ "path": file, "content": "written" })),
                (edit::edit_file, json!({ "path": file, "edits": [{ "old_text": "secret", "new_text": "x" }] })),
                (write::move_file, json!({ "source": file, "destination": "taken" })),
                (write::create_directory, json!({ "path": format!("{entrance}/new") })),
                (write::delete_file, json!({ "path": file })),
            ] {
                let (is_answer, text) = told(run, &files, &arguments);
                // The caller's own path may come back in an error; what stands behind it may not.
                prop_assert!(!text.contains(SECRET) && !text.contains(UNNAMED), "{arguments}: {text}");
                let names_the_way = arguments.get("path").is_some() || arguments.get("source").is_some();
                prop_assert!(!is_answer || !names_the_way, "{arguments} was answered: {text}");
            }
            prop_assert_eq!(&world.outside(), &before);
            prop_assert!(!root.join("taken").exists());
        }
    }
}

/// A directory that is moved out of the root, and back, all the time: its `..` is outside then.
#[test]
fn a_directory_moved_away_between_two_names() {
    let world = World::new();
    let (root, away) = (world.root(), world.base.join("outside/d"));
    fs_err::create_dir_all(root.join("d/e")).unwrap();
    fs_err::write(root.join("secret"), "inside").unwrap();
    for files in world.files() {
        let stop = AtomicBool::new(false);
        let (mut answered, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    fs_err::rename(root.join("d"), &away).unwrap();
                    fs_err::rename(&away, root.join("d")).unwrap();
                }
            });
            for round in 0..200_000 {
                let arguments = [
                    (read::read_file as Run<Files>, json!({ "path": "d/../secret" })),
                    (read::read_file, json!({ "path": "d/e/../../secret" })),
                    (list::list_directory, json!({ "path": "d/e/../.." })),
                    (info::file_info, json!({ "path": "d/../secret" })),
                    (write::write_file, json!({ "path": "d/../new", "content": "x" })),
                ];
                let (run, arguments) = &arguments[round % arguments.len()];
                let (is_answer, text) = told(*run, &files, arguments);
                assert!(!text.contains(SECRET) && !text.contains(UNNAMED), "{arguments}: {text}");
                *if is_answer { &mut answered } else { &mut refused } += 1;
                if answered > 1_000 && refused > 1_000 {
                    break;
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert!(answered > 100 && refused > 100, "{answered} answered, {refused} refused");
        assert!(!world.base.join("outside/new").exists(), "written outside");
        drop(fs_err::remove_file(root.join("new")));
    }
}

/// A directory that turns into a link outside, and back, all the time.
#[test]
fn a_link_made_between_check_and_use() {
    let world = World::new();
    let root = world.root();
    fs_err::create_dir(root.join("d")).unwrap();
    fs_err::write(root.join("d/secret"), "inside").unwrap();
    symlink(world.base.join("outside"), root.join("link")).unwrap();
    let before = world.outside();
    for files in world.files() {
        let stop = AtomicBool::new(false);
        let (mut answered, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    renameat_with(CWD, root.join("d"), CWD, root.join("link"), RenameFlags::EXCHANGE).unwrap();
                }
            });
            // Until both have been seen often: the race was on.
            for round in 0..200_000 {
                let arguments = [
                    (read::read_file as Run<Files>, json!({ "path": "d/secret" })),
                    (list::list_directory, json!({ "path": "d" })),
                    (search::search_files, json!({ "contains": "secret from" })),
                    (info::file_info, json!({ "path": "d/secret" })),
                    (write::write_file, json!({ "path": "d/new", "content": "x" })),
                    (write::create_directory, json!({ "path": "d/sub/sub" })),
                    (write::delete_file, json!({ "path": "d/new" })),
                ];
                let (run, arguments) = &arguments[round % arguments.len()];
                let (is_answer, text) = told(*run, &files, arguments);
                assert!(!text.contains(SECRET) && !text.contains(UNNAMED), "{arguments}: {text}");
                *if is_answer { &mut answered } else { &mut refused } += 1;
                if answered > 2_000 && refused > 2_000 {
                    break;
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert!(answered > 100 && refused > 100, "{answered} answered, {refused} refused");
        assert_eq!(world.outside(), before);
    }
}

#[test]
fn walking_follows_links_that_stay_inside() {
    let world = World::new();
    let root = world.root();
    fs_err::create_dir_all(root.join("a/b")).unwrap();
    fs_err::write(root.join("a/b/file"), "inside").unwrap();
    for (at, target) in [
        ("to-file", "a/b/file"),
        ("to-directory", "a/b"),
        ("a/up", ".."),
        ("a/b/over", "../../a/./b/file"),
        ("chain", "to-directory"),
        ("loop", "loop"),
        ("absolute", root.join("a").to_str().unwrap()),
        ("out", "../outside/secret"),
    ] {
        symlink(target, root.join(at)).unwrap();
    }
    for files in world.files() {
        for path in
            ["to-file", "to-directory/file", "chain/../b/file", "a/up/to-file", "a/b/over", "a/up/a/up/chain/file"]
        {
            let (is_answer, text) = told(read::read_file, &files, &json!({ "path": path }));
            assert!(is_answer && text.contains("inside"), "{path}: {text}");
        }
        for (path, reason) in [
            ("loop", "`loop` passes too many symbolic links"),
            ("out", "`out` leads outside the directories that may be used: "),
            ("absolute/b/file", "`absolute/b/file` leads outside the directories that may be used: "),
            ("a/b/file/..", "`a/b/file/..` is not a directory, or passes something that is not"),
        ] {
            let (is_answer, text) = told(read::read_file, &files, &json!({ "path": path }));
            assert!(!is_answer && text.starts_with(reason), "{path}: {text}");
        }
    }
}

/// Paths too long or too deep end, walked or not.
#[test]
fn paths_without_end() {
    let world = World::new();
    fs_err::create_dir(world.root().join("a")).unwrap();
    for files in world.files() {
        for path in ["a/../".repeat(100_000), "a/".repeat(100_000), "../".repeat(100_000), "./".repeat(100_000)] {
            for run in [read::read_file as Run<Files>, list::list_directory, write::create_directory, info::file_info] {
                let (_, text) = told(run, &files, &json!({ "path": path }));
                assert!(text.len() < 2_000, "{} bytes", text.len());
            }
        }
    }
}

fn cancelled(run: Run<Files>, files: &Files, arguments: &serde_json::Value) -> ErrorCode {
    let gone = Cancelled::default();
    gone.set();
    match run(files, &RawJson::checked(arguments.to_string()).unwrap(), &gone) {
        Err(Trouble::NotRun(ToolFailure { code, .. })) => code,
        other => panic!("{other:?}"),
    }
}

/// A cancelled call does no more work, and changes nothing.
#[test]
fn long_work_ends_with_its_caller() {
    let world = World::new();
    fs_err::write(world.root().join("a"), "a\n").unwrap();
    let [files, _] = world.files();
    for (run, arguments) in [
        (read::read_file as Run<Files>, json!({ "path": "a", "head": 1 })),
        (read::read_file, json!({ "path": "a", "tail": 1 })),
        (read::read_many, json!({ "paths": ["a"] })),
        (list::list_directory, json!({})),
        (search::search_files, json!({ "pattern": "*" })),
        (write::write_file, json!({ "path": "b", "content": "" })),
        (write::create_directory, json!({ "path": "c" })),
        (write::move_file, json!({ "source": "a", "destination": "d" })),
        (write::delete_file, json!({ "path": "a" })),
        (edit::edit_file, json!({ "path": "a", "edits": [{ "old_text": "a", "new_text": "b" }] })),
    ] {
        assert_eq!(cancelled(run, &files, &arguments), ErrorCode::Cancelled, "{arguments}");
    }
    assert_eq!(content_of(&world.root()).len(), 1);
}
