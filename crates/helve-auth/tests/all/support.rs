//! A login against the fake, with a browser that says yes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use helve_auth::egress::{Certificates, EgressClient, Policy};
use helve_auth::ports::{BoxFuture, Person, Ports, Store};
use helve_auth::{Facts, LoginWish, MemoryStore, Next, Page, RefusedRequest, Result, Settings, SignIn};
use helve_testkit::Scenario;
use helve_testkit::authority::{Authority, Switches, visit};
use http::{HeaderValue, Method};
use url::Url;

/// Seconds since 1970, as the tests have it. Each test that moves it runs in a process of its own or with relative times.
static NOW: AtomicU64 = AtomicU64::new(1_800_000_000);

pub(crate) fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(NOW.load(Ordering::SeqCst))
}

pub(crate) struct World {
    pub(crate) authority: Authority,
    pub(crate) store: Arc<MemoryStore>,
}

impl World {
    pub(crate) async fn new(switches: Switches) -> Self {
        let authority = Authority::start(&Scenario::modern(), switches).await.unwrap();
        Self { authority, store: Arc::new(MemoryStore::new()) }
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::new(Url::parse(&self.authority.url()).unwrap())
    }

    pub(crate) fn sign_in(&self) -> Arc<SignIn> {
        self.sign_in_with(self.settings())
    }

    /// Another process, as it were: nothing is shared but the store.
    pub(crate) fn sign_in_with(&self, settings: Settings) -> Arc<SignIn> {
        let policy = Policy::for_server(&settings.server);
        let http = Arc::new(EgressClient::new(policy, Certificates::default(), None).unwrap());
        let store = Arc::clone(&self.store) as Arc<dyn Store>;
        SignIn::new(settings, Ports { http, store, clock: now })
    }

    pub(crate) async fn login(&self, sign_in: &Arc<SignIn>) -> Result<Facts> {
        sign_in.login(&self.wish(), &SaysYes).await
    }

    pub(crate) fn wish(&self) -> LoginWish {
        let mut wish = LoginWish::default();
        wish.challenge = Some(format!(
            "Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"",
            self.authority.base()
        ));
        wish.time = Some(Duration::from_secs(20));
        wish
    }

    /// The `Authorization` header of the next request.
    pub(crate) async fn authorization(&self, sign_in: &Arc<SignIn>) -> Result<Option<HeaderValue>> {
        let address = Url::parse(&self.authority.url()).unwrap();
        let headers = sign_in.headers(&Method::POST, &address).await?;
        Ok(headers.into_iter().find(|(name, _)| name == "authorization").map(|(_, value)| value))
    }

    /// What follows when the server answers 401 to this header.
    pub(crate) async fn refused(&self, sign_in: &Arc<SignIn>, sent: Option<&HeaderValue>) -> Next {
        let challenge = self.wish().challenge.unwrap();
        let challenge = Some(challenge.as_str());
        sign_in.refused(&RefusedRequest { status: 401, challenge, sent, nonce: None, earlier: 0 }).await
    }
}

/// A person who goes to the page and says yes.
pub(crate) struct SaysYes;

impl Person for SaysYes {
    fn show<'a>(&'a self, page: &'a Page) -> BoxFuture<'a, Result<()>> {
        let url = page.url.to_string();
        drop(tokio::spawn(async move { visit(&url).await }));
        Box::pin(std::future::ready(Ok(())))
    }
}
