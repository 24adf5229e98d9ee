//! The record as a whole: verified, exported, copied.

use std::io::Write;
use std::path::Path;

use helve_store::ChainReport;

use crate::actor::Actor;
use crate::error::HubError;
use crate::hub::Hub;

/// Looks at the whole chain of records.
///
/// # Errors
/// The store cannot be read.
pub fn verify(hub: &Hub, _actor: &Actor) -> Result<ChainReport, HubError> {
    Ok(hub.store.verify()?)
}

/// Writes all records as lines of JSON; gives how many calls.
///
/// # Errors
/// The store cannot be read, or the output cannot be written.
pub fn export(hub: &Hub, _actor: &Actor, output: &mut dyn Write) -> Result<u64, HubError> {
    Ok(hub.store.export(output)?)
}

/// Copies the store into a file that must not exist: for the user of this machine, whose file it becomes.
///
/// # Errors
/// Somebody else asks, the file exists, or cannot be written.
pub fn back_up(hub: &Hub, actor: &Actor, target: &Path) -> Result<(), HubError> {
    if *actor != Actor::Operator {
        return Err(HubError::forbidden("a backup is made at the machine itself"));
    }
    Ok(hub.store.back_up(target)?)
}
