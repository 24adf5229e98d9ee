//! `list_tables` and `describe_table`: what is in the database.

use helve_model::json::RawJson;
use helve_model::text::nearest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::connection::Session;
use super::query::Rows;
use super::value::{Cell, Parameters};
use super::{Database, table};
use crate::answer::{Answer, Trouble, arguments, structured};
use crate::tool::Cancelled;
use crate::words::{printable, quoted};

pub(super) const LIST_TABLES: &str = r#"{
    "name":"list_tables",
    "title":"List the tables",
    "description":"Lists the tables and views of the database.",
    "inputSchema":{"type":"object","properties":{},"additionalProperties":false},
    "outputSchema":{"type":"object","properties":{
        "tables":{"type":"array","items":{"type":"object","properties":{
            "name":{"type":"string"},
            "kind":{"enum":["table","view","virtual"]}
        },"required":["name","kind"]}},
        "truncated":{"type":"boolean","description":"There are more"}
    },"required":["tables","truncated"]},
    "annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
}"#;

pub(super) const DESCRIBE_TABLE: &str = r#"{
    "name":"describe_table",
    "title":"Describe a table",
    "description":"Describes a table or view: columns with their types, keys, indexes, and the SQL that made it.",
    "inputSchema":{"type":"object","properties":{
        "table":{"type":"string"}
    },"required":["table"],"additionalProperties":false},
    "outputSchema":{"type":"object","properties":{
        "table":{"type":"string"},
        "columns":{"type":"array","items":{"type":"object","properties":{
            "name":{"type":"string"},
            "type":{"type":"string"},
            "not_null":{"type":"boolean"},
            "default":{"type":"string","description":"As SQL"},
            "primary_key":{"type":"integer","description":"Its place in the primary key, from 1"}
        },"required":["name","type","not_null"]}},
        "foreign_keys":{"type":"array","items":{"type":"object","properties":{
            "column":{"type":"string"},
            "table":{"type":"string"},
            "references":{"type":"string"}
        },"required":["column","table"]}},
        "indexes":{"type":"array","items":{"type":"object","properties":{
            "name":{"type":"string"},
            "unique":{"type":"boolean"},
            "columns":{"type":"array","items":{"type":"string"}}
        },"required":["name","unique","columns"]}},
        "sql":{"type":"string"}
    },"required":["table","columns","foreign_keys","indexes"]},
    "annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
}"#;

const TABLES: &str = "SELECT name, type AS kind FROM pragma_table_list \
    WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";

const COLUMNS: &str = "SELECT name, type, \"notnull\" AS not_null, dflt_value AS \"default\", pk AS primary_key FROM pragma_table_xinfo(?1, 'main') WHERE hidden <> 1 ORDER BY cid";

const FOREIGN_KEYS: &str =
    "SELECT \"from\", \"table\", \"to\" FROM pragma_foreign_key_list(?1, 'main') ORDER BY id, seq";

const INDEXES: &str = "SELECT list.name, list.\"unique\", info.name FROM pragma_index_list(?1, 'main') AS list, \
    pragma_index_info(list.name, 'main') AS info ORDER BY list.name, info.seqno";

const MADE_BY: &str = "SELECT sql FROM main.sqlite_schema WHERE name = ?1 AND type IN ('table', 'view')";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribeTable {
    table: String,
}

#[derive(Serialize)]
struct Tables {
    tables: Vec<Table>,
    truncated: bool,
}

#[derive(Serialize)]
struct Table {
    name: String,
    kind: String,
}

#[derive(Serialize)]
struct Description {
    table: String,
    columns: Vec<Column>,
    foreign_keys: Vec<ForeignKey>,
    indexes: Vec<Index>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sql: Option<String>,
}

#[derive(Serialize)]
struct Column {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    not_null: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    primary_key: Option<i64>,
}

#[derive(Serialize)]
struct ForeignKey {
    column: String,
    table: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    references: Option<String>,
}

#[derive(Serialize)]
struct Index {
    name: String,
    unique: bool,
    columns: Vec<String>,
}

