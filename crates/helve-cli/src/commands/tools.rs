//! `helve tools`: what can be called. From kept lists: people see them with their age, programs only while they are fresh by
//! the server's own word; only other servers are started.

use helve_config::Configuration;
use helve_model::name::{Spelling, function_name};
use helve_model::{Action, Definition as _, NameTable, QualifiedName, ServerName, ToolDefinition};
use helve_policy::{Caller, Subject};
use helve_render::{
    Provider, ServerText, Strictness, Style as SignatureStyle, ToolText, documented, system_prompt, tool_array,
};
use helve_setup::{Depth, Freshness, KeptLists, ServerWords};
use serde_json::{Value, json};

use crate::catalog::{Catalog, Tools, list, tell_age};
use crate::context::Context;
use crate::failure::Failure;
use crate::inputs;
use crate::printer::{Line, Style};

/// What a documented signature may cost, in tokens.
const SIGNATURE_TOKENS: usize = 400;

/// List tools
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only those of these servers
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,

    /// In the form a language or a model provider wants
    #[arg(long, value_enum, value_name = "FORM")]
    format: Option<Format>,

    /// With `--format prompt`: as much detail as fits so many tokens, estimated
    #[arg(long, value_name = "TOKENS")]
    budget: Option<usize>,

    /// Also those that a list leaves out
    #[arg(long)]
    hidden: bool,

    /// Ask every server again, however new its kept list is
    #[arg(long, alias = "refresh")]
    fresh: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    Python,
    Typescript,
    Anthropic,
    /// Chat Completions
    Openai,
    /// Responses
    OpenaiResponses,
    Gemini,
    /// A block for a system prompt, by server
    Prompt,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    if args.budget.is_some() && args.format != Some(Format::Prompt) {
        return Err(Failure::usage("`--budget` goes with `--format prompt`"));
    }
    let is_meant =
        |name: &ServerName| args.servers.is_empty() || args.servers.iter().any(|server| server == name.as_str());
    let configuration = inputs::load(context, is_meant)?;
    if args.servers.is_empty() {
        context.report_problems(&configuration);
    } else {
        context.report_problems_of(&configuration, is_meant);
    }
    let is_for_a_program = args.format.is_some() || context.printer.is_json();
    let depth = if is_for_a_program { Depth::Definitions } else { Depth::Names };
    let freshness = match (args.fresh, is_for_a_program) {
        (true, _) => Freshness::Asked,
        (false, true) => Freshness::Fresh,
        (false, false) => Freshness::Recent,
    };
    let mut catalog = list(context, &configuration, &args.servers, depth, freshness)?;
    let missing = take_missing(&mut catalog);
    if let ([_], [_]) = (catalog.servers.as_slice(), missing.as_slice())
        && !args.servers.is_empty()
    {
        return missing.into_iter().next().map_or(Ok(()), |(_, failure)| Err(failure));
    }
    report_missing(context, &missing);
    print(context, args, &configuration, &catalog, missing.is_empty())?;
    tell_age(context, &catalog.aged);
    answer(context, args, &catalog, missing)
}

/// The exit status when tools are missing: of a server that was named, of all that are on, or because of `--timeout`.
/// The person has read why.
fn answer(
    context: &Context,
    args: &Args,
    catalog: &Catalog,
    missing: Vec<(ServerName, Failure)>,
) -> Result<(), Failure> {
    let is_named = !args.servers.is_empty();
    let is_empty = catalog.servers.iter().all(|server| server.entries(&catalog.rules, &catalog.pins, true).is_empty());
    let is_bounded = context.options.timeout.is_some();
    let failures = missing.into_iter().map(|(_, failure)| failure);
    let mut failures: Vec<Failure> =
        failures.filter(|failure| is_named || !(failure.is_untrusted() || failure.is_a_choice())).collect();
    let too_late = failures.iter().position(|failure| is_bounded && failure.is_timeout());
    match too_late {
        Some(index) => Err(failures.swap_remove(index).said()),
        None if is_named || is_empty => failures.into_iter().next().map_or(Ok(()), |failure| Err(failure.said())),
        None => Ok(()),
    }
}

