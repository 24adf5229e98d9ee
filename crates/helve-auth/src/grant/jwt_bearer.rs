//! An assertion of somebody the authorization server trusts, exchanged for a token (RFC 7523): once, and if it is refused,
//! that is the answer.

use secrecy::SecretString;

use crate::error::Result;
use crate::grant::Wanted;
use crate::token::{TokenAnswer, TokenEndpoint, form};

pub(crate) async fn jwt_bearer(
    endpoint: &TokenEndpoint<'_>,
    assertion: &SecretString,
    wanted: Wanted<'_>,
) -> Result<TokenAnswer> {
    let mut form = form([("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")]);
    form.push(("assertion", assertion.clone()));
    wanted.add_to(&mut form);
    endpoint.ask(&form).await
}
