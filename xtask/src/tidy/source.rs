//! Owns how a Rust file is read for tidy: as tokens, so that comments, strings and tests are never mistaken for code.

use std::str::FromStr;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// What a file says outside its tests.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// Paths and macros in order: `std::env::var`, `println!`, `async`.
    pub(super) words: Vec<Word>,
    /// String literals, without their quotes.
    pub(super) strings: Vec<Word>,
    /// Whole numbers, as they are written.
    pub(super) numbers: Vec<Word>,
    /// Characters that are written as `'\u{…}'`.
    pub(super) escapes: Vec<(char, usize)>,
    /// Lines that belong to `#[cfg(test)]` items.
    pub(super) test_lines: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) line: usize,
}

impl Source {
    pub(super) fn read(text: &str) -> Result<Self> {
        let tokens = TokenStream::from_str(text)
            .map_err(|error| anyhow!("line {}: not Rust: {error}", error.span().start().line))?;
        let mut source = Self::default();
        source.walk(tokens, "");
        Ok(source)
    }

    /// `prefix` is the path in front of a use group: `std::` for the inside of `use std::{env, fs}`.
    fn walk(&mut self, stream: TokenStream, prefix: &str) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut rest = tokens.as_slice();
        while let Some((first, tail)) = rest.split_first() {
            rest = match first {
                TokenTree::Punct(punct) if punct.as_char() == '#' => self.attribute(punct.span().start().line, tail),
                TokenTree::Punct(_) => tail,
                TokenTree::Literal(literal) => {
                    let (written, line) = (literal.to_string(), literal.span().start().line);
                    if let Some(text) = string_contents(&written) {
                        self.strings.push(Word { text, line });
                    } else if let Some(character) = escaped_character(&written) {
                        self.escapes.push((character, line));
                    } else if written.starts_with(|first: char| first.is_ascii_digit()) {
                        self.numbers.push(Word { text: written.replace('_', ""), line });
                    }
                    tail
                }
                TokenTree::Group(group) => {
                    self.walk(group.stream(), "");
                    tail
                }
                TokenTree::Ident(ident) => {
                    let line = ident.span().start().line;
                    self.path(format!("{prefix}{ident}"), line, tail)
                }
            };
        }
    }

    /// Attributes say nothing about what the code does, but `#[cfg(test)]` hides the item behind it.
    fn attribute<'tokens>(&mut self, line: usize, tail: &'tokens [TokenTree]) -> &'tokens [TokenTree] {
        let tail = match tail.split_first() {
            Some((TokenTree::Punct(bang), inner)) if bang.as_char() == '!' => inner,
            _ => tail,
        };
        let Some((TokenTree::Group(group), after)) = tail.split_first() else { return tail };
        if group.delimiter() != Delimiter::Bracket {
            return tail;
        }
        if !is_cfg_test(group) {
            return after;
        }
        let mut rest = after;
        let mut last = group.span_close().end().line;
        while let Some((token, next)) = rest.split_first() {
            rest = next;
            last = token.span().end().line;
            let ends_item = match token {
                TokenTree::Group(body) => body.delimiter() == Delimiter::Brace,
                TokenTree::Punct(punct) => punct.as_char() == ';',
                TokenTree::Ident(_) | TokenTree::Literal(_) => false,
            };
            if ends_item {
                break;
            }
        }
        self.test_lines += last.saturating_sub(line) + 1;
        rest
    }

    /// Follows `a::b::c`, `a::{b, c}` and `a!`, starting behind the first identifier.
    fn path<'tokens>(&mut self, mut path: String, line: usize, tail: &'tokens [TokenTree]) -> &'tokens [TokenTree] {
        let mut rest = tail;
        loop {
            match rest {
                [TokenTree::Punct(one), TokenTree::Punct(two), next, after @ ..]
                    if one.as_char() == ':' && two.as_char() == ':' =>
                {
                    match next {
                        TokenTree::Ident(ident) => {
                            path.push_str("::");
                            path.push_str(&ident.to_string());
                            rest = after;
                        }
                        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                            path.push_str("::");
                            self.walk(group.stream(), &path);
                            return after;
                        }
                        TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => break,
                    }
                }
                [TokenTree::Punct(bang), TokenTree::Group(_), ..] if bang.as_char() == '!' => {
                    path.push('!');
                    break;
                }
                _ => break,
            }
        }
        self.words.push(Word { text: path, line });
        rest
    }
}

/// Whether `path` (`std::env::var`, `println!`) contains `pattern` as consecutive whole segments.
pub(super) fn says(path: &str, pattern: &str) -> bool {
    let path: Vec<&str> = path.split("::").collect();
    let pattern: Vec<&str> = pattern.split("::").collect();
    path.windows(pattern.len()).any(|window| window == pattern)
}

fn is_cfg_test(attribute: &Group) -> bool {
    let text: String = attribute.stream().to_string().chars().filter(|character| !character.is_whitespace()).collect();
    text == "cfg(test)"
}

fn string_contents(literal: &str) -> Option<String> {
    let (start, end) = (literal.find('"')?, literal.rfind('"')?);
    let prefix = literal.get(..start)?;
    if !prefix.chars().all(|character| matches!(character, 'b' | 'c' | 'r' | '#')) {
        return None;
    }
    literal.get(start + 1..end).map(str::to_owned)
}

fn escaped_character(literal: &str) -> Option<char> {
    let digits = literal.strip_prefix("'\\u{")?.strip_suffix("}'")?;
    u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
}
