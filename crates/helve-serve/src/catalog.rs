//! What agents see of one snapshot: every tool under its served name, and the lists, rendered once.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use helve::{Host, ServerEntry, Snapshot, ToolEntry, ToolSearch};
use helve_model::json::{ObjectWriter, RawJson, quoted};
use helve_model::{Definition as _, Principal, QualifiedName, ServerName};
use helve_policy::{CalledBy, Caller};

use crate::assigned_host::may_be_shared;
use crate::discovery::{Discovery, OWN_TOOLBOX, RUN_CODE};
use crate::lookups::{self, Lookup};
use crate::naming::Naming;
use crate::reach::Reach;
use helve_model::sync::lock;

/// A list longer than this is given in pages.
const PAGE_ITEMS: usize = 1_000;

/// How long a list counts where its server does not say. Most changes are announced.
pub(crate) const LISTS_COUNT_FOR: Duration = Duration::from_secs(5);

/// A page of a list, as an agent gets it.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) result: RawJson,
    /// How long it counts; `None` where no server says so.
    pub(crate) count_for: Option<Duration>,
}

/// How long a list counts that is made of several: as long as the first of them, where one says so at all.
pub(crate) fn shortest(said: impl Iterator<Item = Option<Duration>>) -> Option<Duration> {
    let (mut shortest, mut somebody_says) = (Duration::MAX, false);
    for said in said {
        somebody_says |= said.is_some();
        shortest = shortest.min(said.unwrap_or(LISTS_COUNT_FOR));
    }
    somebody_says.then_some(shortest)
}

/// Whom a catalog is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Audience<'a> {
    /// They see no more than this.
    pub(crate) reach: &'a Reach,
    /// `None`: all agents, whoever they are.
    pub(crate) principal: Option<&'a Principal>,
}

/// The newest catalog; made anew when there is a newer snapshot and somebody asks.
#[derive(Debug, Default)]
pub(crate) struct Catalogs {
    newest: Mutex<Option<Arc<Catalog>>>,
}

/// One snapshot under the names that agents see.
#[derive(Debug)]
pub(crate) struct Catalog {
    /// Of the shared snapshot, and of the agent's own.
    generation: (u64, u64),
    /// Some rule is for some agents only: what one of them sees is not what all see.
    pub(crate) differs_by_caller: bool,
    tools: HashMap<String, Arc<ToolEntry>>,
    /// The names in the order of the list.
    pub(crate) names: Vec<String>,
    pub(crate) tool_list: Pages,
    /// Another one for another list.
    fingerprint: u64,
    /// Of all definitions together.
    pub(crate) bytes: usize,
    /// The servers that have resources or prompts.
    pub(crate) servers: Vec<ServerName>,
    /// The snapshots that it was made of: a call looks everything up in them.
    pub(crate) shared: Arc<Snapshot>,
    pub(crate) own: Option<Arc<Snapshot>>,
    /// All servers, for whoever searches.
    entries: Vec<Arc<ServerEntry>>,
    searchable: OnceLock<Searchable>,
}

/// The tools ready to be searched, and the name that each is served under.
#[derive(Debug)]
pub(crate) struct Searchable {
    pub(crate) tools: ToolSearch,
    pub(crate) names: HashMap<QualifiedName, String>,
}

/// A list as it is sent: the elements of each page, put together.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pages {
    key: &'static str,
    pages: Vec<String>,
    /// Members that stand behind the elements, each after a comma.
    more: RawJson,
    /// How long it counts, where somebody says so.
    count_for: Option<Duration>,
}

impl Catalogs {
    /// What there is now.
    pub(crate) fn current(&self, host: &Host, naming: &Naming) -> Arc<Catalog> {
        self.made_of(snapshot(host), None, naming, Audience { reach: &Reach::default(), principal: None })
    }

    /// What there is now for these agents.
    pub(crate) fn within(&self, host: &Host, naming: &Naming, audience: Audience<'_>) -> Arc<Catalog> {
        self.made_of(snapshot(host), None, naming, audience)
    }

    /// What there is now for an agent that has servers of its own.
    pub(crate) fn of_agent(&self, shared: &Host, own: &Host, naming: &Naming, audience: Audience<'_>) -> Arc<Catalog> {
        self.made_of(snapshot(shared), Some(snapshot(own)), naming, audience)
    }

