//! Owns how JSON text becomes values here: an ordered tree for schemas (key order is what a person reads), a plain
//! tree for arguments, both under the same caps, so that no later step has to fear size, depth or a repeated key.

use std::fmt;

use indexmap::IndexMap;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Number, Value};

/// A JSON value whose objects keep the order in which their keys were written.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as precise as it was written.
    Number(Number),
    /// A text.
    String(String),
    /// An array.
    Array(Vec<Self>),
    /// An object.
    Object(Object),
}

/// A JSON object in written order.
pub type Object = IndexMap<String, Json>;

/// Why a text is not taken as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonProblem {
    /// The text is not JSON; the words of the parser, with line and column.
    Syntax(String),
    /// The text has more bytes than are looked at.
    TooLarge {
        /// Its length.
        bytes: usize,
        /// The cap.
        limit: usize,
    },
    /// Arrays and objects nest deeper than is looked at.
    TooDeep {
        /// The cap.
        limit: usize,
    },
    /// There are more values than are looked at.
    TooMany {
        /// The cap.
        limit: usize,
    },
    /// An object has the same key twice: two readers could see two different values.
    RepeatedKey(String),
}

impl fmt::Display for JsonProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(detail) => write!(f, "not valid JSON: {detail}"),
            Self::TooLarge { bytes, limit } => write!(f, "{bytes} bytes of JSON, the limit is {limit}"),
            Self::TooDeep { limit } => write!(f, "JSON nested deeper than {limit} levels"),
            Self::TooMany { limit } => write!(f, "JSON of more than {limit} values"),
            Self::RepeatedKey(key) => {
                write!(f, "the key {} appears twice in one object", helve_model::text::quoted(key, 60))
            }
        }
    }
}

impl std::error::Error for JsonProblem {}

/// How much JSON is taken, and whether a repeated key is an error.
#[derive(Debug, Clone, Copy)]
pub struct Caps {
    /// Bytes of text.
    pub bytes: usize,
    /// Levels of arrays and objects.
    pub depth: usize,
    /// Values, whatever their size.
    pub values: usize,
    /// What becomes of a key that comes twice.
    pub repeated_keys: RepeatedKeys,
}

/// What to do with an object that names a key twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepeatedKeys {
    /// Arguments: what is checked must be what the server reads.
    Refused,
    /// Schemas: a careless server, not an attack; the last one counts, as in every JSON library.
    LastWins,
}

/// What a tree looks like from outside: needed to bound the work of validating it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shape {
    /// Levels of arrays and objects.
    pub depth: usize,
}

/// Reads an ordered tree.
pub fn parse(text: &str, caps: Caps) -> Result<Json, JsonProblem> {
    read::<Json>(text, caps).map(|(json, _)| json)
}

/// Reads a plain tree, the form the validator works on.
pub fn parse_value(text: &str, caps: Caps) -> Result<(Value, Shape), JsonProblem> {
    read::<Value>(text, caps)
}

