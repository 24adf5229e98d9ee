//! How words are spelled that name files: paths without detours, data, a shell's patterns.

use std::path::{Component, Path, PathBuf};

/// Files that change because a server does its work; asking again for them would ask every day.
const DATA_EXTENSIONS: &[&str] = &["db", "sqlite", "sqlite3", "duckdb", "log", "csv", "parquet"];

/// A file's address as a path.
pub(super) fn location(word: &str) -> &str {
    word.strip_prefix("file://").unwrap_or(word)
}

/// `-x`, `-xyz`, not `--long` and not `-` alone.
pub(super) fn is_short(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.len() > 1
}

pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| crate::interpolate::is_variable_name(name))
}

/// True for a file that a server works on and nobody runs.
pub(super) fn is_data(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    DATA_EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str())
}

/// `path` without `.`. A `..` stays: behind a link it leads elsewhere than it seems.
pub(super) fn tidy(path: &Path) -> PathBuf {
    path.components().collect()
}

/// `path` without `.` and `..`, before symbolic links are followed: a link out of the project is still the project's.
pub(super) fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}

/// A shell's pattern against one name; a set in brackets stands for any letter. No slower than the product of both
/// lengths, whatever the pattern.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = Vec::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        parts.push(match letter {
            '*' => Part::Any,
            '?' => Part::One,
            '[' if letters.as_str().contains(']') => {
                letters.find(|letter| *letter == ']');
                Part::One
            }
            letter => Part::Letter(letter),
        });
    }
    // Which beginnings of the pattern the name so far may be.
    let mut reached = vec![false; parts.len() + 1];
    let close = |reached: &mut Vec<bool>| {
        for (index, part) in parts.iter().enumerate() {
            if *part == Part::Any
                && reached.get(index) == Some(&true)
                && let Some(next) = reached.get_mut(index + 1)
            {
                *next = true;
            }
        }
    };
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    close(&mut reached);
    for letter in name.chars() {
        let mut next = vec![false; parts.len() + 1];
        for (index, part) in parts.iter().enumerate().filter(|(index, _)| reached.get(*index) == Some(&true)) {
            let to = match part {
                Part::Any => Some(index),
                Part::One => Some(index + 1),
                Part::Letter(wanted) => (*wanted == letter).then_some(index + 1),
            };
            if let Some(place) = to.and_then(|to| next.get_mut(to)) {
                *place = true;
            }
        }
        close(&mut next);
        reached = next;
    }
    reached.last() == Some(&true)
}

/// One part of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Any,
    One,
    Letter(char),
}
