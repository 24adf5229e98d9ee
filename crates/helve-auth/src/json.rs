//! Members of documents that strangers wrote. `null` is absent, and a number may be written as text.

use serde_json::{Map, Value};
use url::Url;

/// An object, with ways to read it that forgive what is harmless.
pub(crate) struct Object<'a>(pub(crate) &'a Map<String, Value>);

impl<'a> Object<'a> {
    pub(crate) fn of(value: &'a Value) -> Option<Self> {
        value.as_object().map(Self)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    pub(crate) fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// An address; anything that is not one says nothing.
    pub(crate) fn url(&self, name: &str) -> Option<Url> {
        Url::parse(self.text(name)?).ok()
    }

    /// A list of texts; members of other types are left out.
    pub(crate) fn list(&self, name: &str) -> Option<Vec<String>> {
        let items = self.0.get(name)?.as_array()?;
        Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// A count of seconds: a number, or a number written as text.
    pub(crate) fn seconds(&self, name: &str) -> Option<u64> {
        match self.0.get(name)? {
            Value::String(text) => text.trim().parse().ok(),
            Value::Number(number) => match number.as_u64() {
                Some(whole) => Some(whole),
                // A lifetime that is negative or not a number says nothing.
                None => number.as_f64().filter(|seconds| *seconds >= 0.0 && *seconds < 1e12).map(|seconds| {
                    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
                    let whole = seconds as u64;
                    whole
                }),
            },
            _ => None,
        }
    }

    pub(crate) fn object(&self, name: &str) -> Option<Self> {
        self.0.get(name)?.as_object().map(Object)
    }
}
