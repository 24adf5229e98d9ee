//! The limit of a search that is too large to reach with a real tree.

use super::*;
use crate::filesystem::list;

#[test]
fn searches_end_after_so_many_entries() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c", "d"] {
        fs_err::write(directory.path().join(name), "").unwrap();
    }
    let asked: SearchFiles = serde_json::from_str(r#"{"pattern":"*"}"#).unwrap();
    let mut search = Search::new(&asked, 1).unwrap();
    search.visited = MAX_VISITED - 3;
    let opened = OwnedFd::from(fs_err::File::open(directory.path()).unwrap().into_file());
    let (names, all) = list::names(&opened, 10).unwrap();
    assert!(all);
    let start = Level { directory: opened, names: names.into_iter(), relative: PathBuf::new() };
    search.walk(start, &Cancelled::default()).unwrap();
    insta::assert_snapshot!(shown(&search.found), @"
    a
    b
    c
    [the search was too large and ended early: start it further down, or exclude more]
    ");
}

#[test]
fn directories_are_read_so_far() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c", "d"] {
        fs_err::write(directory.path().join(name), "").unwrap();
    }
    let opened = OwnedFd::from(fs_err::File::open(directory.path()).unwrap().into_file());
    let (some, all) = list::names(&opened, 3).unwrap();
    assert_eq!((some.len(), all), (3, false));
    let (every, all) = list::names(&opened, 4).unwrap();
    assert_eq!((every.len(), all), (4, true));
}
