//! What a server says about itself (RFC 9728): where the refusal says, else at the well-known places, path first.

use serde_json::Value;
use url::Url;

use crate::discovery::document;
use crate::error::{AuthError, ErrorKind, Result, excerpt};
use crate::json::Object;
use crate::ports::{Http, Purpose};
use crate::resource::covers;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// A server's metadata.
#[derive(Debug, Clone)]
pub(crate) struct ProtectedResource {
    /// Its name, exactly as it is written there.
    pub(crate) resource: String,
    pub(crate) authorization_servers: Vec<String>,
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) wants_dpop: bool,
}

/// Finds the metadata; `None` when the server has none.
pub(super) async fn find(http: &dyn Http, server: &Url, hinted: Option<&str>) -> Result<Option<ProtectedResource>> {
    let mut notes = Vec::new();
    for place in places(server, hinted)? {
        if let Some(value) = document(http, Purpose::ResourceMetadata, place, &mut notes).await? {
            return read(&value, server).map(Some);
        }
    }
    Ok(None)
}

pub(super) fn places(server: &Url, hinted: Option<&str>) -> Result<Vec<Url>> {
    let mut places = Vec::new();
    if let Some(hinted) = hinted {
        let place = server.join(hinted).map_err(|_| {
            AuthError::new(
                ErrorKind::BadAnswer,
                format!("the server names {} as its metadata, which is not a URL", excerpt(hinted)),
            )
        })?;
        places.push(place);
    }
    let mut at = |path: &str| {
        let mut place = server.clone();
        place.set_query(None);
        place.set_fragment(None);
        place.set_path(path);
        if !places.contains(&place) {
            places.push(place);
        }
    };
    let path = server.path().trim_end_matches('/');
    if !path.is_empty() {
        at(&format!("{WELL_KNOWN}{path}"));
    }
    at(WELL_KNOWN);
    Ok(places)
}

fn read(value: &Value, server: &Url) -> Result<ProtectedResource> {
    let bad =
        |what: &str| AuthError::new(ErrorKind::BadAnswer, format!("the server's metadata cannot be used: {what}"));
    let object = Object::of(value).ok_or_else(|| bad("it is not an object"))?;
    let resource = object.owned("resource").ok_or_else(|| bad("it names no `resource`"))?;
    if !covers(&resource, server) {
        return Err(AuthError::new(
            ErrorKind::Unsafe,
            format!("the server's metadata is about another resource, {}: nothing is sent there", excerpt(&resource)),
        ));
    }
    Ok(ProtectedResource {
        resource,
        authorization_servers: object.list("authorization_servers").unwrap_or_default(),
        scopes: object.list("scopes_supported").filter(|scopes| !scopes.is_empty()),
        wants_dpop: object.flag("dpop_bound_access_tokens_required"),
    })
}
