//! Edits of TOML, by way of `toml_edit`.

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::render::Written;
use super::{Action, Spot, Step};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The text after the action; `None` when its parts are not where they should be.
pub(super) fn apply(text: &str, spot: &Spot, action: &Action) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let (last, path) = spot.root.split_last()?;
    let is_first = at(document.as_table(), &spot.root).is_none();
    let removed = match action {
        Action::Remove => at(document.as_table(), &spot.root)
            .and_then(|servers| servers.get(&spot.name)?.as_table())
            .and_then(|table| Some((table.position()?, text_before(table)))),
        Action::Insert(_) | Action::Modify(_) => None,
    };
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
    match (action, removed) {
        (Action::Insert(_), _) if is_first => put_behind_comments(&mut document, spot),
        (Action::Remove, Some((position, before))) => {
            let is_at_the_top = text.trim_start_matches(BYTE_ORDER_MARK).starts_with(&format!("{before}["));
            let set_off = before.rsplit_once("\n\n").map(|(set_off, _)| set_off);
            let kept = set_off.or_else(|| is_at_the_top.then_some(before.as_str()));
            keep_comments(&mut document, position, kept.unwrap_or_default());
        }
        _ => {}
    }
    let edited = document.to_string();
    let edited = if text.starts_with('\n') { edited } else { edited.trim_start_matches('\n').to_owned() };
    // `toml_edit` writes line feeds only; a file from Windows keeps its line breaks.
    let edited = if text.contains("\r\n") { edited.replace("\r\n", "\n").replace('\n', "\r\n") } else { edited };
    let mark = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK } else { "" };
    Some(format!("{mark}{}", edited.trim_start_matches(BYTE_ORDER_MARK)))
}

fn at<'document>(root: &'document Table, path: &[String]) -> Option<&'document dyn TableLike> {
    path.iter().try_fold(root as &dyn TableLike, |table, key| table.get(key)?.as_table_like())
}

/// The file's first server goes to the end of the file, behind what people wrote there.
fn put_behind_comments(document: &mut DocumentMut, spot: &Spot) {
    let behind = document.trailing().as_str().unwrap_or_default().to_owned();
    if behind.trim().is_empty() {
        return;
    }
    let table = spot.root.iter().try_fold(document.as_item_mut(), |item, key| item.get_mut(key.as_str()));
    let Some(table) = table.and_then(|servers| servers.get_mut(&spot.name)).and_then(Item::as_table_mut) else {
        return;
    };
    table.decor_mut().set_prefix(format!("{behind}\n"));
    document.set_trailing("");
}

/// What stands in front of a removed table goes with it if it stands right above; what a blank line sets off stays,
/// and so does what opens the file, which may be about all of it.
fn keep_comments(document: &mut DocumentMut, position: isize, kept: &str) {
    let kept = kept.trim_end_matches('\n');
    if kept.trim().is_empty() {
        return;
    }
    match next_position(document.as_table(), position) {
        Some(next) => put_before(document.as_table_mut(), next, kept),
        None => {
            let trailing = format!("{kept}\n{}", document.trailing().as_str().unwrap_or_default());
            document.set_trailing(trailing);
        }
    }
}

fn text_before(table: &Table) -> String {
    table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned()
}

/// Where the next table behind `position` stands in the file.
fn next_position(table: &Table, position: isize) -> Option<isize> {
    let of = |table: &Table| {
        let own = table.position().filter(|own| *own > position);
        own.into_iter().chain(next_position(table, position)).min()
    };
    let of_item = |item: &Item| match item {
        Item::Table(inner) => of(inner),
        Item::ArrayOfTables(tables) => tables.iter().filter_map(of).min(),
        Item::Value(_) | Item::None => None,
    };
    table.iter().filter_map(|(_, item)| of_item(item)).min()
}

/// Puts comments in front of the table at `position`.
fn put_before(table: &mut Table, position: isize, comments: &str) {
    let mut visit = |inner: &mut Table| {
        if inner.position() == Some(position) {
            let prefix = format!("{comments}\n{}", text_before(inner));
            inner.decor_mut().set_prefix(prefix);
        } else {
            put_before(inner, position, comments);
        }
    };
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(inner) => visit(inner),
            Item::ArrayOfTables(tables) => tables.iter_mut().for_each(&mut visit),
            Item::Value(_) | Item::None => {}
        }
    }
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
