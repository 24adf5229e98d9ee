//! One JSON value as text, shared with the message it arrived in.

use std::fmt;

use bytes::Bytes;
use bytestring::ByteString;
use serde::de::{Deserialize, DeserializeOwned, IgnoredAny};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{scan, strict};

/// A JSON value as it was written: valid UTF-8, brackets balanced, key order and number spelling kept.
///
/// Cloning shares the bytes. Syntax inside is not checked until [`RawJson::check`] or [`RawJson::parse`].
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(ByteString);

impl AsRef<str> for RawJson {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl RawJson {
    /// The empty object.
    #[must_use]
    pub const fn empty_object() -> Self {
        Self(ByteString::from_static("{}"))
    }

    /// JSON that the program itself spells out.
    #[must_use]
    pub const fn from_static(text: &'static str) -> Self {
        Self(ByteString::from_static(text))
    }

    /// Takes any text after checking that it is JSON.
    ///
    /// # Errors
    /// The syntax error, with line and column.
    pub fn checked(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        let raw = Self(ByteString::from(text.into()));
        raw.check()?;
        Ok(raw)
    }

    /// Writes a value as JSON.
    ///
    /// # Errors
    /// When the value has no JSON form (a map with keys that are not strings, for example).
    pub fn from_value(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(|text| Self(ByteString::from(text)))
    }

    /// Takes a text that the program put together from JSON it already holds; it is not checked again.
    #[must_use]
    pub fn assembled(text: String) -> Self {
        Self(ByteString::from(text))
    }

    /// A part of `whole`: for spans that [`scan`] found.
    #[must_use]
    pub fn part_of(whole: &ByteString, part: &str) -> Self {
        Self(whole.slice_ref(part))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The shared text, for scanning further into it.
    #[must_use]
    pub const fn shared(&self) -> &ByteString {
        &self.0
    }

    /// The shared bytes.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0.into_bytes()
    }

    /// Checks the syntax of the whole value.
    ///
    /// # Errors
    /// The syntax error, with line and column.
    pub fn check(&self) -> Result<(), serde_json::Error> {
        // The error, and what nests too deep for the short way, are for the long one.
        if strict::is_json(&self.0) { Ok(()) } else { serde_json::from_str::<IgnoredAny>(&self.0).map(|_| ()) }
    }

    /// Opens the value as a type, checking its syntax on the way.
    ///
    /// # Errors
    /// When the syntax is broken or the value does not fit the type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }

    /// Like [`RawJson::parse`], for types that borrow from the text.
    ///
    /// # Errors
    /// When the syntax is broken or the value does not fit the type.
    pub fn parse_borrowed<'de, T: Deserialize<'de>>(&'de self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }

    /// The value of a member of this object; `None` when this is not an object or has no such member.
    ///
    /// Of duplicate keys the last one counts, as in every common parser.
    #[must_use]
    pub fn member(&self, key: &str) -> Option<Self> {
        let mut found = None;
        for member in scan::members(&self.0).ok()? {
            let member = member.ok()?;
            if member.key_is(key) {
                found = Some(member.value);
            }
        }
        found.map(|value| Self(self.0.slice_ref(value)))
    }

    /// The string a member of this object holds; `None` when it is absent or no string.
    #[must_use]
    pub fn member_str(&self, key: &str) -> Option<String> {
        self.member(key)?.parse().ok()
    }

    /// The elements of this array; `None` when this is not an array.
    #[must_use]
    pub fn elements(&self) -> Option<Vec<Self>> {
        scan::elements(&self.0)
            .ok()?
            .map(|element| element.map(|text| Self(self.0.slice_ref(text))))
            .collect::<Result<_, _>>()
            .ok()
    }

    /// True for an object, by its first character.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.starts_with('{')
    }
}

impl From<Value> for RawJson {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl From<&Value> for RawJson {
    fn from(value: &Value) -> Self {
        Self(ByteString::from(value.to_string()))
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for RawJson {
    /// The value as it was written, after its syntax was checked.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.0).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self(ByteString::from(String::from(Box::<str>::from(raw)))))
    }
}
