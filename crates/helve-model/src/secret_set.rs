//! Exact values that must not be said, found in every form they travel in and replaced. Owns which values are too plain to be
//! secrets, which forms there are, and where in a message nothing is replaced.
//!
//! This does not defend against a server that hides what it says: it is for values that get out by accident, in an error, a
//! log line or a result.

mod prefilter;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use aho_corasick::packed::{self, Searcher};
use aho_corasick::{AhoCorasick, MatchKind};

use crate::json::{ObjectWriter, RawJson, scan};
use prefilter::Prefilter;

/// What stands in the place of a secret.
pub const HIDDEN: &str = "(hidden)";

/// The key of `_meta` in a result from which a secret was taken.
pub const REDACTED: &str = "helve/redacted";

/// Shorter values are words: without them hardly a sentence could be said.
const MIN_LENGTH: usize = 8;
/// Longer values are not looked for.
const MAX_LENGTH: usize = 64 << 10;
/// Most values that are known; more than any configuration holds.
const MOST_VALUES: usize = 10_000;
/// Values of lower-case letters alone are words up to this length.
const WORD_LENGTH: usize = 16;
/// Longest part of a host name that is not taken for a secret.
const LABEL_LENGTH: usize = 24;
/// How deep a message is looked into for what must stay as it is; below, every text is treated alike.
const MOST_DEPTH: usize = 16;

/// Values that must not be said.
#[derive(Default)]
pub struct SecretSet {
    /// So that nothing but this is looked at where there are none.
    has_some: AtomicBool,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    values: HashSet<String>,
    /// Made at the first search after a value was added.
    matcher: Option<Matcher>,
}

/// Finds all forms of all values.
struct Matcher {
    prefilter: Option<Prefilter>,
    search: Search,
}

/// The search itself, in one pass.
enum Search {
    /// A handful of secrets: vector instructions.
    Few(Searcher),
    /// More than these can hold.
    Many(AhoCorasick),
}

impl SecretSet {
    /// A set that knows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on this is not said, unless it is too plain to be a secret: see [`SecretSet::is_plain`].
    pub fn add(&self, value: &str) {
        if Self::is_plain(value) {
            return;
        }
        if self.state.read().unwrap_or_else(PoisonError::into_inner).values.contains(value) {
            return;
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.values.len() < MOST_VALUES && state.values.insert(value.to_owned()) {
            state.matcher = None;
            self.has_some.store(true, Ordering::Release);
        }
    }

    /// From now on nothing is said that another set knows.
    pub fn add_all(&self, other: &Self) {
        // Copied first: never two locks at once.
        let values = other.state.read().unwrap_or_else(PoisonError::into_inner).values.clone();
        values.iter().for_each(|value| self.add(value));
    }

    /// True when no value is known.
    pub fn is_empty(&self) -> bool {
        !self.has_some.load(Ordering::Acquire)
    }

    /// True for what is not a secret wherever it comes from: short texts, numbers, flags, single words, host names.
    #[must_use]
    pub fn is_plain(value: &str) -> bool {
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'-' | b':'));
        let is_word = value.len() < WORD_LENGTH && value.bytes().all(|byte| byte.is_ascii_lowercase());
        !(MIN_LENGTH..=MAX_LENGTH).contains(&value.len()) || is_number || is_word || is_host_name(value)
    }

    /// A text without what must not be said.
    pub fn hide<'text>(&self, text: &'text str) -> Cow<'text, str> {
        match self.with_matcher(text, |matcher| matcher.replaced(text)) {
            Some(hidden) => Cow::Owned(hidden),
            None => Cow::Borrowed(text),
        }
    }

    /// A message without what must not be said; `None` when there is nothing of it in there. Only strings are changed, so that
    /// JSON stays JSON; pictures, sounds, other binary contents and states that only the server understands stay as they are.
    pub fn hide_in_message(&self, text: &str) -> Option<String> {
        self.with_matcher(text, |matcher| {
            let mut strings = Vec::new();
            if collect_strings(text, text, 0, &mut strings).is_none() {
                return matcher.replaced(text);
            }
            let mut hidden = String::with_capacity(text.len());
            let mut done = 0;
            for (start, end) in strings {
                if let Some(replaced) = text.get(start..end).and_then(|string| matcher.replaced(string)) {
                    hidden.push_str(text.get(done..start)?);
                    hidden.push_str(&replaced);
                    done = end;
                }
            }
            if done == 0 {
                return None;
            }
            hidden.push_str(text.get(done..)?);
            Some(hidden)
        })
    }

    /// Asks the matcher about a text in which there is something.
    #[inline]
    fn with_matcher(&self, text: &str, replace: impl FnOnce(&Matcher) -> Option<String>) -> Option<String> {
        if self.is_empty() || text.len() < MIN_LENGTH {
            return None;
        }
        loop {
            {
                let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
                if let Some(matcher) = &state.matcher {
                    return if matcher.finds(text) { replace(matcher) } else { None };
                }
            }
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            if state.matcher.is_none() {
                let matcher = Matcher::new(&state.values)?;
                state.matcher = Some(matcher);
            }
        }
    }
}

