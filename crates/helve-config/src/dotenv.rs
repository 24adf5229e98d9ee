//! `.env` files: `NAME=value` lines, with `export`, quotes and comments.

use std::path::Path;

use crate::reading::{self, Budget, Unread};
use crate::trust::TrustHash;

/// Larger files are no `.env` files.
const MAX_BYTES: u64 = 1024 * 1024;

/// A `.env` file.
pub(crate) struct DotEnv {
    pub(crate) variables: Vec<(String, String)>,
    /// The hash of its text.
    pub(crate) content: TrustHash,
}

/// Reads a `.env` file. The error says why it cannot be read.
pub(crate) fn read(path: &Path, budget: &Budget) -> Result<DotEnv, Unread> {
    let text = reading::text(path, MAX_BYTES, budget)?;
    Ok(DotEnv { variables: parse(&text), content: TrustHash::of_content(text.as_bytes()) })
}

/// The variables of a `.env` file; lines that are none are skipped.
pub(crate) fn parse(text: &str) -> Vec<(String, String)> {
    text.lines()
        .filter_map(|line| {
            let line = line.trim();
            let line = line.strip_prefix("export ").unwrap_or(line);
            let (name, value) = line.split_once('=')?;
            let name = name.trim();
            crate::interpolate::is_variable_name(name).then(|| (name.to_owned(), unquote(value.trim())))
        })
        .collect()
}

fn unquote(value: &str) -> String {
    if let Some(inside) = value.strip_prefix('\'') {
        return inside.split('\'').next().unwrap_or_default().to_owned();
    }
    if let Some(inside) = value.strip_prefix('"') {
        let mut text = String::new();
        let mut characters = inside.chars();
        while let Some(character) = characters.next() {
            match character {
                '"' => break,
                '\\' => match characters.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some(other) => text.push(other),
                    None => text.push('\\'),
                },
                other => text.push(other),
            }
        }
        return text;
    }
    // An unquoted value ends at a comment, which needs a blank before it: `a#b` is a value.
    value.split(" #").next().unwrap_or_default().trim_end().to_owned()
}
