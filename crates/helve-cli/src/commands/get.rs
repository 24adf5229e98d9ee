//! `helve get`: one server as it is configured, and where each part of that comes from. Secrets stay hidden.

use helve_config::trust::ServerTrust;
use helve_config::{Code, ConfiguredServer, Diagnostic, ShadowReason};
use helve_model::Listed;
use helve_setup::held_text;
use serde_json::{Value, json};

use crate::confinement::Confinement;
use crate::context::Context;
use crate::describe::{self, Detail, Secrets};
use crate::failure::Failure;
use crate::sign_ins::described;

/// Show how one server is configured, and where
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which one; NAME@APP and APP:NAME find hidden ones
    #[arg(value_name = "SERVER")]
    server: String,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let configuration = context.load()?;
    let server = context.server(&configuration, &args.server)?;
    let hidden: Vec<(String, &'static str)> = describe::hidden_by(&configuration, server)
        .map(|shadowed| (context.shown(&shadowed.server.origin), reason(shadowed.reason)))
        .collect();
    if context.printer.is_json() {
        let mut object = describe::as_json(context, server);
        if let Value::Object(object) = &mut object {
            let hides = describe::hidden_by(&configuration, server);
            let origins: Vec<Value> = hides.map(|shadowed| describe::origin(&shadowed.server.origin)).collect();
            object.insert("hides".to_owned(), json!(origins));
            let confined = server.spec.as_ref().filter(|spec| spec.sandbox.is_some());
            object.extend(confined.map(|spec| ("sandbox".to_owned(), Confinement::new(context).json(spec))));
        }
        return context.printer.json(&object);
    }
    // A server that is off may lack what it needs.
    let is_off = server.disabled_by.is_some();
    let counts = |problem: &&Diagnostic| !(is_off && matches!(problem.code, Code::UnsetVariable | Code::NeedsInput));
    context.report(server.diagnostics.iter().filter(counts));
    let mut details: Vec<Detail> = vec![
        ("server", vec![server.name.to_string()]),
        ("state", vec![state(context, server)]),
        ("from", vec![format!("{} ({}, {} layer)", context.shown(&server.origin), server.application, server.layer)]),
    ];
    if let Some(spec) = &server.spec {
        details.push(("via", vec![describe::transport(&spec.transport).to_owned()]));
        details.extend(describe::details(context, spec, Secrets::Hidden));
        details.extend(Confinement::new(context).details(context, spec));
        details.extend(list_origins(context, server));
    }
    if let Some(spec) = &server.spec
        && let Some(login) = context.credentials().and_then(|credentials| credentials.facts(spec).ok()?)
    {
        details.push(("signed in", vec![described(context, &login)]));
    }
    if !server.rules.is_empty() {
        let rule =
            |rule: &helve_model::Rule| format!("{} {} ({})", rule.action, rule.tool, context.shown(&rule.origin));
        details.push(("rules", server.rules.iter().map(rule).collect()));
    }
    if !hidden.is_empty() {
        let line = |(origin, reason): &(String, &str)| format!("{origin} ({reason})");
        details.push(("hides", hidden.iter().map(line).collect()));
    }
    describe::print(context, &details, "")
}

fn state(context: &Context, server: &ConfiguredServer) -> String {
    let trusted = if server.trust == ServerTrust::Trusted { " (trusted)" } else { "" };
    match (context.setup.held(server), &server.disabled_by) {
        (None, _) => format!("on{trusted}"),
        (Some(reason), Some(by)) => format!("{}, at {}", held_text(Some(&reason)), context.shown(by)),
        (Some(reason), None) => reason.to_string(),
    }
}

/// Lists may come from elsewhere than the server's own line; only then it matters where.
fn list_origins(context: &Context, server: &ConfiguredServer) -> Option<Detail> {
    let access = &server.spec.as_ref()?.access;
    let lists = [("tools", &access.tools), ("write_tools", &access.write_tools)];
    let named = lists.into_iter().filter_map(|(name, list)| Some((name, list.as_deref()?)));
    let all = named.chain([("disabled_tools", access.disabled_tools.as_slice())]);
    let shown = |(name, list): (&str, &[Listed])| {
        let first = list.first()?;
        Some(format!("{name} at {}", context.shown(&first.origin)))
    };
    let lines: Vec<String> = all.filter_map(shown).collect();
    (!lines.is_empty()).then_some(("written", lines))
}

const fn reason(reason: ShadowReason) -> &'static str {
    match reason {
        ShadowReason::Same => "the same server",
        ShadowReason::HigherLayer => "in a lower layer",
        ShadowReason::EarlierFile => "in a later file",
        ShadowReason::Untrusted => "not trusted",
    }
}
