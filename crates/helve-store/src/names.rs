//! The dictionary: a name that many calls share is stored once. Names come from outside, so each kind has room for so many.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::StoreError;

/// What stands for names that found no room.
const OTHER: &str = "(other)";

/// The longest name that is stored, in bytes.
const LONGEST: usize = 512;

/// What a name names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum NameKind {
    Host = 0,
    Principal = 1,
    Agent = 2,
    Server = 3,
    Tool = 4,
    Rule = 5,
    Code = 6,
}

impl NameKind {
    /// How many different ones are told apart. What agents call themselves is their own word: they get little room.
    const fn room(self) -> usize {
        match self {
            Self::Agent => 4_096,
            Self::Server | Self::Code => 10_000,
            Self::Host | Self::Rule | Self::Principal => 65_536,
            Self::Tool => 262_144,
        }
    }
}

/// The dictionary as the writer knows it.
#[derive(Debug, Default)]
pub(crate) struct Names {
    known: HashMap<(NameKind, String), i64>,
    counts: HashMap<NameKind, usize>,
}

impl Names {
    pub(crate) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let mut names = Self::default();
        let mut statement = connection.prepare("SELECT kind, count(*) FROM name GROUP BY kind")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(kind) = kind_of(row.get(0)?) {
                names.counts.insert(kind, usize::try_from(row.get::<_, i64>(1)?).unwrap_or(usize::MAX));
            }
        }
        Ok(names)
    }

    /// The number of a name, given one where it has none. Where there is no room for it, it becomes another name.
    pub(crate) fn number(
        &mut self,
        connection: &Connection,
        kind: NameKind,
        name: &mut String,
    ) -> Result<i64, StoreError> {
        name.truncate(shortened(name).len());
        let text = name.as_str();
        if let Some(number) = self.known.get(&(kind, text.to_owned())) {
            return Ok(*number);
        }
        let stored = find(connection, kind, text)?;
        let number = match stored {
            Some(number) => number,
            None => {
                let count = self.counts.entry(kind).or_default();
                if *count >= kind.room() && text != OTHER {
                    OTHER.clone_into(name);
                    return self.number(connection, kind, name);
                }
                *count += 1;
                connection
                    .prepare_cached("INSERT INTO name (kind, text) VALUES (?, ?)")?
                    .execute(params![kind as i64, text])?;
                connection.last_insert_rowid()
            }
        };
        self.known.insert((kind, text.to_owned()), number);
        Ok(number)
    }

    /// After a transaction that failed, nothing that was numbered in it is known.
    pub(crate) fn forget(&mut self, connection: &Connection) {
        *self = Self::load(connection).unwrap_or_default();
    }
}

/// The number of a name, if it has one.
pub(crate) fn find(connection: &Connection, kind: NameKind, text: &str) -> Result<Option<i64>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT id FROM name WHERE kind = ? AND text = ?")?;
    Ok(statement.query_row(params![kind as i64, shortened(text)], |row| row.get(0)).optional()?)
}

/// As much of a name as is stored.
pub(crate) fn shortened(text: &str) -> &str {
    if text.len() <= LONGEST {
        return text;
    }
    let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    text.get(..end).unwrap_or_default()
}

const fn kind_of(number: i64) -> Option<NameKind> {
    Some(match number {
        0 => NameKind::Host,
        1 => NameKind::Principal,
        2 => NameKind::Agent,
        3 => NameKind::Server,
        4 => NameKind::Tool,
        5 => NameKind::Rule,
        6 => NameKind::Code,
        _ => return None,
    })
}
