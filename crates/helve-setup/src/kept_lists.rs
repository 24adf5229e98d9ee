//! Tools that are known without asking anybody: of built-in servers, and of others from what earlier runs kept.

use std::time::{Duration, SystemTime};

use helve::{Builtins as _, CachedIndex, CallError, Planned, SchemaCache};
use helve_config::Configuration;
use helve_model::name::PlaceName;
use helve_model::{ServerName, ToolDefinition, TransportSpec};
use helve_wire::ClientCapabilities;

use crate::builtins::ShippedTools;
use crate::hubs::KeptHub;
use crate::recipe::asker;
use crate::setup::Setup;

/// How much has to be known about each tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Its name and a line.
    Names,
    /// Its definition.
    Definitions,
}

/// How old a kept list may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// As old as the setting allows: people see at once what there was a while ago, and how long ago that is.
    Recent,
    /// Nor older than its server says: for programs, and the models behind them.
    Fresh,
    /// Every server is asked.
    Asked,
}

/// The tools of a server that are known.
#[derive(Debug)]
pub enum KnownTools {
    /// Their names.
    Index(CachedIndex),
    /// All of them.
    Definitions(Vec<ToolDefinition>),
}

/// What a server says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerWords {
    /// What it is.
    pub about: Option<String>,
    /// What it wants a model to know.
    pub instructions: Option<String>,
}

/// What earlier runs kept, for whoever can do the same as a host that lists tools.
#[derive(Debug)]
pub struct KeptLists<'a> {
    setup: &'a Setup,
    cache: Option<SchemaCache>,
    now: SystemTime,
    ttl: Duration,
    asker: ClientCapabilities,
    freshness: Freshness,
    /// What is known of the hubs, by their places: they say whether a list is still true.
    hubs: Vec<(PlaceName, KeptHub)>,
}

/// How long the list of a hub's server is shown while nothing is heard of the hub.
const OF_HUBS: Duration = Duration::from_secs(30 * 24 * 3_600);

impl<'a> KeptLists<'a> {
    /// Where nothing is kept, or every server is to be asked, only built-in tools are known.
    #[must_use]
    pub fn open(setup: &'a Setup, configuration: &Configuration, freshness: Freshness) -> Self {
        let settings = &configuration.settings;
        let keeps = settings.cache_tool_schemas.value && freshness != Freshness::Asked;
        let directory = setup.lists_directory().filter(|_| keeps);
        let working_directory = setup.environment().working_directory();
        let open = |directory| SchemaCache::open(directory, Some(working_directory.to_owned())).ok();
        Self {
            setup,
            cache: directory.and_then(open),
            now: setup.environment().now(),
            ttl: settings.schema_cache_ttl.value,
            asker: asker(settings),
            freshness,
            hubs: configuration.hubs.iter().filter_map(|hub| Some((hub.place.clone(), setup.kept_hub(hub)?))).collect(),
        }
    }

    /// The tools of a server, if nobody has to be asked for them; with their age where they are older than their server
    /// likes.
    ///
    /// # Errors
    /// Why a built-in server cannot be had.
    pub fn of(&self, planned: &Planned, depth: Depth) -> Result<Option<(KnownTools, Option<Duration>)>, CallError> {
        if let TransportSpec::Builtin(builtin) = &planned.spec.transport {
            let toolbox = ShippedTools::new(self.setup.environment()).open(&planned.spec, builtin)?;
            return Ok(Some((KnownTools::Definitions(toolbox.definitions()), None)));
        }
        Ok(self.kept(planned, depth))
    }

    /// What the server said about itself, as far as that is known without asking it.
    #[must_use]
    pub fn words(&self, planned: &Planned) -> ServerWords {
        if let TransportSpec::Builtin(builtin) = &planned.spec.transport {
            let toolbox = ShippedTools::new(self.setup.environment()).open(&planned.spec, builtin);
            let instructions = toolbox.ok().and_then(|toolbox| toolbox.instructions().map(ToOwned::to_owned));
            return ServerWords { about: None, instructions };
        }
        let kept = |cache: &SchemaCache| cache.load(&cache.key(&planned.spec, &self.asker), self.now, self.ttl);
        self.cache.as_ref().and_then(kept).map_or_else(ServerWords::default, |server| ServerWords {
            about: server.greeting.about(),
            instructions: server.greeting.instructions,
        })
    }

    fn kept(&self, planned: &Planned, depth: Depth) -> Option<(KnownTools, Option<Duration>)> {
        let cache = self.cache.as_ref()?;
        let key = cache.key(&planned.spec, &self.asker);
        let name = &planned.spec.name;
        let ttl = if name.place().is_some() { OF_HUBS } else { self.ttl };
        match depth {
            Depth::Names => {
                let index = cache.load_index(&key, self.now, ttl)?;
                let age = self.counts(name, index.is_fresh, index.stored_at)?;
                Some((KnownTools::Index(index), age))
            }
            Depth::Definitions => {
                let server = cache.load(&key, self.now, ttl)?;
                let age = self.counts(name, server.is_fresh, server.stored_at)?;
                Some((KnownTools::Definitions(server.tools), age))
            }
        }
    }

    /// Whether a list counts: nothing for one that is too old, its age for one that its server would like to be asked for.
    fn counts(&self, server: &ServerName, is_fresh: bool, stored_at: SystemTime) -> Option<Option<Duration>> {
        let place = server.place();
        let hub = self.hubs.iter().find(|(known, _)| Some(known.as_str()) == place).map(|(_, hub)| hub);
        if let Some(hub) = hub {
            let age = self.now.duration_since(stored_at).ok();
            return match &hub.away {
                None => hub.is_current(server.without_place(), stored_at).then_some(None),
                // All there is, however old.
                Some(_) => Some(age),
            };
        }
        if is_fresh {
            return Some(None);
        }
        // A list from the future is from a clock that was set back: nobody knows how old it is.
        let age = self.now.duration_since(stored_at).ok()?;
        (self.freshness == Freshness::Recent && age < self.ttl).then_some(Some(age))
    }
}
