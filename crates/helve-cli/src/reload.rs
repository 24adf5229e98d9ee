//! What a person hears when a changed configuration file reaches a running host.

use helve::{Plan, ServerChanges};
use helve_config::ConfiguredHub;
use helve_model::ServerName;
use helve_setup::Reloader;

use crate::context::Context;
use crate::printer::Line;

/// One look; a change is told and applied. A configuration that cannot be used changes nothing. Gives the hubs that were
/// joined, where a configuration was applied.
pub(crate) async fn look(
    context: &Context,
    reloader: &mut Reloader,
    apply: impl AsyncFnOnce(Plan) -> ServerChanges,
) -> Option<Vec<ConfiguredHub>> {
    let reload = reloader.look().await?;
    context.printer.words.learn(&reload.configuration);
    if reload.is_usable {
        context.report_problems(&reload.configuration);
    }
    let plan = match reload.plan {
        Ok(plan) => plan,
        Err(error) => {
            context.printer.warning(format!("the changed configuration is not used: {error}"));
            return None;
        }
    };
    let changes = apply(plan).await;
    let names = |names: &[ServerName]| names.iter().map(ServerName::as_str).collect::<Vec<_>>().join(", ");
    for (what, servers) in [("added", &changes.added), ("removed", &changes.removed), ("changed", &changes.changed)] {
        if !servers.is_empty() {
            context.printer.say(&Line::plain(format!("{what}: {}", names(servers))));
        }
    }
    for (server, error) in &changes.errors {
        context.printer.warning(format!("{server}: {}", error.chain()));
    }
    Some(reload.configuration.hubs)
}
