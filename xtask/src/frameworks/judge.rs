//! Owns what is compared of two visits: through helve a framework must see what it sees directly, and must get over a server
//! that was killed.

use anyhow::{Result, bail};
use serde_json::Value;

/// The steps whose answers have to be the same, each with a part that a good answer has.
const SAME: &[(&str, &str)] = &[
    ("list", "Gives the text back"),
    ("call", "als zuvor"),
    ("coerced", "5"),
    ("error", "out of paper"),
    ("wrong", "unable to parse string as an integer"),
    ("image", "iVBORw0KGgo"),
    ("structured", "windy"),
    ("progress", "counted 3"),
];

/// How much of a differing value is shown.
const SHOWN: usize = 120;

/// Judges the visits; says in a few words what was seen, or everything that differs.
pub(crate) fn judge(direct: &Value, through: &Value) -> Result<String> {
    let mut faults = Vec::new();
    for (visit, seen) in [("directly", direct), ("through helve", through)] {
        if let Some(failure) = seen.get("connection") {
            faults.push(format!("{visit}: {failure}"));
        }
    }
    for (step, part) in SAME {
        let (direct, through) = (&direct[*step], &through[*step]);
        if !text(direct).contains(part) {
            faults.push(format!("{step}: directly it is {}", shown(direct)));
        } else if let Some(difference) = difference(direct, through) {
            faults.push(format!("{step}: {difference}"));
        }
    }
    faults.extend(cancelled(&direct["cancel"], &through["cancel"]));
    faults.extend(went_on(&through["killed"]));
    if !faults.is_empty() {
        bail!("{}", faults.join("; "));
    }
    let told = if direct["cancel"]["told"] == true { "cancelled" } else { "cancelled (tells no server)" };
    let went_on = if went_on(&direct["killed"]).is_none() { "went on both times" } else { "went on with helve alone" };
    let reports = direct["progress"]["reports"].as_array().map_or(0, Vec::len);
    Ok(format!("the same: {} steps, {reports} reports of progress, {told}; killed: {went_on}", SAME.len()))
}

/// The call ends the same way, the server hears of it where it does directly, and the next call is made.
fn cancelled(direct: &Value, through: &Value) -> Option<String> {
    let unheard = direct["told"] == true && through["told"] != true;
    let differs = ["ended", "then"].iter().find_map(|part| difference(&direct[*part], &through[*part]));
    if unheard {
        return Some("cancel: through helve the server does not hear of it".to_owned());
    }
    differs.map(|difference| format!("cancel: {difference}"))
}

/// The call that killed the server failed at once, and a later one was answered.
fn went_on(killed: &Value) -> Option<String> {
    let (died, then) = (&killed["died"], &killed["then"]);
    if died["raised"] == "TimeoutError" || died.is_null() {
        return Some(format!("killed: the call never ended: {}", shown(killed)));
    }
    (!text(then).contains("back again")).then(|| format!("killed: no later call was answered: {}", shown(killed)))
}

/// The first place where two values differ, and how.
pub(crate) fn difference(direct: &Value, through: &Value) -> Option<String> {
    match (direct, through) {
        (Value::Object(left), Value::Object(right)) => {
            let keys = left.keys().chain(right.keys().filter(|key| !left.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let found = difference(left.get(key).unwrap_or(&Value::Null), right.get(key).unwrap_or(&Value::Null))?;
                Some(if found.starts_with("/") { format!("/{key}{found}") } else { format!("/{key} {found}") })
            })
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            left.iter().zip(right).enumerate().find_map(|(index, (left, right))| {
                let found = difference(left, right)?;
                Some(if found.starts_with("/") { format!("/{index}{found}") } else { format!("/{index} {found}") })
            })
        }
        _ if direct == through => None,
        _ => Some(format!("is {} directly and {} through helve", shown(direct), shown(through))),
    }
}

fn text(value: &Value) -> String {
    value.to_string()
}

fn shown(value: &Value) -> String {
    let text = text(value);
    if text.chars().count() <= SHOWN { text } else { text.chars().take(SHOWN).chain(['…']).collect() }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
