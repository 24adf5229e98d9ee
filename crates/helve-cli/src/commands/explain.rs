//! `helve explain`: why a call may run, must be asked for, or may not; with every rule on the way.

use helve_config::Configuration;
use helve_model::json::RawJson;
use helve_model::text::one_line;
use helve_model::{Principal, QualifiedName, TransportSpec};
use helve_policy::{ArgumentPlace, CalledBy, Caller, Explanation, Finding, Whereabouts};
use helve_setup::Freshness;
use serde_json::{Value, json};

use super::call::{ToolArgs, arguments};
use crate::catalog::find;
use crate::context::Context;
use crate::describe;
use crate::failure::Failure;
use crate::running::{block_on, bounded};
use crate::spelling::may_mean;

/// Explain the decision about a call
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    called: ToolArgs,

    /// The caller
    #[arg(long, value_enum, default_value_t, value_name = "WHO")]
    caller: Who,

    /// On whose behalf: token:NAME or local, as rules say it in `who`; agent:NAME is what a client calls itself
    #[arg(long = "as", value_name = "WHO")]
    behalf: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum Who {
    /// A model
    #[default]
    Agent,
    /// Somebody at a terminal
    Person,
    /// A program that nobody watches
    Script,
    /// A tag in a prompt
    Tag,
}

/// On whose behalf a call is made.
#[derive(Debug, Default)]
struct Behalf {
    principal: Principal,
    /// What the client calls itself.
    agent: Option<String>,
}

impl Behalf {
    fn parse(text: &str) -> Result<Self, Failure> {
        match text.split_once(':') {
            None if text == "local" => Ok(Self::default()),
            Some(("token", name)) if !name.is_empty() => Ok(Self { principal: Principal::token(name), agent: None }),
            Some(("agent", name)) if !name.is_empty() => Ok(Self { agent: Some(name.to_owned()), ..Self::default() }),
            _ => Err(Failure::usage(format!("--as cannot be `{}`", one_line(text)))
                .hint("write --as token:NAME, --as local or --as agent:NAME")),
        }
    }
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let configuration = context.load()?;
    context.report_problems_of(&configuration, |server| may_mean(&args.called.tool, server));
    let found = find(context, &configuration, &args.called.tool, Freshness::Recent)?;
    let name = found.tool.name();
    let view = found.tool.view();
    let schema = view.input_schema.as_ref().map_or("{}", RawJson::as_str);
    let reading = arguments(context, name, schema, &args.called.words, args.called.args.as_deref());
    let arguments = block_on(bounded(context, reading))?;
    let caller = match args.caller {
        Who::Agent => Caller::Agent,
        Who::Person => Caller::Person,
        Who::Script => Caller::Script,
        Who::Tag => Caller::PromptTag,
    };
    let places = block_on(bounded(context, places(context, &configuration, name, &arguments)))?;
    let whereabouts = Whereabouts { places, ..Whereabouts::default() };
    let behalf = args.behalf.as_deref().map_or(Ok(Behalf::default()), Behalf::parse)?;
    let party = CalledBy { agent: behalf.agent.as_deref(), ..CalledBy::new(caller, &behalf.principal) };
    let mut explanation = found.tool.policy().explain_settled(party, &arguments, &whereabouts, found.settled());
    // The command line says hints in its own words.
    let hints = context.printer.words.say_all(&std::mem::take(&mut explanation.hints));
    if context.printer.is_json() {
        return context.printer.json(&as_json(&explanation, &hints));
    }
    let hints: String = hints.iter().map(|hint| format!("hint: {hint}\n")).collect();
    context.printer.block(&format!("{explanation}{hints}"))
}

/// The places that a tool of our own finds its arguments to name, as at a call.
async fn places(
    context: &Context,
    configuration: &Configuration,
    name: &QualifiedName,
    arguments: &RawJson,
) -> Result<Vec<ArgumentPlace>, Failure> {
    let plan = context.setup.plan(configuration)?;
    let Some(planned) = plan.servers.iter().find(|planned| planned.spec.name == name.server) else {
        return Ok(Vec::new());
    };
    let TransportSpec::Builtin(builtin) = &planned.spec.transport else { return Ok(Vec::new()) };
    let toolbox = helve_builtin::open(&planned.spec, builtin, context.env.working_directory())?;
    let position = toolbox.definitions().iter().position(|definition| *definition.name() == name.tool);
    match position.and_then(|position| toolbox.tools().get(position)) {
        Some(tool) => Ok(tool.places(arguments).await),
        None => Ok(Vec::new()),
    }
}

fn as_json(explanation: &Explanation, hints: &[String]) -> Value {
    let QualifiedName { server, tool } = &explanation.name;
    let steps: Vec<Value> = explanation
        .steps
        .iter()
        .map(|step| {
            let (finding, because) = match &step.finding {
                Finding::Decides(action) => ("decides", Some(action.to_string())),
                Finding::Overruled(reason) => ("overruled", Some(reason.clone())),
                Finding::Ignored(reason) => ("ignored", Some(reason.clone())),
                Finding::NoMatch(reason) => ("no match", Some(reason.clone())),
                Finding::NotReached => ("not reached", None),
            };
            json!({
                "what": step.what,
                "origin": step.origin.as_ref().map(describe::origin),
                "finding": finding,
                "because": because,
            })
        })
        .collect();
    json!({
        "name": explanation.name.to_string(),
        "server": server.as_str(),
        "tool": tool.as_str(),
        "caller": explanation.caller.to_string(),
        "as": explanation.principal.id(),
        "action": explanation.action.to_string(),
        "risk": explanation.ground.risk.to_string(),
        "because": explanation.ground.decider.to_string(),
        "origin": explanation.ground.decider.origin().map(describe::origin),
        "matched_as": explanation.matched_as,
        "steps": steps,
        "hints": hints,
    })
}
