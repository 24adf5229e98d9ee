//! `helve search`: which tools fit some words. From kept lists, as people see them in `helve tools`.

use std::sync::Arc;

use helve_model::{Hint, QualifiedName, ServerName, ToolDefinition};
use helve_render::{SearchIndex, SearchQuery, ServerIndex, Style as SignatureStyle, ToolText, first_line, signature};
use helve_setup::{Depth, Freshness};
use serde_json::json;

use super::tools::{offered, report_missing, take_missing, with_entry};
use crate::catalog::{list, one_line, tell_age};
use crate::context::Context;
use crate::failure::Failure;
use crate::inputs;
use crate::printer::{Line, Style};

/// What a signature may cost, in tokens.
const SIGNATURE_TOKENS: usize = 100;

/// Find tools by what they do
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the tool should do, or a part of its name
    #[arg(value_name = "WORD", required = true)]
    words: Vec<String>,

    /// Only tools of this server
    #[arg(long, value_name = "SERVER")]
    server: Option<String>,

    /// How many to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,

    /// Ask every server again, however new its kept list is
    #[arg(long, alias = "refresh")]
    fresh: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let is_meant = |name: &ServerName| args.server.as_deref().is_none_or(|server| server == name.as_str());
    let configuration = inputs::load(context, is_meant)?;
    context.report_problems_of(&configuration, is_meant);
    let only: Vec<String> = args.server.iter().cloned().collect();
    let freshness = if args.fresh { Freshness::Asked } else { Freshness::Recent };
    let mut catalog = list(context, &configuration, &only, Depth::Definitions, freshness)?;
    let missing = take_missing(&mut catalog);
    report_missing(context, &missing);

    let tools = offered(&catalog);
    let by_server: Vec<&[(QualifiedName, &ToolDefinition)]> =
        tools.chunk_by(|(left, _), (right, _)| left.server == right.server).collect();
    let parts = by_server.iter().map(|tools| Arc::new(part(tools)));
    let index = SearchIndex::new(parts);
    let text = args.words.join(" ");
    let result = index.search(&SearchQuery::new(&[&text], args.limit));
    let found: Vec<&(QualifiedName, &ToolDefinition)> =
        result.tools.iter().filter_map(|place| by_server.get(place.server)?.get(place.tool)).collect();

    if context.printer.is_json() {
        let tools = found.iter().map(|(name, definition)| {
            let name = name.to_string();
            let description = definition.view().description.unwrap_or_default();
            let signature =
                with_entry(definition, &name, |entry| signature(entry, SignatureStyle::Line, SIGNATURE_TOKENS));
            json!({"name": name, "description": description, "signature": signature})
        });
        let tools: Vec<_> = tools.collect();
        return context.printer.json(&json!({"found": result.found, "tools": tools, "unmatched": result.unmatched}));
    }
    let rows = || {
        found.iter().map(|(name, definition)| {
            let view = definition.view();
            let about = view.description.as_deref().map(first_line).or(view.title.as_deref()).unwrap_or_default();
            [Line::borrowed(Style::Name, name.to_string()), Line::borrowed(Style::Plain, one_line(about))]
        })
    };
    if found.is_empty() {
        context.printer.say(&Line::plain(format!("No tool has any of the words `{text}`.")));
        context.printer.hint(Hint::ListTools);
    } else {
        context.printer.long_table(["TOOL", "WHAT IT DOES"], rows)?;
        let mut line = format!("{} of {} that fit", found.len(), result.found);
        if !result.unmatched.is_empty() {
            let words: Vec<String> = result.unmatched.iter().map(|word| format!("`{word}`")).collect();
            line.push_str(&format!("; no tool has {}", words.join(", ")));
        }
        context.printer.say(&Line::styled(Style::Dim, line));
    }
    tell_age(context, &catalog.aged);
    Ok(())
}

/// One server's part of the index.
fn part(tools: &[(QualifiedName, &ToolDefinition)]) -> ServerIndex {
    let server = tools.first().map(|(name, _)| name.server.as_str()).unwrap_or_default();
    let views: Vec<_> = tools.iter().map(|(_, definition)| definition.view()).collect();
    let texts = tools.iter().zip(&views).map(|((name, _), view)| ToolText {
        name: name.tool.as_str(),
        title: view.title.as_deref().or(view.annotations.title.as_deref()),
        description: view.description.as_deref(),
        input_schema: view.input_schema.as_ref().map_or("{}", helve_model::json::RawJson::as_str),
        output_schema: None,
    });
    ServerIndex::new(server, texts)
}
