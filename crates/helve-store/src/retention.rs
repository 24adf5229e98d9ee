//! How long calls are kept: so long, and so much. Whole batches go, the oldest first, a slice at a time, so that nobody waits.

use std::time::Duration;

use rusqlite::{Connection, params};

use crate::error::StoreError;
use crate::time::Moment;

/// So many calls are deleted at once.
const SLICE: i64 = 5_000;

/// How long calls are kept, and how much of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// No longer than this.
    pub time: Duration,
    /// No more bytes than this in the whole file.
    pub bytes: u64,
}

/// What one slice did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retained {
    /// Calls that were deleted.
    pub deleted: u64,
    /// There may be more to delete.
    pub is_unfinished: bool,
}

impl Default for Retention {
    fn default() -> Self {
        Self { time: Duration::from_secs(30 * 24 * 3600), bytes: 4 << 30 }
    }
}

/// Deletes one slice of what is too old or too much.
pub(crate) fn sweep(connection: &mut Connection, retention: Retention, now: Moment) -> Result<Retained, StoreError> {
    let oldest_kept = now.before(retention.time);
    let is_too_much = used_bytes(connection)? > retention.bytes;
    let transaction = connection.transaction()?;
    let (mut last_batch, mut last_call, mut calls) = (None, 0, 0_i64);
    {
        let mut statement = transaction.prepare_cached("SELECT id, first, last, at FROM batch ORDER BY id LIMIT ?")?;
        let mut rows = statement.query([SLICE])?;
        while let Some(row) = rows.next()? {
            let (id, first, last, at): (i64, i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            if calls >= SLICE || !(is_too_much || at < oldest_kept.micros()) {
                break;
            }
            (last_batch, last_call) = (Some(id), last);
            calls += last - first + 1;
        }
    }
    // The newest batch stays: by it the chain goes on.
    let newest: Option<i64> = transaction.query_row("SELECT max(id) FROM batch", [], |row| row.get(0))?;
    let Some(last_batch) = last_batch.filter(|last| Some(*last) != newest) else {
        return Ok(Retained::default());
    };
    let deleted = transaction.execute("DELETE FROM call WHERE seq <= ?", [last_call])?;
    transaction.execute("DELETE FROM body WHERE seq <= ?", [last_call])?;
    transaction.execute("DELETE FROM batch WHERE id <= ?", [last_batch])?;
    transaction.execute("DELETE FROM minute WHERE minute < ?", params![oldest_kept.minute()])?;
    transaction.commit()?;
    Ok(Retained { deleted: deleted as u64, is_unfinished: calls >= SLICE })
}

/// Bytes of the file that hold something.
pub(crate) fn used_bytes(connection: &Connection) -> Result<u64, StoreError> {
    let value = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = value("page_count")?.saturating_sub(value("freelist_count")?);
    Ok(u64::try_from(pages.saturating_mul(value("page_size")?)).unwrap_or_default())
}
