//! Values between JSON and SQLite: what a parameter may be, and how a cell is given back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::Statement;
use rusqlite::types::{Value as SqlValue, ValueRef};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answer::Trouble;
use crate::words::{counted, quoted};

/// The values for a statement's placeholders: by position, or by name.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Parameters {
    Positional(Vec<Value>),
    Named(Map<String, Value>),
}

/// One value of a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob { base64: String },
}

impl Parameters {
    /// Gives every placeholder its value; too many and too few are both mistakes.
    pub(super) fn bind(&self, statement: &mut Statement<'_>) -> Result<(), Trouble> {
        match self {
            Self::Positional(values) => {
                let (wanted, given) = (statement.parameter_count(), values.len());
                if wanted != given {
                    let message = format!(
                        "the statement has {} and was given {}",
                        counted(wanted as u64, "placeholder"),
                        counted(given as u64, "value")
                    );
                    return Err(Trouble::failed(message));
                }
                for (index, value) in values.iter().enumerate() {
                    put(statement, index + 1, &format!("params[{index}]"), value)?;
                }
            }
            Self::Named(values) => {
                let mut used = 0;
                for index in 1..=statement.parameter_count() {
                    let Some(name) = statement.parameter_name(index).map(str::to_owned) else {
                        let message = format!("placeholder {index} has no name; give the values as a list");
                        return Err(Trouble::failed(message));
                    };
                    let Some(value) = values.get(&name).or_else(|| values.get(name.get(1..)?)) else {
                        return Err(Trouble::failed(format!(
                            "there is no value for the placeholder {}",
                            quoted(&name)
                        )));
                    };
                    used += 1;
                    put(statement, index, &name, value)?;
                }
                if used < values.len() {
                    return Err(Trouble::failed("there are values for placeholders that the statement does not have"));
                }
            }
        }
        Ok(())
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self::Positional(Vec::new())
    }
}

fn put(statement: &mut Statement<'_>, index: usize, name: &str, value: &Value) -> Result<(), Trouble> {
    let value = sql_value(value).map_err(|what| Trouble::failed(format!("{}: {what}", quoted(name))))?;
    statement.raw_bind_parameter(index, value).map_err(|error| Trouble::failed(error.to_string()))
}

fn sql_value(value: &Value) -> Result<SqlValue, &'static str> {
    Ok(match value {
        Value::Null => SqlValue::Null,
        Value::Bool(flag) => SqlValue::Integer(i64::from(*flag)),
        Value::Number(number) => match (number.as_i64(), number.is_f64(), number.as_f64()) {
            (Some(integer), ..) => SqlValue::Integer(integer),
            (None, true, Some(real)) => SqlValue::Real(real),
            _ => return Err("SQLite has no integers above 9223372036854775807; give it as a text"),
        },
        Value::String(text) => SqlValue::Text(text.clone()),
        Value::Object(object) if object.len() == 1 => match object.get("base64").and_then(Value::as_str) {
            Some(text) => SqlValue::Blob(STANDARD.decode(text).map_err(|_| "this is not base 64")?),
            None => return Err("an object is a blob only as {\"base64\": \"…\"}"),
        },
        Value::Object(_) => return Err("an object is a blob only as {\"base64\": \"…\"}"),
        Value::Array(_) => return Err("a list is not a value of SQLite; give it as a text of JSON"),
    })
}

impl Cell {
    pub(super) fn of(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(integer) => Self::Integer(integer),
            ValueRef::Real(real) if real.is_finite() => Self::Real(real),
            // JSON has no such number.
            ValueRef::Real(real) => Self::Text(if real > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()),
            ValueRef::Text(text) => Self::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Blob(blob) => Self::Blob { base64: STANDARD.encode(blob) },
        }
    }

    /// How many bytes a value would weigh, before it is copied.
    pub(super) fn weight_of(value: ValueRef<'_>) -> u64 {
        match value {
            ValueRef::Null => 4,
            ValueRef::Integer(_) | ValueRef::Real(_) => 20,
            ValueRef::Text(text) => text.len() as u64 + 2,
            ValueRef::Blob(blob) => (blob.len() as u64).div_ceil(3) * 4 + 14,
        }
    }
}
