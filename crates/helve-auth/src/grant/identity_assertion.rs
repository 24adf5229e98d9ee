//! Enterprise-managed sign-in: the identity provider exchanges the person's identity token for an assertion (RFC 8693) that
//! is made out to the authorization server, which takes it for a token (ID-JAG).

use url::Url;

use crate::client::{AuthMethod, Client, ClientOrigin};
use crate::error::{AuthError, ErrorKind, Result};
use crate::grant::{Wanted, jwt_bearer};
use crate::settings::IdentityProvider;
use crate::token::{TokenAnswer, TokenEndpoint, form};

const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

pub(crate) async fn identity_assertion(
    endpoint: &TokenEndpoint<'_>,
    provider: &IdentityProvider,
    wanted: Wanted<'_>,
) -> Result<TokenAnswer> {
    let client = Client {
        id: provider.client_id.clone(),
        secret: provider.client_secret.clone(),
        key: None,
        method: if provider.client_secret.is_some() { AuthMethod::Basic } else { AuthMethod::None },
        redirect: None,
        origin: ClientOrigin::Configured,
    };
    let place: &Url = &provider.token_endpoint;
    // The provider is asked as its own client, and what it gives is not yet a token of the server's.
    let exchange =
        TokenEndpoint { ports: endpoint.ports, endpoint: place, issuer: place.as_str(), client: &client, dpop: None };
    let mut form = form([
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("requested_token_type", ID_JAG),
        ("subject_token_type", ID_TOKEN),
        ("audience", endpoint.issuer),
    ]);
    form.push(("subject_token", provider.id_token.clone()));
    wanted.add_to(&mut form);
    let assertion = exchange.ask(&form).await.map_err(|error| {
        let kind = match error.kind() {
            ErrorKind::Refused(_) => ErrorKind::LoginRequired,
            kind => kind.clone(),
        };
        AuthError::new(kind, format!("the identity provider does not vouch: {error}"))
    })?;
    jwt_bearer(endpoint, &assertion.access_token, wanted).await
}
