//! helve's wire over Streamable HTTP: open to everybody, with a token that never changes, or with a login whose token is fresh.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context as _, Result, anyhow};
use helve::SignIns;
use helve::auth::ports::Store as _;
use helve::auth::{Facts, MemoryStore, RecordName};
use helve_model::{HttpFlavour, ServerSpec};
use helve_policy::Permit;
use helve_wire::{CallOptions, HttpTarget, Session, connect_http};
use secrecy::SecretString;
use serde_json::json;

use super::HttpClient;
use super::helve_stdio::{check_echo, echo, options, refusal};
use crate::job::Era;

/// A token of a usual length.
const TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg";

/// A session over HTTP, with what goes along by the way `W`.
#[derive(Debug)]
pub(crate) struct Helve<W> {
    session: Session,
    echo: Permit,
    way: PhantomData<W>,
}

/// What goes along with each request.
pub(crate) trait Way: Send + Sync + 'static {
    fn prepare(url: &str) -> impl Future<Output = Result<HttpTarget>> + Send;
}

/// Nothing.
#[derive(Debug)]
pub(crate) struct Open;

/// A header that never changes.
#[derive(Debug)]
pub(crate) struct FixedToken;

/// The token of a login that is kept.
#[derive(Debug)]
pub(crate) struct SignedIn;

impl Way for Open {
    async fn prepare(url: &str) -> Result<HttpTarget> {
        Ok(HttpTarget::new(url)?)
    }
}

impl Way for FixedToken {
    async fn prepare(url: &str) -> Result<HttpTarget> {
        let header = SecretString::from(format!("Bearer {TOKEN}"));
        Ok(HttpTarget::new(url)?.with_header("authorization", &header)?)
    }
}

impl Way for SignedIn {
    async fn prepare(url: &str) -> Result<HttpTarget> {
        let store = Arc::new(MemoryStore::new());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs();
        let login = json!({
            "version": 1, "issuer": "http://127.0.0.1", "token_endpoint": "http://127.0.0.1/token",
            "client": {"id": "c", "method": "none", "origin": "registered"}, "access_token": TOKEN, "token_type": "bearer",
            "refresh_token": "r", "obtained": now, "expires": now + 86_400,
        });
        store.write(&RecordName::login(url, None), SecretString::from(login.to_string()), Facts::default()).await?;
        let spec = ServerSpec::http("echo", url).build();
        let source = SignIns::new(store, SystemTime::now).headers(&spec, &Arc::default());
        let source = source.map_err(|error| anyhow!(error))?.context("it is not one that is signed in to")?;
        Ok(HttpTarget::new(url)?.with_header_source(source))
    }
}

impl<W: Way> HttpClient for Helve<W> {
    async fn connect(port: u16, era: Era) -> Result<Self> {
        let target = W::prepare(&format!("http://127.0.0.1:{port}/mcp")).await?;
        let session = connect_http(&target, HttpFlavour::Streamable, options(era)?).await?;
        Ok(Self { session, echo: echo()?, way: PhantomData })
    }

    async fn echo(&mut self) -> Result<()> {
        check_echo(&self.session.call_tool(&self.echo, CallOptions::default()).await?)
    }

    async fn oversized(&mut self, bytes: u64) -> Result<String> {
        refusal(&self.session, bytes).await
    }
}
