//! How often a right tool is among the first five: for keywords, and for requests that share few words with the tool.

use std::fmt::Write as _;

use helve_render::{SearchIndex, SearchQuery};

use crate::definitions::{Server, index, recorded};

/// How many tools a searcher looks at.
const LOOKED_AT: usize = 5;

const PARAPHRASES: &str = include_str!("../search/paraphrases.txt");
const KEYWORDS: &str = include_str!("../search/keywords.txt");

/// The share of queries that have a right tool among the first, and the others with what they got.
fn found(servers: &[Server], index: &SearchIndex, set: &str) -> (f64, String) {
    let lines: Vec<&str> = set.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len() >= 100, "a set has a hundred queries or more");
    let mut missed = String::new();
    let mut hits = 0;
    for line in &lines {
        let (query, wanted) = line.split_once('\t').unwrap();
        let name = |server: &Server, tool: usize| format!("{}/{}", server.name, server.tools[tool].name());
        for wanted in wanted.split(' ') {
            let is_known = |server: &Server| (0..server.tools.len()).any(|tool| name(server, tool) == wanted);
            assert!(servers.iter().any(is_known), "`{wanted}` is not recorded");
        }
        let result = index.search(&SearchQuery::new(&[query], LOOKED_AT));
        let names: Vec<String> = result.tools.iter().map(|place| name(&servers[place.server], place.tool)).collect();
        if names.iter().any(|name| wanted.split(' ').any(|wanted| wanted == name)) {
            hits += 1;
        } else {
            writeln!(missed, "{query}\n    wanted {wanted}\n    got    {}", names.join(" ")).unwrap();
        }
    }
    (f64::from(hits) / lines.len() as f64, missed)
}

#[test]
fn keywords_find_their_tool_among_the_first_five() {
    let servers = recorded();
    assert!(servers.len() >= 15);
    let (share, missed) = found(&servers, &index(&servers), KEYWORDS);
    assert!(share >= 0.97, "{share:.3}\n{missed}");
}

#[test]
fn paraphrases_find_a_tool_among_the_first_five() {
    let servers = recorded();
    let (share, missed) = found(&servers, &index(&servers), PARAPHRASES);
    assert!(share >= 0.6, "{share:.3}\n{missed}");
}

#[test]
fn the_index_is_at_most_twice_the_text() {
    let servers = recorded();
    let index = index(&servers);
    let text: usize = index.servers().iter().map(|server| server.text_bytes()).sum();
    assert!(index.bytes() <= 2 * text, "{} bytes for {text} of text", index.bytes());
}