impl Matcher {
    /// `None` when there is nothing to look for.
    fn new(values: &HashSet<String>) -> Option<Self> {
        let forms: HashSet<String> = values.iter().flat_map(|value| forms(value)).collect();
        if forms.is_empty() {
            return None;
        }
        let mut few = packed::Config::new();
        let few = few.match_kind(packed::MatchKind::LeftmostLongest).builder().extend(&forms).build();
        let many = || AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&forms).ok();
        let search = few.map(Search::Few).or_else(|| many().map(Search::Many))?;
        Some(Self { prefilter: Prefilter::new(&forms), search })
    }

    #[inline]
    fn finds(&self, text: &str) -> bool {
        self.prefilter.as_ref().is_none_or(|prefilter| prefilter.may_hold(text)) && self.search.finds(text)
    }

    /// The text with every form replaced; `None` when there is none in it.
    fn replaced(&self, text: &str) -> Option<String> {
        let matches: Vec<(usize, usize)> = match &self.search {
            Search::Few(few) => few.find_iter(text).map(|found| (found.start(), found.end())).collect(),
            Search::Many(many) => many.find_iter(text).map(|found| (found.start(), found.end())).collect(),
        };
        if matches.is_empty() {
            return None;
        }
        let mut replaced = String::with_capacity(text.len());
        let mut done = 0;
        for (start, end) in matches {
            // Every form begins and ends with whole characters.
            replaced.push_str(text.get(done..start).unwrap_or_default());
            replaced.push_str(HIDDEN);
            done = end;
        }
        replaced.push_str(text.get(done..).unwrap_or_default());
        Some(replaced)
    }
}

impl Search {
    fn finds(&self, text: &str) -> bool {
        match self {
            Self::Few(few) => few.find(text).is_some(),
            Self::Many(many) => many.find(text).is_some(),
        }
    }
}

/// A result that says of itself that something was taken out of it.
#[must_use]
pub fn mark_redacted(result: &RawJson) -> RawJson {
    let meta = result.member("_meta").filter(RawJson::is_object);
    let is_marked = meta.as_ref().is_some_and(|meta| meta.member(REDACTED).is_some());
    match meta {
        _ if is_marked || !result.is_object() => result.clone(),
        Some(meta) => result.replacing("_meta", ObjectWriter::after(&meta).flag(REDACTED, true).finish().as_str()),
        None => ObjectWriter::after(result).object("_meta", ObjectWriter::new().flag(REDACTED, true)).finish(),
    }
}

