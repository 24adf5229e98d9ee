//! Which servers are signed in to, with what, and how a token gets into their requests.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use helve_auth::egress::{Certificates, EgressClient, Policy};
use helve_auth::ports::{Http, HttpAnswer, HttpRequest, Person, Ports, Store};
use helve_auth::{
    Advice, AuthError, Callback, CallbackHost, ConfiguredClient, ErrorKind, Grant, IdentityProvider, LoginWish, Next,
    PkceDemand, RefusedRequest, Registration, ResourceChoice, Settings, SignIn,
};
use helve_model::{ConfigText, ErrorCode, HttpSpec, Layer, OAuthSpec, SecretSet, ServerSpec, TransportSpec};
use helve_wire::{AfterRefusal, BoxFuture, HeaderSource, Outgoing, Proxies, Refused};
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use crate::error::CallError;
use helve_model::sync::lock;

/// The logins of a host: one for each server that can be signed in to, all kept in one store.
pub struct SignIns {
    store: Arc<dyn Store>,
    clock: fn() -> SystemTime,
    person: Option<Arc<dyn Person>>,
    certificates: Vec<Vec<u8>>,
    system_certificates: fn() -> &'static [Vec<u8>],
    proxies: Option<Proxies>,
    known: Mutex<Vec<Known>>,
}

/// A login that was made for a spec, to be found again when the server is connected to anew.
struct Known {
    url: String,
    oauth: Option<OAuthSpec>,
    sign_in: Arc<SignIn>,
}

impl SignIns {
    /// Logins that are kept in this store.
    pub fn new(store: Arc<dyn Store>, clock: fn() -> SystemTime) -> Self {
        Self {
            store,
            clock,
            person: None,
            certificates: Vec::new(),
            system_certificates: || &[],
            proxies: None,
            known: Mutex::default(),
        }
    }

    /// Lets a person sign in whenever a server asks for it. Without one, a server that wants a login is `needs-auth`.
    #[must_use]
    pub fn with_person(mut self, person: Arc<dyn Person>) -> Self {
        self.person = Some(person);
        self
    }

    /// Trusts this certificate authority (DER) besides the public ones, for everything but the server itself.
    #[must_use]
    pub fn with_root_certificate(mut self, der: Vec<u8>) -> Self {
        self.certificates.push(der);
        self
    }

    /// Trusts what the system trusts besides the public authorities.
    #[must_use]
    pub const fn with_system_certificates(mut self, certificates: fn() -> &'static [Vec<u8>]) -> Self {
        self.system_certificates = certificates;
        self
    }

    /// Asks authorization servers through the proxies that the person uses.
    #[must_use]
    pub fn with_proxies(mut self, proxies: Option<Proxies>) -> Self {
        self.proxies = proxies;
        self
    }

    /// The login of a server; `None` when it is not one that is signed in to: a program, a server with credentials of its
    /// own, or one whose entry forbids it.
    ///
    /// # Errors
    /// `CONFIG` when its entry says something about signing in that cannot be used.
    pub fn of(&self, spec: &ServerSpec) -> Result<Option<Arc<SignIn>>, CallError> {
        let TransportSpec::Http(http) = &spec.transport else { return Ok(None) };
        if !can_sign_in(spec, http) {
            return Ok(None);
        }
        let mut known = lock(&self.known);
        let is_same = |known: &&Known| known.url == http.url.expose() && known.oauth == spec.oauth;
        if let Some(found) = known.iter().find(is_same) {
            return Ok(Some(Arc::clone(&found.sign_in)));
        }
        let unusable = |error: AuthError| from_auth(error, spec);
        let settings = settings_of(spec, http).map_err(unusable)?;
        let mut policy = Policy::for_server(&settings.server);
        let named =
            [settings.issuer.as_deref().and_then(|issuer| Url::parse(issuer).ok()), settings.metadata_url.clone()];
        for address in named.into_iter().flatten() {
            policy = policy.with_named(&address);
        }
        if let Grant::IdentityAssertion(provider) = &settings.grant {
            policy = policy.with_named(&provider.token_endpoint);
        }
        let client = LazyClient {
            policy,
            certificates: self.certificates.clone(),
            system_certificates: self.system_certificates,
            proxies: self.proxies.clone(),
            client: OnceLock::new(),
        };
        let ports = Ports { http: Arc::new(client), store: Arc::clone(&self.store), clock: self.clock };
        let sign_in = SignIn::new(settings, ports);
        known.push(Known {
            url: http.url.expose().to_owned(),
            oauth: spec.oauth.clone(),
            sign_in: Arc::clone(&sign_in),
        });
        Ok(Some(sign_in))
    }

