//! Owns the short way of a check: schemas of plain keywords, and arguments that are looked at once, as they are written.
//!
//! Most calls are a handful of strings and numbers, and fit. That can be seen without building a tree of them. The short
//! way only ever says yes: whatever it does not know (another keyword, an escape in a string, a fraction, a property
//! without a schema) and whatever does not fit is left to the whole validator, which alone says no, and why.

use helve_model::json::letters;
use jsonschema::Draft;

use helve_render::schema::json::{self, Json, Object};

use super::compile::dialect;
use helve_render::schema::limits::{ArgumentLimits, SCHEMA_CAPS};

/// Properties of one object; each has a bit of the set of those that were seen.
const MAX_PROPERTIES: usize = u64::BITS as usize;
/// A schema of plain keywords that is no longer than this is within every budget.
const MAX_SOUND_BYTES: usize = 16 * 1024;
/// Digits of a whole number; any number of so many digits is exact in every reader.
const MAX_DIGITS: usize = 15;

/// A schema whose every keyword is known here.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plain {
    types: Types,
    /// The only strings that fit; empty: all do.
    strings: Vec<Box<str>>,
    /// In characters.
    length: Bounds,
    number: Bounds,
    items: Option<Box<Schema>>,
    item_count: Bounds,
    properties: Vec<(Box<str>, Schema)>,
    /// A bit for each property that must be there.
    required: u64,
    /// Nothing in it is beyond what is known here, so it is a valid schema.
    is_sound: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Schema {
    Plain(Plain),
    /// Something in it is not known here.
    Beyond,
}

/// Which kinds of values fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Types {
    null: bool,
    boolean: bool,
    whole_number: bool,
    string: bool,
    array: bool,
    object: bool,
}

/// Least and most, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bounds {
    least: i64,
    most: i64,
}

impl Plain {
    /// Reads a schema; `None` when it says something that is not known here.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut schema = json::parse(text, SCHEMA_CAPS).ok()?;
        let mut notices = Vec::new();
        let drafts = dialect(&mut schema, &mut notices);
        let mut plain = Self::of(&schema)?;
        // What is plain in these two is valid in them; older ones have rules of their own.
        let is_recent = matches!(drafts.first(), Some(Draft::Draft202012 | Draft::Draft7));
        plain.is_sound &= is_recent && notices.is_empty() && text.len() <= MAX_SOUND_BYTES;
        Some(plain)
    }

    /// True when the whole validator is certain to have no word against the schema itself.
    pub(crate) const fn is_sound(&self) -> bool {
        self.is_sound
    }

    fn of(schema: &Json) -> Option<Self> {
        let schema = schema.as_object()?;
        let mut plain = Self {
            types: Types::ALL,
            strings: Vec::new(),
            length: Bounds::NONE,
            number: Bounds::NONE,
            items: None,
            item_count: Bounds::NONE,
            properties: Vec::new(),
            required: 0,
            is_sound: true,
        };
        for (keyword, value) in schema {
            plain.add(keyword, value)?;
        }
        // Needs the properties, which may stand behind it.
        if let Some(required) = schema.get("required") {
            for name in required.as_array()? {
                let bit = 1 << plain.property(name.as_str()?)?;
                if plain.required & bit != 0 {
                    return None;
                }
                plain.required |= bit;
            }
        }
        if !plain.strings.is_empty() {
            plain.types = Types { string: plain.types.string, ..Types::NONE };
        }
        Some(plain)
    }

    fn add(&mut self, keyword: &str, value: &Json) -> Option<()> {
        match keyword {
            "type" => self.types = Types::read(value)?,
            "enum" => self.strings = strings(value)?,
            "minLength" => self.length.least = count(value)?,
            "maxLength" => self.length.most = count(value)?,
            "minimum" => self.number.least = whole(value)?,
            "maximum" => self.number.most = whole(value)?,
            "items" => {
                let items = Schema::read(value);
                self.is_sound &= items.is_sound();
                self.items = Some(Box::new(items));
            }
            "minItems" => self.item_count.least = count(value)?,
            "maxItems" => self.item_count.most = count(value)?,
            "properties" => {
                self.properties = properties(value.as_object()?)?;
                self.is_sound &= self.properties.iter().all(|(_, schema)| schema.is_sound());
            }
            // What it says of a property without a schema is not asked here.
            "additionalProperties" => {
                self.is_sound &= matches!(value, Json::Bool(_)) || Schema::read(value).is_sound();
            }
            "required" | "default" => {}
            // Formats describe and do not check, as in the whole validator.
            "title" | "description" | "format" | "$comment" => self.is_sound &= value.as_str().is_some(),
            "deprecated" | "readOnly" | "writeOnly" => self.is_sound &= matches!(value, Json::Bool(_)),
            "examples" => self.is_sound &= value.as_array().is_some(),
            _ => return None,
        }
        Some(())
    }

    /// True when `arguments` is certainly an object within the limits that fits; false says nothing.
    pub(crate) fn accepts(&self, arguments: &str, limits: ArgumentLimits) -> bool {
        // A text has no more values than bytes.
        if arguments.len() > limits.bytes.min(limits.values) {
            return false;
        }
        let mut reader = Reader { text: arguments, at: 0 };
        reader.space();
        let fits = reader.peek() == Some(b'{') && reader.value(self, limits.depth).is_some();
        reader.space();
        fits && reader.at == arguments.len()
    }

    fn property(&self, name: &str) -> Option<usize> {
        self.properties.iter().position(|(property, _)| **property == *name)
    }
}

