//! Differences as they read, and that nothing gets lost.

use proptest::prelude::*;

use super::*;

fn read(diff: &Diff) -> String {
    let sign = |kind| match kind {
        DiffKind::Same => ' ',
        DiffKind::Removed => '-',
        DiffKind::Added => '+',
        DiffKind::Skipped => '@',
    };
    diff.lines.iter().map(|line| format!("{}{}\n", sign(line.kind), line.text)).collect()
}

#[test]
fn a_changed_line_with_those_around_it() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    insta::assert_snapshot!(read(&line_diff(old, &old.replace("6\n", "six\n"))), @r"
    @2 lines
     3
     4
     5
    -6
    +six
     7
     8
     9
    ");
    assert_eq!(line_diff(old, old), Diff::default());
}

proptest! {
    #[test]
    fn both_texts_can_be_read_from_it(old in "([ab]\n){0,6}", new in "([ab]\n){0,6}") {
        let diff = line_diff(&old, &new);
        prop_assume!(diff.lines.iter().all(|line| line.kind != DiffKind::Skipped));
        let side = |other: DiffKind| diff.lines.iter().filter(|line| line.kind != other).map(|line| format!("{}\n", line.text)).collect::<String>();
        if old != new {
            prop_assert_eq!(side(DiffKind::Added), old);
            prop_assert_eq!(side(DiffKind::Removed), new);
        }
    }
}
