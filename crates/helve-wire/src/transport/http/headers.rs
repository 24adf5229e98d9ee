//! What a header may carry: the spelling of values that are not plain text, and which headers are the transport's own.

use std::borrow::Cow;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderName, HeaderValue};

use crate::nesting::Nesting;

pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(crate) const NAME: HeaderName = HeaderName::from_static("mcp-name");
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
pub(crate) const HOPS: HeaderName = HeaderName::from_static(Nesting::HEADER);
pub(crate) const TRAIL: HeaderName = HeaderName::from_static(Nesting::TRAIL_HEADER);

const SENTINEL: (&str, &str) = ("=?base64?", "?=");

/// The headers nobody but the transport sets.
const RESERVED: [&str; 19] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    Nesting::HEADER,
    "host",
    "keep-alive",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A value as `Mcp-Name` and `Mcp-Param-*` spell it: plain when it is visible ASCII and cannot be mistaken, otherwise
/// its UTF-8 in base64 between markers.
fn header_value(value: &str) -> Cow<'_, str> {
    let visible = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    let padded = value.starts_with(' ') || value.ends_with(' ');
    let mistakable = value.starts_with(SENTINEL.0) && value.ends_with(SENTINEL.1);
    if visible && !padded && !mistakable {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("{}{}{}", SENTINEL.0, BASE64_STANDARD.encode(value), SENTINEL.1))
}

/// [`header_value`] as the HTTP library wants it.
pub(crate) fn encoded(value: &str) -> HeaderValue {
    // What the encoding leaves is visible ASCII, which is always accepted.
    HeaderValue::from_str(&header_value(value)).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Is this header the transport's own?
pub(crate) fn is_reserved(name: &HeaderName) -> bool {
    RESERVED.contains(&name.as_str()) || name.as_str().starts_with("mcp-param-")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The reading side of the rule, as a server has it.
    fn read(value: &str) -> String {
        match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
            Some(encoded) => String::from_utf8(BASE64_STANDARD.decode(encoded).unwrap()).unwrap(),
            None => value.to_owned(),
        }
    }

    #[test]
    fn plain_values_stay_plain() {
        for plain in ["", "us-west1", "us west 1", "file:///path/to/file%20name.txt", "~!@#$%^&*()", "=?base64?", "?="]
        {
            assert_eq!(header_value(plain), plain);
        }
    }

    #[test]
    fn other_values_are_encoded() {
        insta::assert_snapshot!(header_value("Hello, 世界"), @"=?base64?SGVsbG8sIOS4lueVjA==?=");
        insta::assert_snapshot!(header_value(" padded "), @"=?base64?IHBhZGRlZCA=?=");
        insta::assert_snapshot!(header_value("line1\r\nline2"), @"=?base64?bGluZTENCmxpbmUy?=");
        insta::assert_snapshot!(header_value("\tindented"), @"=?base64?CWluZGVudGVk?=");
        insta::assert_snapshot!(header_value("=?base64?literal?="), @"=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
        insta::assert_snapshot!(header_value("\u{7f}"), @"=?base64?fw==?=");
    }

    #[test]
    fn the_transport_keeps_its_headers() {
        for name in ["Accept", "MCP-Session-Id", "Mcp-Param-Region", "Content-Length"] {
            assert!(is_reserved(&name.parse().unwrap()), "{name}");
        }
        for name in ["Authorization", "X-Api-Key", "User-Agent", "Cookie"] {
            assert!(!is_reserved(&name.parse().unwrap()), "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_value_reads_back(value in any::<String>()) {
            let encoded = encoded(&value);
            prop_assert_eq!(read(encoded.to_str().unwrap()), value);
        }
    }
}
