//! Reading: files, lines, pictures, directories, what is known about a path; and everything that is not a file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use insta::assert_snapshot;
use rustix::fs::{CWD, FileType, Mode};

use crate::support::{call, files, open, outcome, structured, tree, unchecked, without};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[tokio::test]
async fn text() {
    let directory = tree(&[("a.txt", "one\r\ntwo\n"), ("empty", ""), ("deep/er/b.txt", "ä€😀")]);
    let toolbox = files(&directory);
    assert_eq!(call(&toolbox, "read_file", r#"{"path":"a.txt"}"#).await, "one\r\ntwo\n");
    assert_eq!(call(&toolbox, "read_file", r#"{"path":"empty"}"#).await, "");
    assert_eq!(call(&toolbox, "read_file", r#"{"path":"deep/er/b.txt"}"#).await, "ä€😀");
    assert_eq!(call(&toolbox, "read_file", r#"{"path":"./deep/../deep/er/b.txt"}"#).await, "ä€😀");
}

#[tokio::test]
async fn lines() {
    let directory = tree(&[("five", "1\n2\n3\n4\n5\n"), ("open", "1\n2\n3"), ("empty", "")]);
    let toolbox = files(&directory);
    let mut told = String::new();
    for arguments in [
        r#"{"path":"five","head":2}"#,
        r#"{"path":"five","head":9}"#,
        r#"{"path":"five","tail":2}"#,
        r#"{"path":"five","tail":5}"#,
        r#"{"path":"five","tail":9}"#,
        r#"{"path":"five","offset":2,"limit":3}"#,
        r#"{"path":"five","offset":4}"#,
        r#"{"path":"five","limit":1}"#,
        r#"{"path":"five","offset":6}"#,
        r#"{"path":"open","tail":1}"#,
        r#"{"path":"open","offset":3,"limit":1}"#,
        r#"{"path":"open","offset":4}"#,
        r#"{"path":"empty","head":1}"#,
        r#"{"path":"empty","tail":1}"#,
        r#"{"path":"empty","offset":2}"#,
        r#"{"path":"five","offset":18446744073709551615,"limit":18446744073709551615}"#,
        r#"{"path":"five","head":1,"tail":1}"#,
        r#"{"path":"five","head":1,"limit":1}"#,
    ] {
        let answer = call(&toolbox, "read_file", arguments).await;
        told.push_str(&format!("{arguments} {answer:?}\n"));
    }
    assert_snapshot!(told, @r#"
    {"path":"five","head":2} "1\n2\n"
    {"path":"five","head":9} "1\n2\n3\n4\n5\n"
    {"path":"five","tail":2} "4\n5\n"
    {"path":"five","tail":5} "1\n2\n3\n4\n5\n"
    {"path":"five","tail":9} "1\n2\n3\n4\n5\n"
    {"path":"five","offset":2,"limit":3} "2\n3\n4\n"
    {"path":"five","offset":4} "4\n5\n"
    {"path":"five","limit":1} "1\n"
    {"path":"five","offset":6} "failed: `five` has 5 lines; it has no line 6"
    {"path":"open","tail":1} "3"
    {"path":"open","offset":3,"limit":1} "3"
    {"path":"open","offset":4} "failed: `open` has 3 lines; it has no line 4"
    {"path":"empty","head":1} ""
    {"path":"empty","tail":1} ""
    {"path":"empty","offset":2} "failed: `empty` has 0 lines; it has no line 2"
    {"path":"five","offset":18446744073709551615,"limit":18446744073709551615} "failed: `five` has 5 lines; it has no line 18446744073709551615"
    {"path":"five","head":1,"tail":1} "INVALID_PARAMS: give one of `head`, `tail`, or `offset` and `limit`"
    {"path":"five","head":1,"limit":1} "INVALID_PARAMS: give one of `head`, `tail`, or `offset` and `limit`"
    "#);
}

/// Every way to ask for lines gives what splitting the whole text would.
#[tokio::test]
async fn lines_of_a_long_file() {
    let lines: Vec<String> = (0..40_000).map(|number| format!("line {number} {}\n", "x".repeat(number % 50))).collect();
    let directory = tree(&[("long", &lines.concat())]);
    let toolbox = files(&directory);
    for (arguments, expected) in [
        (r#"{"path":"long","head":3}"#, 0..3),
        (r#"{"path":"long","offset":20000,"limit":100}"#, 19_999..20_099),
        (r#"{"path":"long","offset":39999}"#, 39_998..40_000),
        (r#"{"path":"long","tail":1}"#, 39_999..40_000),
        (r#"{"path":"long","tail":30000}"#, 10_000..40_000),
        (r#"{"path":"long","tail":40000}"#, 0..40_000),
    ] {
        assert!(call(&toolbox, "read_file", arguments).await == lines[expected].concat(), "{arguments}");
    }
}

#[tokio::test]
async fn files_too_large() {
    let directory = tree(&[("large", &"0123456789\n".repeat(100)), ("one-line", &"x".repeat(2_000))]);
    let toolbox = open("filesystem", &[("max_file_bytes", &["1000"])], directory.path());
    assert_snapshot!(call(&toolbox, "read_file", r#"{"path":"large"}"#).await, @"failed: `large` has 1,100 bytes, more than the 1,000 bytes that fit (max_file_bytes): read some of its lines with head, tail, or offset and limit");
    assert_snapshot!(call(&toolbox, "read_file", r#"{"path":"large","head":91}"#).await, @"failed: these lines of `large` have more than 1,000 bytes (max_file_bytes): ask for fewer");
    assert_snapshot!(call(&toolbox, "read_file", r#"{"path":"large","tail":91}"#).await, @"failed: these lines of `large` have more than 1,000 bytes (max_file_bytes): ask for fewer");
    assert_snapshot!(call(&toolbox, "read_file", r#"{"path":"one-line","tail":1}"#).await, @"failed: these lines of `one-line` have more than 1,000 bytes (max_file_bytes): ask for fewer");
    assert_eq!(call(&toolbox, "read_file", r#"{"path":"large","head":90}"#).await.len(), 990);
    assert_eq!(call(&toolbox, "read_file", r#"{"path":"large","tail":90}"#).await.len(), 990);
    assert_eq!(call(&toolbox, "read_file", r#"{"path":"large","offset":100}"#).await, "0123456789\n");
}

/// A file of a terabyte, of which no byte exists.
#[tokio::test]
async fn huge_files_cost_nothing() {
    let directory = tree(&[("huge", "begin\n")]);
    let file = fs_err::OpenOptions::new().write(true).open(directory.path().join("huge")).unwrap();
    file.set_len(1 << 40).unwrap();
    let toolbox = files(&directory);
    assert_snapshot!(call(&toolbox, "read_file", r#"{"path":"huge"}"#).await, @"failed: `huge` has 1,099,511,627,776 bytes, more than the 10,485,760 bytes that fit (max_file_bytes): read some of its lines with head, tail, or offset and limit");
    assert_snapshot!(call(&toolbox, "read_file", r#"{"path":"huge","tail":1}"#).await, @"failed: `huge` is binary data, 1,099,511,627,776 bytes: it has no lines");
    assert_snapshot!(call(&toolbox, "read_file", r#"{"path":"huge","offset":2,"limit":1}"#).await, @"failed: `huge` is binary data, 1,099,511,627,776 bytes: it has no lines");
    assert_snapshot!(structured(&toolbox, "search_files", r#"{"contains":"begin"}"#).await, @r#"{"matches":[],"truncated":false,"too_large":1}"#);
}

#[tokio::test]
async fn lines_beyond_what_is_counted() {
    let directory = tree(&[]);
    fs_err::write(directory.path().join("long"), "x".repeat(10_000)).unwrap();
    fs_err::OpenOptions::new().write(true).open(directory.path().join("long")).unwrap().set_len(1 << 40).unwrap();
    let toolbox = files(&directory);
    assert_snapshot!(call(&toolbox, "read_file", r#"{"path":"long","offset":2}"#).await, @"failed: line 2 of `long` is not within its first 268,435,456 bytes");
}

#[tokio::test]
async fn pictures_sound_and_other_bytes() {
    let directory = tree(&[]);
    let toolbox = files(&directory);
    let mut told = String::new();
    for (name, content) in [
        ("a.png", PNG),
        ("a.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF"),
        ("a.gif", b"GIF89a\x01\0\x01\0"),
        ("a.webp", b"RIFF\x24\0\0\0WEBPVP8 "),
        ("a.bmp", b"BM\x46\0\0\0\0\0\0\0"),
        ("a.wav", b"RIFF\x24\0\0\0WAVEfmt "),
        ("a.mp3", b"ID3\x04\0\0"),
        ("b.mp3", b"\xff\xfb\x90\x64"),
        ("a.ogg", b"OggS\0\x02"),
        ("a.flac", b"fLaC\0\0"),
        ("a.pdf", b"%PDF-1.7\n"),
        ("a.zip", b"PK\x03\x04rest"),
        ("a.gz", b"\x1f\x8b\x08"),
        ("a.db", b"SQLite format 3\0rest"),
        ("a.out", b"\x7fELF\x02\x01"),
        ("utf16.txt", b"\xff\xfeh\0i\0"),
        ("latin1.txt", b"caf\xe9 au lait\n"),
        ("noise", b"\x80\x81\x82\x83abc"),
        ("nul", b"text with a \0 in it"),
        ("tells.txt", b"BM is two letters, ID3 and WAVE are words\n"),
        ("RIFF.txt", b"RIFF of a WAVEsong"),
        ("bom.txt", b"\xef\xbb\xbfmarked"),
        ("a.svg", b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>"),
    ] {
        fs_err::write(directory.path().join(name), content).unwrap();
        let answer = call(&toolbox, "read_file", &format!(r#"{{"path":"{name}"}}"#)).await;
        told.push_str(&format!("{name}: {answer:?}\n"));
    }
    assert_snapshot!(told, @r#"
    a.png: "[image image/png, 16 bytes]"
    a.jpg: "[image image/jpeg, 10 bytes]"
    a.gif: "[image image/gif, 10 bytes]"
    a.webp: "[image image/webp, 16 bytes]"
    a.bmp: "[image image/bmp, 10 bytes]"
    a.wav: "[audio audio/wav, 16 bytes]"
    a.mp3: "[audio audio/mpeg, 6 bytes]"
    b.mp3: "[audio audio/mpeg, 4 bytes]"
    a.ogg: "[audio audio/ogg, 6 bytes]"
    a.flac: "[audio audio/flac, 6 bytes]"
    a.pdf: "failed: `a.pdf` is a PDF document, 9 bytes: only text, pictures and sound can be read"
    a.zip: "failed: `a.zip` is a ZIP archive, 8 bytes: only text, pictures and sound can be read"
    a.gz: "failed: `a.gz` is gzip-compressed data, 3 bytes: only text, pictures and sound can be read"
    a.db: "failed: `a.db` is an SQLite database, 20 bytes: only text, pictures and sound can be read"
    a.out: "failed: `a.out` is a program or library, 6 bytes: only text, pictures and sound can be read"
    utf16.txt: "failed: `utf16.txt` is UTF-16 text, 6 bytes: only text, pictures and sound can be read"
    latin1.txt: "caf� au lait\n\n[bytes that are not UTF-8 are shown as �]"
    noise: "failed: `noise` is binary data, 7 bytes: only text, pictures and sound can be read"
    nul: "failed: `nul` is binary data, 19 bytes: only text, pictures and sound can be read"
    tells.txt: "BM is two letters, ID3 and WAVE are words\n"
    RIFF.txt: "RIFF of a WAVEsong"
    bom.txt: "\u{feff}marked"
    a.svg: "<svg xmlns=\"http://www.w3.org/2000/svg\"/>"
    "#);
    let picture = outcome(&toolbox, "read_file", r#"{"path":"a.png"}"#).await.unwrap();
    assert_snapshot!(picture.raw(), @r#"{"content":[{"type":"image","data":"iVBORw0KGgoAAAANSUhEUg==","mimeType":"image/png"}]}"#);
    assert_snapshot!(call(&toolbox, "read_file", r#"{"path":"a.png","head":1}"#).await, @"failed: `a.png` is image/png, 16 bytes: it has no lines");
    assert_snapshot!(call(&toolbox, "read_file", r#"{"path":"latin1.txt","head":1}"#).await, @"
    caf� au lait

    [bytes that are not UTF-8 are shown as �]
    ");
}

/// A NUL far behind the bytes that are sniffed.
#[tokio::test]
async fn binary_data_that_begins_like_text() {
    let directory = tree(&[("late", &format!("{}\0", "text\n".repeat(10_000)))]);
    let toolbox = files(&directory);
    assert_snapshot!(call(&toolbox, "read_file", r#"{"path":"late"}"#).await, @"failed: `late` is binary data, 50,001 bytes: only text, pictures and sound can be read");
    assert_snapshot!(call(&toolbox, "read_file", r#"{"path":"late","tail":1}"#).await, @"failed: these lines of `late` are binary data");
    assert_eq!(call(&toolbox, "read_file", r#"{"path":"late","head":1}"#).await, "text\n");
}

#[tokio::test]
async fn several_files() {
    let directory = tree(&[("a", "alpha\n"), ("b", "beta"), ("large", &"x".repeat(500))]);
    fs_err::write(directory.path().join("p.png"), PNG).unwrap();
    let toolbox = open("filesystem", &[("max_file_bytes", &["502"])], directory.path());
    let read = call(&toolbox, "read_many", r#"{"paths":["a","missing","p.png","../x","b","large"]}"#).await;
    assert_snapshot!(without(&directory, &read), @"
    ==> a <==
    alpha

    ==> missing <==
    [not read: there is no `missing`]
    ==> p.png <==
    [image image/png, 16 bytes]
    ==> ../x <==
    [not read: `../x` leads outside the directories that may be used: [dir]]
    ==> b <==
    beta
    ==> large <==
    [not read: `large` has 500 bytes, more than the 476 bytes that fit (max_file_bytes): read some of its lines with head, tail, or offset and limit]
    ");
    assert_snapshot!(call(&toolbox, "read_many", r#"{"paths":["missing","a\u0000"]}"#).await, @r#"
    failed: ==> missing <==
    [not read: there is no `missing`]
    ==> a\u{0} <==
    [not read: `a\u{0}` holds a NUL, which no path can]
    "#);
    for paths in ["[]", &format!("[{}\"a\"]", "\"a\",".repeat(100))] {
        let failure = unchecked(&toolbox, "read_many", &format!(r#"{{"paths":{paths}}}"#)).await.unwrap_err();
        assert_eq!(failure.to_string(), "`paths` holds 1 to 100 paths");
    }
}

#[tokio::test]
async fn paths_that_are_nothing_to_read() {
    let directory = tree(&[("a/b", "")]);
    let toolbox = files(&directory);
    let mut told = String::new();
    for path in [
        "missing",
        "a",
        ".",
        "..",
        "",
        "a/b/c",
        "/",
        "/etc/passwd",
        "a/../../x",
        "x\0y",
        "a\nb\u{1b}[2J",
        "~",
        &"x".repeat(300),
        &"x/".repeat(3_000),
        "b/../a/b/",
    ] {
        let arguments = serde_json::json!({ "path": path }).to_string();
        told.push_str(&call(&toolbox, "read_file", &arguments).await);
        told.push('\n');
    }
    assert_snapshot!(without(&directory, &told), @r#"
    failed: there is no `missing`
    failed: `a` is a directory; list_directory shows what is in it
    failed: `.` is a directory; list_directory shows what is in it
    failed: `..` leads outside the directories that may be used: [dir]
    failed: the path is empty; `.` is the directory itself
    failed: `a/b/c` is not a directory, or passes something that is not
    failed: `/` is outside the directories that may be used: [dir]
    failed: `/etc/passwd` is outside the directories that may be used: [dir]
    failed: `a/../../x` leads outside the directories that may be used: [dir]
    failed: `x\u{0}y` holds a NUL, which no path can
    failed: there is no `a\nb\u{1b}[2J`
    failed: there is no `~`
    failed: `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…` is too long for a path
    failed: `x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/…` is too long for a path
    failed: there is no `b/../a/b/`
    "#);
}

#[tokio::test]
async fn no_permission() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tree(&[("locked", "secret"), ("closed/inside", "secret")]);
    for path in ["locked", "closed"] {
        fs_err::set_permissions(directory.path().join(path), std::fs::Permissions::from_mode(0o000)).unwrap();
    }
    // The superuser reads everything, so this cannot be tested.
    if fs_err::read(directory.path().join("locked")).is_ok() {
        return;
    }
    let toolbox = files(&directory);
    assert_eq!(call(&toolbox, "read_file", r#"{"path":"locked"}"#).await, "failed: no permission for `locked`");
    assert_eq!(call(&toolbox, "list_directory", r#"{"path":"closed"}"#).await, "failed: no permission for `closed`");
}

/// Pipes, sockets and devices are neither waited for nor read, in no tool.
#[tokio::test]
async fn what_is_no_file_does_not_hang() {
    let directory = tree(&[("file", "text")]);
    rustix::fs::mknodat(CWD, directory.path().join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    fs_err::os::unix::fs::symlink("pipe", directory.path().join("link")).unwrap();
    drop(std::os::unix::net::UnixListener::bind(directory.path().join("socket")).unwrap());
    let toolbox = files(&directory);
    let mut told = String::new();
    for path in ["pipe", "link", "socket"] {
        for arguments in [format!(r#"{{"path":"{path}"}}"#), format!(r#"{{"path":"{path}","tail":1}}"#)] {
            told.push_str(&format!("{}\n", call(&toolbox, "read_file", &arguments).await));
        }
        let info = structured(&toolbox, "file_info", &format!(r#"{{"path":"{path}"}}"#)).await;
        let info: serde_json::Value = serde_json::from_str(&info).unwrap();
        told.push_str(&format!("{}\n", info["kind"]));
    }
    told.push_str(&format!("{}\n", call(&toolbox, "read_many", r#"{"paths":["pipe","file"]}"#).await));
    told.push_str(&format!("{}\n", call(&toolbox, "search_files", r#"{"contains":"text"}"#).await));
    told.push_str(&format!("{}\n", call(&toolbox, "list_directory", "{}").await));
    assert_snapshot!(told, @r#"
    failed: `pipe` is a named pipe, not a file
    failed: `pipe` is a named pipe, not a file
    "fifo"
    failed: `link` is a named pipe, not a file
    failed: `link` is a named pipe, not a file
    "symlink"
    failed: `socket` is a socket, not a file
    failed: `socket` is a socket, not a file
    "socket"
    ==> pipe <==
    [not read: `pipe` is a named pipe, not a file]
    ==> file <==
    text
    file:1: text
    file  (4 bytes)
    link  (symlink)
    pipe  (fifo)
    socket  (socket)
    "#);

    let devices = open("filesystem", &[("roots", &["/dev"])], directory.path());
    assert_eq!(call(&devices, "read_file", r#"{"path":"zero"}"#).await, "failed: `zero` is a device, not a file");
    assert_eq!(
        call(&devices, "read_file", r#"{"path":"null","head":1}"#).await,
        "failed: `null` is a device, not a file"
    );
}

/// Files without a size, and links that are none.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_files_of_the_kernel() {
    let directory = tree(&[]);
    let toolbox = open("filesystem", &[("roots", &["/proc/self"])], directory.path());
    assert!(call(&toolbox, "read_file", r#"{"path":"status"}"#).await.starts_with("Name:"));
    assert!(call(&toolbox, "read_file", r#"{"path":"status","tail":1}"#).await.contains("ctxt_switches"));
    // The magic links lead anywhere.
    for path in ["root/etc/passwd", "cwd/Cargo.toml", "exe", "fd/0"] {
        let answer = call(&toolbox, "read_file", &format!(r#"{{"path":"{path}"}}"#)).await;
        assert!(answer.starts_with("failed: "), "{path}: {answer}");
    }
}

#[tokio::test]
async fn directories() {
    let directory = tree(&[("b.txt", "12345"), ("a/x", ""), ("Z", &"x".repeat(1_234)), ("empty/.keep", "")]);
    fs_err::remove_file(directory.path().join("empty/.keep")).unwrap();
    fs_err::os::unix::fs::symlink("/etc", directory.path().join("away")).unwrap();
    let toolbox = files(&directory);
    assert_snapshot!(call(&toolbox, "list_directory", "{}").await, @"
    Z  (1,234 bytes)
    a/
    away  (symlink)
    b.txt  (5 bytes)
    empty/
    ");
    assert_snapshot!(structured(&toolbox, "list_directory", r#"{"path":"."}"#).await, @r#"{"entries":[{"name":"Z","kind":"file","size":1234},{"name":"a","kind":"directory"},{"name":"away","kind":"symlink"},{"name":"b.txt","kind":"file","size":5},{"name":"empty","kind":"directory"}],"truncated":false}"#);
    assert_snapshot!(call(&toolbox, "list_directory", r#"{"path":"empty"}"#).await, @"[empty]");
    assert_snapshot!(without(&directory, &call(&toolbox, "list_directory", r#"{"path":"away"}"#).await), @"failed: `away` leads outside the directories that may be used: [dir]");
    assert_snapshot!(call(&toolbox, "list_directory", r#"{"path":"b.txt"}"#).await, @"failed: `b.txt` is not a directory, or passes something that is not");
    assert_snapshot!(call(&toolbox, "list_directory", r#"{"path":"missing"}"#).await, @"failed: there is no `missing`");
}

#[tokio::test]
async fn large_directories_are_cut() {
    let directory = tree(&[]);
    for number in 0..1_003 {
        fs_err::write(directory.path().join(format!("{number:05}")), "").unwrap();
    }
    let toolbox = files(&directory);
    let listed: serde_json::Value = serde_json::from_str(&structured(&toolbox, "list_directory", "{}").await).unwrap();
    assert_eq!((listed["entries"].as_array().unwrap().len(), &listed["truncated"]), (1_000, &true.into()));
    let text = call(&toolbox, "list_directory", "{}").await;
    assert_snapshot!(text.lines().skip(998).collect::<Vec<_>>().join("\n"), @"
    00998  (0 bytes)
    00999  (0 bytes)
    [3 more names]
    ");
}

#[tokio::test]
async fn names_that_lie() {
    let directory = tree(&[]);
    for name in
        [&b"two\nlines"[..], b"esc\x1b[2J", b"\xff\xfe", b"rtl\xe2\x80\xaetxt.exe", b"-rf", b"a b", b"quote\"\\"]
    {
        fs_err::write(directory.path().join(OsStr::from_bytes(name)), "content").unwrap();
    }
    let toolbox = files(&directory);
    assert_snapshot!(call(&toolbox, "list_directory", "{}").await, @r#"
    -rf  (7 bytes)
    a b  (7 bytes)
    esc\u{1b}[2J  (7 bytes)
    quote"\  (7 bytes)
    rtl\u{202e}txt.exe  (7 bytes)
    two\nlines  (7 bytes)
    ��  (7 bytes)
    "#);
    let listed = structured(&toolbox, "list_directory", "{}").await;
    assert_snapshot!(listed.replace('\u{202e}', "[turn]"), @r#"{"entries":[{"name":"-rf","kind":"file","size":7},{"name":"a b","kind":"file","size":7},{"name":"esc\u001b[2J","kind":"file","size":7},{"name":"quote\"\\","kind":"file","size":7},{"name":"rtl[turn]txt.exe","kind":"file","size":7},{"name":"two\nlines","kind":"file","size":7},{"name":"��","kind":"file","size":7,"lossy":true}],"truncated":false}"#);
    assert_snapshot!(call(&toolbox, "search_files", r#"{"pattern":"*"}"#).await, @r#"
    -rf
    a b
    esc\u{1b}[2J
    quote"\
    rtl\u{202e}txt.exe
    two\nlines
    ��
    "#);
    assert_snapshot!(call(&toolbox, "search_files", r#"{"contains":"content"}"#).await, @r#"
    -rf:1: content
    a b:1: content
    esc\u{1b}[2J:1: content
    quote"\:1: content
    rtl\u{202e}txt.exe:1: content
    two\nlines:1: content
    ��:1: content
    "#);
    // What is text can be read by its name.
    for name in ["two\nlines", "esc\u{1b}[2J", "rtl\u{202e}txt.exe", "-rf", "a b", "quote\"\\"] {
        let arguments = serde_json::json!({ "path": name }).to_string();
        assert_eq!(call(&toolbox, "read_file", &arguments).await, "content");
    }
}

#[tokio::test]
async fn about_a_path() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tree(&[("a.txt", "hello"), ("sub/x", "")]);
    let set = |path: &str, mode| {
        fs_err::set_permissions(directory.path().join(path), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set("a.txt", 0o640);
    let file = fs_err::File::open(directory.path().join("a.txt")).unwrap();
    let changed = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    file.set_modified(changed).unwrap();
    fs_err::os::unix::fs::symlink("../nowhere", directory.path().join("link")).unwrap();
    let toolbox = files(&directory);
    assert_snapshot!(call(&toolbox, "file_info", r#"{"path":"a.txt"}"#).await, @"
    a.txt: file
    size: 5 bytes
    modified: 2001-09-09T01:46:40Z
    mode: 0640
    type: text/plain
    ");
    assert_snapshot!(structured(&toolbox, "file_info", r#"{"path":"a.txt"}"#).await, @r#"{"path":"a.txt","kind":"file","size":5,"modified":"2001-09-09T01:46:40Z","mode":"0640","type":"text/plain"}"#);
    let link: serde_json::Value =
        serde_json::from_str(&structured(&toolbox, "file_info", r#"{"path":"link"}"#).await).unwrap();
    assert_eq!((&link["kind"], &link["target"]), (&"symlink".into(), &"../nowhere".into()));
    for path in [".", "sub", "sub/.."] {
        let info = structured(&toolbox, "file_info", &format!(r#"{{"path":"{path}"}}"#)).await;
        assert!(info.contains(r#""kind":"directory""#), "{info}");
    }
    assert_snapshot!(call(&toolbox, "file_info", r#"{"path":"missing"}"#).await, @"failed: there is no `missing`");
    assert_snapshot!(without(&directory, &call(&toolbox, "file_info", r#"{"path":".."}"#).await), @"failed: `..` leads outside the directories that may be used: [dir]");
}
