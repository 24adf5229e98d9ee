//! The authorization code grant: a page for the person, what has to be remembered meanwhile, and the checks on what comes
//! back.

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use url::Url;

use crate::client::Client;
use crate::credential::{AskedLogin, Credential, unix};
use crate::discovery::{AuthorizationServer, Found, Pkce};
use crate::dpop::DpopKey;
use crate::error::{Advice, AuthError, ErrorKind, Result, excerpt};
use crate::json::Object;
use crate::ports::Ports;
use crate::random::{hashed, unguessable};
use crate::reception::RedirectAnswer;
use crate::settings::PkceDemand;
use crate::token::{TokenEndpoint, form};

/// A login that has begun: all that the answer is checked against, in one record.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) issuer: String,
    pub(crate) names_itself: bool,
    pub(crate) token_endpoint: Url,
    pub(crate) revocation_endpoint: Option<Url>,
    pub(crate) client: Client,
    pub(crate) redirect: String,
    state: SecretString,
    verifier: SecretString,
    pub(crate) resource: Option<String>,
    pub(crate) requested: Vec<String>,
    pub(crate) dpop: Option<DpopKey>,
    pub(crate) started: u64,
}

/// Begins a login: the page, and what to remember.
pub(crate) fn begin(
    found: &Found,
    demand: PkceDemand,
    client: Client,
    redirect: &str,
    scopes: &[String],
    now: u64,
) -> Result<(Url, Pending)> {
    let server = &found.server;
    check_pkce(server, demand)?;
    let Some(endpoint) = &server.authorization_endpoint else {
        return Err(AuthError::new(
            ErrorKind::BadAnswer,
            format!("the authorization server {} has no page to sign in on", server.issuer),
        ));
    };
    if !matches!(endpoint.scheme(), "http" | "https") {
        return Err(AuthError::new(
            ErrorKind::Unsafe,
            format!("the page to sign in on is not a web page: {}", excerpt(endpoint.as_str())),
        ));
    }
    let (state, verifier) = (unguessable()?, unguessable()?);
    let dpop = if found.wants_dpop && server.dpop_algorithms.iter().any(|name| name == crate::dpop::ALGORITHM) {
        Some(DpopKey::generate()?)
    } else {
        None
    };
    let mut page = endpoint.clone();
    page.set_fragment(None);
    {
        let mut query = page.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", redirect)
            .append_pair("code_challenge", &hashed(&verifier))
            .append_pair("code_challenge_method", "S256")
            .append_pair("state", &state);
        if let Some(resource) = &found.resource {
            query.append_pair("resource", resource);
        }
        if !scopes.is_empty() {
            query.append_pair("scope", &scopes.join(" "));
        }
        if scopes.iter().any(|scope| scope == "offline_access") {
            // OpenID providers hand out no refresh token otherwise.
            query.append_pair("prompt", "consent");
        }
    }
    let pending = Pending {
        issuer: server.issuer.clone(),
        names_itself: server.names_itself,
        token_endpoint: server.token_endpoint.clone(),
        revocation_endpoint: server.revocation_endpoint.clone(),
        client,
        redirect: redirect.to_owned(),
        state: SecretString::from(state),
        verifier: SecretString::from(verifier),
        resource: found.resource.clone(),
        requested: scopes.to_vec(),
        dpop,
        started: now,
    };
    Ok((page, pending))
}

fn check_pkce(server: &AuthorizationServer, demand: PkceDemand) -> Result<()> {
    match (server.pkce, demand) {
        (Pkce::Advertised | Pkce::Undescribed, _) | (Pkce::NotAdvertised, PkceDemand::Assumed) => Ok(()),
        (Pkce::NotAdvertised, PkceDemand::Advertised) => Err(AuthError::new(
            ErrorKind::Unsafe,
            format!("the authorization server {} does not say that it supports PKCE (S256)", server.issuer),
        )
        .with_advice(Advice::AssumePkce)),
    }
}

impl Pending {
    /// True when an answer belongs to this login. Anything else is somebody else's and changes nothing.
    pub(crate) fn is_mine(&self, answer: &RedirectAnswer) -> bool {
        // Hashed, so that how long it takes says nothing about how much of a guess is right.
        answer.state.as_deref().is_some_and(|state| hashed(state) == hashed(self.state.expose_secret()))
    }

