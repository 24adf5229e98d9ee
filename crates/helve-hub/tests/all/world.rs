//! A hub without a listener, and requests to it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use helve::Host;
use helve_hub::{
    Actor, AgentDesk, Desk, DeskTimes, Door, Hub, HubAuthenticate, HubOptions, Live, Metrics, Programs, TokenRequest,
    Tokens, make_token,
};
use helve_model::SecretSet;
use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Gateway, Options, Peer};
use helve_setup::{Environment, Setup};
use helve_store::{Retention, SealKey, Store, TokenKind};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};

/// The user whose hub it is.
pub(crate) const OWNER: u32 = 1_000;

pub(crate) struct World {
    pub(crate) hub: Arc<Hub>,
    pub(crate) face: Arc<HttpFace>,
    pub(crate) live: Arc<Live>,
    pub(crate) store: Arc<Store>,
    pub(crate) host: Host,
    pub(crate) agent: String,
    pub(crate) admin: String,
    pub(crate) cookie: String,
    /// Answers approvals by token.
    pub(crate) approver: String,
    _directory: Arc<tempfile::TempDir>,
}

/// What a request brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Brings {
    Nothing,
    Agent,
    Admin,
    Cookie,
    Wrong,
}

/// A secret that the hub knows.
pub(crate) const KNOWN_SECRET: &str = "hush-9b1f4c2e7a";

fn clock() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

impl World {
    pub(crate) async fn new(owner: Option<u32>) -> Self {
        let directory = Arc::new(tempfile::tempdir().expect("a directory"));
        let host = Host::builder().start().await.expect("a host");
        Self::of(owner, directory, host, DeskTimes::default(), clock).await
    }

    /// The hub of a directory, with this host behind it.
    pub(crate) async fn of(
        owner: Option<u32>,
        directory: Arc<tempfile::TempDir>,
        host: Host,
        times: DeskTimes,
        clock: fn() -> SystemTime,
    ) -> Self {
        let store = Arc::new(Store::open(&directory.path().join("hub"), |_| {}).expect("a store"));
        let tokens: Arc<Tokens> = Arc::default();
        let (metrics, live) = (Arc::<Metrics>::default(), Arc::<Live>::default());
        tokens.load(&store).expect("tokens");
        let address = "http://127.0.0.1:7333".to_owned();
        let key = SealKey::new(&[7; SealKey::BYTES]).expect("a key");
        let secrets: Arc<SecretSet> = Arc::default();
        secrets.add(KNOWN_SECRET);
        let desk =
            Desk::new(Arc::clone(&store), key, Arc::clone(&live), secrets, address, times, clock).expect("a desk");
        let options =
            Options::default().with(|options| options.approvals = Some(Arc::new(AgentDesk(Arc::clone(&desk)))));
        let gateway = Gateway::new(host.clone(), options);
        let authenticate = Arc::new(HubAuthenticate::new(Arc::clone(&tokens), owner, clock));
        let guard = Guard::default().with(|guard| guard.authenticate = authenticate);
        let face = Arc::new(HttpFace::new(Arc::clone(&gateway), guard));
        let setup = Arc::new(Setup::new(Environment::new(directory.path()).with_clock(clock)));
        let options = HubOptions {
            address: "http://127.0.0.1:7333".to_owned(),
            is_secure: false,
            owner,
            programs: Programs::Allowed,
            retention: Retention::default(),
            version: "0".to_owned(),
        };
        let hub = Hub::new(
            options,
            Arc::clone(&store),
            tokens,
            metrics,
            Arc::clone(&live),
            setup,
            gateway,
            Arc::clone(&face),
            desk,
            clock,
        );
        // A hub that starts again has them already.
        let run = store.tokens().expect("tokens").len();
        let token = |name: &str, kind, approver| {
            let request = TokenRequest {
                name: if run == 0 { name.to_owned() } else { format!("{name}-{run}") },
                kind,
                approver,
                read_only: false,
                servers: Vec::new(),
                tools: Vec::new(),
                life: None,
            };
            make_token(&hub, &Actor::Operator, request).expect("a token").token
        };
        let agent = token("agent", TokenKind::Agent, false);
        let (admin, approver) = (token("admin", TokenKind::Admin, false), token("approver", TokenKind::Admin, true));
        let cookie = String::new();
        let mut world = Self { hub, face, live, store, host, agent, admin, cookie, approver, _directory: directory };
        world.cookie = world.sign_in().await;
        world
    }

    /// Another session of the page.
    pub(crate) async fn sign_in(&self) -> String {
        let world = self;
        let link = world.hub.link().expect("a link");
        let path = link.strip_prefix("http://127.0.0.1:7333").expect("its own address");
        let request = Self::request("GET", path).body(Bytes::new()).expect("a request");
        let response = Arc::clone(&world.hub).handle(request, Peer { connection: 1, user: None }).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        let cookie = response.headers()["set-cookie"].to_str().expect("text");
        cookie.split(';').next().expect("a cookie").to_owned()
    }

    pub(crate) fn request(method: &str, path: &str) -> http::request::Builder {
        Request::builder().method(method).uri(path).header("host", "127.0.0.1:7333")
    }

    fn with(&self, builder: http::request::Builder, brings: Brings) -> http::request::Builder {
        match brings {
            Brings::Nothing => builder,
            Brings::Agent => builder.header("authorization", format!("Bearer {}", self.agent)),
            Brings::Admin => builder.header("authorization", format!("Bearer {}", self.admin)),
            Brings::Cookie => builder.header("cookie", &self.cookie),
            Brings::Wrong => builder.header("authorization", "Bearer hv_0000000000000000_00"),
        }
    }

    /// The status and text of the answer to a request from a user of the machine.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        brings: Brings,
        user: Option<u32>,
        body: &str,
    ) -> (StatusCode, String) {
        let builder = self.with(Self::request(method, path), brings);
        self.send(builder, user, body).await
    }

    pub(crate) async fn send(
        &self,
        builder: http::request::Builder,
        user: Option<u32>,
        body: &str,
    ) -> (StatusCode, String) {
        let builder = builder.header(
            "content-type",
            if body.starts_with('{') { "application/json" } else { "application/x-www-form-urlencoded" },
        );
        let body = Bytes::from(body.to_owned());
        let peer = Peer { connection: 7, user };
        let path = builder.uri_ref().expect("a path").path().to_owned();
        match Door::of(&path) {
            Door::Agents => {
                let request = builder.body(Full::new(body)).expect("a request");
                let response = self.face.handle(request, peer).await;
                (response.status(), String::new())
            }
            Door::Hub => {
                let request = builder.body(body).expect("a request");
                let response = Arc::clone(&self.hub).handle(request, peer).await;
                let status = response.status();
                if response.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream") {
                    return (status, String::new());
                }
                let bytes = response.into_body().collect().await.expect("a body").to_bytes();
                (status, String::from_utf8_lossy(&bytes).into_owned())
            }
        }
    }
}
