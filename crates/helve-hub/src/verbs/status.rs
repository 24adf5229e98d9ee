//! The hub itself: how it is doing.

use helve_store::{Health, Moment, Sizes};

use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;

/// How the hub is doing.
#[derive(Debug, Clone)]
pub struct HubStatus {
    /// Its address.
    pub address: String,
    /// The program's version.
    pub version: String,
    /// When it started.
    pub started: Moment,
    /// Servers that are connected, of all.
    pub servers: (usize, usize),
    /// Sessions of agents.
    pub agents: usize,
    /// Sessions of the page.
    pub sessions: usize,
    /// How the store is doing.
    pub health: Health,
    /// How large it is.
    pub sizes: Sizes,
}

/// How the hub is doing.
///
/// # Errors
/// The store cannot be read.
pub fn status(hub: &Hub, _actor: &Actor) -> Result<HubStatus, HubError> {
    let reports = hub.host().status();
    let connected = reports.iter().filter(|report| report.status == helve_model::ServerStatus::Connected).count();
    Ok(HubStatus {
        address: hub.options.address.clone(),
        version: hub.options.version.clone(),
        started: hub.started,
        servers: (connected, reports.len()),
        agents: hub.face.sessions(),
        sessions: hub.sessions.len(),
        health: hub.store.health(),
        sizes: hub.store.sizes()?,
    })
}
