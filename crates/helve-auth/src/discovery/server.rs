//! What an authorization server says about itself (RFC 8414 and OpenID discovery), and that it is the one that was asked.

use serde_json::Value;
use url::Url;

use crate::discovery::{address, document, other_issuer};
use crate::error::{AuthError, ErrorKind, Result, excerpt};
use crate::json::Object;
use crate::ports::{Http, Purpose};

/// An authorization server, as it describes itself.
#[derive(Debug, Clone)]
pub(crate) struct AuthorizationServer {
    /// Its name, exactly as its own document has it: `iss` is compared with this.
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Option<Url>,
    pub(crate) token_endpoint: Url,
    pub(crate) registration_endpoint: Option<Url>,
    pub(crate) revocation_endpoint: Option<Url>,
    /// Where codes for people to type are given (RFC 8628).
    pub(crate) device_endpoint: Option<Url>,
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) auth_methods: Option<Vec<String>>,
    pub(crate) pkce: Pkce,
    /// It promises to name itself in every redirect.
    pub(crate) names_itself: bool,
    /// It takes the address of a document as a client id.
    pub(crate) takes_documents: bool,
    pub(crate) dpop_algorithms: Vec<String>,
}

/// What is known about PKCE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pkce {
    /// It says that it supports S256.
    Advertised,
    /// It does not say so.
    NotAdvertised,
    /// It describes itself nowhere; the revision that allows that demands PKCE.
    Undescribed,
}

/// Finds the document of the authorization server `issuer`; `expected` is the name the person wrote for it.
pub(super) async fn find(http: &dyn Http, issuer: &str, expected: Option<&str>) -> Result<AuthorizationServer> {
    match find_if_any(http, issuer, expected).await? {
        Ok(server) => Ok(server),
        Err(notes) => Err(AuthError::new(
            ErrorKind::BadAnswer,
            format!("the authorization server {} does not describe itself: {}", excerpt(issuer), notes.join("; ")),
        )),
    }
}

/// The same; the inner error tells why there is none.
pub(super) async fn find_if_any(
    http: &dyn Http,
    issuer: &str,
    expected: Option<&str>,
) -> Result<Result<AuthorizationServer, Vec<String>>> {
    let mut notes = Vec::new();
    for place in places(issuer)? {
        if let Some(value) = document(http, Purpose::ServerMetadata, place, &mut notes).await? {
            return read(&value, expected.unwrap_or(issuer)).map(Ok);
        }
    }
    Ok(Err(notes))
}

/// Reads the document at an address the person named. Whose it is it says itself, unless the person said that too.
pub(super) async fn at(http: &dyn Http, place: &Url, expected: Option<&str>) -> Result<AuthorizationServer> {
    let mut notes = Vec::new();
    match document(http, Purpose::ServerMetadata, place.clone(), &mut notes).await? {
        None => Err(AuthError::new(
            ErrorKind::BadAnswer,
            format!("there is no metadata of an authorization server there: {}", notes.join("; ")),
        )),
        Some(value) => {
            let named = Object::of(&value).and_then(|object| object.owned("issuer")).unwrap_or_default();
            read(&value, expected.unwrap_or(&named))
        }
    }
}

/// Where an issuer's document can be, in the order to ask.
pub(super) fn places(issuer: &str) -> Result<Vec<Url>> {
    let base = address(issuer, "authorization server", "the server's metadata")?;
    if base.query().is_some() || base.fragment().is_some() {
        return Err(AuthError::new(
            ErrorKind::BadAnswer,
            format!("{} cannot be an issuer: it has a query or a fragment", excerpt(issuer)),
        ));
    }
    let at = |path: &str| {
        let mut place = base.clone();
        place.set_path(path);
        place
    };
    let path = base.path().trim_end_matches('/');
    Ok(if path.is_empty() {
        vec![at("/.well-known/oauth-authorization-server"), at("/.well-known/openid-configuration")]
    } else {
        vec![
            at(&format!("/.well-known/oauth-authorization-server{path}")),
            at(&format!("/.well-known/openid-configuration{path}")),
            at(&format!("{path}/.well-known/openid-configuration")),
        ]
    })
}

/// The same name, but for the slash after a bare origin (Q2: one of both sides always goes through a URL library).
pub(super) fn is_same_issuer(expected: &str, named: &str) -> bool {
    let bare = |issuer: &str| -> Option<String> {
        let url = Url::parse(issuer).ok()?;
        let origin = url.origin().ascii_serialization();
        (issuer.trim_end_matches('/') == origin).then_some(origin)
    };
    expected == named || bare(expected).is_some_and(|origin| bare(named).as_deref() == Some(origin.as_str()))
}

fn read(value: &Value, expected: &str) -> Result<AuthorizationServer> {
    let bad = |what: &str| {
        AuthError::new(
            ErrorKind::BadAnswer,
            format!("the metadata of the authorization server {} cannot be used: {what}", excerpt(expected)),
        )
    };
    let object = Object::of(value).ok_or_else(|| bad("it is not an object"))?;
    let issuer = object.owned("issuer").ok_or_else(|| bad("it names no `issuer`"))?;
    if !is_same_issuer(expected, &issuer) {
        return Err(other_issuer(expected, &issuer));
    }
    let endpoint = |name: &str| object.text(name).map(|text| address(text, name, &issuer)).transpose();
    let methods = object.list("code_challenge_methods_supported").unwrap_or_default();
    Ok(AuthorizationServer {
        authorization_endpoint: endpoint("authorization_endpoint")?,
        token_endpoint: endpoint("token_endpoint")?.ok_or_else(|| bad("it names no `token_endpoint`"))?,
        registration_endpoint: endpoint("registration_endpoint")?,
        revocation_endpoint: endpoint("revocation_endpoint")?,
        device_endpoint: endpoint("device_authorization_endpoint")?,
        scopes: object.list("scopes_supported"),
        auth_methods: object.list("token_endpoint_auth_methods_supported"),
        pkce: if methods.iter().any(|method| method == "S256") { Pkce::Advertised } else { Pkce::NotAdvertised },
        names_itself: object.flag("authorization_response_iss_parameter_supported"),
        takes_documents: object.flag("client_id_metadata_document_supported"),
        dpop_algorithms: object.list("dpop_signing_alg_values_supported").unwrap_or_default(),
        issuer,
    })
}
