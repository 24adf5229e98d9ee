//! What `search_tools` answers: as data for programs, and as lines within a number of tokens for models.

use helve::{Host, ToolEntry, ToolQuery};
use helve_model::json::{ObjectWriter, RawJson};
use helve_model::name::Spelling;
use helve_model::text::{folded, nearest};
use helve_model::{Outcome, QualifiedName};
use helve_render::{Style, code_signature, estimated_tokens, first_line, signature};
use helve_wire::RpcError;

use super::{Discovery, OWN_TOOLBOX};
use crate::catalog::Catalog;
use crate::refusal::invalid_params;

/// How many tools a search gives unless it says otherwise, and at most.
const FOUND: usize = 10;
const FOUND_AT_MOST: usize = 50;
/// Texts in one query.
const MAX_TEXTS: usize = 16;

/// Tokens of a signature, and of all lines together.
const SIGNATURE_TOKENS: usize = 100;
const TEXT_TOKENS: usize = 2_000;
/// Characters of the line about a tool, and of words given back.
const LINE_CHARACTERS: usize = 160;
const WORD_CHARACTERS: usize = 60;

pub(super) fn answer(
    discovery: Discovery,
    shared: &Host,
    catalog: &Catalog,
    arguments: &RawJson,
) -> Result<RawJson, RpcError> {
    let texts = texts(arguments)?;
    let server = arguments.member_str("server");
    if let Some(unknown) =
        server.as_deref().filter(|server| !catalog.server_names().any(|name| name.as_str() == *server))
    {
        return Ok(Outcome::failure(&no_server(catalog, unknown)).raw().clone());
    }
    let limit = arguments.member("limit").and_then(|limit| limit.parse::<usize>().ok());
    let limit = limit.unwrap_or(FOUND).clamp(1, FOUND_AT_MOST);
    let searchable = catalog.searchable(shared);
    let query = ToolQuery::new("").with(|query| {
        query.texts = texts.iter().map(String::as_str).collect();
        query.server = server.as_deref();
        query.limit = limit;
    });
    // What is not served has no name here, and programs do not call what helve itself offers.
    let in_code = discovery == Discovery::Code;
    let sees =
        |name: &QualifiedName| searchable.names.contains_key(name) && !(in_code && name.server.as_str() == OWN_TOOLBOX);
    let matches = searchable.tools.search(&query, &sees);
    let named = |tool: &ToolEntry| searchable.names.get(tool.name()).cloned();
    let found: Vec<Found<'_>> = matches
        .tools
        .iter()
        .filter_map(|tool| if in_code { Some(Found::in_code(tool)) } else { Some(Found::new(named(tool)?, tool)) })
        .collect();
    let tools = found.iter().map(|found| {
        let description = found.tool.view().description.as_deref().unwrap_or_default();
        let tool = ObjectWriter::new().text("name", &found.name).text("description", description);
        tool.text("signature", &found.signature).into_text()
    });
    let unmatched = matches.unmatched.iter().map(|word| RawJson::string(word).as_str().to_owned());
    let result = ObjectWriter::new()
        .number("found", matches.found as u64)
        .array("tools", tools)
        .array("unmatched", unmatched)
        .finish();
    let text = lines(catalog, matches.found, &found, &matches.unmatched);
    Ok(Outcome::structured(&result, &text).raw().clone())
}

struct Found<'a> {
    name: String,
    tool: &'a ToolEntry,
    signature: String,
}

impl<'a> Found<'a> {
    fn new(name: String, tool: &'a ToolEntry) -> Self {
        let signature = signature(&tool.schema_entry(&name), Style::Line, SIGNATURE_TOKENS);
        Self { name, tool, signature }
    }

    /// As programs spell it.
    fn in_code(tool: &'a ToolEntry) -> Self {
        let name = Spelling::Code.render(tool.name());
        let signature = code_signature(&name, &tool.schema_entry(&name), SIGNATURE_TOKENS);
        Self { name, tool, signature }
    }
}

/// The texts of `query`: one, or a list.
fn texts(arguments: &RawJson) -> Result<Vec<String>, RpcError> {
    match arguments.member("query") {
        None => Ok(Vec::new()),
        Some(query) if query.as_str().trim_start().starts_with('[') => {
            let texts = query.parse::<Vec<String>>();
            let texts = texts.map_err(|_| invalid_params("`query` is a text or a list of texts"))?;
            Ok(texts.into_iter().take(MAX_TEXTS).collect())
        }
        Some(query) => Ok(query.parse::<String>().into_iter().collect()),
    }
}

/// One line for each tool, as many as there is room for.
fn lines(catalog: &Catalog, found: usize, tools: &[Found<'_>], unmatched: &[String]) -> String {
    let words: Vec<String> = unmatched.iter().map(|word| format!("`{}`", folded(word, WORD_CHARACTERS))).collect();
    if tools.is_empty() {
        return format!(
            "No tool has any of these words: {}. Say what it should do in other words, or give an empty query for all {} tools.",
            words.join(", "),
            catalog.len()
        );
    }
    let mut lines = Vec::new();
    let mut tokens = 0;
    for found in tools {
        let view = found.tool.view();
        let about = first_line(view.description.as_deref().or(view.title.as_deref()).unwrap_or_default());
        let line = format!("{}: {}", found.signature, folded(about, LINE_CHARACTERS));
        tokens += estimated_tokens(&line) + 1;
        if tokens > TEXT_TOKENS && !lines.is_empty() {
            break;
        }
        lines.push(line);
    }
    let mut text = format!("{} of {found} tools:", lines.len());
    if !words.is_empty() {
        text = format!("{} of {found} tools; none has {}:", lines.len(), words.join(", "));
    }
    for line in lines {
        text.push('\n');
        text.push_str(line.trim_end_matches([':', ' ']));
    }
    text
}

fn no_server(catalog: &Catalog, unknown: &str) -> String {
    let near = nearest(unknown, catalog.server_names().map(|name| name.as_str()));
    let unknown = folded(unknown, WORD_CHARACTERS);
    match near {
        Some(near) => format!("There is no server `{unknown}`; did you mean `{near}`?"),
        None => format!("There is no server `{unknown}`; leave `server` out to search all."),
    }
}
