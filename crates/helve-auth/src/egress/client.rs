//! Sends requests under the policy: bounded in size, time and redirects; never with anything kept from an earlier one.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{HeaderValue, Method, Request};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use secrecy::ExposeSecret as _;
use tokio::time::timeout;
use url::Url;

use crate::egress::policy::Policy;
use crate::egress::resolver::{Filtering, NothingAllowed, Resolve, SystemResolver};
use crate::egress::route::Route;
use crate::error::{AuthError, ErrorKind, Result};
use crate::ports::{Body, BoxFuture, Http, HttpAnswer, HttpRequest, Purpose};

/// How long one request may take: name, connection, answer.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Largest answer that is read.
const ANSWER_BYTES: usize = 1 << 20;
/// Redirects followed for one document.
const REDIRECTS: usize = 3;
/// How long a connection is kept for the next request of the same login.
const IDLE_TIME: Duration = Duration::from_secs(5);

type Connector = HttpsConnector<Route>;

/// Authorities (DER) that are trusted besides the public ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct Certificates<'a> {
    /// Somebody named them: each must be readable.
    pub named: &'a [Vec<u8>],
    /// The system's own.
    pub system: &'a [Vec<u8>],
}

/// Sends requests on behalf of one server.
pub struct EgressClient {
    policy: Arc<Policy>,
    client: Client<Connector, Full<Bytes>>,
}

impl EgressClient {
    /// A client that keeps to this policy. Through a proxy, the name and literal addresses are checked as ever; what a name
    /// stands for is the proxy's business then.
    ///
    /// # Errors
    /// `Settings` when TLS is not available or a certificate (DER) cannot be read.
    pub fn new(policy: Policy, certificates: Certificates<'_>, proxies: Option<Arc<Matcher>>) -> Result<Self> {
        Self::with_resolver(policy, certificates, proxies, Arc::new(SystemResolver))
    }

    /// The same with another way to resolve names.
    ///
    /// # Errors
    /// See [`EgressClient::new`].
    pub fn with_resolver(
        policy: Policy,
        certificates: Certificates<'_>,
        proxies: Option<Arc<Matcher>>,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self> {
        let policy = Arc::new(policy);
        let mut tcp = HttpConnector::new_with_resolver(Filtering { policy: Arc::clone(&policy), inner: resolver });
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(REQUEST_TIME));
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls(certificates)?);
        let connector = connector.https_or_http().enable_http1().wrap_connector(Route::new(tcp, proxies, REQUEST_TIME));
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIME)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self { policy, client })
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpAnswer> {
        let mut url = request.url.clone();
        for _ in 0..=REDIRECTS {
            let answer = self.once(&request, &url).await?;
            if !answer.status.is_redirection() {
                return Ok(answer);
            }
            url = redirected(&request, &url, &answer)?;
        }
        Err(AuthError::new(
            ErrorKind::BadAnswer,
            format!("{} redirects more than {REDIRECTS} times: {}", request.purpose, shown(&request.url)),
        ))
    }

    async fn once(&self, request: &HttpRequest, url: &Url) -> Result<HttpAnswer> {
        self.policy.check(url)?;
        let mut target = url.clone();
        target.set_fragment(None);
        let unusable = || AuthError::new(ErrorKind::BadAnswer, format!("{} cannot be requested", shown(url)));
        let (method, body) = match &request.body {
            None => (Method::GET, Bytes::new()),
            Some(Body::Form(form)) => (Method::POST, Bytes::copy_from_slice(form.expose_secret().as_bytes())),
            Some(Body::Json(json)) => (Method::POST, Bytes::copy_from_slice(json.as_bytes())),
        };
        let mut outgoing = Request::builder().method(method).uri(target.as_str());
        outgoing = outgoing
            .header(USER_AGENT, HeaderValue::from_static(concat!("helve/", env!("CARGO_PKG_VERSION"))))
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        match &request.body {
            Some(Body::Form(_)) => outgoing = outgoing.header(CONTENT_TYPE, "application/x-www-form-urlencoded"),
            Some(Body::Json(_)) => outgoing = outgoing.header(CONTENT_TYPE, "application/json"),
            None => {}
        }
        for (name, value) in &request.headers {
            outgoing = outgoing.header(name, value);
        }
        let outgoing = outgoing.body(Full::new(body)).map_err(|_| unusable())?;
        let response = self.client.request(outgoing).await.map_err(|error| self.unreachable(url, error))?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_BYTES).collect().await.map_err(|error| {
            let too_long = error.downcast_ref::<http_body_util::LengthLimitError>().is_some();
            let (kind, what) = if too_long {
                (ErrorKind::BadAnswer, "its answer is longer than 1 MiB")
            } else {
                (ErrorKind::Unreachable, "its answer broke off")
            };
            AuthError::new(kind, format!("{} at {} cannot be used: {what}", request.purpose, shown(url)))
        })?;
        Ok(HttpAnswer { status: head.status, headers: head.headers, body: body.to_bytes() })
    }

    fn unreachable(&self, url: &Url, error: hyper_util::client::legacy::Error) -> AuthError {
        let mut cause: Option<&(dyn StdError + 'static)> = Some(&error);
        let mut reason = "the connection failed".to_owned();
        while let Some(error) = cause {
            if let Some(denied) = error.downcast_ref::<NothingAllowed>() {
                return self.policy.denied_class(&denied.host, denied.class);
            }
            if let Some(error) = error.downcast_ref::<rustls::Error>() {
                reason = format!("TLS failed: {error}");
            }
            cause = match error.downcast_ref::<io::Error>() {
                None => error.source(),
                // What it wraps is not its source, but the next in the chain all the same.
                Some(error) => match error.get_ref() {
                    Some(inner) => Some(inner),
                    None => {
                        reason = error.kind().to_string();
                        None
                    }
                },
            };
        }
        AuthError::new(ErrorKind::Unreachable, format!("cannot reach {}: {reason}", shown(url))).with_source(error)
    }
}

