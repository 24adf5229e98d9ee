//! What a hub says of its servers, read as what a stranger says: bounded, plain names, none twice. What does not fit is left
//! out, and the rest counts.

use std::collections::BTreeSet;

use helve_model::ErrorCode;
use helve_wire::Error as WireError;
use serde::{Deserialize, Serialize};

/// The kind of the events that list servers.
pub(super) const EVENT: &str = "servers";

/// Servers of one hub that are taken; further ones are left out.
pub(crate) const MOST_SERVERS: usize = 256;

/// The longest name of a server.
const NAME_BYTES: usize = 64;

/// The longest mark of a server's lists.
const MARK_BYTES: usize = 64;

/// Marks behind which a name is written otherwise than it looks.
const NAME_MARKS: &str = "-_.@/:+ ";

/// The servers that a hub has for whoever asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HubList {
    /// Sorted by name.
    pub servers: Vec<HubServer>,
    /// How many had no name that can be taken, or were too many.
    pub left_out: usize,
}

/// A server of a hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubServer {
    /// Its name at the hub.
    pub name: String,
    /// Changes when what it lists does.
    pub lists: String,
}

#[derive(Deserialize)]
struct Said {
    servers: Vec<serde_json::Value>,
}

impl HubList {
    /// Reads what a hub says.
    ///
    /// # Errors
    /// It is not such a list at all.
    pub(super) fn read(data: &[u8]) -> Result<Self, WireError> {
        let said: Said = serde_json::from_slice(data).map_err(|error| {
            WireError::new(ErrorCode::ProtocolError, "what it says of its servers cannot be read").with_source(error)
        })?;
        let mut list = Self::default();
        let mut names = BTreeSet::new();
        for server in said.servers {
            let server = serde_json::from_value::<HubServer>(server).ok().filter(is_usable);
            match server {
                // Two that differ in upper and lower case alone would look like one.
                Some(server) if list.servers.len() < MOST_SERVERS && names.insert(server.name.to_ascii_lowercase()) => {
                    list.servers.push(server);
                }
                _ => list.left_out += 1,
            }
        }
        list.servers.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(list)
    }
}

fn is_usable(server: &HubServer) -> bool {
    let name = server.name.as_str();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || NAME_MARKS.contains(character);
    let is_mark = |byte: u8| byte.is_ascii_graphic();
    !name.is_empty()
        && name.len() <= NAME_BYTES
        && name.chars().all(is_plain)
        && name.chars().any(|character| character.is_ascii_alphanumeric())
        && name.trim() == name
        && !name.contains("  ")
        && server.lists.len() <= MARK_BYTES
        && server.lists.bytes().all(is_mark)
}
