//! The store as others see it: opened once, read by several at a time, written by one thread.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use helve_model::sync::lock;
use rusqlite::{Connection, OpenFlags};

use crate::approvals::{self, Approval, AskOutcome, DecideOutcome, NewApproval, OpenApprovals, Verdict};
use crate::calls::{Call, CallBody, IntoCall};
use crate::chain::{self, ChainReport};
use crate::changes::{self, Change, NewChange};
use crate::definitions::{self, Seen, SeenDefinition};
use crate::devices::{self, Device};
use crate::error::StoreError;
use crate::files::Files;
use crate::retention::{self, Retained, Retention};
use crate::search::{self, Found, Search};
use crate::time::Moment;
use crate::tokens::{self, NewToken, Token};
use crate::traffic::{self, Minute, Traffic};
use crate::usage::{self, RuleUse, Usage};
use crate::writer::Writer;
use crate::{backup, schema};

/// So many connections that read are kept for the next reader.
const READERS: usize = 4;

/// How long a reader waits for the file.
const BUSY: Duration = Duration::from_secs(5);

/// What a hub remembers.
#[derive(Debug)]
pub struct Store {
    // Before the files: what waits is written while they are still held.
    writer: Writer,
    readers: Mutex<Vec<Connection>>,
    files: Files,
}

/// How the store is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Calls that wait to be written.
    pub waiting: u64,
    /// Calls that were written since the start.
    pub written: u64,
    /// Calls that were lost since the start.
    pub lost: u64,
    /// Why the last batch could not be written, if it could not.
    pub trouble: Option<String>,
    /// False when the file was deleted or replaced: what is written goes nowhere.
    pub is_in_place: bool,
}

/// How large the store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    /// The file.
    pub file: PathBuf,
    /// Bytes that hold something.
    pub bytes: u64,
    /// Calls, as far as their numbers tell.
    pub calls: u64,
    /// When the oldest call ended.
    pub oldest: Option<Moment>,
}

impl Store {
    /// Opens the store in a directory, which is made where there is none. `on_written` is told every batch of calls that
    /// was written, on the thread that writes.
    ///
    /// # Errors
    /// Another process has it open, a later version wrote it, or the file cannot be used.
    pub fn open(directory: &Path, on_written: impl Fn(&[Call]) + Send + 'static) -> Result<Self, StoreError> {
        let files = Files::hold(directory)?;
        let mut connection = Connection::open(&files.database)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.set_prepared_statement_cache_capacity(64);
        schema::migrate(&mut connection, &files.database)?;
        let writer = Writer::start(connection, on_written)?;
        Ok(Self { writer, readers: Mutex::default(), files })
    }

    /// Records a call. It never waits: a call that finds no room is lost, and counted.
    pub fn record(&self, call: Box<dyn IntoCall>) {
        self.writer.record(call);
    }