impl Http for EgressClient {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpAnswer>> {
        Box::pin(async move {
            let (purpose, place) = (request.purpose, shown(&request.url));
            match timeout(REQUEST_TIME, self.exchange(request)).await {
                Ok(answer) => answer,
                Err(_) => Err(AuthError::new(
                    ErrorKind::Unreachable,
                    format!("{purpose} at {place} did not answer within {} s", REQUEST_TIME.as_secs()),
                )),
            }
        })
    }
}

/// Where a redirect leads, if it may be followed: documents only, within the origin.
fn redirected(request: &HttpRequest, from: &Url, answer: &HttpAnswer) -> Result<Url> {
    let refused = |why: &str| {
        let status = answer.status;
        AuthError::new(
            ErrorKind::BadAnswer,
            format!("{} at {} redirects ({status}): {why}", request.purpose, shown(from)),
        )
    };
    if !matches!(request.purpose, Purpose::ResourceMetadata | Purpose::ServerMetadata) {
        return Err(refused("that is not followed, what was sent is secret"));
    }
    let location = answer.headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let to =
        location.and_then(|location| from.join(location).ok()).ok_or_else(|| refused("it does not say where to"))?;
    if to.origin() != from.origin() {
        return Err(refused("it leads to another origin"));
    }
    Ok(to)
}

fn tls(certificates: Certificates<'_>) -> Result<ClientConfig> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    // A system's store may hold what no client of today understands.
    roots.add_parsable_certificates(certificates.system.iter().map(|der| der.as_slice().into()));
    for certificate in certificates.named {
        roots
            .add(certificate.clone().into())
            .map_err(|error| AuthError::settings("a root certificate cannot be read").with_source(error))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| AuthError::settings("TLS is not available").with_source(error))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// An address as it may be shown: without its query.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

impl std::fmt::Debug for EgressClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("EgressClient").field("policy", &self.policy).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
