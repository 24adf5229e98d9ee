//! What comes back from the page: by a browser that is sent to this machine, or pasted by the person.

mod loopback;
mod page;

use url::{Url, form_urlencoded};

pub(crate) use loopback::Reception;

/// Longest text that is taken for an answer.
const ANSWER_BYTES: usize = 8 << 10;

/// What an authorization server sends back through the browser.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct RedirectAnswer {
    pub(crate) code: Option<String>,
    pub(crate) state: Option<String>,
    pub(crate) issuer: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) description: Option<String>,
}

impl RedirectAnswer {
    /// Reads a query. A parameter that stands there twice means nothing: two readers would take different ones.
    pub(crate) fn from_query(query: &str) -> Option<Self> {
        let mut answer = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let slot = match name.as_ref() {
                "code" => &mut answer.code,
                "state" => &mut answer.state,
                "iss" => &mut answer.issuer,
                "error" => &mut answer.error,
                "error_description" => &mut answer.description,
                _ => continue,
            };
            if slot.replace(value.into_owned()).is_some() {
                return None;
            }
        }
        Some(answer)
    }

    /// Reads what a person pasted: the whole address, or its query. A code alone is not enough: nothing would say which
    /// login it belongs to.
    pub(crate) fn from_pasted(text: &str) -> Option<Self> {
        let text = text.trim().trim_matches(['"', '\'', '<', '>']);
        if text.len() > ANSWER_BYTES {
            return None;
        }
        let answer = match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Self::from_query(url.query()?)?,
            _ => Self::from_query(text.trim_start_matches('?'))?,
        };
        (answer.state.is_some() && (answer.code.is_some() || answer.error.is_some())).then_some(answer)
    }
}

impl std::fmt::Debug for RedirectAnswer {
    /// A code is a secret.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RedirectAnswer").field("error", &self.error).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "reception_tests.rs"]
mod tests;
