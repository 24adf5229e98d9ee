//! What recorded calls were about, counted: which tools for whom, and which rules decided. Only the newest calls are looked
//! at, so that it never takes long.

use rusqlite::{Connection, params};

use crate::error::StoreError;
use crate::time::Moment;

/// So many calls are looked at.
const MOST_LOOKED_AT: i64 = 250_000;

/// So many different ones are told.
const MOST_TOLD: i64 = 5_000;

/// The calls of one tool by one principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// On whose behalf.
    pub principal: String,
    /// The tool: `server/tool`.
    pub tool: String,
    /// How many.
    pub calls: u64,
}

/// The calls that one thing decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleUse {
    /// What decided, as it was recorded.
    pub rule: String,
    /// How many.
    pub calls: u64,
    /// When the last of them ended.
    pub last: Moment,
}

fn lowest(connection: &Connection) -> Result<i64, StoreError> {
    let newest: Option<i64> = connection.query_row("SELECT max(seq) FROM call", [], |row| row.get(0))?;
    Ok(newest.unwrap_or(0) - MOST_LOOKED_AT)
}

pub(crate) fn tools(connection: &Connection, from: Moment) -> Result<Vec<Usage>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT p.text, t.text, used.calls FROM
         (SELECT principal, tool, count(*) AS calls FROM call WHERE seq > ?1 AND at >= ?2 AND tool IS NOT NULL
          GROUP BY principal, tool ORDER BY calls DESC LIMIT ?3) used
         JOIN name p ON p.id = used.principal JOIN name t ON t.id = used.tool ORDER BY used.calls DESC, t.text, p.text",
    )?;
    let rows = statement.query_map(params![lowest(connection)?, from.micros(), MOST_TOLD], |row| {
        let calls: i64 = row.get(2)?;
        Ok(Usage { principal: row.get(0)?, tool: row.get(1)?, calls: u64::try_from(calls).unwrap_or_default() })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(crate) fn rules(connection: &Connection, from: Moment) -> Result<Vec<RuleUse>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT r.text, used.calls, used.last FROM
         (SELECT rule, count(*) AS calls, max(at) AS last FROM call WHERE seq > ?1 AND at >= ?2 AND rule IS NOT NULL
          GROUP BY rule LIMIT ?3) used
         JOIN name r ON r.id = used.rule ORDER BY used.calls DESC, r.text",
    )?;
    let rows = statement.query_map(params![lowest(connection)?, from.micros(), MOST_TOLD], |row| {
        let calls: i64 = row.get(1)?;
        let last = Moment::from_micros(row.get(2)?);
        Ok(RuleUse { rule: row.get(0)?, calls: u64::try_from(calls).unwrap_or_default(), last })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
