//! What is known of a hub between runs: one small file each, beside the kept lists of its servers.

use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::hub_list::{HubList, HubServer, MOST_SERVERS};
use super::seconds;

/// The largest file that is read.
const FILE_BYTES: u64 = 512 << 10;

/// The longest reason that is kept.
const REASON_CHARACTERS: usize = 300;

/// What is known of a hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptHub {
    /// Its address at that time.
    pub url: String,
    /// When it was last heard, in seconds since 1970.
    pub heard: u64,
    /// Since when it does not answer, and why.
    #[serde(default)]
    pub away: Option<HubAway>,
    /// Its servers, when it was last heard.
    pub servers: Vec<KeptHubServer>,
}

/// A hub that does not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubAway {
    /// When that was first noticed, in seconds since 1970.
    pub since: u64,
    /// When it was last tried.
    pub tried: u64,
    /// Why, in a line.
    pub why: String,
}

/// A server of a hub, as it was last heard of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptHubServer {
    /// Its name at the hub.
    pub name: String,
    /// The mark of its lists.
    pub lists: String,
    /// When they were last known to change, in seconds since 1970.
    pub changed: u64,
}

impl KeptHub {
    pub(super) fn read(file: &Path) -> Option<Self> {
        let mut text = String::new();
        fs_err::File::open(file).ok()?.take(FILE_BYTES).read_to_string(&mut text).ok()?;
        let mut kept: Self = serde_json::from_str(&text).ok()?;
        kept.servers.truncate(MOST_SERVERS);
        Some(kept)
    }

    /// Keeps what a hub said, now; gives the servers whose lists are others than before.
    pub(super) fn keep(file: &Path, url: &str, list: &HubList, now: SystemTime) -> Vec<String> {
        let before = Self::read(file).filter(|kept| kept.url == url);
        let now = seconds(now);
        let known = |server: &HubServer| {
            let servers = &before.as_ref()?.servers;
            servers.iter().find(|known| known.name == server.name && known.lists == server.lists)
        };
        let mut changed = Vec::new();
        let servers = list.servers.iter().map(|server| {
            let since = known(server).map(|known| known.changed);
            if since.is_none() {
                changed.push(server.name.clone());
            }
            KeptHubServer { name: server.name.clone(), lists: server.lists.clone(), changed: since.unwrap_or(now) }
        });
        let kept = Self { url: url.to_owned(), heard: now, away: None, servers: servers.collect() };
        write(file, &kept);
        changed
    }

    /// Notes that a hub does not answer.
    pub(super) fn note_away(file: &Path, url: &str, why: &str, now: SystemTime) {
        let now = seconds(now);
        let nothing = || Self { url: url.to_owned(), heard: 0, away: None, servers: Vec::new() };
        let mut kept = Self::read(file).filter(|kept| kept.url == url).unwrap_or_else(nothing);
        let since = kept.away.as_ref().map_or(now, |away| away.since);
        let why = why.chars().take(REASON_CHARACTERS).collect();
        kept.away = Some(HubAway { since, tried: now, why });
        write(file, &kept);
    }

    /// True when a list that a server of this name gave at that time is what it would give now.
    #[must_use]
    pub fn is_current(&self, server: &str, listed: SystemTime) -> bool {
        let known = self.servers.iter().find(|known| known.name == server);
        known.is_some_and(|known| listed >= UNIX_EPOCH + Duration::from_secs(known.changed))
    }
}

/// Written whole or not at all. What cannot be kept is asked for next time.
fn write(file: &Path, kept: &KeptHub) {
    let written = || -> std::io::Result<()> {
        let directory = file.parent().unwrap_or(Path::new("."));
        fs_err::create_dir_all(directory)?;
        let mut temporary = tempfile::Builder::new().prefix(".hub").tempfile_in(directory)?;
        serde_json::to_writer(&mut temporary, kept)?;
        temporary.persist(file).map_err(|error| error.error)?;
        Ok(())
    };
    if let Err(error) = written() {
        tracing::warn!("what a hub says is not kept: {error}");
    }
}
