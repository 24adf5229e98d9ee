//! Hubs that the person joined: `[hubs.NAME]` with the hub's address. Their servers stand in the place of that name; which
//! ones there are is the hub's to say, and not for this crate to ask.

use helve_model::name::PlaceName;
use helve_model::{Layer, Origin, ServerSpec};

use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::document::TableEntry;
use crate::reader::{FileContent, FileReader, wrong_type};
use crate::server::ConfiguredServer;
use crate::trust::ServerTrust;

/// The keys of `[hubs.NAME]`.
pub(crate) const KEYS: &[&str] = &["url"];

/// Hubs that are read; further ones are left out, and that is said.
const MAX_HUBS: usize = 16;

/// A hub that the person joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredHub {
    /// The place of its servers.
    pub place: PlaceName,
    /// Its address, without a path: `https://hub.example.com`.
    pub url: String,
    /// Where it is written.
    pub origin: Origin,
    /// In which layer.
    pub layer: Layer,
}

/// A hub's address as it is kept: scheme, host and port. A token goes there, so it is https, or a hub of this machine.
///
/// # Errors
/// Why it cannot be one, in words.
pub fn hub_address(text: &str) -> Result<String, &'static str> {
    let text = text.trim_end_matches('/');
    let (scheme, authority) = text.split_once("://").ok_or("an address begins with https://")?;
    let is_part =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | ':' | '[' | ']');
    if authority.is_empty() || !authority.chars().all(is_part) {
        return Err("an address of a hub is https://, its host, and a port if need be; nothing behind it");
    }
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_here =
        || host == "localhost" || host.parse::<core::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    match scheme.to_ascii_lowercase().as_str() {
        "https" if !host.is_empty() => Ok(format!("https://{}", authority.to_ascii_lowercase())),
        "http" if is_here() => Ok(format!("http://{}", authority.to_ascii_lowercase())),
        "http" => Err("a token would travel in the open: use https, but for a hub of this machine"),
        _ => Err("an address begins with https://"),
    }
}

/// Reads the table of hubs.
pub(crate) fn read(reader: &mut FileReader<'_>, table: &TableEntry) {
    if reader.place.layer == Layer::Project {
        let message = "a project cannot join a hub for you";
        let hint = "put `[hubs.NAME]` into your own helve.toml";
        reader.report(Diagnostic::warning(Code::BadValue, message).hint(hint), table.key_span);
        return;
    }
    if !table.node.is_table() {
        let message = wrong_type(&quoted(&table.key), "a table", &table.node);
        reader.report(Diagnostic::warning(Code::WrongType, message), table.node.span);
    }
    for hub in table.node.entries() {
        if reader.content.hubs.len() == MAX_HUBS {
            let message = format!("more than {MAX_HUBS} hubs are not read");
            reader.report(Diagnostic::warning(Code::TooMany, message), hub.key_span);
            return;
        }
        if let Some(found) = one(reader, hub) {
            reader.content.hubs.push(found);
        }
    }
}

fn one(reader: &mut FileReader<'_>, hub: &TableEntry) -> Option<ConfiguredHub> {
    let Ok(place) = PlaceName::new(&hub.key) else {
        let message = format!("{} cannot be the name of a hub", quoted(&hub.key));
        let hint = "a word of lower-case letters, digits and single `_`; not `local`";
        reader.report(Diagnostic::warning(Code::BadValue, message).hint(hint), hub.key_span);
        return None;
    };
    if !hub.node.is_table() {
        let message = wrong_type(&quoted(&hub.key), "a table", &hub.node);
        reader.report(Diagnostic::warning(Code::WrongType, message), hub.node.span);
        return None;
    }
    reader.unknown_keys(&hub.node, KEYS);
    let Some(entry) = hub.node.entry("url") else {
        let message = format!("the hub {} has no address", quoted(&hub.key));
        reader.report(Diagnostic::warning(Code::BadValue, message).hint("add `url`"), hub.key_span);
        return None;
    };
    let url = match hub_address(&reader.string(entry)?) {
        Ok(url) => url,
        Err(reason) => {
            let message = format!("{} of the hub {} cannot be used", quoted("url"), quoted(&hub.key));
            reader.report(Diagnostic::warning(Code::BadValue, message).hint(reason), entry.node.span);
            return None;
        }
    };
    let origin = reader.source.origin(hub.key_span.start);
    Some(ConfiguredHub { place, url, origin, layer: reader.place.layer })
}

/// The hubs of all files, one per place, and what is wrong with them: the highest layer wins, and a local server keeps its
/// name.
pub(crate) fn merged(contents: &[FileContent]) -> Vec<ConfiguredHub> {
    let mut hubs: Vec<ConfiguredHub> = Vec::new();
    for hub in contents.iter().flat_map(|content| &content.hubs) {
        if !hubs.iter().any(|known| known.place == hub.place) {
            hubs.push(hub.clone());
        }
    }
    hubs
}

/// Takes out the hubs whose place has the name of a server that the person stands behind: nothing of a hub hides something
/// local.
pub(crate) fn give_way(hubs: &mut Vec<ConfiguredHub>, servers: &[ConfiguredServer], diagnostics: &mut Vec<Diagnostic>) {
    hubs.retain(|hub| {
        let rival = servers
            .iter()
            .find(|server| server.name.as_str() == hub.place.as_str() && server.trust != ServerTrust::Untrusted);
        let Some(rival) = rival else { return true };
        let message = format!("the hub {} is left out: there is a server of that name", quoted(hub.place.as_str()));
        let hint = format!("the server is configured at {}; join the hub under another name", rival.origin);
        let mut diagnostic = Diagnostic::warning(Code::BadValue, message).hint(hint);
        diagnostic.origin = hub.origin.clone();
        diagnostics.push(diagnostic);
        false
    });
}

impl ConfiguredServer {
    /// A server of a hub, as if it stood in the file that has the hub.
    #[must_use]
    pub fn of_hub(hub: &ConfiguredHub, spec: ServerSpec) -> Self {
        Self::without_entry("helve", hub.layer, hub.origin.clone(), spec)
    }
}

#[cfg(test)]
mod tests {
    use super::hub_address;

    #[test]
    fn a_token_goes_to_https_or_to_this_machine() {
        for (text, address) in [
            ("https://hub.example.com/", "https://hub.example.com"),
            ("https://Hub.Example.com:8443", "https://hub.example.com:8443"),
            ("http://127.0.0.1:7333", "http://127.0.0.1:7333"),
            ("http://localhost:7333/", "http://localhost:7333"),
            ("http://[::1]:7333", "http://[::1]:7333"),
        ] {
            assert_eq!(hub_address(text).as_deref(), Ok(address));
        }
        for text in [
            "",
            "hub.example.com",
            "http://hub.example.com",
            "http://127.0.0.1.evil.example",
            "http://localhost@evil.example",
            "https://user:word@hub.example.com",
            "https://hub.example.com/path",
            "https://hub.example.com?x",
            "https://hub.example.com#x",
            "https://hub example.com",
            "https://",
            "file:///etc/passwd",
            "http://[fe80::1]:7333",
        ] {
            assert!(hub_address(text).is_err(), "{text}");
        }
    }
}
