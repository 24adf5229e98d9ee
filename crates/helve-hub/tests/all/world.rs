//! A hub without a listener, and requests to it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use helve::Host;
use helve_hub::{
    Actor, AgentApprovers, ApprovalQueue, ApprovalTimes, CallRecorder, Hub, HubAuthenticate, HubOptions, Live, Metrics,
    Programs, RequestTarget, TokenRequest, Tokens, make_token,
};
use helve_model::SecretSet;
use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Gateway, Options, Peer};
use helve_setup::{Environment, Lifetime, Recipe, Setup, Wanted};
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
    pub(crate) agent: String,
    pub(crate) admin: String,
    /// Answers approvals by token.
    pub(crate) approver: String,
    pub(crate) cookie: String,
    pub(crate) setup: Arc<Setup>,
    pub(crate) host: Host,
    pub(crate) directory: Arc<tempfile::TempDir>,
}

/// What a world is made of.
struct Parts {
    owner: Option<u32>,
    programs: Programs,
    directory: Arc<tempfile::TempDir>,
    store: Arc<Store>,
    metrics: Arc<Metrics>,
    setup: Arc<Setup>,
    host: Host,
    times: ApprovalTimes,
    clock: fn() -> SystemTime,
}

/// How a world differs from the usual one.
pub(crate) struct Manner<'a> {
    pub(crate) owner: Option<u32>,
    pub(crate) programs: Programs,
    /// What the person's own file says.
    pub(crate) own: &'a str,
    /// What the project's file says.
    pub(crate) project: &'a str,
}

impl Default for Manner<'_> {
    fn default() -> Self {
        Self { owner: None, programs: Programs::Allowed, own: "", project: "" }
    }
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

/// A secret that the hub knows.
pub(crate) const KNOWN_SECRET: &str = "hush-9b1f4c2e7a";

#[expect(clippy::disallowed_methods, reason = "the hosts of these tests have the machine's clock")]
fn clock() -> SystemTime {
    // Calls are recorded with the machine's time.
    SystemTime::now()
}

impl World {
    pub(crate) async fn new(owner: Option<u32>) -> Self {
        Self::with(Manner { owner, ..Manner::default() }).await
    }

    /// A hub whose person has these servers and rules.
    pub(crate) async fn of(own: &str) -> Self {
        Self::with(Manner { own, ..Manner::default() }).await
    }

