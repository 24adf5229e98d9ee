//! What is known here about a program that ended: which variable it complains of, and whether the person has it and it was
//! withheld, or nobody has set it.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};

use helve_model::{ServerSpec, TransportSpec};

use crate::connect::command;
use crate::error::CallError;
use crate::settings::Surroundings;

/// How many variables an error names.
const SHOWN: usize = 5;

/// Shorter names are words of a sentence by accident.
const SHORTEST_NAME: usize = 3;

/// Words of programs that miss a variable.
const COMPLAINTS: [&str; 10] = [
    "keyerror",
    "not set",
    "unset",
    "environ",
    "env var",
    "missing",
    "required",
    "undefined",
    "not defined",
    "must be set",
];

/// What stands right before the name of a variable, and before nothing else.
const BEFORE: [&str; 9] = ["env.", "env[", "environ[", "getenv(", "keyerror:", "$", "${", "variable", "variable:"];

/// What follows the name of a variable that is missed.
const AFTER: [&str; 11] = [
    "parameter not set",
    "environment variable",
    "env var",
    "is not set",
    "not set",
    "must be set",
    "is required",
    "is missing",
    "is unset",
    "is not defined",
    "is undefined",
];

/// An error of a program that ended, with what to do about the variables it complains of.
pub(crate) fn explain(error: CallError, spec: &ServerSpec, surroundings: &Surroundings) -> CallError {
    let TransportSpec::Stdio(stdio) = &spec.transport else { return error };
    let hints: Vec<String> = error.hints().iter().map(ToString::to_string).collect();
    let words = format!("{}\n{}", error.chain(), hints.join("\n"));
    let given = command(spec, stdio, surroundings).environment;
    let is_given = |name: &str| given.get(OsStr::new(name)).is_some();
    let is_set = |name: &str| surroundings.environment.iter().any(|(known, _)| known.to_str() == Some(name));
    let known = surroundings.environment.iter().filter_map(|(name, _): &(OsString, OsString)| name.to_str());
    let withheld: Vec<&str> = known.filter(|name| !is_given(name) && mentions(&words, name)).take(SHOWN).collect();
    let unset: Vec<&str> = missed(&words).filter(|name| !is_given(name) && !is_set(name)).take(SHOWN).collect();
    let mut explained = error;
    if !unset.is_empty() {
        explained = explained.with_hint(format!("{} is not set: set it, and {}", quoted(&unset), pass(&unset, spec)));
    }
    if !withheld.is_empty() {
        explained = explained.with_hint(format!(
            "{} is set here and was withheld from the server: {}",
            quoted(&withheld),
            pass(&withheld, spec)
        ));
    }
    explained
}

/// How a server comes to variables, whichever application's file configures it.
fn pass(names: &[&str], spec: &ServerSpec) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let name = spec.name.as_str();
    let is_bare = name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'));
    let key = if is_bare { name.to_owned() } else { format!("{name:?}") };
    format!(
        "pass it on with `pass = [{}]` under `[environment.{key}]` of your own helve.toml, or name it in `env` of the server at {}",
        names.join(", "),
        spec.origin
    )
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The variables whose want a text complains about: in a line that has one of the words programs use for that, names
/// that only variables have, or that stand where only variables stand.
fn missed(text: &str) -> impl Iterator<Item = &str> {
    let complains = |line: &&str| {
        let line = line.to_lowercase();
        COMPLAINTS.iter().any(|complaint| line.contains(complaint))
    };
    let mut seen = HashSet::new();
    text.lines().filter(complains).flat_map(names).filter(move |name| seen.insert(*name))
}

fn names(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = line.split(move |character| !is_part(character)).filter(|word| !word.is_empty());
    words.filter(move |word| {
        let is_upper = word.starts_with(|first: char| first.is_ascii_uppercase())
            && !word.contains(|character: char| character.is_ascii_lowercase());
        is_upper && word.len() >= SHORTEST_NAME && (word.contains('_') || stands_for_a_variable(line, word))
    })
}

/// True where a word that may be any is used as the name of a variable.
fn stands_for_a_variable(line: &str, word: &str) -> bool {
    let is_quote = |character: char| "'\"`´“”‘’()[]{}".contains(character) || character.is_whitespace();
    line.match_indices(word).any(|(start, _)| {
        let (before, after) =
            (line.get(..start).unwrap_or_default(), line.get(start + word.len()..).unwrap_or_default());
        let before = before.trim_end_matches(|character: char| is_quote(character) && !"[({".contains(character));
        let opened = before.trim_end_matches(is_quote).to_lowercase();
        let before = before.to_lowercase();
        let after = after.trim_start_matches(|character| is_quote(character) || character == ':').to_lowercase();
        BEFORE.iter().any(|start| before.ends_with(start) || opened.ends_with(start))
            || AFTER.iter().any(|end| after.starts_with(end))
    })
}

/// True when a text speaks of a variable: the name as a whole word, and long enough to be no accident.
fn mentions(text: &str, name: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    name.len() > SHORTEST_NAME
        && text.match_indices(name).any(|(start, _)| {
            let before = text.get(..start).and_then(|text| text.chars().next_back());
            let after = text.get(start + name.len()..).and_then(|text| text.chars().next());
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
}

#[cfg(test)]
mod tests {
    use super::missed;

    /// C6: in the words of many languages, and in no others.
    #[test]
    fn c6_variables_are_found_in_what_programs_say() {
        for (said, name) in [
            ("Error: BRAVE_API_KEY environment variable is required", "BRAVE_API_KEY"),
            ("KeyError: 'TOKEN'", "TOKEN"),
            ("KeyError: 'SLACK_BOT_TOKEN'", "SLACK_BOT_TOKEN"),
            ("server.sh: line 3: TOKEN: must be set", "TOKEN"),
            ("sh: 1: TOKEN: parameter not set", "TOKEN"),
            ("process.env.TOKEN is undefined", "TOKEN"),
            ("missing environment variable TOKEN", "TOKEN"),
            ("Missing environment variable: `TOKEN`", "TOKEN"),
            ("panic: environment variable \"DSN\" not found", "DSN"),
            ("TOKEN is not set", "TOKEN"),
            ("required key DATABASE_URL missing value", "DATABASE_URL"),
            ("thread 'main' panicked: TOKEN not set: NotPresent", "TOKEN"),
            ("undefined: os.environ[\"TOKEN\"]", "TOKEN"),
        ] {
            assert_eq!(missed(said).collect::<Vec<_>>(), [name], "{said}");
        }
        for said in [
            "ERROR: the JSON of the HTTP answer is missing a field",
            "FATAL: permission denied, a license is required",
            "connected to API_HOST",
            "WARN missing translation for EN",
        ] {
            assert_eq!(missed(said).collect::<Vec<_>>(), Vec::<&str>::new(), "{said}");
        }
    }
}