    /// The code of an answer: whose answer it is is checked before anything it says counts, an error included.
    pub(crate) fn code(&self, answer: &RedirectAnswer) -> Result<SecretString> {
        self.check_issuer(answer.issuer.as_deref())?;
        if !self.is_mine(answer) {
            return Err(AuthError::new(
                ErrorKind::Unsafe,
                "the answer belongs to another login: its state is not ours",
            ));
        }
        if let Some(error) = &answer.error {
            let words = answer.description.as_deref().map(|words| format!(": {}", excerpt(words))).unwrap_or_default();
            return Err(AuthError::new(
                ErrorKind::Refused(error.clone()),
                format!("the authorization server {} refuses ({}){words}", self.issuer, excerpt(error)),
            ));
        }
        match &answer.code {
            Some(code) => Ok(SecretString::from(code.clone())),
            None => Err(AuthError::new(ErrorKind::BadAnswer, "the browser came back without a code")),
        }
    }

    /// The table of RFC 9207, compared letter by letter.
    fn check_issuer(&self, named: Option<&str>) -> Result<()> {
        let wrong = |what: String| Err(AuthError::new(ErrorKind::Unsafe, what));
        match (self.names_itself, named) {
            (_, Some(named)) if named == self.issuer => Ok(()),
            (_, Some(named)) => wrong(format!(
                "the answer comes from {}, and the login began at {}",
                excerpt(named),
                excerpt(&self.issuer)
            )),
            (true, None) => {
                wrong(format!("the answer does not say who sent it, which {} always does", excerpt(&self.issuer)))
            }
            (false, None) => Ok(()),
        }
    }

    /// Exchanges the code for a token.
    pub(crate) async fn redeem(self, ports: &Ports, code: SecretString) -> Result<Credential> {
        let endpoint = TokenEndpoint {
            ports,
            endpoint: &self.token_endpoint,
            issuer: &self.issuer,
            client: &self.client,
            dpop: self.dpop.as_ref(),
        };
        let mut form = form([("grant_type", "authorization_code"), ("redirect_uri", &self.redirect)]);
        form.push(("code", code));
        form.push(("code_verifier", self.verifier.clone()));
        if let Some(resource) = &self.resource {
            form.push(("resource", resource.clone().into()));
        }
        let answer = endpoint.ask_either_way(&form).await?;
        let asked = AskedLogin {
            issuer: self.issuer,
            token_endpoint: self.token_endpoint,
            revocation_endpoint: self.revocation_endpoint,
            client: self.client,
            resource: self.resource,
            requested: self.requested,
            dpop: self.dpop,
        };
        Ok(asked.answered(answer, unix((ports.clock)())))
    }

    pub(crate) fn to_text(&self) -> SecretString {
        let value = json!({
            "issuer": self.issuer,
            "names_itself": self.names_itself,
            "token_endpoint": self.token_endpoint.as_str(),
            "revocation_endpoint": self.revocation_endpoint.as_ref().map(Url::as_str),
            "client": self.client.to_json(),
            "redirect": self.redirect,
            "state": self.state.expose_secret(),
            "verifier": self.verifier.expose_secret(),
            "resource": self.resource,
            "requested": self.requested,
            "dpop": self.dpop.as_ref().map(DpopKey::to_text),
            "started": self.started,
        });
        SecretString::from(value.to_string())
    }

    pub(crate) fn from_text(text: &SecretString) -> Option<Self> {
        let value = serde_json::from_str::<Value>(text.expose_secret()).ok()?;
        let object = Object::of(&value)?;
        Some(Self {
            issuer: object.owned("issuer")?,
            names_itself: object.flag("names_itself"),
            token_endpoint: object.url("token_endpoint")?,
            revocation_endpoint: object.url("revocation_endpoint"),
            client: Client::from_json(&object.object("client")?)?,
            redirect: object.owned("redirect")?,
            state: SecretString::from(object.owned("state")?),
            verifier: SecretString::from(object.owned("verifier")?),
            resource: object.owned("resource"),
            requested: object.list("requested").unwrap_or_default(),
            dpop: object.text("dpop").and_then(DpopKey::from_text),
            started: object.seconds("started")?,
        })
    }
}

#[cfg(test)]
#[path = "code_tests.rs"]
mod tests;
