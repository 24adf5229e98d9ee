//! Places: the servers of a hub come and go together, and whoever hears of the hub says so once for all of them.

use std::sync::Arc;
use std::time::Duration;

use helve_model::name::PlaceName;
use helve_model::sync::lock;
use helve_model::{ErrorCode, Hint, ServerName};

use crate::error::CallError;
use crate::event::HostEvent;
use crate::host::Host;
use crate::listings::ListAge;
use crate::server_handle::{Command, ServerHandle};

/// How long a server of a hub may take to list its tools again.
const LISTED_WITHIN: Duration = Duration::from_secs(30);

impl Host {
    /// The hub behind a place does not answer: its servers are down at once, what they listed stays visible, and calls are
    /// told why without waiting. No server is tried before [`Host::place_back`].
    pub fn place_away(&self, place: &PlaceName, why: &str) {
        for handle in self.of_place(place) {
            let message = format!("the hub `{place}` is away: {why}");
            let error = CallError::new(ErrorCode::ServerUnavailable, message)
                .at_server(handle.server())
                .with_hint(Hint::ShowHubs);
            handle.tell(Command::Away(Arc::new(error)));
        }
    }

    /// The hub behind a place answers again: its servers are connected now, those that wait for their first use at that.
    pub fn place_back(&self, place: &PlaceName) {
        for handle in self.of_place(place) {
            handle.tell(Command::Back);
        }
    }

    /// Somebody heard for these servers that their lists are others now: tools are listed again, and whoever listens hears
    /// of resources and prompts. For servers whose changes are not listened for one by one.
    pub async fn lists_changed(&self, servers: &[ServerName]) {
        for handle in self.shared().handles().iter().filter(|handle| servers.contains(handle.server())) {
            *lock(handle.prompts()) = None;
            let server = || handle.server().clone();
            let events = &self.shared().events;
            events.send(|| HostEvent::ResourcesChanged { server: server() });
            events.send(|| HostEvent::PromptsChanged { server: server() });
        }
        self.list_again(ListAge::AtMost(Duration::ZERO), LISTED_WITHIN, |server| servers.contains(server)).await;
    }

    fn of_place(&self, place: &PlaceName) -> Vec<Arc<ServerHandle>> {
        let mut handles = self.shared().handles();
        handles.retain(|handle| handle.server().place() == Some(place.as_str()));
        handles
    }
}
