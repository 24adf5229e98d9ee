//! Rows as a person reads them.

use super::value::Cell;
use crate::words::printable;

/// Columns are padded to the width of their longest value, up to this.
const MAX_PADDING: usize = 32;

/// Rows as aligned text; every value whole, on the line of its row.
pub(super) fn render(columns: &[String], rows: &[Vec<Cell>]) -> String {
    let header: Vec<String> = columns.iter().map(|column| printable(column)).collect();
    let cells: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(shown).collect()).collect();
    let widths: Vec<usize> = header
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let in_rows = cells.iter().filter_map(|row| row.get(index)).map(|cell| cell.chars().count());
            in_rows.chain([name.chars().count()]).max().unwrap_or_default().min(MAX_PADDING)
        })
        .collect();
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    let mut lines = vec![line(&header, &widths), rule.join("-|-")];
    lines.extend(cells.iter().map(|row| line(row, &widths)));
    lines.join("\n")
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let padded: Vec<String> =
        cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}", width = *width)).collect();
    padded.join(" | ").trim_end().to_owned()
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Integer(integer) => integer.to_string(),
        Cell::Real(real) => format!("{real:?}"),
        Cell::Text(text) => printable(text),
        Cell::Blob { base64 } => format!("base64:{base64}"),
    }
}
