//! The chain: each batch of calls has a hash over the one before and its own rows, so that a row which was changed, added
//! or taken out shows. What retention removed from the front does not count as a gap.

use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use crate::calls::{Call, SELECT, from_row};
use crate::error::StoreError;
use crate::time::Moment;

/// The hash before the first batch.
const BEGINNING: [u8; 32] = [0; 32];

/// The end of the chain, to which the next batch is added.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) hash: [u8; 32],
    /// The last number that was given to a call.
    pub(crate) last: i64,
}

/// What a look at the whole chain found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReport {
    /// Batches whose hash is right.
    pub batches: u64,
    /// Calls in them.
    pub calls: u64,
    /// The hash at the end, in hexadecimal digits: written down elsewhere, it shows that nothing was taken from the end.
    pub head: String,
    /// The first thing that is wrong.
    pub broken: Option<String>,
}

impl Head {
    pub(crate) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let last = connection
            .query_row("SELECT last, hash FROM batch ORDER BY id DESC LIMIT 1", [], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?))
            })
            .optional()?;
        Ok(match last {
            Some((last, hash)) => Self { hash: hash.try_into().unwrap_or(BEGINNING), last },
            None => Self { hash: BEGINNING, last: 0 },
        })
    }

    /// Adds a batch of rows that were just written.
    pub(crate) fn add(self, connection: &Connection, rows: &[Call], at: Moment) -> Result<Self, StoreError> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(self) };
        let hash = link(&self.hash, rows);
        connection
            .prepare_cached("INSERT INTO batch (first, last, at, previous, hash) VALUES (?, ?, ?, ?, ?)")?
            .execute(params![first.seq, last.seq, at.micros(), self.hash.as_slice(), hash.as_slice()])?;
        Ok(Self { hash, last: last.seq })
    }
}

fn link(previous: &[u8; 32], rows: &[Call]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(previous);
    for row in rows {
        row.hash_into(&mut hash);
    }
    hash.finalize().into()
}

/// Looks at every batch, the oldest first.
pub(crate) fn verify(connection: &Connection) -> Result<ChainReport, StoreError> {
    let mut report = ChainReport { batches: 0, calls: 0, head: hex(&BEGINNING), broken: None };
    let mut batches = connection.prepare("SELECT id, first, last, previous, hash FROM batch ORDER BY id")?;
    let mut select = connection.prepare(&format!("{SELECT} WHERE call.seq BETWEEN ? AND ? ORDER BY call.seq"))?;
    let mut before: Option<(Vec<u8>, i64)> = None;
    let mut rows = batches.query([])?;
    while let Some(row) = rows.next()? {
        let (id, first, last): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (previous, hash): (Vec<u8>, Vec<u8>) = (row.get(3)?, row.get(4)?);
        let calls = select.query_map(params![first, last], from_row)?.collect::<Result<Vec<Call>, _>>()?;
        let wrong = match &before {
            Some((known, _)) if *known != previous => Some("does not continue the batch before it"),
            Some((_, end)) if end + 1 != first => Some("does not begin where the batch before it ended"),
            _ if calls.len() as u64 != u64::try_from(last - first + 1).unwrap_or_default() => {
                Some("does not have all of its calls")
            }
            _ => match <[u8; 32]>::try_from(previous.as_slice()) {
                Ok(previous) if link(&previous, &calls).as_slice() == hash => None,
                _ => Some("has a call that was changed"),
            },
        };
        if let Some(wrong) = wrong {
            report.broken = Some(format!("batch {id} (calls {first} to {last}) {wrong}"));
            return Ok(report);
        }
        report.batches += 1;
        report.calls += calls.len() as u64;
        report.head = hex(&hash);
        before = Some((hash, last));
    }
    let end = before.map_or(0, |(_, end)| end);
    let stray: i64 = connection.query_row("SELECT count(*) FROM call WHERE seq > ?", [end], |row| row.get(0))?;
    if stray > 0 {
        report.broken = Some(format!("{stray} calls after the last batch are in no batch"));
    }
    Ok(report)
}

/// Bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
