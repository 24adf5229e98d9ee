//! Opening servers: defaults, and what is said about wrong options.

use helve_model::{Layer, Origin, TransportSpec};
use insta::assert_snapshot;

use crate::support::{call, files, open, tree, try_open, without};

fn wrong(kind: &str, options: &[(&str, &[&str])]) -> String {
    let directory = tree(&[("notes/a.txt", "a"), ("file", "")]);
    let error = try_open(kind, options, directory.path()).unwrap_err();
    assert_eq!(error.code(), helve_model::ErrorCode::Config);
    assert_eq!(error.server().unwrap().as_str(), "notes");
    let hints: Vec<String> = error.hints().iter().map(ToString::to_string).collect();
    without(&directory, &format!("{}\n  {}", error.chain(), hints.join("\n  ")))
}

#[test]
fn wrong_options_say_what_to_do() {
    assert_snapshot!(wrong("filesytem", &[]), @"
    there is no built-in server `filesytem`
      did you mean `filesystem`?
      server `notes` comes from helve.toml:3:1
    ");
    assert_snapshot!(wrong("memory", &[]), @"
    there is no built-in server `memory`
      there is `filesystem`, `sqlite`, `time`
      server `notes` comes from helve.toml:3:1
    ");
    assert_snapshot!(wrong("filesystem", &[("root", &["."])]), @"
    the built-in server `filesystem` has no option `root`
      did you mean `roots`?
      server `notes` comes from helve.toml:3:1
    ");
    assert_snapshot!(wrong("time", &[("zone", &["UTC"])]), @"
    the built-in server `time` has no option `zone`
      it has none
      server `notes` comes from helve.toml:3:1
    ");
    assert_snapshot!(wrong("filesystem", &[("roots", &["missing"])]), @"
    the root `[dir]/missing` cannot be opened: No such file or directory (os error 2)
      `roots` lists directories that exist; relative ones start where the file that names them says
      server `notes` comes from helve.toml:3:1
    ");
    assert_snapshot!(wrong("filesystem", &[("roots", &["notes", "file"])]), @"
    the root `[dir]/file` cannot be opened: Not a directory (os error 20)
      `roots` lists directories that exist; relative ones start where the file that names them says
      server `notes` comes from helve.toml:3:1
    ");
    assert_snapshot!(wrong("filesystem", &[("roots", &[])]), @"
    `roots` is empty
      name at least one, or leave it out
      server `notes` comes from helve.toml:3:1
    ");
    assert_snapshot!(wrong("filesystem", &[("roots", &[""])]), @"
    `roots` holds an empty path
      write `.` for the directory itself
      server `notes` comes from helve.toml:3:1
    ");
    assert_snapshot!(wrong("filesystem", &[("writable", &["yes"])]), @"
    `writable` cannot be `yes`
      it is `true` or `false`
      server `notes` comes from helve.toml:3:1
    ");
    assert_snapshot!(wrong("filesystem", &[("writable", &["true", "false"])]), @"
    `writable` takes one value
      write exactly one
      server `notes` comes from helve.toml:3:1
    ");
    assert_snapshot!(wrong("filesystem", &[("max_file_bytes", &["0"])]), @"
    `max_file_bytes` cannot be `0`
      it is a whole number from 1
      server `notes` comes from helve.toml:3:1
    ");
    assert_snapshot!(wrong("filesystem", &[("max_file_bytes", &["10 MB"])]), @"
    `max_file_bytes` cannot be `10 MB`
      it is a whole number from 1
      server `notes` comes from helve.toml:3:1
    ");
    assert_snapshot!(wrong("sqlite", &[]), @r#"
    the built-in server `sqlite` needs a database
      write `database = "data.db"`
      server `notes` comes from helve.toml:3:1
    "#);
    assert_snapshot!(wrong("sqlite", &[("database", &["missing.db"])]), @"
    the database `[dir]/missing.db` cannot be opened: No such file or directory (os error 2)
      `database` names a file that exists; with `writable = true` the tool execute creates it
      server `notes` comes from helve.toml:3:1
    ");
    assert_snapshot!(wrong("sqlite", &[("database", &["notes"])]), @"
    the database `[dir]/notes` is not a file
      name the file itself
      server `notes` comes from helve.toml:3:1
    ");
    assert_snapshot!(wrong("sqlite", &[("databse", &["a.db"])]), @"
    the built-in server `sqlite` has no option `databse`
      did you mean `database`?
      server `notes` comes from helve.toml:3:1
    ");
}

#[tokio::test]
async fn without_configuration_there_are_the_files_and_the_time() {
    let directory = tree(&[("README.md", "hello\n")]);
    let specs = helve_builtin::defaults(directory.path());
    let mut shown = Vec::new();
    for spec in &specs {
        let TransportSpec::Builtin(builtin) = &spec.transport else { panic!("not built in") };
        assert_eq!((&spec.origin, spec.layer), (&Origin::BuiltIn, Layer::Defaults));
        assert!(spec.access.trust_annotations && spec.enabled && !spec.required);
        // The default root is where it says, not where it is opened.
        let toolbox = helve_builtin::open(spec, builtin, std::path::Path::new("/")).unwrap();
        let tools: Vec<String> =
            toolbox.tools().iter().map(|tool| tool.definition().name().as_str().to_owned()).collect();
        shown.push(format!("{} {:?}: {}", spec.name, builtin, tools.join(" ")));
        if builtin.kind == "filesystem" {
            assert_eq!(call(&toolbox, "read_file", r#"{"path":"README.md"}"#).await, "hello\n");
        }
    }
    assert_snapshot!(without(&directory, &shown.join("\n")), @r#"
    filesystem BuiltinSpec { kind: "filesystem", options: {"roots": ["[dir]"]} }: read_file read_many list_directory search_files file_info
    time BuiltinSpec { kind: "time", options: {} }: now convert
    "#);
}

#[tokio::test]
async fn the_default_root_needs_no_name_that_is_text() {
    use std::os::unix::ffi::OsStrExt as _;
    let parent = tree(&[]);
    let directory = parent.path().join(std::ffi::OsStr::from_bytes(b"d\xff"));
    fs_err::create_dir(&directory).unwrap();
    fs_err::write(directory.join("a.txt"), "inside").unwrap();
    let specs = helve_builtin::defaults(&directory);
    let TransportSpec::Builtin(builtin) = &specs[0].transport else { panic!("not built in") };
    let toolbox = helve_builtin::open(&specs[0], builtin, &directory).unwrap();
    assert_eq!(call(&toolbox, "read_file", r#"{"path":"a.txt"}"#).await, "inside");
}

#[tokio::test]
async fn several_roots() {
    let directory = tree(&[("docs/a.txt", "docs"), ("src/a.txt", "src"), ("src/inner/b.txt", "b"), ("secret", "no")]);
    let toolbox = open("filesystem", &[("roots", &["docs", "src", "src/inner"])], directory.path());
    let absolute = |path: &str| format!(r#"{{"path":"{}"}}"#, directory.path().join(path).display());
    assert_eq!(call(&toolbox, "read_file", r#"{"path":"a.txt"}"#).await, "docs");
    assert_eq!(call(&toolbox, "read_file", &absolute("src/a.txt")).await, "src");
    assert_eq!(call(&toolbox, "read_file", &absolute("src/inner/b.txt")).await, "b");
    assert_eq!(call(&toolbox, "read_file", &absolute("src/inner/../a.txt")).await, "src");
    let refused = call(&toolbox, "read_file", &absolute("secret")).await;
    assert_snapshot!(without(&directory, &refused), @"failed: `[dir]/secret` is outside the directories that may be used: [dir]/docs, [dir]/src, [dir]/src/inner");
    let refused = call(&toolbox, "read_file", r#"{"path":"../src/a.txt"}"#).await;
    assert_snapshot!(without(&directory, &refused), @"failed: `../src/a.txt` leads outside the directories that may be used: [dir]/docs, [dir]/src, [dir]/src/inner");
}

#[tokio::test]
async fn a_root_that_is_a_link_goes_by_both_names() {
    let directory = tree(&[("real/a.txt", "a")]);
    fs_err::os::unix::fs::symlink(directory.path().join("real"), directory.path().join("link")).unwrap();
    let toolbox = open("filesystem", &[("roots", &["./link/."])], directory.path());
    for name in ["link/a.txt", "real/a.txt"] {
        let arguments = format!(r#"{{"path":"{}"}}"#, directory.path().join(name).display());
        assert_eq!(call(&toolbox, "read_file", &arguments).await, "a");
    }
}

#[tokio::test]
async fn a_root_that_was_removed_is_said() {
    let directory = tree(&[("root/a.txt", "a")]);
    let toolbox = open("filesystem", &[("roots", &["root"])], directory.path());
    fs_err::remove_dir_all(directory.path().join("root")).unwrap();
    fs_err::create_dir(directory.path().join("root")).unwrap();
    let answer = call(&toolbox, "read_file", r#"{"path":"a.txt"}"#).await;
    assert_snapshot!(without(&directory, &answer), @"failed: the directory `[dir]/root` was removed or replaced since it was opened; reconnect this server");
}

#[tokio::test]
async fn arguments_of_another_shape_are_refused() {
    let directory = tree(&[]);
    let toolbox = files(&directory);
    let failure = crate::support::unchecked(&toolbox, "read_file", r#"{"path":7}"#).await.unwrap_err();
    assert_eq!(failure.code, helve_model::ErrorCode::InvalidParams);
    assert_snapshot!(failure.message, @"the arguments do not fit: invalid type: integer `7`, expected a string at line 1 column 9");
}
