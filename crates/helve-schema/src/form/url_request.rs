//! Owns how a URL that a server wants opened is shown: which host it leads to, in letters that cannot deceive, and what
//! about it should make a person look twice. It is never fetched and never opened here.

use std::fmt;

use url::{Host, Url};

use helve_model::text::{SHOWN_CHARACTERS, folded, is_visible, quoted, several_lines};
use helve_render::schema::json::{Json, JsonProblem};

/// Bytes of a URL.
pub const MAX_URL_BYTES: usize = 8 * 1024;
/// Characters of a message shown.
const MESSAGE_CHARACTERS: usize = 4_000;

/// A server's request to open a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlRequest {
    message: String,
    url: Url,
    unicode_host: Option<String>,
    elicitation_id: Option<String>,
    warnings: Vec<UrlWarning>,
}

/// What should make a person look twice.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlWarning {
    /// Anybody on the way can read and change what is sent there.
    NotEncrypted,
    /// The host has letters outside ASCII, which can look like others.
    Punycode {
        /// The host in ASCII.
        ascii: String,
        /// The host as a browser may show it.
        unicode: String,
    },
    /// The host is a number and not a name.
    NumericHost(String),
    /// It leads to this machine.
    ThisMachine(String),
    /// What was written reads differently from where it leads.
    Rewritten {
        /// The host as it was written.
        written: String,
        /// The host it leads to.
        host: String,
    },
}

/// Why a URL is not shown to anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlProblem {
    /// The parameters are not JSON, or too large to be looked at.
    Json(JsonProblem),
    /// There is no `url`.
    Missing,
    /// It is too long to be looked at by a person.
    TooLong {
        /// Its length.
        bytes: usize,
        /// The cap.
        limit: usize,
    },
    /// It has characters that do not show, or turn the text around them.
    HiddenCharacters,
    /// It has a backslash, which browsers take for a slash and others do not.
    Backslash,
    /// It is not a URL; the words of the parser.
    NotAUrl(String),
    /// It is not of the web.
    Scheme(String),
    /// It has a name before the host, which reads like a host itself.
    UserInfo {
        /// Where it really leads.
        host: String,
    },
}

impl UrlRequest {
    /// Reads the parameters of an elicitation of mode `url`.
    ///
    /// # Errors
    /// When there is no URL that a person could be asked about.
    pub fn read(params: &str) -> Result<Self, UrlProblem> {
        let params = super::elicitation::parse(params).map_err(UrlProblem::Json)?;
        Self::from_params(&params)
    }

    pub(super) fn from_params(params: &Json) -> Result<Self, UrlProblem> {
        let written = params.text("url").ok_or(UrlProblem::Missing)?;
        let url = parse(written)?;
        let host = url.host().ok_or_else(|| UrlProblem::NotAUrl("it has no host".to_owned()))?;
        let unicode_host = unicode(&host);
        let mut warnings = Vec::new();
        if is_this_machine(&host) {
            warnings.push(UrlWarning::ThisMachine(host.to_string()));
        } else if url.scheme() != "https" {
            warnings.push(UrlWarning::NotEncrypted);
        }
        if let Some(unicode) = &unicode_host {
            warnings.push(UrlWarning::Punycode { ascii: host.to_string(), unicode: unicode.clone() });
        }
        if matches!(host, Host::Ipv4(_) | Host::Ipv6(_)) && !is_this_machine(&host) {
            warnings.push(UrlWarning::NumericHost(host.to_string()));
        }
        let as_written = written_host(written);
        let reads_alike =
            as_written.eq_ignore_ascii_case(&host.to_string()) || unicode_host.as_deref() == Some(as_written);
        if !reads_alike {
            warnings.push(UrlWarning::Rewritten { written: as_written.to_owned(), host: host.to_string() });
        }
        let text = |key: &str| params.text(key).map(str::to_owned);
        let (message, elicitation_id) = (text("message").unwrap_or_default(), text("elicitationId"));
        Ok(Self { message, url, unicode_host, elicitation_id, warnings })
    }

    /// Why the server asks, as it may be shown.
    pub fn message(&self) -> String {
        several_lines(&self.message, MESSAGE_CHARACTERS)
    }

