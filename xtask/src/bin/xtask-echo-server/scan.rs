//! Owns the little JSON this server understands: the members of one object, as slices of the request.

/// Calls `visit` with each key and value of `object`, both as they are written. Stops at anything that is not JSON.
pub(crate) fn members<'text>(object: &'text [u8], mut visit: impl FnMut(&'text [u8], &'text [u8])) -> Option<()> {
    let mut rest = space(object).strip_prefix(b"{")?;
    loop {
        rest = space(rest);
        if rest.first() == Some(&b'}') {
            return Some(());
        }
        let key = rest.get(..value_length(rest)?)?;
        rest = space(rest.get(key.len()..)?).strip_prefix(b":")?;
        rest = space(rest);
        let value = rest.get(..value_length(rest)?)?;
        visit(key, value);
        rest = space(rest.get(value.len()..)?);
        rest = rest.strip_prefix(b",").unwrap_or(rest);
    }
}

fn space(text: &[u8]) -> &[u8] {
    text.trim_ascii_start()
}

/// How many bytes the value at the start of `text` takes.
fn value_length(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'"' => string_length(text),
        b'{' | b'[' => {
            let mut depth = 0usize;
            let mut at = 0;
            loop {
                match text.get(at)? {
                    b'"' => {
                        at += string_length(text.get(at..)?)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        _ => Some(
            text.iter()
                .position(|byte| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace())
                .unwrap_or(text.len()),
        ),
    }
}

/// Length of a string with both its quotes.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_at_the_first_level_only() {
        let object = br#" { "id" : 7, "a\"}": {"id": [1, "]"]}, "text":"x\\", "n": -1.5e3 , "t":true}"#;
        let mut seen = Vec::new();
        members(object, |key, value| {
            seen.push(format!("{} = {}", String::from_utf8_lossy(key), String::from_utf8_lossy(value)));
        })
        .unwrap();
        insta::assert_snapshot!(seen.join("\n"), @r#"
        "id" = 7
        "a\"}" = {"id": [1, "]"]}
        "text" = "x\\"
        "n" = -1.5e3
        "t" = true
        "#);
    }

    #[test]
    fn what_is_cut_off_is_no_object() {
        for text in [r#"{"id": {"#, r#"{"id"#, r#"{"id": "\"#, "", "[1]"] {
            assert_eq!(members(text.as_bytes(), |_, _| {}), None, "{text}");
        }
    }
}
