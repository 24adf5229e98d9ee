//! Results that are too large: the whole is kept in a file, a part is passed on and says where the rest is. Without a
//! directory for files, or with a full one, the rest is gone, and the part says so.
//!
//! The limit is shared by all that is passed on, in this order: content, block by block; structured content, which
//! is whole or absent, since half of it would be another value. Members that helve does not know have a share of
//! their own. `isError` always stays.

mod prompt;
mod reading;
mod sweep;

use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use helve_model::json::{ObjectWriter, scan};
use helve_model::text::is_invisible;
use helve_model::{ContentBlock, ContentBody, Outcome, QualifiedName, ResourceBody};

use crate::private_directory;
pub(crate) use prompt::spill_messages;
pub(crate) use reading::spill_contents;
use sweep::has_room;
pub(crate) use sweep::sweep;

/// Members that are neither content nor structured content may take this part of the limit, one nth.
const OTHERS_PART: usize = 4;
/// A server's or tool's name takes so many characters of a file's name.
const NAME_CHARACTERS: usize = 40;
/// So many characters of a file's name are random.
const RANDOM_CHARACTERS: usize = 8;
/// So many pictures and the like of one result get files of their own; the file of the whole result has the others.
const MAX_MEDIA_FILES: usize = 16;
/// So many things that are left out are named; the others are counted.
const MAX_NAMED: usize = 8;
/// So many characters of an address or a type are shown.
const SHOWN_CHARACTERS: usize = 120;

/// Base 64 as servers write it, with or without padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A result that was too large.
#[derive(Debug)]
pub(crate) struct Spilled {
    /// What is passed on.
    pub(crate) outcome: Outcome,
    /// The files that were written: the media that were taken out of the result, then the whole result.
    pub(crate) files: Vec<PathBuf>,
}

/// Cuts a result of more than `limit` bytes, and keeps it whole in a new file, where there is a directory for it. `None`:
/// it is small enough.
///
/// Blocks while it writes. What it wrote before it failed stays.
///
/// # Errors
/// When a file cannot be written, or the result is not JSON.
pub(crate) fn spill(
    outcome: &Outcome,
    name: &QualifiedName,
    limit: usize,
    directory: Option<&Path>,
) -> io::Result<Option<Spilled>> {
    let raw = outcome.raw().as_str();
    if raw.len() <= limit {
        return Ok(None);
    }
    let view = outcome.open().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
    let mut files = Files::new(directory, name);
    let mut shape = Shape::new(limit);
    for block in &view.content {
        shape.take(block, &mut files)?;
    }
    let mut members: Vec<(&str, &str)> = Vec::new();
    let mut others_left = limit / OTHERS_PART;
    for member in scan::members(raw).into_iter().flatten().map_while(Result::ok) {
        let length = member.raw_key.len() + member.value.len();
        if member.key_is("content") || member.key_is("structuredContent") {
            continue;
        }
        if length <= others_left || member.raw_key == "isError" {
            others_left = others_left.saturating_sub(length);
            members.push((member.raw_key, member.value));
        } else {
            shape.left_out.push(format!("`{}` of {} bytes", shown(member.raw_key), member.value.len()));
        }
    }
    if let Some(structured) = &view.structured {
        let length = structured.as_str().len();
        if length <= shape.left {
            members.push(("structuredContent", structured.as_str()));
        } else {
            shape.left_out.push(format!("structured content of {length} bytes"));
            if view.content.is_empty() {
                // It is all there is to read.
                shape.cut_text(structured.as_str());
            }
        }
    }
    if shape.is_as_it_was && shape.left_out.is_empty() {
        return Ok(None);
    }
    let whole = files.keep(raw.as_bytes(), "json")?;
    shape.say_where(whole.as_deref());
    let mut written = ObjectWriter::new().array("content", &shape.blocks);
    for (raw_key, value) in members {
        written.add_written(raw_key, value);
    }
    Ok(Some(Spilled { outcome: Outcome::new(written.finish()), files: files.written }))
}

/// What is passed on, so far.
struct Shape {
    /// So many bytes may still be passed on.
    left: usize,
    blocks: Vec<String>,
    /// Every block so far is passed on as it came.
    is_as_it_was: bool,
    missing_text: usize,
    left_out: Vec<String>,
}

impl Shape {
    const fn new(limit: usize) -> Self {
        Self { left: limit, blocks: Vec::new(), is_as_it_was: true, missing_text: 0, left_out: Vec::new() }
    }

    fn take(&mut self, block: &ContentBlock, files: &mut Files) -> io::Result<()> {
        let raw = block.raw.as_str();
        if raw.len() <= self.left {
            self.left -= raw.len();
            self.push(&block.body, raw);
            return Ok(());
        }
        self.is_as_it_was = false;
        match &block.body {
            ContentBody::Text(text) => self.cut_text(text),
            ContentBody::Image(media) => self.put_into_file("image", &media.mime_type, &media.data, files)?,
            ContentBody::Audio(media) => self.put_into_file("audio", &media.mime_type, &media.data, files)?,
            ContentBody::Resource(contents) => match &contents.body {
                ResourceBody::Text(text) => {
                    if self.left > 0 {
                        self.push_text(&format!("[resource {}]", shown(&contents.uri)));
                    }
                    self.cut_text(text);
                }
                ResourceBody::Blob(data) => {
                    let mime_type = contents.mime_type.as_deref().unwrap_or_default();
                    self.put_into_file(&format!("resource {}", shown(&contents.uri)), mime_type, data, files)?;
                }
            },
            ContentBody::ResourceLink(link) => {
                self.left_out.push(format!("a link to {} of {} bytes", shown(&link.uri), raw.len()));
            }
            ContentBody::Unknown { kind } => {
                let kind = kind.as_deref().unwrap_or("unknown");
                self.left_out.push(format!("content of kind {:?} of {} bytes", shown(kind), raw.len()));
            }
        }
        Ok(())
    }

