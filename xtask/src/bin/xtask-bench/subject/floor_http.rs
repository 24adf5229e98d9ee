//! The floor over HTTP: a bare hyper connection to the same server, bodies prepared, nothing parsed.

use std::net::Ipv4Addr;

use anyhow::{Result, bail};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::floor_stdio::request;
use super::{HttpClient, TEXT};
use crate::job::Era;

/// A bare hyper connection.
#[derive(Debug)]
pub(crate) struct Hyper {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    body: Bytes,
}

impl HttpClient for Hyper {
    async fn connect(port: u16, era: Era) -> Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let call = format!(r#""name":"echo","arguments":{{"text":"{TEXT}"}}"#);
        let body = Bytes::from(request(era, "tools/call", &call));
        Ok(Self { sender, host: format!("127.0.0.1:{port}"), body })
    }

    async fn echo(&mut self) -> Result<()> {
        let request = Request::post("/mcp")
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(Full::new(self.body.clone()))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let answer = response.into_body().collect().await?.to_bytes();
        if answer.len() < TEXT.len() {
            bail!("{} bytes are not answer", answer.len());
        }
        Ok(())
    }

    async fn oversized(&mut self, _bytes: u64) -> Result<String> {
        bail!("the floor has no limits")
    }
}
