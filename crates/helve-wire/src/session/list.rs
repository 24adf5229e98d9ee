//! Listing what a server offers, page by page, within limits; a broken item loses that item and nothing else.

use helve_model::protocol::methods;
use std::collections::HashSet;
use std::sync::Arc;

use helve_model::json::ObjectWriter;
use helve_model::json::{RawJson, scan};
use helve_model::{
    Definition, ErrorCode, PromptDefinition, ResourceDefinition, ResourceTemplateDefinition, ToolDefinition,
};

use super::{Session, Shared};
use crate::channel::Ask;
use crate::era::param_headers;
use crate::error::{Error, Result};
use crate::request::Times;
use helve_model::sync::lock;

/// What a server listed.
#[derive(Debug)]
pub struct Listing<D> {
    /// The items, in the server's order.
    pub items: Vec<D>,
    /// One line for each item that had to be left out.
    pub warnings: Vec<String>,
    /// How long the list may be kept, where the server says so: the strictest of its pages.
    pub cache: Option<CacheHint>,
    /// Why the list ends before its time: the items so far are good, but there may be more.
    pub incomplete: Option<Error>,
    /// What else the first page says, as an object: its `_meta`, and whatever is not known here.
    pub more: Option<RawJson>,
}

/// How long a list may be kept, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheHint {
    /// Fresh for so many milliseconds.
    pub ttl_ms: u64,
    /// The audience it may be shown to.
    pub scope: CacheScope,
}

/// The audience of a kept list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheScope {
    /// Everybody.
    Public,
    /// Only who asked for it.
    Private,
}

impl Session {
    /// The server's tools. Empty, without asking, when the server offers none.
    ///
    /// # Errors
    /// When the first page cannot be had. Trouble with later pages is told in [`Listing::incomplete`].
    pub async fn list_tools(&self, times: Times) -> Result<Listing<ToolDefinition>> {
        let mut listing = self.shared.list(methods::TOOLS_LIST, "tools", "tools", times).await?;
        if self.shared.speech.repeats_in_headers() && self.shared.channel.link().is_http() {
            listing.items.retain(|tool: &ToolDefinition| match self.learn_tool(tool) {
                Ok(()) => true,
                Err(problem) => {
                    listing.warnings.push(format!("tool {:?}: {problem}", tool.name()));
                    false
                }
            });
        }
        Ok(listing)
    }

    /// Tells the session about a tool that was listed on an earlier connection, so that calls carry its headers.
    ///
    /// # Errors
    /// What is wrong with the tool's `x-mcp-header` annotations; it must not be offered then.
    pub fn learn_tool(&self, tool: &ToolDefinition) -> Result<(), String> {
        let headers = param_headers::of_tool(tool)?;
        let mut known = lock(&self.shared.param_headers);
        if headers.is_empty() {
            drop(known.remove(tool.name().as_str()));
        } else {
            drop(known.insert(tool.name().as_str().to_owned(), Arc::from(headers)));
        }
        Ok(())
    }

    /// The server's resources. Empty, without asking, when the server offers none.
    ///
    /// # Errors
    /// As [`Session::list_tools`].
    pub async fn list_resources(&self, times: Times) -> Result<Listing<ResourceDefinition>> {
        self.shared.list(methods::RESOURCES_LIST, "resources", "resources", times).await
    }

    /// The server's resource templates. Empty, without asking, when the server offers no resources.
    ///
    /// # Errors
    /// As [`Session::list_tools`].
    pub async fn list_resource_templates(&self, times: Times) -> Result<Listing<ResourceTemplateDefinition>> {
        self.shared.list(methods::RESOURCE_TEMPLATES_LIST, "resourceTemplates", "resources", times).await
    }

    /// The server's prompts. Empty, without asking, when the server offers none.
    ///
    /// # Errors
    /// As [`Session::list_tools`].
    pub async fn list_prompts(&self, times: Times) -> Result<Listing<PromptDefinition>> {
        self.shared.list(methods::PROMPTS_LIST, "prompts", "prompts", times).await
    }
}

