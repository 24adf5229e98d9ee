//! Owns the list of ways in which an authorization server, or the server it protects, can be odd.

use std::time::Duration;

/// What it does. The default follows every rule.
#[derive(Clone, Debug)]
pub struct Switches {
    /// What a refusal says.
    pub challenge: ChallengeKind,
    /// The scope that a refusal names.
    pub challenge_scope: Option<String>,
    /// The server describes itself (RFC 9728).
    pub resource_metadata: bool,
    /// That description is found at the root only.
    pub resource_metadata_at_root: bool,
    /// Another `resource` than the server's address.
    pub resource: Option<String>,
    /// `scopes_supported` of that description.
    pub resource_scopes: Option<Vec<String>>,
    /// The authorization server describes itself.
    pub server_metadata: bool,
    /// By OpenID discovery only.
    pub openid_only: bool,
    /// Another issuer than the one asked for (Q1, Q2).
    pub issuer: Option<String>,
    /// `code_challenge_methods_supported` is there.
    pub pkce: bool,
    /// `scopes_supported` of the authorization server.
    pub server_scopes: Option<Vec<String>>,
    /// Client ids can be addresses of documents.
    pub documents: bool,
    /// `null` for optional members (Q18).
    pub nulls: bool,
    /// What registering comes to.
    pub registration: RegistrationKind,
    /// `token_endpoint_auth_methods_supported`.
    pub auth_methods: Option<Vec<String>>,
    /// The redirect address has to begin with this (Q14).
    pub redirect_prefix: Option<String>,
    /// `authorization_response_iss_parameter_supported`.
    pub announces_issuer: bool,
    /// What `iss` says in the redirect.
    pub issuer_in_redirect: IssuerInRedirect,
    /// Scopes are refused in the redirect (Q19).
    pub refuses_scopes: bool,
    /// `resource` is refused (Q5).
    pub refuses_resource: bool,
    /// How long access tokens live; `None`: not said (Q17).
    pub lifetime: Option<u64>,
    /// Refresh tokens are given.
    pub refresh_tokens: bool,
    /// They change with each use, and a used one revokes the login (Q12).
    pub rotation: bool,
    /// How answers of the token endpoint look.
    pub token_shape: TokenShape,
    /// What a client is told that is not known: some say `invalid_grant` (Q10).
    pub unknown_client: &'static str,
    /// What a dead refresh token is answered with: some say `invalid_request` (Q11).
    pub dead_refresh: &'static str,
    /// Tools may be called only with this scope.
    pub call_scope: Option<String>,
    /// Whether codes are given for people to type elsewhere, and what comes of them (RFC 8628).
    pub device: DeviceKind,
    /// How many seconds have to lie between two questions about such a code.
    pub device_interval: u64,
    /// How long every answer takes.
    pub delay: Duration,
    /// How long the token endpoint takes beyond that.
    pub token_delay: Duration,
    /// Metadata redirects there.
    pub metadata_redirect: Option<String>,
    /// The protected server answers 400 to requests without a token, before it says 401 (Q26).
    pub bad_request_first: bool,
}

/// What comes of codes that people type elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// None are given.
    Absent,
    /// They wait until somebody has typed them.
    Offered,
    /// The same, but the first question is answered with `slow_down`.
    SlowDown,
    /// The person says no.
    Denied,
    /// They are over before anybody types them.
    Expired,
}

/// What a refusal says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChallengeKind {
    /// Where the metadata is.
    WithMetadata,
    /// That a token is wanted.
    Bare,
    /// Nothing (Q21).
    Absent,
}

/// What registering comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistrationKind {
    /// A public client.
    Public,
    /// A client with a secret, which then has to be shown.
    WithSecret,
    /// A client with a secret whose method is said to be `none`, and which has to be shown all the same (Q8).
    SecretButNone,
    /// There is no endpoint (Q6).
    Absent,
    /// Only clients of this name (Q7); others get a plain text.
    OnlyNamed(String),
}

/// What `iss` says in the redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssuerInRedirect {
    /// The issuer.
    Right,
    /// Nothing.
    Missing,
    /// This.
    Other(String),
}

/// How answers of the token endpoint look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenShape {
    /// As they should.
    Standard,
    /// The person's token one level down, with a type of its own (Q16).
    Nested,
    /// 200 with `ok: false` and an error (Q16).
    OkFalse,
    /// Numbers as text, `null` for what is missing (Q18).
    TextNumbers,
    /// An empty token.
    EmptyToken,
    /// A page.
    Html,
    /// Ten megabytes.
    Huge,
    /// Members of the wrong types.
    WrongTypes,
    /// 500.
    Broken,
    /// The connection is closed after the work is done: what was given is lost.
    Lost,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            challenge: ChallengeKind::WithMetadata,
            challenge_scope: None,
            resource_metadata: true,
            resource_metadata_at_root: false,
            resource: None,
            resource_scopes: None,
            server_metadata: true,
            openid_only: false,
            issuer: None,
            pkce: true,
            server_scopes: None,
            documents: false,
            nulls: false,
            registration: RegistrationKind::Public,
            auth_methods: Some(vec!["none".to_owned()]),
            redirect_prefix: None,
            announces_issuer: true,
            issuer_in_redirect: IssuerInRedirect::Right,
            refuses_scopes: false,
            refuses_resource: false,
            lifetime: Some(3_600),
            refresh_tokens: true,
            rotation: true,
            token_shape: TokenShape::Standard,
            unknown_client: "invalid_client",
            dead_refresh: "invalid_grant",
            call_scope: None,
            device: DeviceKind::Absent,
            device_interval: 1,
            delay: Duration::ZERO,
            token_delay: Duration::ZERO,
            metadata_redirect: None,
            bad_request_first: false,
        }
    }
}
