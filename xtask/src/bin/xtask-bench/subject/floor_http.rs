//! The floor over HTTP: hyper to hyper on one connection, bodies prepared, nothing parsed.

use std::convert::Infallible;
use std::net::Ipv4Addr;

use anyhow::{Context, Result, bail};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

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

/// The other end: reads the body, answers the same bytes every time. Says its port on stdout and serves until killed.
#[expect(clippy::print_stdout, reason = "the port is what the parent waits for")]
pub(crate) async fn serve() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen")?;
    println!("listening on port {}", listener.local_addr()?.port());
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service_fn(|request: Request<Incoming>| async {
            let read = request.into_body().collect().await.map(|body| body.to_bytes().len()).unwrap_or_default();
            debug_assert!(read > 0, "a request without a body");
            let answer = format!(
                r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{TEXT}"}}],"isError":false}}}}"#
            );
            let response = Response::builder().header(CONTENT_TYPE, "application/json");
            Ok::<_, Infallible>(response.body(Full::new(Bytes::from(answer))).unwrap_or_default())
        });
        tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
