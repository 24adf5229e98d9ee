//! Owns the files that pages load: their names carry a hash of their content, so that they can be kept for a year.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

/// Nothing but what the hub itself serves; no script or style inside a page, no frame around it.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A file that pages load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// Its path, as in `/assets/page.0f1e2d3c.css`.
    pub path: String,
    /// Its media type.
    pub media_type: &'static str,
    /// Its content.
    pub bytes: &'static [u8],
}

/// All of them.
#[must_use]
pub fn assets() -> &'static [Asset] {
    let all: &'static [Asset; 5] = &ASSETS;
    all
}

/// Where the files are, for the head of each page.
#[derive(Debug)]
pub(crate) struct Paths {
    pub(crate) style: &'static str,
    pub(crate) script: &'static str,
    pub(crate) events: &'static str,
    pub(crate) icon: &'static str,
    pub(crate) keys: &'static str,
}

pub(crate) fn paths() -> Paths {
    let [style, script, events, icon, keys] = &*ASSETS;
    Paths { style: &style.path, script: &script.path, events: &events.path, icon: &icon.path, keys: &keys.path }
}

static ASSETS: LazyLock<[Asset; 5]> = LazyLock::new(|| {
    [
        asset("page", "css", "text/css; charset=utf-8", include_bytes!("../assets/page.css")),
        asset("htmx", "js", "text/javascript; charset=utf-8", include_bytes!("../assets/htmx.min.js")),
        asset("events", "js", "text/javascript; charset=utf-8", include_bytes!("../assets/hx-sse.min.js")),
        asset("icon", "svg", "image/svg+xml", include_bytes!("../assets/icon.svg")),
        asset("keys", "js", "text/javascript; charset=utf-8", include_bytes!("../assets/keys.js")),
    ]
});

fn asset(name: &str, extension: &str, media_type: &'static str, bytes: &'static [u8]) -> Asset {
    let hash: String = Sha256::digest(bytes).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    Asset { path: format!("/assets/{name}.{hash}.{extension}"), media_type, bytes }
}
