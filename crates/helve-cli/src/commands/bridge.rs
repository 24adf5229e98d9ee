//! `helve bridge`: the command line of another program's own MCP client, answered to the letter, so that its scripts run
//! unchanged.

use std::fmt::Write as _;

use clap::Subcommand;

use helve_model::json::RawJson;
use helve_model::name::Spelling;
use helve_model::{ErrorCode, ServerName};
use helve_setup::{Depth, Freshness, Wanted};
use serde_json::json;

use crate::catalog::{Catalog, Tools, list};
use crate::context::Context;
use crate::failure::Failure;
use crate::inputs;
use crate::questions::QuestionArgs;
use crate::running::{Manner, with_host};

/// Switches claude-loop's MCP support on when it is `true`.
const ENABLE_MCP: &str = "ENABLE_MCP";

/// Answer as another program's MCP client does
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    program: Program,
}

#[derive(Debug, Subcommand)]
enum Program {
    ClaudeLoop(ClaudeLoop),
}

/// claude-loop's `mcp_client.py`, with helve's servers, rules and trust behind it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
MCP is off, as in claude-loop, unless ENABLE_MCP=true is set or --enable-mcp is given: `list` then prints {} and `call` fails.")]
struct ClaudeLoop {
    /// Use MCP although ENABLE_MCP is not `true`
    #[arg(long, global = true)]
    enable_mcp: bool,

    /// The same as `list`
    #[arg(long)]
    list_mcp_tools: bool,

    #[command(subcommand)]
    request: Option<Request>,
}

#[derive(Debug, Subcommand)]
enum Request {
    /// Print {server: [{name, description, inputSchema}]}
    List,
    Call(Call),
}

/// Call a tool, and print {success, content, isError}
#[derive(Debug, clap::Args)]
struct Call {
    #[arg(long, value_name = "SERVER", value_parser = server_name)]
    server: ServerName,

    #[arg(long, value_name = "TOOL")]
    tool: String,

    /// The arguments, as JSON
    #[arg(long, value_name = "JSON", default_value = "{}")]
    params: String,

    #[command(flatten)]
    questions: QuestionArgs,
}

fn server_name(text: &str) -> Result<ServerName, String> {
    ServerName::new(text).map_err(|error| error.to_string())
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let Program::ClaudeLoop(args) = &args.program;
    let is_enabled = args.enable_mcp || context.env.variable(ENABLE_MCP) == Some("true");
    match &args.request {
        Some(Request::Call(call)) => call_tool(context, call, is_enabled),
        Some(Request::List) => list_tools(context, is_enabled),
        None if args.list_mcp_tools => list_tools(context, is_enabled),
        None => Err(Failure::usage("say what to do: `list`, `call` or `--list-mcp-tools`")),
    }
}

/// Every server with its tools, in the order of the configuration. A server that cannot be asked has none, and the person is
/// told why.
fn list_tools(context: &Context, is_enabled: bool) -> Result<(), Failure> {
    if !is_enabled {
        return context.printer.data("{}\n");
    }
    let configuration = inputs::load(context, |_| true)?;
    context.report_problems(&configuration);
    let catalog = list(context, &configuration, &[], Depth::Definitions, Freshness::Fresh)?;
    for server in &catalog.servers {
        if let Tools::Missing(failure) = &server.tools
            && !failure.is_a_choice()
        {
            context.printer.warning(failure.message());
            failure.hints().iter().for_each(|hint| context.printer.hint(hint));
        }
    }
    context.printer.data(&tools_by_server(&catalog))
}

/// Written by hand, since the order of servers and members is part of the form.
fn tools_by_server(catalog: &Catalog) -> String {
    let mut text = String::from("{");
    for server in catalog.servers.iter().filter(|server| !is_off(&server.tools)) {
        let is_hidden = catalog.rules.hidden_of(&server.name);
        let tools: Vec<String> = server
            .definitions()
            .iter()
            .filter(|tool| !is_hidden(tool.name().as_str()) && !server.has_changed(tool, &catalog.pins))
            .map(|tool| {
                let view = tool.view();
                let schema = view.input_schema.as_ref().map_or("{}", RawJson::as_str);
                let (name, description) = (json!(tool.name().as_str()), json!(view.description));
                format!(
                    "    {{\n      \"name\": {name},\n      \"description\": {description},\n      \"inputSchema\": {schema}\n    }}"
                )
            })
            .collect();
        let comma = if text.len() > 1 { "," } else { "" };
        let name = json!(server.name.as_str());
        let list = if tools.is_empty() { "[]".to_owned() } else { format!("[\n{}\n  ]", tools.join(",\n")) };
        // Writing into a String cannot fail.
        let _: std::fmt::Result = write!(text, "{comma}\n  {name}: {list}");
    }
    text.push_str(if text.len() > 1 { "\n}\n" } else { "}\n" });
    text
}

/// claude-loop leaves out what is switched off.
fn is_off(tools: &Tools) -> bool {
    matches!(tools, Tools::Missing(failure) if failure.is_a_choice())
}

fn call_tool(context: &Context, call: &Call, is_enabled: bool) -> Result<(), Failure> {
    let outcome = if is_enabled {
        answer_of(context, call)
    } else {
        Err(Failure::new(ErrorCode::ServerDisabled, "MCP is off: set ENABLE_MCP=true, or give --enable-mcp"))
    };
    match outcome {
        Ok((content, is_error)) => context
            .printer
            .data(&format!("{{\n  \"success\": true,\n  \"content\": {content},\n  \"isError\": {is_error}\n}}\n")),
        Err(failure) => {
            let hints = context.printer.words.say_all(failure.hints());
            let said: Vec<&str> = std::iter::once(failure.message()).chain(hints.iter().map(String::as_str)).collect();
            let content = json!([{ "type": "text", "text": said.join("\n") }]);
            context
                .printer
                .data(&format!("{{\n  \"success\": false,\n  \"content\": {content},\n  \"isError\": true\n}}\n"))?;
            Err(failure.said())
        }
    }
}

/// The content blocks a tool answered with, and whether it says that it failed.
fn answer_of(context: &Context, call: &Call) -> Result<(String, bool), Failure> {
    let arguments = RawJson::checked(call.params.clone())
        .map_err(|error| Failure::usage("--params is not valid JSON").cause(&error))?;
    let configuration = inputs::load(context, |server| *server == call.server)?;
    context.report_problems_of(&configuration, |server| *server == call.server);
    let name = format!("{}/{}", Spelling::Slash.render_server(&call.server), call.tool);
    let manner = Manner::answering(&call.questions);
    let outcome = with_host(context, &configuration, Wanted::OnDemand, manner, async |host| {
        let context = context.call().with(|context| context.uncut = true);
        Ok(host.call(&name, arguments, context).await?)
    })?;
    let content =
        outcome.outcome.raw().member("content").map_or_else(|| "[]".to_owned(), |content| content.to_string());
    Ok((content, outcome.outcome.is_error()))
}
