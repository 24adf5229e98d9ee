//! A hub without a listener, and requests to it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use helve::Host;
use helve_hub::{
    Actor, Door, Hub, HubAuthenticate, HubOptions, Live, Metrics, Programs, TokenRequest, Tokens, make_token,
};
use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Gateway, Options, Peer};
use helve_setup::{Environment, Setup};
use helve_store::{Retention, Store, TokenKind};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};

/// The user whose hub it is.
pub(crate) const OWNER: u32 = 1_000;

pub(crate) struct World {
    pub(crate) hub: Arc<Hub>,
    face: Arc<HttpFace>,
    pub(crate) agent: String,
    pub(crate) admin: String,
    pub(crate) cookie: String,
    _directory: tempfile::TempDir,
}

/// A stream that is open.
pub(crate) struct Stream(helve_hub::Body);

impl Stream {
    /// The next piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<String> {
        let frame = self.0.frame().await?.expect("never fails");
        frame.into_data().ok().map(|data| String::from_utf8_lossy(&data).into_owned())
    }
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

fn clock() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

impl World {
    pub(crate) async fn new(owner: Option<u32>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Arc::new(Store::open(&directory.path().join("hub"), |_| {}).expect("a store"));
        let tokens: Arc<Tokens> = Arc::default();
        let host = Host::builder().start().await.expect("a host");
        let gateway = Gateway::new(host, Options::default());
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
        let (metrics, live) = (Arc::<Metrics>::default(), Arc::<Live>::default());
        let hub = Hub::new(options, store, tokens, metrics, live, setup, gateway, Arc::clone(&face), clock);
        let token = |name: &str, kind| {
            let request = TokenRequest {
                name: name.to_owned(),
                kind,
                approver: false,
                read_only: false,
                servers: Vec::new(),
                tools: Vec::new(),
                life: None,
            };
            make_token(&hub, &Actor::Operator, request).expect("a token").token
        };
        let (agent, admin) = (token("agent", TokenKind::Agent), token("admin", TokenKind::Admin));
        let mut world = Self { hub, face, agent, admin, cookie: String::new(), _directory: directory };
        let link = world.hub.link().expect("a link");
        let path = link.strip_prefix("http://127.0.0.1:7333").expect("its own address");
        let request = Self::request("GET", path).body(Bytes::new()).expect("a request");
        let response = Arc::clone(&world.hub).handle(request, Peer { connection: 1, user: None }).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        let cookie = response.headers()["set-cookie"].to_str().expect("text");
        world.cookie = cookie.split(';').next().expect("a cookie").to_owned();
        world
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

    /// A stream that stays open.
    pub(crate) async fn stream(&self, path: &str, brings: Brings, headers: &[(&str, &str)]) -> Stream {
        let builder =
            headers.iter().fold(Self::request("GET", path), |builder, (name, value)| builder.header(*name, *value));
        let request = self.with(builder, brings).body(Bytes::new()).expect("a request");
        let response = Arc::clone(&self.hub).handle(request, Peer { connection: 9, user: None }).await;
        assert_eq!(response.status(), StatusCode::OK);
        Stream(response.into_body())
    }

    /// Takes a token back.
    pub(crate) fn revoke(&self, name: &str) {
        helve_hub::revoke_token(&self.hub, &Actor::Operator, name).expect("it counted");
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
