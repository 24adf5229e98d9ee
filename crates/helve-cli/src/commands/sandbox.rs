//! `helve sandbox check`: starts a server in its sandbox, and shows what it may touch, what it was refused, and what it said.

use helve::Host;
use helve_model::{SandboxSpec, ServerSpec, ServerStatus};
use helve_sandbox::Plan;
use helve_setup::Wanted;
use serde_json::{Value, json};

use crate::confinement::Confinement;
use crate::context::Context;
use crate::describe::{self, Detail};
use crate::failure::Failure;
use crate::inputs;
use crate::printer::{Line, Style};
use crate::progress::Meter;
use crate::running::{Manner, settled, with_host};

/// Look at what a server's sandbox holds
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Check(Check),
}

/// Start a server in its sandbox, and show its rules and what they refused
#[derive(Debug, clap::Args)]
struct Check {
    /// Which one
    #[arg(value_name = "SERVER")]
    server: String,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let What::Check(check) = &args.what;
    let name = check.server.as_str();
    let configuration = inputs::load(context, |server| server.as_str() == name)?;
    let server = context.server(&configuration, name)?;
    let confined = server.spec.as_ref().filter(|spec| spec.sandbox.as_ref().is_some_and(SandboxSpec::is_on));
    let Some(spec) = confined else {
        return Err(Failure::other(format!("the server `{name}` has no sandbox"))
            .hint(format!("write `sandbox = \"standard\"` into its entry at {}", context.shown(&server.origin))));
    };
    let plan = Confinement::new(context).plan(spec)?;
    let Some(plan) = plan else { return Ok(()) };
    let only = [spec.name.to_string()];
    with_host(context, &configuration, Wanted::Only(&only), Manner::reporting(), async |host| {
        Meter::new(context).during("connecting", settled(context, host)).await;
        tell(context, host, spec, &plan)
    })
}

fn tell(context: &Context, host: &Host, spec: &ServerSpec, plan: &Plan) -> Result<(), Failure> {
    let name = spec.name.as_str();
    let Some(report) = host.server_status(name) else { return Err(Failure::other(format!("`{name}` is not there"))) };
    let refused = host.refused_hosts(name);
    let tools: Vec<String> = match host.snapshot().server(name) {
        Some(entry) => entry.all_tools().map(|tool| tool.name().tool.to_string()).collect(),
        None => Vec::new(),
    };
    let is_up = report.status == ServerStatus::Connected;
    if context.printer.is_json() {
        let grants: Vec<Value> = plan
            .rules
            .grants
            .iter()
            .map(|grant| json!({"path": grant.path.to_string_lossy(), "access": grant.access.as_str()}))
            .collect();
        context.printer.json(&json!({
            "server": name,
            "state": report.status.word(),
            "sandbox": Confinement::new(context).json(spec),
            "grants": grants,
            "refusedHosts": refused,
            "tools": tools,
            "hints": context.printer.words.say_all(&report.hints),
            "stderr": report.stderr,
        }))?;
    } else {
        let mut details: Vec<Detail> =
            vec![("server", vec![name.to_owned()]), ("state", vec![report.status.to_string()])];
        details.extend(Confinement::new(context).details(context, spec));
        let system =
            |path: &std::path::Path| ["/usr", "/etc", "/proc", "/sys", "/dev"].iter().any(|own| path.starts_with(own));
        let grants = plan.rules.grants.iter().filter(|grant| !system(&grant.path));
        details.push((
            "may",
            grants
                .map(|grant| format!("{} {}", grant.access.as_str(), context.env.shown(&grant.path)))
                .chain(["read the system".to_owned()])
                .collect(),
        ));
        if !refused.is_empty() {
            details.push(("refused hosts", refused));
        }
        details.push(("tools", vec![if tools.is_empty() { "none".to_owned() } else { tools.join(", ") }]));
        describe::print(context, &details, "")?;
        if let Some(log) = &report.stderr {
            context.printer.line(&Line::styled(Style::Heading, "its stderr"))?;
            context.printer.block(&format!("{}\n", log.trim_end()))?;
        }
        for hint in &report.hints {
            context.printer.hint(hint);
        }
    }
    if is_up { Ok(()) } else { Err(Failure::new(helve_model::ErrorCode::ServerUnavailable, "").said()) }
}
