//! Numbers as they read.

use super::*;

#[test]
fn numbers_take_few_digits() {
    let counts: Vec<String> = [0, 9, 999, 1_000, 9_840, 20_900, 999_999, 1_000_000, u64::MAX]
        .map(|number| short(number, 1_000, &["", " k", " M", " G", " T"]))
        .to_vec();
    insta::assert_snapshot!(counts.join(" | "), @"");
    let times: Vec<String> = [0, 999, 1_240, 12_400, 1_240_000, 61_000_000].map(duration).to_vec();
    insta::assert_snapshot!(times.join(" | "), @"");
}

#[test]
fn names_stay_one_part_of_a_path() {
    insta::assert_snapshot!(path_segment("a/b ?#%ü.json"), @"");
    assert_eq!(path_segment(".."), "%2E%2E");
}
