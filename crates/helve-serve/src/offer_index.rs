//! Which server has which resource and which prompt, under the names that agents see.
//!
//! A resource keeps its URI; only where two servers have the same one, the later server's is `server+uri`. Prompts are named
//! as tools are.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve::{Host, Offered, ServerReport};
use helve_model::json::{RawJson, quoted};
use helve_model::uri_template::UriTemplate;
use helve_model::{
    Definition, PendingReason, PromptDefinition, QualifiedName, ResourceDefinition, ResourceTemplateDefinition,
    ServerName, ServerStatus, ToolName,
};
use tokio::time::Instant;

use crate::catalog::Pages;
use crate::change_notices::{ChangeNotice, Listeners};
use crate::gateway::LISTED_WITHIN;
use crate::listing_cache::{self, Announcer, ListingCache, ServerListing};
use crate::naming::Naming;
use helve_model::sync::lock;

/// For so long what servers list now tells that they do not have a resource: they are not asked again for each one that
/// somebody does not find.
const MISSES_LAST: Duration = Duration::from_secs(1);

/// What servers offer as it was read last, and what it is read from.
pub(crate) struct OfferIndex {
    /// With the time they were begun.
    resources: Mutex<Option<(Arc<ResourceIndex>, Instant)>>,
    prompts: Mutex<Option<Arc<PromptIndex>>>,
    listings: Arc<Listings>,
    started: Instant,
}

/// What servers list, by kind.
struct Listings {
    resources: ListingCache<ResourceDefinition>,
    templates: ListingCache<ResourceTemplateDefinition>,
    prompts: ListingCache<PromptDefinition>,
    /// Hears that a server has answered after all.
    listeners: Arc<Listeners>,
}

/// Every resource and template that servers list.
#[derive(Debug)]
pub(crate) struct ResourceIndex {
    by_uri: HashMap<String, Place>,
    templates: Vec<(UriTemplate, Place)>,
    pub(crate) resource_list: Pages,
    pub(crate) template_list: Pages,
}

/// Every prompt that servers list.
#[derive(Debug)]
pub(crate) struct PromptIndex {
    by_name: HashMap<String, Place>,
    pub(crate) list: Pages,
}

/// Where something is: at which server, and what that server calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) server: ServerName,
    pub(crate) name: String,
}

impl OfferIndex {
    pub(crate) fn new(listeners: &Arc<Listeners>) -> Self {
        let listings = Listings {
            resources: ListingCache::default(),
            templates: ListingCache::default(),
            prompts: ListingCache::default(),
            listeners: Arc::clone(listeners),
        };
        Self {
            resources: Mutex::default(),
            prompts: Mutex::default(),
            listings: Arc::new(listings),
            started: Instant::now(),
        }
    }

    /// The resources there are, asked anew.
    pub(crate) async fn read_resources(&self, host: &Host) -> Arc<ResourceIndex> {
        let begun = Instant::now();
        let servers = self.servers(host).await;
        let listings = &self.listings;
        let (resources, templates) = tokio::join!(
            listing_cache::read(
                listings,
                |listings| &listings.resources,
                host,
                &servers,
                ChangeNotice::Resources,
                |host, server| {
                    // Servers that do not answer are left out; who asks for what they have is told why.
                    Box::pin(async move {
                        host.resources(Some(server.as_str())).await.map(ServerListing::from).unwrap_or_default()
                    })
                }
            ),
            listing_cache::read(
                listings,
                |listings| &listings.templates,
                host,
                &servers,
                ChangeNotice::Resources,
                |host, server| {
                    Box::pin(async move {
                        host.resource_templates(Some(server.as_str()))
                            .await
                            .map(ServerListing::from)
                            .unwrap_or_default()
                    })
                }
            ),
        );
        let mut index = ResourceIndex::new(host, &resources.items, &templates.items);
        index.resource_list = index.resource_list.counting(resources.count_for);
        index.template_list = index.template_list.counting(templates.count_for);
        if is_alone(host) {
            index.resource_list = index.resource_list.with(resources.more.as_ref());
            index.template_list = index.template_list.with(templates.more.as_ref());
        }
        let index = Arc::new(index);
        *lock(&self.resources) = Some((Arc::clone(&index), begun));
        index
    }

    /// The resources as they were known last.
    pub(crate) fn resources(&self) -> Option<Arc<ResourceIndex>> {
        lock(&self.resources).as_ref().map(|(index, _)| Arc::clone(index))
    }

    /// The resources there are, for somebody who did not find one among those known last.
    pub(crate) async fn look_again(&self, host: &Host) -> Arc<ResourceIndex> {
        let known = lock(&self.resources).clone();
        match known {
            Some((index, begun)) if begun.elapsed() < MISSES_LAST => index,
            _ => self.read_resources(host).await,
        }
    }

    /// The prompts there are, asked anew.
    pub(crate) async fn read_prompts(&self, host: &Host, naming: &Naming) -> Arc<PromptIndex> {
        let servers = self.servers(host).await;
        let prompts = listing_cache::read(
            &self.listings,
            |listings| &listings.prompts,
            host,
            &servers,
            ChangeNotice::Prompts,
            |host, server| {
                Box::pin(async move {
                    host.prompts(Some(server.as_str())).await.map(ServerListing::from).unwrap_or_default()
                })
            },
        )
        .await;
        let mut index = PromptIndex::new(host, &prompts.items, naming);
        index.list = index.list.counting(prompts.count_for);
        if is_alone(host) {
            index.list = index.list.with(prompts.more.as_ref());
        }
        let index = Arc::new(index);
        *lock(&self.prompts) = Some(Arc::clone(&index));
        index
    }

