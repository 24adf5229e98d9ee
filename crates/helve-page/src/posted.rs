//! Owns how what a form posted is read: names and values in their order, with one kind of line end, bounded.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Fields that are read; no form of ours has as many.
pub const MAX_POSTED_FIELDS: usize = 10_000;

/// Names and values, in the order in which they were posted.
pub type Fields = Vec<(String, String)>;

/// The body of an ordinary form: `application/x-www-form-urlencoded`. It serves for the query of an address as well.
#[must_use]
pub fn urlencoded(body: &[u8]) -> Fields {
    let pairs = body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()).take(MAX_POSTED_FIELDS);
    let read = |pair: &[u8]| {
        let mut parts = pair.splitn(2, |byte| *byte == b'=');
        (decoded(parts.next().unwrap_or_default()), decoded(parts.next().unwrap_or_default()))
    };
    pairs.map(read).collect()
}

/// The body of a form with files: `multipart/form-data`. A file comes as base64; one that was not chosen is left out.
#[must_use]
pub fn multipart(content_type: &str, body: &[u8]) -> Option<Fields> {
    let boundary = content_type.split(';').skip(1).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"').to_owned())
    })?;
    // Each part stands between two lines of it; the first has no line end before.
    let between = format!("\r\n--{boundary}");
    let mut rest = body.strip_prefix(format!("--{boundary}").as_bytes())?;
    let mut fields = Fields::new();
    while !rest.starts_with(b"--") && fields.len() < MAX_POSTED_FIELDS {
        let end = find(rest, between.as_bytes())?;
        let (part, after) = rest.split_at_checked(end)?;
        fields.extend(one_part(part.strip_prefix(b"\r\n")?));
        rest = after.get(between.len()..)?;
    }
    Some(fields)
}

fn one_part(part: &[u8]) -> Option<(String, String)> {
    let end = find(part, b"\r\n\r\n")?;
    let (head, content) = (part.get(..end)?, part.get(end + 4..)?);
    let head = String::from_utf8_lossy(head);
    let disposition = head.lines().find(|line| line.to_ascii_lowercase().starts_with("content-disposition:"))?;
    let name = parameter(disposition, "name")?;
    match parameter(disposition, "filename") {
        Some(file) if file.is_empty() && content.is_empty() => None,
        Some(_) => Some((name, STANDARD.encode(content))),
        None => Some((name, one_line_end(&String::from_utf8_lossy(content)))),
    }
}

/// A quoted parameter of a header, as browsers write it: quotes and line ends in it are percent-encoded.
fn parameter(header: &str, name: &str) -> Option<String> {
    let rest = header.split_once(&format!("; {name}=\""))?.1;
    let (value, _) = rest.split_once('"')?;
    Some(value.replace("%22", "\"").replace("%0D%0A", "\n").replace("%0A", "\n"))
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

fn decoded(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let digits = || {
            let digit = |place: usize| after.get(place).and_then(|byte| char::from(*byte).to_digit(16));
            u8::try_from(digit(0)? * 16 + digit(1)?).ok()
        };
        match first {
            b'+' => bytes.push(b' '),
            b'%' => match digits() {
                Some(byte) => {
                    bytes.push(byte);
                    rest = after.get(2..).unwrap_or_default();
                }
                None => bytes.push(b'%'),
            },
            other => bytes.push(*other),
        }
    }
    one_line_end(&String::from_utf8_lossy(&bytes))
}

/// Browsers post every line end of a text area as two characters.
fn one_line_end(text: &str) -> String {
    text.replace("\r\n", "\n")
}

#[cfg(test)]
#[path = "posted_tests.rs"]
mod tests;
