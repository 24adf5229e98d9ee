//! Hubs that the person joined: each of a hub's servers is one server here, in the hub's place. Which servers those are is
//! kept between runs, so that nobody waits for a hub to see what it had.

mod follow;
mod hub_list;
mod hub_memory;

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use helve_config::{Configuration, ConfiguredHub, ConfiguredServer};
use helve_model::name::PlaceName;
use helve_model::{
    ConfigText, ErrorCode, Hint, HttpFlavour, HttpSpec, LateReference, LateSource, OAuthSpec, ServerName, ServerSpec,
    TransportSpec,
};
use helve_wire::{Error as WireError, Feed, HttpTarget};
use indexmap::IndexMap;
use secrecy::SecretString;

pub use follow::HubFollower;
pub use hub_list::{HubList, HubServer};
pub use hub_memory::{HubAway, KeptHub};

use crate::error::SetupError;
use crate::notice::Notice;
use crate::secrets::Secrets;
use crate::setup::Setup;

/// The header by which a device says which one it is.
pub const DEVICE_HEADER: &str = "helve-device";

/// The longest name of a device that is sent.
const DEVICE_CHARACTERS: usize = 64;

/// Where a hub tells of its servers.
const FEED: &str = "/feed";

/// The largest list of servers that is read.
const EVENT_BYTES: usize = 256 << 10;

/// How long a hub may take to say what it has, where somebody waits.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// The same where nobody asked for it.
const LOOKED_AT_WITHIN: Duration = Duration::from_millis(1_500);

/// What was heard of a hub counts so long before it is asked again.
const HEARD_COUNTS: Duration = Duration::from_secs(60);

/// A hub that did not answer is left alone so long.
const AWAY_COUNTS: Duration = Duration::from_secs(30);

/// The directory below the cache directory that lists of hubs are kept in.
const HUBS: &str = "hubs";

/// Lists of hubs that are watched for changes.
const MOST_KEPT: usize = 64;

/// The name of the record in the vault that holds a hub's token: bound to its address, so that it goes nowhere else.
#[must_use]
pub fn hub_record(place: &PlaceName, url: &str) -> String {
    format!("hub {place} {url}")
}

impl Setup {
    /// Where lists of hubs are kept.
    fn hubs_directory(&self) -> Option<PathBuf> {
        self.environment.directories().cache.as_ref().map(|cache| cache.join(HUBS))
    }

    /// The file that holds what is known of a hub.
    pub(crate) fn kept_hub_file(&self, place: &PlaceName) -> Option<PathBuf> {
        self.hubs_directory().map(|directory| directory.join(format!("{place}.json")))
    }

