//! Devices that joined: which one came with which token, and when it was last seen.

use rusqlite::{Connection, params};

use crate::error::StoreError;
use crate::time::Moment;

/// Devices of one token that are remembered: those seen last.
const MOST_OF_ONE_TOKEN: usize = 32;

/// A device that came with a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The id of the token.
    pub token: String,
    /// What the device calls itself.
    pub name: String,
    /// When it first came.
    pub first: Moment,
    /// When it was last seen.
    pub last: Moment,
}

/// Notes that devices were seen.
pub(crate) fn see(connection: &Connection, seen: &[Device]) -> Result<(), StoreError> {
    let mut note = connection.prepare_cached(
        "INSERT INTO device VALUES (?, ?, ?, ?)
         ON CONFLICT (token, name) DO UPDATE SET last = max(last, excluded.last)",
    )?;
    let mut forget = connection.prepare_cached(
        "DELETE FROM device WHERE token = ?1 AND name NOT IN
         (SELECT name FROM device WHERE token = ?1 ORDER BY last DESC, name LIMIT ?2)",
    )?;
    for device in seen {
        note.execute(params![device.token, device.name, device.first.micros(), device.last.micros()])?;
        forget.execute(params![device.token, i64::try_from(MOST_OF_ONE_TOKEN).unwrap_or(i64::MAX)])?;
    }
    Ok(())
}

/// All that are remembered, the one seen last first.
pub(crate) fn all(connection: &Connection) -> Result<Vec<Device>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT token, name, first, last FROM device ORDER BY last DESC, token, name")?;
    let rows = statement.query_map([], |row| {
        Ok(Device {
            token: row.get(0)?,
            name: row.get(1)?,
            first: Moment::from_micros(row.get(2)?),
            last: Moment::from_micros(row.get(3)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
