//! What is known beforehand about signing in to one server. It comes from the person's own configuration.

use secrecy::SecretString;
use url::Url;

/// What is known beforehand about one server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The address of the server.
    pub server: Url,
    /// Tells several logins to one server apart.
    pub account: Option<String>,
    /// How a token is got.
    pub grant: Grant,
    /// A client registered beforehand.
    pub client: Option<ConfiguredClient>,
    /// The address of a document that describes this client, for authorization servers that take such addresses as client
    /// ids.
    pub client_document: Option<Url>,
    /// What the client calls itself when it registers.
    pub client_name: String,
    /// Which ways to become a client may be taken.
    pub registration: Registration,
    /// The scopes to ask for, exactly; `None`: those that the server names.
    pub scopes: Option<Vec<String>>,
    /// The issuer that the authorization server's metadata has to name; `None`: the one the server names.
    pub issuer: Option<String>,
    /// Where the authorization server describes itself; `None`: at the well-known places.
    pub metadata_url: Option<Url>,
    /// What is sent as `resource`.
    pub resource: ResourceChoice,
    /// What is done when the authorization server does not say that it supports PKCE.
    pub pkce: PkceDemand,
    /// Where the browser is sent back to.
    pub callback: Callback,
}

/// How a token is got.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Grant {
    /// A person signs in on a page.
    #[default]
    AuthorizationCode,
    /// The client signs in by itself, with its secret or its key.
    ClientCredentials,
    /// An identity provider vouches for the person (ID-JAG).
    IdentityAssertion(IdentityProvider),
    /// A token of the platform says which workload this is.
    WorkloadIdentity {
        /// That token.
        assertion: SecretString,
    },
}

/// An identity provider that exchanges an identity token for an assertion.
#[derive(Debug, Clone)]
pub struct IdentityProvider {
    /// Where it exchanges tokens.
    pub token_endpoint: Url,
    /// The client that the identity token was issued to.
    pub client_id: String,
    /// That client's secret.
    pub client_secret: Option<SecretString>,
    /// The identity token.
    pub id_token: SecretString,
}

/// A client registered beforehand.
#[derive(Debug, Clone)]
pub struct ConfiguredClient {
    /// Its id.
    pub id: String,
    /// Its secret.
    pub secret: Option<SecretString>,
    /// Its private key (PKCS #8 in PEM).
    pub key: Option<SecretString>,
}

/// Which ways to become a client may be taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Registration {
    /// A document where the authorization server takes one, else dynamic registration.
    #[default]
    Auto,
    /// Dynamic registration only.
    Dynamic,
    /// None.
    Never,
}

/// What is sent as `resource`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ResourceChoice {
    /// What the server calls itself, else its address.
    #[default]
    AsNamed,
    /// This.
    Exactly(String),
    /// Nothing, for authorization servers that refuse it.
    Omitted,
}

/// What is done when the authorization server does not say that it supports PKCE.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PkceDemand {
    /// The login is refused.
    #[default]
    Advertised,
    /// PKCE is used all the same.
    Assumed,
}

/// Where the browser is sent back to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Callback {
    /// By which name of this machine.
    pub host: CallbackHost,
    /// The port; `None`: any that is free.
    pub port: Option<u16>,
}

/// The names of this machine a browser can be sent back to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallbackHost {
    /// `127.0.0.1`.
    #[default]
    Ipv4,
    /// `localhost`.
    Localhost,
}

impl Settings {
    /// Nothing is known but the server's address.
    #[must_use]
    pub fn new(server: Url) -> Self {
        Self {
            server,
            account: None,
            grant: Grant::default(),
            client: None,
            client_document: None,
            client_name: "helve".to_owned(),
            registration: Registration::default(),
            scopes: None,
            issuer: None,
            metadata_url: None,
            resource: ResourceChoice::default(),
            pkce: PkceDemand::default(),
            callback: Callback::default(),
        }
    }

    /// True when getting a token takes a person.
    pub(crate) const fn needs_person(&self) -> bool {
        matches!(self.grant, Grant::AuthorizationCode)
    }
}

impl CallbackHost {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ipv4 => "127.0.0.1",
            Self::Localhost => "localhost",
        }
    }
}