impl Json {
    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// The items, if it is an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// A member, if it is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object().and_then(|object| object.get(key))
    }

    /// A string member, or nothing if it is absent or not a string.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Self::as_str)
    }

    /// The value at an RFC 6901 pointer.
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        let mut here = self;
        for token in pointer_tokens(pointer)? {
            here = match here {
                Self::Object(object) => object.get(token.as_str())?,
                Self::Array(items) => items.get(array_index(&token)?)?,
                Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => return None,
            };
        }
        Some(here)
    }

    /// How many values the tree has, itself included.
    pub fn values(&self) -> usize {
        match self {
            Self::Array(items) => items.iter().map(Self::values).sum::<usize>() + 1,
            Self::Object(object) => object.values().map(Self::values).sum::<usize>() + 1,
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => 1,
        }
    }

    /// The JSON text, without spaces.
    pub fn to_text(&self) -> String {
        // Writing this tree to a string cannot fail: its keys are strings and its writer is memory.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The same as a plain tree.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(bool) => Value::Bool(*bool),
            Self::Number(number) => Value::Number(number.clone()),
            Self::String(text) => Value::String(text.clone()),
            Self::Array(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Self::Object(object) => {
                Value::Object(object.iter().map(|(key, value)| (key.clone(), value.to_value())).collect())
            }
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Json {
    fn from(bool: bool) -> Self {
        Self::Bool(bool)
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(bool) => serializer.serialize_bool(*bool),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    sequence.serialize_element(item)?;
                }
                sequence.end()
            }
            Self::Object(object) => {
                let mut map = serializer.serialize_map(Some(object.len()))?;
                for (key, value) in object {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

/// The tokens of a pointer, unescaped; nothing if it is not one.
pub fn pointer_tokens(pointer: &str) -> Option<Vec<String>> {
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    let rest = pointer.strip_prefix('/')?;
    Some(rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect())
}

/// Appends one token to a pointer.
pub fn push_pointer(pointer: &mut String, token: &str) {
    pointer.push('/');
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

fn array_index(token: &str) -> Option<usize> {
    if token.len() > 1 && token.starts_with('0') {
        return None;
    }
    token.parse().ok()
}

/// What the reader can build: both trees are read by one visitor, so the caps cannot differ.
trait Tree: Sized {
    fn scalar(scalar: Scalar) -> Self;
    fn array(items: Vec<Self>) -> Self;
    type Map: Default;
    fn contains(map: &Self::Map, key: &str) -> bool;
    fn insert(map: &mut Self::Map, key: String, value: Self);
    fn object(map: Self::Map) -> Self;
}

enum Scalar {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
}

impl Tree for Json {
    type Map = Object;

    fn scalar(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Null => Self::Null,
            Scalar::Bool(bool) => Self::Bool(bool),
            Scalar::Number(number) => Self::Number(number),
            Scalar::String(text) => Self::String(text),
        }
    }

    fn array(items: Vec<Self>) -> Self {
        Self::Array(items)
    }

    fn contains(map: &Object, key: &str) -> bool {
        map.contains_key(key)
    }

    fn insert(map: &mut Object, key: String, value: Self) {
        map.insert(key, value);
    }

    fn object(map: Object) -> Self {
        Self::Object(map)
    }
}

impl Tree for Value {
    type Map = serde_json::Map<String, Self>;

    fn scalar(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Null => Self::Null,
            Scalar::Bool(bool) => Self::Bool(bool),
            Scalar::Number(number) => Self::Number(number),
            Scalar::String(text) => Self::String(text),
        }
    }

    fn array(items: Vec<Self>) -> Self {
        Self::Array(items)
    }

    fn contains(map: &serde_json::Map<String, Self>, key: &str) -> bool {
        map.contains_key(key)
    }

    fn insert(map: &mut serde_json::Map<String, Self>, key: String, value: Self) {
        map.insert(key, value);
    }

    fn object(map: serde_json::Map<String, Self>) -> Self {
        Self::Object(map)
    }
}

fn read<T: Tree>(text: &str, caps: Caps) -> Result<(T, Shape), JsonProblem> {
    if text.len() > caps.bytes {
        return Err(JsonProblem::TooLarge { bytes: text.len(), limit: caps.bytes });
    }
    let mut state = Reading { caps, values: 0, shape: Shape::default(), problem: None };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = Node::<T> { state: &mut state, depth: 0, tree: std::marker::PhantomData }.deserialize(&mut deserializer);
    match read.and_then(|tree| deserializer.end().map(|()| tree)) {
        Ok(tree) => Ok((tree, state.shape)),
        Err(error) => Err(state.problem.unwrap_or_else(|| JsonProblem::Syntax(error.to_string()))),
    }
}

struct Reading {
    caps: Caps,
    values: usize,
    shape: Shape,
    /// What stopped the reader, when it was not the syntax.
    problem: Option<JsonProblem>,
}

struct Node<'s, T> {
    state: &'s mut Reading,
    depth: usize,
    tree: std::marker::PhantomData<T>,
}

impl<T> Node<'_, T> {
    fn enter<E: serde::de::Error>(&mut self) -> Result<(), E> {
        let depth = self.depth + 1;
        if depth > self.state.caps.depth {
            self.state.problem = Some(JsonProblem::TooDeep { limit: self.state.caps.depth });
            return Err(E::custom("too deep"));
        }
        self.state.shape.depth = self.state.shape.depth.max(depth);
        Ok(())
    }
}

impl<'de, T: Tree> DeserializeSeed<'de> for Node<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        self.state.values += 1;
        if self.state.values > self.state.caps.values {
            self.state.problem = Some(JsonProblem::TooMany { limit: self.state.caps.values });
            return Err(D::Error::custom("too many values"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Tree> Visitor<'de> for Node<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::scalar(Scalar::Null))
    }

    fn visit_bool<E>(self, bool: bool) -> Result<T, E> {
        Ok(T::scalar(Scalar::Bool(bool)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::scalar(Scalar::Number(number.into())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::scalar(Scalar::Number(number.into())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        // JSON text has no infinities; the parser refuses what does not fit.
        Ok(T::scalar(Number::from_f64(number).map_or(Scalar::Null, Scalar::Number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::scalar(Scalar::String(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<T, E> {
        Ok(T::scalar(Scalar::String(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut sequence: A) -> Result<T, A::Error> {
        self.enter()?;
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element_seed(Node::<T> {
            state: &mut *self.state,
            depth: self.depth + 1,
            tree: std::marker::PhantomData,
        })? {
            items.push(item);
        }
        Ok(T::array(items))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<T, A::Error> {
        self.enter()?;
        let mut map = T::Map::default();
        while let Some(key) = members.next_key::<String>()? {
            if self.state.caps.repeated_keys == RepeatedKeys::Refused && T::contains(&map, &key) {
                self.state.problem = Some(JsonProblem::RepeatedKey(key));
                return Err(A::Error::custom("repeated key"));
            }
            let seed = Node::<T> { state: &mut *self.state, depth: self.depth + 1, tree: std::marker::PhantomData };
            let value = members.next_value_seed(seed)?;
            T::insert(&mut map, key, value);
        }
        Ok(T::object(map))
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
