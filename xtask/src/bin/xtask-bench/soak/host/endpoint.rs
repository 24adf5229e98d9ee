//! An endpoint that accepts and closes at once, for a minute.

use std::time::Duration;

use anyhow::Result;
use helve_model::{ConfigText, HttpFlavour, HttpSpec, TransportSpec};
use tokio::net::TcpListener;
use tokio::time::{Instant, timeout_at};

use super::{builder, spec};
use crate::report::{Goal, Line};

pub(super) async fn run() -> Result<Vec<Line>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = ConfigText::literal(format!("http://{}/mcp", listener.local_addr()?));
    let http = HttpSpec { url, headers: [].into_iter().collect(), flavour: HttpFlavour::Auto };
    let end = Instant::now() + Duration::from_secs(60);
    let host = builder(vec![spec("closing", TransportSpec::Http(http))?]).start().await?;
    let mut connections = 0;
    while let Ok(accepted) = timeout_at(end, listener.accept()).await {
        drop(accepted?);
        connections += 1;
    }
    let status = host.server_status("closing").map(|report| report.status.to_string()).unwrap_or_default();
    host.shutdown().await;
    Ok(vec![Line::new("endpoint: connections in a minute", f64::from(connections), Goal::AtMost(12.0), status)])
}
