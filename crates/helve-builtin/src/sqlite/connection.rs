//! How the database is opened for one call: which rights the connection has, which limits, and what its errors mean.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::limits::Limit;
use rusqlite::{Batch, Connection, Error, ErrorCode, OpenFlags, Statement};

use super::guard::{self, Refused};
use super::{Database, Limits};
use crate::answer::Trouble;
use crate::tool::Cancelled;
use crate::words::{counted, message, quoted};

/// The largest value or row that SQLite handles for us.
const MAX_VALUE_BYTES: u64 = 16 * 1024 * 1024;

/// The longest statement.
const MAX_SQL_BYTES: i32 = 256 * 1024;

/// The deepest expression; SQLite goes down the stack for each level.
const MAX_EXPRESSION_DEPTH: i32 = 250;

/// The longest pattern of LIKE and GLOB, whose time grows with its square.
const MAX_PATTERN_BYTES: i32 = 1_000;

/// How much memory all statements of this process have together: SQLite counts it for the process, not for a connection.
/// What a statement sorts or gathers is in memory, never in temporary files, and so within this.
const MAX_HEAP_BYTES: u64 = 256 * 1024 * 1024;

/// The most columns, terms of a compound SELECT and instructions of a statement.
const MAX_COLUMNS: i32 = 1_000;
const MAX_COMPOUND_TERMS: i32 = 200;
const MAX_INSTRUCTIONS: i32 = 1_000_000;

/// How many steps pass between two looks at the clock of the call.
const STEPS_BETWEEN_LOOKS: i32 = 1_000;

/// How long, and how often, a database that another program writes to is waited for.
const BUSY_WAIT: Duration = Duration::from_millis(20);
const MAX_BUSY_WAITS: i32 = 250;

/// What a connection may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// The database, open for one call.
pub(super) struct Session {
    pub(super) connection: Connection,
    limits: Limits,
    refused: Refused,
    cancelled: Cancelled,
    deadline: Instant,
    /// There was not enough memory.
    starved: Rc<Cell<bool>>,
}

/// Statements share the heap. One that did not get enough may have been beside a greedy one, and is run again alone:
/// whoever does not get enough then is the greedy one.
static STATEMENTS: RwLock<()> = RwLock::new(());

impl Database {
    /// Reads with a connection of its own.
    pub(super) fn read<T>(
        &self,
        cancelled: &Cancelled,
        work: impl Fn(&Session) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let starved = Rc::new(Cell::new(false));
        let attempt = || self.connect(Access::Read, cancelled, &starved).and_then(|session| work(&session));
        let result = {
            let _beside_others = STATEMENTS.read().unwrap_or_else(PoisonError::into_inner);
            attempt()
        };
        if !starved.get() {
            return result;
        }
        let _alone = STATEMENTS.write().unwrap_or_else(PoisonError::into_inner);
        cancelled.check()?;
        attempt()
    }

    /// Writes with a connection of its own.
    pub(super) fn write<T>(
        &self,
        cancelled: &Cancelled,
        work: impl FnOnce(&Session) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let _beside_others = STATEMENTS.read().unwrap_or_else(PoisonError::into_inner);
        self.connect(Access::Write, cancelled, &Rc::default()).and_then(|session| work(&session))
    }

    fn connect(&self, access: Access, cancelled: &Cancelled, starved: &Rc<Cell<bool>>) -> Result<Session, Trouble> {
        let flags = match access {
            Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        };
        // A path that begins with `file:` must not be read as an address with options.
        let path = Path::new("./").join(&self.path);
        let opened = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX);
        let connection = match opened {
            Ok(connection) => connection,
            Err(_) if access == Access::Read && !self.path.exists() => {
                let shown = quoted(&self.path.to_string_lossy());
                return Err(Trouble::failed(format!("the database {shown} does not exist; execute creates it")));
            }
            Err(error) => {
                starved.set(error.sqlite_error_code() == Some(ErrorCode::OutOfMemory));
                return Err(Trouble::failed(format!("the database cannot be opened: {error}")));
            }
        };
        let mut session = Session {
            connection,
            limits: self.limits,
            refused: Refused::default(),
            cancelled: cancelled.clone(),
            deadline: Instant::now() + self.limits.time,
            starved: Rc::clone(starved),
        };
        session.prepare_itself(access).map_err(|error| session.explain(error))?;
        Ok(session)
    }
}

