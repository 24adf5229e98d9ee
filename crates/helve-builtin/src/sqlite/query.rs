//! `query` and `execute`: one statement, its values, and what comes back, within its limits.

use std::fmt::Write as _;

use helve_model::json::RawJson;
use rusqlite::Statement;
use serde::{Deserialize, Serialize};

use super::connection::Session;
use super::value::{Cell, Parameters};
use super::{Database, Limits, table};
use crate::answer::{Answer, Trouble, arguments, structured};
use crate::tool::Cancelled;
use crate::words::counted;

pub(super) const QUERY: &str = r#"{
    "name":"query",
    "title":"Query the database",
    "description":"Runs one SQL statement that only reads, and gives its rows. Long results are cut and say so: use LIMIT and OFFSET.",
    "inputSchema":{"type":"object","properties":{
        "sql":{"type":"string","description":"One SELECT, WITH, VALUES, EXPLAIN, or PRAGMA that tells something"},
        "params":{"type":["array","object"],"description":"Values for its placeholders: a list for ?, an object for :name. A blob is {\"base64\": \"…\"}"}
    },"required":["sql"],"additionalProperties":false},
    "outputSchema":{"type":"object","properties":{
        "columns":{"type":"array","items":{"type":"string"}},
        "rows":{"type":"array","items":{"type":"array"},"description":"Values in the order of the columns; a blob is {\"base64\": \"…\"}"},
        "truncated":{"type":"boolean","description":"There are more rows"}
    },"required":["columns","rows","truncated"]},
    "annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
}"#;

pub(super) const EXECUTE: &str = r#"{
    "name":"execute",
    "title":"Change the database",
    "description":"Runs one SQL statement that may change the database, as a transaction of its own.",
    "inputSchema":{"type":"object","properties":{
        "sql":{"type":"string","description":"One INSERT, UPDATE, DELETE, CREATE, ALTER, DROP or other statement"},
        "params":{"type":["array","object"],"description":"Values for its placeholders: a list for ?, an object for :name. A blob is {\"base64\": \"…\"}"}
    },"required":["sql"],"additionalProperties":false},
    "outputSchema":{"type":"object","properties":{
        "changes":{"type":"integer","description":"How many rows were inserted, updated or deleted"},
        "last_insert_rowid":{"type":"integer","description":"Of the last inserted row; 0 when none was"},
        "columns":{"type":"array","items":{"type":"string"},"description":"Of what RETURNING gave"},
        "rows":{"type":"array","items":{"type":"array"}},
        "truncated":{"type":"boolean","description":"RETURNING gave more rows"}
    },"required":["changes","last_insert_rowid","columns","rows","truncated"]},
    "annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false}
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    sql: String,
    #[serde(default)]
    params: Parameters,
}

/// Rows of a result.
#[derive(Debug, Serialize)]
pub(super) struct Rows {
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
    pub(super) truncated: bool,
}

#[derive(Serialize)]
struct Executed {
    changes: u64,
    last_insert_rowid: i64,
    #[serde(flatten)]
    rows: Rows,
}

/// Whether rows that do not fit are passed over or the statement ends there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Surplus {
    Leave,
    /// The statement changes something with every row: it must come to its end.
    Finish,
}

pub(super) fn query(database: &Database, raw: &RawJson, cancelled: &Cancelled) -> Answer {
    let asked: Asked = arguments(raw)?;
    let rows = database.read(cancelled, |session| {
        let mut statement = session.prepare(&asked.sql)?;
        asked.params.bind(&mut statement)?;
        collect(session, statement, database.limits, Surplus::Leave)
    })?;
    structured(&rows, &shown(&rows, database.limits))
}

pub(super) fn execute(database: &Database, raw: &RawJson, cancelled: &Cancelled) -> Answer {
    let asked: Asked = arguments(raw)?;
    let executed = database.write(cancelled, |session| run(session, &asked, database.limits))?;
    let mut text = format!("{} changed", counted(executed.changes, "row"));
    if !executed.rows.columns.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n{}", shown(&executed.rows, database.limits));
    }
    structured(&executed, &text)
}

fn run(session: &Session, asked: &Asked, limits: Limits) -> Result<Executed, Trouble> {
    let mut statement = session.prepare(&asked.sql)?;
    asked.params.bind(&mut statement)?;
    let rows = collect(session, statement, limits, Surplus::Finish)?;
    if !session.connection.is_autocommit() {
        // What it began ends with this call.
        return Err(Trouble::failed(
            "every statement is a transaction of its own; BEGIN and SAVEPOINT do nothing here",
        ));
    }
    Ok(Executed {
        changes: session.connection.changes(),
        last_insert_rowid: session.connection.last_insert_rowid(),
        rows,
    })
}

impl Database {
    /// The rows of a statement of our own, under the same rights and limits as the model's.
    pub(super) fn rows(&self, session: &Session, sql: &str, params: &Parameters) -> Result<Rows, Trouble> {
        let mut statement = session.prepare(sql)?;
        params.bind(&mut statement)?;
        collect(session, statement, self.limits, Surplus::Leave)
    }
}

fn collect(session: &Session, mut statement: Statement<'_>, limits: Limits, surplus: Surplus) -> Result<Rows, Trouble> {
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let width = columns.len();
    let mut collected = Rows { columns, rows: Vec::new(), truncated: false };
    let mut bytes = 0;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(|error| session.explain(error))? {
        let values = || (0..width).filter_map(|index| row.get_ref(index).ok());
        // Weighed before it is copied: a row may be as large as the largest value.
        bytes += values().map(Cell::weight_of).sum::<u64>();
        if collected.truncated || collected.rows.len() as u64 >= limits.rows || bytes > limits.bytes {
            collected.truncated = true;
            match surplus {
                Surplus::Leave => break,
                Surplus::Finish => continue,
            }
        }
        collected.rows.push(values().map(Cell::of).collect());
    }
    Ok(collected)
}

pub(super) fn shown(rows: &Rows, limits: Limits) -> String {
    if rows.columns.is_empty() {
        return "[no result]".to_owned();
    }
    let mut text = table::render(&rows.columns, &rows.rows);
    if rows.truncated {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n[there is more than {}: a result has at most {} and {}]",
            counted(rows.rows.len() as u64, "row"),
            counted(limits.rows, "row"),
            counted(limits.bytes, "byte")
        );
    } else {
        let _ = write!(text, "\n[{}]", counted(rows.rows.len() as u64, "row"));
    }
    text
}
