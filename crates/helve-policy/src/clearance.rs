//! The right to pass one message on to a server: a value that only a decision makes, as a [`Permit`] is for a call.
//!
//! What a method needs stands in the closed table of [`helve_model::method`]. Calling tools, reading resources and getting
//! prompts have functions of their own, which take a permit; everything else that somebody wants a server to get goes by a
//! clearance.

use std::fmt;

use helve_model::json::{RawJson, strict};
use helve_model::method::{self, Method, MethodPart, Need};
use helve_model::{CallKind, QualifiedName, ServerName, ToolName};

use crate::{Permit, Subject};

/// The right to pass exactly this message on to this server.
///
/// ```compile_fail,E0451
/// fn forge(message: helve_policy::Relay) -> helve_policy::Clearance {
///     helve_policy::Clearance { message }
/// }
/// ```
#[derive(Debug)]
pub struct Clearance {
    message: Relay,
}

/// A message that somebody wants a server to get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relay {
    /// Which server.
    pub server: ServerName,
    /// What is asked or told.
    pub method: String,
    /// With which parameters.
    pub params: Option<RawJson>,
    /// Whether an answer is wanted.
    pub form: MessageForm,
}

/// Whether a message wants an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageForm {
    /// It does.
    Request,
    /// It does not.
    Notification,
}

/// Why a message is passed on to nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Barred {
    /// Nobody knows the method, or it is not for others to send.
    Unknown,
    /// The server did not declare the extension that the method belongs to.
    Undeclared(&'static str),
    /// The member that decides is missing, is not a string, or contradicts another one.
    Missing(&'static str),
    /// The parameters are not JSON that everybody reads in the same way.
    Broken(strict::Flaw),
    /// The permit is for something else.
    OtherPermit,
}

impl Relay {
    /// What has to be decided on before this may be passed on; `None`: nothing.
    ///
    /// # Errors
    /// When it is passed on to nobody, whatever is decided.
    pub fn subject(&self) -> Result<Option<Subject>, Barred> {
        let known = match self.form {
            MessageForm::Request => method::request(&self.method),
            MessageForm::Notification => method::client_notification(&self.method),
        };
        let Some(known) = known else {
            if method::is_reserved(&self.method) {
                return Err(Barred::Unknown);
            }
            return Ok(Some(Subject::method(&self.server, &self.method)));
        };
        match known {
            Method { need: Need::Reference, .. } => self.referenced().map(Some),
            Method { need: Need::Nothing, of: MethodPart::Core, .. } if self.form == MessageForm::Notification => {
                Ok(None)
            }
            // The protocol's own requests have functions of their own, or are said for one connection alone.
            Method { of: MethodPart::Core, .. } => Err(Barred::Unknown),
            Method { need, .. } => match need {
                Need::Nothing => Ok(None),
                Need::Task(member) => self.text(member).map(|_| None),
                Need::Resource(member) => Ok(Some(Subject::resource(&self.server, &self.text(member)?))),
                Need::Prompt(member) => Ok(Some(self.prompt(&self.text(member)?))),
                Need::Tool | Need::Reference | Need::Connection => Err(Barred::Unknown),
            },
        }
    }

    /// The extension that the server must have declared.
    #[must_use]
    pub fn extension(&self) -> Option<&'static str> {
        let known = match self.form {
            MessageForm::Request => method::request(&self.method),
            MessageForm::Notification => method::client_notification(&self.method),
        };
        match known?.of {
            MethodPart::Core => None,
            MethodPart::Extension(name) => Some(name),
        }
    }

    /// A prompt or a resource, by what `ref` says it is. One that could be taken for either is neither.
    fn referenced(&self) -> Result<Subject, Barred> {
        let reference = self.params.as_ref().and_then(|params| params.member("ref")).ok_or(Barred::Missing("ref"))?;
        let kind = reference.member_str("type");
        match (kind.as_deref(), reference.member("name"), reference.member("uri")) {
            (Some("ref/prompt"), Some(name), None) => {
                Ok(self.prompt(&name.parse::<String>().map_err(|_| Barred::Missing("ref"))?))
            }
            (Some("ref/resource"), None, Some(uri)) => {
                let uri: String = uri.parse().map_err(|_| Barred::Missing("ref"))?;
                Ok(Subject::resource(&self.server, &uri))
            }
            _ => Err(Barred::Missing("ref")),
        }
    }

    fn prompt(&self, name: &str) -> Subject {
        Subject::unknown(QualifiedName::new(self.server.clone(), ToolName::new(name)), CallKind::Prompt)
    }

    fn text(&self, member: &'static str) -> Result<String, Barred> {
        self.params.as_ref().and_then(|params| params.member_str(member)).ok_or(Barred::Missing(member))
    }
}

impl Clearance {
    /// Clears a message: with the permit for what it is about, where something had to be decided. `declares` says whether
    /// the server declared an extension.
    ///
    /// # Errors
    /// When it may not be passed on.
    pub fn new(message: Relay, permit: Option<&Permit>, declares: impl Fn(&str) -> bool) -> Result<Self, Barred> {
        if let Some(params) = &message.params {
            strict::check(params.as_str()).map_err(Barred::Broken)?;
            if !params.is_object() {
                return Err(Barred::Unknown);
            }
        }
        let is_permitted = match (message.subject()?, permit) {
            (None, None) => true,
            (Some(subject), Some(permit)) => subject.kind == permit.kind() && subject.name == *permit.name(),
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !is_permitted {
            return Err(Barred::OtherPermit);
        }
        match message.extension() {
            Some(extension) if !declares(extension) => Err(Barred::Undeclared(extension)),
            _ => Ok(Self { message }),
        }
    }

    /// The server that gets it.
    #[must_use]
    pub const fn server(&self) -> &ServerName {
        &self.message.server
    }

    /// What is asked or told.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.message.method
    }

    /// With which parameters.
    #[must_use]
    pub const fn params(&self) -> Option<&RawJson> {
        self.message.params.as_ref()
    }

    /// Whether an answer is wanted.
    #[must_use]
    pub const fn form(&self) -> MessageForm {
        self.message.form
    }
}

impl fmt::Display for MessageForm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Request => "request",
            Self::Notification => "notification",
        })
    }
}

impl fmt::Display for Barred {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => formatter.write_str("this method is not passed on to servers"),
            Self::Undeclared(extension) => write!(formatter, "the server did not declare {extension}"),
            Self::Missing(member) => write!(formatter, "`{member}` is missing, or does not say one thing"),
            Self::Broken(flaw) => write!(formatter, "the parameters cannot be passed on: {flaw}"),
            Self::OtherPermit => formatter.write_str("the permit is for something else"),
        }
    }
}

impl std::error::Error for Barred {}

#[cfg(test)]
#[path = "clearance_tests.rs"]
mod tests;
