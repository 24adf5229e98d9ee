//! Owns how a catalog is described to a model that writes `device.Server.tool(…)`: one block per server, in as much detail
//! as a number of tokens allows.
//!
//! | detail | a server's block |
//! |---|---|
//! | everything | what it says, each tool's signature and whole description |
//! | first lines | the same with the first line of each description |
//! | names | the names of its tools |
//! | index | one line with the number of its tools; the model is told to search |
//!
//! The first that fits is taken for all servers. The text depends on the catalog and the budget alone: prompt caches see
//! the same bytes as long as the catalog is the same. What a server wrote stands on one line behind our own words, or is quoted:
//! it cannot look like a heading of ours.

use std::fmt::Write as _;

use helve_model::text::{counted, folded, several_lines};

use crate::signature::{Style, signature};
use crate::tokens::estimated_tokens;
use crate::tool_text::ToolText;

/// A server as the prompt shows it.
#[derive(Debug, Clone)]
pub struct ServerText<'a> {
    /// What its name is in code: `BraveSearchMCP`.
    pub device: String,
    /// What the server says it is.
    pub about: Option<&'a str>,
    /// What it wants a model to know.
    pub instructions: Option<&'a str>,
    /// Its tools, each with the whole spelling that code calls it by: `device.BraveSearchMCP.search`.
    pub tools: Vec<(String, ToolText<'a>)>,
}

/// Characters of what a server says about itself, of its instructions, and of one description.
const MAX_ABOUT: usize = 300;
const MAX_INSTRUCTIONS: usize = 4_000;
const MAX_DESCRIPTION: usize = 4_000;
/// Characters of a first line.
const MAX_LINE: usize = 200;
/// Tokens of a signature, with everything and beside a first line.
const WHOLE_SIGNATURE: usize = 400;
const SHORT_SIGNATURE: usize = 120;

const CALLING: &str = "Tools are called as functions with named arguments: `device.Server.tool(argument=value)`.";
const SEARCHING: &str =
    "Search first: `search_skills(\"what you want to do\")` gives matching tools with their signatures.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    Everything,
    FirstLines,
    Names,
    Index,
}

