//! Challenges as servers write them, and as nobody should.

use proptest::prelude::*;

use super::*;

fn shown(header: &str) -> String {
    let challenge = Challenge::read(header);
    let or = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    format!(
        "{:?} {} {} {}",
        challenge.scheme,
        or(&challenge.resource_metadata),
        or(&challenge.scope),
        or(&challenge.error)
    )
}

#[test]
fn challenges_are_taken_apart() {
    let table = [
        ("", "Bearer - - -"),
        ("Bearer", "Bearer - - -"),
        ("bearer", "Bearer - - -"),
        ("Basic realm=\"x\"", "Bearer - - -"),
        ("Negotiate", "Bearer - - -"),
        ("Bearer scope=\"a b\"", "Bearer - a b -"),
        ("Bearer scope=a", "Bearer - a -"),
        ("Bearer scope=\"\"", "Bearer - - -"),
        ("Bearer SCOPE=\"a\"", "Bearer - a -"),
        ("Bearer realm=\"x\", scope=\"a\"", "Bearer - a -"),
        ("Bearer realm=\"x\",scope=\"a\"", "Bearer - a -"),
        ("Bearer realm=\"x\" , scope = \"a\"", "Bearer - a -"),
        ("Bearer realm=\"a, scope=b\", scope=\"c\"", "Bearer - c -"),
        ("Bearer realm=\"a\\\"b\", scope=\"c\"", "Bearer - c -"),
        ("Bearer resource_metadata=\"https://x/y\"", "Bearer https://x/y - -"),
        ("Bearer resource_metadata=https://x/y", "Bearer https://x/y - -"),
        ("Bearer error=\"invalid_token\", resource_metadata=\"https://x/\"", "Bearer https://x/ - invalid_token"),
        ("Bearer error=\"insufficient_scope\", scope=\"w\"", "Bearer - w insufficient_scope"),
        ("Basic realm=\"x\", Bearer scope=\"a\"", "Bearer - a -"),
        ("Basic, Bearer scope=\"a\"", "Bearer - a -"),
        ("Negotiate dGVzdA==, Bearer scope=\"a\"", "Bearer - a -"),
        ("DPoP scope=\"a\"", "Dpop - a -"),
        ("DPoP algs=\"ES256\", error=\"use_dpop_nonce\"", "Dpop - - use_dpop_nonce"),
        ("Bearer scope=\"a\", DPoP scope=\"b\"", "Bearer - a -"),
        ("DPoP scope=\"b\", Bearer scope=\"a\"", "Bearer - a -"),
        (", ,Bearer scope=\"a\"", "Bearer - a -"),
        ("Bearer scope=\"a", "Bearer - a -"),
        // What follows a character that cannot stand there is not taken for the challenge before it.
        ("Bearer =\"a\", scope=\"b\"", "Bearer - - -"),
        ("Bearer \u{fc}=\"a\", scope=\"b\"", "Bearer - - -"),
        ("scope=\"a\"", "Bearer - - -"),
    ];
    for (header, expected) in table {
        assert_eq!(shown(header), expected, "{header}");
    }
}

#[test]
fn only_missing_scopes_call_for_more() {
    assert!(Challenge::read("Bearer error=\"insufficient_scope\"").wants_more_scopes());
    assert!(!Challenge::read("Bearer error=\"invalid_token\"").wants_more_scopes());
    assert!(!Challenge::read("Bearer").wants_more_scopes());
}

#[test]
fn a_flood_of_challenges_is_cut() {
    let header = "Basic, ".repeat(100_000) + "Bearer scope=\"a\"";
    assert_eq!(Challenge::read(&header), Challenge::default());
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(header in ".{0,200}") {
        drop(Challenge::read(&header));
    }

    #[test]
    fn a_quoted_scope_is_read_back(scope in "[a-z:/ .]{1,20}", before in "[A-Za-z]{1,8}") {
        prop_assume!(!scope.trim().is_empty());
        let header = format!("{before} realm=\"x\", Bearer scope=\"{scope}\"");
        let read = Challenge::read(&header);
        prop_assert_eq!(read.scope.as_deref(), Some(scope.as_str()));
    }
}
