//! What people changed: who, when, which file, with the difference. Values that may be secret are left out by whoever hands
//! it in.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::error::StoreError;
use crate::time::Moment;

/// A change to be noted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewChange {
    /// When.
    pub at: Moment,
    /// Who.
    pub actor: String,
    /// What was done, in one word.
    pub verb: String,
    /// To what.
    pub object: String,
    /// In which file.
    pub file: Option<String>,
    /// The version of the file before.
    pub before: Option<String>,
    /// The version of the file after.
    pub after: Option<String>,
    /// The difference, in the words of whoever made it.
    pub diff: String,
    /// The change that it takes back.
    pub undoes: Option<i64>,
}

/// A change that was noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its number.
    pub seq: i64,
    /// What was noted.
    pub change: NewChange,
    /// The change that took it back.
    pub undone_by: Option<i64>,
}

pub(crate) fn add(connection: &Connection, change: &NewChange) -> Result<i64, StoreError> {
    connection.execute(
        "INSERT INTO change (at, actor, verb, object, file, before_version, after_version, diff, undoes)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            change.at.micros(),
            change.actor,
            change.verb,
            change.object,
            change.file,
            change.before,
            change.after,
            change.diff,
            change.undoes
        ],
    )?;
    Ok(connection.last_insert_rowid())
}

const SELECT: &str = "SELECT seq, at, actor, verb, object, file, before_version, after_version, diff, undoes,
    (SELECT max(later.seq) FROM change later WHERE later.undoes = change.seq) FROM change";

/// The newest changes before a number.
pub(crate) fn list(connection: &Connection, before: Option<i64>, limit: usize) -> Result<Vec<Change>, StoreError> {
    let mut statement = connection.prepare_cached(&format!("{SELECT} WHERE seq < ? ORDER BY seq DESC LIMIT ?"))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map(params![before.unwrap_or(i64::MAX), limit], from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(crate) fn one(connection: &Connection, seq: i64) -> Result<Option<Change>, StoreError> {
    Ok(connection.prepare_cached(&format!("{SELECT} WHERE seq = ?"))?.query_row([seq], from_row).optional()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Change> {
    Ok(Change {
        seq: row.get(0)?,
        change: NewChange {
            at: Moment::from_micros(row.get(1)?),
            actor: row.get(2)?,
            verb: row.get(3)?,
            object: row.get(4)?,
            file: row.get(5)?,
            before: row.get(6)?,
            after: row.get(7)?,
            diff: row.get(8)?,
            undoes: row.get(9)?,
        },
        undone_by: row.get(10)?,
    })
}