/// `api.example.com`, `db.internal:5432`: labels of lower-case letters and digits, the last of letters alone.
fn is_host_name(value: &str) -> bool {
    let (name, port) = value.rsplit_once(':').unwrap_or((value, "0"));
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| !label.is_empty() && label.len() <= LABEL_LENGTH && label.bytes().all(is_part);
    let ends_in_letters = name
        .rsplit_once('.')
        .is_some_and(|(_, last)| (2..=12).contains(&last.len()) && last.bytes().all(|byte| byte.is_ascii_lowercase()));
    ends_in_letters && name.split('.').all(is_label) && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Where the contents of strings stand in a message, but for those that stay as they are; `None` when it is not JSON.
fn collect_strings(whole: &str, value: &str, depth: usize, strings: &mut Vec<(usize, usize)>) -> Option<()> {
    let offset = |part: &str| (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize);
    let value = value.trim();
    match value.as_bytes().first()? {
        b'{' | b'[' if depth >= MOST_DEPTH => every_string(offset(value)?, value, strings),
        b'{' => {
            let members: Vec<scan::Member<'_>> = scan::members(value).ok()?.collect::<Result<_, _>>().ok()?;
            let text_of =
                |key: &str| members.iter().find(|member| member.key_is(key)).and_then(scan::Member::plain_text);
            let is_binary = matches!(text_of("type"), Some("image" | "audio"));
            let is_resource = members.iter().any(|member| member.key_is("uri"));
            for member in &members {
                let start = offset(member.raw_key)?;
                strings.push((start, start + member.raw_key.len()));
                let stays = (is_binary && member.key_is("data"))
                    || (is_resource && member.key_is("blob"))
                    || member.key_is("requestState");
                if !stays {
                    collect_strings(whole, member.value, depth + 1, strings)?;
                }
            }
        }
        b'[' => {
            for element in scan::elements(value).ok()? {
                collect_strings(whole, element.ok()?, depth + 1, strings)?;
            }
        }
        b'"' => {
            let start = offset(value)?;
            strings.push((start + 1, (start + value.len()).checked_sub(1)?));
        }
        // A log line where a message should be.
        _ if depth == 0 => return None,
        _ => {}
    }
    Some(())
}

/// The contents of every string between the quotation marks of a text.
fn every_string(offset: usize, text: &str, strings: &mut Vec<(usize, usize)>) {
    let mut open = None;
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match (open, byte) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), b'\\') => is_escaped = true,
            (Some(start), b'"') => {
                strings.push((offset + start, offset + at));
                open = None;
            }
            (None, b'"') => open = Some(at + 1),
            _ => {}
        }
    }
}

/// A value as it may be met: as it is, in JSON as three kinds of programs write it, in hex, in a URL, in base64 behind any
/// number of bytes, in both alphabets.
fn forms(value: &str) -> HashSet<String> {
    let bytes = value.as_bytes();
    let mut forms = HashSet::from([value.to_owned()]);
    let quoted = crate::json::quoted(value);
    let in_json = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    forms.insert(in_json.replace('/', "\\/"));
    forms.insert(ascii_only(in_json));
    forms.insert(in_json.to_owned());
    for digits in [b"0123456789abcdef", b"0123456789ABCDEF"] {
        forms.insert(bytes.iter().flat_map(|byte| hex(*byte, digits)).collect());
        let percent = |byte: &u8| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(*byte).to_string(),
            byte => std::iter::once('%').chain(hex(*byte, digits)).collect(),
        };
        forms.insert(bytes.iter().map(percent).collect());
    }
    for before in 0..3 {
        for alphabet in [STANDARD, URL_SAFE] {
            let encoded = base64(before, bytes, alphabet);
            // Only the characters that nothing before or behind can change.
            let (from, to) = ((before * 8).div_ceil(6), (before + bytes.len()) * 8 / 6);
            forms.extend(encoded.get(from..to).filter(|form| form.len() >= MIN_LENGTH).map(str::to_owned));
        }
    }
    forms
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Bytes behind so many others, in base64 without padding.
fn base64(before: usize, bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut text = String::new();
    let (mut kept, mut bits) = (0_u32, 0);
    for byte in std::iter::repeat_n(&0, before).chain(bytes) {
        kept = (kept << 8 | u32::from(*byte)) & 0xffff;
        bits += 8;
        while bits >= 6 {
            bits -= 6;
            text.push(letter(alphabet, kept >> bits));
        }
    }
    if bits > 0 {
        text.push(letter(alphabet, kept << (6 - bits)));
    }
    text
}

fn letter(alphabet: &[u8; 64], six_bits: u32) -> char {
    alphabet.get(six_bits as usize & 63).copied().map_or('A', char::from)
}

fn hex(byte: u8, digits: &[u8; 16]) -> [char; 2] {
    let digit = |nibble: u8| digits.get(usize::from(nibble & 15)).copied().map_or('0', char::from);
    [digit(byte >> 4), digit(byte)]
}

/// As JSON is written by those who trust no character but ASCII.
fn ascii_only(text: &str) -> String {
    let mut ascii = String::new();
    for character in text.chars() {
        if character.is_ascii() {
            ascii.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let [high, low] = unit.to_be_bytes();
            ascii.push_str("\\u");
            ascii.extend(hex(high, b"0123456789abcdef").into_iter().chain(hex(low, b"0123456789abcdef")));
        }
    }
    ascii
}

impl fmt::Debug for SecretSet {
    /// Not even how many.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretSet")
    }
}

#[cfg(test)]
#[path = "secret_set_tests.rs"]
mod tests;
