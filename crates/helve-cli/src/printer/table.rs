//! Tables: columns lined up by how wide characters are on a terminal, cut to its width only where there is one.

use unicode_width::UnicodeWidthStr as _;

use super::style::{Color, Line, Style, paint};

/// Between two columns.
const GAP: &str = "  ";

/// A column is not cut below this; the line runs over instead.
const MIN_COLUMN: usize = 8;

/// Rows under a heading.
#[derive(Debug)]
pub(crate) struct Table {
    heading: Vec<&'static str>,
    rows: Vec<Vec<Line>>,
}

impl Table {
    pub(crate) fn new(heading: impl Into<Vec<&'static str>>) -> Self {
        Self { heading: heading.into(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl Into<Vec<Line>>) {
        self.rows.push(cells.into());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines of the table. `width` is the terminal's; the widest columns give way first.
    pub(crate) fn render(&self, color: Color, width: Option<usize>) -> String {
        let heading: Vec<Line> = self.heading.iter().map(|title| Line::styled(Style::Heading, *title)).collect();
        let lines: Vec<&Vec<Line>> = std::iter::once(&heading).chain(&self.rows).collect();
        let mut widths = vec![0; self.heading.len()];
        for line in &lines {
            for (column, cell) in line.iter().enumerate() {
                if let Some(known) = widths.get_mut(column) {
                    *known = (*known).max(cell.text().width());
                }
            }
        }
        if let Some(width) = width {
            shrink(&mut widths, width);
        }
        let mut rendered = String::new();
        for line in lines {
            let mut row = String::new();
            let mut owed = 0;
            for (cell, width) in line.iter().zip(&widths) {
                row.push_str(&" ".repeat(owed));
                let used = cut(&mut row, color, cell, *width);
                // Blanks are written only when something follows them.
                owed = width.saturating_sub(used) + GAP.len();
            }
            rendered.push_str(&row);
            rendered.push('\n');
        }
        rendered
    }
}

/// Takes from the widest column until the line fits, or no column can give any more.
fn shrink(widths: &mut [usize], width: usize) {
    loop {
        let total = widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1);
        let Some(excess) = total.checked_sub(width).filter(|excess| *excess > 0) else { return };
        let Some(widest) = widths.iter_mut().max_by_key(|width| **width) else { return };
        if *widest <= MIN_COLUMN {
            return;
        }
        *widest = widest.saturating_sub(excess).max(MIN_COLUMN).max(*widest / 2);
    }
}

/// Adds a cell of at most `width` columns, with an ellipsis where it was cut; gives how wide it became.
fn cut(row: &mut String, color: Color, cell: &Line, width: usize) -> usize {
    let whole = cell.text().width();
    if whole <= width {
        row.push_str(&cell.render(color));
        return whole;
    }
    let mut left = width.saturating_sub(1);
    for (style, text) in cell.pieces() {
        let kept = prefix(&text, left);
        paint(row, color, style, kept);
        left -= kept.width();
        if kept.len() < text.len() {
            break;
        }
    }
    row.push('…');
    width - left
}

/// The longest beginning of `text` that is no wider than `width`.
fn prefix(text: &str, width: usize) -> &str {
    let mut end = 0;
    for (index, character) in text.char_indices() {
        let next = index + character.len_utf8();
        match text.get(..next) {
            Some(kept) if kept.width() <= width => end = next,
            _ => break,
        }
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