    fn push(&mut self, body: &ContentBody, raw: &str) {
        // A content that was a bare string is a text as it stands.
        match body {
            ContentBody::Text(text) if !raw.starts_with('{') => self.push_text(text),
            _ => self.blocks.push(raw.to_owned()),
        }
    }

    fn push_text(&mut self, text: &str) {
        self.blocks.push(ObjectWriter::new().text("type", "text").text("text", text).into_text());
    }

    /// As much of a text as there is room for.
    fn cut_text(&mut self, text: &str) {
        let end = text.floor_char_boundary(self.left);
        let kept = text.get(..end).unwrap_or_default();
        if !kept.is_empty() {
            self.push_text(kept);
        }
        self.left -= kept.len();
        if kept.len() < text.len() {
            self.missing_text += text.len() - kept.len();
            // What follows a gap would be read as if there were none.
            self.left = 0;
        }
    }

    fn put_into_file(&mut self, what: &str, mime_type: &str, data: &str, files: &mut Files) -> io::Result<()> {
        let mime = shown(mime_type);
        let what = if mime.is_empty() { what.to_owned() } else { format!("{what} {mime}") };
        if files.written.len() >= MAX_MEDIA_FILES {
            self.left_out.push(what);
            return Ok(());
        }
        match LENIENT.decode(data) {
            Ok(bytes) => match files.keep(&bytes, extension(mime_type))? {
                Some(path) => self.push_text(&format!("[{what}, {} bytes, is in {}]", bytes.len(), path.display())),
                None => self.left_out.push(format!("{what} of {} bytes", bytes.len())),
            },
            Err(_) => self.left_out.push(format!("{what} that is not base 64")),
        }
        Ok(())
    }

    /// The last line: what is missing, and where it is, if anywhere.
    fn say_where(&mut self, whole: Option<&Path>) {
        let mut parts = Vec::new();
        if self.missing_text > 0 {
            parts.push(format!("{} more bytes of text", self.missing_text));
        }
        let unnamed = self.left_out.len().saturating_sub(MAX_NAMED);
        parts.extend(self.left_out.drain(..).take(MAX_NAMED));
        if unnamed > 0 {
            parts.push(format!("{unnamed} more"));
        }
        let missing = (!parts.is_empty()).then(|| format!("cut: {} left out", parts.join(", ")));
        let place = whole.map(|whole| format!("the whole result is in {}", whole.display()));
        let words: Vec<String> = missing.into_iter().chain(place).collect();
        self.push_text(&format!("[{}]", words.join("; ")));
    }
}

/// New files, readable by their owner alone; none without a directory, or when it is full.
struct Files {
    directory: Option<PathBuf>,
    prefix: String,
    written: Vec<PathBuf>,
}

impl Files {
    fn new(directory: Option<&Path>, name: &QualifiedName) -> Self {
        let prefix = format!("{}-{}-", file_name_part(name.server.as_str()), file_name_part(name.tool.as_str()));
        Self { directory: directory.map(Path::to_path_buf), prefix, written: Vec::new() }
    }

    /// Writes a file that was not there before, where there is room for it.
    fn keep(&mut self, contents: &[u8], extension: &str) -> io::Result<Option<PathBuf>> {
        let Some(directory) = &self.directory else { return Ok(None) };
        private_directory::create(directory)?;
        private_directory::close_to_others(directory)?;
        let mut file = tempfile::Builder::new()
            .prefix(&self.prefix)
            .rand_bytes(RANDOM_CHARACTERS)
            .suffix(&format!(".{extension}"))
            .tempfile_in(directory)?;
        // The file system's own time, by which the ages of the others are known too.
        let now = file.as_file().metadata()?.modified()?;
        if !has_room(directory, contents.len() as u64, now)? {
            return Ok(None);
        }
        file.write_all(contents)?;
        let (_, path) = file.keep()?;
        self.written.push(path.clone());
        Ok(Some(path))
    }
}

/// Letters, digits, `-` and `_`: nothing that means something to a file system or a shell.
fn file_name_part(name: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    name.chars().take(NAME_CHARACTERS).map(|character| if plain(character) { character } else { '_' }).collect()
}

/// A server's words within a line: short, and nothing that breaks it.
fn shown(text: &str) -> String {
    text.chars().filter(|character| !is_invisible(*character)).take(SHOWN_CHARACTERS).collect()
}

/// What files of a type are usually called.
fn extension(mime_type: &str) -> &'static str {
    let essence = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "image/bmp" => "bmp",
        "image/tiff" => "tiff",
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/ogg" => "ogg",
        "audio/flac" => "flac",
        "audio/webm" | "video/webm" => "webm",
        "audio/mp4" => "m4a",
        "video/mp4" => "mp4",
        "application/pdf" => "pdf",
        "application/zip" => "zip",
        "application/json" => "json",
        "text/plain" => "txt",
        "text/html" => "html",
        "text/csv" => "csv",
        _ => "bin",
    }
}

#[cfg(test)]
#[path = "spill_tests.rs"]
mod tests;
