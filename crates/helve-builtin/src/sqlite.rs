//! The built-in server `sqlite`: one database, looked at through a connection that cannot write, and changed only
//! where the person said so.

mod connection;
mod guard;
mod query;
mod table;
mod tables;
mod value;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use helve::{CallError, Toolbox};

use crate::options::Options;
use crate::tool::{BlockingTool, Run};
use crate::words::quoted;

pub(crate) const OPTIONS: &[&str] = &["database", "writable", "max_rows", "max_bytes", "max_steps"];

/// How many rows a call gives back; option `max_rows`.
const MAX_ROWS: u64 = 1_000;

/// How many bytes of values a call gives back; option `max_bytes`.
const MAX_BYTES: u64 = 1024 * 1024;

/// How many steps of SQLite's machine a statement may take; option `max_steps`. Some ten seconds.
const MAX_STEPS: u64 = 500_000_000;

/// How long a statement may take, whatever its steps cost.
const MAX_TIME: Duration = Duration::from_secs(30);

/// What the tools work on. Every call opens the database anew, so that none waits for another.
#[derive(Debug)]
struct Database {
    path: PathBuf,
    limits: Limits,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    rows: u64,
    bytes: u64,
    steps: u64,
    time: Duration,
}

const READING: &[(&str, Run<Database>)] = &[
    (tables::LIST_TABLES, tables::list_tables),
    (tables::DESCRIBE_TABLE, tables::describe_table),
    (query::QUERY, query::query),
];

pub(crate) fn open(options: &Options<'_>) -> Result<Toolbox, CallError> {
    let Some(path) = options.path("database")? else {
        return Err(options.wrong("the built-in server `sqlite` needs a database", "write `database = \"data.db\"`"));
    };
    let writable = options.flag("writable")?;
    let shown = quoted(&path.to_string_lossy());
    match path.metadata() {
        Ok(metadata) if !metadata.is_file() => {
            return Err(options.wrong(format!("the database {shown} is not a file"), "name the file itself"));
        }
        Err(error) if !writable => {
            let hint = "`database` names a file that exists; with `writable = true` the tool execute creates it";
            return Err(options.wrong(format!("the database {shown} cannot be opened: {error}"), hint));
        }
        _ => {}
    }
    let limits = Limits {
        rows: options.count("max_rows", MAX_ROWS)?,
        bytes: options.count("max_bytes", MAX_BYTES)?,
        steps: options.count("max_steps", MAX_STEPS)?,
        time: MAX_TIME,
    };
    let database = Arc::new(Database { path, limits });

    let can = if writable { "It can be changed with execute." } else { "It cannot be changed." };
    let mut toolbox =
        Toolbox::for_server(options.spec).with_instructions(format!("The SQLite database {shown}. {can}"));
    for (definition, run) in READING {
        toolbox = toolbox.with(BlockingTool::new(definition, &database, *run));
    }
    if writable {
        toolbox = toolbox.with(BlockingTool::new(query::EXECUTE, &database, query::execute));
    }
    Ok(toolbox)
}

#[cfg(test)]
#[path = "sqlite_tests.rs"]
mod tests;
