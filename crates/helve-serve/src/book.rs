//! Which server has which resource and which prompt, under the names that agents see.
//!
//! A resource keeps its URI; only where two servers have the same one, the later server's is `server+uri`. Prompts are named
//! as tools are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use helve::{Host, Offered};
use helve_model::json::RawJson;
use helve_model::{Definition, QualifiedName, ServerName, ToolName};
use helve_schema::UriTemplate;
use helve_wire::plane::quoted;

use crate::catalog::Pages;
use crate::naming::Naming;
use crate::request::with_member;
use crate::sync::lock;

/// The books as they were written last.
#[derive(Debug, Default)]
pub(crate) struct Books {
    resources: Mutex<Option<Arc<ResourceBook>>>,
    prompts: Mutex<Option<Arc<PromptBook>>>,
}

/// Every resource and template that servers list.
#[derive(Debug)]
pub(crate) struct ResourceBook {
    by_uri: HashMap<String, Place>,
    templates: Vec<(UriTemplate, Place)>,
    pub(crate) resource_list: Pages,
    pub(crate) template_list: Pages,
}

/// Every prompt that servers list.
#[derive(Debug)]
pub(crate) struct PromptBook {
    by_name: HashMap<String, Place>,
    pub(crate) list: Pages,
}

/// Where something is: at which server, and what that server calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) server: ServerName,
    pub(crate) name: String,
}

impl Books {
    /// The resources there are, asked anew.
    pub(crate) async fn read_resources(&self, host: &Host) -> Arc<ResourceBook> {
        let (resources, templates) = tokio::join!(host.resources(None), host.resource_templates(None));
        // Servers that do not answer are left out; who asks for what they have is told why.
        let resources = resources.map(|offers| offers.items).unwrap_or_default();
        let templates = templates.map(|offers| offers.items).unwrap_or_default();
        let book = Arc::new(ResourceBook::new(&resources, &templates));
        *lock(&self.resources) = Some(Arc::clone(&book));
        book
    }

    /// The resources as they were known last.
    pub(crate) fn resources(&self) -> Option<Arc<ResourceBook>> {
        lock(&self.resources).clone()
    }

    /// The prompts there are, asked anew.
    pub(crate) async fn read_prompts(&self, host: &Host, naming: &Naming) -> Arc<PromptBook> {
        let prompts = host.prompts(None).await.map(|offers| offers.items).unwrap_or_default();
        let book = Arc::new(PromptBook::new(&prompts, naming));
        *lock(&self.prompts) = Some(Arc::clone(&book));
        book
    }

    /// The prompts as they were known last.
    pub(crate) fn prompts(&self) -> Option<Arc<PromptBook>> {
        lock(&self.prompts).clone()
    }

    /// Something has changed: what is known counts no more.
    pub(crate) fn forget(&self) {
        *lock(&self.resources) = None;
        *lock(&self.prompts) = None;
    }
}

impl ResourceBook {
    fn new(
        resources: &[Offered<helve_model::ResourceDefinition>],
        templates: &[Offered<helve_model::ResourceTemplateDefinition>],
    ) -> Self {
        let mut by_uri = HashMap::new();
        let mut listed = Vec::new();
        for offered in resources {
            let (uri, raw) = (offered.definition.uri(), offered.definition.raw());
            let place = Place { server: offered.server.clone(), name: uri.to_owned() };
            let served = served_uri(&place, by_uri.contains_key(uri));
            listed.push(if served == uri { raw.clone() } else { with_member(raw, "uri", &quoted(&served)) });
            by_uri.insert(served, place);
        }
        let mut seen: HashMap<&str, ()> = HashMap::new();
        let mut known = Vec::new();
        let mut listed_templates = Vec::new();
        for offered in templates {
            let (template, raw) = (offered.definition.uri_template(), offered.definition.raw());
            let place = Place { server: offered.server.clone(), name: template.to_owned() };
            let served = served_uri(&place, seen.insert(template, ()).is_some());
            listed_templates.push(if served == template {
                raw.clone()
            } else {
                with_member(raw, "uriTemplate", &quoted(&served))
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

    /// Who has the resource, or the template, of this served URI.
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

impl PromptBook {
    fn new(prompts: &[Offered<helve_model::PromptDefinition>], naming: &Naming) -> Self {
        let mut identities: Vec<(QualifiedName, &RawJson)> = prompts
            .iter()
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
            listed.push(if own == name { raw.clone() } else { with_member(raw, "name", &quoted(&name)) });
            by_name.insert(name, Place { server: identity.server.clone(), name: own.to_owned() });
        }
        Self { by_name, list: Pages::new("prompts", listed.into_iter()) }
    }

    /// Who has the prompt of this served name.
    pub(crate) fn find(&self, name: &str) -> Option<Place> {
        self.by_name.get(name).cloned()
    }
}

fn served_uri(place: &Place, is_taken: bool) -> String {
    if is_taken { format!("{}+{}", place.server, place.name) } else { place.name.clone() }
}
