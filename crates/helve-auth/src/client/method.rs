//! How a client shows the token endpoint who it is.

use crate::discovery::AuthorizationServer;

/// How a client shows the token endpoint who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthMethod {
    /// It only says its id.
    None,
    /// Its secret, in the `Authorization` header.
    Basic,
    /// The same, and its id in the form besides: some look for it there first.
    BasicAndId,
    /// Its secret, in the form.
    Post,
    /// An assertion signed with its key.
    PrivateKey,
}

impl AuthMethod {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic | Self::BasicAndId => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::PrivateKey => "private_key_jwt",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::Basic, Self::Post, Self::PrivateKey].into_iter().find(|method| method.as_str() == name)
    }

    /// The method of a client that was given a secret, or none, and of which nobody said which method it has.
    pub(crate) fn for_client(server: &AuthorizationServer, has_secret: bool, has_key: bool) -> Self {
        if has_key {
            return Self::PrivateKey;
        }
        if !has_secret {
            return Self::None;
        }
        let Some(supported) = &server.auth_methods else { return Self::Basic };
        let supports = |method: Self| supported.iter().any(|name| name == method.as_str());
        let known = [Self::Basic, Self::Post, Self::None].into_iter().find(|method| supports(*method));
        known.unwrap_or(Self::Basic)
    }

    /// The method to register for: a program on a person's machine keeps no secret of its maker's.
    pub(crate) fn to_register(server: &AuthorizationServer) -> Self {
        let Some(supported) = &server.auth_methods else { return Self::None };
        let supports = |method: Self| supported.iter().any(|name| name == method.as_str());
        // The form before the header: servers made with the Python SDK want the id in the form in any case.
        let known = [Self::None, Self::Post, Self::Basic].into_iter().find(|method| supports(*method));
        known.unwrap_or(Self::None)
    }
}
