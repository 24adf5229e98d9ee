//! Tables: columns lined up by how wide characters are on a terminal, cut to its width only where there is one. The first
//! column is what people copy, a name most often, and is never cut. Where a terminal is too narrow for the columns, every row is a
//! block of lines.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr as _;

use super::style::{Color, Line, Style, paint};

/// Between two columns.
const GAP: &str = "  ";

/// A column is not cut below this.
const MIN_COLUMN: usize = 8;

/// Bytes of a long table that are written at once.
const PORTION: usize = 64 * 1024;

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
        let heading = heading(&self.heading);
        let mut layout = Layout::new(&heading, width);
        self.rows.iter().for_each(|row| layout.measure(row));
        layout.fit();
        let mut rendered = String::new();
        if let Some(width) = layout.too_narrow() {
            self.rows.iter().for_each(|row| stack(&mut rendered, color, &self.heading, row, width));
            return rendered;
        }
        layout.write(&mut rendered, color, &heading);
        self.rows.iter().for_each(|row| layout.write(&mut rendered, color, row));
        rendered
    }
}

/// The lines of a table that is too long to be held: its rows are gone through twice, and `write` gets them in portions.
pub(crate) fn render_long<'a, const N: usize, R, E>(
    columns: [&'static str; N],
    rows: impl Fn() -> R,
    (color, width): (Color, Option<usize>),
    mut write: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E>
where
    R: Iterator<Item = [Line<Cow<'a, str>>; N]>,
{
    let heading = heading(&columns);
    let mut layout = Layout::new(&heading, width);
    rows().for_each(|row| layout.measure(&row));
    layout.fit();
    let mut portion = String::with_capacity(PORTION + PORTION / 8);
    layout.write(&mut portion, color, &heading);
    for row in rows() {
        layout.write(&mut portion, color, &row);
        if portion.len() >= PORTION {
            write(&portion)?;
            portion.clear();
        }
    }
    write(&portion)
}

/// How wide the columns are.
struct Layout {
    widths: Vec<usize>,
    /// The terminal's width. Without one nothing is cut, and nobody has to know how wide the last column is.
    limit: Option<usize>,
}

impl Layout {
    fn new(heading: &[Line], limit: Option<usize>) -> Self {
        Self { widths: heading.iter().map(Line::width).collect(), limit }
    }

    fn measure<T: AsRef<str>>(&mut self, row: &[Line<T>]) {
        let lined_up = self.lined_up();
        for (known, cell) in self.widths.iter_mut().zip(row).take(lined_up) {
            *known = (*known).max(cell.width());
        }
    }

    fn fit(&mut self) {
        if let Some(limit) = self.limit {
            shrink(&mut self.widths, limit);
        }
    }

    /// The terminal's width, where not even cut columns fit into it side by side.
    fn too_narrow(&self) -> Option<usize> {
        let total = self.widths.iter().sum::<usize>() + GAP.len() * self.widths.len().saturating_sub(1);
        // Two columns are a name and what belongs to it: below each other they are no easier to read.
        self.limit.filter(|limit| total > *limit && self.widths.len() > 2)
    }

    /// How many columns have a width that matters.
    fn lined_up(&self) -> usize {
        self.widths.len() - usize::from(self.limit.is_none())
    }

    fn write<T: AsRef<str>>(&self, rendered: &mut String, color: Color, row: &[Line<T>]) {
        let mut owed = 0;
        for (index, (cell, width)) in row.iter().zip(&self.widths).enumerate() {
            rendered.extend(std::iter::repeat_n(' ', owed));
            if index >= self.lined_up() {
                cell.render_into(rendered, color);
                break;
            }
            let used = cut(rendered, color, cell, *width);
            // Blanks are written only when something follows them.
            owed = width.saturating_sub(used) + GAP.len();
        }
        rendered.push('\n');
    }
}

/// A row as a block: its first cell, then a line for each of the others that says something, under the heading's name.
fn stack<T: AsRef<str>>(rendered: &mut String, color: Color, heading: &[&str], row: &[Line<T>], width: usize) {
    let Some((first, rest)) = row.split_first() else { return };
    first.render_into(rendered, color);
    rendered.push('\n');
    let label_width = heading.iter().skip(1).map(|title| title.width()).max().unwrap_or_default();
    for (title, cell) in heading.iter().skip(1).zip(rest) {
        let is_empty = cell.pieces().all(|(_, text)| matches!(text.trim(), "" | "-"));
        if is_empty {
            continue;
        }
        let label = format!("{GAP}{title:label_width$}{GAP}");
        paint(rendered, color, Style::Dim, &label);
        cut(rendered, color, cell, width.saturating_sub(label.width()).max(MIN_COLUMN));
        rendered.push('\n');
    }
}

fn heading(columns: &[&'static str]) -> Vec<Line> {
    columns.iter().map(|title| Line::styled(Style::Heading, *title)).collect()
}

/// Takes from the widest column but the first until the line fits, or no column can give any more.
fn shrink(widths: &mut [usize], width: usize) {
    let Some((first, widths)) = widths.split_first_mut() else { return };
    let width = width.saturating_sub(*first + GAP.len());
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
pub(crate) fn cut<T: AsRef<str>>(row: &mut String, color: Color, cell: &Line<T>, width: usize) -> usize {
    let whole = cell.width();
    if whole <= width {
        cell.render_into(row, color);
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
