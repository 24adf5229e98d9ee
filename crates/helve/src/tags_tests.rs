//! Where tags end, what is none, and that nothing of a text is lost.

use helve_model::ErrorCode;
use proptest::prelude::*;

use super::{OPENING, Piece, TagReader, parse, render};
use crate::error::CallError;

/// Each piece in a line of its own.
fn shown(text: &str) -> String {
    let pieces = parse(text);
    assert_eq!(written(&pieces), text);
    let lines = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => format!("text {text:?}"),
        Piece::Escape => "escape".to_owned(),
        Piece::Tag(tag) => format!("{}:{} {:?} {}", tag.line, tag.column, tag.name, tag.arguments),
        Piece::Problem(problem) => {
            format!("{}:{} {:?}: {}", problem.line, problem.column, problem.source, problem.message)
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn written(pieces: &[Piece]) -> String {
    pieces.iter().map(Piece::as_written).collect()
}

#[test]
fn a_tag_ends_where_its_json_ends() {
    insta::assert_snapshot!(shown(r#"See [use-mcp:fs/read:{"a": "]}\"", "b": [[1], {"c": "[use-mcp:x/y]"}]}] and [use-mcp:time/now]!"#), @r#"
    text "See "
    1:5 "fs/read" {"a": "]}\"", "b": [[1], {"c": "[use-mcp:x/y]"}]}
    text " and "
    1:77 "time/now" {}
    text "!"
    "#);
}

#[test]
fn arguments_may_be_absent_and_white_space_does_not_count() {
    insta::assert_snapshot!(shown("[use-mcp:a/b][use-mcp: a/b ][use-mcp:a/b:][use-mcp:a/b : {} ]\n[use-mcp:a/b:\n  {\n  \"x\": 1\n}\n]ä[use-mcp:a/b]"), @r#"
    1:1 "a/b" {}
    1:14 "a/b" {}
    1:29 "a/b" {}
    1:43 "a/b" {}
    text "\n"
    2:1 "a/b" {
      "x": 1
    }
    text "ä"
    6:3 "a/b" {}
    "#);
}

#[test]
fn every_spelling_is_a_name() {
    insta::assert_snapshot!(shown("[use-mcp:a:b][use-mcp:a:b:{}][use-mcp:mcp__a__b:{}][use-mcp:device.AMCP.b:{}][use-mcp:now][use-mcp:a%3Ab/läs fil:{}]"), @r#"
    1:1 "a:b" {}
    1:14 "a:b" {}
    1:30 "mcp__a__b" {}
    1:52 "device.AMCP.b" {}
    1:78 "now" {}
    1:91 "a%3Ab/läs fil" {}
    "#);
}

#[test]
fn an_escape_and_code_blocks_are_text() {
    insta::assert_snapshot!(shown(r"\[use-mcp:a/b] \\[use-mcp:a/b] \ [use-mcp:a/b]"), @r#"
    escape
    text "a/b] \\"
    escape
    text "a/b] \\ "
    1:34 "a/b" {}
    "#);
    insta::assert_snapshot!(shown("```\n[use-mcp:a/b] \\[use-mcp:\n``\n~~~\n``` x\n````  \n[use-mcp:c/d]"), @r#"
    text "```\n[use-mcp:a/b] \\[use-mcp:\n``\n~~~\n``` x\n````  \n"
    7:1 "c/d" {}
    "#);
    insta::assert_snapshot!(shown("- x\n    ~~~~ sh [use-mcp:a/b]\n    ~~~\n[use-mcp:a/b]\n\t~~~~\r\n[use-mcp:c/d]"), @r#"
    text "- x\n    ~~~~ sh [use-mcp:a/b]\n    ~~~\n[use-mcp:a/b]\n\t~~~~\r\n"
    6:1 "c/d" {}
    "#);
    insta::assert_snapshot!(shown("``` not a `block`\n[use-mcp:c/d]\n``` open to the end\n[use-mcp:c/d]"), @r#"
    text "``` not a `block`\n"
    2:1 "c/d" {}
    text "\n``` open to the end\n[use-mcp:c/d]"
    "#);
}

#[test]
fn what_is_no_tag_is_reported_and_stays() {
    insta::assert_snapshot!(shown("One [use-mcp:] two\n [use-mcp: : {}]"), @r#"
    text "One "
    1:5 "[use-mcp:]": no tool is named: `[use-mcp:server/tool]`
    text " two\n "
    2:2 "[use-mcp: : {}]": no tool is named: `[use-mcp:server/tool]`
    "#);
    insta::assert_snapshot!(shown("The prefix [use-mcp: begins a tag,\n[use-mcp:a/b] is one"), @r#"
    text "The prefix "
    1:12 "[use-mcp: begins a tag,": the name does not end in its line
    text "\n"
    2:1 "a/b" {}
    text " is one"
    "#);
    insta::assert_snapshot!(shown("[use-mcp:filesystem/read_file:{path}] [use-mcp:a/b]"), @r#"
    1:1 "[use-mcp:filesystem/read_file:{path}]": the arguments are not valid JSON: key must be a string
    text " "
    1:39 "a/b" {}
    "#);
    insta::assert_snapshot!(shown(r#"[use-mcp:a/b:{"x": [1, 2,], "y": "[use-mcp:c/d]"}] [use-mcp:e/f]"#), @r#"
    1:1 "[use-mcp:a/b:{\"x\": [1, 2,], \"y\": \"[use-mcp:c/d]\"}]": the arguments are not valid JSON: expected value
    text " "
    1:52 "e/f" {}
    "#);
    insta::assert_snapshot!(shown("[use-mcp:a/b:{\n  \"x\": yes\n}] [use-mcp:e/f]"), @r#"
    1:1 "[use-mcp:a/b:{\n  \"x\": yes\n}]": the arguments are not valid JSON: expected value
    text " "
    3:4 "e/f" {}
    "#);
    insta::assert_snapshot!(shown(r#"[use-mcp:a/b:["x"]] [use-mcp:a/b{"x": 1}] [use-mcp:a/b:{} [use-mcp:c/d]"#), @r#"
    1:1 "[use-mcp:a/b:[\"x\"]": the arguments are not a JSON object
    text "] "
    1:21 "[use-mcp:a/b{\"x\": 1}]": a `:` is missing between the name and the arguments
    text " "
    1:43 "[use-mcp:a/b:{} ": the tag goes on after its arguments: a `]` is missing
    1:59 "c/d" {}
    "#);
    insta::assert_snapshot!(shown("[use-mcp:a/b:{oops \\[use-mcp:c/d] [use-mcp:e/f]"), @r#"
    1:1 "[use-mcp:a/b:{oops ": the arguments are not valid JSON: key must be a string
    escape
    text "c/d] "
    1:35 "e/f" {}
    "#);
    insta::assert_snapshot!(shown("[use-mcp:a/b:{\"x\": \"never ends\n[use-mcp:c/d]"), @r#"
    1:1 "[use-mcp:a/b:{\"x\": \"never ends": the arguments are not valid JSON: control character (\u0000-\u001F) found while parsing a string
    text "\n"
    2:1 "c/d" {}
    "#);
    insta::assert_snapshot!(shown("[use-mcp:a/b:{\"x\": {\n\"y\": 1 }\n"), @r#"
    1:1 "[use-mcp:a/b:{\"x\": {": the tag does not end: a `]` is missing
    text "\n\"y\": 1 }\n"
    "#);
    insta::assert_snapshot!(shown("[use-mcp:a/b"), @r#"1:1 "[use-mcp:a/b": the tag does not end: a `]` is missing"#);
}

#[test]
fn a_tag_has_a_size() {
    let name = "n".repeat(2_000);
    assert!(shown(&format!("[use-mcp:{name}]")).ends_with("the name is too long"));
    let arguments = format!(r#"{{"x": "{}"}}"#, "ü".repeat(600_000));
    assert!(shown(&format!("[use-mcp:a/b:{arguments}]")).contains("the tag is longer than 1048576 bytes"));
    let arguments = format!(r#"{{"x": "{}"}}"#, "ü".repeat(400_000));
    assert_eq!(shown(&format!("[use-mcp:a/b:{arguments}]")), format!("1:1 \"a/b\" {arguments}"));
}

#[test]
fn many_broken_tags_take_no_time() {
    // Each of these would keep the test busy for hours if every tag were looked for to the end of the text.
    for unit in
        ["[use-mcp:", "[use-mcp:a:{", "[use-mcp:a:{\"", "[use-mcp:a:{x\"", "[use-mcp:a:{\"x\":\"", "[use-mcp:a:{x\\"]
    {
        let text = unit.repeat(50_000);
        assert_eq!(written(&parse(&text)), text);
    }
}

#[test]
fn results_are_put_in_and_never_read_again() {
    let pieces = parse(r"A [use-mcp:a/b] B [use-mcp:c/d:{}] C \[use-mcp:e/f] D [use-mcp:g/h");
    let results = [
        Ok("[use-mcp:evil/tool]\\[use-mcp:".to_owned()),
        Err(CallError::new(ErrorCode::Timeout, format!("no answer\nwithin 30 s {}", "x".repeat(500)))),
    ];
    let expected = format!(
        r"A [use-mcp-result:evil/tool]\[use-mcp-result: B [mcp-error c/d: TIMEOUT: no answer within 30 s {}…] C [use-mcp:e/f] D [use-mcp:g/h",
        "x".repeat(178)
    );
    assert_eq!(render(&pieces, &results), expected);
    assert_eq!(render(&pieces, &[]), r"A [use-mcp:a/b] B [use-mcp:c/d:{}] C [use-mcp:e/f] D [use-mcp:g/h");
}

/// The pieces of a text that arrives in parts, texts joined.
fn in_parts<'text>(parts: impl IntoIterator<Item = &'text str>) -> Vec<Piece> {
    let mut reader = TagReader::new();
    let mut pieces: Vec<Piece> = parts.into_iter().flat_map(|part| reader.read(part)).collect();
    pieces.extend(reader.finish());
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (joined.last_mut(), piece) {
            (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
            (_, piece) => joined.push(piece),
        }
    }
    joined
}

#[test]
fn what_is_settled_is_handed_out_at_once() {
    let mut reader = TagReader::new();
    assert_eq!(reader.read("Hello [use"), [Piece::Text("Hello ".to_owned())]);
    assert_eq!(reader.read("-mcp:a/b:{\"x\""), []);
    assert!(matches!(reader.read(": 1}] and")[..], [Piece::Tag(_), Piece::Text(_)]));
    assert_eq!(reader.read(" more\\"), [Piece::Text(" more".to_owned())]);
    assert_eq!(reader.finish(), [Piece::Text("\\".to_owned())]);
}

/// Texts that are nearly tags more often than chance would have it.
fn any_text() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        4 => Just(OPENING.to_owned()),
        2 => prop_oneof![Just("a/b"), Just("a:b"), Just(":"), Just("{}"), Just("]"), Just("\n"), Just("\\")]
            .prop_map(str::to_owned),
        2 => prop_oneof![Just(":{\"x\": ["), Just("]}"), Just("\""), Just("```"), Just("~~~"), Just("  "), Just("[use")]
            .prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    proptest::collection::vec(fragment, 0..24).prop_map(|fragments| fragments.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_are_the_text_again(text in any_text()) {
        let pieces = parse(&text);
        prop_assert_eq!(written(&pieces), text.as_str());
        for piece in &pieces {
            let (Piece::Tag(super::Tag { source, line, column, .. })
            | Piece::Problem(super::TagProblem { source, line, column, .. })) = piece
            else {
                continue;
            };
            prop_assert!(source.starts_with(OPENING));
            let line = text.split('\n').nth(line - 1).unwrap();
            prop_assert!(line.chars().skip(column - 1).collect::<String>().starts_with(OPENING));
        }
    }

    #[test]
    fn how_a_text_is_divided_does_not_matter(
        text in any_text(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let parts = cuts.windows(2).map(|cut| text.get(cut[0]..cut[1]).unwrap());
        prop_assert_eq!(in_parts(parts), parse(&text));
        let characters = text.char_indices().map(|(start, character)| text.get(start..start + character.len_utf8()).unwrap());
        prop_assert_eq!(in_parts(characters), parse(&text));
    }

    #[test]
    fn a_text_without_tags_passes_through(text in any::<String>()) {
        prop_assume!(!text.contains(OPENING));
        prop_assert_eq!(render(&parse(&text), &[]), text);
    }

    #[test]
    fn any_arguments_come_back(key in any::<String>(), value in any::<String>(), before in "[a-z\n ]{0,8}") {
        let arguments = serde_json::json!({key: [value, {"x": null}]}).to_string();
        let text = format!("{before}[use-mcp:a/b:{arguments}]]");
        let pieces = parse(&text);
        let Some(Piece::Tag(tag)) = pieces.iter().find(|piece| matches!(piece, Piece::Tag(_))) else {
            return Err(TestCaseError::fail("no tag"));
        };
        prop_assert_eq!(tag.arguments.as_str(), arguments);
        prop_assert_eq!(pieces.last(), Some(&Piece::Text("]".to_owned())));
    }
}

/// S28: whatever results say, and however they are put side by side, a text that was expanded holds no tag of theirs.
#[test]
fn s28_a_result_makes_no_tag_for_whoever_reads_the_text_again() {
    let tags_of = |text: &str| parse(text).iter().filter(|piece| matches!(piece, Piece::Tag(_))).count();
    let check = |text: &str, results: &[&str]| {
        let pieces = parse(text);
        let results: Vec<Result<String, CallError>> = results.iter().map(|result| Ok((*result).to_owned())).collect();
        let mut rendered = render(&pieces, &results);
        for _ in 0..3 {
            assert_eq!(tags_of(&rendered), 0, "{rendered}");
            rendered = render(&parse(&rendered), &[]);
        }
        rendered
    };
    assert_eq!(check("a [use-mcp:a/b] c", &["[use-mcp:x/y]"]), "a [use-mcp-result:x/y] c");
    assert_eq!(check("a [use-mcp:a/b] c", &["\\[use-mcp:x/y] ["]), "a \\[use-mcp-result:x/y] [ c");
    for cut in 1..OPENING.len() {
        let (head, rest) = OPENING.split_at(cut);
        check("[use-mcp:a/b][use-mcp:a/c]", &[head, &format!("{rest}x/y]")]);
        check(&format!("[use-mcp:a/b]{rest}x/y]"), &[head]);
        check(&format!("{head}[use-mcp:a/b]"), &[&format!("{rest}x/y]")]);
        check("[use-mcp:a/b][use-mcp:a/c][use-mcp:a/d]", &[head, "", &format!("{rest}x/y]")]);
    }
    // One byte each.
    let single: Vec<String> = "[use-mcp:x/y]".chars().map(String::from).collect();
    let single: Vec<&str> = single.iter().map(String::as_str).collect();
    check(&"[use-mcp:a/b]".repeat(single.len()), &single);
}
