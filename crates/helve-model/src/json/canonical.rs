//! What a JSON text means, apart from how it is written: the form that is hashed and compared.
//!
//! Key order, white space, string escapes and number formats (`1.0`, `1`, `100e-2`) do not count; everything else
//! does. Numbers are compared as the decimals they are, not as floating point: two large integers that differ in
//! their last digit differ here. Duplicate keys are all kept, in their order: a reader that takes the first and one
//! that takes the last must both find what was pinned. What cannot be read counts letter by letter.
//!
//! [`in_order`] is the weaker form, for those who must not take `1` and `1.0` for the same.

use std::borrow::Cow;

use super::letters;
use super::scan::{self, MAX_DEPTH};

/// A JSON value without the accidents of its spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CanonicalNode<'text> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// The canonical spelling of the number.
    Number(String),
    /// A text, its escapes read.
    Text(Cow<'text, str>),
    /// An array.
    Array(Vec<Self>),
    /// Sorted by key; equal keys stay in their order.
    Object(Vec<(Cow<'text, str>, Self)>),
    /// No JSON that can be read, as it stands.
    Raw(&'text str),
}

impl<'text> CanonicalNode<'text> {
    /// Reads any text.
    pub fn read(text: &'text str) -> Self {
        read(text.trim_matches([' ', '\t', '\r', '\n']), MAX_DEPTH)
    }

    /// Takes a member out of an object.
    pub fn remove(&mut self, key: &str) {
        if let Self::Object(members) = self {
            members.retain(|(name, _)| name != key);
        }
    }

    /// Feeds the value to a hash, piece by piece: every part is preceded by its kind and its length, so that no two values feed alike.
    pub fn feed(&self, hash: &mut impl FnMut(&[u8])) {
        match self {
            Self::Null => hash(b"n"),
            Self::Bool(true) => hash(b"t"),
            Self::Bool(false) => hash(b"f"),
            Self::Number(digits) => feed_text(hash, b"d", digits),
            Self::Text(text) => feed_text(hash, b"s", text),
            Self::Raw(text) => feed_text(hash, b"r", text),
            Self::Array(elements) => {
                feed_length(hash, b"a", elements.len());
                for element in elements {
                    element.feed(hash);
                }
            }
            Self::Object(members) => {
                feed_length(hash, b"o", members.len());
                for (key, value) in members {
                    feed_text(hash, b"k", key);
                    value.feed(hash);
                }
            }
        }
    }
}

fn feed_text(hash: &mut impl FnMut(&[u8]), kind: &[u8], text: &str) {
    feed_length(hash, kind, text.len());
    hash(text.as_bytes());
}

fn feed_length(hash: &mut impl FnMut(&[u8]), kind: &[u8], length: usize) {
    hash(kind);
    hash(&(length as u64).to_le_bytes());
}

fn read(text: &str, depth: u32) -> CanonicalNode<'_> {
    let node = match text.as_bytes().first() {
        Some(b'{') if depth > 0 => read_object(text, depth),
        Some(b'[') if depth > 0 => read_array(text, depth),
        Some(b'"') => string(text).map(CanonicalNode::Text),
        _ => match text {
            "null" => Some(CanonicalNode::Null),
            "true" => Some(CanonicalNode::Bool(true)),
            "false" => Some(CanonicalNode::Bool(false)),
            _ => number(text).map(CanonicalNode::Number),
        },
    };
    node.unwrap_or(CanonicalNode::Raw(text))
}

fn read_object(text: &str, depth: u32) -> Option<CanonicalNode<'_>> {
    let mut members = Vec::new();
    for member in scan::members(text).ok()? {
        let member = member.ok()?;
        members.push((member.key()?, read(member.value, depth - 1)));
    }
    members.sort_by(|(left, _), (right, _)| left.cmp(right));
    Some(CanonicalNode::Object(members))
}

fn read_array(text: &str, depth: u32) -> Option<CanonicalNode<'_>> {
    let elements: Result<Vec<_>, _> =
        scan::elements(text).ok()?.map(|element| element.map(|text| read(text, depth - 1))).collect();
    elements.ok().map(CanonicalNode::Array)
}

/// The text between the quotes of a JSON string, with its escapes read; `None` when it is not a string or they are broken.
pub fn string(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if letters(inner.as_bytes()) < inner.len() && inner.contains(['\\', '"']) {
        serde_json::from_str(text).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// The one spelling of the decimal that a JSON number is; `None` when it is not a number, or beyond all reason.
///
/// `1.50e1` is `15`, `-0.0` is `0`. Beyond 40 digits the form is `digits` + `e` + exponent.
pub fn number(text: &str) -> Option<String> {
    let (sign, unsigned) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((_, "")) => return None,
        Some((whole, fraction)) => (whole, fraction),
        None => (mantissa, ""),
    };
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    if whole.is_empty() || leading_zero || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }

    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0').trim_end_matches('0');
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    let dropped = all.len() - all.trim_end_matches('0').len();
    let exponent =
        exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?.checked_add(i64::try_from(dropped).ok()?)?;
    Some(format!("{sign}{}", spell(digits, exponent)))
}

/// How many digits a number may have and still be written without an exponent.
const PLAIN_DIGITS: i64 = 40;

/// `digits` has no zero at either end.
fn spell(digits: &str, exponent: i64) -> String {
    let count = digits.len() as i64;
    if (0..=PLAIN_DIGITS).contains(&exponent) && count + exponent <= PLAIN_DIGITS {
        return format!("{digits}{}", "0".repeat(exponent as usize));
    }
    if (-PLAIN_DIGITS..0).contains(&exponent) && count <= PLAIN_DIGITS {
        let padded = format!("{}{digits}", "0".repeat((1 - exponent - count).max(0) as usize));
        let point = (padded.len() as i64 + exponent) as usize;
        let (whole, fraction) = padded.split_at(point);
        return format!("{whole}.{fraction}");
    }
    format!("{digits}e{exponent}")
}

fn read_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// The text with the members of all objects in order and no white space around them. Every other spelling counts. What cannot
/// be read, or nests too deep to be opened by anybody, counts letter by letter.
#[must_use]
pub fn in_order(text: &str) -> String {
    let mut ordered = String::with_capacity(text.len());
    match write_in_order(&mut ordered, text.trim(), MAX_DEPTH) {
        Some(()) => ordered,
        None => text.to_owned(),
    }
}

fn write_in_order(ordered: &mut String, text: &str, depth: u32) -> Option<()> {
    match text.as_bytes().first() {
        Some(b'{') => {
            let depth = depth.checked_sub(1)?;
            let mut members = scan::members(text).ok()?.collect::<Result<Vec<_>, _>>().ok()?;
            // Equal keys stay in their order: which of them counts is the reader's business.
            members.sort_by_key(|member| member.raw_key);
            ordered.push('{');
            for (position, member) in members.iter().enumerate() {
                ordered.push_str(if position == 0 { "\"" } else { ",\"" });
                ordered.push_str(member.raw_key);
                ordered.push_str("\":");
                write_in_order(ordered, member.value, depth)?;
            }
            ordered.push('}');
        }
        Some(b'[') => {
            let depth = depth.checked_sub(1)?;
            ordered.push('[');
            for (position, element) in scan::elements(text).ok()?.enumerate() {
                if position > 0 {
                    ordered.push(',');
                }
                write_in_order(ordered, element.ok()?, depth)?;
            }
            ordered.push(']');
        }
        _ => ordered.push_str(text),
    }
    Some(())
}
