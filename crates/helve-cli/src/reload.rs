//! What a person hears when a changed configuration file reaches a running host.

use helve::{Plan, ServerChanges};
use helve_model::ServerName;
use helve_setup::Reloader;

use crate::context::Context;
use crate::printer::Line;

/// One look; a change is told and applied. A configuration that cannot be used changes nothing.
pub(crate) async fn look(context: &Context, reloader: &mut Reloader, apply: impl AsyncFnOnce(Plan) -> ServerChanges) {
    let Some(reload) = reloader.look().await else { return };
    context.printer.words.learn(&reload.configuration);
    if reload.is_usable {
        context.report_problems(&reload.configuration);
    }
    let plan = match reload.plan {
        Ok(plan) => plan,
        Err(error) => return context.printer.warning(format!("the changed configuration is not used: {error}")),
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
}
