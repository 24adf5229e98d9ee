//! Owns the difference between two texts: by lines, with a few lines around, bounded for texts of any size.

use crate::view::{Diff, DiffKind, DiffLine};

/// Lines shown before and after each change.
const AROUND: usize = 3;
/// Lines of one difference that are shown.
const MAX_LINES: usize = 400;
/// Pairs of lines that are compared; beyond that everything between is replaced as a whole.
const MAX_PAIRS: usize = 1_000_000;

/// What has to be taken away from one text and put in to get another.
#[must_use]
pub fn line_diff(old: &str, new: &str) -> Diff {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let tail = |lines: &[&str]| lines.iter().skip(start).rev().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let end = tail(&old).iter().zip(&tail(&new)).take_while(|(one, other)| one == other).count();
    let middle = |lines: &[&str]| -> Vec<String> {
        lines.iter().take(lines.len() - end).skip(start).map(|line| (*line).to_owned()).collect()
    };
    let mut all: Vec<(DiffKind, String)> =
        old.iter().take(start).map(|line| (DiffKind::Same, (*line).to_owned())).collect();
    changed(&middle(&old), &middle(&new), &mut all);
    all.extend(old.iter().skip(old.len() - end).map(|line| (DiffKind::Same, (*line).to_owned())));
    Diff { lines: shown(all) }
}

/// The lines between the first and the last that differ, by their longest common sequence.
fn changed(old: &[String], new: &[String], all: &mut Vec<(DiffKind, String)>) {
    if old.len().saturating_mul(new.len()) > MAX_PAIRS {
        all.extend(old.iter().map(|line| (DiffKind::Removed, line.clone())));
        all.extend(new.iter().map(|line| (DiffKind::Added, line.clone())));
        return;
    }
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    let at = |common: &[u32], row: usize, column: usize| common.get(row * width + column).copied().unwrap_or(0);
    for (row, one) in old.iter().enumerate().rev() {
        for (column, other) in new.iter().enumerate().rev() {
            let length = if one == other {
                at(&common, row + 1, column + 1) + 1
            } else {
                at(&common, row + 1, column).max(at(&common, row, column + 1))
            };
            if let Some(cell) = common.get_mut(row * width + column) {
                *cell = length;
            }
        }
    }
    let (mut row, mut column) = (0, 0);
    loop {
        match (old.get(row), new.get(column)) {
            (Some(one), Some(other)) if one == other => {
                all.push((DiffKind::Same, one.clone()));
                row += 1;
                column += 1;
            }
            (Some(one), other) if other.is_none() || at(&common, row + 1, column) >= at(&common, row, column + 1) => {
                all.push((DiffKind::Removed, one.clone()));
                row += 1;
            }
            (_, Some(other)) => {
                all.push((DiffKind::Added, other.clone()));
                column += 1;
            }
            _ => break,
        }
    }
}

fn shown(all: Vec<(DiffKind, String)>) -> Vec<DiffLine> {
    let changes: Vec<usize> =
        all.iter().enumerate().filter(|(_, (kind, _))| *kind != DiffKind::Same).map(|(index, _)| index).collect();
    let is_near = |index: usize| {
        let after = changes.partition_point(|change| *change < index);
        let is_close = |change: Option<&usize>| change.is_some_and(|change| change.abs_diff(index) <= AROUND);
        is_close(changes.get(after)) || after.checked_sub(1).is_some_and(|before| is_close(changes.get(before)))
    };
    let skip = |count: usize| DiffLine { kind: DiffKind::Skipped, text: format!("{count} lines") };
    let mut lines = Vec::new();
    let mut skipped = 0;
    let total = all.len();
    for (index, (kind, text)) in all.into_iter().enumerate() {
        if lines.len() >= MAX_LINES {
            lines.push(skip(total - index));
            return lines;
        }
        if kind == DiffKind::Same && !is_near(index) {
            skipped += 1;
            continue;
        }
        if skipped > 0 {
            lines.push(skip(std::mem::take(&mut skipped)));
        }
        lines.push(DiffLine { kind, text });
    }
    if skipped > 0 && !lines.is_empty() {
        lines.push(skip(skipped));
    }
    lines
}

#[cfg(test)]
#[path = "line_diff_tests.rs"]
mod tests;
