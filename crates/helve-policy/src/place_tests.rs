//! Which arguments are places by their names.

use super::*;

#[test]
fn names_say_that_they_are_places() {
    for name in [
        "path",
        "paths",
        "PATH",
        "Path",
        "output_file",
        "outputFile",
        "sourcePath",
        "source",
        "to",
        "old-path",
        "file.path",
        "destinations",
        "targetURI",
        "rootDir",
        "files",
        "$path",
    ] {
        assert!(is_place(name), "{name}");
    }
    for name in
        ["", "profile", "query", "limit", "recursive", "pathology", "path_count", "tomorrow", "_", "content", "into"]
    {
        assert!(!is_place(name), "{name}");
    }
}

#[test]
fn every_word_stands_under_its_length() {
    for (length, words) in PLACE_WORDS.iter().enumerate() {
        assert!(words.iter().all(|word| word.len() == length && is_place(word)), "{length}");
    }
}

#[test]
fn directories_are_compared_in_one_form() {
    let mut directories = Directories::new([Path::new("/Srv//app/"), Path::new("relative"), Path::new("/srv/app")]);
    directories.add_uri("FILE:///a%20b/../c");
    directories.add_uri("https://example.com/x");
    assert_eq!(directories.iter().collect::<Vec<_>>(), ["/srv/app", "/c"]);
}
