//! 100,000 broken configuration files over all dialects: diagnostics, never a panic, and edits never lose a server.

use helve_config::document::{Format, parse};
use helve_config::edit::{Change, edit_text};
use helve_config::{Dialect, Environment, Source, read_text};
use helve_model::Layer;

use crate::dialects::EXAMPLES;
use crate::support::{PROJECT, place};

const FILES: usize = 100_000;

/// A small generator of its own: the same files every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }
}

/// What is put into files: everything that means something in some format, and some that means nothing.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ",",
    ":",
    "\n",
    " ",
    "\t",
    "-",
    "- ",
    "&a ",
    "*a",
    "<<: *node",
    "|\n",
    ">",
    "#",
    "//",
    "/*",
    "*/",
    "=",
    "[[",
    "]]",
    "${",
    "}",
    "${A:-",
    "${file:",
    "${input:x}",
    "$",
    "$env:",
    "{env:A}",
    "\\",
    "\\u00",
    "\u{feff}",
    "\u{0}",
    "\u{1b}",
    "é",
    "🦀",
    "null",
    "true",
    "1e999",
    "-1",
    "99999999999999999999",
    "command",
    "url",
    "mcpServers",
    "servers",
    "\"a\": ",
    "name",
    "---\n",
    "...\n",
    "!!str ",
    "\r\n",
    "\r",
];

fn mutate(random: &mut Random, text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(2) {
        let at = random.below(characters.len() + 1);
        let length = random.below(12).min(characters.len() - at);
        match random.below(6) {
            0 => {
                characters.drain(at..at + length);
            }
            1 => {
                let piece = PIECES[random.below(PIECES.len())];
                characters.splice(at..at, piece.chars());
            }
            2 => {
                let piece = PIECES[random.below(PIECES.len())];
                characters.splice(at..at + length, piece.chars());
            }
            3 => {
                let copy: Vec<char> = characters[at..at + length].to_vec();
                let to = random.below(characters.len() + 1);
                characters.splice(to..to, copy);
            }
            4 => characters.truncate(at),
            _ => {
                if let Some(character) = characters.get_mut(at) {
                    *character = char::from_u32(u32::try_from(random.below(0x250)).unwrap()).unwrap();
                }
            }
        }
    }
    characters.into_iter().collect()
}

#[test]
fn a_hundred_thousand_broken_files_never_panic() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let environment = Environment::new(PROJECT).with_home("/home/me").with_variables([("A", "value")]);
    let (mut readable, mut edited) = (0_usize, 0_usize);
    for index in 0..FILES {
        let (dialect, path, text) = EXAMPLES[index % EXAMPLES.len()];
        let text = mutate(&mut random, text);
        let place = place(dialect, path, if index % 2 == 0 { Layer::User } else { Layer::Project });
        let content = read_text(&place, &text, &environment);
        for diagnostic in
            content.diagnostics.iter().chain(content.servers.iter().flat_map(|server| &server.diagnostics))
        {
            assert!(!diagnostic.render().contains('\u{1b}'), "{text:?}");
        }
        readable += usize::from(!content.servers.is_empty());
        if index % 8 == 0
            && let Some(server) = content.servers.first()
        {
            let change = [Change::Disable, Change::Remove][index / 8 % 2].clone();
            if let Ok(after) = edit_text(&place, &text, server.name.as_str(), &change) {
                let again = read_text(&place, &after, &environment);
                let expected = content.servers.len() - usize::from(change == Change::Remove);
                assert!(again.servers.len() >= expected, "{text:?}\n{after:?}");
                edited += 1;
            }
        }
        // The same text as any other format and dialect.
        let other = Dialect::ALL[random.below(Dialect::ALL.len())];
        let source = Source::new(path, &text);
        for format in [Format::Json, Format::Toml, Format::Yaml] {
            if let Ok(root) = parse(&source, format) {
                let _ = Dialect::recognise(std::path::Path::new(path), &root);
            }
        }
        drop(read_text(&crate::support::place(other, path, Layer::User), &text, &environment));
    }
    assert!(readable > FILES / 5, "only {readable} files still held a server: the test would prove little");
    assert!(edited > FILES / 100, "only {edited} files were edited");
}