fn print(
    context: &Context,
    args: &Args,
    configuration: &Configuration,
    catalog: &Catalog,
    is_whole: bool,
) -> Result<(), Failure> {
    if args.format == Some(Format::Prompt) {
        return prompt(context, configuration, catalog, args.budget);
    }
    if let Some(format) = args.format {
        return formatted(context, catalog, format, args.hidden);
    }
    if context.printer.is_json() {
        return context.printer.json(&as_json(catalog, args.hidden));
    }
    let entries = || {
        catalog.servers.iter().flat_map(|server| server.entries(&catalog.rules, &catalog.pins, args.hidden).into_iter())
    };
    let rows = || {
        entries().map(|entry| {
            let name = entry.written();
            if entry.has_changed {
                let about = format!("changed since it was pinned; agents do not see it (`helve pin {name}`)");
                return [Line::borrowed(Style::Name, name), Line::borrowed(Style::Warning, about)];
            }
            let about = entry.summary.or(entry.title).unwrap_or_default();
            [Line::borrowed(Style::Name, name), Line::borrowed(Style::Plain, about)]
        })
    };
    context.printer.long_table(["TOOL", "WHAT IT DOES"], rows)?;
    if is_whole && entries().next().is_none() {
        context.printer.say(&Line::plain("There are no tools."));
    }
    Ok(())
}

/// The servers that have nothing to show, and why.
pub(super) fn take_missing(catalog: &mut Catalog) -> Vec<(ServerName, Failure)> {
    let mut missing = Vec::new();
    for server in &mut catalog.servers {
        if let Tools::Missing(_) = server.tools
            && let Tools::Missing(failure) = std::mem::replace(&mut server.tools, Tools::Defined(Vec::new()))
        {
            missing.push((server.name.clone(), *failure));
        }
    }
    missing
}

/// Says which servers have nothing to show.
pub(super) fn report_missing(context: &Context, missing: &[(ServerName, Failure)]) {
    let mut untrusted = Vec::new();
    for (server, failure) in missing {
        if failure.is_untrusted() {
            untrusted.push(format!("`{server}`"));
        } else if !failure.is_a_choice() {
            context.printer.warning(failure.message());
            for hint in failure.hints() {
                context.printer.hint(hint);
            }
        }
    }
    context.report_untrusted(&untrusted);
}

/// Whole definitions, as their servers gave them, with where each belongs.
fn as_json(catalog: &Catalog, hidden: bool) -> Value {
    let tools = visible(catalog, hidden).into_iter().map(|(name, definition)| {
        let mut tool = match serde_json::from_str(definition.raw().as_str()) {
            Ok(Value::Object(tool)) => tool,
            _ => serde_json::Map::new(),
        };
        tool.insert("server".to_owned(), json!(name.server.as_str()));
        tool.insert("tool".to_owned(), json!(name.tool.as_str()));
        tool.insert("name".to_owned(), json!(name.to_string()));
        Value::Object(tool)
    });
    // What changed since it was pinned is named and says nothing: whoever reads this may hand it to a model.
    let changed = changed(catalog, hidden).into_iter().map(|(name, _)| {
        let (server, tool) = (name.server.as_str(), name.tool.as_str());
        json!({"server": server, "tool": tool, "name": name.to_string(), "changed_since_pinned": true})
    });
    Value::Array(tools.chain(changed).collect())
}

/// The tools an agent sees, sorted by name; with `hidden`, all of them.
fn visible(catalog: &Catalog, hidden: bool) -> Vec<(QualifiedName, &ToolDefinition)> {
    defined(catalog, hidden, |has_changed| !has_changed)
}

/// The tools an agent may call, sorted by name: of those it sees, the ones that no rule denies whatever the arguments.
pub(super) fn offered(catalog: &Catalog) -> Vec<(QualifiedName, &ToolDefinition)> {
    let mut tools = visible(catalog, false);
    tools.retain(|(name, definition)| {
        let policy = catalog.rules.for_tool(Subject::tool(&name.server, definition));
        !matches!(policy.foresee(Caller::Agent), Some((Action::Deny, _)))
    });
    tools
}

/// Those whose definition is not the one that was pinned: agents do not see them.
fn changed(catalog: &Catalog, hidden: bool) -> Vec<(QualifiedName, &ToolDefinition)> {
    defined(catalog, hidden, |has_changed| has_changed)
}

fn defined(catalog: &Catalog, hidden: bool, is_wanted: fn(bool) -> bool) -> Vec<(QualifiedName, &ToolDefinition)> {
    let mut tools: Vec<(QualifiedName, &ToolDefinition)> = Vec::new();
    for server in &catalog.servers {
        let is_hidden = catalog.rules.hidden_of(&server.name);
        for definition in server.definitions() {
            let tool = definition.name();
            if (hidden || !is_hidden(tool.as_str())) && is_wanted(server.has_changed(definition, &catalog.pins)) {
                tools.push((QualifiedName::new(server.name.clone(), tool.clone()), definition));
            }
        }
    }
    tools.sort_by(|(left, _), (right, _)| left.cmp(right));
    tools
}

