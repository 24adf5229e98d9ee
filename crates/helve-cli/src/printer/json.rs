//! JSON for `--json`: the same data, in characters that a terminal does not obey.

use helve_model::text::escape_invisible_json;
use serde::Serialize;

/// The text of a value, over several lines and with a line break at its end.
pub(crate) fn render(value: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(ended(serde_json::to_string_pretty(value)?))
}

/// The text of a value in one line, with a line break at its end.
pub(crate) fn render_line(value: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(ended(serde_json::to_string(value)?))
}

fn ended(text: String) -> String {
    let mut text = match escape_invisible_json(&text) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(escaped) => escaped,
    };
    text.push('\n');
    text
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