pub(super) fn list_tables(database: &Database, raw: &RawJson, cancelled: &Cancelled) -> Answer {
    let Nothing {} = arguments(raw)?;
    let found = database.read(cancelled, |session| database.rows(session, TABLES, &Parameters::default()))?;
    let text =
        if found.rows.is_empty() { "[no tables]".to_owned() } else { table::render(&found.columns, &found.rows) };
    let mut tables = Tables { tables: Vec::new(), truncated: found.truncated };
    for row in &found.rows {
        if let [name, kind] = row.as_slice() {
            tables.tables.push(Table { name: text_of(name), kind: text_of(kind) });
        }
    }
    structured(&tables, &text)
}

pub(super) fn describe_table(database: &Database, raw: &RawJson, cancelled: &Cancelled) -> Answer {
    let asked: DescribeTable = arguments(raw)?;
    let (description, text) = database.read(cancelled, |session| describe(database, session, &asked))?;
    structured(&description, &text)
}

fn describe(database: &Database, session: &Session, asked: &DescribeTable) -> Result<(Description, String), Trouble> {
    let name = Parameters::Positional(vec![Value::from(asked.table.as_str())]);
    let ask = |sql| database.rows(session, sql, &name);
    let columns = ask(COLUMNS)?;
    if columns.rows.is_empty() {
        let tables = database.rows(session, TABLES, &Parameters::default())?;
        return Err(no_such_table(&asked.table, &tables));
    }
    let made_by = ask(MADE_BY)?.rows.first().and_then(|row| row.first()).and_then(optional_text);
    let text = match &made_by {
        Some(sql) => {
            let sql: Vec<String> = sql.lines().map(printable).collect();
            format!("{}\n\n{}", table::render(&columns.columns, &columns.rows), sql.join("\n"))
        }
        None => table::render(&columns.columns, &columns.rows),
    };
    let description = Description {
        columns: columns.rows.iter().filter_map(|row| column(row)).collect(),
        foreign_keys: ask(FOREIGN_KEYS)?.rows.iter().filter_map(|row| foreign_key(row)).collect(),
        indexes: indexes(&ask(INDEXES)?),
        sql: made_by,
        table: asked.table.clone(),
    };
    Ok((description, text))
}

fn no_such_table(asked: &str, tables: &Rows) -> Trouble {
    let names: Vec<String> = tables.rows.iter().filter_map(|row| row.first()).map(text_of).collect();
    let hint = match nearest(asked, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {}?", quoted(near)),
        None => "list_tables shows what there is".to_owned(),
    };
    Trouble::failed(format!("there is no table {}; {hint}", quoted(asked)))
}

fn column(row: &[Cell]) -> Option<Column> {
    let [name, kind, not_null, default, primary_key] = row else { return None };
    Some(Column {
        name: text_of(name),
        kind: text_of(kind),
        not_null: number_of(not_null) != 0,
        default: optional_text(default),
        primary_key: Some(number_of(primary_key)).filter(|place| *place > 0),
    })
}

fn foreign_key(row: &[Cell]) -> Option<ForeignKey> {
    let [column, table, references] = row else { return None };
    Some(ForeignKey { column: text_of(column), table: text_of(table), references: optional_text(references) })
}

fn indexes(rows: &Rows) -> Vec<Index> {
    let mut indexes: Vec<Index> = Vec::new();
    for row in &rows.rows {
        let [name, unique, column] = row.as_slice() else { continue };
        let name = text_of(name);
        if indexes.last().is_none_or(|last| last.name != name) {
            indexes.push(Index { name, unique: number_of(unique) != 0, columns: Vec::new() });
        }
        if let Some(last) = indexes.last_mut() {
            // An expression has no name.
            last.columns.push(optional_text(column).unwrap_or_else(|| "(expression)".to_owned()));
        }
    }
    indexes
}

fn text_of(cell: &Cell) -> String {
    optional_text(cell).unwrap_or_default()
}

fn optional_text(cell: &Cell) -> Option<String> {
    if let Cell::Text(text) = cell { Some(text.clone()) } else { None }
}

const fn number_of(cell: &Cell) -> i64 {
    if let Cell::Integer(number) = cell { *number } else { 0 }
}
