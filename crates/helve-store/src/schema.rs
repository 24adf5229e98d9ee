//! The tables, and how an older file gets the ones it lacks: numbered steps, forward only, each in one transaction.

use std::path::Path;

use rusqlite::Connection;

use crate::error::StoreError;

/// One step each; the place in the list is its number. A step that was released never changes.
const STEPS: &[&str] = &[FIRST, APPROVALS, DEVICES];

const FIRST: &str = "
CREATE TABLE name (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (kind, text)
) STRICT;

CREATE TABLE call (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    host INTEGER NOT NULL,
    number INTEGER NOT NULL,
    principal INTEGER NOT NULL,
    agent INTEGER,
    door INTEGER NOT NULL,
    server INTEGER,
    tool INTEGER,
    asked TEXT,
    decision INTEGER NOT NULL,
    rule INTEGER,
    ending INTEGER NOT NULL,
    code INTEGER,
    took INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    bytes_in INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL,
    parent TEXT,
    trace BLOB
) STRICT;
CREATE INDEX call_at ON call (at);
CREATE INDEX call_server_at ON call (server, at);

CREATE TABLE body (
    seq INTEGER PRIMARY KEY,
    sealed BLOB NOT NULL
) STRICT;

CREATE TABLE batch (
    id INTEGER PRIMARY KEY,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    at INTEGER NOT NULL,
    previous BLOB NOT NULL,
    hash BLOB NOT NULL
) STRICT;

CREATE TABLE minute (
    minute INTEGER NOT NULL,
    server INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    took BLOB NOT NULL,
    PRIMARY KEY (minute, server)
) STRICT, WITHOUT ROWID;

CREATE TABLE token (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    hash BLOB NOT NULL,
    kind INTEGER NOT NULL,
    approver INTEGER NOT NULL,
    read_only INTEGER NOT NULL,
    servers TEXT NOT NULL,
    tools TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER,
    used_hour INTEGER,
    revoked INTEGER
) STRICT;

CREATE TABLE definition (
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    hash TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (server, tool, hash)
) STRICT;

CREATE TABLE change (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    verb TEXT NOT NULL,
    object TEXT NOT NULL,
    file TEXT,
    before_version TEXT,
    after_version TEXT,
    diff TEXT NOT NULL,
    undoes INTEGER
) STRICT;
";

const APPROVALS: &str = "
CREATE TABLE approval (
    id TEXT PRIMARY KEY,
    digest BLOB NOT NULL,
    principal TEXT NOT NULL,
    agent TEXT,
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    kind TEXT NOT NULL,
    risk TEXT NOT NULL,
    rule TEXT NOT NULL,
    place TEXT,
    answered_by_page INTEGER NOT NULL,
    definition TEXT,
    arguments BLOB,
    state INTEGER NOT NULL,
    asked INTEGER NOT NULL,
    ends INTEGER NOT NULL,
    decider TEXT,
    decided INTEGER,
    reason TEXT
) STRICT;
CREATE UNIQUE INDEX approval_pending ON approval (digest) WHERE state = 0;
CREATE INDEX approval_open ON approval (ends) WHERE state IN (0, 1);
CREATE INDEX approval_tool ON approval (server, tool, asked);
CREATE INDEX approval_asked ON approval (asked);
";

const DEVICES: &str = "
CREATE TABLE device (
    token TEXT NOT NULL,
    name TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (token, name)
) STRICT, WITHOUT ROWID;
";

/// Brings a file to the newest schema.
pub(crate) fn migrate(connection: &mut Connection, file: &Path) -> Result<(), StoreError> {
    let known = u32::try_from(STEPS.len()).unwrap_or(u32::MAX);
    let found: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > known {
        return Err(StoreError::Newer { file: file.to_owned(), found, known });
    }
    for (number, step) in STEPS.iter().enumerate().skip(found as usize) {
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", u32::try_from(number + 1).unwrap_or(known))?;
        transaction.commit()?;
    }
    Ok(())
}
