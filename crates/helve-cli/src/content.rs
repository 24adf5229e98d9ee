//! A tool's result for a person: text as text, pictures and sounds as files with a name.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use helve_model::{ContentBlock, ContentBody, Media, OutcomeView, ResourceBody};

use crate::context::Context;
use crate::failure::Failure;
use crate::result_directories;

/// So many files of one result are saved.
const MAX_FILES: usize = 1_000;
/// So many bytes of one result are saved.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;

/// Where files of a result go.
#[derive(Debug)]
pub(crate) struct SavePlace {
    /// The directory the person named; else one is made for the occasion.
    named: Option<PathBuf>,
    temporary: PathBuf,
    now: SystemTime,
    /// The beginning of every file's name.
    stem: String,
    /// The directory, once there is one.
    opened: Option<PathBuf>,
    /// How many contents have been looked at.
    count: usize,
    /// How many were saved, and their bytes.
    files: usize,
    bytes: u64,
}

/// The result as text; what is not text is saved, and named in its place.
pub(crate) fn to_text(view: &OutcomeView, place: &mut SavePlace) -> Result<String, Failure> {
    if view.content.is_empty() {
        return Ok(view.to_text());
    }
    let mut pieces = Vec::new();
    for block in &view.content {
        pieces.push(match saved(block) {
            None => {
                place.count += 1;
                OutcomeView { content: vec![block.clone()], ..empty() }.to_text()
            }
            Some((what, mime, data)) => match STANDARD.decode(data) {
                Ok(bytes) => place.save(what, mime, &bytes)?,
                Err(_) => {
                    place.count += 1;
                    format!("[{what} that is not base 64, {} characters]", data.len())
                }
            },
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

impl SavePlace {
    /// In `directory`, or in one that is made for the occasion; the files are called after `subject`.
    pub(crate) fn new(context: &Context, directory: Option<&Path>, subject: &str) -> Self {
        Self {
            named: directory.map(|directory| context.env.working_directory().join(directory)),
            temporary: context.env.temporary_directory().to_owned(),
            stem: stem(subject),
            now: context.env.now(),
            opened: None,
            count: 0,
            files: 0,
            bytes: 0,
        }
    }

    /// Saves one content; gives the words that name it.
    pub(crate) fn save(&mut self, what: &str, mime: Option<&str>, bytes: &[u8]) -> Result<String, Failure> {
        self.count += 1;
        let shown_type = mime.unwrap_or("of unknown type");
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        if self.files >= MAX_FILES || self.bytes > MAX_BYTES {
            return Ok(format!(
                "[{what} {shown_type}, {} bytes: not saved, the result has too many files]",
                bytes.len()
            ));
        }
        self.files += 1;
        // What the person named a place for is as open as their other files.
        let mode = if self.named.is_some() { 0o666 } else { 0o600 };
        let extension = extension(mime.unwrap_or_default());
        let stem = format!("{}-{}", self.stem, self.count);
        let directory = self.open()?;
        // Never over a file that is there.
        let mut number = 0;
        let path = loop {
            let suffix = if number == 0 { String::new() } else { format!("-{number}") };
            let path = directory.join(format!("{stem}{suffix}.{extension}"));
            match fs_err::OpenOptions::new().write(true).create_new(true).mode(mode).open(&path) {
                Ok(mut file) => {
                    std::io::Write::write_all(&mut file, bytes).map_err(|error| Failure::file(&error))?;
                    break path;
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(Failure::file(&error)),
            }
        };
        Ok(format!("[{what} {shown_type}, {} bytes: {}]", bytes.len(), path.display()))
    }

    fn open(&mut self) -> Result<PathBuf, Failure> {
        if let Some(directory) = &self.opened {
            return Ok(directory.clone());
        }
        let directory = match &self.named {
            Some(directory) => {
                fs_err::create_dir_all(directory).map_err(|error| Failure::file(&error))?;
                directory.clone()
            }
            None => result_directories::make(&self.temporary, self.now)
                .map_err(|error| Failure::other("no directory for the result's files could be made").cause(&error))?,
        };
        Ok(self.opened.insert(directory).clone())
    }
}

/// The letters and digits of a name that a server chose.
fn stem(name: &str) -> String {
    let clean: String = name
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() { character } else { '-' })
        .take(40)
        .collect();
    if clean.is_empty() { "result".to_owned() } else { clean }
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