    #[expect(clippy::disallowed_methods, reason = "servers are found on the path of whoever runs the tests")]
    pub(crate) async fn with(manner: Manner<'_>) -> Self {
        let Manner { owner, programs, own, project } = manner;
        let directory = Arc::new(tempfile::tempdir().expect("a directory"));
        let (home, work) = (directory.path().join("home"), directory.path().join("work"));
        for (file, text) in [(home.join(".config/helve/helve.toml"), own), (work.join("helve.toml"), project)] {
            fs_err::create_dir_all(file.parent().expect("a directory")).expect("a directory");
            if !text.is_empty() {
                fs_err::write(file, text).expect("a file");
            }
        }
        fs_err::create_dir_all(work.join(".git")).expect("a project");
        let store = Arc::new(Store::open(&directory.path().join("hub"), |_| {}).expect("a store"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let variables = [("PATH".into(), path), ("HOME".into(), home.clone().into_os_string())];
        let environment = Environment::new(&work).with_variables(variables).with_home(&home).with_clock(clock);
        let setup = Arc::new(Setup::new(environment));
        let configuration = setup.read_configuration();
        let metrics = Arc::<Metrics>::default();
        let recorder = Arc::new(CallRecorder::new(Arc::clone(&store), Arc::clone(&metrics)));
        let recipe = Recipe::new(&setup, &configuration, Wanted::All, Lifetime::Short).expect("a recipe");
        let host = Box::pin(recipe.with_recorder(recorder).start()).await.expect("a host");
        host.settled(Duration::from_secs(30)).await;
        let times = ApprovalTimes::default();
        Box::pin(Self::made_of(Parts { owner, programs, directory, store, metrics, setup, host, times, clock })).await
    }

    /// The hub of a directory, with this host behind it.
    pub(crate) async fn around(
        owner: Option<u32>,
        directory: Arc<tempfile::TempDir>,
        host: Host,
        times: ApprovalTimes,
        clock: fn() -> SystemTime,
    ) -> Self {
        let store = Arc::new(Store::open(&directory.path().join("hub"), |_| {}).expect("a store"));
        let setup = Arc::new(Setup::new(Environment::new(directory.path()).with_clock(clock)));
        let (programs, metrics) = (Programs::Allowed, Arc::<Metrics>::default());
        Box::pin(Self::made_of(Parts { owner, programs, directory, store, metrics, setup, host, times, clock })).await
    }

    async fn made_of(parts: Parts) -> Self {
        let Parts { owner, programs, directory, store, metrics, setup, host, times, clock } = parts;
        let (tokens, live) = (Arc::<Tokens>::default(), Arc::<Live>::default());
        tokens.load(&store).expect("tokens");
        let address = "http://127.0.0.1:7333".to_owned();
        let key = SealKey::new(&[7; SealKey::BYTES]).expect("a key");
        let secrets: Arc<SecretSet> = Arc::default();
        secrets.add(KNOWN_SECRET);
        let approvals =
            ApprovalQueue::new(Arc::clone(&store), key, Arc::clone(&live), secrets, address.clone(), times, clock)
                .expect("a queue");
        let options = Options::default()
            .with(|options| options.approvals = Some(Arc::new(AgentApprovers(Arc::clone(&approvals)))));
        let gateway = Gateway::new(host.clone(), options);
        let authenticate = Arc::new(HubAuthenticate::new(Arc::clone(&tokens), owner, clock));
        let guard = Guard::default().with(|guard| guard.authenticate = authenticate);
        let face = Arc::new(HttpFace::new(Arc::clone(&gateway), guard));
        let options = HubOptions {
            address,
            is_secure: false,
            owner,
            programs,
            retention: Retention::default(),
            version: "0".to_owned(),
        };
        let hub = Hub::new(
            options,
            Arc::clone(&store),
            tokens,
            metrics,
            Arc::clone(&live),
            Arc::clone(&setup),
            gateway,
            Arc::clone(&face),
            approvals,
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
        let mut world = Self { hub, face, live, store, agent, admin, approver, cookie, setup, host, directory };
        world.cookie = world.sign_in().await;
        world
    }

    /// Another session of the page.
    pub(crate) async fn sign_in(&self) -> String {
        let link = self.hub.link().expect("a link");
        let path = link.strip_prefix("http://127.0.0.1:7333").expect("its own address");
        let request = Self::request("GET", path).body(Bytes::new()).expect("a request");
        let response = Arc::clone(&self.hub).handle(request, Peer { connection: 1, user: None }).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        let cookie = response.headers()["set-cookie"].to_str().expect("text");
        cookie.split(';').next().expect("a cookie").to_owned()
    }

    /// The person's own file.
    pub(crate) fn own_file(&self) -> std::path::PathBuf {
        self.directory.path().join("home/.config/helve/helve.toml")
    }

    /// The project's file.
    pub(crate) fn project_file(&self) -> std::path::PathBuf {
        self.directory.path().join("work/helve.toml")
    }

    /// What the person's own file says.
    pub(crate) fn own(&self) -> String {
        fs_err::read_to_string(self.own_file()).unwrap_or_default()
    }

    /// A page as the person sees it.
    pub(crate) async fn page(&self, path: &str) -> String {
        let (status, text) = self.ask("GET", path, Brings::Cookie, None, "").await;
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        text
    }

    /// The token that forms of this session carry.
    pub(crate) async fn csrf(&self) -> String {
        value_of(&self.page("/").await, "csrf")
    }

    /// Posts a form of the session.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> (StatusCode, String) {
        let csrf = self.csrf().await;
        let all = fields.iter().copied().chain([("csrf", csrf.as_str())]);
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(all).finish();
        self.ask("POST", path, Brings::Cookie, None, &body).await
    }

    /// Waits until servers have come or failed.
    pub(crate) async fn settled(&self) {
        self.host.settled(Duration::from_secs(30)).await;
    }

    /// Asks the API with a body, as the holder of an admin token.
    pub(crate) async fn api(&self, method: &str, path: &str, body: &str) -> (StatusCode, serde_json::Value) {
        let (status, text) = self.ask(method, path, Brings::Admin, None, body).await;
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    /// Lets the host have what the files say now, as a hub does within two seconds.
    pub(crate) async fn reload(&self) {
        let plan = self.setup.host_plan(&self.setup.read_configuration(), Wanted::All).expect("a plan");
        self.host.set_servers(plan).await;
        self.host.settled(Duration::from_secs(30)).await;
    }

    pub(crate) fn request(method: &str, path: &str) -> http::request::Builder {
        Request::builder().method(method).uri(path).header("host", "127.0.0.1:7333")
    }

    fn bringing(&self, builder: http::request::Builder, brings: Brings) -> http::request::Builder {
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
        let request = self.bringing(builder, brings).body(Bytes::new()).expect("a request");
        let response = Arc::clone(&self.hub).handle(request, Peer { connection: 9, user: None }).await;
        assert_eq!(response.status(), StatusCode::OK);
        Stream(response.into_body())
    }

    /// A token that answered approvals, and does not count any more.
    pub(crate) fn revoked(&self) -> String {
        let request = TokenRequest {
            name: "former".to_owned(),
            kind: TokenKind::Admin,
            approver: true,
            read_only: false,
            servers: Vec::new(),
            tools: Vec::new(),
            life: None,
        };
        let made = make_token(&self.hub, &Actor::Operator, request).expect("a token");
        self.revoke("former");
        made.token
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
        let builder = self.bringing(Self::request(method, path), brings);
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
        match RequestTarget::of(&path) {
            RequestTarget::Agents => {
                let request = builder.body(Full::new(body)).expect("a request");
                let response = self.face.handle(request, peer).await;
                (response.status(), String::new())
            }
            RequestTarget::Hub => {
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

/// The value of a hidden field of a page.
pub(crate) fn value_of(page: &str, name: &str) -> String {
    let from = page.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap_or_default();
    from.split('"').next().unwrap_or_default().to_owned()
}
