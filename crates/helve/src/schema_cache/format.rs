//! How a kept list lies in its file: a header, then sections, each with its length and checksum.
//!
//! | part of the header | bytes |
//! |---|---|
//! | [`MAGIC`], which changes with the format | 8 |
//! | checksum of all that follows in the header | 4 |
//! | number of sections | 4 |
//! | the key | 32 |
//! | when it was written, in milliseconds since 1970 | 8 |
//! | for how many milliseconds the server said it is fresh | 8 |
//! | for whom: see [`scope_number`]; 0 when the server said nothing | 4 |
//! | for each section: kind, checksum, length | 4 + 4 + 8 |
//!
//! A section is a list of texts: their number, the length of each ([`ABSENT`] for none), and the texts in a row.
//! Numbers are little endian. Sections of a kind that is not known are left alone, so that a kind may be added.
//! The checksums find accidents; everything is checked again as if there were none.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use bytestring::ByteString;
use helve_wire::{CacheHint, CacheScope};

use super::{CacheKey, MAX_AGE};

const MAGIC: &[u8; 8] = b"helveL01";
/// The header up to its sections.
const FIXED_BYTES: usize = 68;
const SECTION_BYTES: usize = 16;
/// A header with more sections than this is not ours.
const MAX_SECTIONS: usize = 32;
/// The part of the header that its checksum does not cover.
const UNCHECKED_BYTES: usize = 12;
/// The length that stands for no text at all.
const ABSENT: u32 = u32::MAX;

/// What a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Names and one line about each tool. Always first: it is read alone.
    ToolIndex,
    /// What the server said about itself.
    Greeting,
    /// Definitions as the server sent them.
    Tools,
}

#[derive(Debug)]
pub(super) struct Header {
    key: [u8; 32],
    stored_ms: u64,
    pub(super) hint: Option<CacheHint>,
    sections: Vec<Place>,
    /// Where the last section ends.
    end: usize,
}

/// Where a section lies.
#[derive(Debug)]
pub(super) struct Place {
    kind: u32,
    checksum: u32,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A section, opened.
#[derive(Debug, Clone)]
pub(super) struct Texts {
    lengths: Bytes,
    text: ByteString,
}

/// The bytes of a whole file.
pub(super) fn encode(
    key: &CacheKey,
    hint: Option<CacheHint>,
    now: SystemTime,
    sections: &[(Kind, Vec<u8>)],
) -> Vec<u8> {
    let since_1970 = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut checked = Vec::new();
    checked.extend_from_slice(&(sections.len() as u32).to_le_bytes());
    checked.extend_from_slice(key.as_bytes());
    checked.extend_from_slice(&u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX).to_le_bytes());
    checked.extend_from_slice(&hint.map_or(0, |hint| hint.ttl_ms).to_le_bytes());
    checked.extend_from_slice(&hint.map_or(0, |hint| scope_number(hint.scope)).to_le_bytes());
    for (kind, contents) in sections {
        checked.extend_from_slice(&kind.number().to_le_bytes());
        checked.extend_from_slice(&crc32fast::hash(contents).to_le_bytes());
        checked.extend_from_slice(&(contents.len() as u64).to_le_bytes());
    }

    let mut file = MAGIC.to_vec();
    file.extend_from_slice(&crc32fast::hash(&checked).to_le_bytes());
    file.extend_from_slice(&checked);
    for (_, contents) in sections {
        file.extend_from_slice(contents);
    }
    file
}

/// The bytes of a section.
pub(super) fn encode_texts<'text>(texts: impl IntoIterator<Item = Option<&'text str>>) -> Vec<u8> {
    let (mut count, mut lengths, mut contents) = (0_u32, Vec::new(), String::new());
    for text in texts {
        count += 1;
        // A text of four gigabytes makes a file that is too large to be written anyway.
        let length = text.map_or(ABSENT, |text| u32::try_from(text.len()).unwrap_or(ABSENT));
        lengths.extend_from_slice(&length.to_le_bytes());
        contents.push_str(text.unwrap_or_default());
    }
    let mut section = count.to_le_bytes().to_vec();
    section.append(&mut lengths);
    section.extend_from_slice(contents.as_bytes());
    section
}

impl Kind {
    const fn number(self) -> u32 {
        match self {
            Self::ToolIndex => 1,
            Self::Greeting => 2,
            Self::Tools => 3,
        }
    }
}

