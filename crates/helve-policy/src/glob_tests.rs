//! Globs match names, not paths; what cannot be read fails closed; size is not a way around a rule.

use proptest::prelude::*;

use super::*;

fn matching(globs: &[&str], text: &str) -> Vec<String> {
    let mut builder = GlobsBuilder::default();
    let ids: Vec<GlobId> = globs.iter().map(|glob| builder.add(glob)).collect();
    let (built, _) = builder.build();
    let mut matched = Bits::default();
    built.matches(text, &mut matched);
    globs.iter().zip(ids).filter(|(_, id)| matched.contains(*id)).map(|(glob, _)| (*glob).to_owned()).collect()
}

#[test]
fn globs_match_whole_names() {
    let all =
        ["*", "get_*", "*_issue", "get_issue", "get", "g?t_issue", "{get,set}_issue", "[a-g]et_*", "*/x", "GET_*"];
    assert_eq!(
        matching(&all, "get_issue"),
        ["*", "get_*", "*_issue", "get_issue", "g?t_issue", "{get,set}_issue", "[a-g]et_*"]
    );
}

#[test]
fn names_that_look_like_paths_are_names() {
    assert_eq!(matching(&["*.", "*..", "a/*", "*", "a/..", "*.x"], "a/.."), ["*.", "*..", "a/*", "*", "a/.."]);
    assert_eq!(matching(&["*.x", "a*"], "a/b/.x"), ["*.x", "a*"]);
    assert_eq!(matching(&["a*c"], "a\n/c"), ["a*c"]);
    assert_eq!(matching(&["*"], ""), ["*"]);
}

#[test]
fn a_glob_matches_itself_and_its_escaped_form() {
    for text in ["get[x]", "a{b", "what?", "back\\slash", "*", "[", "{a,b}"] {
        assert_eq!(matching(&[text], text), [text]);
        let escaped = escape(text);
        assert_eq!(matching(&[&escaped], text), [escaped.as_str()]);
    }
    assert!(matching(&[&escape("get[x]")], "getx").is_empty());
}

#[test]
fn what_cannot_be_read_restricts_and_never_allows() {
    for broken in ["a[", "a{b", "a\\", &"*a".repeat(MAX_GLOB)] {
        let mut builder = GlobsBuilder::default();
        let id = builder.add(broken);
        let (globs, unreadable) = builder.build();
        assert_eq!(unreadable.len(), 1, "{broken}");
        assert!(globs.holds(id, &Bits::default(), Action::Deny));
        assert!(globs.holds(id, &Bits::default(), Action::Ask));
        assert!(!globs.holds(id, &Bits::default(), Action::Allow));
    }
}

#[test]
fn more_globs_than_one_set_can_hold() {
    let texts: Vec<String> = (0..2_000).map(|number| format!("?{number}{}*z", "[a-y]{b,c}".repeat(90))).collect();
    let mut builder = GlobsBuilder::default();
    let ids: Vec<GlobId> = texts.iter().map(|text| builder.add(text)).collect();
    let (globs, unreadable) = builder.build();
    assert_eq!(unreadable, vec![]);
    assert!(globs.sets.len() > 1, "the test no longer reaches the limit");
    let mut matched = Bits::default();
    globs.matches(&format!("x7{}z", "ab".repeat(90)), &mut matched);
    let found: Vec<&GlobId> = ids.iter().filter(|id| matched.contains(**id)).collect();
    assert_eq!(found, [&ids[7]]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    /// The set finds what each glob alone finds, hostile names and all.
    #[test]
    fn a_set_agrees_with_its_globs(
        globs in proptest::collection::vec("[ab./*?]{1,6}|[ab.*]{0,3}\\{a,b\\}[ab.*]{0,2}|\\*\\*/[ab.]{0,3}", 1..6),
        text in "[ab./]{0,8}",
    ) {
        let globs: Vec<&str> = globs.iter().map(String::as_str).collect();
        let together = matching(&globs, &text);
        let alone: Vec<String> = globs
            .iter()
            .filter(|glob| {
                let alone = compile(glob).unwrap().compile_matcher();
                **glob == text || alone.is_match(format!("{text}{END}")) || matches!(**glob, "*" | "**")
            })
            .map(|glob| (*glob).to_owned())
            .collect();
        prop_assert_eq!(together, alone);
    }

    #[test]
    fn an_escaped_text_matches_only_itself(text in any::<String>(), other in any::<String>()) {
        let escaped = escape(&text);
        prop_assume!(escaped.len() <= MAX_GLOB);
        prop_assert!(!matching(&[&escaped], &text).is_empty());
        prop_assert_eq!(!matching(&[&escaped], &other).is_empty(), other == text || other == escaped);
    }
}