    /// How the store is doing. It reads nothing.
    #[must_use]
    pub fn health(&self) -> Health {
        let progress = &self.writer.progress;
        Health {
            waiting: progress.waiting.load(Ordering::Relaxed),
            written: progress.written.load(Ordering::Relaxed),
            lost: progress.lost.load(Ordering::Relaxed),
            trouble: lock(&progress.trouble).clone(),
            is_in_place: self.files.are_in_place(),
        }
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let kept = lock(&self.readers).pop();
        let connection = match kept {
            Some(connection) => connection,
            None => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let connection = Connection::open_with_flags(&self.files.database, flags)?;
                connection.busy_timeout(BUSY)?;
                connection.set_prepared_statement_cache_capacity(32);
                connection
            }
        };
        let result = work(&connection);
        let mut readers = lock(&self.readers);
        if readers.len() < READERS {
            readers.push(connection);
        }
        result
    }

    /// Finds calls, the newest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn search(&self, search: &Search) -> Result<Found, StoreError> {
        self.read(|connection| search::search(connection, search))
    }

    /// One call by its number.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn call(&self, seq: i64) -> Result<Option<Call>, StoreError> {
        self.read(|connection| search::one(connection, seq))
    }

    /// What is wrong with the file itself; nothing when it is whole. It reads all of it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        self.read(search::check)
    }

    /// What was kept of what a call sent and got.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn body(&self, seq: i64) -> Result<Option<CallBody>, StoreError> {
        self.read(|connection| search::body(connection, seq))
    }

    /// The calls of a time by minute, of one server or all.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn traffic(&self, server: Option<&str>, from: Moment, until: Moment) -> Result<Traffic, StoreError> {
        self.read(|connection| traffic::read(connection, server, from.minute(), until.minute() + 1))
    }

    /// The calls of a time by server.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn traffic_by_server(&self, from: Moment, until: Moment) -> Result<Vec<(String, Minute)>, StoreError> {
        self.read(|connection| traffic::by_server(connection, from.minute(), until.minute() + 1))
    }

    /// Which tools were called since a moment, for whom and how often; the most used first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn used_tools(&self, from: Moment) -> Result<Vec<Usage>, StoreError> {
        self.read(|connection| usage::tools(connection, from))
    }

    /// What decided calls since a moment, and how often.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn used_rules(&self, from: Moment) -> Result<Vec<RuleUse>, StoreError> {
        self.read(|connection| usage::rules(connection, from))
    }

    /// How large the store is.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn sizes(&self) -> Result<Sizes, StoreError> {
        self.read(|connection| {
            let edge = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, Option<i64>>(0));
            let (first, last) = (edge("SELECT min(seq) FROM call")?, edge("SELECT max(seq) FROM call")?);
            let calls = first.zip(last).map_or(0, |(first, last)| last - first + 1);
            Ok(Sizes {
                file: self.files.database.clone(),
                bytes: retention::used_bytes(connection)?,
                calls: u64::try_from(calls).unwrap_or_default(),
                oldest: edge("SELECT min(at) FROM call")?.map(Moment::from_micros),
            })
        })
    }

    /// Looks at the whole chain.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn verify(&self) -> Result<ChainReport, StoreError> {
        self.read(chain::verify)
    }

    /// Writes all calls as lines of JSON, with the chain's hashes. Returns how many.
    ///
    /// # Errors
    /// The file cannot be read, or the output cannot be written.
    pub fn export(&self, output: &mut dyn Write) -> Result<u64, StoreError> {
        self.read(|connection| backup::export(connection, output))
    }

    /// Copies the store into a file that must not exist.
    ///
    /// # Errors
    /// The file exists, or cannot be written.
    pub fn back_up(&self, target: &Path) -> Result<(), StoreError> {
        self.read(|connection| backup::copy(connection, target))
    }

    /// Deletes one slice of the calls that are too old or too many.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn sweep(&self, retention: Retention, now: Moment) -> Result<Retained, StoreError> {
        self.writer.perform(move |connection| retention::sweep(connection, retention, now))
    }

    /// All tokens there are and were.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn tokens(&self) -> Result<Vec<Token>, StoreError> {
        self.read(tokens::all)
    }

    /// Keeps a new token.
    ///
    /// # Errors
    /// Its name was used before, or the file cannot be written.
    pub fn add_token(&self, token: NewToken) -> Result<(), StoreError> {
        self.writer.perform(move |connection| tokens::add(connection, &token))
    }

    /// Takes a token back.
    ///
    /// # Errors
    /// There is none of that name in force, or the file cannot be written.
    pub fn revoke_token(&self, name: &str, at: Moment) -> Result<(), StoreError> {
        let name = name.to_owned();
        self.writer.perform(move |connection| tokens::revoke(connection, &name, at))
    }

    /// Notes when tokens were used, by their ids.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn tokens_used(&self, used: Vec<(String, Moment)>) -> Result<(), StoreError> {
        self.writer.perform(move |connection| tokens::used(connection, &used))
    }

    /// Notes that devices were seen.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn see_devices(&self, seen: Vec<Device>) -> Result<(), StoreError> {
        self.writer.perform(move |connection| devices::see(connection, &seen))
    }

    /// The devices that are remembered, the one seen last first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn devices(&self) -> Result<Vec<Device>, StoreError> {
        self.read(devices::all)
    }

    /// Notes a change that somebody made; gives its number.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add_change(&self, change: NewChange) -> Result<i64, StoreError> {
        self.writer.perform(move |connection| changes::add(connection, &change))
    }

    /// The newest changes, those before a number.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn changes(&self, before: Option<i64>, limit: usize) -> Result<Vec<Change>, StoreError> {
        self.read(|connection| changes::list(connection, before, limit))
    }

    /// One change by its number.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn change(&self, seq: i64) -> Result<Option<Change>, StoreError> {
        self.read(|connection| changes::one(connection, seq))
    }

    /// Notes definitions that servers give now.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn see_definitions(&self, seen: Vec<Seen>, at: Moment) -> Result<(), StoreError> {
        self.writer.perform(move |connection| {
            let transaction = connection.transaction()?;
            definitions::see(&transaction, &seen, at)?;
            Ok(transaction.commit()?)
        })
    }

    /// The definitions of a server's tools that were seen.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn definitions(&self, server: &str) -> Result<Vec<SeenDefinition>, StoreError> {
        self.read(|connection| definitions::of_server(connection, server))
    }

    /// Asks about a call, joins the same question that waits, or uses up a yes that was given to the same call. A
    /// principal has so many questions waiting at most.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn ask_approval(&self, new: NewApproval, most: u64) -> Result<AskOutcome, StoreError> {
        self.writer.perform(move |connection| approvals::ask(connection, &new, most))
    }

    /// Answers a question. One that was answered, or has ended, stays as it is.
    ///
    /// # Errors
    /// There is no such question, or the file cannot be written.
    pub fn decide_approval(
        &self,
        id: &str,
        verdict: Verdict,
        decider: &str,
        now: Moment,
    ) -> Result<DecideOutcome, StoreError> {
        let (id, decider) = (id.to_owned(), decider.to_owned());
        self.writer.perform(move |connection| approvals::decide(connection, &id, &verdict, &decider, now))
    }

    /// Uses up a yes; false when there is none that counts any more.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn spend_approval(&self, id: &str, now: Moment) -> Result<bool, StoreError> {
        let id = id.to_owned();
        self.writer.perform(move |connection| approvals::spend(connection, &id, now))
    }

    /// Takes back what a principal asked and has not used. Gives the ids of the questions.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn withdraw_approvals(&self, principal: &str, reason: &str, now: Moment) -> Result<Vec<String>, StoreError> {
        let (principal, reason) = (principal.to_owned(), reason.to_owned());
        self.writer.perform(move |connection| approvals::withdraw(connection, &principal, &reason, now))
    }

    /// Ends questions and answers whose time is over, and forgets what was settled before `forget`. Gives the ids of
    /// those that ended.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn sweep_approvals(&self, now: Moment, forget: Moment) -> Result<Vec<String>, StoreError> {
        self.writer.perform(move |connection| {
            approvals::forget(connection, forget)?;
            approvals::end_old(connection, now)
        })
    }

    /// One question.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn approval(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        self.read(|connection| approvals::one(connection, id))
    }

    /// Questions that wait, the newest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn pending_approvals(&self, now: Moment, limit: usize) -> Result<Vec<Approval>, StoreError> {
        self.read(|connection| approvals::pending(connection, now, limit))
    }

    /// How many questions wait.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open_approvals(&self, now: Moment) -> Result<OpenApprovals, StoreError> {
        self.read(|connection| approvals::open(connection, now))
    }

    /// Questions that wait no longer, the newest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn settled_approvals(&self, limit: usize) -> Result<Vec<Approval>, StoreError> {
        self.read(|connection| approvals::settled(connection, limit))
    }

    /// What was answered about a tool before, the newest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn approvals_of_tool(&self, server: &str, tool: &str, limit: usize) -> Result<Vec<Approval>, StoreError> {
        self.read(|connection| approvals::of_tool(connection, server, tool, limit))
    }
}