/// The block for a system prompt, within `budget` tokens as [`estimated_tokens`] counts them; `None` for any number. A budget in
/// which not even the servers can be named gets how many there are, and how to search.
#[must_use]
pub fn system_prompt(servers: &[ServerText<'_>], budget: Option<usize>) -> String {
    let fits = |text: &str| budget.is_none_or(|budget| estimated_tokens(text) <= budget);
    for detail in [Detail::Everything, Detail::FirstLines, Detail::Names, Detail::Index] {
        let text = written(servers, detail);
        if fits(&text) {
            return text;
        }
    }
    shortened(servers, fits)
}

fn written(servers: &[ServerText<'_>], detail: Detail) -> String {
    let mut text = opening(servers, detail);
    for server in servers.iter().filter(|server| !server.tools.is_empty()) {
        if detail == Detail::Index {
            text.push_str(&index_line(server));
        } else {
            block(&mut text, server, detail);
        }
    }
    text
}

fn opening(servers: &[ServerText<'_>], detail: Detail) -> String {
    match detail {
        Detail::Everything | Detail::FirstLines => format!("{CALLING}\n"),
        Detail::Names => format!("{CALLING} Only names are listed here. {SEARCHING}\n"),
        Detail::Index => {
            let tools = servers.iter().map(|server| server.tools.len()).sum();
            let servers = servers.iter().filter(|server| !server.tools.is_empty()).count();
            let (tools, servers) = (counted(tools, "tool", "tools"), counted(servers, "server", "servers"));
            format!("{CALLING} There are {tools} of {servers}. {SEARCHING}\n\n")
        }
    }
}

fn block(text: &mut String, server: &ServerText<'_>, detail: Detail) {
    // Writing into a String cannot fail.
    let _: std::fmt::Result = writeln!(text, "\n### {}", server.device);
    if let Some(about) = said(server.about, MAX_ABOUT) {
        let _: std::fmt::Result = writeln!(text, "{about}");
    }
    if let Some(instructions) = server.instructions.filter(|words| !words.trim().is_empty())
        && detail != Detail::Names
    {
        text.push_str("The server says:\n");
        quote(text, "> ", instructions, if detail == Detail::Everything { MAX_INSTRUCTIONS } else { MAX_ABOUT });
    }
    if detail == Detail::Names {
        let names: Vec<&str> = server.tools.iter().map(|(call, _)| last_part(call)).collect();
        let _: std::fmt::Result = writeln!(text, "{}", names.join(", "));
        return;
    }
    for (call, tool) in &server.tools {
        let tokens = if detail == Detail::Everything { WHOLE_SIGNATURE } else { SHORT_SIGNATURE };
        let _: std::fmt::Result = write!(text, "\n- `{}`\n", code_signature(call, tool, tokens));
        match (tool.description.or(tool.title), detail) {
            (Some(description), Detail::Everything) if description.trim().lines().count() > 1 => {
                quote(text, "  > ", description, MAX_DESCRIPTION);
            }
            (description, Detail::Everything) => one_line(text, description, MAX_DESCRIPTION),
            (description, _) => one_line(text, description.map(first_line), MAX_LINE),
        }
    }
}

/// A tool's Python signature under the whole spelling that code calls it by.
#[must_use]
pub fn code_signature(call: &str, tool: &ToolText<'_>, tokens: usize) -> String {
    let name = last_part(call);
    let path = call.strip_suffix(name).unwrap_or_default();
    // A grave accent would end the code that a signature stands in.
    format!("{path}{}", signature(&ToolText { name, ..*tool }, Style::Python, tokens)).replace('`', "'")
}

/// The first line that says something.
#[must_use]
pub fn first_line(description: &str) -> &str {
    description.trim_start().lines().next().unwrap_or_default().trim_end()
}

fn index_line(server: &ServerText<'_>) -> String {
    let about = said(server.about.or(server.instructions).map(first_line), 100);
    let about = about.map(|about| format!(": {about}")).unwrap_or_default();
    format!("- {} ({}){about}\n", server.device, counted(server.tools.len(), "tool", "tools"))
}

/// As many servers as fit, and how many there are besides.
fn shortened(servers: &[ServerText<'_>], fits: impl Fn(&str) -> bool) -> String {
    let named: Vec<&ServerText<'_>> = servers.iter().filter(|server| !server.tools.is_empty()).collect();
    let opening = opening(servers, Detail::Index);
    let with = |count: usize| {
        let mut text = opening.clone();
        for server in named.iter().take(count) {
            let _: std::fmt::Result = writeln!(text, "- {} ({})", server.device, server.tools.len());
        }
        let more = named.len() - count;
        if count > 0 && more > 0 {
            let _: std::fmt::Result = writeln!(text, "- and {}", counted(more, "more server", "more servers"));
        }
        text
    };
    let counts: Vec<usize> = (1..=named.len()).collect();
    // The longer, the more tokens: look for the border.
    let fitting = counts.partition_point(|count| fits(&with(*count)));
    if fitting == 0 {
        let mut text = opening;
        text.truncate(text.trim_end().len());
        text.push('\n');
        return text;
    }
    with(fitting)
}

fn one_line(text: &mut String, words: Option<&str>, limit: usize) {
    if let Some(line) = said(words, limit) {
        let _: std::fmt::Result = writeln!(text, "  {line}");
    }
}

/// What a server wrote, as one line that cannot be read as a heading, list or quotation.
fn said(words: Option<&str>, limit: usize) -> Option<String> {
    let line = folded(words?, limit);
    let line = line.trim_start_matches(['#', '>', '-', '*', '+', '=', '`', '~', ' ']);
    (!line.is_empty()).then(|| line.to_owned())
}

fn quote(text: &mut String, mark: &str, words: &str, limit: usize) {
    for line in several_lines(words.trim(), limit).lines() {
        let _: std::fmt::Result = writeln!(text, "{}", format!("{mark}{}", line.trim_end()).trim_end());
    }
}

fn last_part(call: &str) -> &str {
    call.rsplit('.').next().unwrap_or(call)
}

#[cfg(test)]
#[path = "system_prompt_tests.rs"]
mod tests;
