//! What a program asks of the proxy: the head of one request, and where it leads.

/// The first request on a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// `CONNECT host:port`: bytes both ways.
    Tunnel(Target),
    /// `GET http://host/path`: one request, to be written like this.
    Plain(Target, Vec<u8>),
}

/// Where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The name, or an address; one of version 6 stands in brackets.
    pub(super) host: String,
    pub(super) port: u16,
}

/// Headers that are meant for a proxy, or say how a connection goes on.
const NOT_PASSED_ON: [&str; 6] =
    ["connection", "proxy-connection", "proxy-authorization", "keep-alive", "host", "upgrade"];

/// Reads a head, line ends and all. `None` when it is not one that is understood in full.
pub(super) fn read(head: &[u8]) -> Option<Request> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.strip_suffix("\r\n\r\n")?.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, address, version) = (words.next()?, words.next()?, words.next()?);
    let is_token = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    if words.next().is_some() || !matches!(version, "HTTP/1.0" | "HTTP/1.1") || !is_token(method) {
        return None;
    }
    let headers: Vec<(&str, &str)> = lines.map(|line| line.split_once(':')).collect::<Option<_>>()?;
    let has_odd_bytes = |text: &str| text.bytes().any(|byte| byte < b' ' && byte != b'\t' || byte == 0x7f);
    // A name with a space in front of the colon is read differently by different servers.
    if headers.iter().any(|(name, value)| name.contains([' ', '\t']) || has_odd_bytes(name) || has_odd_bytes(value)) {
        return None;
    }
    if method == "CONNECT" {
        return target(address, None).map(Request::Tunnel);
    }
    let rest =
        address.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://")).and_then(|_| address.get(7..))?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let target = target(authority, Some(80))?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut written = format!("{method} {slash}{path} {version}\r\nHost: {authority}\r\nConnection: close\r\n");
    for (name, value) in headers {
        if !NOT_PASSED_ON.iter().any(|own| name.eq_ignore_ascii_case(own)) {
            written.push_str(&format!("{name}:{value}\r\n"));
        }
    }
    written.push_str("\r\n");
    Some(Request::Plain(target, written.into_bytes()))
}

fn target(authority: &str, usual_port: Option<u16>) -> Option<Target> {
    let end_of_name = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    let colon = authority.get(end_of_name..)?.find(':').map(|colon| end_of_name + colon);
    let (host, port) = match colon {
        Some(colon) => (authority.get(..colon)?, authority.get(colon + 1..)?.parse().ok()?),
        None => (authority, usual_port?),
    };
    let is_address = host.starts_with('[') && host.ends_with(']');
    let is_name =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    let is_host = !host.is_empty() && (is_address || is_name(host));
    (is_host && port > 0).then(|| Target { host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::{Request, Target, read};

    fn target(host: &str, port: u16) -> Target {
        Target { host: host.to_owned(), port }
    }

    #[test]
    fn both_ways_of_asking_are_understood() {
        let tunnel = read(b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n");
        assert_eq!(tunnel, Some(Request::Tunnel(target("a.example", 443))));
        assert_eq!(read(b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n"), Some(Request::Tunnel(target("[::1]", 443))));
        let plain = read(b"GET http://a.example/x?y HTTP/1.1\r\nHost: b.example\r\nProxy-Connection: keep-alive\r\nAccept: */*\r\n\r\n");
        let written = b"GET /x?y HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\nAccept: */*\r\n\r\n".to_vec();
        assert_eq!(plain, Some(Request::Plain(target("a.example", 80), written)));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_not_understood() {
        for head in [
            "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET https://a.example/ HTTP/1.1\r\n\r\n",
            "CONNECT a.example HTTP/1.1\r\n\r\n",
            "CONNECT a.example:0 HTTP/1.1\r\n\r\n",
            "CONNECT user@a.example:443 HTTP/1.1\r\n\r\n",
            "CONNECT a.example:443 b.example:443 HTTP/1.1\r\n\r\n",
            "CONNECT a.example:443:80 HTTP/1.1\r\n\r\n",
            "CONNECT a.example:443 HTTP/2\r\n\r\n",
            "GET http://user@a.example/ HTTP/1.1\r\n\r\n",
            "GET http://a.example/ HTTP/1.1\r\nX : y\r\n\r\n",
            "GET http://a.example/ HTTP/1.1\r\nX: a\nHost: b\r\n\r\n",
            "GET http://a.example\\@b.example/ HTTP/1.1\r\n\r\n",
            "",
        ] {
            assert_eq!(read(head.as_bytes()), None, "{head:?}");
        }
    }
}
