//! `.env` files: `NAME=value` lines, with `export`, quotes and comments.

use std::path::Path;

/// Larger files are no `.env` files.
const MAX_BYTES: u64 = 1024 * 1024;

/// Reads a `.env` file. The error says why it cannot be read.
pub(crate) fn read(path: &Path) -> Result<Vec<(String, String)>, &'static str> {
    let metadata = fs_err::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "it does not exist",
        _ => "it cannot be read",
    })?;
    if !metadata.is_file() {
        return Err("it is not a file");
    }
    if metadata.len() > MAX_BYTES {
        return Err("it is larger than 1 MiB");
    }
    let bytes = fs_err::read(path).map_err(|_| "it cannot be read")?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8")?;
    Ok(parse(&text))
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
