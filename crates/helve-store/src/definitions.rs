//! Definitions of tools that were seen: when each first and last, so that a change can be shown.

use rusqlite::{Connection, params};

use crate::error::StoreError;
use crate::time::Moment;

/// So many definitions of one tool are kept.
const KEPT: i64 = 8;

/// A definition that a server gives now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The hash of its definition.
    pub hash: String,
    /// The definition, as JSON.
    pub text: String,
}

/// A definition that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenDefinition {
    /// What was seen.
    pub seen: Seen,
    /// When first.
    pub first: Moment,
    /// When last.
    pub last: Moment,
}

pub(crate) fn see(connection: &Connection, seen: &[Seen], at: Moment) -> Result<(), StoreError> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO definition VALUES (?1, ?2, ?3, ?4, ?4, ?5)
         ON CONFLICT (server, tool, hash) DO UPDATE SET last = max(last, excluded.last)",
    )?;
    let mut forget = connection.prepare_cached(
        "DELETE FROM definition WHERE server = ?1 AND tool = ?2 AND hash NOT IN
         (SELECT hash FROM definition WHERE server = ?1 AND tool = ?2 ORDER BY last DESC LIMIT ?3)",
    )?;
    for one in seen {
        insert.execute(params![one.server, one.tool, one.hash, at.micros(), one.text])?;
        forget.execute(params![one.server, one.tool, KEPT])?;
    }
    Ok(())
}

/// All definitions of a server's tools that were seen, the newest of each first.
pub(crate) fn of_server(connection: &Connection, server: &str) -> Result<Vec<SeenDefinition>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT server, tool, hash, text, first, last FROM definition WHERE server = ? ORDER BY tool, last DESC, first DESC",
    )?;
    let rows = statement.query_map([server], |row| {
        Ok(SeenDefinition {
            seen: Seen { server: row.get(0)?, tool: row.get(1)?, hash: row.get(2)?, text: row.get(3)? },
            first: Moment::from_micros(row.get(4)?),
            last: Moment::from_micros(row.get(5)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
