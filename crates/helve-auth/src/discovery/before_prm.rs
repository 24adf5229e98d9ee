//! The way of the first revision, for servers without metadata of their own: the authorization server is the server's own
//! origin, and where that describes nothing, its endpoints have fixed names.

use url::Url;

use crate::discovery::server::{self, AuthorizationServer, Pkce};
use crate::error::Result;
use crate::ports::Http;

pub(super) async fn find(http: &dyn Http, server: &Url) -> Result<AuthorizationServer> {
    let origin = server.origin().ascii_serialization();
    match server::find_if_any(http, &origin, None).await? {
        Ok(server) => Ok(server),
        Err(_) => Ok(with_fixed_names(server, origin)),
    }
}

fn with_fixed_names(server: &Url, issuer: String) -> AuthorizationServer {
    let at = |path: &str| {
        let mut endpoint = server.clone();
        endpoint.set_query(None);
        endpoint.set_fragment(None);
        endpoint.set_path(path);
        endpoint
    };
    AuthorizationServer {
        issuer,
        authorization_endpoint: Some(at("/authorize")),
        token_endpoint: at("/token"),
        registration_endpoint: Some(at("/register")),
        revocation_endpoint: None,
        device_endpoint: None,
        scopes: None,
        auth_methods: None,
        pkce: Pkce::Undescribed,
        names_itself: false,
        takes_documents: false,
        dpop_algorithms: Vec::new(),
    }
}
