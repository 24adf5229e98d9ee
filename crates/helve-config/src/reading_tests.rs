//! What is read of a file that somebody else chose, and what is not.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::*;

const MAX: u64 = 1024 * 1024;

fn budget() -> Budget {
    Budget::new(16 * MAX, Duration::from_secs(60))
}

fn directory() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().to_path_buf();
    (directory, path)
}

#[test]
fn a_regular_file_is_read_through_links() {
    let (_guard, path) = directory();
    fs_err::write(path.join("real"), "text").expect("written");
    symlink(path.join("real"), path.join("link")).expect("linked");
    assert_eq!(text(&path.join("link"), MAX, &budget()), Ok("text".to_owned()));
    assert_eq!(text(&path.join("missing"), MAX, &budget()), Err(Unread::Missing));
    assert_eq!(text(&path.join("real/below"), MAX, &budget()), Err(Unread::NotADirectory));
}

/// S4: what the kernel makes up has no end, or does something when it is read.
#[cfg(target_os = "linux")]
#[test]
fn s4_procfs_sysfs_devices_pipes_sockets_and_directories_are_not_read() {
    let (_guard, path) = directory();
    for made_up in ["/proc/self/maps", "/proc/self/environ", "/proc/kallsyms", "/sys/kernel/notes"] {
        if !Path::new(made_up).exists() {
            continue;
        }
        let link = path.join(made_up.replace('/', "_"));
        symlink(made_up, &link).expect("linked");
        assert_eq!(text(&link, MAX, &budget()), Err(Unread::MadeUp), "{made_up}");
    }
    for device in ["/dev/zero", "/dev/null", "/dev/tty"] {
        assert_eq!(text(Path::new(device), MAX, &budget()), Err(Unread::NotAFile("a device")), "{device}");
    }
    rustix::fs::mknodat(rustix::fs::CWD, path.join("pipe"), rustix::fs::FileType::Fifo, Mode::RUSR, 0).expect("a pipe");
    assert_eq!(text(&path.join("pipe"), MAX, &budget()), Err(Unread::NotAFile("a pipe")));
    rustix::fs::mknodat(rustix::fs::CWD, path.join("socket"), rustix::fs::FileType::Socket, Mode::RUSR, 0)
        .expect("a socket");
    assert_eq!(text(&path.join("socket"), MAX, &budget()), Err(Unread::NotAFile("a socket")));
    assert_eq!(text(&path, MAX, &budget()), Err(Unread::NotAFile("a directory")));
    symlink(path.join("loop"), path.join("loop")).expect("linked");
    assert_eq!(text(&path.join("loop"), MAX, &budget()), Err(Unread::Loop));
    assert_eq!(text(&path.join("n".repeat(300)), MAX, &budget()), Err(Unread::LongName));
    assert_eq!(text(&path.join("n/".repeat(3_000)), MAX, &budget()), Err(Unread::LongName));
}

/// S4: the size that a file claims is worth nothing, in either direction.
#[test]
fn s4_bytes_are_counted_as_they_are_read() {
    let (_guard, path) = directory();
    let sparse = path.join("sparse");
    File::create_new(&sparse).expect("made").set_len(1 << 40).expect("stretched");
    assert_eq!(bytes(&sparse, MAX, &budget()), Err(Unread::TooLarge(MAX)));
    fs_err::write(path.join("full"), vec![b'x'; 1024]).expect("written");
    assert_eq!(bytes(&path.join("full"), 1024, &budget()).map(|bytes| bytes.len()), Ok(1024));
    assert_eq!(bytes(&path.join("full"), 1023, &budget()), Err(Unread::TooLarge(1023)));
    fs_err::write(path.join("latin"), b"caf\xe9").expect("written");
    assert_eq!(text(&path.join("latin"), MAX, &budget()), Err(Unread::NotText));
}

#[test]
fn s4_a_budget_counts_all_files_and_each_costs_something() {
    let (_guard, path) = directory();
    fs_err::write(path.join("empty"), "").expect("written");
    fs_err::write(path.join("half"), vec![b'x'; 5 * 1024]).expect("written");
    let budget = Budget::new(8 * 1024, Duration::from_secs(60));
    assert_eq!(text(&path.join("half"), MAX, &budget).map(|text| text.len()), Ok(5 * 1024));
    assert_eq!(text(&path.join("half"), MAX, &budget), Err(Unread::TooMuch));
    let budget = Budget::new(2 * FLOOR, Duration::from_secs(60));
    assert_eq!(text(&path.join("empty"), MAX, &budget), Ok(String::new()));
    assert_eq!(text(&path.join("empty"), MAX, &budget), Ok(String::new()));
    assert_eq!(text(&path.join("empty"), MAX, &budget), Err(Unread::TooMuch));
}

#[test]
fn s4_a_budget_has_a_clock() {
    let (_guard, path) = directory();
    fs_err::write(path.join("file"), "text").expect("written");
    let budget = Budget::new(MAX, Duration::ZERO);
    assert_eq!(text(&path.join("file"), MAX, &budget), Err(Unread::TooSlow));
}

/// S7: half of one file and half of another is not a file.
#[test]
fn s7_a_file_that_changes_while_it_is_read_is_not_read() {
    let (_guard, path) = directory();
    let file = path.join("file");
    fs_err::write(&file, "one").expect("written");
    let mut opened = open(&file).expect("opened");
    let read = opened.pieces(MAX, &budget(), |_| fs_err::write(&file, "another one").expect("written"));
    assert_eq!(read, Err(Unread::Changed));
    assert_eq!(text(&file, MAX, &budget()), Ok("another one".to_owned()));
}

#[test]
fn reasons_end_a_sentence() {
    let reasons = [Unread::TooLarge(64 * 1024), Unread::TooLarge(MAX), Unread::TooLarge(1000), Unread::Loop];
    let shown: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
    it is larger than 64 KiB
    it is larger than 1 MiB
    it is larger than 1000 bytes
    it is a link that leads to itself
    ");
}