    /// The prompts as they were known last.
    pub(crate) fn prompts(&self) -> Option<Arc<PromptIndex>> {
        lock(&self.prompts).clone()
    }

    /// Something has changed: what is known counts no more.
    pub(crate) fn forget(&self) {
        *lock(&self.resources) = None;
        *lock(&self.prompts) = None;
        self.listings.resources.outdate();
        self.listings.templates.outdate();
        self.listings.prompts.outdate();
    }

    /// The servers to ask. Those that are just being started are waited for a little while once, at the beginning;
    /// they are announced when they come.
    async fn servers(&self, host: &Host) -> Vec<ServerName> {
        host.settled(LISTED_WITHIN.saturating_sub(self.started.elapsed())).await;
        let can_be_asked = |report: &ServerReport| {
            matches!(report.status, ServerStatus::Connected | ServerStatus::Pending(PendingReason::Lazy))
        };
        host.status().into_iter().filter(can_be_asked).map(|report| report.name).collect()
    }
}

/// True when there is one server, which speaks for the whole list then.
fn is_alone(host: &Host) -> bool {
    host.snapshot().servers().count() == 1
}

impl Announcer for Listings {
    fn announce(&self, news: ChangeNotice) {
        self.listeners.tell(news);
    }
}

impl ResourceIndex {
    /// Agents see only what they may read.
    fn new(
        host: &Host,
        resources: &[Offered<ResourceDefinition>],
        templates: &[Offered<ResourceTemplateDefinition>],
    ) -> Self {
        let mut by_uri = HashMap::new();
        let mut listed = Vec::new();
        let may_read = |server: &ServerName, uri: &str| host.anybody_may_read(server, uri);
        for offered in resources.iter().filter(|offered| may_read(&offered.server, offered.definition.uri())) {
            let (uri, raw) = (offered.definition.uri(), offered.definition.raw());
            let place = Place { server: offered.server.clone(), name: uri.to_owned() };
            let served = served_uri(&place, by_uri.contains_key(uri));
            listed.push(if served == uri { raw.clone() } else { raw.replacing("uri", &quoted(&served)) });
            by_uri.insert(served, place);
        }
        let mut seen: HashMap<&str, ()> = HashMap::new();
        let mut known = Vec::new();
        let mut listed_templates = Vec::new();
        let may_fill = |offered: &&Offered<ResourceTemplateDefinition>| {
            may_read(&offered.server, offered.definition.uri_template())
        };
        for offered in templates.iter().filter(may_fill) {
            let (template, raw) = (offered.definition.uri_template(), offered.definition.raw());
            let place = Place { server: offered.server.clone(), name: template.to_owned() };
            let served = served_uri(&place, seen.insert(template, ()).is_some());
            listed_templates.push(if served == template {
                raw.clone()
            } else {
                raw.replacing("uriTemplate", &quoted(&served))
            });
            if let Ok(parsed) = UriTemplate::parse(template) {
                known.push((parsed, place));
            }
        }
        Self {
            by_uri,
            templates: known,
            resource_list: Pages::new("resources", listed.into_iter()),
            template_list: Pages::new("resourceTemplates", listed_templates.into_iter()),
        }
    }

    /// The server that has the resource, or the template, of this served URI.
    pub(crate) fn find(&self, uri: &str) -> Option<Place> {
        let listed = self.by_uri.get(uri).cloned();
        let is_template = |(_, place): &&(UriTemplate, Place)| place.name == uri;
        listed.or_else(|| self.templates.iter().find(is_template).map(|(_, place)| place.clone())).or_else(|| {
            let fits = |(template, _): &&(UriTemplate, Place)| template.matches(uri).is_some();
            let place = self.templates.iter().find(fits).map(|(_, place)| place)?;
            Some(Place { server: place.server.clone(), name: uri.to_owned() })
        })
    }
}

impl PromptIndex {
    /// Agents see only what they may get.
    fn new(host: &Host, prompts: &[Offered<PromptDefinition>], naming: &Naming) -> Self {
        let may_get = |offered: &&Offered<PromptDefinition>| {
            host.anybody_may_get_prompt(&offered.server, offered.definition.name())
        };
        let mut identities: Vec<(QualifiedName, &RawJson)> = prompts
            .iter()
            .filter(may_get)
            .map(|offered| {
                let name = ToolName::new(offered.definition.name());
                (QualifiedName::new(offered.server.clone(), name), offered.definition.raw())
            })
            .collect();
        if *naming != Naming::None {
            identities.sort_by(|(left, _), (right, _)| left.cmp(right));
        }
        let names = naming.names(&identities.iter().map(|(identity, _)| identity.clone()).collect::<Vec<_>>());
        let mut by_name = HashMap::new();
        let mut listed = Vec::new();
        for ((identity, raw), name) in identities.into_iter().zip(names) {
            let own = identity.tool.as_str();
            listed.push(if own == name { raw.clone() } else { raw.replacing("name", &quoted(&name)) });
            by_name.insert(name, Place { server: identity.server.clone(), name: own.to_owned() });
        }
        Self { by_name, list: Pages::new("prompts", listed.into_iter()) }
    }

    /// The server that has the prompt of this served name.
    pub(crate) fn find(&self, name: &str) -> Option<Place> {
        self.by_name.get(name).cloned()
    }
}

fn served_uri(place: &Place, is_taken: bool) -> String {
    if is_taken { format!("{}+{}", place.server, place.name) } else { place.name.clone() }
}

impl fmt::Debug for OfferIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OfferIndex").finish_non_exhaustive()
    }
}
