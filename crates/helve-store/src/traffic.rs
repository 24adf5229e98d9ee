//! How many calls there were: counted per minute and server as they are written, so that charts need not read calls.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::calls::{Call, Ended};
use crate::error::StoreError;
use crate::names::{NameKind, Names, find};

/// Steps in which times are counted: each is twice as long as the one before; the first ends at 64 µs.
const STEPS: usize = 24;

/// What stands for calls that name no server.
const NOWHERE: i64 = 0;

/// The calls of one minute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Minute {
    /// The minute, counted from 1970.
    pub minute: i64,
    /// All that ended in it.
    pub calls: u64,
    /// Of them refused.
    pub refused: u64,
    /// Of them failed, by the tool's word or with an error.
    pub failed: u64,
}

/// The calls of a time, by minute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The minutes in which there were any, the oldest first.
    pub minutes: Vec<Minute>,
    /// All.
    pub calls: u64,
    /// Of them refused.
    pub refused: u64,
    /// Of them failed.
    pub failed: u64,
    steps: [u64; STEPS],
}

#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    calls: u64,
    refused: u64,
    failed: u64,
    steps: [u64; STEPS],
}

impl Traffic {
    /// The time within which this part of all calls ended, in microseconds: `0.95` for nineteen of twenty. It is the end
    /// of the step in which that call lies.
    #[must_use]
    pub fn took_at_most(&self, part: f64) -> Option<u64> {
        let all: u64 = self.steps.iter().sum();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rank among counts"
        )]
        let rank = ((all as f64) * part).ceil() as u64;
        let mut seen = 0;
        let found = self.steps.iter().position(|step| {
            seen += step;
            seen >= rank.max(1)
        });
        found.filter(|_| all > 0).map(|step| 64 << step)
    }
}

fn step_of(micros: u64) -> usize {
    let doublings = 64 - (micros.saturating_sub(1) / 64).leading_zeros() as usize;
    doublings.min(STEPS - 1)
}

/// Counts a batch of rows that were just written.
pub(crate) fn count(connection: &Connection, names: &mut Names, rows: &[Call]) -> Result<(), StoreError> {
    let mut counted: BTreeMap<(i64, i64), Counted> = BTreeMap::new();
    for Call { call, .. } in rows {
        let server = match &call.server {
            Some(server) => names.number(connection, NameKind::Server, &mut server.clone())?,
            None => NOWHERE,
        };
        let minute = counted.entry((call.at.minute(), server)).or_default();
        minute.calls += 1;
        minute.refused += u64::from(call.ended == Ended::Refused);
        minute.failed += u64::from(matches!(call.ended, Ended::Failed | Ended::ToolError));
        if let Some(step) = minute.steps.get_mut(step_of(call.took)) {
            *step += 1;
        }
    }
    for ((minute, server), mut counted) in counted {
        let known = connection
            .prepare_cached("SELECT calls, refused, failed, took FROM minute WHERE minute = ? AND server = ?")?
            .query_row(params![minute, server], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, row.get::<_, Vec<u8>>(3)?))
            })
            .optional()?;
        if let Some((calls, refused, failed, took)) = known {
            counted.calls += u64::try_from(calls).unwrap_or_default();
            counted.refused += u64::try_from(refused).unwrap_or_default();
            counted.failed += u64::try_from(failed).unwrap_or_default();
            add_steps(&mut counted.steps, &took);
        }
        let took: Vec<u8> = packed(&counted.steps);
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        connection.prepare_cached("INSERT OR REPLACE INTO minute VALUES (?, ?, ?, ?, ?, ?)")?.execute(params![
            minute,
            server,
            signed(counted.calls),
            signed(counted.refused),
            signed(counted.failed),
            took
        ])?;
    }
    Ok(())
}

/// The steps as bytes, without those at the end that are empty.
fn packed(steps: &[u64; STEPS]) -> Vec<u8> {
    let used = steps.iter().rposition(|step| *step > 0).map_or(0, |last| last + 1);
    steps.iter().take(used).flat_map(|step| u32::try_from(*step).unwrap_or(u32::MAX).to_le_bytes()).collect()
}

fn add_steps(steps: &mut [u64; STEPS], packed: &[u8]) {
    for (step, bytes) in steps.iter_mut().zip(packed.chunks_exact(4)) {
        *step += bytes.try_into().map_or(0, |bytes| u64::from(u32::from_le_bytes(bytes)));
    }
}

/// The calls of the minutes `from..until`, of one server or all.
pub(crate) fn read(
    connection: &Connection,
    server: Option<&str>,
    from: i64,
    until: i64,
) -> Result<Traffic, StoreError> {
    let mut traffic = Traffic::default();
    let server = match server {
        Some(server) => match find(connection, NameKind::Server, server)? {
            Some(number) => Some(number),
            None => return Ok(traffic),
        },
        None => None,
    };
    let mut statement = connection.prepare_cached(
        "SELECT minute, calls, refused, failed, took FROM minute
         WHERE minute >= ?1 AND minute < ?2 AND (?3 IS NULL OR server = ?3) ORDER BY minute",
    )?;
    let mut rows = statement.query(params![from, until, server])?;
    while let Some(row) = rows.next()? {
        let count = |index: usize| row.get::<_, i64>(index).map(|number| u64::try_from(number).unwrap_or_default());
        let (minute, calls, refused, failed) = (row.get(0)?, count(1)?, count(2)?, count(3)?);
        if traffic.minutes.last().is_none_or(|last: &Minute| last.minute != minute) {
            traffic.minutes.push(Minute { minute, ..Minute::default() });
        }
        if let Some(last) = traffic.minutes.last_mut() {
            last.calls += calls;
            last.refused += refused;
            last.failed += failed;
        }
        traffic.calls += calls;
        traffic.refused += refused;
        traffic.failed += failed;
        add_steps(&mut traffic.steps, &row.get::<_, Vec<u8>>(4)?);
    }
    Ok(traffic)
}

/// The calls of the minutes `from..until` by server: name, calls, failed.
pub(crate) fn by_server(connection: &Connection, from: i64, until: i64) -> Result<Vec<(String, Minute)>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT name.text, sum(calls), sum(refused), sum(failed) FROM minute JOIN name ON name.id = minute.server
         WHERE minute >= ? AND minute < ? GROUP BY minute.server",
    )?;
    let rows = statement.query_map(params![from, until], |row| {
        let count = |index: usize| row.get::<_, i64>(index).map(|number| u64::try_from(number).unwrap_or_default());
        Ok((row.get(0)?, Minute { minute: from, calls: count(1)?, refused: count(2)?, failed: count(3)? }))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
