//! How many directories of results stay, and for whom.

use super::*;

/// The time of the file system, which the directories are made at.
fn now() -> SystemTime {
    tempfile::tempfile().unwrap().metadata().unwrap().modified().unwrap()
}

fn names(temporary: &Path) -> usize {
    fs_err::read_dir(temporary).unwrap().count()
}

#[test]
fn s16_directories_of_results_are_private() {
    let temporary = tempfile::tempdir().unwrap();
    let made = make(temporary.path(), now()).unwrap();
    assert_eq!(fs_err::metadata(made).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn s16_directories_of_results_are_limited_in_number() {
    let temporary = tempfile::tempdir().unwrap();
    fs_err::create_dir(temporary.path().join("helve-other")).unwrap();
    std::os::unix::fs::symlink("helve-other", temporary.path().join("helve-results-link")).unwrap();
    let mut newest = PathBuf::new();
    for number in 0..KEPT_DIRECTORIES + 20 {
        newest = make(temporary.path(), now()).unwrap();
        fs_err::write(newest.join("image-1.png"), number.to_string()).unwrap();
    }
    assert_eq!(names(temporary.path()), KEPT_DIRECTORIES + 2);
    assert!(newest.join("image-1.png").exists() && temporary.path().join("helve-other").exists());
}

#[test]
fn s16_directories_of_results_are_limited_in_bytes_and_age() {
    let temporary = tempfile::tempdir().unwrap();
    let now = now();
    let large = make(temporary.path(), now).unwrap();
    // Sparse: it takes no room here.
    fs_err::File::create(large.join("audio-1.wav")).unwrap().set_len(KEPT_BYTES + 1).unwrap();
    let next = make(temporary.path(), now).unwrap();
    assert!(!large.exists() && next.exists());
    fs_err::create_dir(next.join("kept")).unwrap();
    let old = make(temporary.path(), now).unwrap();
    let last = make(temporary.path(), now + KEPT_FOR * 2).unwrap();
    assert!(!old.exists() && last.exists());
    assert!(next.join("kept").exists(), "what a person put there stays");
}
