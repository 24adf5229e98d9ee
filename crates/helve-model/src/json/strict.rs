//! Whether a text is JSON as a whole: in one pass, without opening anything. And whether everybody who reads it reads the
//! same: of two members with one name some parsers take the first, some the last.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use super::letters::letters;
use super::scan::{MAX_DEPTH, Member};

/// So many keys of one object are compared with each other one by one; more are looked up.
const NEAR_KEYS: usize = 8;

/// So many keys of the objects that are open are remembered on the short way.
const OPEN_KEYS: usize = 32;
/// Keys further into a text are for the long way.
const MOST_PLAIN_BYTES: usize = 1 << 24;
/// A frame of the short way that is an array.
const ARRAY: u8 = u8::MAX;

/// So many members of the outermost object are noted in passing.
const OUTLINED: usize = 8;

/// Where the members of an object stand that was checked whole: whoever needs both goes through the text once.
#[derive(Debug, Default)]
pub struct Outline {
    members: [Place; OUTLINED],
    count: usize,
}

/// Where a member stands: its key without the quotes, and its value.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    key: (u32, u32),
    value: (u32, u32),
}

impl Outline {
    /// The members of the object, in their order. The text is the one that was checked.
    pub fn members<'text>(&self, text: &'text str) -> impl Iterator<Item = Member<'text>> {
        let part = |(start, end): (u32, u32)| text.get(start as usize..end as usize).unwrap_or_default();
        let places = self.members.iter().take(self.count);
        places.map(move |place| Member::plain(part(place.key), part(place.value)))
    }
}

/// Checks a text as [`check`] does, and notes where its members stand. `None` when it is not an object, has a flaw, or is not
/// as most messages are (few members, no escapes in keys): then [`check`] knows.
#[must_use]
pub fn outline(text: &str) -> Option<Outline> {
    let mut outline = Outline::default();
    let is_object = byte(text.as_bytes(), after_space(text.as_bytes(), 0)) == b'{';
    is_plain::<true, true>(text.as_bytes(), &mut outline).filter(|()| is_object)?;
    Some(outline)
}

/// Why a text is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// It is not JSON.
    Syntax,
    /// An object in it names a member twice.
    Twice,
    /// It nests deeper than [`MAX_DEPTH`].
    TooDeep,
}

/// Checks that a text is one JSON value in which no object names a member twice, escapes read, and which everybody can
/// open.
///
/// # Errors
/// The first flaw.
pub fn check(text: &str) -> Result<(), Flaw> {
    if is_plain::<true, false>(text.as_bytes(), &mut Outline::default()).is_some() {
        Ok(())
    } else {
        Walk::<true> { text, at: 0 }.whole()
    }
}

/// True when a text is one JSON value. False says nothing: it may nest too deep for this.
#[must_use]
pub(super) fn is_json(text: &str) -> bool {
    is_plain::<false, false>(text.as_bytes(), &mut Outline::default()).is_some()
        || Walk::<false> { text, at: 0 }.whole().is_ok()
}

/// The short way to a yes, for what nearly every message is: no key with escapes, few keys at one time. `None` says nothing.
/// On the way the members of the outermost object are noted, where that is wanted.
fn is_plain<const UNIQUE: bool, const NOTES: bool>(bytes: &[u8], outline: &mut Outline) -> Option<()> {
    // Of each container that is open: where its keys begin, or that it is an array.
    let mut frames = [ARRAY; MAX_DEPTH as usize];
    let mut keys = [OpenKey::default(); OPEN_KEYS];
    let (mut depth, mut count, mut frame) = (0_usize, 0_usize, ARRAY);
    let mut at = after_space(bytes, 0);
    loop {
        match byte(bytes, at) {
            b'"' => at = after_string(bytes, at)?,
            opening @ (b'{' | b'[') => {
                *frames.get_mut(depth)? = frame;
                depth += 1;
                frame = if opening == b'{' { count as u8 } else { ARRAY };
                at = after_space(bytes, at + 1);
                // Its end is that of a value.
                let closing = opening + 2;
                if byte(bytes, at) == closing {
                    at += 1;
                    depth -= 1;
                    frame = *frames.get(depth)?;
                } else {
                    if frame != ARRAY {
                        at = after_key::<UNIQUE>(bytes, at, frame, &mut keys, &mut count)?;
                        if NOTES && depth == 1 {
                            outline.begin(*keys.get(count - 1)?, at)?;
                        }
                    }
                    continue;
                }
            }
            _ => at = after_scalar(bytes, at)?,
        }
        loop {
            if NOTES && depth == 1 {
                outline.end(at);
            }
            at = after_space(bytes, at);
            if depth == 0 {
                return (at == bytes.len()).then_some(());
            }
            match byte(bytes, at) {
                b',' => {
                    at = after_space(bytes, at + 1);
                    if frame != ARRAY {
                        at = after_key::<UNIQUE>(bytes, at, frame, &mut keys, &mut count)?;
                        if NOTES && depth == 1 {
                            outline.begin(*keys.get(count - 1)?, at)?;
                        }
                    }
                    break;
                }
                b'}' if frame != ARRAY => count = usize::from(frame),
                b']' if frame == ARRAY => {}
                _ => return None,
            }
            at += 1;
            depth -= 1;
            frame = *frames.get(depth)?;
        }
    }
}