    /// The files that hold what is known of hubs.
    pub(crate) fn kept_hub_files(&self) -> Vec<PathBuf> {
        let entries = self.hubs_directory().and_then(|directory| fs_err::read_dir(directory).ok());
        let files = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).take(MOST_KEPT).collect()
    }

    /// What is known of a hub from earlier; nothing of one that had another address.
    #[must_use]
    pub fn kept_hub(&self, hub: &ConfiguredHub) -> Option<KeptHub> {
        KeptHub::read(&self.kept_hub_file(&hub.place)?).filter(|kept| kept.url == hub.url)
    }

    /// Adds the servers of the hubs that were joined, as far as they are known. One that a local server has the name of is
    /// left out: nothing of a hub hides something local.
    pub(crate) fn add_hub_servers(&self, configuration: &mut Configuration) {
        for hub in configuration.hubs.clone() {
            let Some(kept) = self.kept_hub(&hub) else { continue };
            for server in &kept.servers {
                let Ok(name) = ServerName::placed(&hub.place, &server.name) else { continue };
                if configuration.server(name.as_str()).is_none() {
                    configuration.servers.push(ConfiguredServer::of_hub(&hub, spec(&hub, name)));
                }
            }
        }
    }

    /// The hubs of which nothing was heard for a while, and which were not tried just now.
    #[must_use]
    pub fn hubs_due<'a>(&self, configuration: &'a Configuration) -> Vec<&'a ConfiguredHub> {
        let now = self.environment.now();
        let is_due = |hub: &&ConfiguredHub| match self.kept_hub(hub) {
            None => true,
            Some(kept) => {
                let since = |seconds: u64| now.duration_since(UNIX_EPOCH + Duration::from_secs(seconds)).ok();
                let is_old = |seconds: u64, counts: Duration| since(seconds).is_none_or(|age| age >= counts);
                match &kept.away {
                    Some(away) => is_old(away.tried, AWAY_COUNTS),
                    None => is_old(kept.heard, HEARD_COUNTS),
                }
            }
        };
        configuration.hubs.iter().filter(is_due).collect()
    }

    /// Asks hubs which servers they have, and keeps it. Quick: what does not answer soon is as it was.
    pub async fn look_at_hubs(&self, hubs: &[&ConfiguredHub]) {
        drop(join_all(hubs.iter().map(|hub| self.ask_hub(hub, LOOKED_AT_WITHIN))).await);
    }

    /// Says which hubs are away.
    pub fn tell_away(&self, configuration: &Configuration) {
        for hub in &configuration.hubs {
            if let Some(away) = self.kept_hub(hub).and_then(|kept| kept.away) {
                self.notices.hear(Notice::HubAway { place: hub.place.clone(), away });
            }
        }
    }

    /// Asks a hub which servers it has, and keeps it.
    ///
    /// # Errors
    /// Why it does not say so.
    pub async fn hear_hub(&self, hub: &ConfiguredHub) -> Result<HubList, SetupError> {
        let heard = self.ask_hub(hub, ANSWERED_WITHIN).await;
        heard.map_err(|error| Self::hub_error(hub, &error))
    }

    /// The same with a token that is not kept yet. Nothing is.
    ///
    /// # Errors
    /// Why it does not say so.
    pub async fn try_hub(&self, hub: &ConfiguredHub, token: &SecretString) -> Result<HubList, SetupError> {
        let heard = async {
            let mut feed = Feed::open(self.feed_target(hub, token)?, EVENT_BYTES, ANSWERED_WITHIN).await?;
            first_list(&mut feed, ANSWERED_WITHIN).await
        };
        heard.await.map_err(|error| Self::hub_error(hub, &error))
    }

    /// Keeps what a hub said.
    pub fn keep_hub(&self, hub: &ConfiguredHub, list: &HubList) {
        if let Some(file) = self.kept_hub_file(&hub.place) {
            KeptHub::keep(&file, &hub.url, list, self.environment.now());
        }
    }

    /// Forgets what is known of a hub.
    pub fn forget_hub(&self, place: &PlaceName) {
        if let Some(file) = self.kept_hub_file(place) {
            // There may be none.
            drop(fs_err::remove_file(file));
        }
    }

    async fn ask_hub(&self, hub: &ConfiguredHub, within: Duration) -> Result<HubList, WireError> {
        let heard = async {
            let mut feed = self.open_feed(hub, within).await?;
            first_list(&mut feed, within).await
        }
        .await;
        match &heard {
            Ok(list) => self.keep_hub(hub, list),
            Err(error) => {
                if let Some(file) = self.kept_hub_file(&hub.place) {
                    KeptHub::note_away(&file, &hub.url, &why(error), self.environment.now());
                }
            }
        }
        heard
    }

    /// The stream of a hub, opened with the token that is kept for it.
    async fn open_feed(&self, hub: &ConfiguredHub, within: Duration) -> Result<Feed, WireError> {
        let source = LateSource::Hub { place: hub.place.clone(), url: hub.url.clone() };
        let token = helve::SecretSource::value(&Secrets::new(self), &source).await;
        let token = token.map_err(|error| WireError::new(ErrorCode::AuthRequired, error.chain()))?;
        Feed::open(self.feed_target(hub, &token)?, EVENT_BYTES, within).await
    }

    fn feed_target(&self, hub: &ConfiguredHub, token: &SecretString) -> Result<HttpTarget, WireError> {
        let environment = &self.environment;
        let target = HttpTarget::new(&format!("{}{FEED}", hub.url))?
            .with_bearer(token)?
            .with_header(DEVICE_HEADER, &SecretString::from(device(environment.device())))?
            .with_nesting(self.itself.nesting(environment).clone());
        let target = match environment.proxies() {
            Some(proxies) => target.with_proxies(proxies),
            None => target,
        };
        let is_https = hub.url.starts_with("https:");
        Ok(if is_https { target.with_system_certificates((environment.certificates())()) } else { target })
    }

    fn hub_error(hub: &ConfiguredHub, error: &WireError) -> SetupError {
        let message = match error.code() {
            ErrorCode::AuthRequired => format!("the hub at {} does not accept the token", hub.url),
            _ if error.http_status() == Some(LOOP_DETECTED) => format!("the hub at {} leads back here", hub.url),
            _ => format!("the hub at {} does not say which servers it has", hub.url),
        };
        let code = error.code();
        let hint = match code {
            ErrorCode::AuthRequired => Hint::JoinAgain { place: hub.place.clone() },
            _ => Hint::text("look whether the hub runs, and whether this is its address"),
        };
        SetupError::new(code, message).with_cause(error).with_hint(hint)
    }
}

