//! The whole table of risks.

use super::*;

#[test]
fn claims_raise_and_lower_only_when_trusted() {
    let named = [
        ("nothing", Claims::default()),
        ("reads", Claims { read_only: Some(true), ..Claims::default() }),
        ("reads outside", Claims { read_only: Some(true), open_world: Some(true), ..Claims::default() }),
        ("writes", Claims { read_only: Some(false), ..Claims::default() }),
        ("writes gently", Claims { read_only: Some(false), destructive: Some(false), ..Claims::default() }),
        (
            "writes outside",
            Claims { read_only: Some(false), destructive: Some(false), open_world: Some(true), ..Claims::default() },
        ),
        ("destroys", Claims { destructive: Some(true), ..Claims::default() }),
        ("reads and destroys", Claims { read_only: Some(true), destructive: Some(true), ..Claims::default() }),
        ("idempotent", Claims { idempotent: Some(true), ..Claims::default() }),
    ];
    let mut table = String::from("claims | unlisted, listed as reading, as writing | the same, trusted\n");
    for (words, claims) in named {
        let row = |trusted| {
            [Listing::None, Listing::Reading, Listing::Writing]
                .map(|listing| assess(CallKind::Tool, listing, claims, trusted).to_string())
                .join(" ")
        };
        table.push_str(&format!("{words} | {} | {}\n", row(false), row(true)));
    }
    insta::assert_snapshot!(table, @"
    claims | unlisted, listed as reading, as writing | the same, trusted
    nothing | high low medium | high low medium
    reads | high low medium | low low low
    reads outside | high medium medium | medium medium medium
    writes | high high high | high high high
    writes gently | high medium medium | medium medium medium
    writes outside | high high high | high high high
    destroys | high high high | high high high
    reads and destroys | high high high | high high high
    idempotent | high low medium | high low medium
    ");
    assert_eq!(assess(CallKind::Resource, Listing::None, Claims::default(), false), Risk::Low);
    assert_eq!(assess(CallKind::Prompt, Listing::None, Claims::default(), false), Risk::Low);
}