impl Header {
    /// Reads the header at the beginning of a file, of which more or less may be there already.
    pub(super) fn decode(file: &[u8]) -> Option<Self> {
        let mut fields = Fields(file);
        if fields.array::<8>()? != *MAGIC {
            return None;
        }
        let checksum = fields.u32()?;
        let section_count = fields.u32()? as usize;
        if section_count > MAX_SECTIONS {
            return None;
        }
        let length = FIXED_BYTES + section_count * SECTION_BYTES;
        if crc32fast::hash(file.get(UNCHECKED_BYTES..length)?) != checksum {
            return None;
        }
        let (key, stored_ms) = (fields.array()?, fields.u64()?);
        let (ttl_ms, scope) = (fields.u64()?, fields.u32()?);
        let hint = match scope {
            0 => None,
            number => Some(CacheHint { ttl_ms, scope: scope_of(number)? }),
        };
        let mut sections = Vec::with_capacity(section_count);
        let mut end = length;
        for _ in 0..section_count {
            let (kind, checksum) = (fields.u32()?, fields.u32()?);
            let start = end;
            end = end.checked_add(usize::try_from(fields.u64()?).ok()?)?;
            sections.push(Place { kind, checksum, start, end });
        }
        Some(Self { key, stored_ms, hint, sections, end })
    }

    pub(super) fn find(&self, kind: Kind) -> Option<&Place> {
        self.sections.iter().find(|place| place.kind == kind.number())
    }

    /// How long the whole file is.
    pub(super) const fn end(&self) -> usize {
        self.end
    }

    /// When it was written; `None` when it is of another server, or too old.
    pub(super) fn stored_at(&self, key: &CacheKey, now: SystemTime) -> Option<SystemTime> {
        if self.key != *key.as_bytes() {
            return None;
        }
        let stored_at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(self.stored_ms))?;
        let age = now.duration_since(stored_at).unwrap_or_default();
        (age <= MAX_AGE).then_some(stored_at)
    }
}

impl Place {
    /// The section's bytes, when they are all there and unharmed.
    pub(super) fn cut(&self, file: &Bytes) -> Option<Bytes> {
        if self.end > file.len() {
            return None;
        }
        let section = file.slice(self.start..self.end);
        (crc32fast::hash(&section) == self.checksum).then_some(section)
    }
}

impl Texts {
    pub(super) fn decode(section: Bytes) -> Option<Self> {
        let count = Fields(&section).u32()? as usize;
        let table_end = count.checked_mul(size_of::<u32>())?.checked_add(size_of::<u32>())?;
        if table_end > section.len() {
            return None;
        }
        let lengths = section.slice(size_of::<u32>()..table_end);
        let text = ByteString::try_from(section.slice(table_end..)).ok()?;
        let texts = Self { lengths, text };
        let mut end = 0_usize;
        for length in texts.lengths().flatten() {
            end = end.checked_add(length)?;
            if !texts.text.is_char_boundary(end) {
                return None;
            }
        }
        (end == texts.text.len()).then_some(texts)
    }

    pub(super) fn len(&self) -> usize {
        self.lengths.len() / size_of::<u32>()
    }

    /// What the texts are parts of.
    pub(super) const fn shared(&self) -> &ByteString {
        &self.text
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        let mut rest: &str = &self.text;
        self.lengths().map(move |length| {
            // Looked at when the section was opened: every length ends at a character.
            let (text, following) = rest.split_at_checked(length?)?;
            rest = following;
            Some(text)
        })
    }

    fn lengths(&self) -> impl Iterator<Item = Option<usize>> {
        let (numbers, _) = self.lengths.as_chunks();
        numbers.iter().map(|bytes| match u32::from_le_bytes(*bytes) {
            ABSENT => None,
            length => Some(length as usize),
        })
    }
}

/// Numbers, one after the other.
struct Fields<'file>(&'file [u8]);

impl Fields<'_> {
    fn array<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

const fn scope_number(scope: CacheScope) -> u32 {
    match scope {
        CacheScope::Public => 1,
        CacheScope::Private => 2,
    }
}

fn scope_of(number: u32) -> Option<CacheScope> {
    [CacheScope::Public, CacheScope::Private].into_iter().find(|scope| scope_number(*scope) == number)
}
