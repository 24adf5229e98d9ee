//! Edits of TOML, by way of `toml_edit`.

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::render::Written;
use super::{Action, Spot, Step};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The text after the action; `None` when its parts are not where they should be.
pub(super) fn apply(text: &str, spot: &Spot, action: &Action) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let (last, path) = spot.root.split_last()?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in path {
        table = table.entry(key).or_insert_with(implicit_table).as_table_like_mut()?;
    }
    match spot.name_key {
        None => {
            let servers = table.entry(last).or_insert_with(implicit_table).as_table_like_mut()?;
            by_name(servers, spot, action)?;
        }
        Some(name_key) => {
            let servers = table.entry(last).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
            by_position(servers, name_key, spot, action)?;
        }
    }
    let edited = document.to_string();
    // `toml_edit` writes line feeds only; a file from Windows keeps its line breaks.
    let edited = if text.contains("\r\n") { edited.replace("\r\n", "\n").replace('\n', "\r\n") } else { edited };
    let mark = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK } else { "" };
    Some(format!("{mark}{}", edited.trim_start_matches(BYTE_ORDER_MARK)))
}

/// A table that is not written by itself: `[servers.github]` needs no `[servers]`.
fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn by_name(servers: &mut dyn TableLike, spot: &Spot, action: &Action) -> Option<()> {
    match action {
        Action::Insert(keys) => {
            let mut table = Table::new();
            if servers.is_empty() {
                servers.insert(&spot.name, Item::Table(filled(table, keys)));
            } else {
                // A blank line sets a table off from the one before it.
                table.decor_mut().set_prefix("\n");
                servers.insert(&spot.name, Item::Table(filled(table, keys)));
            }
        }
        Action::Modify(steps) => modify(servers.get_mut(&spot.name)?.as_table_like_mut()?, steps),
        Action::Remove => {
            servers.remove(&spot.name)?;
        }
    }
    Some(())
}

fn by_position(servers: &mut Item, name_key: &str, spot: &Spot, action: &Action) -> Option<()> {
    let is_it = |table: &dyn TableLike| table.get(name_key).and_then(Item::as_str) == Some(spot.name.as_str());
    if let Some(tables) = servers.as_array_of_tables_mut() {
        if let Action::Insert(keys) = action {
            let mut table = Table::new();
            if !tables.is_empty() {
                table.decor_mut().set_prefix("\n");
            }
            tables.push(filled(table, keys));
            return Some(());
        }
        let index = (0..tables.len()).rev().find(|index| tables.get(*index).is_some_and(|table| is_it(table)))?;
        match action {
            Action::Modify(steps) => modify(tables.get_mut(index)?, steps),
            Action::Remove | Action::Insert(_) => {
                tables.remove(index);
            }
        }
        return Some(());
    }
    let array = servers.as_array_mut()?;
    if let Action::Insert(keys) = action {
        let table: InlineTable = keys.iter().map(|(key, written)| (key.as_str(), value(written))).collect();
        array.push(table);
        return Some(());
    }
    let index = (0..array.len())
        .rev()
        .find(|index| array.get(*index).and_then(Value::as_inline_table).is_some_and(|table| is_it(table)))?;
    match action {
        Action::Modify(steps) => modify(array.get_mut(index)?.as_inline_table_mut()?, steps),
        Action::Remove | Action::Insert(_) => {
            array.remove(index);
        }
    }
    Some(())
}

fn filled(mut table: Table, keys: &[(String, Written)]) -> Table {
    for (key, written) in keys {
        table.insert(key, Item::Value(value(written)));
    }
    table
}

fn modify(table: &mut dyn TableLike, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Set(key, written) => match table.get_mut(key).and_then(Item::as_value_mut) {
                // The comment behind a value stays where it is.
                Some(existing) => {
                    let decor = existing.decor().clone();
                    *existing = value(written);
                    *existing.decor_mut() = decor;
                }
                None => {
                    table.insert(key, Item::Value(value(written)));
                }
            },
            Step::Unset(key) => {
                table.remove(key);
            }
        }
    }
}

fn value(written: &Written) -> Value {
    match written {
        Written::Text(text) => text.as_str().into(),
        Written::Flag(flag) => (*flag).into(),
        Written::Integer(number) => (*number).into(),
        Written::Float(number) => (*number).into(),
        Written::List(texts) => Value::Array(texts.iter().map(String::as_str).collect::<Array>()),
        Written::Table(texts) => {
            Value::InlineTable(texts.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect::<InlineTable>())
        }
    }
}
