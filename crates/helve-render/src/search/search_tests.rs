//! What is found, in which order, and what is said of words that nobody has.

use proptest::prelude::*;

use super::*;
use crate::tool_text::ToolText;

const ANY: &str = r#"{"type": "object"}"#;

fn tool<'a>(name: &'a str, description: &'a str) -> ToolText<'a> {
    ToolText { description: Some(description), ..ToolText::new(name, ANY) }
}

fn example() -> SearchIndex {
    let weather = r#"{"type": "object", "properties": {"unit": {"enum": ["celsius", "kelvin"]},
        "cityName": {"type": "string", "description": "Where, as a municipality"}}}"#;
    let github = [
        tool("create_issue", "Create a new issue in a GitHub repository"),
        tool("get_issue", "Read one issue"),
        tool("list_pull_requests", "List pull requests of a repository"),
        tool("delete_file", "Delete a file\n\nNothing is kept of it, not even in the graveyard."),
    ];
    let others = [
        ToolText { description: Some("The weather"), title: Some("Barometer"), ..ToolText::new("now", weather) },
        tool("fileSystemInfo", "What the disk holds"),
        tool("issue", "Stamps and coins"),
    ];
    SearchIndex::new([Arc::new(ServerIndex::new("github", github)), Arc::new(ServerIndex::new("my-tools", others))])
}

/// The names found, how many there are in all, and the words that were not.
fn check(query: &SearchQuery<'_>) -> String {
    let names = [
        ["create_issue", "get_issue", "list_pull_requests", "delete_file"].as_slice(),
        &["now", "fileSystemInfo", "issue"],
    ];
    let result = example().search(query);
    let shown: Vec<&str> = result.tools.iter().map(|place| names[place.server][place.tool]).collect();
    format!("{} of {}: {} | {}", shown.len(), result.found, shown.join(" "), result.unmatched.join(" "))
}

fn words(text: &str) -> String {
    check(&SearchQuery::new(&[text], 2))
}

#[test]
fn every_field_is_searched() {
    insta::assert_snapshot!(words("github"), @"2 of 4: create_issue get_issue |");
    insta::assert_snapshot!(words("barometer"), @"1 of 1: now |");
    insta::assert_snapshot!(words("graveyard"), @"1 of 1: delete_file |");
    insta::assert_snapshot!(words("city name"), @"1 of 1: now |");
    insta::assert_snapshot!(words("municipalities"), @"1 of 1: now |");
    insta::assert_snapshot!(words("kelvin"), @"1 of 1: now |");
}

#[test]
fn words_are_cut_joined_and_stripped_of_their_ending() {
    insta::assert_snapshot!(words("creating issues"), @"2 of 3: create_issue get_issue |");
    insta::assert_snapshot!(words("filesystem"), @"1 of 1: fileSystemInfo |");
    insta::assert_snapshot!(words("file system info"), @"2 of 3: fileSystemInfo delete_file |");
    insta::assert_snapshot!(words("graveyar"), @"1 of 1: delete_file |");
}

#[test]
fn a_name_is_first_however_it_is_written() {
    insta::assert_snapshot!(words("issue"), @"2 of 3: issue get_issue |");
    for spelling in
        ["get_issue", "getIssue", "github/get_issue", "mcp__github__get_issue", "device.GithubMCP.get_issue"]
    {
        assert!(words(spelling).contains(": get_issue "), "{spelling}: {}", words(spelling));
    }
}

#[test]
fn synonyms_find_and_unknown_words_are_named() {
    insta::assert_snapshot!(words("remove a document"), @"2 of 2: delete_file fileSystemInfo |");
    insta::assert_snapshot!(words("open a ticket about quux"), @"2 of 3: create_issue get_issue | quux");
    insta::assert_snapshot!(words("quux Frobnicate"), @"0 of 0:  | quux frobnicate");
    insta::assert_snapshot!(words("PR"), @"1 of 1: list_pull_requests |");
}

#[test]
fn a_verb_may_stand_apart_from_its_particle() {
    for query in ["throw away", "throw it away", "throw all of the old ones away"] {
        assert!(words(query).contains(": delete_file "), "{query}: {}", words(query));
    }
}

#[test]
fn several_queries_give_one_list() {
    let texts = ["kelvin", "delete file", "kelvin weather"];
    insta::assert_snapshot!(check(&SearchQuery::new(&texts, 5)), @"4 of 4: now delete_file fileSystemInfo create_issue |");
}

#[test]
fn no_words_give_everything_in_order() {
    insta::assert_snapshot!(words(""), @"2 of 7: create_issue get_issue |");
    insta::assert_snapshot!(words(" - "), @"2 of 7: create_issue get_issue |");
    insta::assert_snapshot!(check(&SearchQuery::new(&[], 9)), @"7 of 7: create_issue get_issue list_pull_requests delete_file now fileSystemInfo issue |");
}

#[test]
fn what_is_not_seen_is_not_counted() {
    let of_server = |server| SearchQuery { server: Some(server), ..SearchQuery::new(&["issue"], 5) };
    insta::assert_snapshot!(check(&of_server("my-tools")), @"1 of 1: issue |");
    insta::assert_snapshot!(check(&of_server("absent")), @"0 of 0:  | issue");
    let sees = |place: ToolPlace| place.tool != 0;
    let seeing = |texts| SearchQuery { is_seen: Some(&sees), ..SearchQuery::new(texts, 5) };
    insta::assert_snapshot!(check(&seeing(&["issue"])), @"2 of 2: issue get_issue |");
    insta::assert_snapshot!(check(&seeing(&["barometer"])), @"0 of 0:  | barometer");
}

#[test]
fn a_part_does_not_depend_on_the_others() {
    let [github, _] = example().servers.try_into().unwrap();
    let alone = SearchIndex::new([Arc::clone(&github)]);
    let found = alone.search(&SearchQuery::new(&["issue"], 9));
    assert_eq!((found.found, alone.len(), github.len()), (2, 4, 4));
}

proptest! {
    /// Whatever servers and people write: nothing breaks, nothing is found twice, and the same is found again.
    #[test]
    fn any_text_can_be_indexed_and_searched(name in ".{0,40}", text in ".{0,200}", schema in ".{0,80}", query in ".{0,60}") {
        let tool = ToolText { description: Some(&text), ..ToolText::new(&name, &schema) };
        let index = SearchIndex::new([Arc::new(ServerIndex::new(&name, [tool, tool]))]);
        let found = index.search(&SearchQuery::new(&[&query, &name], 9));
        prop_assert!(found.tools.len() <= 2 && found.found == found.tools.len());
        prop_assert_eq!(&found, &index.search(&SearchQuery::new(&[&query, &name], 9)));
    }
}
