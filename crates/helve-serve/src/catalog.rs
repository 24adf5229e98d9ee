//! What agents see of one snapshot: every tool under its served name, and the lists, rendered once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use helve::{Host, ToolEntry};
use helve_model::json::RawJson;
use helve_model::{Definition as _, QualifiedName};
use helve_wire::plane::quoted;

use crate::naming::Naming;
use crate::request::with_member;
use crate::sync::lock;

/// A list longer than this is given in pages.
const PAGE_ITEMS: usize = 1_000;

/// The newest catalog; made anew when there is a newer snapshot and somebody asks.
#[derive(Debug, Default)]
pub(crate) struct Catalogs {
    newest: Mutex<Option<Arc<Catalog>>>,
}

/// One snapshot under the names that agents see.
#[derive(Debug)]
pub(crate) struct Catalog {
    generation: u64,
    tools: HashMap<String, Arc<ToolEntry>>,
    pub(crate) tool_list: Pages,
}

/// A list as it is sent: the elements of each page, put together.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pages {
    key: &'static str,
    pages: Vec<String>,
}

impl Catalogs {
    /// What there is now.
    pub(crate) fn current(&self, host: &Host, naming: &Naming) -> Arc<Catalog> {
        let snapshot = host.snapshot();
        let mut newest = lock(&self.newest);
        match &*newest {
            Some(catalog) if catalog.generation == snapshot.generation() => Arc::clone(catalog),
            _ => {
                let catalog = Arc::new(Catalog::new(&snapshot, naming));
                *newest = Some(Arc::clone(&catalog));
                catalog
            }
        }
    }
}

impl Catalog {
    fn new(snapshot: &helve::Snapshot, naming: &Naming) -> Self {
        let entries: Vec<&Arc<ToolEntry>> = snapshot.tools().collect();
        let identities: Vec<QualifiedName> = entries.iter().map(|tool| tool.name().clone()).collect();
        let names = naming.names(&identities);
        let definitions = entries.iter().zip(&names).map(|(tool, name)| {
            let raw = tool.definition().raw();
            if tool.name().tool.as_str() == name { raw.clone() } else { with_member(raw, "name", &quoted(name)) }
        });
        let tool_list = Pages::new("tools", definitions);
        let tools = names.into_iter().zip(entries.into_iter().cloned()).collect();
        Self { generation: snapshot.generation(), tools, tool_list }
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        self.tools.get(name)
    }
}

impl Pages {
    /// Definitions that are no JSON are left out: nobody could read the list with them in it.
    pub(crate) fn new(key: &'static str, definitions: impl Iterator<Item = RawJson>) -> Self {
        let usable: Vec<RawJson> = definitions.filter(|definition| definition.check().is_ok()).collect();
        let page = |items: &[RawJson]| items.iter().map(RawJson::as_str).collect::<Vec<_>>().join(",");
        let pages = if usable.is_empty() { vec![String::new()] } else { usable.chunks(PAGE_ITEMS).map(page).collect() };
        Self { key, pages }
    }

    /// The result of a list request; `None` when there is no such page.
    pub(crate) fn page(&self, cursor: Option<&RawJson>) -> Option<RawJson> {
        let number = match cursor {
            None => 0,
            Some(cursor) => cursor.parse::<String>().ok()?.parse::<usize>().ok()?,
        };
        let (key, items) = (self.key, self.pages.get(number)?);
        let next = number + 1;
        let more = if next < self.pages.len() { format!(r#","nextCursor":"{next}""#) } else { String::new() };
        Some(RawJson::assembled(format!(r#"{{"{key}":[{items}]{more}}}"#)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_has_pages() {
        let items = (0..2_500).map(|number| RawJson::assembled(number.to_string()));
        let broken = RawJson::assembled("{nonsense}".to_owned());
        let pages = Pages::new("tools", items.chain([broken]));
        let first = pages.page(None).unwrap();
        assert!(
            first.as_str().starts_with(r#"{"tools":[0,1,"#) && first.as_str().ends_with(r#"999],"nextCursor":"1"}"#)
        );
        let last = pages.page(Some(&RawJson::from_static("\"2\""))).unwrap();
        assert!(last.as_str().starts_with(r#"{"tools":[2000,"#) && last.as_str().ends_with("2499]}"));
        assert_eq!(pages.page(Some(&RawJson::from_static("\"3\""))), None);
        assert_eq!(pages.page(Some(&RawJson::from_static("7"))), None);
        assert_eq!(Pages::new("tools", std::iter::empty()).page(None).unwrap().as_str(), r#"{"tools":[]}"#);
    }
}