impl Schema {
    fn read(schema: &Json) -> Self {
        Plain::of(schema).map_or(Self::Beyond, Self::Plain)
    }

    const fn is_sound(&self) -> bool {
        matches!(self, Self::Plain(plain) if plain.is_sound)
    }

    const fn plain(&self) -> Option<&Plain> {
        match self {
            Self::Plain(plain) => Some(plain),
            Self::Beyond => None,
        }
    }
}

fn properties(schemas: &Object) -> Option<Vec<(Box<str>, Schema)>> {
    let known = schemas.len() <= MAX_PROPERTIES;
    known.then(|| schemas.iter().map(|(name, schema)| (Box::from(name.as_str()), Schema::read(schema))).collect())
}

/// The strings of an `enum`: at least one, none twice.
fn strings(value: &Json) -> Option<Vec<Box<str>>> {
    let mut strings: Vec<Box<str>> = Vec::new();
    for text in value.as_array()? {
        let text = text.as_str()?;
        if strings.iter().any(|known| **known == *text) {
            return None;
        }
        strings.push(Box::from(text));
    }
    (!strings.is_empty()).then_some(strings)
}

fn count(value: &Json) -> Option<i64> {
    whole(value).filter(|count| *count >= 0)
}

fn whole(value: &Json) -> Option<i64> {
    if let Json::Number(number) = value { number.as_i64() } else { None }
}

impl Types {
    const NONE: Self =
        Self { null: false, boolean: false, whole_number: false, string: false, array: false, object: false };
    const ALL: Self = Self { null: true, boolean: true, whole_number: true, string: true, array: true, object: true };

    fn read(value: &Json) -> Option<Self> {
        let mut types = Self::NONE;
        let names = value.as_array().unwrap_or(std::slice::from_ref(value));
        for name in names {
            match name.as_str()? {
                "null" => types.null = true,
                "boolean" => types.boolean = true,
                "integer" | "number" => types.whole_number = true,
                "string" => types.string = true,
                "array" => types.array = true,
                "object" => types.object = true,
                _ => return None,
            }
        }
        let is_set = !names.is_empty() && (1..names.len()).all(|at| !names[..at].contains(&names[at]));
        is_set.then_some(types)
    }
}

impl Bounds {
    const NONE: Self = Self { least: i64::MIN, most: i64::MAX };

    fn hold(self, value: i64) -> bool {
        (self.least..=self.most).contains(&value)
    }

