//! Finding calls. Every search has a window of time, gives so many rows, and looks at so many: it never takes long, and says
//! how far it came.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::calls::{Call, CallBody, Decided, Ended, SELECT, from_row};
use crate::error::StoreError;
use crate::names::{NameKind, find};
use crate::time::Moment;

/// So many rows are given at most.
const MOST_ROWS: usize = 1_000;

/// So many rows are looked at for one answer.
const MOST_LOOKED_AT: i64 = 250_000;

/// What is looked for. `None` fits everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    /// Calls that ended at this moment or later.
    pub from: Moment,
    /// Calls that ended before this moment.
    pub until: Moment,
    /// Only calls before this one, by number: where the last answer ended.
    pub before: Option<i64>,
    /// On whose behalf.
    pub principal: Option<String>,
    /// What the agent calls itself.
    pub agent: Option<String>,
    /// The server.
    pub server: Option<String>,
    /// The tool: `server/tool`.
    pub tool: Option<String>,
    /// How it was decided.
    pub decision: Option<Decided>,
    /// How it ended.
    pub ended: Option<Ended>,
    /// So many rows.
    pub limit: usize,
}

/// What was found, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The rows.
    pub calls: Vec<Call>,
    /// Where to go on: there may be more before this one.
    pub next: Option<i64>,
}

/// The numbers of the names that are looked for; `None` when one of them was never seen.
struct Numbers {
    principal: Option<i64>,
    agent: Option<i64>,
    server: Option<i64>,
    tool: Option<i64>,
}

impl Numbers {
    fn of(connection: &Connection, search: &Search) -> Result<Option<Self>, StoreError> {
        let mut is_known = true;
        let mut number = |kind, text: &Option<String>| -> Result<Option<i64>, StoreError> {
            let Some(text) = text else { return Ok(None) };
            let found = find(connection, kind, text)?;
            is_known &= found.is_some();
            Ok(found)
        };
        let numbers = Self {
            principal: number(NameKind::Principal, &search.principal)?,
            agent: number(NameKind::Agent, &search.agent)?,
            server: number(NameKind::Server, &search.server)?,
            tool: number(NameKind::Tool, &search.tool)?,
        };
        Ok(is_known.then_some(numbers))
    }
}

pub(crate) fn search(connection: &Connection, search: &Search) -> Result<Found, StoreError> {
    let Some(numbers) = Numbers::of(connection, search)? else { return Ok(Found::default()) };
    let limit = search.limit.clamp(1, MOST_ROWS);
    let (order, walk) = if numbers.server.is_some() {
        ("call.at DESC, call.seq DESC", "+call.seq")
    } else {
        ("call.seq DESC", "call.seq")
    };
    let edge = |sql: &str, moment: Moment| -> Result<Option<i64>, StoreError> {
        Ok(connection.prepare_cached(sql)?.query_row([moment.micros()], |row| row.get(0)).optional()?)
    };
    // Calls are numbered in the order in which they ended, as near as makes no difference to a window.
    let first = edge("SELECT seq FROM call WHERE at >= ? ORDER BY at LIMIT 1", search.from)?;
    let Some(first) = first else { return Ok(Found::default()) };
    // The newest call may be older than others by its time: a clock is set back now and then.
    let newest: Option<(i64, i64)> = connection
        .prepare_cached("SELECT seq, at FROM call ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let last = match newest {
        Some((newest, at)) if at < search.until.micros() => Some(newest),
        _ => edge("SELECT seq FROM call WHERE at < ? ORDER BY at DESC LIMIT 1", search.until)?,
    };
    let Some(last) = last else { return Ok(Found::default()) };
    let last = search.before.map_or(last, |before| last.min(before - 1));
    // One server's calls are found by their index, and are few.
    let lowest = if numbers.server.is_some() { first } else { first.max(last - MOST_LOOKED_AT + 1) };
    let sql = format!(
        "{SELECT} WHERE {walk} BETWEEN ?1 AND ?2 AND call.at >= ?3 AND call.at < ?4
         AND (?5 IS NULL OR call.principal = ?5) AND (?6 IS NULL OR call.agent = ?6)
         AND (?7 IS NULL OR call.tool = ?7) AND (?8 IS NULL OR call.decision = ?8) AND (?9 IS NULL OR call.ending = ?9)
         {} ORDER BY {order} LIMIT ?11",
        if numbers.server.is_some() { "AND call.server = ?10" } else { "AND ?10 IS NULL" }
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(
        params![
            lowest,
            last,
            search.from.micros(),
            search.until.micros(),
            numbers.principal,
            numbers.agent,
            numbers.tool,
            search.decision.map(|decision| decision as i64),
            search.ended.map(|ended| ended as i64),
            numbers.server,
            i64::try_from(limit).unwrap_or(i64::MAX),
        ],
        from_row,
    )?;
    let calls = rows.collect::<Result<Vec<Call>, _>>()?;
    let next = match calls.last() {
        Some(oldest) if calls.len() == limit => Some(oldest.seq),
        _ => (lowest > first).then_some(lowest),
    };
    Ok(Found { calls, next })
}

/// What is wrong with the file; nothing when it is whole.
pub(crate) fn check(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare("PRAGMA integrity_check")?;
    let said = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(said.into_iter().filter(|line| line != "ok").collect())
}

/// What was kept of what a call sent and got.
pub(crate) fn body(connection: &Connection, seq: i64) -> Result<Option<CallBody>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT sealed FROM body WHERE seq = ?")?;
    Ok(statement.query_row([seq], |row| row.get(0)).optional()?.map(CallBody))
}

/// One call by its number.
pub(crate) fn one(connection: &Connection, seq: i64) -> Result<Option<Call>, StoreError> {
    let mut statement = connection.prepare_cached(&format!("{SELECT} WHERE call.seq = ?"))?;
    Ok(statement.query_row([seq], from_row).optional()?)
}
