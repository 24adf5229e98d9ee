//! What a server that refuses wants: `WWW-Authenticate` taken apart (RFC 9110, several challenges in one header or many).

/// Challenges read from one answer.
const MOST_CHALLENGES: usize = 16;
/// Parameters read of one challenge.
const MOST_PARAMETERS: usize = 32;

/// What a server wants, as far as signing in is concerned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Challenge {
    /// The scheme that the other members come from.
    pub scheme: Scheme,
    /// Where the server describes itself.
    pub resource_metadata: Option<String>,
    /// The scopes the request needs.
    pub scope: Option<String>,
    /// Why the request was refused, as a code.
    pub error: Option<String>,
}

/// How a token is presented.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scheme {
    /// As it is.
    #[default]
    Bearer,
    /// With a proof that the sender holds a key.
    Dpop,
}

impl Challenge {
    /// Reads the header; several headers are joined with commas. A text without a challenge we know is an empty challenge.
    #[must_use]
    pub fn read(header: &str) -> Self {
        let all = challenges(header);
        let of = |scheme: &str| all.iter().find(|(name, _)| name.eq_ignore_ascii_case(scheme));
        // A server that offers both is content with the simpler one.
        let (scheme, parameters) = match (of("bearer"), of("dpop")) {
            (Some((_, parameters)), _) => (Scheme::Bearer, parameters),
            (None, Some((_, parameters))) => (Scheme::Dpop, parameters),
            (None, None) => return Self::default(),
        };
        let named = |name: &str| {
            let found = parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
        };
        Self { scheme, resource_metadata: named("resource_metadata"), scope: named("scope"), error: named("error") }
    }

    /// The token is good, its scopes are not enough.
    #[must_use]
    pub fn wants_more_scopes(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

type Parameters = Vec<(String, String)>;

/// Every challenge of a header, its scheme first.
fn challenges(header: &str) -> Vec<(String, Parameters)> {
    let mut reader = Reader { rest: header };
    let mut found: Vec<(String, Parameters)> = Vec::new();
    loop {
        reader.skip(|character| character.is_whitespace() || character == ',');
        let word = reader.token();
        if word.is_empty() {
            if reader.rest.is_empty() {
                return found;
            }
            // Not a token and not a separator: nothing that follows can be told apart.
            reader.skip_one();
            continue;
        }
        reader.skip(|character| character == ' ' || character == '\t');
        if reader.take('=') {
            reader.skip(|character| character == ' ' || character == '\t');
            let value = reader.value();
            if let Some((_, parameters)) = found.last_mut()
                && parameters.len() < MOST_PARAMETERS
            {
                parameters.push((word, value));
            }
        } else if found.len() < MOST_CHALLENGES {
            found.push((word, Vec::new()));
        } else {
            return found;
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn skip(&mut self, what: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(what);
    }

    fn skip_one(&mut self) {
        let mut characters = self.rest.chars();
        let _: Option<char> = characters.next();
        self.rest = characters.as_str();
    }

    fn take(&mut self, wanted: char) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn token(&mut self) -> String {
        let is_part = |character: char| {
            character.is_ascii_alphanumeric()
                || matches!(character, '!' | '#'..='\'' | '*' | '+' | '-' | '.' | '^'..='`' | '|' | '~' | '/')
        };
        let end = self.rest.find(|character| !is_part(character)).unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        token.to_owned()
    }

    /// A quoted string, or what stands before the next separator: some servers leave the quotes out.
    fn value(&mut self) -> String {
        if !self.take('"') {
            let end = self.rest.find([',', ' ', '\t']).unwrap_or(self.rest.len());
            let (value, rest) = self.rest.split_at(end);
            self.rest = rest;
            return value.to_owned();
        }
        let mut value = String::new();
        let mut characters = self.rest.chars();
        while let Some(character) = characters.next() {
            match character {
                '"' => break,
                '\\' => value.extend(characters.next()),
                character => value.push(character),
            }
        }
        self.rest = characters.as_str();
        value
    }
}

#[cfg(test)]
#[path = "challenge_tests.rs"]
mod tests;
