//! Tests of finding the place a test was built in.

use super::*;

fn place(path: &str) -> Option<(String, String, Option<String>)> {
    let top = tempfile::tempdir().unwrap();
    fs_err::write(top.path().join(".rustc_info.json"), "{}").unwrap();
    let found = BuildPlace::of(&top.path().join(path))?;
    assert_eq!(found.target_directory, top.path());
    Some((path.to_string(), found.profile, found.triple))
}

#[test]
fn the_place_is_read_off_the_path() {
    let profile = |path| place(path).map(|(_, profile, triple)| (profile, triple));
    assert_eq!(profile("debug/deps/all-0123"), Some(("dev".to_string(), None)));
    assert_eq!(profile("release/deps/all-0123"), Some(("release".to_string(), None)));
    assert_eq!(profile("bench/xtask"), Some(("bench".to_string(), None)));
    assert_eq!(profile("debug/examples/demo"), Some(("dev".to_string(), None)));
    let triple = Some("x86_64-unknown-linux-musl".to_string());
    assert_eq!(profile("x86_64-unknown-linux-musl/debug/deps/all-0123"), Some(("dev".to_string(), triple)));
    assert_eq!(profile("a/b/c/d/all-0123"), None);
}
