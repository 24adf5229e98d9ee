//! Searching tools: the recorded definitions of real servers, repeated under other names until there are enough of them.

use std::hint::black_box;
use std::io::Read as _;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use flate2::read::GzDecoder;
use helve_render::{SearchIndex, SearchQuery, ServerIndex, ToolText};
use serde_json::Value;

use super::{Work, rounds};
use crate::report::{Goal, Line};
use crate::stats::median;

const DEFINITIONS: &[u8] = include_bytes!("../../../../../crates/helve-render/tests/search/definitions.jsonl.gz");
const PARAPHRASES: &str = include_str!("../../../../../crates/helve-render/tests/search/paraphrases.txt");
const KEYWORDS: &str = include_str!("../../../../../crates/helve-render/tests/search/keywords.txt");

/// What people have, and far more.
const FEW: usize = 1_220;
const MANY: usize = 20_000;
/// Milliseconds a query.
const FEW_GOAL: Goal = Goal::AtMost(0.5);
const MANY_GOAL: Goal = Goal::AtMost(5.0);
/// How much the index may hold against the text that it is of.
const SIZE_GOAL: Goal = Goal::AtMost(2.0);
const KEYWORDS_GOAL: Goal = Goal::AtLeast(0.97);
const PARAPHRASES_GOAL: Goal = Goal::AtLeast(0.55);
/// How many tools a searcher looks at.
const LOOKED_AT: usize = 5;

pub(crate) fn measure(count: usize) -> Result<Vec<Line>> {
    let servers = recorded()?;
    let once = index(&servers, usize::MAX, 1);
    let (few, many) = (index(&servers, FEW, usize::MAX), index(&servers, MANY, usize::MAX));
    let queries: Vec<&str> = lines(PARAPHRASES).chain(lines(KEYWORDS)).map(|(query, _)| query).collect();
    let all = |index: &SearchIndex| {
        for query in &queries {
            drop(black_box(index.search(&SearchQuery::new(&[query], LOOKED_AT))));
        }
    };
    // All queries are one piece of work, which takes long enough.
    let [mut few_seconds, mut many_seconds] = rounds(
        count.min(11),
        [Work { times: 1, once: &mut || all(&few) }, Work { times: 1, once: &mut || all(&many) }],
    );
    let milliseconds = |seconds: &mut Vec<f64>| median(seconds) * 1e3 / queries.len() as f64;
    let sizes = (few.bytes(), few.servers().iter().map(|part| part.text_bytes()).sum::<usize>());
    let share = |set| share(&servers, &once, set);
    let (keywords, paraphrases) = (share(KEYWORDS), share(PARAPHRASES));
    let seen = |index: &SearchIndex| {
        format!("{} tools of {} servers, {} queries", index.len(), index.servers().len(), queries.len())
    };
    Ok(vec![
        Line::new("search 1,220 tools, ms a query", milliseconds(&mut few_seconds), FEW_GOAL, seen(&few)),
        Line::new("search 20,000 tools, ms a query", milliseconds(&mut many_seconds), MANY_GOAL, seen(&many)),
        Line::new(
            "index against text",
            sizes.0 as f64 / sizes.1 as f64,
            SIZE_GOAL,
            format!("{} bytes of {}", sizes.0, sizes.1),
        ),
        Line::new("keywords: a right tool among five", keywords, KEYWORDS_GOAL, seen(&once)),
        Line::new("paraphrases: a right tool among five", paraphrases, PARAPHRASES_GOAL, seen(&once)),
    ])
}

struct Server {
    name: String,
    tools: Vec<(String, Option<String>, Option<String>, String)>,
}

fn recorded() -> Result<Vec<Server>> {
    let mut text = String::new();
    GzDecoder::new(DEFINITIONS).read_to_string(&mut text)?;
    text.lines()
        .map(|line| {
            let server: Value = serde_json::from_str(line)?;
            let said = |value: &Value| value.as_str().map(ToOwned::to_owned);
            let tools = server["tools"].as_array().context("a server without tools")?.iter().map(|tool| {
                let schema = tool["inputSchema"].to_string();
                (said(&tool["name"]).unwrap_or_default(), said(&tool["title"]), said(&tool["description"]), schema)
            });
            Ok(Server { name: said(&server["server"]).unwrap_or_default(), tools: tools.collect() })
        })
        .collect()
}

/// As many tools, at most, of the servers and of copies of them under other names.
fn index(servers: &[Server], tools: usize, copies: usize) -> SearchIndex {
    let mut left = tools;
    let mut parts = Vec::new();
    for copy in 0..copies {
        for server in servers {
            if left == 0 {
                return SearchIndex::new(parts);
            }
            let name = if copy == 0 { server.name.clone() } else { format!("{}-{copy}", server.name) };
            let texts = server.tools.iter().take(left).map(|(name, title, description, schema)| ToolText {
                title: title.as_deref(),
                description: description.as_deref(),
                ..ToolText::new(name, schema)
            });
            let part = ServerIndex::new(&name, texts);
            left -= part.len();
            parts.push(Arc::new(part));
        }
    }
    SearchIndex::new(parts)
}

fn lines(set: &str) -> impl Iterator<Item = (&str, &str)> {
    set.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('\t'))
}

/// The share of queries that have a right tool among the first.
fn share(servers: &[Server], index: &SearchIndex, set: &str) -> f64 {
    let is_hit = |(query, wanted): &(&str, &str)| {
        let result = index.search(&SearchQuery::new(&[query], LOOKED_AT));
        result.tools.iter().any(|place| {
            let server = servers.get(place.server);
            let tool = server.and_then(|server| Some((&server.name, &server.tools.get(place.tool)?.0)));
            tool.is_some_and(|(server, tool)| wanted.split(' ').any(|wanted| wanted == format!("{server}/{tool}")))
        })
    };
    lines(set).filter(is_hit).count() as f64 / lines(set).count() as f64
}