    /// What goes with the requests to a server. Every token is put into a set, to be taken out of what the server says.
    ///
    /// # Errors
    /// See [`SignIns::of`].
    pub fn headers(
        &self,
        spec: &ServerSpec,
        hidden: &Arc<SecretSet>,
    ) -> Result<Option<Arc<dyn HeaderSource>>, CallError> {
        let sign_in = self.of(spec)?;
        let person = self.person.clone();
        Ok(sign_in.map(|sign_in| {
            let (hidden, known) = (Arc::clone(hidden), AtomicU64::new(0));
            Arc::new(SignedIn { sign_in, person, hidden, known }) as Arc<dyn HeaderSource>
        }))
    }
}

/// The way out, made at the first request: whoever only asks who is signed in reads no certificates.
struct LazyClient {
    policy: Policy,
    certificates: Vec<Vec<u8>>,
    system_certificates: fn() -> &'static [Vec<u8>],
    proxies: Option<Proxies>,
    client: OnceLock<Result<EgressClient, String>>,
}

impl LazyClient {
    fn made(&self) -> Result<EgressClient, String> {
        let certificates = Certificates { named: &self.certificates, system: (self.system_certificates)() };
        let proxies = self.proxies.as_ref().map(|proxies| Arc::clone(proxies.matcher()));
        EgressClient::new(self.policy.clone(), certificates, proxies).map_err(|error| error.message().to_owned())
    }
}

impl Http for LazyClient {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpAnswer, AuthError>> {
        match self.client.get_or_init(|| self.made()) {
            Ok(client) => client.send(request),
            Err(problem) => Box::pin(std::future::ready(Err(AuthError::settings(problem.clone())))),
        }
    }
}

/// True when a server is one that is signed in to.
fn can_sign_in(spec: &ServerSpec, http: &HttpSpec) -> bool {
    let has_own = http.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
    !has_own && spec.oauth.as_ref().is_none_or(|oauth| oauth.enabled)
}

/// What an entry says about signing in. What could weaken a check counts only where the person wrote it themselves.
fn settings_of(spec: &ServerSpec, http: &HttpSpec) -> Result<Settings, AuthError> {
    let address = |text: &str, what: &str| {
        Url::parse(text).map_err(|_| AuthError::settings(format!("{what} of the server `{}` is not a URL", spec.name)))
    };
    let mut settings = Settings::new(address(http.url.expose(), "the address")?);
    let Some(oauth) = &spec.oauth else { return Ok(settings) };
    let is_own = spec.layer != Layer::Project;
    let exposed = |text: &Option<ConfigText>| text.as_ref().map(|text| text.expose().to_owned());
    let secret = |text: &Option<ConfigText>| exposed(text).map(SecretString::from);
    settings.account.clone_from(&oauth.account);
    settings.client = exposed(&oauth.client_id).map(|id| ConfiguredClient {
        id,
        secret: secret(&oauth.client_secret),
        key: secret(&oauth.client_key),
    });
    if let Some(name) = &oauth.client_name {
        settings.client_name.clone_from(name);
    }
    settings.scopes = (!oauth.scopes.is_empty()).then(|| oauth.scopes.clone());
    settings.callback = Callback {
        host: if oauth.callback_localhost { CallbackHost::Localhost } else { CallbackHost::Ipv4 },
        port: oauth.callback_port,
    };
    settings.client_document =
        oauth.client_document.as_ref().map(|text| address(text.expose(), "`oauth.client_metadata_url`")).transpose()?;
    if oauth.dynamic_registration {
        settings.registration = Registration::Dynamic;
    }
    if let Some(resource) = exposed(&oauth.resource) {
        settings.resource = ResourceChoice::Exactly(resource);
    }
    if is_own {
        settings.issuer = exposed(&oauth.issuer);
        settings.metadata_url =
            oauth.metadata_url.as_ref().map(|text| address(text.expose(), "`oauth.metadata_url`")).transpose()?;
        if oauth.pkce_assumed {
            settings.pkce = PkceDemand::Assumed;
        }
        if oauth.resource_omitted {
            settings.resource = ResourceChoice::Omitted;
        }
    }
    settings.grant = match (oauth.client_credentials, &oauth.identity, secret(&oauth.assertion)) {
        (false, None, None) => Grant::AuthorizationCode,
        (true, None, None) => Grant::ClientCredentials,
        (false, Some(identity), None) => Grant::IdentityAssertion(IdentityProvider {
            token_endpoint: address(identity.token_endpoint.expose(), "`oauth.enterprise.token_endpoint`")?,
            client_id: identity.client_id.expose().to_owned(),
            client_secret: secret(&identity.client_secret),
            id_token: SecretString::from(identity.id_token.expose().to_owned()),
        }),
        (false, None, Some(assertion)) => Grant::WorkloadIdentity { assertion },
        _ => return Err(AuthError::settings("`oauth` names more than one grant")),
    };
    Ok(settings)
}