impl Outline {
    /// A member begins: its key was read, its value comes.
    #[inline]
    fn begin(&mut self, key: OpenKey, value: usize) -> Option<()> {
        let key = (key.start, key.start + (key.mark >> 8));
        *self.members.get_mut(self.count)? = Place { key, value: (u32::try_from(value).ok()?, 0) };
        self.count += 1;
        Some(())
    }

    /// The value of the newest member ends.
    #[inline]
    fn end(&mut self, at: usize) {
        if let Some(place) = self.count.checked_sub(1).and_then(|newest| self.members.get_mut(newest)) {
            place.value.1 = u32::try_from(at).unwrap_or(u32::MAX);
        }
    }
}

#[inline]
fn byte(bytes: &[u8], at: usize) -> u8 {
    // Nothing in JSON is a zero byte.
    bytes.get(at).copied().unwrap_or_default()
}

#[inline]
fn after_space(bytes: &[u8], mut at: usize) -> usize {
    while byte(bytes, at) <= b' ' && matches!(byte(bytes, at), b' ' | b'\t' | b'\n' | b'\r') {
        at += 1;
    }
    at
}

/// A key of an object that is open: where it begins, and its length and first letter, which tell most keys apart.
#[derive(Debug, Clone, Copy, Default)]
struct OpenKey {
    start: u32,
    mark: u32,
}

/// Where the value of the member begins whose key begins here.
// Inlined, as most of the work is done here: a call and its result would cost a fifth of it.
#[inline(always)]
fn after_key<const UNIQUE: bool>(
    bytes: &[u8],
    at: usize,
    frame: u8,
    keys: &mut [OpenKey; OPEN_KEYS],
    count: &mut usize,
) -> Option<usize> {
    if byte(bytes, at) != b'"' {
        return None;
    }
    let start = at + 1;
    let length = letters(bytes.get(start..)?);
    let end = start + length;
    if byte(bytes, end) != b'"' {
        return None;
    }
    if UNIQUE {
        if end > MOST_PLAIN_BYTES {
            return None;
        }
        // Both fit: the text is that short.
        let key = OpenKey { start: start as u32, mark: (length as u32) << 8 | u32::from(byte(bytes, start)) };
        for other in keys.get(usize::from(frame)..*count)? {
            if other.mark == key.mark && bytes.get(other.start as usize..)?.get(..length) == bytes.get(start..end) {
                return None;
            }
        }
        *keys.get_mut(*count)? = key;
        *count += 1;
    }
    let colon = after_space(bytes, end + 1);
    if byte(bytes, colon) == b':' { Some(after_space(bytes, colon + 1)) } else { None }
}

#[inline]
fn after_string(bytes: &[u8], at: usize) -> Option<usize> {
    let end = at + 1 + letters(bytes.get(at + 1..)?);
    if byte(bytes, end) == b'"' { Some(end + 1) } else { after_escapes(bytes, end) }
}

/// The same from the first escape on.
fn after_escapes(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match (byte(bytes, at), byte(bytes, at + 1)) {
            (b'"', _) => return Some(at + 1),
            (b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 2,
            (b'\\', b'u') if bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => at += 6,
            _ => return None,
        }
        at += letters(bytes.get(at..)?);
    }
}

fn after_scalar(bytes: &[u8], mut at: usize) -> Option<usize> {
    let word: &[u8] = match byte(bytes, at) {
        b't' => b"true",
        b'f' => b"false",
        b'n' => b"null",
        first => {
            at += usize::from(first == b'-');
            let is_zero = byte(bytes, at) == b'0';
            at = if is_zero { at + 1 } else { after_digits(bytes, at)? };
            if byte(bytes, at) == b'.' {
                at = after_digits(bytes, at + 1)?;
            }
            if let b'e' | b'E' = byte(bytes, at) {
                at += 1 + usize::from(matches!(byte(bytes, at + 1), b'+' | b'-'));
                at = after_digits(bytes, at)?;
            }
            return Some(at);
        }
    };
    bytes.get(at..)?.starts_with(word).then_some(at + word.len())
}

fn after_digits(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    while byte(bytes, at).is_ascii_digit() {
        at += 1;
    }
    (at > start).then_some(at)
}

struct Walk<'text, const UNIQUE: bool> {
    text: &'text str,
    at: usize,
}

impl<'text, const UNIQUE: bool> Walk<'text, UNIQUE> {
    fn whole(mut self) -> Result<(), Flaw> {
        self.skip_white_space();
        self.value(0)?;
        self.skip_white_space();
        if self.at == self.text.len() { Ok(()) } else { Err(Flaw::Syntax) }
    }

    #[inline]
    fn peek(&self) -> u8 {
        // Nothing in JSON is a zero byte.
        self.text.as_bytes().get(self.at).copied().unwrap_or_default()
    }