impl Shared {
    async fn list<D: Definition>(&self, method: &str, key: &str, capability: &str, times: Times) -> Result<Listing<D>> {
        let mut listing =
            Listing { items: Vec::new(), warnings: Vec::new(), cache: None, incomplete: None, more: None };
        if !self.greeting.offers(capability) {
            return Ok(listing);
        }
        let mut cursors = Cursors { seen: HashSet::new(), limits: &self.options.limits };
        let mut cursor: Option<RawJson> = None;
        loop {
            let members: Vec<(&str, &str)> = cursor.iter().map(|cursor| ("cursor", cursor.as_str())).collect();
            let page = match self.ask(Ask { times, ..Ask::new(method, &members) }).await {
                Ok(page) => page,
                Err(error) if cursor.is_none() => return Err(error),
                Err(error) => {
                    listing.incomplete = Some(error);
                    return Ok(listing);
                }
            };
            let page = Page::read(&page, key);
            let Some(items) = page.items.filter(|items| items.as_str().starts_with('[')) else {
                let error = not_followed(format!("the answer to `{method}` has no list of `{key}`"));
                if cursor.is_none() {
                    return Err(error);
                }
                listing.incomplete = Some(error);
                return Ok(listing);
            };
            if let Err(error) = listing.take(&items, key, self.options.limits.items) {
                listing.incomplete = Some(error);
                return Ok(listing);
            }
            listing.cache = stricter(listing.cache, page.cache);
            if cursor.is_none() {
                listing.more = page.more;
            }
            cursor = page.next;
            let Some(next) = &cursor else { return Ok(listing) };
            if let Err(error) = cursors.check(next) {
                listing.incomplete = Some(error);
                return Ok(listing);
            }
        }
    }
}

impl<D: Definition> Listing<D> {
    /// Takes the items of one page, one by one: a page of millions must not cost more than its good items.
    fn take(&mut self, items: &RawJson, key: &str, limit: usize) -> Result<()> {
        for (position, item) in scan::elements(items.as_str()).into_iter().flatten().enumerate() {
            let item =
                item.map_err(|error| not_followed(format!("the server's list of `{key}` is not valid JSON: {error}")))?;
            if self.items.len() + self.warnings.len() >= limit {
                return Err(over_limit(format!("the server lists more than {limit} items"), "items"));
            }
            match D::from_raw(RawJson::part_of(items.shared(), item)) {
                Ok(item) => self.items.push(item),
                Err(broken) => self.warnings.push(format!("{key}[{position}] left out: {broken}")),
            }
        }
        Ok(())
    }
}

/// Guards against a server that never comes to an end.
struct Cursors<'a> {
    seen: HashSet<String>,
    limits: &'a crate::limits::Limits,
}

impl Cursors<'_> {
    fn check(&mut self, next: &RawJson) -> Result<()> {
        if next.as_str().len() > self.limits.cursor_bytes {
            let bytes = self.limits.cursor_bytes;
            return Err(over_limit(format!("the server's page cursor is larger than {bytes} bytes"), "cursor_bytes"));
        }
        if !self.seen.insert(next.as_str().to_owned()) {
            return Err(Error::new(ErrorCode::ProtocolError, "the server gives the same page cursor twice")
                .with_hint("its pages go in a circle; report it to its authors"));
        }
        if self.seen.len() >= self.limits.pages {
            let pages = self.limits.pages;
            return Err(over_limit(format!("the server's list has more than {pages} pages"), "pages"));
        }
        Ok(())
    }
}

fn over_limit(message: String, name: &str) -> Error {
    Error::new(ErrorCode::LimitExceeded, message).with_hint(format!("raise the limit `{name}` if this is meant"))
}

fn not_followed(message: String) -> Error {
    Error::new(ErrorCode::ProtocolError, message)
        .with_hint("the server does not follow the protocol; report it to its authors")
}

/// One page, found in one pass: it may be large.
struct Page {
    items: Option<RawJson>,
    next: Option<RawJson>,
    cache: Option<CacheHint>,
    more: Option<RawJson>,
}

impl Page {
    fn read(result: &RawJson, key: &str) -> Self {
        let mut page = Self { items: None, next: None, cache: None, more: None };
        let (mut ttl_ms, mut scope) = (None, None);
        let mut more = ObjectWriter::new();
        for member in scan::members(result.as_str()).into_iter().flatten().map_while(Result::ok) {
            let raw = || RawJson::part_of(result.shared(), member.value);
            if member.key_is(key) {
                page.items = Some(raw());
            } else if member.key_is("nextCursor") {
                page.next = Some(raw()).filter(|cursor| cursor.as_str() != "null");
            } else if member.key_is("ttlMs") {
                ttl_ms = raw().parse().ok();
            } else if member.key_is("cacheScope") {
                scope = Some(if member.value == "\"public\"" { CacheScope::Public } else { CacheScope::Private });
            } else if !member.key_is("resultType") {
                more.add_written(member.raw_key, member.value);
            }
        }
        if !more.is_empty() {
            page.more = Some(more.finish());
        }
        if let (Some(ttl_ms), Some(scope)) = (ttl_ms, scope) {
            page.cache = Some(CacheHint { ttl_ms, scope });
        }
        page
    }
}

fn stricter(left: Option<CacheHint>, right: Option<CacheHint>) -> Option<CacheHint> {
    match (left, right) {
        (Some(left), Some(right)) => {
            Some(CacheHint { ttl_ms: left.ttl_ms.min(right.ttl_ms), scope: left.scope.max(right.scope) })
        }
        (left, right) => left.or(right),
    }
}
