//! Owns how results are laid out for people: plain columns, readable without colour.

use std::fmt::Write;

/// Lines up `rows` under `heading`; cells of the columns named in `right` are numbers and end at the same place.
#[must_use]
pub fn render(heading: &[&str], right: &[&str], rows: &[Vec<String>]) -> String {
    let heading: Vec<String> = heading.iter().map(ToString::to_string).collect();
    let widths: Vec<usize> = (0..heading.len())
        .map(|column| {
            let cells = std::iter::once(&heading).chain(rows).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in std::iter::once(&heading).chain(rows) {
        let mut line = String::new();
        for (column, width) in widths.iter().enumerate() {
            let cell = row.get(column).map_or("", String::as_str);
            let is_number = heading.get(column).is_some_and(|name| right.contains(&name.as_str()));
            let written = if is_number { write!(line, "{cell:>width$}  ") } else { write!(line, "{cell:<width$}  ") };
            debug_assert!(written.is_ok(), "writing to a string cannot fail");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_do_not_trail() {
        let rows = vec![
            vec!["echo".to_owned(), "9.5".to_owned(), "yes".to_owned()],
            vec!["größer".to_owned(), "120".to_owned(), String::new()],
        ];
        insta::assert_snapshot!(render(&["measure", "µs", "met"], &["µs"], &rows), @"
        measure   µs  met
        echo     9.5  yes
        größer   120
        ");
    }
}
