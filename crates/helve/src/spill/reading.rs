//! A resource that is too large: each of its contents is kept in a file, and says where.

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use helve_model::json::ObjectWriter;
use helve_model::{QualifiedName, ReadOutcome, ResourceBody, ResourceContents};
use serde_json::json;

use super::{Files, LENIENT, MAX_MEDIA_FILES, extension};

/// Cuts the contents of a resource to `limit` bytes, and keeps what is cut whole in files, where there is a directory
/// for them. `None`: it is small enough.
///
/// Blocks while it writes. What it wrote before it failed stays.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn spill_contents(
    outcome: &ReadOutcome,
    name: &QualifiedName,
    limit: usize,
    directory: Option<&Path>,
) -> io::Result<Option<(ReadOutcome, Vec<PathBuf>)>> {
    if outcome.raw().as_str().len() <= limit {
        return Ok(None);
    }
    let mut files = Files::new(directory, name);
    let mut left = limit;
    let mut contents: Vec<String> = Vec::new();
    for piece in outcome.contents() {
        let raw = piece.raw.as_str();
        if raw.len() <= left {
            left -= raw.len();
            contents.push(raw.to_owned());
        } else if files.written.len() >= MAX_MEDIA_FILES {
            contents.push(cut(&piece, &format!("[{} bytes left out: there is too much of it]", raw.len())));
        } else {
            contents.push(cut(&piece, &keep(&piece, &mut left, &mut files)?));
        }
    }
    let outcome = ReadOutcome::new(ObjectWriter::new().array("contents", contents).finish());
    Ok(Some((outcome, files.written)))
}

/// Puts one of the contents into a file; what is passed on instead.
fn keep(piece: &ResourceContents, left: &mut usize, files: &mut Files) -> io::Result<String> {
    let mime_type = piece.mime_type.as_deref().unwrap_or("text/plain");
    match &piece.body {
        ResourceBody::Text(text) => {
            let path = files.keep(text.as_bytes(), extension(mime_type))?;
            let head = text.get(..text.floor_char_boundary(*left)).unwrap_or_default();
            *left = 0;
            let missing = text.len() - head.len();
            let place = path.map(|path| format!("; the whole is in {}", path.display())).unwrap_or_default();
            Ok(format!("{head}\n[cut: {missing} more bytes{place}]"))
        }
        ResourceBody::Blob(data) => match LENIENT.decode(data) {
            Ok(bytes) => {
                let path = files.keep(&bytes, extension(mime_type))?;
                let place = path.map_or_else(|| "left out".to_owned(), |path| format!("in {}", path.display()));
                Ok(format!("[{} bytes, {place}]", bytes.len()))
            }
            Err(_) => Ok(format!("[{} bytes that are not base 64]", data.len())),
        },
    }
}

fn cut(piece: &ResourceContents, text: &str) -> String {
    match &piece.mime_type {
        Some(mime_type) => json!({"uri": piece.uri, "mimeType": mime_type, "text": text}).to_string(),
        None => json!({"uri": piece.uri, "text": text}).to_string(),
    }
}
