//! Owns the rules for single files: module docs, length, words, protocol versions, machine paths, inherited lints.

use std::path::Path;

use helve_model::method;
use helve_model::text::is_invisible;

use super::Finding;
use super::source::{Source, says};
use crate::layers::{COMPARES_VERSIONS, LAYERS, Layer, MAX_LINES, PROTOCOL_VERSIONS, UNFINISHED, Versions, Words};

/// The file that holds the set of invisible characters.
const INVISIBLE_CHARACTERS: &str = "crates/helve-model/src/text.rs";

/// The file that spells the protocol's own words: methods, versions, error codes, keys of metadata.
const PROTOCOL_WORDS: &str = "crates/helve-model/src/protocol.rs";

/// The file that knows what methods of the protocol begin with.
const METHOD_TABLE: &str = "crates/helve-model/src/method.rs";

/// How the keys and extensions of the protocol begin.
const PROTOCOL_PREFIX: &str = "io.modelcontextprotocol/";

/// The codes of errors that JSON-RPC and the protocol have, without their sign.
const ERROR_CODES: [std::ops::RangeInclusive<u32>; 2] = [32_000..=32_099, 32_600..=32_700];

/// The crates that have a command line.
const SPEAKS_COMMAND_LINE: &[&str] = &["helve-cli", "helve-testkit", "xtask"];

/// Checks one Rust file; `path` is relative to the workspace root.
pub(super) fn check_rust(path: &Path, text: &str, findings: &mut Vec<Finding>) {
    if !text.starts_with("//!") {
        findings.push(
            Finding::new(path, "does not open with //!", "say in its first line which decision this file owns").at(1),
        );
    }
    let source = match Source::read(text) {
        Ok(source) => source,
        Err(error) => {
            findings.push(Finding::new(path, format!("{error:#}"), "make it compile first"));
            return;
        }
    };
    check_words(path, &source, UNFINISHED, "finish it or leave it out", findings);
    if is_test(path) {
        return;
    }
    let lines = text.lines().count().saturating_sub(source.test_lines);
    if lines > MAX_LINES {
        findings.push(Finding::new(
            path,
            format!("{lines} lines without tests, {MAX_LINES} is the end"),
            "split it by decision: one file, one thing to know",
        ));
    }
    if let Some(layer) = layer_of(path) {
        check_layer(path, &source, layer, findings);
        check_invisible(path, &source, findings);
        check_protocol_words(path, &source, layer, findings);
        check_written_json(path, &source, layer, findings);
        check_speech(path, &source, layer, findings);
    }
}

/// Libraries know no command line: a hint is data, and whoever shows it has words for it.
fn check_speech(path: &Path, source: &Source, layer: &Layer, findings: &mut Vec<Finding>) {
    if SPEAKS_COMMAND_LINE.contains(&layer.name) {
        return;
    }
    for string in source.strings.iter().filter(|string| speaks_command_line(&string.text)) {
        findings.push(
            Finding::new(
                path,
                "speaks the command line",
                "say it as a helve_model::Hint, which each door puts into its own words",
            )
            .at(string.line),
        );
    }
}

/// True for a text with `` `helve verb `` or `` `--option `` in it.
fn speaks_command_line(text: &str) -> bool {
    text.split('`').skip(1).any(|quoted| {
        let word = quoted.strip_prefix("helve ").or_else(|| quoted.strip_prefix("--"));
        word.is_some_and(|word| word.starts_with(|first: char| first.is_ascii_lowercase()))
    })
}

/// What two crates spell, one of them spells wrong sooner or later.
fn check_protocol_words(path: &Path, source: &Source, layer: &Layer, findings: &mut Vec<Finding>) {
    if path == Path::new(PROTOCOL_WORDS) || matches!(layer.versions, Versions::Anywhere) {
        return;
    }
    let advice = "helve_model::protocol has it under a name";
    for string in &source.strings {
        if let Some(version) = PROTOCOL_VERSIONS.iter().find(|version| string.text.contains(*version)) {
            let words = format!("spells the protocol version {version}");
            let advice = "helve_model::protocol has it, for the era modules of helve-wire and helve-serve: ask them";
            findings.push(Finding::new(path, words, advice).at(string.line));
        } else if string.text.contains(PROTOCOL_PREFIX) {
            findings.push(Finding::new(path, format!("spells {PROTOCOL_PREFIX}…"), advice).at(string.line));
        } else if path != Path::new(METHOD_TABLE) && is_method(&string.text) {
            findings.push(Finding::new(path, format!("spells the method {}", string.text), advice).at(string.line));
        }
    }
    for number in &source.numbers {
        let is_code = |code: u32| ERROR_CODES.iter().any(|codes| codes.contains(&code));
        if number.text.parse().is_ok_and(is_code) {
            findings
                .push(Finding::new(path, format!("spells the error code -{}", number.text), advice).at(number.line));
        }
    }
}

/// Is this a method of the protocol, and not also a word of its own (`ping`)?
fn is_method(text: &str) -> bool {
    let is_known = method::request(text).is_some()
        || method::client_notification(text).is_some()
        || method::server_notification(text).is_some()
        || method::QUESTIONS.contains(&text);
    is_known && text.contains('/')
}