/// What a server of a hub is here.
fn spec(hub: &ConfiguredHub, name: ServerName) -> ServerSpec {
    let url = format!("{}/s/{}/mcp", hub.url, segment(name.without_place()));
    let source = LateSource::Hub { place: hub.place.clone(), url: hub.url.clone() };
    let bearer =
        ConfigText::late(format!("Bearer {source}"), "Bearer ", vec![LateReference::new("Bearer ".len(), source)]);
    let headers = IndexMap::from([("Authorization".to_owned(), bearer)]);
    let http = HttpSpec { url: ConfigText::literal(url), headers, flavour: HttpFlavour::Streamable };
    ServerSpec::new(name, TransportSpec::Http(http), hub.origin.clone(), hub.layer).with(|spec| {
        // The token is the hub's own; nobody is sent to sign in elsewhere.
        spec.oauth = Some(OAuthSpec { enabled: false, ..OAuthSpec::new() });
        // A hub that does not answer is away: that is said at once.
        spec.max_retries = Some(0);
    })
}

/// A name as a part of a path.
fn segment(name: &str) -> String {
    let mut segment = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            segment.push(char::from(byte));
        } else {
            segment.push_str(&format!("%{byte:02X}"));
        }
    }
    // `.` and `..` alone would lead elsewhere.
    if segment.bytes().all(|byte| byte == b'.') { segment.replace('.', "%2E") } else { segment }
}

/// A device's name as a header can carry it.
fn device(name: Option<&str>) -> String {
    let is_part = |character: &char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    let name: String = name.unwrap_or_default().chars().filter(is_part).take(DEVICE_CHARACTERS).collect();
    if name.is_empty() { "device".to_owned() } else { name }
}

/// `508 Loop Detected`.
const LOOP_DETECTED: u16 = 508;

async fn first_list(feed: &mut Feed, within: Duration) -> Result<HubList, WireError> {
    loop {
        let event = feed.next(within).await?;
        if event.kind.as_deref() == Some(hub_list::EVENT) {
            return HubList::read(&event.data);
        }
    }
}

/// Why a hub is away, in a line.
fn why(error: &WireError) -> String {
    if error.code() == ErrorCode::AuthRequired {
        return "it does not accept the token".to_owned();
    }
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Seconds since 1970.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
#[path = "hubs_tests.rs"]
mod tests;
