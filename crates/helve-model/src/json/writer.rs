//! Owns how JSON objects are written and how members are put into those that are there: what is raw stays as it is written,
//! what is text is escaped, and nobody else counts commas.

use std::fmt::{self, Write as _};

use super::{RawJson, scan};

/// Writes one object, member by member, in the order in which they come.
///
/// ```
/// use helve_model::json::ObjectWriter;
///
/// let point = ObjectWriter::new().number("x", 1).number("y", 2);
/// let told = ObjectWriter::new().text("name", "a \"point\"").object("at", point).finish();
/// assert_eq!(told.as_str(), r#"{"name":"a \"point\"","at":{"x":1,"y":2}}"#);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct ObjectWriter {
    /// Without the last brace.
    text: String,
}

impl Default for ObjectWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl ObjectWriter {
    /// An object without members.
    pub fn new() -> Self {
        Self { text: String::from("{") }
    }

    /// The members of an object that is there, as they are written, to be followed by others.
    pub fn after(object: &RawJson) -> Self {
        let text = object.as_str().trim_end();
        let open = text.strip_suffix('}').unwrap_or(text).trim_end();
        if open.starts_with('{') { Self { text: open.to_owned() } } else { Self::new() }
    }

    /// The same, with room for so many bytes.
    pub fn with_room(mut self, bytes: usize) -> Self {
        self.text.reserve(bytes);
        self
    }

    /// A member that is JSON already.
    pub fn raw(mut self, key: &str, value: impl AsRef<str>) -> Self {
        self.add_raw(key, value);
        self
    }

    /// A member that is JSON already, if there is one.
    pub fn optional(self, key: &str, value: Option<impl AsRef<str>>) -> Self {
        match value {
            Some(value) => self.raw(key, value),
            None => self,
        }
    }

    /// A text.
    pub fn text(mut self, key: &str, text: &str) -> Self {
        self.add_text(key, text);
        self
    }

    /// A text, if there is one.
    pub fn optional_text(self, key: &str, text: Option<impl AsRef<str>>) -> Self {
        match text {
            Some(text) => self.text(key, text.as_ref()),
            None => self,
        }
    }

    /// A number.
    pub fn number(mut self, key: &str, number: impl Into<i128>) -> Self {
        self.begin(key);
        // Writing into a String cannot fail.
        let _: fmt::Result = write!(self.text, "{}", number.into());
        self
    }

    /// `true` or `false`.
    pub fn flag(self, key: &str, flag: bool) -> Self {
        self.raw(key, if flag { "true" } else { "false" })
    }

    /// An object inside this one.
    pub fn object(self, key: &str, object: Self) -> Self {
        self.raw(key, object.into_text())
    }

    /// An array of what is JSON already.
    pub fn array<T: AsRef<str>>(mut self, key: &str, items: impl IntoIterator<Item = T>) -> Self {
        self.begin(key);
        push_array(&mut self.text, items);
        self
    }

    /// Members of another object, as they are written; those whose keys are not wanted stay away.
    pub fn members_of(mut self, object: &RawJson, is_wanted: impl Fn(&str) -> bool) -> Self {
        for member in scan::members(object.as_str()).into_iter().flatten().map_while(Result::ok) {
            if member.key().is_some_and(|key| is_wanted(&key)) {
                self.add_written(member.raw_key, member.value);
            }
        }
        self
    }

    /// Like [`ObjectWriter::raw`], for loops.
    pub fn add_raw(&mut self, key: &str, value: impl AsRef<str>) {
        self.begin(key);
        self.text.push_str(value.as_ref());
    }

    /// Like [`ObjectWriter::text`], for loops.
    pub fn add_text(&mut self, key: &str, text: &str) {
        self.begin(key);
        push_quoted(&mut self.text, text);
    }

    /// A member as it stands in another object: its key keeps its escapes.
    pub fn add_written(&mut self, raw_key: &str, value: &str) {
        self.comma();
        self.text.push('"');
        self.text.push_str(raw_key);
        self.text.push_str("\":");
        self.text.push_str(value);
    }

    /// True when nothing was written yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.ends_with('{')
    }

    /// The object.
    #[must_use]
    pub fn finish(self) -> RawJson {
        RawJson::assembled(self.into_text())
    }

    /// The object as text.
    #[must_use]
    pub fn into_text(mut self) -> String {
        self.text.push('}');
        self.text
    }

    /// What stands before the value of a last member, for those who hand its value on apart; they owe the closing brace.
    #[must_use]
    pub fn up_to(mut self, key: &str) -> String {
        self.begin(key);
        self.text
    }

    fn begin(&mut self, key: &str) {
        self.comma();
        push_quoted(&mut self.text, key);
        self.text.push(':');
    }

    fn comma(&mut self) {
        if !self.is_empty() {
            self.text.push(',');
        }
    }
}

impl RawJson {
    /// A text as a JSON string.
    #[must_use]
    pub fn string(text: &str) -> Self {
        Self::assembled(quoted(text))
    }

    /// An array of what is JSON already.
    #[must_use]
    pub fn array<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> Self {
        let mut text = String::new();
        push_array(&mut text, items);
        Self::assembled(text)
    }

    /// The object with the value of one of its members replaced; everything else stays as it is written. Of duplicate keys
    /// the last one counts. Without such a member the object stays as it is.
    #[must_use]
    pub fn replacing(&self, key: &str, value: &str) -> Self {
        let text = self.as_str();
        let found =
            scan::members(text).into_iter().flatten().map_while(Result::ok).filter(|member| member.key_is(key)).last();
        let Some(found) = found else { return self.clone() };
        let start = found.value.as_ptr() as usize - text.as_ptr() as usize;
        let (before, after) = (text.get(..start), text.get(start + found.value.len()..));
        Self::assembled([before.unwrap_or_default(), value, after.unwrap_or_default()].concat())
    }
}

/// A text as a JSON string.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    push_quoted(&mut quoted, text);
    quoted
}

fn push_quoted(into: &mut String, text: &str) {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'));
    if is_plain {
        into.push('"');
        into.push_str(text);
        into.push('"');
    } else {
        // Writing a str as JSON cannot fail.
        into.push_str(&serde_json::to_string(text).unwrap_or_default());
    }
}

fn push_array<T: AsRef<str>>(into: &mut String, items: impl IntoIterator<Item = T>) {
    into.push('[');
    for (position, item) in items.into_iter().enumerate() {
        if position > 0 {
            into.push(',');
        }
        into.push_str(item.as_ref());
    }
    into.push(']');
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
