//! Owns a browser of the simplest kind: it goes where it is sent, and says yes to everything by going there.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How often it lets itself be sent on.
const REDIRECTS: usize = 5;

/// Where a visit ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The last address.
    pub url: String,
    /// The last status.
    pub status: u16,
    /// The last body.
    pub body: String,
    /// Every address on the way.
    pub addresses: Vec<String>,
}

/// Visits a page over plain HTTP and goes on wherever it is sent. Where it cannot go on, it stands there with status 0, as
/// a browser shows an error and the address.
pub async fn visit(url: &str) -> io::Result<Visit> {
    let mut addresses = vec![url.to_owned()];
    loop {
        let here = addresses.last().cloned().unwrap_or_default();
        let (status, location, body) = match get(&here).await {
            Ok(answer) => answer,
            Err(_) if addresses.len() > 1 => (0, None, String::new()),
            Err(error) => return Err(error),
        };
        match location {
            Some(next) if (300..400).contains(&status) && addresses.len() <= REDIRECTS => addresses.push(next),
            _ => return Ok(Visit { url: here, status, body, addresses }),
        }
    }
}

async fn get(url: &str) -> io::Result<(u16, Option<String>, String)> {
    let rest = url.strip_prefix("http://").ok_or_else(|| io::Error::other(format!("{url} is not plain HTTP")))?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host).await?;
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let location = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    });
    Ok((status, location, body.to_owned()))
}
