//! Tokens: who may come in, as hashes. A name is never used twice, so that a record always says who it was.

use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::time::Moment;

/// What a token opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenKind {
    /// The servers, for an agent.
    Agent,
    /// The administration.
    Admin,
}

/// A token to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// The part of it that is not secret.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// SHA-256 of the secret part.
    pub hash: [u8; 32],
    /// What it opens.
    pub kind: TokenKind,
    /// Whether it may answer approvals.
    pub approver: bool,
    /// Whether only tools that read may be called with it.
    pub read_only: bool,
    /// Patterns of the servers it is for; none: all.
    pub servers: Vec<String>,
    /// Patterns of the tools it is for; none: all.
    pub tools: Vec<String>,
    /// When it was made.
    pub created: Moment,
    /// When it ends.
    pub expires: Option<Moment>,
}

/// A token that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it was made as.
    pub token: NewToken,
    /// The hour in which it was last used.
    pub used: Option<Moment>,
    /// When it was taken back.
    pub revoked: Option<Moment>,
}

pub(crate) fn add(connection: &Connection, token: &NewToken) -> Result<(), StoreError> {
    let known: i64 =
        connection.query_row("SELECT count(*) FROM token WHERE name = ?", [&token.name], |row| row.get(0))?;
    if known > 0 {
        return Err(StoreError::NameTaken(token.name.clone()));
    }
    connection.execute(
        "INSERT INTO token VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)",
        params![
            token.id,
            token.name,
            token.hash.as_slice(),
            token.kind as i64,
            token.approver,
            token.read_only,
            serde_json::to_string(&token.servers).unwrap_or_default(),
            serde_json::to_string(&token.tools).unwrap_or_default(),
            token.created.micros(),
            token.expires.map(Moment::micros),
        ],
    )?;
    Ok(())
}

pub(crate) fn revoke(connection: &Connection, name: &str, at: Moment) -> Result<(), StoreError> {
    let changed = connection
        .execute("UPDATE token SET revoked = ? WHERE name = ? AND revoked IS NULL", params![at.micros(), name])?;
    if changed == 0 { Err(StoreError::NotFound(format!("token {name:?} that is in force"))) } else { Ok(()) }
}

/// Notes the hour in which tokens were used.
pub(crate) fn used(connection: &Connection, used: &[(String, Moment)]) -> Result<(), StoreError> {
    let mut statement =
        connection.prepare_cached("UPDATE token SET used_hour = max(ifnull(used_hour, 0), ?) WHERE id = ?")?;
    for (id, at) in used {
        let hour = at.seconds().div_euclid(3600) * 3600 * 1_000_000;
        statement.execute(params![hour, id])?;
    }
    Ok(())
}

pub(crate) fn all(connection: &Connection) -> Result<Vec<Token>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, name, hash, kind, approver, read_only, servers, tools, created, expires, used_hour, revoked
         FROM token ORDER BY created DESC, name",
    )?;
    let rows = statement.query_map([], from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Token> {
    let list =
        |text: String| serde_json::from_str::<Vec<String>>(&text).unwrap_or_else(|_| vec!["(unreadable)".to_owned()]);
    let moment = |index: usize| row.get::<_, Option<i64>>(index).map(|micros| micros.map(Moment::from_micros));
    let kind = if row.get::<_, i64>(3)? == TokenKind::Admin as i64 { TokenKind::Admin } else { TokenKind::Agent };
    Ok(Token {
        token: NewToken {
            id: row.get(0)?,
            name: row.get(1)?,
            // A hash of another length fits no secret.
            hash: row.get::<_, Vec<u8>>(2)?.try_into().unwrap_or_default(),
            kind,
            approver: row.get(4)?,
            read_only: row.get(5)?,
            servers: list(row.get(6)?),
            tools: list(row.get(7)?),
            created: Moment::from_micros(row.get(8)?),
            expires: moment(9)?,
        },
        used: moment(10)?,
        revoked: moment(11)?,
    })
}
