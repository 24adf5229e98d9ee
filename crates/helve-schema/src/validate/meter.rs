//! Owns the bound on the work of one validation: every look the validator takes at the arguments is counted, and when
//! the count is used up, the arguments look empty, so that whatever it was doing ends at once.
//!
//! The validator has no budget of its own, and a schema of a few lines can ask for 2^n looks at n levels of data. It
//! does accept any representation of JSON, though: this one is `serde_json::Value` seen through a meter. The count is
//! kept per thread, since the validator makes nodes out of nothing for property names.

use std::borrow::Cow;
use std::cell::Cell;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, cmp, unique};
use serde_json::{Map, Number, Value};

/// Looks for telling whether arguments are valid. One costs a few nanoseconds; a megabyte of plain arguments takes
/// about half of this.
pub(crate) const CHECK_LOOKS: u64 = 2_000_000;
/// Looks for telling why they are not.
pub(crate) const EXPLAIN_LOOKS: u64 = 200_000;
/// What one error counts for: it is built in memory, with its path.
const LOOKS_PER_ERROR: u64 = 256;
/// Bytes of a string that an error carries.
const MAX_ERROR_STRING: usize = 256;
/// Bytes of a string that one atom of a pattern passes over for the price of one look.
const PATTERN_BYTES_PER_LOOK: u64 = 64;
/// Looks for starting a pattern on a string.
const LOOKS_PER_PATTERN: u64 = 30;
/// Members or elements that are counted for the price of one look.
const MEMBERS_PER_LOOK: u64 = 256;

/// What some looks cost under one schema.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weight {
    /// The `pattern` with the most atoms.
    pub(crate) values: PatternWeight,
    /// All `patternProperties` together: each key may meet each of them.
    pub(crate) keys: PatternWeight,
    /// How many times the price of an error an error costs.
    pub(crate) error: u32,
}

/// What a string has to get through.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PatternWeight {
    pub(crate) patterns: u32,
    pub(crate) atoms: u32,
}

/// Runs one validation under a budget; tells the result and whether the budget sufficed. Without enough budget the
/// result means nothing.
pub(crate) fn metered<T>(looks: u64, weight: Weight, run: impl FnOnce() -> T) -> (T, bool) {
    METER.with(|meter| meter.set(Meter { remaining: looks, weight }));
    let result = run();
    let sufficed = METER.with(|meter| meter.get().remaining > 0);
    METER.with(|meter| meter.set(Meter::EMPTY));
    (result, sufficed)
}

/// The representation: `serde_json` values, each look counted.
#[derive(Debug)]
pub(crate) struct Metered;

/// A value seen through the meter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'a>(pub(crate) &'a Value);

#[derive(Debug, Clone, Copy)]
struct Meter {
    remaining: u64,
    weight: Weight,
}

impl Meter {
    const EMPTY: Self = {
        let none = PatternWeight { patterns: 0, atoms: 0 };
        Self { remaining: 0, weight: Weight { values: none, keys: none, error: 1 } }
    };
}

thread_local! {
    static METER: Cell<Meter> = const { Cell::new(Meter::EMPTY) };
}

/// Takes from the budget; false once it is used up.
fn take(price: impl FnOnce(Weight) -> u64) -> bool {
    METER.with(|cell| {
        let mut meter = cell.get();
        meter.remaining = meter.remaining.saturating_sub(price(meter.weight));
        cell.set(meter);
        meter.remaining > 0
    })
}

fn pattern_price(bytes: usize, weight: PatternWeight) -> u64 {
    let passing = (bytes as u64).saturating_mul(u64::from(weight.atoms)) / PATTERN_BYTES_PER_LOOK;
    1 + LOOKS_PER_PATTERN * u64::from(weight.patterns) + passing
}

impl Json for Metered {
    type Node<'a> = Look<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, run: impl FnOnce(Look<'_>) -> T) -> T {
        *buffer = Value::String(string.to_owned());
        run(Look(buffer))
    }
}