/// JSON that is put together by hand forgets a comma or an escape sooner or later.
fn check_written_json(path: &Path, source: &Source, layer: &Layer, findings: &mut Vec<Finding>) {
    if matches!(layer.versions, Versions::Anywhere) {
        return;
    }
    let is_template = |text: &str| text.starts_with("{{\"") || text.starts_with("{{\\\"");
    for string in source.strings.iter().filter(|string| is_template(&string.text)) {
        let advice = "helve_model::json::ObjectWriter counts the commas and escapes the texts";
        findings.push(Finding::new(path, "writes a JSON object by hand", advice).at(string.line));
    }
}

/// What counts as invisible is decided in one place: two sets differ sooner or later, and the difference is a hole.
fn check_invisible(path: &Path, source: &Source, findings: &mut Vec<Finding>) {
    if path == Path::new(INVISIBLE_CHARACTERS) {
        return;
    }
    for (character, line) in &source.escapes {
        if !character.is_ascii() && is_invisible(*character) {
            findings.push(
                Finding::new(
                    path,
                    format!("spells the invisible character U+{:04X}", u32::from(*character)),
                    "helve_model::text holds the one set of them: ask it",
                )
                .at(*line),
            );
        }
    }
}

/// Checks any text file for traces of the machine it was written on.
pub(super) fn check_machine_paths(path: &Path, text: &str, findings: &mut Vec<Finding>) {
    // Spelled in two halves, so that this file passes its own rule.
    let places = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tm", "p/")];
    for (index, line) in text.lines().enumerate() {
        for place in places {
            if begins_a_path(line, place) {
                findings.push(
                    Finding::new(
                        path,
                        format!("names a path of one machine ({place})"),
                        "take it from the caller, the workspace or a temporary directory",
                    )
                    .at(index + 1),
                );
            }
        }
    }
}

/// The one package with a table of lints of its own: the macros of its bindings expand to unsafe code, which the workspace forbids.
const OWN_LINTS: &str = "bindings/python/Cargo.toml";

/// Checks a package manifest.
pub(super) fn check_manifest(path: &Path, text: &str, findings: &mut Vec<Finding>) {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let inherits = lines.any(|line| line == "[lints]") && lines.next() == Some("workspace = true");
    let spells_them_out = path == Path::new(OWN_LINTS) && text.contains("[lints.clippy]");
    if !inherits && !spells_them_out {
        findings.push(Finding::new(
            path,
            "does not inherit the workspace's lints",
            "add [lints] with workspace = true",
        ));
    }
}

fn check_layer(path: &Path, source: &Source, layer: &Layer, findings: &mut Vec<Finding>) {
    let advice = format!("{} never contains {}: take it as an argument or move the code", layer.name, layer.absence);
    for words in layer.must_not_say {
        let printing_from_a_binary = is_binary(path) && words.contains(&"println!");
        if !printing_from_a_binary {
            check_words(path, source, words, &advice, findings);
        }
    }
    let are_eras_known = match layer.versions {
        Versions::Nowhere => path == Path::new(PROTOCOL_WORDS),
        Versions::Under(directory) => {
            let home = Path::new("crates").join(layer.name).join(directory);
            path.starts_with(&home) || path == home.with_extension("rs")
        }
        Versions::Anywhere => true,
    };
    if !are_eras_known {
        let advice = "eras meet in the era modules of helve-wire and helve-serve: ask them instead";
        check_words(path, source, COMPARES_VERSIONS, advice, findings);
    }
}

fn check_words(path: &Path, source: &Source, words: Words, advice: &str, findings: &mut Vec<Finding>) {
    for word in &source.words {
        if let Some(forbidden) = words.iter().find(|forbidden| says(&word.text, forbidden)) {
            findings.push(Finding::new(path, format!("says {forbidden} ({})", word.text), advice).at(word.line));
        }
    }
}

/// The row of the crate whose product code `path` is part of.
fn layer_of(path: &Path) -> Option<&'static Layer> {
    let (inside, before) = match path.strip_prefix("bindings") {
        Ok(inside) => (inside, "helve-"),
        Err(_) => (path.strip_prefix("crates").ok()?, ""),
    };
    let folder = inside.iter().next()?.to_str()?;
    let in_source = inside.iter().nth(1).is_some_and(|part| part == "src");
    LAYERS.iter().find(|layer| in_source && layer.name.strip_prefix(before) == Some(folder))
}

fn is_test(path: &Path) -> bool {
    let named_so = path.file_stem().is_some_and(|stem| stem == "tests" || stem.to_string_lossy().ends_with("_tests"));
    named_so || path.iter().any(|part| part == "tests" || part == "benches" || part == "examples")
}

fn is_binary(path: &Path) -> bool {
    path.ends_with("src/main.rs") || path.iter().any(|part| part == "bin")
}

/// Whether `place` stands at the start of a path, not in the middle of one (`https://host/work/` is fine).
fn begins_a_path(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(index, _)| {
        let before = line.get(..index).and_then(|before| before.chars().next_back());
        before.is_none_or(|character| {
            !character.is_alphanumeric() && !matches!(character, '/' | '.' | '-' | '_' | '~' | '}' | '*')
        })
    })
}
