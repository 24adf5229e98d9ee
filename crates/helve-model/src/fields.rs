//! Reading an object leniently: what fits is taken, what does not is a warning, what is unknown stays in the raw text.

use serde::de::DeserializeOwned;

use crate::json::RawJson;
use crate::json::scan::{self, Member};

/// The members of one object, looked at one after another, with a list of what did not fit.
pub(crate) struct Fields<'object> {
    object: &'object RawJson,
    members: Vec<Member<'object>>,
    warnings: Vec<String>,
}

impl<'object> Fields<'object> {
    /// `None` when the value is not an object or is cut off in the middle.
    pub(crate) fn of(object: &'object RawJson) -> Option<Self> {
        let members = scan::members(object.as_str()).ok()?.collect::<Result<_, _>>().ok()?;
        Some(Self { object, members, warnings: Vec::new() })
    }

    /// The text of a member. Of duplicates the last counts; `null` counts as absent.
    pub(crate) fn text(&self, key: &str) -> Option<&'object str> {
        let member = self.members.iter().rev().find(|member| member.key_is(key))?;
        (member.value != "null").then_some(member.value)
    }

    /// The raw value of a member.
    pub(crate) fn raw(&self, key: &str) -> Option<RawJson> {
        self.text(key).map(|value| RawJson::part_of(self.object.shared(), value))
    }

    /// A member as a type; a value that does not fit is a warning and counts as absent.
    pub(crate) fn take<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        match serde_json::from_str(self.text(key)?) {
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
