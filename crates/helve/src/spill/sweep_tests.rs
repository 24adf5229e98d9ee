//! What goes, and what stays whatever happens.

use std::fs::FileTimes;

use super::*;

fn kept(directory: &Path, name: &str, bytes: u64, age: Duration, now: SystemTime) {
    let file = fs_err::File::create(directory.join(name)).unwrap();
    file.set_len(bytes).unwrap();
    file.into_parts().0.set_times(FileTimes::new().set_modified(now - age)).unwrap();
}

fn left(directory: &Path) -> Vec<String> {
    let entries = fs_err::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_is_too_old_goes_and_what_is_not_ours_stays() {
    let directory = tempfile::tempdir().unwrap();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000);
    let old = KEPT_FOR + Duration::from_secs(1);
    kept(directory.path(), "files-read-abcdEF12.json", 10, old, now);
    kept(directory.path(), "files-read-abcdEF13.json", 10, KEPT_FOR, now);
    kept(directory.path(), "notes.json", 10, old, now);
    kept(directory.path(), "my-notes-2024.json", 10, old, now);
    fs_err::create_dir(directory.path().join("files-read-abcdEF14.json")).unwrap();
    sweep(directory.path(), now).unwrap();
    assert_eq!(
        left(directory.path()),
        ["files-read-abcdEF13.json", "files-read-abcdEF14.json", "my-notes-2024.json", "notes.json"]
    );
}

#[test]
fn the_oldest_go_until_the_rest_has_room_but_never_what_is_young() {
    let directory = tempfile::tempdir().unwrap();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000);
    let hours = |count: u32| NEVER_BEFORE * count;
    kept(directory.path(), "s-t-00000001.json", KEPT_BYTES / 2, hours(4), now);
    kept(directory.path(), "s-t-00000002.json", KEPT_BYTES / 2, hours(3), now);
    kept(directory.path(), "s-t-00000003.json", KEPT_BYTES / 2, hours(2), now);
    sweep(directory.path(), now).unwrap();
    assert_eq!(left(directory.path()), ["s-t-00000002.json", "s-t-00000003.json"]);

    kept(directory.path(), "s-t-00000004.json", KEPT_BYTES * 2, Duration::ZERO, now);
    sweep(directory.path(), now).unwrap();
    assert_eq!(left(directory.path()), ["s-t-00000004.json"]);
}

#[cfg(unix)]
#[test]
fn a_link_is_neither_followed_nor_removed() {
    let (directory, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000);
    kept(elsewhere.path(), "s-t-00000001.json", 1, KEPT_FOR * 2, now);
    let link = directory.path().join("s-t-00000002.json");
    std::os::unix::fs::symlink(elsewhere.path().join("s-t-00000001.json"), &link).unwrap();
    sweep(directory.path(), now).unwrap();
    assert_eq!(left(directory.path()), ["s-t-00000002.json"]);
    assert_eq!(left(elsewhere.path()), ["s-t-00000001.json"]);
}

#[test]
fn what_a_spill_writes_is_ours() {
    let directory = tempfile::tempdir().unwrap();
    let name = helve_model::QualifiedName::new(
        helve_model::ServerName::new("git hub").unwrap(),
        helve_model::ToolName::new("a.b-c"),
    );
    let large = helve_model::Outcome::text(&"long ".repeat(100));
    let spilled = super::super::spill(&large, &name, 10, Some(directory.path())).unwrap().unwrap();
    assert!(spilled.files.iter().all(|file| is_ours(file.file_name().unwrap().to_str().unwrap())));
}

/// A flood of results cannot fill the disk, and takes away nothing that was just named.
#[test]
fn s16_kept_results_are_limited_in_number_and_bytes_at_every_moment() {
    let directory = tempfile::tempdir().unwrap();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000);
    kept(directory.path(), "s-t-00000001.json", KEPT_BYTES - 10, Duration::ZERO, now);
    assert!(has_room(directory.path(), 10, now).unwrap());
    assert!(!has_room(directory.path(), 11, now).unwrap(), "all of it is young");
    assert!(has_room(directory.path(), 11, now + NEVER_BEFORE * 2).unwrap());
    assert!(left(directory.path()).is_empty());

    for number in 0..KEPT_FILES {
        kept(directory.path(), &format!("s-t-{number:08}.json"), 1, Duration::ZERO, now);
    }
    assert!(!has_room(directory.path(), 1, now).unwrap());
    assert!(has_room(directory.path(), 1, now + NEVER_BEFORE * 2).unwrap());
    assert_eq!(left(directory.path()).len(), KEPT_FILES - 1);
}
