//! A client that signs in for itself, with its secret or its key.

use crate::error::Result;
use crate::grant::Wanted;
use crate::token::{TokenAnswer, TokenEndpoint, form};

pub(crate) async fn client_credentials(endpoint: &TokenEndpoint<'_>, wanted: Wanted<'_>) -> Result<TokenAnswer> {
    let mut form = form([("grant_type", "client_credentials")]);
    wanted.add_to(&mut form);
    endpoint.ask(&form).await
}
