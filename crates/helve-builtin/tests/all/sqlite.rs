//! The database: what is in it, asking it, changing it, and where results end.

use helve::Toolbox;
use insta::assert_snapshot;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::{call, open, structured, tree, without};

/// A database with something of everything.
pub(crate) fn database() -> TempDir {
    let directory = tree(&[]);
    let connection = Connection::open(directory.path().join("data.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born INTEGER DEFAULT 1970, photo BLOB);
             CREATE TABLE notes (person INTEGER NOT NULL REFERENCES people (id), number INTEGER, text TEXT,
                 PRIMARY KEY (person, number)) WITHOUT ROWID;
             CREATE UNIQUE INDEX by_name ON people (name);
             CREATE INDEX by_length ON notes (length(text), person);
             CREATE VIEW adults AS SELECT name FROM people WHERE born < 2000;
             CREATE VIRTUAL TABLE found USING fts5(text);
             CREATE TABLE \"odd name; -- \" (\"a\"\"b\" INTEGER);
             INSERT INTO people VALUES (1, 'Ada', 1815, x'00ff'), (2, 'Grace', 1906, NULL), (3, 'Linus', 2020, x'');
             INSERT INTO notes VALUES (1, 1, 'first'), (1, 2, 'second'), (2, 1, 'third
line');
             INSERT INTO found VALUES ('the quick brown fox');",
        )
        .unwrap();
    directory
}

pub(crate) fn reading(directory: &TempDir) -> Toolbox {
    open("sqlite", &[("database", &["data.db"])], directory.path())
}

pub(crate) fn writing(directory: &TempDir) -> Toolbox {
    open("sqlite", &[("database", &["data.db"]), ("writable", &["true"])], directory.path())
}

pub(crate) async fn query(toolbox: &Toolbox, sql: &str) -> String {
    call(toolbox, "query", &serde_json::json!({ "sql": sql }).to_string()).await
}

pub(crate) async fn execute(toolbox: &Toolbox, sql: &str) -> String {
    call(toolbox, "execute", &serde_json::json!({ "sql": sql }).to_string()).await
}

#[tokio::test]
async fn what_is_in_it() {
    let directory = database();
    let toolbox = reading(&directory);
    assert_snapshot!(call(&toolbox, "list_tables", "{}").await, @"
    name          | kind
    --------------|--------
    adults        | view
    found         | virtual
    notes         | table
    odd name; --  | table
    people        | table
    ");
    assert_snapshot!(structured(&toolbox, "list_tables", "{}").await, @r#"{"tables":[{"name":"adults","kind":"view"},{"name":"found","kind":"virtual"},{"name":"notes","kind":"table"},{"name":"odd name; -- ","kind":"table"},{"name":"people","kind":"table"}],"truncated":false}"#);
    assert_snapshot!(call(&toolbox, "describe_table", r#"{"table":"people"}"#).await, @"
    name  | type    | not_null | default | primary_key
    ------|---------|----------|---------|------------
    id    | INTEGER | 0        | NULL    | 1
    name  | TEXT    | 1        | NULL    | 0
    born  | INTEGER | 0        | 1970    | 0
    photo | BLOB    | 0        | NULL    | 0

    CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born INTEGER DEFAULT 1970, photo BLOB)
    ");
    assert_snapshot!(structured(&toolbox, "describe_table", r#"{"table":"people"}"#).await, @r#"{"table":"people","columns":[{"name":"id","type":"INTEGER","not_null":false,"primary_key":1},{"name":"name","type":"TEXT","not_null":true},{"name":"born","type":"INTEGER","not_null":false,"default":"1970"},{"name":"photo","type":"BLOB","not_null":false}],"foreign_keys":[],"indexes":[{"name":"by_name","unique":true,"columns":["name"]}],"sql":"CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born INTEGER DEFAULT 1970, photo BLOB)"}"#);
    assert_snapshot!(structured(&toolbox, "describe_table", r#"{"table":"notes"}"#).await, @r#"{"table":"notes","columns":[{"name":"person","type":"INTEGER","not_null":true,"primary_key":1},{"name":"number","type":"INTEGER","not_null":true,"primary_key":2},{"name":"text","type":"TEXT","not_null":false}],"foreign_keys":[{"column":"person","table":"people","references":"id"}],"indexes":[{"name":"by_length","unique":false,"columns":["(expression)","person"]},{"name":"sqlite_autoindex_notes_1","unique":true,"columns":["person","number"]}],"sql":"CREATE TABLE notes (person INTEGER NOT NULL REFERENCES people (id), number INTEGER, text TEXT,\n                 PRIMARY KEY (person, number)) WITHOUT ROWID"}"#);
    assert_snapshot!(structured(&toolbox, "describe_table", r#"{"table":"adults"}"#).await, @r#"{"table":"adults","columns":[{"name":"name","type":"TEXT","not_null":false}],"foreign_keys":[],"indexes":[],"sql":"CREATE VIEW adults AS SELECT name FROM people WHERE born < 2000"}"#);
    assert_snapshot!(structured(&toolbox, "describe_table", r#"{"table":"found"}"#).await, @r#"{"table":"found","columns":[{"name":"text","type":"","not_null":false}],"foreign_keys":[],"indexes":[],"sql":"CREATE VIRTUAL TABLE found USING fts5(text)"}"#);
    assert_snapshot!(structured(&toolbox, "describe_table", r#"{"table":"odd name; -- "}"#).await, @r#"{"table":"odd name; -- ","columns":[{"name":"a\"b","type":"INTEGER","not_null":false}],"foreign_keys":[],"indexes":[],"sql":"CREATE TABLE \"odd name; -- \" (\"a\"\"b\" INTEGER)"}"#);
    assert_snapshot!(call(&toolbox, "describe_table", r#"{"table":"peple"}"#).await, @"failed: there is no table `peple`; did you mean `people`?");
    assert_snapshot!(call(&toolbox, "describe_table", r#"{"table":"x'); DROP TABLE people; --"}"#).await, @"failed: there is no table `x'); DROP TABLE people; --`; list_tables shows what there is");
}

#[tokio::test]
async fn questions() {
    let directory = database();
    let toolbox = reading(&directory);
    assert_snapshot!(query(&toolbox, "SELECT * FROM people ORDER BY id").await, @"
    id | name  | born | photo
    ---|-------|------|------------
    1  | Ada   | 1815 | base64:AP8=
    2  | Grace | 1906 | NULL
    3  | Linus | 2020 | base64:
    [3 rows]
    ");
    let sql = r#"{"sql":"SELECT id, name, photo, born / 2.0 AS half, NULL FROM people;  -- and nothing else"}"#;
    assert_snapshot!(structured(&toolbox, "query", sql).await, @r#"{"columns":["id","name","photo","half","NULL"],"rows":[[1,"Ada",{"base64":"AP8="},907.5,null],[2,"Grace",null,953.0,null],[3,"Linus",{"base64":""},1010.0,null]],"truncated":false}"#);
    assert_snapshot!(query(&toolbox, "SELECT text FROM notes WHERE person = 2").await, @r#"
    text
    -----------
    third\nline
    [1 row]
    "#);
    assert_snapshot!(query(&toolbox, "SELECT name FROM adults, found WHERE found MATCH 'quick' ORDER BY 1").await, @"
    name
    -----
    Ada
    Grace
    [2 rows]
    ");
    assert_snapshot!(query(&toolbox, "SELECT name FROM people WHERE 0").await, @"
    name
    ----
    [0 rows]
    ");
    assert_snapshot!(query(&toolbox, "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x * 2 FROM c LIMIT 4) SELECT x FROM c").await, @"
    x
    -
    1
    2
    4
    8
    [4 rows]
    ");
    assert_snapshot!(query(&toolbox, "EXPLAIN QUERY PLAN SELECT * FROM people WHERE name = 'Ada'").await, @"
    id | parent | notused | detail
    ---|--------|---------|---------------------------------
    3  | 0      | 39      | SEARCH people USING INDEX by_name (name=?)
    [1 row]
    ");
    assert_snapshot!(query(&toolbox, "PRAGMA table_info(notes)").await, @"
    cid | name   | type    | notnull | dflt_value | pk
    ----|--------|---------|---------|------------|---
    0   | person | INTEGER | 1       | NULL       | 1
    1   | number | INTEGER | 1       | NULL       | 2
    2   | text   | TEXT    | 0       | NULL       | 0
    [3 rows]
    ");
    assert_snapshot!(query(&toolbox, "PRAGMA user_version").await, @"
    user_version
    ------------
    0
    [1 row]
    ");
}

#[tokio::test]
async fn values_come_back_as_they_are() {
    let directory = database();
    let toolbox = reading(&directory);
    let sql = r#"{"sql":"SELECT 9223372036854775807, -9223372036854775808, 9007199254740993, 0.1, 1e300, 9e999, -9e999, 1.0, x'deadbeef', 'a''b\"\\\n', CAST(x'ff41' AS TEXT), '', x''"}"#;
    assert_snapshot!(structured(&toolbox, "query", sql).await, @r#"{"columns":["9223372036854775807","-9223372036854775808","9007199254740993","0.1","1e300","9e999","-9e999","1.0","x'deadbeef'","'a''b\"\\\n'","CAST(x'ff41' AS TEXT)","''","x''"],"rows":[[9223372036854775807,-9223372036854775808,9007199254740993,0.1,1e+300,"Infinity","-Infinity",1.0,{"base64":"3q2+7w=="},"a'b\"\\\n","�A","",{"base64":""}]],"truncated":false}"#);
    assert_snapshot!(call(&toolbox, "query", sql).await, @r#"
    9223372036854775807 | -9223372036854775808 | 9007199254740993 | 0.1 | 1e300 | 9e999    | -9e999    | 1.0 | x'deadbeef'     | 'a''b"\\n' | CAST(x'ff41' AS TEXT) | '' | x''
    --------------------|----------------------|------------------|-----|-------|----------|-----------|-----|-----------------|------------|-----------------------|----|--------
    9223372036854775807 | -9223372036854775808 | 9007199254740993 | 0.1 | 1e300 | Infinity | -Infinity | 1.0 | base64:3q2+7w== | a'b"\\n    | �A                    |    | base64:
    [1 row]
    "#);
}

#[tokio::test]
async fn placeholders() {
    let directory = database();
    let toolbox = reading(&directory);
    let mut told = String::new();
    for arguments in [
        r#"{"sql":"SELECT ?, ?, ?, ?, ?","params":[null,true,-9223372036854775808,1.5,"x' OR 1=1 --"]}"#,
        r#"{"sql":"SELECT typeof(?1), length(?1), ?1","params":[{"base64":"3q2+7w=="}]}"#,
        r#"{"sql":"SELECT :a, @b, $c, :a","params":{"a":1,"@b":2,"c":3}}"#,
        r#"{"sql":"SELECT name FROM people WHERE name = :name","params":{"name":"Ada"}}"#,
        r#"{"sql":"SELECT ?","params":[]}"#,
        r#"{"sql":"SELECT ?"}"#,
        r#"{"sql":"SELECT 1","params":[1]}"#,
        r#"{"sql":"SELECT :a","params":{"b":1}}"#,
        r#"{"sql":"SELECT :a","params":{"a":1,"b":1}}"#,
        r#"{"sql":"SELECT ?","params":{"a":1}}"#,
        r#"{"sql":"SELECT ?","params":[9223372036854775808]}"#,
        r#"{"sql":"SELECT ?","params":[[1]]}"#,
        r#"{"sql":"SELECT ?","params":[{"base64":"%"}]}"#,
        r#"{"sql":"SELECT ?","params":[{"a":1}]}"#,
        r#"{"sql":"SELECT ?99999999","params":[1]}"#,
    ] {
        told.push_str(&format!("{arguments}\n{}\n", call(&toolbox, "query", arguments).await));
    }
    assert_snapshot!(told, @r#"
    {"sql":"SELECT ?, ?, ?, ?, ?","params":[null,true,-9223372036854775808,1.5,"x' OR 1=1 --"]}
    ?    | ? | ?                    | ?   | ?
    -----|---|----------------------|-----|-------------
    NULL | 1 | -9223372036854775808 | 1.5 | x' OR 1=1 --
    [1 row]
    {"sql":"SELECT typeof(?1), length(?1), ?1","params":[{"base64":"3q2+7w=="}]}
    typeof(?1) | length(?1) | ?1
    -----------|------------|----------------
    blob       | 4          | base64:3q2+7w==
    [1 row]
    {"sql":"SELECT :a, @b, $c, :a","params":{"a":1,"@b":2,"c":3}}
    :a | @b | $c | :a
    ---|----|----|---
    1  | 2  | 3  | 1
    [1 row]
    {"sql":"SELECT name FROM people WHERE name = :name","params":{"name":"Ada"}}
    name
    ----
    Ada
    [1 row]
    {"sql":"SELECT ?","params":[]}
    failed: the statement has 1 placeholder and was given 0 values
    {"sql":"SELECT ?"}
    failed: the statement has 1 placeholder and was given 0 values
    {"sql":"SELECT 1","params":[1]}
    failed: the statement has 0 placeholders and was given 1 value
    {"sql":"SELECT :a","params":{"b":1}}
    failed: there is no value for the placeholder `:a`
    {"sql":"SELECT :a","params":{"a":1,"b":1}}
    failed: there are values for placeholders that the statement does not have
    {"sql":"SELECT ?","params":{"a":1}}
    failed: placeholder 1 has no name; give the values as a list
    {"sql":"SELECT ?","params":[9223372036854775808]}
    failed: `params[0]`: SQLite has no integers above 9223372036854775807; give it as a text
    {"sql":"SELECT ?","params":[[1]]}
    failed: `params[0]`: a list is not a value of SQLite; give it as a text of JSON
    {"sql":"SELECT ?","params":[{"base64":"%"}]}
    failed: `params[0]`: this is not base 64
    {"sql":"SELECT ?","params":[{"a":1}]}
    failed: `params[0]`: an object is a blob only as {"base64": "…"}
    {"sql":"SELECT ?99999999","params":[1]}
    failed: variable number must be between ?1 and ?32766
    "#);
}

#[tokio::test]
async fn mistakes() {
    let directory = database();
    let toolbox = reading(&directory);
    let mut told = String::new();
    for sql in [
        "SELEC 1",
        "SELECT nobody FROM people",
        "SELECT \"no column\"",
        "SELECT * FROM peple",
        "",
        "  -- nothing\n;;",
        "SELECT 1\0",
        "SELECT 1; SELECT 2",
        "SELECT 1; nonsense",
        "SELECT abs(-9223372036854775808)",
    ] {
        told.push_str(&format!("{}\n", query(&toolbox, sql).await));
    }
    assert_snapshot!(told, @r#"
    failed: near "SELEC": syntax error (at byte 0)
    failed: no such column: nobody (at byte 7)
    failed: no such column: "no column" - should this be a string literal in single-quotes? (at byte 7)
    failed: no such table: peple
    failed: the SQL is empty
    failed: the SQL is empty
    failed: the SQL holds a NUL
    failed: this takes one statement at a time
    failed: this takes one statement at a time
    failed: integer overflow
    "#);
}

#[tokio::test]
async fn long_results_are_cut_and_say_so() {
    let directory = database();
    let limited = |option| open("sqlite", &[("database", &["data.db"]), option], directory.path());
    let few = limited(("max_rows", &["2"]));
    assert_snapshot!(query(&few, "SELECT name FROM people ORDER BY id").await, @"
    name
    -----
    Ada
    Grace
    [there is more than 2 rows: a result has at most 2 rows and 1,048,576 bytes]
    ");
    assert_snapshot!(structured(&few, "query", r#"{"sql":"SELECT name FROM people ORDER BY id LIMIT 2"}"#).await, @r#"{"columns":["name"],"rows":[["Ada"],["Grace"]],"truncated":false}"#);
    assert_snapshot!(structured(&few, "query", r#"{"sql":"SELECT name FROM people ORDER BY id"}"#).await, @r#"{"columns":["name"],"rows":[["Ada"],["Grace"]],"truncated":true}"#);
    assert_snapshot!(structured(&few, "list_tables", "{}").await, @r#"{"tables":[{"name":"adults","kind":"view"},{"name":"found","kind":"virtual"}],"truncated":true}"#);
    let small = limited(("max_bytes", &["100"]));
    assert_snapshot!(structured(&small, "query", r#"{"sql":"SELECT 'x', id FROM people"}"#).await, @r#"{"columns":["'x'","id"],"rows":[["x",1],["x",2],["x",3]],"truncated":false}"#);
    assert_snapshot!(structured(&small, "query", r#"{"sql":"SELECT 'ninety' AS a UNION ALL SELECT hex(zeroblob(60))"}"#).await, @r#"{"columns":["a"],"rows":[["ninety"]],"truncated":true}"#);
    assert_snapshot!(query(&small, "SELECT zeroblob(1000000)").await, @"
    zeroblob(1000000)
    -----------------
    [there is more than 0 rows: a result has at most 1,000 rows and 100 bytes]
    ");
    let more = structured(&small, "query", r#"{"sql":"SELECT randomblob(15000000), 1"}"#).await;
    assert_eq!(more, r#"{"columns":["randomblob(15000000)","1"],"rows":[],"truncated":true}"#);
    assert_snapshot!(query(&small, "SELECT randomblob(100000000)").await, @"failed: string or blob too big");
}

#[tokio::test]
async fn changes() {
    let directory = database();
    let toolbox = writing(&directory);
    assert_snapshot!(execute(&toolbox, "INSERT INTO people (name) VALUES ('Alan')").await, @"1 row changed");
    assert_snapshot!(structured(&toolbox, "execute", r#"{"sql":"INSERT INTO people (name) VALUES (?), (?) RETURNING id, name","params":["Edsger","Barbara"]}"#).await, @r#"{"changes":2,"last_insert_rowid":6,"columns":["id","name"],"rows":[[5,"Edsger"],[6,"Barbara"]],"truncated":false}"#);
    assert_snapshot!(execute(&toolbox, "UPDATE people SET born = born + 1 WHERE id < 3 RETURNING name, born").await, @"
    2 rows changed
    name  | born
    ------|-----
    Ada   | 1816
    Grace | 1907
    [2 rows]
    ");
    assert_snapshot!(execute(&toolbox, "DELETE FROM people WHERE name = 'Alan'").await, @"1 row changed");
    assert_snapshot!(execute(&toolbox, "CREATE TABLE t (a)").await, @"0 rows changed");
    assert_snapshot!(execute(&toolbox, "CREATE TRIGGER w AFTER INSERT ON t BEGIN UPDATE people SET born = 0; SELECT 1; END;").await, @"0 rows changed");
    assert_snapshot!(execute(&toolbox, "ALTER TABLE t ADD COLUMN b").await, @"0 rows changed");
    assert_snapshot!(execute(&toolbox, "DROP TABLE t").await, @"0 rows changed");
    assert_snapshot!(execute(&toolbox, "VACUUM").await, @"0 rows changed");
    assert_snapshot!(execute(&toolbox, "BEGIN").await, @"failed: every statement is a transaction of its own; BEGIN and SAVEPOINT do nothing here");
    assert_snapshot!(execute(&toolbox, "SAVEPOINT x").await, @"failed: every statement is a transaction of its own; BEGIN and SAVEPOINT do nothing here");
    assert_snapshot!(execute(&toolbox, "COMMIT").await, @"failed: cannot commit - no transaction is active");
    assert_snapshot!(execute(&toolbox, "DELETE FROM people WHERE id = 1").await, @"failed: FOREIGN KEY constraint failed");
    assert_snapshot!(execute(&toolbox, "INSERT INTO people (id) VALUES (9)").await, @"failed: NOT NULL constraint failed: people.name");
    assert_snapshot!(query(&toolbox, "SELECT id, name, born FROM people ORDER BY id").await, @"
    id | name    | born
    ---|---------|-----
    1  | Ada     | 1816
    2  | Grace   | 1907
    3  | Linus   | 2020
    5  | Edsger  | 1970
    6  | Barbara | 1970
    [5 rows]
    ");
}

/// What does not fit into the answer is changed all the same.
#[tokio::test]
async fn a_cut_answer_is_no_half_change() {
    let directory = database();
    let options: &[(&str, &[&str])] = &[("database", &["data.db"]), ("writable", &["true"]), ("max_rows", &["1"])];
    let toolbox = open("sqlite", options, directory.path());
    assert_snapshot!(structured(&toolbox, "execute", r#"{"sql":"UPDATE people SET born = 1 RETURNING id"}"#).await, @r#"{"changes":3,"last_insert_rowid":0,"columns":["id"],"rows":[[1]],"truncated":true}"#);
    assert_snapshot!(query(&toolbox, "SELECT count(*) FROM people WHERE born = 1").await, @"
    count(*)
    --------
    3
    [1 row]
    ");
}

#[tokio::test]
async fn a_database_that_does_not_exist_yet() {
    let directory = tree(&[]);
    let toolbox = writing(&directory);
    assert_snapshot!(without(&directory, &query(&toolbox, "SELECT 1").await), @"failed: the database `[dir]/data.db` does not exist; execute creates it");
    assert_snapshot!(execute(&toolbox, "CREATE TABLE t (a)").await, @"0 rows changed");
    assert_snapshot!(call(&toolbox, "list_tables", "{}").await, @"
    name | kind
    -----|------
    t    | table
    ");
}

#[tokio::test]
async fn what_is_no_database() {
    let directory = tree(&[("data.db", &"no database at all\n".repeat(100))]);
    assert_snapshot!(query(&reading(&directory), "SELECT * FROM sqlite_schema").await, @"failed: file is not a database");
    let empty = tree(&[("data.db", "")]);
    assert_snapshot!(call(&reading(&empty), "list_tables", "{}").await, @"[no tables]");
}

/// Calls do not wait for each other, and one that waits for another program ends.
#[tokio::test]
async fn a_locked_database() {
    let directory = database();
    let other = Connection::open(directory.path().join("data.db")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let toolbox = writing(&directory);
    let sql = serde_json::json!({ "sql": "SELECT 1 FROM people" }).to_string();
    // The call gives up when its caller does, not when the lock does.
    let waited = tokio::time::timeout(std::time::Duration::from_millis(100), call(&toolbox, "query", &sql)).await;
    assert!(waited.is_err());
    other.execute_batch("COMMIT").unwrap();
    assert_snapshot!(query(&toolbox, "SELECT count(*) FROM people").await, @"
    count(*)
    --------
    3
    [1 row]
    ");
}

#[tokio::test]
async fn a_database_with_a_write_ahead_log() {
    let directory = database();
    let other = Connection::open(directory.path().join("data.db")).unwrap();
    other.pragma_update(None, "journal_mode", "WAL").unwrap();
    other.execute_batch("BEGIN; INSERT INTO people (name) VALUES ('unseen')").unwrap();
    assert_snapshot!(query(&reading(&directory), "SELECT count(*) FROM people").await, @"
    count(*)
    --------
    3
    [1 row]
    ");
}
