//! Which hosts a name in a list means: `api.github.com`, `*.githubusercontent.com:443`, `private:db.internal:5432`.

use std::fmt;
use std::str::FromStr;

/// The ports of a pattern that names none.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// The longest name that the domain name system has.
const LONGEST_NAME: usize = 253;

/// A host, or all hosts below a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPattern {
    /// Lower case, without a final dot.
    name: String,
    /// `*.name`: what is below it, and not the name itself.
    below: bool,
    port: Option<u16>,
    /// It may be on this machine or in a private network.
    private: bool,
}

/// It does not name a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadHostPattern {
    text: String,
    why: &'static str,
}

impl HostPattern {
    /// True when a connection to this host and port is meant. A pattern without a port means 80 and 443.
    #[must_use]
    pub fn matches(&self, host: &str, port: u16) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let is_name = if self.below {
            host.strip_suffix(&self.name).is_some_and(|front| front.len() > 1 && front.ends_with('.'))
        } else {
            host == self.name
        };
        is_name && self.port.map_or(USUAL_PORTS.contains(&port), |own| own == port)
    }

    /// Addresses of this machine and of private networks are meant as well.
    #[must_use]
    pub const fn may_be_private(&self) -> bool {
        self.private
    }
}

impl FromStr for HostPattern {
    type Err = BadHostPattern;

    fn from_str(text: &str) -> Result<Self, BadHostPattern> {
        let bad = |why| BadHostPattern { text: text.to_owned(), why };
        let (private, rest) = text.strip_prefix("private:").map_or((false, text), |rest| (true, rest));
        if rest.contains("://") || rest.contains('/') {
            return Err(bad("write the host alone, without a scheme or a path"));
        }
        let (name, port) = split_port(rest).ok_or_else(|| bad("the port is not a number from 1 to 65535"))?;
        let (below, name) = name.strip_prefix("*.").map_or((false, name), |name| (true, name));
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        if name.is_empty() || name.len() > LONGEST_NAME {
            return Err(bad("the name is empty or too long"));
        }
        if name.contains('*') {
            return Err(bad("`*` stands only in front, as in `*.example.com`"));
        }
        if below && !name.contains('.') {
            return Err(bad("`*.` in front of a top-level name would mean half of the world"));
        }
        let is_part =
            |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let is_address = name.starts_with('[') && name.ends_with(']');
        if !is_address && !name.split('.').all(is_part) {
            return Err(bad("a name consists of letters, digits, `-` and `.`"));
        }
        Ok(Self { name, below, port, private })
    }
}

fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    // An address of version 6 stands in brackets.
    let end_of_name = text.rfind(']').map_or(0, |bracket| bracket + 1);
    match text.get(end_of_name..)?.rfind(':') {
        None => Some((text, None)),
        Some(colon) => {
            let (name, port) = text.split_at_checked(end_of_name + colon)?;
            let port = port.strip_prefix(':')?.parse::<u16>().ok().filter(|port| *port > 0)?;
            Some((name, Some(port)))
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let private = if self.private { "private:" } else { "" };
        let below = if self.below { "*." } else { "" };
        write!(formatter, "{private}{below}{}", self.name)?;
        self.port.map_or(Ok(()), |port| write!(formatter, ":{port}"))
    }
}

impl fmt::Display for BadHostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} does not name a host: {}", self.text, self.why)
    }
}

impl std::error::Error for BadHostPattern {}

#[cfg(test)]
mod tests {
    use super::HostPattern;

    fn pattern(text: &str) -> HostPattern {
        text.parse().unwrap()
    }

    #[test]
    fn what_a_name_means() {
        for (text, host, port, expected) in [
            ("api.github.com", "api.github.com", 443, true),
            ("api.github.com", "API.GitHub.com.", 80, true),
            ("api.github.com", "api.github.com", 22, false),
            ("api.github.com", "evil-api.github.com", 443, false),
            ("api.github.com", "api.github.com.evil.example", 443, false),
            ("*.github.com", "api.github.com", 443, true),
            ("*.github.com", "a.b.github.com", 443, true),
            ("*.github.com", "github.com", 443, false),
            ("*.github.com", ".github.com", 443, false),
            ("*.github.com", "evilgithub.com", 443, false),
            ("db.internal:5432", "db.internal", 5432, true),
            ("db.internal:5432", "db.internal", 443, false),
            ("127.0.0.1:8080", "127.0.0.1", 8080, true),
            ("[::1]:8080", "[::1]", 8080, true),
        ] {
            assert_eq!(pattern(text).matches(host, port), expected, "{text} {host}:{port}");
        }
        assert!(pattern("private:db.internal").may_be_private());
        assert!(!pattern("db.internal").may_be_private());
    }

    #[test]
    fn what_is_not_a_host() {
        for text in [
            "",
            "*",
            "*.com",
            "a.*.com",
            "https://a.example",
            "a.example/x",
            "a.example:0",
            "a.example:99999",
            "a b",
            "private:",
        ] {
            assert!(text.parse::<HostPattern>().is_err(), "{text}");
        }
    }

    #[test]
    fn it_is_shown_as_it_is_written() {
        for text in ["api.github.com", "*.githubusercontent.com:443", "private:db.internal:5432", "[::1]:80"] {
            assert_eq!(pattern(text).to_string(), text);
        }
    }
}
