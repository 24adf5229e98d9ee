//! Owns how a value that is too large is cut: as data, so that what is left is still JSON, the largest parts first.

use helve_model::json::RawJson;
use serde_json::{Map, Value};

/// How long texts, lists and objects may be at each step, until the whole fits.
const STEPS: [(usize, usize); 8] =
    [(8_000, 2_000), (2_000, 400), (800, 150), (300, 60), (120, 30), (60, 12), (30, 6), (12, 3)];

/// The value, shortened to so many bytes where it has more. True when it was cut.
pub(crate) fn shorten(value: &RawJson, bytes: usize) -> (RawJson, bool) {
    if value.as_str().len() <= bytes {
        return (value.clone(), false);
    }
    let Ok(value) = value.parse::<Value>() else { return (RawJson::string("a value that is not JSON"), true) };
    if let Value::String(text) = &value {
        return (RawJson::string(&cut_text(text, bytes.saturating_sub(64))), true);
    }
    for (text, items) in STEPS {
        let cut = cut(&value, text, items).to_string();
        if cut.len() <= bytes {
            return (RawJson::assembled(cut), true);
        }
    }
    (RawJson::string(&cut_text(&value.to_string(), bytes.saturating_sub(64))), true)
}

fn cut(value: &Value, text: usize, items: usize) -> Value {
    match value {
        Value::String(long) => Value::String(cut_text(long, text)),
        Value::Array(all) => {
            let mut kept: Vec<Value> = all.iter().take(items).map(|item| cut(item, text, items)).collect();
            if all.len() > items {
                kept.push(Value::String(format!("… ({} more items)", all.len() - items)));
            }
            Value::Array(kept)
        }
        Value::Object(all) => {
            let kept = all.iter().take(items).map(|(key, item)| (cut_text(key, 200), cut(item, text, items)));
            let mut kept: Map<String, Value> = kept.collect();
            if all.len() > items {
                kept.insert("…".to_owned(), Value::String(format!("{} more keys", all.len() - items)));
            }
            Value::Object(kept)
        }
        plain => plain.clone(),
    }
}

/// Whole characters, at most so many bytes, and how many there are more.
pub(crate) fn cut_text(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let (kept, rest) = text.split_at(end);
    format!("{kept}… ({} more characters)", rest.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_json_and_fits() {
        let rows: Vec<Value> =
            (0..5_000).map(|number| serde_json::json!({"n": number, "text": "é".repeat(300)})).collect();
        let whole = RawJson::from(Value::Array(rows));
        for bytes in [400, 4_000, 40 << 10] {
            let (short, was_cut) = shorten(&whole, bytes);
            assert!(was_cut && short.as_str().len() <= bytes, "{}", short.as_str().len());
            let Value::Array(rows) = short.parse::<Value>().unwrap() else { unreachable!("it is still a list") };
            assert!(rows.last().unwrap().as_str().unwrap().ends_with("more items)"));
        }
        let small = RawJson::from_static("[1,2]");
        assert_eq!(shorten(&small, 100), (small, false));
        let (text, _) = shorten(&RawJson::string(&"x".repeat(1_000)), 200);
        assert!(text.as_str().len() <= 200 && text.as_str().contains("more characters"));
    }
}