    /// The URL to show in full and, after a yes, to open: ASCII alone, so that what is seen is what is opened.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The host it leads to, in ASCII, with the port where that is not the usual one.
    pub fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// The host as a browser may show it, where that differs.
    pub fn unicode_host(&self) -> Option<&str> {
        self.unicode_host.as_deref()
    }

    /// The server's name for this request, in the revisions that have one.
    pub fn elicitation_id(&self) -> Option<&str> {
        self.elicitation_id.as_deref()
    }

    /// What should make a person look twice.
    pub fn warnings(&self) -> &[UrlWarning] {
        &self.warnings
    }
}

impl fmt::Display for UrlWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotEncrypted => {
                f.write_str("not encrypted: anybody on the way can read and change what you enter there")
            }
            Self::Punycode { ascii, unicode } => write!(
                f,
                "the host {ascii} may be shown as {}, with letters that can look like others",
                folded(unicode, SHOWN_CHARACTERS)
            ),
            Self::NumericHost(host) => write!(f, "the host {host} is a number, not a name"),
            Self::ThisMachine(host) => write!(f, "{host} is this machine"),
            Self::Rewritten { written, host } => {
                write!(f, "the host is written {} and leads to {host}", quoted(written, SHOWN_CHARACTERS))
            }
        }
    }
}

impl fmt::Display for UrlProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(problem) => write!(f, "the request cannot be read: {problem}"),
            Self::Missing => f.write_str("the request has no `url`"),
            Self::TooLong { bytes, limit } => write!(f, "the URL has {bytes} bytes, the limit is {limit}"),
            Self::HiddenCharacters => f.write_str("the URL has spaces or characters that do not show"),
            Self::Backslash => f.write_str("the URL has a backslash, which browsers and others read in different ways"),
            Self::NotAUrl(reason) => write!(f, "not a URL: {}", folded(reason, SHOWN_CHARACTERS)),
            Self::Scheme(scheme) => {
                write!(f, "a URL of the scheme {}; only http and https are opened", quoted(scheme, SHOWN_CHARACTERS))
            }
            Self::UserInfo { host } => {
                write!(f, "the URL has a user name before its host, as if it led elsewhere; it leads to {host}")
            }
        }
    }
}

impl std::error::Error for UrlProblem {}

fn parse(written: &str) -> Result<Url, UrlProblem> {
    if written.len() > MAX_URL_BYTES {
        return Err(UrlProblem::TooLong { bytes: written.len(), limit: MAX_URL_BYTES });
    }
    if written.chars().any(|character| !is_visible(character) || character.is_whitespace()) {
        return Err(UrlProblem::HiddenCharacters);
    }
    // For a browser it is a slash, so `https://good.example\@evil.example` leads to two places.
    if written.contains('\\') {
        return Err(UrlProblem::Backslash);
    }
    let url = Url::parse(written).map_err(|error| UrlProblem::NotAUrl(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlProblem::Scheme(url.scheme().to_owned()));
    }
    // `https:example.com` and `https:///example.com` are read as if they had two slashes; nobody writes them honestly.
    let rest = written.split_once(':').map_or("", |(_, rest)| rest);
    if !rest.starts_with("//") || rest.starts_with("///") {
        return Err(UrlProblem::NotAUrl("it has no host after two slashes".to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() || authority(written).contains('@') {
        return Err(UrlProblem::UserInfo { host: url.host_str().unwrap_or_default().to_owned() });
    }
    Ok(url)
}

/// What stands between the slashes, as it was written.
fn authority(written: &str) -> &str {
    let rest = written.split_once("//").map_or("", |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// The host as it was written, without its port.
fn written_host(written: &str) -> &str {
    let authority = authority(written);
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// The host in Unicode, if that differs from the ASCII the URL has.
fn unicode(host: &Host<&str>) -> Option<String> {
    let Host::Domain(ascii) = host else { return None };
    if !ascii.split('.').any(|label| label.starts_with("xn--")) {
        return None;
    }
    Some(url::quirks::domain_to_unicode(ascii)).filter(|unicode| unicode != ascii && !unicode.is_empty())
}

fn is_this_machine(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        Host::Ipv4(address) => address.is_loopback() || address.is_unspecified(),
        Host::Ipv6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback())
        }
    }
}

#[cfg(test)]
#[path = "url_request_tests.rs"]
mod tests;
