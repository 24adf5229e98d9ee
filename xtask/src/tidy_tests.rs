//! Tests of tidy: this tree is tidy, and each rule is seen to fail on a small made-up one.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

#[test]
fn this_tree_is_tidy() {
    let root = crate::workspace_root();
    let findings = check(&root, &Graph::of_workspace(&root).unwrap()).unwrap();
    assert!(findings.is_empty(), "{}", told(&findings));
}

#[test]
fn a_pure_crate_must_not_reach_a_runtime_through_others() {
    let tree = Tree::new().package("helve-model", &["middle"]).foreign("middle", &["tokio"]).foreign("tokio", &[]);
    assert_snapshot!(tree.findings(), @"
    crates/helve-model/Cargo.toml: helve-model must not reach tokio (helve-model -> middle -> tokio)
        help: helve-model never contains I/O, async, clock: drop the dependency or move the code
    ");
}

#[test]
fn a_dev_dependency_is_not_part_of_the_crate() {
    let tree = Tree::new().package("helve-model", &["dev:tokio"]).foreign("tokio", &[]);
    assert_snapshot!(tree.findings(), @"");
}

#[test]
fn a_crate_without_a_row_is_found() {
    assert_snapshot!(Tree::new().package("helve-attic", &[]).findings(), @"
    crates/helve-attic/Cargo.toml: helve-attic has no row in the table of absences
        help: add one line to LAYERS in xtask/src/layers.rs saying what this crate never contains, or make it a module of the crate it belongs to
    ");
}

#[test]
fn s17_one_crate_holds_the_invisible_characters() {
    let set = "//! Owns x.\nfn is_odd(c: char) -> bool { matches!(c, '\\u{200b}' | '\\u{1b}' | '\\u{2014}') }\n#[cfg(test)]\nmod tests { const C: char = '\\u{202e}'; }\n";
    let tree = Tree::new().package("helve-wire", &[]).file("crates/helve-wire/src/words.rs", set);
    let tree = tree.file("crates/helve-model/src/text.rs", set);
    assert_snapshot!(tree.findings(), @"
    crates/helve-wire/src/words.rs:2: spells the invisible character U+200B
        help: helve_model::text holds the one set of them: ask it
    ");
}

#[test]
fn c2_libraries_do_not_speak_the_command_line() {
    let says = "//! Owns x.\n/// Run `helve trust`.\nfn hint(b: bool) -> &'static str {\n    if b { \"run `helve trust`\" } else { \"or `--yes`, not `helve` or `helve.toml`\" }\n}\nconst FINE: &str = \"helve does it, `helve` too\";\n";
    let tree = Tree::new().package("helve-wire", &[]).package("helve-cli", &[]);
    let tree = tree.file("crates/helve-wire/src/words.rs", says).file("crates/helve-cli/src/words.rs", says);
    assert_snapshot!(tree.findings(), @"
    crates/helve-wire/src/words.rs:4: speaks the command line
        help: say it as a helve_model::Hint, which each door puts into its own words
    crates/helve-wire/src/words.rs:4: speaks the command line
        help: say it as a helve_model::Hint, which each door puts into its own words
    ");
}

#[test]
fn a_folder_is_named_like_its_crate() {
    let tree = Tree::new().package_in("elsewhere", "helve-model", &[]);
    assert_snapshot!(tree.findings(), @"
    crates/elsewhere/Cargo.toml: the folder elsewhere holds the package helve-model
        help: name the folder like the package
    ");
}

#[test]
fn the_other_sdk_stays_with_tests_and_chores() {
    let tree =
        Tree::new().package("helve-policy", &["dev:rmcp"]).package("helve-testkit", &["rmcp"]).foreign("rmcp", &[]);
    assert_snapshot!(tree.findings(), @"
    crates/helve-policy/Cargo.toml: helve-policy must not depend on rmcp
        help: it is the peer we are measured against and tested with, not a part of the product: only helve-testkit and xtask may name it
    ");
}

#[test]
fn the_fake_peer_is_independent_and_never_shipped() {
    let tree = Tree::new().package("helve-testkit", &["dev:helve-wire"]).package("helve-wire", &["helve-testkit"]);
    assert_snapshot!(tree.findings(), @"
    crates/helve-testkit/Cargo.toml: helve-testkit must not depend on helve-wire, not even in its tests
        help: one misunderstanding must not sit on both ends of a test: keep the two apart
    crates/helve-wire/Cargo.toml: helve-wire must not link helve-testkit
        help: helve-testkit is for development: move it to [dev-dependencies]
    ");
}

#[test]
fn lints_are_inherited() {
    let tree = Tree::new()
        .package("helve-model", &[])
        .file("crates/helve-model/Cargo.toml", "[package]\n[lints]\n\n[features]\n");
    assert_snapshot!(tree.findings(), @"
    crates/helve-model/Cargo.toml: does not inherit the workspace's lints
        help: add [lints] with workspace = true
    ");
}

#[test]
fn every_file_says_what_it_owns() {
    let tree =
        Tree::new().package("helve-model", &[]).file("crates/helve-model/src/name.rs", "// Names.\nfn name() {}\n");
    assert_snapshot!(tree.findings(), @"
    crates/helve-model/src/name.rs:1: does not open with //!
        help: say in its first line which decision this file owns
    ");
}

#[test]
fn a_long_file_is_found_but_its_tests_are_not_counted() {
    let code = |count: usize| format!("//! Long.\n{}", "fn one() {}\n".repeat(count));
    let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    fn two() {}\n".repeat(400));
    let tree = Tree::new()
        .package("helve-model", &[])
        .file("crates/helve-model/src/long.rs", &code(700))
        .file("crates/helve-model/src/tested.rs", &format!("{}{tests}", code(699)))
        .file("crates/helve-model/src/long_tests.rs", &code(2000))
        .file("crates/helve-model/tests/all/main.rs", &code(2000));
    assert_snapshot!(tree.findings(), @"
    crates/helve-model/src/long.rs: 701 lines without tests, 700 is the end
        help: split it by decision: one file, one thing to know
    ");
}

#[test]
fn a_pure_crate_is_silent_on_the_world() {
    let tree = Tree::new().package("helve-model", &[]).file(
        "crates/helve-model/src/impure.rs",
        r#"//! Impure: std::fs in a comment is fine, and so is "std::net" in a string.
use std::{env as surroundings, fs, time::{Duration, Instant}};
use std::process::Command;

/// Reads with std::fs::read.
async fn read() -> &'static str {
    let now = Instant::now();
    println!("{:?} std::env::var", std::env::var("HOME"));
    later().await;
    "std::net"
}

#[cfg(test)]
mod tests {
    use std::fs;
}
"#,
    );
    let advice = "\n    help: helve-model never contains I/O, async, clock: take it as an argument or move the code";
    assert_snapshot!(tree.findings().replace(advice, ""), @"
    crates/helve-model/src/impure.rs:2: says std::env (std::env)
    crates/helve-model/src/impure.rs:2: says std::fs (std::fs)
    crates/helve-model/src/impure.rs:3: says std::process (std::process::Command)
    crates/helve-model/src/impure.rs:6: says async (async)
    crates/helve-model/src/impure.rs:7: says Instant::now (Instant::now)
    crates/helve-model/src/impure.rs:8: says println! (println!)
    crates/helve-model/src/impure.rs:8: says std::env (std::env::var)
    crates/helve-model/src/impure.rs:9: says await (await)
    ");
}

#[test]
fn a_library_does_not_print_but_its_binary_may() {
    let print = "//! Prints.\nfn print() {\n    eprintln!(\"x\");\n}\n";
    let tree = Tree::new()
        .package("helve-wire", &[])
        .file("crates/helve-wire/src/lib.rs", print)
        .file("crates/helve-wire/src/bin/helve-warden.rs", print);
    assert_snapshot!(tree.findings(), @"
    crates/helve-wire/src/lib.rs:3: says eprintln! (eprintln!)
        help: helve-wire never contains policy decisions, config files, the environment, a face of its own: take it as an argument or move the code
    ");
}

#[test]
fn the_protocols_words_are_spelled_in_one_place_and_in_tests_only() {
    let words = "//! Knows 2025-11-25.\nconst VERSION: &str = \"2025-11-25\";\nconst KEY: &str = \"io.modelcontextprotocol/x\";\nconst CODE: i64 = -32_601;\nconst OTHER: i64 = 32_768;\nconst METHOD: &str = \"tools/call\";\nconst WORD: &str = \"ping\";\n";
    let tree = Tree::new()
        .package("helve-model", &[])
        .package("helve-wire", &[])
        .file("crates/helve-model/src/protocol.rs", words)
        .file("crates/helve-wire/src/session_tests.rs", words)
        .file("crates/helve-wire/src/era/legacy.rs", words);
    insta::assert_snapshot!(tree.findings(), @"
    crates/helve-wire/src/era/legacy.rs:2: spells the protocol version 2025-11-25
        help: helve_model::protocol has it, for the era modules of helve-wire and helve-serve: ask them
    crates/helve-wire/src/era/legacy.rs:3: spells io.modelcontextprotocol/…
        help: helve_model::protocol has it under a name
    crates/helve-wire/src/era/legacy.rs:4: spells the error code -32601
        help: helve_model::protocol has it under a name
    crates/helve-wire/src/era/legacy.rs:6: spells the method tools/call
        help: helve_model::protocol has it under a name
    ");
}

#[test]
fn only_era_modules_compare_versions() {
    let compares = "//! Compares.\nuse helve_model::protocol::version;\nuse helve_wire::Era;\nfn new(era: Era) -> bool { era == Era::Modern }\n";
    let tree = Tree::new()
        .package("helve-wire", &[])
        .file("crates/helve-wire/src/session.rs", compares)
        .file("crates/helve-wire/src/era.rs", compares)
        .file("crates/helve-wire/src/era/legacy.rs", compares);
    insta::assert_snapshot!(tree.findings(), @"
    crates/helve-wire/src/session.rs:2: says protocol::version (helve_model::protocol::version)
        help: eras meet in the era modules of helve-wire and helve-serve: ask them instead
    crates/helve-wire/src/session.rs:4: says Era::Modern (Era::Modern)
        help: eras meet in the era modules of helve-wire and helve-serve: ask them instead
    ");
}

#[test]
fn json_is_not_put_together_by_hand() {
    let writes = "//! Writes.\nfn one(x: u8) -> String { format!(r#\"{{\"a\":{x}}}\"#) }\nfn two(x: u8) -> String { format!(\"{{\\\"a\\\":{x}}}\") }\nconst FINE: &str = r#\"{\"a\":{}}\"#;\n";
    let tree = Tree::new().package("helve", &[]).file("crates/helve/src/lib.rs", writes);
    insta::assert_snapshot!(tree.findings(), @"
    crates/helve/src/lib.rs:2: writes a JSON object by hand
        help: helve_model::json::ObjectWriter counts the commas and escapes the texts
    crates/helve/src/lib.rs:3: writes a JSON object by hand
        help: helve_model::json::ObjectWriter counts the commas and escapes the texts
    ");
}

#[test]
fn half_finished_work_is_found_even_in_tests() {
    let tree = Tree::new()
        .package("helve-model", &[])
        .file("crates/helve-model/src/name_tests.rs", "//! Tests.\nfn test() {\n    todo!()\n}\n");
    assert_snapshot!(tree.findings(), @"
    crates/helve-model/src/name_tests.rs:3: says todo! (todo!)
        help: finish it or leave it out
    ");
}

#[test]
fn paths_of_one_machine_are_found_in_any_text() {
    let place = ["", "root", "notes"].join("/");
    let tree = Tree::new()
        .package("helve-model", &[])
        .file("README.md", &format!("Fine: https://example.org{place}\nNot: `{place}`\n"))
        .file(".ci/run", &format!("cat {place}\n"))
        .file("target/README.md", &place);
    assert_snapshot!(tree.findings(), @"
    .ci/run:1: names a path of one machine (/[root]/)
        help: take it from the caller, the workspace or a temporary directory
    README.md:2: names a path of one machine (/[root]/)
        help: take it from the caller, the workspace or a temporary directory
    ");
}

#[test]
fn a_file_that_is_not_rust_is_said_so() {
    let tree =
        Tree::new().package("helve-model", &[]).file("crates/helve-model/src/lib.rs", "//! Broken.\nfn open( {\n");
    assert_snapshot!(tree.findings(), @"
    crates/helve-model/src/lib.rs: line 2: not Rust: cannot parse string into token stream
        help: make it compile first
    ");
}

fn told(findings: &[Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// A workspace on disk with the answer cargo would give about it.
struct Tree {
    root: TempDir,
    packages: Vec<Value>,
    members: Vec<String>,
    nodes: Vec<Value>,
}

impl Tree {
    fn new() -> Self {
        Self { root: TempDir::new().unwrap(), packages: Vec::new(), members: Vec::new(), nodes: Vec::new() }
    }

    /// A member of the workspace; `dev:` in front of a dependency makes it a dev-dependency.
    fn package(self, name: &str, dependencies: &[&str]) -> Self {
        self.package_in(name, name, dependencies)
    }

    fn package_in(mut self, folder: &str, name: &str, dependencies: &[&str]) -> Self {
        self.members.push(name.to_owned());
        self.describe(&format!("crates/{folder}/Cargo.toml"), name, dependencies);
        self.file(&format!("crates/{folder}/Cargo.toml"), "[package]\n\n[lints]\nworkspace = true\n")
    }

    fn foreign(mut self, name: &str, dependencies: &[&str]) -> Self {
        self.describe(&format!("registry/{name}/Cargo.toml"), name, dependencies);
        self
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.root.path().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
        self
    }

    fn describe(&mut self, manifest: &str, name: &str, dependencies: &[&str]) {
        let split = |text: &str| match text.strip_prefix("dev:") {
            Some(name) => (name.to_owned(), Some("dev")),
            None => (text.to_owned(), None),
        };
        let declared: Vec<Value> = dependencies
            .iter()
            .map(|text| split(text))
            .map(|(name, kind)| json!({"name": name, "kind": kind}))
            .collect();
        let edges: Vec<Value> = dependencies
            .iter()
            .map(|text| split(text))
            .map(|(name, kind)| json!({"pkg": name, "dep_kinds": [{"kind": kind}]}))
            .collect();
        let manifest: &Path = &self.root.path().join(manifest);
        self.packages.push(json!({"name": name, "id": name, "manifest_path": manifest, "dependencies": declared}));
        self.nodes.push(json!({"id": name, "deps": edges}));
    }

    fn findings(self) -> String {
        let metadata = json!({
            "packages": self.packages,
            "workspace_members": self.members,
            "resolve": {"nodes": self.nodes},
        });
        let graph = Graph::from_json(metadata.to_string().as_bytes()).unwrap();
        told(&check(self.root.path(), &graph).unwrap()).replace("root", "[root]")
    }
}
