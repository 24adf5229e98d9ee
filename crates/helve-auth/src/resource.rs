//! What a token is for: the canonical name of a server, and whether a document that describes a resource covers it.

use url::Url;

/// The name of a server as a resource: without a query (it may hold a key), without a fragment, and without the slash that
/// URL libraries add to a bare origin.
#[must_use]
pub fn canonical_resource(server: &Url) -> String {
    let mut url = server.clone();
    url.set_query(None);
    url.set_fragment(None);
    // An address with a host takes both away without fail.
    let _: [Result<(), ()>; 2] = [url.set_username(""), url.set_password(None)];
    let text = url.to_string();
    if url.path() == "/" { text.trim_end_matches('/').to_owned() } else { text }
}

/// True when a resource of this name covers the server: the same origin, and a path that leads to the server's at whole
/// segments.
#[must_use]
pub fn covers(resource: &str, server: &Url) -> bool {
    let Ok(named) = Url::parse(resource) else { return false };
    if resource.contains('#') || !named.username().is_empty() || named.password().is_some() {
        return false;
    }
    if !matches!(named.scheme(), "http" | "https") || named.origin() != server.origin() {
        return false;
    }
    if named.query().is_some() && named.query() != server.query() {
        return false;
    }
    let prefix = named.path().trim_end_matches('/');
    match server.path().strip_prefix(prefix) {
        Some(rest) => rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

#[cfg(test)]
#[path = "resource_tests.rs"]
mod tests;