    #[inline]
    fn skip_white_space(&mut self) {
        while let b' ' | b'\t' | b'\n' | b'\r' = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    fn value(&mut self, depth: u32) -> Result<(), Flaw> {
        match self.peek() {
            b'"' => self.string().map(drop),
            b'{' => self.object(depth + 1),
            b'[' => self.array(depth + 1),
            _ => self.scalar(),
        }
    }

    fn object(&mut self, depth: u32) -> Result<(), Flaw> {
        if depth > MAX_DEPTH {
            return Err(Flaw::TooDeep);
        }
        self.at += 1;
        self.skip_white_space();
        if self.peek() == b'}' {
            self.at += 1;
            return Ok(());
        }
        let mut keys = Keys { near: [""; NEAR_KEYS], count: 0, more: None };
        loop {
            if self.peek() != b'"' {
                return Err(Flaw::Syntax);
            }
            let start = self.at + 1;
            let is_plain = self.string()?;
            if UNIQUE {
                let key = self.text.get(start..self.at - 1).ok_or(Flaw::Syntax)?;
                keys.add(key, is_plain)?;
            }
            self.skip_white_space();
            if self.peek() != b':' {
                return Err(Flaw::Syntax);
            }
            self.at += 1;
            self.skip_white_space();
            self.value(depth)?;
            self.skip_white_space();
            match self.peek() {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Flaw::Syntax),
            }
            self.skip_white_space();
        }
    }

    fn array(&mut self, depth: u32) -> Result<(), Flaw> {
        if depth > MAX_DEPTH {
            return Err(Flaw::TooDeep);
        }
        self.at += 1;
        self.skip_white_space();
        if self.peek() == b']' {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth)?;
            self.skip_white_space();
            match self.peek() {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Flaw::Syntax),
            }
            self.skip_white_space();
        }
    }

    /// Crosses the string that begins here; says whether nothing in it means more than itself.
    #[inline]
    fn string(&mut self) -> Result<bool, Flaw> {
        self.at += 1;
        self.at += letters(self.text.as_bytes().get(self.at..).unwrap_or_default());
        if self.peek() == b'"' {
            self.at += 1;
            return Ok(true);
        }
        self.escaped_string()
    }

    fn escaped_string(&mut self) -> Result<bool, Flaw> {
        loop {
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return Ok(false);
                }
                b'\\' => self.escape()?,
                _ => return Err(Flaw::Syntax),
            }
            self.at += letters(self.text.as_bytes().get(self.at..).unwrap_or_default());
        }
    }

    fn escape(&mut self) -> Result<(), Flaw> {
        self.at += 1;
        match self.peek() {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
            b'u' => {
                let digits = self.text.as_bytes().get(self.at + 1..self.at + 5).ok_or(Flaw::Syntax)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(Flaw::Syntax);
                }
                self.at += 5;
            }
            _ => return Err(Flaw::Syntax),
        }
        Ok(())
    }

    fn scalar(&mut self) -> Result<(), Flaw> {
        let word = match self.peek() {
            b't' => "true",
            b'f' => "false",
            b'n' => "null",
            _ => return self.number(),
        };
        if self.text.as_bytes().get(self.at..self.at + word.len()) != Some(word.as_bytes()) {
            return Err(Flaw::Syntax);
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), Flaw> {
        if self.peek() == b'-' {
            self.at += 1;
        }
        if self.peek() == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if let b'e' | b'E' = self.peek() {
            self.at += 1;
            if let b'+' | b'-' = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Flaw> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(Flaw::Syntax) }
    }
}

/// The keys of one object so far.
struct Keys<'text> {
    near: [&'text str; NEAR_KEYS],
    count: usize,
    /// All of them, once there are many, or one is written with escapes.
    more: Option<HashSet<Cow<'text, str>>>,
}

impl<'text> Keys<'text> {
    #[inline]
    fn add(&mut self, key: &'text str, is_plain: bool) -> Result<(), Flaw> {
        if self.more.is_none() && is_plain && self.count < NEAR_KEYS {
            let known = self.near.get(..self.count).unwrap_or_default();
            if known.contains(&key) {
                return Err(Flaw::Twice);
            }
            if let Some(free) = self.near.get_mut(self.count) {
                *free = key;
            }
            self.count += 1;
            return Ok(());
        }
        self.add_far(key, is_plain)
    }

    fn add_far(&mut self, key: &'text str, is_plain: bool) -> Result<(), Flaw> {
        let near = self.near.get(..self.count).unwrap_or_default();
        let more = self.more.get_or_insert_with(|| near.iter().copied().map(Cow::Borrowed).collect());
        let key = if is_plain {
            Cow::Borrowed(key)
        } else {
            // What stands for no character cannot be compared with anything.
            Cow::Owned(serde_json::from_str(&format!("\"{key}\"")).map_err(|_| Flaw::Syntax)?)
        };
        if more.insert(key) { Ok(()) } else { Err(Flaw::Twice) }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax => formatter.write_str("it is not JSON"),
            Self::Twice => formatter.write_str("an object in it names a member twice"),
            Self::TooDeep => write!(formatter, "it nests deeper than {MAX_DEPTH} levels"),
        }
    }
}

#[cfg(test)]
#[path = "strict_tests.rs"]
mod tests;
