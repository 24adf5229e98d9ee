//! Tokens, changes, definitions, backups; who may open the files.

use std::os::unix::fs::PermissionsExt as _;

use helve_store::{Moment, NewChange, NewToken, Seen, Store, StoreError, TokenKind};

fn token(name: &str) -> NewToken {
    NewToken {
        id: format!("id-{name}"),
        name: name.to_owned(),
        hash: [7; 32],
        kind: TokenKind::Admin,
        approver: false,
        read_only: true,
        servers: vec!["git*".to_owned()],
        tools: Vec::new(),
        created: Moment::from_micros(5),
        expires: Some(Moment::from_micros(50)),
    }
}

#[test]
fn a_token_is_kept_and_its_name_never_used_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), |_| {}).expect("open");
    store.add_token(token("ci")).expect("add");
    store.tokens_used(vec![("id-ci".to_owned(), Moment::from_micros(3_600_000_001))]).expect("used");
    store.revoke_token("ci", Moment::from_micros(9)).expect("revoke");
    assert!(matches!(store.revoke_token("ci", Moment::from_micros(9)), Err(StoreError::NotFound(_))));
    assert!(matches!(store.add_token(token("ci")), Err(StoreError::NameTaken(_))));
    let tokens = store.tokens().expect("tokens");
    assert_eq!(tokens[0].token, token("ci"));
    assert_eq!(tokens[0].used, Some(Moment::from_micros(3_600_000_000)));
    assert_eq!(tokens[0].revoked, Some(Moment::from_micros(9)));
}

#[test]
fn changes_know_what_took_them_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), |_| {}).expect("open");
    let first = store.add_change(NewChange { verb: "add".to_owned(), ..NewChange::default() }).expect("add");
    let second = store.add_change(NewChange { undoes: Some(first), ..NewChange::default() }).expect("add");
    let changes = store.changes(None, 10).expect("changes");
    assert_eq!(changes.iter().map(|change| change.seq).collect::<Vec<_>>(), [second, first]);
    assert_eq!(changes[1].undone_by, Some(second));
    assert_eq!(store.change(99).expect("read"), None);
}

#[test]
fn a_definition_that_changes_is_another_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), |_| {}).expect("open");
    let seen =
        |hash: &str| Seen { server: "s".to_owned(), tool: "t".to_owned(), hash: hash.to_owned(), text: String::new() };
    for (time, hash) in ["a", "a", "b"].into_iter().enumerate() {
        store.see_definitions(vec![seen(hash)], Moment::from_micros(time as i64)).expect("see");
    }
    let known = store.definitions("s").expect("definitions");
    let times: Vec<_> =
        known.iter().map(|one| (one.seen.hash.as_str(), one.first.micros(), one.last.micros())).collect();
    assert_eq!(times, [("b", 2, 2), ("a", 0, 1)]);
}

#[test]
fn one_process_has_it_and_nobody_else_may_read_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().join("hub");
    let store = Store::open(&place, |_| {}).expect("open");
    assert!(matches!(Store::open(&place, |_| {}), Err(StoreError::InUse(_))));
    store.add_token(token("ci")).expect("add");
    for entry in fs_err::read_dir(&place).expect("files") {
        let mode = entry.expect("file").metadata().expect("metadata").permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
    let copy = directory.path().join("copy.db");
    store.back_up(&copy).expect("backup");
    assert!(store.back_up(&copy).is_err(), "a file that exists is not overwritten");
    assert!(store.health().is_in_place);
    fs_err::remove_file(place.join("hub.db")).expect("delete");
    assert!(!store.health().is_in_place);
    drop(store);
    fs_err::rename(&copy, place.join("hub.db")).expect("restore");
    assert_eq!(Store::open(&place, |_| {}).expect("open").tokens().expect("tokens").len(), 1);
}

#[test]
fn a_file_of_a_later_version_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    drop(Store::open(directory.path(), |_| {}).expect("open"));
    let raw = rusqlite::Connection::open(directory.path().join("hub.db")).expect("open");
    raw.pragma_update(None, "user_version", 99).expect("update");
    drop(raw);
    assert!(matches!(Store::open(directory.path(), |_| {}), Err(StoreError::Newer { found: 99, .. })));
}