    fn made_of(
        &self,
        shared: Arc<Snapshot>,
        own: Option<Arc<Snapshot>>,
        naming: &Naming,
        audience: Audience<'_>,
    ) -> Arc<Catalog> {
        lookups::note(Lookup::Catalog);
        let generation = (shared.generation(), own.as_ref().map_or(0, |own| own.generation()));
        let mut newest = lock(&self.newest);
        match &*newest {
            Some(catalog) if catalog.generation == generation => Arc::clone(catalog),
            _ => {
                let catalog = Arc::new(Catalog::new(generation, shared, own, naming, audience));
                *newest = Some(Arc::clone(&catalog));
                catalog
            }
        }
    }
}

impl Catalog {
    fn new(
        generation: (u64, u64),
        shared: Arc<Snapshot>,
        own: Option<Arc<Snapshot>>,
        naming: &Naming,
        audience: Audience<'_>,
    ) -> Self {
        let reach = audience.reach;
        let is_within = |server: &&Arc<ServerEntry>| reach.within().is_none_or(|within| within == server.name());
        let servers: Vec<&Arc<ServerEntry>> =
            shared.servers().filter(is_within).map(|server| newest(server, own.as_deref())).collect();
        let naming = reach.naming(naming);
        // The names of one server are given in its own order; several have a common one.
        let mut entries: Vec<&Arc<ToolEntry>> = match servers.as_slice() {
            [only] => only.tools_as_listed().collect(),
            several => several.iter().flat_map(|server| server.tools()).collect(),
        };
        let differs_by_caller = entries.iter().any(|tool| tool.policy().differs_by_caller());
        entries.retain(|tool| !audience.is_denied(tool) && (reach.is_everything() || reach.includes(tool)));
        let identities: Vec<QualifiedName> = entries.iter().map(|tool| tool.name().clone()).collect();
        let mut names = naming.names(&identities);
        // A tool of ours is known by its own name, as search is.
        for (identity, name) in identities.iter().zip(&mut names) {
            if identity.server.as_str() == OWN_TOOLBOX && identity.tool.as_str() == RUN_CODE {
                RUN_CODE.clone_into(name);
            }
        }
        let definitions = entries.iter().zip(&names).map(|(tool, name)| {
            let raw = tool.definition().raw();
            if tool.name().tool.as_str() == name { raw.clone() } else { raw.replacing("name", &quoted(name)) }
        });
        let said = if let [only] = servers.as_slice() { only.said_with_tools() } else { None };
        let tool_list = Pages::new("tools", definitions).with(said);
        let mut hasher = DefaultHasher::new();
        tool_list.hash(&mut hasher);
        let fingerprint = hasher.finish();
        // The definitions alone, without the brackets around each page.
        let bytes = tool_list.pages.iter().map(|page| page.len().saturating_sub("[]".len())).sum();
        let tools = names.iter().cloned().zip(entries.into_iter().cloned()).collect();
        let has_more = |entry: &&Arc<ServerEntry>| {
            entry.greeting().is_some_and(|greeting| greeting.offers("resources") || greeting.offers("prompts"))
        };
        let all_servers = servers.iter().map(|server| Arc::clone(server)).collect();
        let servers = servers.into_iter().filter(has_more).map(|entry| entry.name().clone()).collect();
        Self {
            generation,
            differs_by_caller,
            tools,
            names,
            tool_list,
            fingerprint,
            bytes,
            servers,
            entries: all_servers,
            searchable: OnceLock::new(),
            shared,
            own,
        }
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        self.tools.get(name)
    }

    /// The same, ready to be searched. What agents see alike is indexed once, by the host that they share.
    pub(crate) fn searchable(&self, shared: &Host) -> &Searchable {
        self.searchable.get_or_init(|| Searchable {
            tools: shared.snapshot().search_of(&self.entries),
            names: self
                .names
                .iter()
                .filter_map(|name| Some((self.tools.get(name)?.name().clone(), name.clone())))
                .collect(),
        })
    }

    /// The names of all servers.
    pub(crate) fn server_names(&self) -> impl Iterator<Item = &ServerName> {
        self.entries.iter().map(|server| server.name())
    }

    /// Which list an agent gets of this: the same number for the same list.
    pub(crate) const fn listed(&self, discovery: Discovery) -> u64 {
        // The three tools of discovery are the same whatever is behind them.
        if discovery.is_on(self) { 0 } else { self.fingerprint }
    }

    /// How many tools there are.
    pub(crate) const fn len(&self) -> usize {
        self.names.len()
    }
}

/// What a host has now.
pub(crate) fn snapshot(host: &Host) -> Arc<Snapshot> {
    lookups::note(Lookup::Snapshot);
    host.snapshot()
}