    fn hold_count(self, count: usize) -> bool {
        i64::try_from(count).is_ok_and(|count| self.hold(count))
    }
}

/// Reads JSON from its beginning to its end. `None`: it is not JSON, or does not fit, or that is not known here.
struct Reader<'text> {
    text: &'text str,
    at: usize,
}

impl<'text> Reader<'text> {
    fn value(&mut self, schema: &Plain, depth: usize) -> Option<()> {
        match self.peek()? {
            b'"' if schema.types.string => {
                let string = self.string()?;
                let one_of_few = schema.strings.is_empty() || schema.strings.iter().any(|known| **known == *string);
                let any_length = schema.length == Bounds::NONE;
                (one_of_few && (any_length || fits_length(string, schema.length))).then_some(())
            }
            b'{' if schema.types.object => self.object(schema, depth.checked_sub(1)?),
            b'[' if schema.types.array => self.array(schema, depth.checked_sub(1)?),
            b't' if schema.types.boolean => self.word("true"),
            b'f' if schema.types.boolean => self.word("false"),
            b'n' if schema.types.null => self.word("null"),
            b'-' | b'0'..=b'9' if schema.types.whole_number => {
                let number = self.whole_number()?;
                schema.number.hold(number).then_some(())
            }
            _ => None,
        }
    }

    fn object(&mut self, schema: &Plain, depth: usize) -> Option<()> {
        let mut seen = 0;
        self.at += 1;
        self.space();
        if self.peek()? == b'}' {
            self.at += 1;
            return (schema.required == 0).then_some(());
        }
        loop {
            let index = schema.property(self.string()?)?;
            let bit = 1_u64 << index;
            if seen & bit != 0 {
                return None;
            }
            seen |= bit;
            self.space();
            self.byte(b':')?;
            self.space();
            let (_, property) = schema.properties.get(index)?;
            self.value(property.plain()?, depth)?;
            self.space();
            match self.take()? {
                b',' => self.space(),
                b'}' => return (seen & schema.required == schema.required).then_some(()),
                _ => return None,
            }
        }
    }

    fn array(&mut self, schema: &Plain, depth: usize) -> Option<()> {
        self.at += 1;
        self.space();
        if self.peek()? == b']' {
            self.at += 1;
            return schema.item_count.hold(0).then_some(());
        }
        let items = schema.items.as_ref()?.plain()?;
        let mut count = 0;
        loop {
            self.value(items, depth)?;
            count += 1;
            self.space();
            match self.take()? {
                b',' => self.space(),
                b']' => return schema.item_count.hold_count(count).then_some(()),
                _ => return None,
            }
        }
    }

    /// A string without escapes.
    fn string(&mut self) -> Option<&'text str> {
        self.byte(b'"')?;
        let rest = self.text.get(self.at..)?;
        let length = letters(rest.as_bytes());
        self.at += length;
        self.byte(b'"')?;
        rest.get(..length)
    }

    /// A number without fraction and exponent.
    fn whole_number(&mut self) -> Option<i64> {
        let rest = self.text.get(self.at..)?;
        let negative = rest.starts_with('-');
        let digits = rest.get(usize::from(negative)..)?;
        let count = digits.bytes().take_while(u8::is_ascii_digit).count();
        let leading_zero = count > 1 && digits.starts_with('0');
        if leading_zero || count > MAX_DIGITS || matches!(digits.as_bytes().get(count), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        self.at += usize::from(negative) + count;
        let number: i64 = digits.get(..count)?.parse().ok()?;
        Some(if negative { -number } else { number })
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let found = self.text.get(self.at..)?.starts_with(word);
        self.at += word.len();
        found.then_some(())
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn byte(&mut self, expected: u8) -> Option<()> {
        (self.take()? == expected).then_some(())
    }

    fn take(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

fn fits_length(string: &str, length: Bounds) -> bool {
    // A character has one to four bytes: mostly that is enough to know.
    let (fewest, most) = (string.len().div_ceil(4), string.len());
    (length.hold_count(fewest) && length.hold_count(most)) || length.hold_count(string.chars().count())
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;
