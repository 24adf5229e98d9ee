//! rmcp's own login beside helve's: signs in to the address it is given, then asks for its token a hundred times at once. It is told
//! by stdin where its browser ended and when to go on, and says on stdout which page it wants and how many were answered.

use std::sync::Arc;

use anyhow::{Context, Result};
use rmcp::transport::auth::{AuthorizationManager, AuthorizationRequest, AuthorizationSession};
use tokio::io::{AsyncBufReadExt, BufReader};

const CALLS: usize = 100;
const REDIRECT: &str = "http://127.0.0.1:1/callback";

#[tokio::main]
async fn main() -> Result<()> {
    let server = std::env::args().nth(1).context("no address")?;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut manager = AuthorizationManager::new(server.as_str()).await?;
    let metadata = manager.resolve_metadata().await?;
    manager.set_metadata(metadata.metadata);
    let request = AuthorizationRequest::new(REDIRECT).with_client_name("rmcp");
    let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| error)?;
    println!("{}", session.get_authorization_url());
    let redirect = lines.next_line().await?.context("nobody went to the page")?;
    session.handle_callback_url(&redirect).await?;
    println!("signed in");
    lines.next_line().await?.context("nobody said when")?;
    let manager = Arc::new(session.auth_manager);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..CALLS {
        let manager = Arc::clone(&manager);
        calls.spawn(async move { manager.get_access_token().await.is_ok() });
    }
    let answered = calls.join_all().await.into_iter().filter(|answered| *answered).count();
    println!("{answered}");
    Ok(())
}
