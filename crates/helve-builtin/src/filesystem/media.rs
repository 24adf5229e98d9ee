//! What the bytes of a file are: text, a picture, sound, or something a model cannot use, by their first bytes.

/// How many bytes are enough to tell.
pub(super) const SNIFFED_BYTES: usize = 8 * 1024;

/// What the bytes of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    Text,
    Image(&'static str),
    Audio(&'static str),
    /// Named for people.
    Other(&'static str),
}

impl Media {
    /// The type of a file by its beginning.
    pub(super) fn of(start: &[u8]) -> Self {
        if let Some((.., media)) = SIGNATURES.iter().find(|(offset, signature, _)| starts_at(start, *offset, signature))
        {
            return refined(*media, start);
        }
        if is_mp3(start) {
            return Self::Audio("audio/mpeg");
        }
        if start.starts_with(b"BM") && has_nul(start) {
            return Self::Image("image/bmp");
        }
        if has_nul(start) { Self::Other("binary data") } else { Self::Text }
    }

    /// The type for a program to read.
    pub(super) const fn mime_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain",
            Self::Image(mime_type) | Self::Audio(mime_type) => mime_type,
            Self::Other(_) => "application/octet-stream",
        }
    }

    /// The type for people.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Image(name) | Self::Audio(name) | Self::Other(name) => name,
        }
    }
}

/// Where a signature stands, its bytes, and what it means.
const SIGNATURES: &[(usize, &[u8], Media)] = &[
    (0, b"\x89PNG\r\n\x1a\n", Media::Image("image/png")),
    (0, b"\xff\xd8\xff", Media::Image("image/jpeg")),
    (0, b"GIF87a", Media::Image("image/gif")),
    (0, b"GIF89a", Media::Image("image/gif")),
    (8, b"WEBP", Media::Image("image/webp")),
    (4, b"ftypavif", Media::Image("image/avif")),
    (4, b"ftypheic", Media::Image("image/heic")),
    (0, b"II*\0", Media::Image("image/tiff")),
    (0, b"MM\0*", Media::Image("image/tiff")),
    (8, b"WAVE", Media::Audio("audio/wav")),
    (0, b"OggS\0", Media::Audio("audio/ogg")),
    (0, b"fLaC", Media::Audio("audio/flac")),
    (4, b"ftypM4A", Media::Audio("audio/mp4")),
    (4, b"ftyp", Media::Other("a video")),
    (0, b"\x1aE\xdf\xa3", Media::Other("a video")),
    (0, b"%PDF-", Media::Other("a PDF document")),
    (0, b"PK\x03\x04", Media::Other("a ZIP archive")),
    (0, b"\x1f\x8b", Media::Other("gzip-compressed data")),
    (0, b"BZh", Media::Other("bzip2-compressed data")),
    (0, b"\xfd7zXZ\0", Media::Other("xz-compressed data")),
    (0, b"(\xb5/\xfd", Media::Other("zstd-compressed data")),
    (0, b"7z\xbc\xaf\x27\x1c", Media::Other("a 7z archive")),
    (257, b"ustar", Media::Other("a tar archive")),
    (0, b"SQLite format 3\0", Media::Other("an SQLite database")),
    (0, b"\x7fELF", Media::Other("a program or library")),
    (0, b"\xcf\xfa\xed\xfe", Media::Other("a program or library")),
    (0, b"\xca\xfe\xba\xbe", Media::Other("a program or library")),
    (0, b"\0asm", Media::Other("a WebAssembly module")),
    (0, b"\xff\xfe", Media::Other("UTF-16 text")),
    (0, b"\xfe\xff", Media::Other("UTF-16 text")),
];

fn starts_at(start: &[u8], offset: usize, signature: &[u8]) -> bool {
    start.get(offset..).is_some_and(|rest| rest.starts_with(signature))
}

/// Signatures that text could have by chance need a look at the rest.
fn refined(media: Media, start: &[u8]) -> Media {
    let in_container = start.starts_with(b"RIFF");
    match media {
        Media::Image("image/webp") | Media::Audio("audio/wav") if !in_container => plain(start),
        Media::Other("a tar archive" | "bzip2-compressed data")
            if std::str::from_utf8(start).is_ok() && !has_nul(start) =>
        {
            Media::Text
        }
        media => media,
    }
}

fn plain(start: &[u8]) -> Media {
    if has_nul(start) { Media::Other("binary data") } else { Media::Text }
}

/// A tag before the sound, or the sync bits of a first frame of layer III.
fn is_mp3(start: &[u8]) -> bool {
    let tagged = start.starts_with(b"ID3") && start.get(3).is_some_and(|version| *version < 0x10);
    let framed = matches!(start, [0xff, second, ..] if matches!(second, 0xfb | 0xf3 | 0xf2 | 0xfa));
    tagged || framed
}

fn has_nul(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes).is_some()
}
