//! Signing in, as the suite's scenarios want it: helve's own way, with a browser that says yes.

use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context as _, Result, anyhow};
use helve::SignIns;
use helve::auth::ports::{BoxFuture, Person};
use helve::auth::{AuthError, MemoryStore, Page};
use helve_model::json::RawJson;
use helve_model::{
    ConfigText, HttpFlavour, HttpSpec, IdentitySpec, Layer, OAuthSpec, Origin, ServerName, ServerSpec, TransportSpec,
};
use helve_testkit::authority::visit;
use helve_wire::HeaderSource;

/// The document that the scenario for client documents expects as an id; nothing is there, and nobody looks.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// Scenarios in which going on would be wrong.
const REFUSED: &[&str] = &[
    "auth/iss-normalized",
    "auth/iss-supported-missing",
    "auth/iss-unexpected",
    "auth/iss-wrong-issuer",
    "auth/metadata-issuer-mismatch",
    "auth/resource-mismatch",
    "auth/scope-retry-limit",
];

/// True when a scenario has to end with an error.
pub(crate) fn has_to_be_refused(scenario: &str) -> bool {
    REFUSED.contains(&scenario)
}

/// What goes with the requests of a scenario.
pub(crate) fn headers(server: ServerName, address: &str, scenario: &str) -> Result<Option<Arc<dyn HeaderSource>>> {
    if !scenario.starts_with("auth/") {
        return Ok(None);
    }
    let http = HttpSpec { url: address.into(), headers: Default::default(), flavour: HttpFlavour::Auto };
    let mut spec = ServerSpec::new(server, TransportSpec::Http(http), Origin::Program, Layer::CommandLine);
    spec.oauth = Some(settings(scenario)?);
    let store = Arc::new(MemoryStore::new());
    let sign_ins = SignIns::new(store, now).with_person(Arc::new(SaysYes));
    sign_ins.headers(&spec, &Arc::default()).map_err(|error| anyhow!(error))
}

/// What a person would have written into their configuration for a scenario.
fn settings(scenario: &str) -> Result<OAuthSpec> {
    let mut oauth = OAuthSpec::new();
    let context = super::context()?;
    let text = |name: &str| {
        let value = context.as_ref().and_then(|context: &RawJson| context.member_str(name));
        value.map(ConfigText::literal)
    };
    oauth.client_id = text("client_id");
    oauth.client_secret = text("client_secret");
    oauth.client_key = text("private_key_pem");
    oauth.client_credentials = scenario.starts_with("auth/client-credentials");
    oauth.assertion = text("valid_jwt");
    if scenario == "auth/basic-cimd" {
        oauth.client_document = Some(DOCUMENT.into());
    }
    if let Some(id_token) = text("idp_id_token") {
        oauth.identity = Some(IdentitySpec {
            token_endpoint: text("idp_token_endpoint").context("no idp_token_endpoint")?,
            client_id: text("idp_client_id").context("no idp_client_id")?,
            client_secret: None,
            id_token,
        });
    }
    Ok(oauth)
}

/// A person who goes to the page and says yes.
struct SaysYes;

impl Person for SaysYes {
    fn show<'a>(&'a self, page: &'a Page) -> BoxFuture<'a, helve::auth::Result<()>> {
        let url = page.url.to_string();
        Box::pin(async move {
            // The last redirect leads back to whoever waits, so the visit cannot be waited for.
            drop(tokio::spawn(async move {
                match visit(&url).await {
                    Ok(visit) => super::say(&format!("the browser ended at {} ({})", visit.url, visit.status)),
                    Err(error) => super::say(&format!("the browser: {error}")),
                }
            }));
            Ok::<(), AuthError>(())
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "a program's own clock")]
fn now() -> SystemTime {
    SystemTime::now()
}
