//! S14: what a statement may take: memory, time, and nothing of the temporary directory.

use std::time::Instant;

use helve_model::json::RawJson;
use serde_json::json;

use super::*;
use crate::answer::Trouble;
use crate::tool::Cancelled;

fn database(directory: &tempfile::TempDir, limits: Limits) -> Database {
    let path = directory.path().join("data.db");
    drop(rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1);"));
    Database { path, limits }
}

fn limits() -> Limits {
    Limits { rows: MAX_ROWS, bytes: MAX_BYTES, steps: u64::MAX, time: MAX_TIME }
}

fn query(database: &Database, sql: &str) -> String {
    let arguments = RawJson::checked(json!({ "sql": sql }).to_string()).unwrap();
    match query::query(database, &arguments, &Cancelled::default()) {
        Ok(outcome) => outcome.open().unwrap().to_text(),
        Err(Trouble::Failed(reason)) => format!("failed: {reason}"),
        Err(Trouble::NotRun(failure)) => failure.to_string(),
    }
}

/// `n(i)`, so many rows of a megabyte each in `b`.
fn megabytes(count: usize) -> String {
    format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {count}), \
         m(b) AS (SELECT CAST(zeroblob(1000000) AS BLOB) || i FROM n)"
    )
}

/// Files of SQLite that have no name any more and are still open: so it writes what does not fit into memory.
#[cfg(target_os = "linux")]
fn temporary_files() -> usize {
    let open = fs_err::read_dir("/proc/self/fd").unwrap();
    let targets = open.filter_map(|entry| fs_err::read_link(entry.ok()?.path()).ok());
    targets.filter(|target| target.to_string_lossy().contains("etilqs")).count()
}

const TOO_MUCH: &str = "failed: the statement needs more memory than there is (268,435,456 bytes): ask for less";

#[test]
fn s14_what_is_sorted_and_gathered_is_bounded_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(&directory, limits());
    let columns: Vec<String> = (0..40).map(|column| format!("length(group_concat(b || {column}))")).collect();
    let statements = [
        format!("{} SELECT length(b) FROM (SELECT b FROM m ORDER BY b) LIMIT 1", megabytes(400)),
        format!("{} SELECT {} FROM m", megabytes(12), columns.join(", ")),
        format!("{} SELECT count(*) FROM (SELECT DISTINCT b FROM m)", megabytes(400)),
        format!("{} SELECT length(json_group_array(hex(b))) FROM m GROUP BY b ORDER BY 1", megabytes(400)),
    ];
    std::thread::scope(|scope| {
        let working = scope.spawn(|| statements.iter().map(|sql| query(&database, sql)).collect::<Vec<_>>());
        while !working.is_finished() {
            #[cfg(target_os = "linux")]
            assert_eq!(temporary_files(), 0);
            std::thread::yield_now();
        }
        for (told, sql) in working.join().unwrap().into_iter().zip(&statements) {
            assert_eq!(told, TOO_MUCH, "{sql}");
        }
    });
    let fits = format!("{} SELECT length(b) FROM (SELECT b FROM m ORDER BY b) LIMIT 1", megabytes(20));
    assert!(query(&database, &fits).contains("[1 row]"));
}

/// The memory is one for all: who asks for little gets it beside whoever asks for too much.
#[test]
fn s14_a_greedy_statement_costs_its_own_call() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(&directory, limits());
    let greedy = format!("{} SELECT length(b) FROM (SELECT b FROM m ORDER BY b) LIMIT 1", megabytes(400));
    std::thread::scope(|scope| {
        let greedy = scope.spawn(|| query(&database, &greedy));
        let mut asked = 0;
        while !greedy.is_finished() || asked == 0 {
            assert!(query(&database, "SELECT a FROM t").contains("[1 row]"));
            asked += 1;
        }
        assert_eq!(greedy.join().unwrap(), TOO_MUCH);
    });
}

#[test]
fn s14_a_statement_ends_by_the_clock() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(&directory, Limits { time: Duration::from_secs(1), ..limits() });
    let started = Instant::now();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    assert_eq!(query(&database, endless), "failed: the statement was ended after 1 second: ask for less");
    assert!(started.elapsed() >= Duration::from_secs(1));
}