/// The kind of a value never changes, even on an empty meter, so the validator always sees a consistent one; only what
/// is inside disappears.
impl<'a> Node<'a, Metered> for Look<'a> {
    type Object = LookObject<'a>;
    type Array = LookArray<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<LookObject<'a>> {
        let members = self.0.as_object()?;
        // The validator may set up something for each member before it looks at the first.
        take(|_| 1 + members.len() as u64 / MEMBERS_PER_LOOK);
        Some(LookObject(members))
    }

    fn as_array(&self) -> Option<LookArray<'a>> {
        let items = self.0.as_array()?;
        take(|_| 1 + items.len() as u64 / MEMBERS_PER_LOOK);
        Some(LookArray(items))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.0.as_str()?;
        if take(|weight| pattern_price(text.len(), weight.values)) {
            Some(Cow::Borrowed(text))
        } else {
            Some(Cow::Borrowed(""))
        }
    }

    fn as_number(&self) -> Option<&'a Number> {
        take(|_| 1);
        if let Value::Number(number) = self.0 { Some(number) } else { None }
    }

    fn as_boolean(&self) -> Option<bool> {
        take(|_| 1);
        self.0.as_bool()
    }

    fn is_null(&self) -> bool {
        self.0.is_null()
    }

    fn is_number(&self) -> bool {
        self.0.is_number()
    }

    fn json_type(&self) -> JsonType {
        take(|_| 1);
        match self.0 {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn string_length(&self) -> Option<u64> {
        let text = self.0.as_str()?;
        // Counting code points runs over a kilobyte in the time of a look.
        if take(|_| 1 + text.len() as u64 / 1024) { Some(text.chars().count() as u64) } else { Some(0) }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        let price = match (self.0, expected) {
            (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => size(expected),
            (Value::Object(ours), Value::Object(theirs)) if ours.len() == theirs.len() => size(expected),
            _ => 1,
        };
        take(|_| price) && cmp::equal(self.0, expected)
    }

    /// Only errors ask for this, and those about alternatives keep a copy each. So a container is not handed out: who
    /// reads an error finds it by the error's path.
    fn to_value(&self) -> Cow<'a, Value> {
        take(|weight| LOOKS_PER_ERROR.saturating_mul(u64::from(weight.error)));
        match self.0 {
            Value::String(text) if text.len() > MAX_ERROR_STRING => Cow::Owned(Value::Null),
            Value::Array(_) | Value::Object(_) => Cow::Owned(Value::Null),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Cow::Borrowed(self.0),
        }
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Value>(self.0) as usize))
    }
}

/// An object seen through the meter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LookObject<'a>(&'a Map<String, Value>);

impl<'a> Object<'a, Metered> for LookObject<'a> {
    type Node = Look<'a>;
    type MemberName = &'a str;
    type MembersIter = LookMembers<'a>;

    // The length stays true on an empty meter: the validator may have sized something by it.
    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<Look<'a>> {
        if take(|_| 1) { self.0.get(key.as_str()).map(Look) } else { None }
    }

    fn members(&self) -> LookMembers<'a> {
        LookMembers(self.0.iter())
    }
}

/// The members of an object seen through the meter.
#[derive(Debug)]
pub(crate) struct LookMembers<'a>(serde_json::map::Iter<'a>);

impl<'a> Iterator for LookMembers<'a> {
    type Item = (&'a str, Look<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.0.next()?;
        take(|weight| pattern_price(key.len(), weight.keys)).then_some((key.as_str(), Look(value)))
    }
}

/// An array seen through the meter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LookArray<'a>(&'a [Value]);

impl<'a> Array<'a, Metered> for LookArray<'a> {
    type Node = Look<'a>;
    type ElementsIter = LookElements<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> LookElements<'a> {
        LookElements(self.0.iter())
    }

    fn is_unique(&self) -> bool {
        let price = self.0.iter().map(size).fold(0, u64::saturating_add).saturating_mul(4);
        !take(|_| price) || unique::is_unique(self.0)
    }
}

/// The elements of an array seen through the meter.
#[derive(Debug)]
pub(crate) struct LookElements<'a>(std::slice::Iter<'a, Value>);

impl<'a> Iterator for LookElements<'a> {
    type Item = Look<'a>;

    fn next(&mut self) -> Option<Look<'a>> {
        let value = self.0.next()?;
        take(|_| 1).then_some(Look(value))
    }
}

/// Values in a tree, which is what comparing it costs.
fn size(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(size).fold(1, u64::saturating_add),
        Value::Object(members) => members.values().map(size).fold(1, u64::saturating_add),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
