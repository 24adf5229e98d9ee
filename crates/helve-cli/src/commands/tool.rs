//! `helve tool`: everything about one tool: what it takes, what it claims, what may be done with it.

use helve_model::name::Spelling;
use helve_model::{Action, Definition as _, NameTable};
use helve_policy::Caller;
use helve_render::{Style as SignatureStyle, signature};
use helve_setup::Freshness;
use serde_json::{Value, json};

use super::tools::with_entry;
use crate::catalog::find;
use crate::context::Context;
use crate::failure::Failure;
use crate::inputs;
use crate::printer::{Line, Style};
use crate::spelling::may_mean;

/// What a signature may cost, in tokens.
const SIGNATURE_TOKENS: usize = 400;

/// Show one tool: schema, annotations, risk, decision
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The tool: server/tool, or any other spelling
    #[arg(value_name = "TOOL")]
    tool: String,

    /// Ask the server again, however new its kept list is
    #[arg(long, alias = "refresh")]
    fresh: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let configuration = inputs::load(context, |server| may_mean(&args.tool, server))?;
    context.report_problems_of(&configuration, |server| may_mean(&args.tool, server));
    let freshness = match (args.fresh, context.printer.is_json()) {
        (true, _) => Freshness::Asked,
        (false, true) => Freshness::Fresh,
        (false, false) => Freshness::Recent,
    };
    let found = find(context, &configuration, &args.tool, freshness)?;
    let (tool, name) = (&found.tool, found.tool.name());
    let (server, definition, policy, view) = (&name.server, tool.definition(), tool.policy(), tool.view());
    let names = NameTable::new([name.clone()]);
    let spelled = |spelling| names.spell(name, spelling).unwrap_or_default();
    let decision = |caller| {
        let foreseen = policy.foresee_settled(caller, found.settled());
        foreseen.map(|(action, ground)| (action, ground.decider.to_string()))
    };
    if context.printer.is_json() {
        let decided = |caller| match decision(caller) {
            Some((action, because)) => json!({"action": action.to_string(), "because": because}),
            None => json!({"action": Value::Null, "because": "it depends on the arguments"}),
        };
        return context.printer.json(&json!({
            "name": name.to_string(),
            "server": server.as_str(),
            "tool": name.tool.as_str(),
            "spellings": Spelling::ALL.map(spelled),
            "hidden": policy.hidden().map(ToString::to_string),
            "risk": policy.risk().to_string(),
            "decision": {"agent": decided(Caller::Agent), "person": decided(Caller::Person)},
            "warnings": view.warnings,
            "definition": definition.raw(),
        }));
    }
    let printer = &context.printer;
    let line =
        with_entry(definition, name.tool.as_str(), |entry| signature(entry, SignatureStyle::Line, SIGNATURE_TOKENS));
    printer.line(&Line::styled(Style::Name, name.to_string()))?;
    printer.line(&Line::plain(format!("  {line}")))?;
    if let Some(description) = &view.description {
        printer.block(&format!("\n{}\n", description.trim_end()))?;
    }
    printer.line(&Line::plain(""))?;
    let mut facts: Vec<(&str, String)> =
        vec![("spelled", Spelling::ALL.map(spelled).join("  ")), ("risk", policy.risk().to_string())];
    if let Some(decider) = policy.hidden() {
        facts.push(("hidden", decider.to_string()));
    }
    for (who, caller) in [("an agent", Caller::Agent), ("you", Caller::Person)] {
        let text = match decision(caller) {
            Some((action, because)) => format!("{who}: {} ({because})", verb(action)),
            None => format!("{who}: it depends on the arguments, see `helve explain {name}`"),
        };
        facts.push(("called by", text));
    }
    let claims = &view.annotations;
    let claimed: Vec<String> = [
        ("read-only", claims.read_only),
        ("destructive", claims.destructive),
        ("idempotent", claims.idempotent),
        ("open world", claims.open_world),
    ]
    .into_iter()
    .filter_map(|(what, claim)| claim.map(|claim| format!("{what}: {}", if claim { "yes" } else { "no" })))
    .collect();
    if !claimed.is_empty() {
        facts.push(("it claims", claimed.join(", ")));
    }
    for (what, text) in facts {
        printer.line(&Line::styled(Style::Dim, format!("{what:<10}")).then(Style::Plain, text))?;
    }
    for warning in &view.warnings {
        printer.warning(format!("its definition: {warning}"));
    }
    if let Some(schema) = &view.input_schema {
        printer.line(&Line::plain(""))?;
        printer.line(&Line::styled(Style::Heading, "takes"))?;
        printer.raw_json(schema)?;
    }
    if let Some(schema) = &view.output_schema {
        printer.line(&Line::styled(Style::Heading, "gives"))?;
        printer.raw_json(schema)?;
    }
    Ok(())
}

const fn verb(action: Action) -> &'static str {
    match action {
        Action::Allow => "allowed",
        Action::Ask => "asked first",
        Action::Deny => "denied",
    }
}
