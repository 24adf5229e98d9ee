//! The ways to a token. Each grant is one file: what is sent, and nothing about where it is kept.

mod client_credentials;
mod code;
mod device;
mod identity_assertion;
mod jwt_bearer;
mod refresh;

pub(crate) use client_credentials::client_credentials;
pub(crate) use code::{Pending, begin};
pub(crate) use device::{DEVICE_GRANT, begin as begin_device, endpoint_of as device_endpoint};
pub(crate) use identity_assertion::identity_assertion;
pub(crate) use jwt_bearer::jwt_bearer;
pub(crate) use refresh::refresh;

/// What every grant that is not a person's asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) resource: Option<&'a str>,
    pub(crate) scopes: &'a [String],
}

impl Wanted<'_> {
    /// Adds what is asked for to a form.
    fn add_to(&self, form: &mut crate::token::Form) {
        if let Some(resource) = self.resource {
            form.push(("resource", resource.to_owned().into()));
        }
        if !self.scopes.is_empty() {
            form.push(("scope", self.scopes.join(" ").into()));
        }
    }
}