/// How long the tools that an agent sees count.
pub(crate) fn tools_count_for(shared: &Host, own: Option<&Host>) -> Option<Duration> {
    let (shared, own) = (shared.snapshot(), own.map(Host::snapshot));
    let servers = shared.servers().map(|server| newest(server, own.as_deref()));
    shortest(servers.filter(|server| server.all_tools().next().is_some()).map(|server| server.list_counts_for()))
}

/// A server as the agent's own host knows it, once it is connected there. What agents share lists for all of them.
fn newest<'a>(server: &'a Arc<ServerEntry>, own: Option<&'a Snapshot>) -> &'a Arc<ServerEntry> {
    let own = own.filter(|_| !may_be_shared(server)).and_then(|own| own.server(server.name().as_str()));
    own.filter(|own| own.greeting().is_some() && own.all_tools().next().is_some()).unwrap_or(server)
}

impl Audience<'_> {
    /// Agents see only what they may call: what a rule forbids whatever the arguments, does not exist for them.
    fn is_denied(&self, tool: &ToolEntry) -> bool {
        match self.principal {
            Some(principal) => tool.policy().denies(CalledBy::new(Caller::Agent, principal)),
            None => tool.policy().denies_everybody(),
        }
    }
}

impl Pages {
    /// Definitions that are not JSON are left out: nobody could read the list with them in it.
    pub(crate) fn new(key: &'static str, definitions: impl Iterator<Item = RawJson>) -> Self {
        let usable: Vec<RawJson> = definitions.filter(|definition| definition.check().is_ok()).collect();
        let page = |items: &[RawJson]| RawJson::array(items).as_str().to_owned();
        let pages = if usable.is_empty() { vec![page(&[])] } else { usable.chunks(PAGE_ITEMS).map(page).collect() };
        Self { key, pages, more: RawJson::empty_object(), count_for: None }
    }

    /// With what the only server there is said besides; where there are several, nobody speaks for all of them.
    pub(crate) fn with(mut self, more: Option<&RawJson>) -> Self {
        let usable = more.filter(|more| more.check().is_ok());
        self.more = usable.cloned().unwrap_or_else(RawJson::empty_object);
        self
    }

    /// The same for as long as servers say.
    pub(crate) const fn counting(mut self, count_for: Option<Duration>) -> Self {
        self.count_for = count_for;
        self
    }

    /// What a list request gets; `None` when there is no such page.
    pub(crate) fn page(&self, cursor: Option<&RawJson>) -> Option<Page> {
        let number = match cursor {
            None => 0,
            Some(cursor) => cursor.parse::<String>().ok()?.parse::<usize>().ok()?,
        };
        let (key, items) = (self.key, self.pages.get(number)?);
        let next = (number + 1 < self.pages.len()).then(|| (number + 1).to_string());
        let result = ObjectWriter::new().with_room(items.len()).raw(key, items).optional_text("nextCursor", next);
        let result = result.members_of(&self.more, |_| true).finish();
        Some(Page { result, count_for: self.count_for })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G4: a list is good for as long as what it is made of.
    #[test]
    fn g4_a_list_counts_as_long_as_its_shortest_part() {
        let seconds = |seconds: u64| Some(Duration::from_secs(seconds));
        assert_eq!(shortest([None, None].into_iter()), None);
        assert_eq!(shortest([seconds(60), seconds(30)].into_iter()), seconds(30));
        assert_eq!(shortest([seconds(60), None].into_iter()), Some(LISTS_COUNT_FOR));
        assert_eq!(shortest([None, seconds(0)].into_iter()), seconds(0));
    }

    #[test]
    fn a_long_list_has_pages() {
        let items = (0..2_500).map(|number| RawJson::assembled(number.to_string()));
        let broken = RawJson::assembled("{nonsense}".to_owned());
        let pages = Pages::new("tools", items.chain([broken]));
        let page = |cursor: Option<&RawJson>| pages.page(cursor).map(|page| page.result);
        let first = page(None).unwrap();
        assert!(
            first.as_str().starts_with(r#"{"tools":[0,1,"#) && first.as_str().ends_with(r#"999],"nextCursor":"1"}"#)
        );
        let last = page(Some(&RawJson::from_static("\"2\""))).unwrap();
        assert!(last.as_str().starts_with(r#"{"tools":[2000,"#) && last.as_str().ends_with("2499]}"));
        assert_eq!(page(Some(&RawJson::from_static("\"3\""))), None);
        assert_eq!(page(Some(&RawJson::from_static("7"))), None);
        assert_eq!(Pages::new("tools", std::iter::empty()).page(None).unwrap().result.as_str(), r#"{"tools":[]}"#);
    }
}
