//! Whom a hub's changed configuration is handed to, and when it is looked for: soon, and at once after an edit of its own.

use helve::{Host, Plan, ServerChanges};
use helve_hub::Hub;
use helve_serve::Gateway;

use crate::commands::serve::Reloads;

/// The gateway of a hub, with the hub that knows of edits.
pub(super) struct HubReloads<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) hub: &'a Hub,
}

impl Reloads for HubReloads<'_> {
    fn started(&self) -> Option<Host> {
        self.gateway.started()
    }

    async fn apply(&self, plan: Plan) -> ServerChanges {
        self.gateway.apply(plan).await
    }

    async fn changed(&self) {
        self.hub.edited().await;
    }

    async fn looking<T>(&self, look: impl Future<Output = T>) -> T {
        self.hub.follow(look).await
    }
}
