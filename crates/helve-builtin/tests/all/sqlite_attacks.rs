//! SQL that means harm: nothing is written, nothing outside is reached, everything ends.

use std::time::Duration;

use helve::Toolbox;
use insta::assert_snapshot;
use tempfile::TempDir;

use crate::sqlite::{database, execute, query, reading, writing};
use crate::support::{call, open};

/// The database and everything beside it, byte by byte.
fn content(directory: &TempDir) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs_err::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().to_str().unwrap().to_owned(), fs_err::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[tokio::test]
async fn a_reader_cannot_write() {
    let directory = database();
    let before = content(&directory);
    // A server that may write has a `query` that may not.
    for toolbox in [reading(&directory), writing(&directory)] {
        let mut told = String::new();
        for sql in [
            "INSERT INTO people (name) VALUES ('x')",
            "UPDATE people SET name = 'x'",
            "DELETE FROM people",
            "REPLACE INTO people (id, name) VALUES (1, 'x')",
            "WITH x AS (SELECT 1) DELETE FROM people",
            "INSERT INTO people (name) VALUES ('x') RETURNING *",
            "DROP TABLE people",
            "CREATE TABLE x (a)",
            "CREATE TEMP TABLE x (a)",
            "CREATE VIEW x AS SELECT 1",
            "CREATE TEMP TRIGGER x AFTER INSERT ON people BEGIN SELECT 1; END",
            "ALTER TABLE people RENAME TO x",
            "CREATE INDEX x ON people (born)",
            "REINDEX",
            "ANALYZE",
            "VACUUM",
            "EXPLAIN DELETE FROM people",
            "BEGIN IMMEDIATE",
            "SAVEPOINT x",
            "PRAGMA user_version = 7",
            "PRAGMA query_only = OFF",
            "PRAGMA writable_schema = ON",
            "PRAGMA journal_mode = WAL",
            "PRAGMA wal_checkpoint(TRUNCATE)",
            "PRAGMA optimize",
            "PRAGMA incremental_vacuum",
            "INSERT INTO found(found) VALUES ('rebuild')",
            "SELECT fts5_decode(1, 2)",
        ] {
            told.push_str(&format!("{sql}\n    {}\n", query(&toolbox, sql).await));
        }
        insta::allow_duplicates! { assert_snapshot!(told, @"
        INSERT INTO people (name) VALUES ('x')
            failed: not allowed: this only reads; the statement would change something
        UPDATE people SET name = 'x'
            failed: not allowed: this only reads; the statement would change something
        DELETE FROM people
            failed: not allowed: this only reads; the statement would change something
        REPLACE INTO people (id, name) VALUES (1, 'x')
            failed: not allowed: this only reads; the statement would change something
        WITH x AS (SELECT 1) DELETE FROM people
            failed: not allowed: this only reads; the statement would change something
        INSERT INTO people (name) VALUES ('x') RETURNING *
            failed: not allowed: this only reads; the statement would change something
        DROP TABLE people
            failed: not allowed: this only reads; the statement would change something
        CREATE TABLE x (a)
            failed: not allowed: this only reads; the statement would change something
        CREATE TEMP TABLE x (a)
            failed: not allowed: this only reads; the statement would change something
        CREATE VIEW x AS SELECT 1
            failed: not allowed: this only reads; the statement would change something
        CREATE TEMP TRIGGER x AFTER INSERT ON people BEGIN SELECT 1; END
            failed: not allowed: this only reads; the statement would change something
        ALTER TABLE people RENAME TO x
            failed: not allowed: this only reads; the statement would change something
        CREATE INDEX x ON people (born)
            failed: not allowed: this only reads; the statement would change something
        REINDEX
            failed: not allowed: this only reads; the statement would change something
        ANALYZE
            failed: not allowed: this only reads; the statement would change something
        VACUUM
            failed: not allowed: it would attach or write to another file
        EXPLAIN DELETE FROM people
            failed: not allowed: this only reads; the statement would change something
        BEGIN IMMEDIATE
            failed: not allowed: this only reads; the statement would change something
        SAVEPOINT x
            failed: not allowed: this only reads; the statement would change something
        PRAGMA user_version = 7
            failed: not allowed: PRAGMA `user_version` is not available
        PRAGMA query_only = OFF
            failed: not allowed: PRAGMA `query_only` is not available
        PRAGMA writable_schema = ON
            failed: not allowed: PRAGMA `writable_schema` is not available
        PRAGMA journal_mode = WAL
            failed: not allowed: PRAGMA `journal_mode` is not available
        PRAGMA wal_checkpoint(TRUNCATE)
            failed: not allowed: PRAGMA `wal_checkpoint` is not available
        PRAGMA optimize
            failed: not allowed: PRAGMA `optimize` is not available
        PRAGMA incremental_vacuum
            failed: not allowed: PRAGMA `incremental_vacuum` is not available
        INSERT INTO found(found) VALUES ('rebuild')
            failed: not allowed: this only reads; the statement would change something
        SELECT fts5_decode(1, 2)
            failed: no such function: fts5_decode (at byte 7)
        ") };
    }
    assert_eq!(content(&directory), before);
}

#[tokio::test]
async fn nothing_outside_is_reached() {
    let directory = database();
    let other = crate::support::tree(&[("victim", "kept")]);
    let there = |name: &str| other.path().join(name).display().to_string();
    let toolbox = writing(&directory);
    let mut told = String::new();
    for sql in [
        format!("ATTACH '{}' AS x", there("victim")),
        format!("ATTACH '{}' AS x", there("new.db")),
        format!("ATTACH 'file:{}?mode=rwc' AS x", there("new.db")),
        format!("ATTACH '{}' || '' AS x", there("new.db")),
        format!("VACUUM INTO '{}'", there("copy.db")),
        format!("VACUUM main INTO '{}' || ''", there("copy.db")),
        "DETACH main".to_owned(),
        "SELECT load_extension('libc.so.6')".to_owned(),
        "SELECT fts3_tokenizer('simple', x'0000000000000000')".to_owned(),
        "SELECT fts3_tokenizer('simple')".to_owned(),
        "SELECT readfile('/etc/passwd')".to_owned(),
        format!("SELECT writefile('{}', 'x')", there("new")),
        "SELECT edit('x')".to_owned(),
        "CREATE VIRTUAL TABLE x USING csv(filename='/etc/passwd')".to_owned(),
        "CREATE VIRTUAL TABLE x USING zipfile('/etc/passwd')".to_owned(),
        "CREATE VIRTUAL TABLE temp.x USING dbstat(main)".to_owned(),
        format!("PRAGMA temp_store_directory = '{}'", other.path().display()),
        format!("PRAGMA data_store_directory = '{}'", other.path().display()),
        "PRAGMA hard_heap_limit = 1".to_owned(),
        "PRAGMA soft_heap_limit(1)".to_owned(),
        "PRAGMA trusted_schema = ON".to_owned(),
        "PRAGMA key = 'x'".to_owned(),
        "PRAGMA mmap_size = 1000000000".to_owned(),
        "PRAGMA threads = 64".to_owned(),
        "PRAGMA locking_mode = EXCLUSIVE".to_owned(),
        "PRAGMA writable_schema = ON".to_owned(),
        "SELECT * FROM pragma_user_version(7)".to_owned(),
    ] {
        let (asked, done) = (query(&toolbox, &sql).await, execute(&toolbox, &sql).await);
        told.push_str(&format!("{sql}\n    query: {asked}\n    execute: {done}\n"));
    }
    assert_snapshot!(told.replace(other.path().to_str().unwrap(), "[other]"), @"
    ATTACH '[other]/victim' AS x
        query: failed: not allowed: it would attach or write to another file
        execute: failed: not allowed: it would attach or write to another file
    ATTACH '[other]/new.db' AS x
        query: failed: not allowed: it would attach or write to another file
        execute: failed: not allowed: it would attach or write to another file
    ATTACH 'file:[other]/new.db?mode=rwc' AS x
        query: failed: not allowed: it would attach or write to another file
        execute: failed: not allowed: it would attach or write to another file
    ATTACH '[other]/new.db' || '' AS x
        query: failed: not allowed: the statement does something unknown
        execute: failed: not allowed: the statement does something unknown
    VACUUM INTO '[other]/copy.db'
        query: failed: not allowed: it would attach or write to another file
        execute: failed: not allowed: it would attach or write to another file
    VACUUM main INTO '[other]/copy.db' || ''
        query: failed: not allowed: it would attach or write to another file
        execute: failed: not allowed: it would attach or write to another file
    DETACH main
        query: failed: not allowed: it would attach or write to another file
        execute: failed: cannot detach database main
    SELECT load_extension('libc.so.6')
        query: failed: not allowed: the function `load_extension` is not available
        execute: failed: not allowed: the function `load_extension` is not available
    SELECT fts3_tokenizer('simple', x'0000000000000000')
        query: failed: not allowed: the function `fts3_tokenizer` is not available
        execute: failed: not allowed: the function `fts3_tokenizer` is not available
    SELECT fts3_tokenizer('simple')
        query: failed: not allowed: the function `fts3_tokenizer` is not available
        execute: failed: not allowed: the function `fts3_tokenizer` is not available
    SELECT readfile('/etc/passwd')
        query: failed: no such function: readfile (at byte 7)
        execute: failed: no such function: readfile (at byte 7)
    SELECT writefile('[other]/new', 'x')
        query: failed: no such function: writefile (at byte 7)
        execute: failed: no such function: writefile (at byte 7)
    SELECT edit('x')
        query: failed: no such function: edit (at byte 7)
        execute: failed: no such function: edit (at byte 7)
    CREATE VIRTUAL TABLE x USING csv(filename='/etc/passwd')
        query: failed: not allowed: this only reads; the statement would change something
        execute: failed: not allowed: virtual tables of the kind `csv` are not available
    CREATE VIRTUAL TABLE x USING zipfile('/etc/passwd')
        query: failed: not allowed: this only reads; the statement would change something
        execute: failed: not allowed: virtual tables of the kind `zipfile` are not available
    CREATE VIRTUAL TABLE temp.x USING dbstat(main)
        query: failed: not allowed: this only reads; the statement would change something
        execute: failed: not allowed: virtual tables of the kind `dbstat` are not available
    PRAGMA temp_store_directory = '[other]'
        query: failed: not allowed: PRAGMA `temp_store_directory` is not available
        execute: failed: not allowed: PRAGMA `temp_store_directory` is not available
    PRAGMA data_store_directory = '[other]'
        query: failed: not allowed: PRAGMA `data_store_directory` is not available
        execute: failed: not allowed: PRAGMA `data_store_directory` is not available
    PRAGMA hard_heap_limit = 1
        query: failed: not allowed: PRAGMA `hard_heap_limit` is not available
        execute: failed: not allowed: PRAGMA `hard_heap_limit` is not available
    PRAGMA soft_heap_limit(1)
        query: failed: not allowed: PRAGMA `soft_heap_limit` is not available
        execute: failed: not allowed: PRAGMA `soft_heap_limit` is not available
    PRAGMA trusted_schema = ON
        query: failed: not allowed: PRAGMA `trusted_schema` is not available
        execute: failed: not allowed: PRAGMA `trusted_schema` is not available
    PRAGMA key = 'x'
        query: failed: not allowed: PRAGMA `key` is not available
        execute: failed: not allowed: PRAGMA `key` is not available
    PRAGMA mmap_size = 1000000000
        query: failed: not allowed: PRAGMA `mmap_size` is not available
        execute: failed: not allowed: PRAGMA `mmap_size` is not available
    PRAGMA threads = 64
        query: failed: not allowed: PRAGMA `threads` is not available
        execute: failed: not allowed: PRAGMA `threads` is not available
    PRAGMA locking_mode = EXCLUSIVE
        query: failed: not allowed: PRAGMA `locking_mode` is not available
        execute: failed: not allowed: PRAGMA `locking_mode` is not available
    PRAGMA writable_schema = ON
        query: failed: not allowed: PRAGMA `writable_schema` is not available
        execute: failed: not allowed: PRAGMA `writable_schema` is not available
    SELECT * FROM pragma_user_version(7)
        query: failed: too many arguments on pragma_user_version() - max 0
        execute: failed: too many arguments on pragma_user_version() - max 0
    ");
    let left: Vec<_> = fs_err::read_dir(other.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["victim"]);
    assert_eq!(fs_err::read_to_string(other.path().join("victim")).unwrap(), "kept");
}

/// Writes to the schema itself would make a database that attacks its next reader.
#[tokio::test]
async fn the_schema_is_not_written_directly() {
    let directory = database();
    let toolbox = writing(&directory);
    let mut told = String::new();
    for sql in [
        "UPDATE sqlite_schema SET sql = 'x'",
        "DELETE FROM sqlite_master",
        "INSERT INTO sqlite_sequence VALUES ('people', 9)",
        "DROP TABLE found_data",
        "UPDATE found_data SET block = x''",
    ] {
        told.push_str(&format!("{sql}\n    {}\n", execute(&toolbox, sql).await));
    }
    assert_snapshot!(told, @"
    UPDATE sqlite_schema SET sql = 'x'
        failed: table sqlite_master may not be modified
    DELETE FROM sqlite_master
        failed: table sqlite_master may not be modified
    INSERT INTO sqlite_sequence VALUES ('people', 9)
        failed: no such table: sqlite_sequence
    DROP TABLE found_data
        failed: table found_data may not be dropped
    UPDATE found_data SET block = x''
        failed: table found_data may not be modified
    ");
}

fn with_steps(directory: &TempDir, steps: &str) -> Toolbox {
    let options: &[(&str, &[&str])] = &[("database", &["data.db"]), ("writable", &["true"]), ("max_steps", &[steps])];
    open("sqlite", options, directory.path())
}

const ENDLESS: &str = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";

#[tokio::test]
async fn endless_statements_end() {
    let directory = database();
    let before = content(&directory);
    let toolbox = with_steps(&directory, "1000000");
    let join = "SELECT count(*) FROM people a, people b, people c, people d, people e, people f, people g, \
                people h, people i, people j, people k, people l, people m, people n, people o";
    assert_snapshot!(query(&toolbox, ENDLESS).await, @"failed: the statement was ended after 1,000,000 steps (max_steps): ask for less");
    assert_snapshot!(query(&toolbox, join).await, @"failed: the statement was ended after 1,000,000 steps (max_steps): ask for less");
    let insert = format!("INSERT INTO people (name) {}", ENDLESS.replace("count(*)", "x"));
    assert_snapshot!(execute(&toolbox, &insert).await, @"failed: the statement was ended after 1,000,000 steps (max_steps): ask for less");
    assert_snapshot!(query(&toolbox, "SELECT count(*) FROM people").await, @"
    count(*)
    --------
    3
    [1 row]
    ");
    assert_eq!(content(&directory), before, "what was ended is undone");
}

/// Without a limit that would end it today, it ends with its caller.
#[tokio::test]
async fn a_dropped_call_ends() {
    let directory = database();
    let toolbox = with_steps(&directory, "18446744073709551615");
    let arguments = serde_json::json!({ "sql": ENDLESS }).to_string();
    let waited = tokio::time::timeout(Duration::from_millis(50), call(&toolbox, "query", &arguments)).await;
    assert!(waited.is_err());
    // The runtime waits for its blocking threads when it is dropped: this test ends only if the statement did.
}

#[tokio::test]
async fn statements_made_to_break_the_parser() {
    let directory = database();
    let toolbox = with_steps(&directory, "10000000");
    let many = 100_000;
    let mut told = String::new();
    for (what, sql) in [
        ("statements", "SELECT 1;".repeat(many / 10)),
        ("semicolons", ";".repeat(many)),
        ("parentheses", format!("SELECT {}1{}", "(".repeat(many), ")".repeat(many))),
        ("nots", format!("SELECT {} 1", "NOT ".repeat(many / 2))),
        ("minuses", format!("SELECT {} 1", "- ".repeat(many))),
        ("sums", format!("SELECT 1{}", "+1".repeat(many))),
        ("subqueries", format!("SELECT {}1{}", "(SELECT ".repeat(many / 10), ")".repeat(many / 10))),
        ("from", format!("SELECT 1 FROM {}people{}", "(SELECT * FROM ".repeat(5_000), ")".repeat(5_000))),
        ("unions", format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(10_000))),
        ("columns", format!("SELECT 1{}", ",1".repeat(many))),
        ("functions", format!("SELECT {}1{}", "abs(".repeat(many / 4), ")".repeat(many / 4))),
        ("case", format!("SELECT {} 1 {}", "CASE WHEN 1 THEN ".repeat(5_000), "END ".repeat(5_000))),
        ("withs", format!("{} SELECT 1", "WITH a AS (SELECT 1) ".repeat(5_000))),
        ("long", format!("SELECT '{}'", "x".repeat(300_000))),
        ("unclosed", format!("SELECT '{}", "x".repeat(many))),
        ("comment", format!("/* {}", "/*".repeat(many))),
        ("like", format!("SELECT '{}' LIKE '{}'", "a".repeat(50_000), "%a".repeat(5_000))),
        ("glob", format!("SELECT '{}' GLOB '{}b'", "a".repeat(3_000), "*a".repeat(400))),
        ("json", format!("SELECT json('{}')", "[".repeat(many))),
        ("printf", "SELECT printf('%2000000000d', 1)".to_owned()),
        ("replace", "SELECT length(replace(hex(zeroblob(5000000)), '0', '0000000000'))".to_owned()),
    ] {
        let answer = query(&toolbox, &sql).await;
        told.push_str(&format!("{what}: {}\n", answer.lines().last().unwrap()));
    }
    assert_snapshot!(told, @r#"
    statements: failed: this takes one statement at a time
    semicolons: failed: the SQL is empty
    parentheses: failed: Recursion limit
    nots: failed: Recursion limit
    minuses: failed: Recursion limit
    sums: failed: Expression tree is too large (maximum depth 250)
    subqueries: failed: Recursion limit
    from: failed: Recursion limit
    unions: failed: too many terms in compound SELECT
    columns: failed: too many columns in result set
    functions: failed: Recursion limit
    case: failed: Recursion limit
    withs: failed: near "WITH": syntax error (at byte 21)
    long: failed: statement too long
    unclosed: failed: unrecognized token: "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (at byte 7)
    comment: failed: near "*": syntax error (at byte 6)
    like: failed: LIKE or GLOB pattern too complex
    glob: [1 row]
    json: failed: malformed JSON
    printf: failed: string or blob too big
    replace: failed: string or blob too big
    "#);
}

/// A schema that was made to attack its reader.
#[tokio::test]
async fn a_hostile_database() {
    let directory = crate::support::tree(&[]);
    let connection = rusqlite::Connection::open(directory.path().join("data.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE \"a
b | c\" (\"x\u{1b}[2J\" TEXT DEFAULT 'a
b');
             CREATE VIEW endless AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c;
             CREATE VIEW reaching AS SELECT load_extension('x') AS x;",
        )
        .unwrap();
    let toolbox = with_steps(&directory, "1000000");
    assert_snapshot!(call(&toolbox, "list_tables", "{}").await, @r#"
    name     | kind
    ---------|------
    a\nb | c | table
    endless  | view
    reaching | view
    "#);
    assert_snapshot!(query(&toolbox, "SELECT max(x) FROM endless").await, @"failed: the statement was ended after 1,000,000 steps (max_steps): ask for less");
    assert_snapshot!(query(&toolbox, "SELECT * FROM reaching").await, @"failed: unsafe use of load_extension()");
    assert_snapshot!(call(&toolbox, "describe_table", r#"{"table":"a\nb | c"}"#).await, @r#"
    name       | type | not_null | default | primary_key
    -----------|------|----------|---------|------------
    x\u{1b}[2J | TEXT | 0        | 'a\nb'  | 0

    CREATE TABLE "a
    b | c" ("x\u{1b}[2J" TEXT DEFAULT 'a
    b')
    "#);
}
