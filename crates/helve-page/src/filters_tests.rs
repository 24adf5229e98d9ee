//! Numbers as they read.

use super::*;

#[test]
fn numbers_take_few_digits() {
    let counts: Vec<String> = [0, 9, 999, 1_000, 9_840, 20_900, 999_999, 1_000_000, u64::MAX]
        .map(|number| short(number, 1_000, &["", " k", " M", " G", " T"]))
        .to_vec();
    insta::assert_snapshot!(counts.join(" | "), @"0 | 9 | 999 | 1.0 k | 9.8 k | 20 k | 999 k | 1.0 M | 18446744 T");
    let times: Vec<String> = [0, 999, 1_240, 12_400, 1_240_000, 61_000_000].map(duration).to_vec();
    insta::assert_snapshot!(times.join(" | "), @"0 µs | 999 µs | 1.2 ms | 12 ms | 1.2 s | 1 min");
}

#[test]
fn names_stay_one_part_of_a_path() {
    insta::assert_snapshot!(path_segment("a/b ?#%ü.json"), @"a%2Fb%20%3F%23%25%C3%BC.json");
    assert_eq!(path_segment(".."), "%2E%2E");
}