fn formatted(context: &Context, catalog: &Catalog, format: Format, hidden: bool) -> Result<(), Failure> {
    // This list is for a model.
    for (name, _) in changed(catalog, hidden) {
        context.printer.warning(format!("{name} is left out: it changed since it was pinned"));
    }
    let tools = visible(catalog, hidden);
    let names = NameTable::new(tools.iter().map(|(name, _)| name.clone()));
    let text = match format {
        Format::Python => signatures(&tools, SignatureStyle::Python),
        Format::Typescript => signatures(&tools, SignatureStyle::TypeScript),
        Format::Anthropic => array(context, &tools, &names, Provider::Anthropic),
        Format::Openai => array(context, &tools, &names, Provider::OpenAiChat),
        Format::OpenaiResponses => array(context, &tools, &names, Provider::OpenAiResponses),
        // Made by `prompt`, which needs more than definitions.
        Format::Prompt => return Ok(()),
        Format::Gemini => array(context, &tools, &names, Provider::Gemini),
    };
    context.printer.block(&text)
}

/// The block for a system prompt. Names are those that programs and `helve call` take.
fn prompt(
    context: &Context,
    configuration: &Configuration,
    catalog: &Catalog,
    budget: Option<usize>,
) -> Result<(), Failure> {
    for (name, _) in changed(catalog, false) {
        context.printer.warning(format!("{name} is left out: it changed since it was pinned"));
    }
    let tools = offered(catalog);
    let names = NameTable::new(tools.iter().map(|(name, _)| name.clone()));
    let plan = context.setup.plan(configuration)?;
    let kept = KeptLists::open(&context.setup, configuration, Freshness::Recent);
    let views: Vec<_> = tools.iter().map(|(name, definition)| (name, definition.view())).collect();
    let servers: Vec<_> = views
        .chunk_by(|(left, _), (right, _)| left.server == right.server)
        .filter_map(|tools| {
            let server = &tools.first()?.0.server;
            let planned = plan.servers.iter().find(|planned| planned.spec.name == *server);
            Some((server, planned.map(|planned| kept.words(planned)).unwrap_or_default(), tools))
        })
        .collect();
    let texts: Vec<ServerText<'_>> = servers
        .iter()
        .map(|(server, ServerWords { about, instructions }, tools)| ServerText {
            device: Spelling::Code.render_server(server),
            about: about.as_deref(),
            instructions: instructions.as_deref(),
            tools: tools
                .iter()
                .map(|(name, view)| {
                    let text = ToolText {
                        name: name.tool.as_str(),
                        title: view.title.as_deref(),
                        description: view.description.as_deref(),
                        input_schema: view.input_schema.as_ref().map_or("{}", helve_model::json::RawJson::as_str),
                        output_schema: view.output_schema.as_ref().map(helve_model::json::RawJson::as_str),
                    };
                    (names.spell(name, Spelling::Code).unwrap_or_else(|| Spelling::Code.render(name)), text)
                })
                .collect(),
        })
        .collect();
    context.printer.block(&system_prompt(&texts, budget))
}

fn signatures(tools: &[(QualifiedName, &ToolDefinition)], style: SignatureStyle) -> String {
    let mut text = String::new();
    for (name, definition) in tools {
        with_entry(definition, &function_name(name), |entry| {
            text.push_str(&documented(entry, style, SIGNATURE_TOKENS))
        });
        text.push_str("\n\n");
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn array(
    context: &Context,
    tools: &[(QualifiedName, &ToolDefinition)],
    names: &NameTable,
    provider: Provider,
) -> String {
    let views: Vec<_> = tools.iter().map(|(_, definition)| definition.view()).collect();
    let spelled: Vec<String> = tools
        .iter()
        .map(|(name, _)| names.spell(name, Spelling::Provider).unwrap_or_else(|| name.to_string()))
        .collect();
    let entries: Vec<ToolText<'_>> = views
        .iter()
        .zip(&spelled)
        .map(|(view, name)| ToolText {
            name,
            title: view.title.as_deref(),
            description: view.description.as_deref(),
            input_schema: view.input_schema.as_ref().map_or("{}", helve_model::json::RawJson::as_str),
            output_schema: view.output_schema.as_ref().map(helve_model::json::RawJson::as_str),
        })
        .collect();
    let array = tool_array(provider, &entries, Strictness::Off);
    for notice in array.notices() {
        let name = tools.get(notice.index).map(|(name, _)| name.to_string()).unwrap_or_default();
        context.printer.warning(format!("{name}: {}", notice.kind));
    }
    format!("{}\n", array.json())
}

/// A definition as the schema crate wants it.
pub(crate) fn with_entry<T>(definition: &ToolDefinition, name: &str, use_it: impl FnOnce(&ToolText<'_>) -> T) -> T {
    let view = definition.view();
    use_it(&ToolText {
        name,
        title: view.title.as_deref(),
        description: view.description.as_deref(),
        input_schema: view.input_schema.as_ref().map_or("{}", helve_model::json::RawJson::as_str),
        output_schema: view.output_schema.as_ref().map(helve_model::json::RawJson::as_str),
    })
}
