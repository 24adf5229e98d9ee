//! `helve pin`: tool definitions the person accepted. A tool whose definition changed since is not called before they
//! looked at what changed.

use helve_model::{Definition as _, ErrorCode, QualifiedName};
use helve_policy::pin::{DefinitionHash, diff};
use helve_setup::store::pins::PinFile;
use helve_setup::{Depth, Freshness};
use serde_json::{Value, json};

use crate::catalog::{Tools, list};
use crate::context::Context;
use crate::failure::Failure;
use crate::printer::{Line, Style, Table};
use crate::prompt;

/// Pin tool definitions, and look at what changed
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without names it lists what is pinned. With a server or a tool it asks the server, shows what is new or changed, and
pins it after a yes. A pinned tool with another definition is refused until then.")]
pub(crate) struct Args {
    /// A server, or a tool as server/tool
    #[arg(value_name = "SERVER|TOOL")]
    names: Vec<String>,

    /// Accept everything without a question
    #[arg(short, long)]
    yes: bool,

    /// Take pins back
    #[arg(long)]
    forget: bool,
}

/// One tool that is not pinned as it is now.
struct News {
    /// The project the server belongs to.
    project: Option<String>,
    name: QualifiedName,
    definition: String,
    /// What changed, each a line; nothing for a tool that was not pinned.
    changes: Vec<String>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    if args.names.is_empty() {
        return show(context);
    }
    if args.forget {
        return forget(context, &args.names);
    }
    let configuration = context.load()?;
    let servers: Vec<String> = args
        .names
        .iter()
        .map(|name| name.split_once('/').map_or(name.as_str(), |(server, _)| server).to_owned())
        .collect();
    context.report_problems_of(&configuration, |server| servers.iter().any(|name| name == server.as_str()));
    let catalog = list(context, &configuration, &servers, Depth::Definitions, Freshness::Asked)?;
    let pins = context.stores()?.read::<PinFile>()?;
    let mut news = Vec::new();
    let mut known = Vec::new();
    let mut missing = Vec::new();
    for server in catalog.servers {
        if let Tools::Missing(failure) = server.tools {
            missing.push((server.name, failure));
            continue;
        }
        let project = context.setup.pin_project(&configuration, &server.name);
        for definition in server.definitions() {
            let name = QualifiedName::new(server.name.clone(), definition.name().clone());
            if !args.names.iter().any(|wanted| *wanted == name.to_string() || wanted == server.name.as_str()) {
                continue;
            }
            known.push(name.to_string());
            let now = definition.raw().as_str();
            match pins.get(project.as_deref(), &name) {
                Some(pin) if DefinitionHash::of(&pin.definition) == DefinitionHash::of(now) => {}
                pin => news.push(News {
                    project: project.clone(),
                    name,
                    definition: now.to_owned(),
                    changes: pin
                        .map(|pin| diff(&pin.definition, now).iter().map(ToString::to_string).collect())
                        .unwrap_or_default(),
                }),
            }
        }
    }
    let is_missing = |name: &str| missing.iter().any(|(server, _)| server.as_str() == name);
    for name in &args.names {
        if let Some((server, tool)) = name.split_once('/')
            && !known.contains(name)
            && !is_missing(server)
        {
            let message = format!("the server `{server}` has no tool `{tool}`");
            return Err(Failure::new(ErrorCode::ToolNotFound, message)
                .at_server(server)
                .at_tool(tool)
                .hint(format!("`helve tools {server}` lists what there is")));
        }
    }
    // A server that cannot be asked has nothing to pin; it is a failure unless there is something else.
    for (_, failure) in missing {
        if news.is_empty() {
            return Err(*failure);
        }
        context.printer.warning(failure.message());
    }
    if news.is_empty() {
        context.printer.say(&Line::plain("Every tool is as it was pinned."));
        return if context.printer.is_json() { context.printer.json(&json!([])) } else { Ok(()) };
    }
    tell(context, &news)?;
    // What was printed is the answer for a program; it takes a second call with --yes to accept it.
    if !args.yes && context.printer.is_json() {
        return Err(Failure::new(ErrorCode::Denied, "nothing was pinned").said());
    }
    if !args.yes && !prompt::confirm(context, &format!("Pin {} as now?", counted(news.len())))? {
        return Err(Failure::new(ErrorCode::Denied, "nothing was pinned"));
    }
    context.stores()?.update(|file: &mut PinFile| {
        for tool in &news {
            file.accept(tool.project.as_deref(), &tool.name, &tool.definition);
        }
    })?;
    context.printer.say(&Line::plain(format!("{} pinned.", counted(news.len()))));
    Ok(())
}

fn tell(context: &Context, news: &[News]) -> Result<(), Failure> {
    if context.printer.is_json() {
        let tools: Vec<Value> = news
            .iter()
            .map(|tool| json!({"name": tool.name.to_string(), "new": tool.changes.is_empty(), "changes": tool.changes}))
            .collect();
        return context.printer.json(&tools);
    }
    for tool in news {
        let what = if tool.changes.is_empty() { "new" } else { "changed" };
        let line = Line::styled(Style::Name, tool.name.to_string()).then(Style::Warning, format!("  {what}"));
        context.printer.line(&line)?;
        for change in &tool.changes {
            context.printer.line(&Line::plain(format!("  {change}")))?;
        }
    }
    Ok(())
}

fn show(context: &Context) -> Result<(), Failure> {
    let file = context.stores()?.read::<PinFile>()?;
    if context.printer.is_json() {
        return context.printer.json(&file.as_json());
    }
    let mut pins: Vec<(QualifiedName, String)> = file
        .pins()
        .iter()
        .filter_map(|pin| Some((pin.tool()?, DefinitionHash::of(&pin.definition).to_string())))
        .collect();
    pins.sort();
    let mut table = Table::new(["TOOL", "DEFINITION"]);
    for (name, hash) in &pins {
        let short: String = hash.chars().take(16).collect();
        table.row([Line::styled(Style::Name, name.to_string()), Line::plain(short)]);
    }
    context.printer.table(&table)?;
    if pins.is_empty() {
        context.printer.say(&Line::plain("No tool is pinned."));
        context.printer.hint("`helve pin SERVER` pins the tools of a server as they are now");
    }
    Ok(())
}

fn forget(context: &Context, names: &[String]) -> Result<(), Failure> {
    let forgotten = context.stores()?.update(|file: &mut PinFile| {
        file.forget(|pin| {
            pin.tool()
                .is_some_and(|tool| names.iter().any(|name| *name == tool.to_string() || name == tool.server.as_str()))
        })
    })?;
    context.printer.say(&Line::plain(format!("{} no longer pinned.", counted(forgotten.len()))));
    Ok(())
}

fn counted(number: usize) -> String {
    if number == 1 { "1 tool".to_owned() } else { format!("{number} tools") }
}
