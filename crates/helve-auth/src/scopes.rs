//! Which scopes are asked for.

/// Where scopes can come from, the strongest first.
pub(crate) struct ScopeSources<'a> {
    /// What the person configured: the last word, never added to.
    pub(crate) configured: Option<&'a [String]>,
    /// What the server wanted when it refused.
    pub(crate) challenge: Option<&'a str>,
    /// What the server's metadata lists.
    pub(crate) resource: Option<&'a [String]>,
    /// What was asked for before, where this is a step up from it.
    pub(crate) before: &'a [String],
    /// What the authorization server lists.
    pub(crate) server: Option<&'a [String]>,
}

/// The scope that lets a login outlive its access token.
const OFFLINE: &str = "offline_access";

impl ScopeSources<'_> {
    /// The scopes to ask for; empty: none are named.
    pub(crate) fn choose(&self) -> Vec<String> {
        if let Some(configured) = self.configured {
            return configured.to_vec();
        }
        let mut scopes: Vec<String> = Vec::new();
        let challenge = self.challenge.map(|scope| scope.split_ascii_whitespace().map(str::to_owned).collect());
        let wanted: Vec<String> = challenge.or_else(|| self.resource.map(<[String]>::to_vec)).unwrap_or_default();
        for scope in self.before.iter().cloned().chain(wanted) {
            if is_scope(&scope) && !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        // Alone it would take away what the authorization server gives without being asked.
        let offers_offline = self.server.is_some_and(|listed| listed.iter().any(|scope| scope == OFFLINE));
        if offers_offline && !scopes.is_empty() && !scopes.iter().any(|scope| scope == OFFLINE) {
            scopes.push(OFFLINE.to_owned());
        }
        scopes
    }
}

/// The characters a scope may have (RFC 6749, 3.3).
fn is_scope(scope: &str) -> bool {
    !scope.is_empty() && scope.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

#[cfg(test)]
#[path = "scopes_tests.rs"]
mod tests;
