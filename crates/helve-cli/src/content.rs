//! A tool's result for a person: text as text, pictures and sounds as files with a name.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use helve_model::{ContentBlock, ContentBody, Media, OutcomeView, ResourceBody};

use crate::failure::Failure;

/// Where files of a result go.
#[derive(Debug)]
pub(crate) struct SavePlace {
    /// The directory the person named; else one is made for the occasion.
    pub(crate) directory: Option<PathBuf>,
    pub(crate) temporary: PathBuf,
    /// The beginning of every file's name.
    pub(crate) stem: String,
}

/// The result as text; what is no text is saved, and named in its place.
pub(crate) fn to_text(view: &OutcomeView, place: &SavePlace) -> Result<String, Failure> {
    if view.content.is_empty() {
        return Ok(view.to_text());
    }
    let mut directory = None;
    let mut pieces = Vec::new();
    for (index, block) in view.content.iter().enumerate() {
        pieces.push(match saved(block) {
            None => OutcomeView { content: vec![block.clone()], ..empty() }.to_text(),
            Some((what, mime, data)) => {
                let directory = match &directory {
                    Some(directory) => directory,
                    None => directory.insert(place.open()?),
                };
                save(directory, &format!("{}-{}", place.stem, index + 1), what, mime, data)?
            }
        });
    }
    Ok(pieces.join("\n"))
}

fn empty() -> OutcomeView {
    OutcomeView { is_error: false, content: Vec::new(), structured: None, meta: None }
}

/// What of a block belongs into a file: what it is, its type, its data.
fn saved(block: &ContentBlock) -> Option<(&'static str, Option<&str>, &str)> {
    match &block.body {
        ContentBody::Image(Media { mime_type, data }) => Some(("image", Some(mime_type), data)),
        ContentBody::Audio(Media { mime_type, data }) => Some(("audio", Some(mime_type), data)),
        ContentBody::Resource(contents) => match &contents.body {
            ResourceBody::Blob(data) => Some(("resource", contents.mime_type.as_deref(), data)),
            ResourceBody::Text(_) => None,
        },
        ContentBody::Text(_) | ContentBody::ResourceLink(_) | ContentBody::Unknown { .. } => None,
    }
}

fn save(directory: &Path, stem: &str, what: &str, mime: Option<&str>, data: &str) -> Result<String, Failure> {
    let Ok(bytes) = STANDARD.decode(data) else {
        return Ok(format!("[{what} that is not base 64, {} characters]", data.len()));
    };
    let extension = extension(mime.unwrap_or_default());
    // Never over a file that is there.
    let mut number = 0;
    let path = loop {
        let suffix = if number == 0 { String::new() } else { format!("-{number}") };
        let path = directory.join(format!("{stem}{suffix}.{extension}"));
        match fs_err::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                std::io::Write::write_all(&mut file, &bytes).map_err(|error| Failure::file(&error))?;
                break path;
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(Failure::file(&error)),
        }
    };
    Ok(format!("[{what} {}, {} bytes: {}]", mime.unwrap_or("of unknown type"), bytes.len(), path.display()))
}

impl SavePlace {
    fn open(&self) -> Result<PathBuf, Failure> {
        match &self.directory {
            Some(directory) => {
                fs_err::create_dir_all(directory).map_err(|error| Failure::file(&error))?;
                Ok(directory.clone())
            }
            // Readable by its owner alone.
            None => tempfile::Builder::new()
                .prefix("helve-")
                .tempdir_in(&self.temporary)
                .map(tempfile::TempDir::keep)
                .map_err(|error| Failure::other("no directory for the result's files could be made").cause(&error)),
        }
    }
}

/// The usual ending of a type's files; only letters and digits of what a server says get into a name.
fn extension(mime: &str) -> String {
    let subtype = mime.split(';').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
    let known = match subtype {
        "jpeg" => "jpg",
        "svg+xml" => "svg",
        "mpeg" => "mp3",
        "x-wav" => "wav",
        "plain" => "txt",
        "octet-stream" | "" => "bin",
        other => other,
    };
    let clean: String = known.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
    if clean.is_empty() { "bin".to_owned() } else { clean }
}
