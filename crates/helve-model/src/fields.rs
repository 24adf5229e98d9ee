//! Reading an object leniently: what fits is taken, what does not is a warning, what is unknown stays in the raw text.

use serde::de::DeserializeOwned;

use crate::json::{RawJson, scan};

/// The members of one object, taken out one after another, with a list of what did not fit.
pub(crate) struct Fields {
    members: Vec<(String, RawJson)>,
    warnings: Vec<String>,
}

impl Fields {
    /// `None` when the value is no object or is cut off in the middle.
    pub(crate) fn of(object: &RawJson) -> Option<Self> {
        let members = scan::members(object.as_str())
            .ok()?
            .map(|member| {
                let member = member.ok()?;
                let key = if member.raw_key.contains('\\') { member.key()? } else { member.raw_key.to_owned() };
                Some((key, RawJson::part_of(object.shared(), member.value)))
            })
            .collect::<Option<_>>()?;
        Some(Self { members, warnings: Vec::new() })
    }

    /// The raw value of a member. Of duplicates the last counts; `null` counts as absent.
    pub(crate) fn raw(&self, key: &str) -> Option<RawJson> {
        let (_, value) = self.members.iter().rev().find(|(name, _)| name == key)?;
        (value.as_str() != "null").then(|| value.clone())
    }

    /// A member as a type; a value that does not fit is a warning and counts as absent.
    pub(crate) fn take<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        match self.raw(key)?.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.warn(key, &error.to_string());
                None
            }
        }
    }

    /// A member that must be an object; anything else is a warning and counts as absent.
    pub(crate) fn take_object(&mut self, key: &str) -> Option<RawJson> {
        let value = self.raw(key)?;
        if value.is_object() {
            return Some(value);
        }
        self.warn(key, "not an object");
        None
    }

    /// A member that must be an array, as its elements; anything else is a warning and counts as empty.
    pub(crate) fn take_elements(&mut self, key: &str) -> Vec<RawJson> {
        let Some(value) = self.raw(key) else { return Vec::new() };
        value.elements().unwrap_or_else(|| {
            self.warn(key, "not an array");
            Vec::new()
        })
    }

    pub(crate) fn warn(&mut self, key: &str, problem: &str) {
        self.warnings.push(format!("{key}: {problem}"));
    }

    pub(crate) fn into_warnings(self) -> Vec<String> {
        self.warnings
    }
}