/// The headers of a server that is signed in to.
struct SignedIn {
    sign_in: Arc<SignIn>,
    person: Option<Arc<dyn Person>>,
    hidden: Arc<SecretSet>,
    /// Which of the login's tokens are in the set.
    known: AtomicU64,
}

impl HeaderSource for SignedIn {
    fn headers<'a>(
        &'a self,
        request: Outgoing<'a>,
    ) -> BoxFuture<'a, helve_wire::Result<Vec<(HeaderName, HeaderValue)>>> {
        Box::pin(async move {
            let headers = self.sign_in.headers(request.method, request.address).await.map_err(to_wire)?;
            let newest = self.sign_in.generation();
            if self.known.swap(newest, Ordering::Relaxed) != newest {
                self.sign_in.secrets().iter().for_each(|secret| self.hidden.add(secret.expose_secret()));
            }
            Ok(headers)
        })
    }

    fn refused<'a>(&'a self, refused: Refused<'a>) -> BoxFuture<'a, AfterRefusal> {
        Box::pin(async move {
            let sent = refused.headers.iter().find(|(name, _)| *name == AUTHORIZATION).map(|(_, value)| value);
            let refusal = RefusedRequest {
                status: refused.status.as_u16(),
                challenge: refused.challenge,
                sent,
                nonce: refused.nonce,
                earlier: refused.earlier,
            };
            match (self.sign_in.refused(&refusal).await, &self.person) {
                (Next::Repeat, _) => AfterRefusal::Repeat,
                (Next::NeedsPerson(_), Some(person)) => {
                    let mut wish = LoginWish::default();
                    wish.challenge = refused.challenge.map(ToOwned::to_owned);
                    match Box::pin(self.sign_in.login(&wish, person.as_ref())).await {
                        Ok(_) => AfterRefusal::Repeat,
                        Err(error) => AfterRefusal::Fail(to_wire(error)),
                    }
                }
                (Next::NeedsPerson(error) | Next::Fail(error), _) => AfterRefusal::Fail(to_wire(error)),
            }
        })
    }

    fn nonce(&self, nonce: &HeaderValue) {
        self.sign_in.nonce(nonce);
    }
}

/// An error of signing in, on the wire's way.
fn to_wire(error: AuthError) -> helve_wire::Error {
    let hint = error.advice().and_then(advice);
    let wire = helve_wire::Error::new(code_of(&error), error.message().to_owned());
    let wire = match hint {
        Some(hint) => wire.with_hint(hint),
        None => wire,
    };
    wire.with_source(error)
}

/// An error of signing in, at a server.
pub fn from_auth(error: AuthError, spec: &ServerSpec) -> CallError {
    let hint = error.advice().and_then(advice);
    let ours = CallError::new(code_of(&error), error.message().to_owned()).at_server(&spec.name);
    let ours = match hint {
        Some(hint) => ours.with_hint(hint),
        None => ours,
    };
    match std::error::Error::source(&error) {
        Some(source) => ours.with_source(source.to_string()),
        None => ours,
    }
}

fn code_of(error: &AuthError) -> ErrorCode {
    match error.kind() {
        ErrorKind::Unreachable => ErrorCode::TransportError,
        ErrorKind::TimedOut => ErrorCode::Timeout,
        ErrorKind::Settings | ErrorKind::Store => ErrorCode::Config,
        _ => ErrorCode::AuthRequired,
    }
}

/// What a person can do, in the words of a configuration.
fn advice(advice: &Advice) -> Option<String> {
    Some(match advice {
        // Which way that is done is known where the error is shown.
        Advice::LogIn => return None,
        Advice::NameIssuer { issuer } => {
            format!("if that is right, say so in a file of your own: `oauth.issuer = \"{issuer}\"`")
        }
        Advice::AssumePkce => {
            "if you know that it does, say so in a file of your own: `oauth.pkce = \"assume\"`".to_owned()
        }
        Advice::OmitResource => "leave the resource out: `oauth.resource = false`".to_owned(),
        Advice::RegisterClient { issuer, redirect } => {
            let place = if redirect.is_empty() { String::new() } else { format!(" (redirect address {redirect})") };
            format!("register a client with {issuer}{place}, and name it: `oauth.client_id`, `oauth.client_secret`")
        }
        Advice::StartAfresh => "sign in again, with a new registration".to_owned(),
        Advice::FreePort { port } => {
            format!("another program listens on port {port}: end it, or set `oauth.callback_port`")
        }
        Advice::TryLater => "try again later".to_owned(),
        _ => "sign in again".to_owned(),
    })
}

impl fmt::Debug for SignIns {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SignIns").field("person", &self.person.is_some()).finish_non_exhaustive()
    }
}
