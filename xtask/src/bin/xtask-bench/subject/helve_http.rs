//! helve's wire over Streamable HTTP.

use anyhow::Result;
use helve_model::HttpFlavour;
use helve_policy::Permit;
use helve_wire::{CallOptions, HttpTarget, Session, connect_http};

use super::HttpClient;
use super::helve_stdio::{check_echo, echo, options, refusal};
use crate::job::Era;

/// A session over HTTP.
#[derive(Debug)]
pub(crate) struct Helve {
    session: Session,
    echo: Permit,
}

impl HttpClient for Helve {
    async fn connect(port: u16, era: Era) -> Result<Self> {
        let target = HttpTarget::new(&format!("http://127.0.0.1:{port}/mcp"))?;
        let session = connect_http(&target, HttpFlavour::Streamable, options(era)?).await?;
        Ok(Self { session, echo: echo()? })
    }

    async fn echo(&mut self) -> Result<()> {
        check_echo(&self.session.call_tool(&self.echo, CallOptions::default()).await?)
    }

    async fn oversized(&mut self, bytes: u64) -> Result<String> {
        refusal(&self.session, bytes).await
    }
}
