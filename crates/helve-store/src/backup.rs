//! A copy of the whole store in one file, made while it is in use; and its calls as lines of JSON, with the chain's hashes.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use helve_model::json::ObjectWriter;
use rusqlite::{Connection, params};

use crate::calls::{Call, SELECT, from_row};
use crate::chain::hex;
use crate::error::StoreError;

/// Copies the store to a file that must not exist.
pub(crate) fn copy(connection: &Connection, target: &Path) -> Result<(), StoreError> {
    if target.exists() {
        let taken = io::Error::new(io::ErrorKind::AlreadyExists, format!("{} exists already", target.display()));
        return Err(StoreError::File(taken));
    }
    connection.execute("VACUUM INTO ?", [target.to_string_lossy().as_ref()])?;
    fs_err::set_permissions(target, std::fs::Permissions::from_mode(0o600))?;
    Ok(())
}

/// Writes every call as one line of JSON, and after each batch one with its hashes.
pub(crate) fn export(connection: &Connection, output: &mut dyn Write) -> Result<u64, StoreError> {
    let mut batches = connection.prepare("SELECT id, first, last, previous, hash FROM batch ORDER BY id")?;
    let mut select = connection.prepare(&format!("{SELECT} WHERE call.seq BETWEEN ? AND ? ORDER BY call.seq"))?;
    let mut rows = batches.query([])?;
    let mut written = 0;
    while let Some(row) = rows.next()? {
        let (id, first, last): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (previous, hash): (Vec<u8>, Vec<u8>) = (row.get(3)?, row.get(4)?);
        for call in select.query_map(params![first, last], from_row)? {
            writeln!(output, "{}", call?.to_json().as_str())?;
            written += 1;
        }
        let batch = ObjectWriter::new().number("batch", id).number("first", first).number("last", last);
        let line = batch.text("previous", &hex(&previous)).text("hash", &hex(&hash)).finish();
        writeln!(output, "{}", line.as_str())?;
    }
    Ok(written)
}

impl Call {
    /// The call as JSON, with all that the chain's hash covers.
    #[must_use]
    pub fn to_json(&self) -> helve_model::json::RawJson {
        let call = &self.call;
        let mut object = ObjectWriter::new()
            .number("seq", self.seq)
            .number("at_us", call.at.micros())
            .text("id", &call.id())
            .text("principal", &call.principal);
        for (key, value) in [
            ("agent", &call.agent),
            ("server", &call.server),
            ("tool", &call.tool),
            ("asked", &call.asked),
            ("rule", &call.rule),
            ("code", &call.code),
            ("parent", &call.parent),
        ] {
            if let Some(value) = value {
                object = object.text(key, value);
            }
        }
        if let Some(trace) = &call.trace {
            object = object.text("trace", &hex(trace));
        }
        object
            .number("door", call.door)
            .text("decision", call.decision.word())
            .text("end", call.ended.word())
            .number("took_us", call.took)
            .number("attempts", call.attempts)
            .number("bytes_in", call.bytes_in)
            .number("bytes_out", call.bytes_out)
            .finish()
    }
}