impl Session {
    fn prepare_itself(&mut self, access: Access) -> Result<(), Error> {
        let Self { connection, limits, refused, cancelled, deadline, starved: _ } = self;
        let value_bytes = MAX_VALUE_BYTES.max(limits.bytes);
        for (limit, value) in [
            (Limit::SQLITE_LIMIT_LENGTH, i32::try_from(value_bytes).unwrap_or(i32::MAX)),
            (Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES),
            (Limit::SQLITE_LIMIT_EXPR_DEPTH, MAX_EXPRESSION_DEPTH),
            (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, MAX_PATTERN_BYTES),
            (Limit::SQLITE_LIMIT_COLUMN, MAX_COLUMNS),
            (Limit::SQLITE_LIMIT_COMPOUND_SELECT, MAX_COMPOUND_TERMS),
            (Limit::SQLITE_LIMIT_VDBE_OP, MAX_INSTRUCTIONS),
            // For VACUUM; see the guard.
            (Limit::SQLITE_LIMIT_ATTACHED, i32::from(access == Access::Write)),
            (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
        ] {
            connection.set_limit(limit, value)?;
        }
        // The database may come from anywhere: its schema gets no rights of its own.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false)?;
        // "name" that is not a column is a mistake, not a text.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;

        let waiting = cancelled.clone();
        connection.busy_handler(Some(move |waits| {
            if waits >= MAX_BUSY_WAITS || waiting.is_set() {
                return false;
            }
            std::thread::sleep(BUSY_WAIT);
            true
        }))?;
        let (working, max_steps, mut steps, deadline) = (cancelled.clone(), limits.steps, 0, *deadline);
        connection.progress_handler(
            STEPS_BETWEEN_LOOKS,
            Some(move || {
                steps += u64::from(STEPS_BETWEEN_LOOKS.unsigned_abs());
                steps > max_steps || working.is_set() || Instant::now() >= deadline
            }),
        )?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        // It answers with the limit that holds now.
        connection.pragma_update_and_check(None, "hard_heap_limit", MAX_HEAP_BYTES.cast_signed(), |_| Ok(()))?;
        if access == Access::Read {
            connection.pragma_update(None, "query_only", true)?;
        }
        let refused = refused.clone();
        connection.authorizer(Some(move |context: rusqlite::hooks::AuthContext<'_>| {
            guard::decide(&context, access, &refused)
        }))
    }

    /// Compiles a text that is one statement.
    pub(super) fn prepare(&self, sql: &str) -> Result<Statement<'_>, Trouble> {
        if sql.contains('\0') {
            return Err(Trouble::failed("the SQL holds a NUL"));
        }
        let mut statements = Batch::new(&self.connection, sql);
        let first = statements.next().map_err(|error| self.explain(error))?;
        let first = first.ok_or_else(|| Trouble::failed("the SQL is empty"))?;
        // Whatever follows, if only a word that is not SQL, is a second statement that would not run.
        match statements.next() {
            Ok(None) => Ok(first),
            _ => Err(Trouble::failed("this takes one statement at a time")),
        }
    }

    /// What an error of SQLite means for the model.
    pub(super) fn explain(&self, error: Error) -> Trouble {
        let code = error.sqlite_error_code();
        if code == Some(ErrorCode::OperationInterrupted) {
            if self.cancelled.is_set() {
                return Trouble::cancelled();
            }
            if Instant::now() >= self.deadline {
                let seconds = counted(self.limits.time.as_secs(), "second");
                return Trouble::failed(format!("the statement was ended after {seconds}: ask for less"));
            }
            let steps = counted(self.limits.steps, "step");
            return Trouble::failed(format!("the statement was ended after {steps} (max_steps): ask for less"));
        }
        if code == Some(ErrorCode::OutOfMemory) {
            self.starved.set(true);
            let limit = counted(MAX_HEAP_BYTES, "byte");
            return Trouble::failed(format!("the statement needs more memory than there is ({limit}): ask for less"));
        }
        if let Some(reason) = self.refused.reason() {
            return Trouble::failed(format!("not allowed: {reason}"));
        }
        Trouble::failed(match error {
            Error::SqlInputError { msg, offset, .. } if offset >= 0 => format!("{} (at byte {offset})", message(&msg)),
            Error::SqlInputError { msg, .. } => message(&msg),
            Error::SqliteFailure(_, Some(text)) if code == Some(ErrorCode::DatabaseBusy) => {
                format!("{}: another program is writing to it; try again", message(&text))
            }
            Error::SqliteFailure(_, Some(text)) => message(&text),
            other => message(&other.to_string()),
        })
    }
}
