//! JSON that was read elsewhere, laid out for people without re-modelling it: every number and key stays as it was
//! written, in its order.

use helve_model::text::is_invisible;

const INDENT: &str = "  ";

/// The text over several lines, with a line break at its end. Hidden characters in strings are spelt out.
pub(crate) fn pretty(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 5 / 4);
    let mut depth = 0_usize;
    let mut characters = json.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => string(&mut out, &mut characters),
            '{' | '[' => {
                while characters.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                out.push(character);
                let closing = if character == '{' { '}' } else { ']' };
                if characters.next_if_eq(&closing).is_some() {
                    out.push(closing);
                } else {
                    depth += 1;
                    line_break(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line_break(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                line_break(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ if character.is_ascii_whitespace() => {}
            _ => out.push(character),
        }
    }
    out.push('\n');
    out
}

fn string(out: &mut String, characters: &mut impl Iterator<Item = char>) {
    out.push('"');
    let mut is_escaped = false;
    for character in characters.by_ref() {
        if is_invisible(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(character);
        }
        if character == '"' && !is_escaped {
            return;
        }
        is_escaped = character == '\\' && !is_escaped;
    }
}

fn line_break(out: &mut String, depth: usize) {
    out.push('\n');
    for _ in 0..depth {
        out.push_str(INDENT);
    }
}

#[cfg(test)]
mod tests {
    use super::pretty;

    #[test]
    fn numbers_keys_and_order_stay() {
        insta::assert_snapshot!(pretty("{\"b\":1e400,\"a\":[ ],\"c\":{\"x\":[1,\"a\\\"b,{\u{1b}[2J\"]}, \"d\":{}}"), @r#"
        {
          "b": 1e400,
          "a": [],
          "c": {
            "x": [
              1,
              "a\"b,{\u001b[2J"
            ]
          },
          "d": {}
        }
        "#);
    }
}
