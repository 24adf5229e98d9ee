//! How questions are put to an agent's person: a server's begin with the name it is configured under, helve's own with
//! the word `helve`, which no text of a server can hold.
//!
//! A question that is a server's passes [`NamedAnswerer`] or [`in_result`] on its way to an agent; helve's own forms do
//! not. Texts are cut, line breaks are folded and few, and nothing invisible is left in them.

use std::sync::Arc;

use helve::Answerer;
use helve_model::ServerName;
use helve_model::json::{ObjectWriter, RawJson, quoted, scan};
use helve_model::text::{breaks_lines, is_invisible};
use helve_wire::{BoxFuture, ClientCapabilities, EraPreference, PeerQuestion, QuestionKind, RpcError};
use icu_normalizer::DecomposingNormalizerBorrowed;

/// How many characters of a question reach a person.
const MAX_MESSAGE: usize = 2_000;

/// How many characters of a label or a help text of a form.
const MAX_LABEL: usize = 300;

/// How many line breaks a question keeps.
const MAX_LINE_BREAKS: usize = 12;

/// How many characters of a name.
const MAX_NAME: usize = 160;

/// How many characters of a call's arguments a form of ours shows.
const MAX_ARGUMENTS: usize = 600;

/// How deep a form's schema is gone through; what is deeper is not a form.
const MAX_DEPTH: u32 = 12;

/// The word that signs helve's own forms.
const SIGNATURE: &str = "helve";

/// What stands for it in a text of somebody else.
const UNSIGNED: &str = "h*lve";

/// Members of a form's schema that people read.
const LABELS: &[&str] = &["title", "description", "enumNames"];

/// What servers ask, told apart from what helve asks.
#[derive(Debug)]
pub(crate) struct NamedAnswerer(Arc<dyn Answerer>);

impl NamedAnswerer {
    pub(crate) fn of(answerer: Arc<dyn Answerer>) -> Arc<dyn Answerer> {
        Arc::new(Self(answerer))
    }
}

impl Answerer for NamedAnswerer {
    fn capabilities(&self) -> ClientCapabilities {
        self.0.capabilities()
    }

    fn era_preference(&self) -> EraPreference {
        self.0.era_preference()
    }

    fn question<'a>(
        &'a self,
        server: &'a ServerName,
        mut question: PeerQuestion,
    ) -> BoxFuture<'a, Result<RawJson, RpcError>> {
        question.params = question.params.map(|params| of_server(server, question.kind, &params));
        self.0.question(server, question)
    }

    fn log(&self, server: &ServerName, params: &RawJson) {
        self.0.log(server, params);
    }
}

/// The text of a question of helve's own.
pub(crate) fn of_helve(question: &str) -> String {
    format!("{SIGNATURE} asks: {question}")
}

/// A name in a question of helve's own: of a tool, as its server wrote it.
pub(crate) fn foreign_name(name: &str) -> String {
    format!("`{}`", one_line(name, MAX_NAME).replace('`', "'"))
}

/// The arguments of a call, on one line and cut.
pub(crate) fn arguments(arguments: &RawJson) -> String {
    let (mut compact, mut in_string, mut escaped) = (String::new(), false, false);
    let mut length = 0;
    for character in arguments.as_str().chars() {
        if !in_string && character.is_whitespace() {
            continue;
        }
        if length == MAX_ARGUMENTS {
            compact.push('…');
            break;
        }
        length += 1;
        match (in_string, escaped, character) {
            (true, true, _) => escaped = false,
            (true, false, '\\') => escaped = true,
            (_, _, '"') => in_string = !in_string,
            _ => {}
        }
        if is_invisible(character) { compact.extend(character.escape_unicode()) } else { compact.push(character) }
    }
    compact
}

/// The parameters of a server's question, as its person may see them.
pub(crate) fn of_server(server: &ServerName, kind: QuestionKind, params: &RawJson) -> RawJson {
    // What a model is asked goes to it as the server wrote it: the protocol has no place for a name there.
    if kind != QuestionKind::Elicitation {
        return params.clone();
    }
    let Ok(members) = scan::members(params.as_str()) else { return params.clone() };
    let said = params.member_str("message").unwrap_or_default();
    let message = format!("The server {} asks: {}", foreign_name(server.as_str()), several_lines(&said, MAX_MESSAGE));
    let mut named = ObjectWriter::new().text("message", &message);
    for member in members.map_while(Result::ok) {
        match member.key().as_deref() {
            None | Some("message") => {}
            Some(key @ "requestedSchema") => named.add_raw(key, relabelled(member.value, MAX_DEPTH)),
            Some(key) => named.add_raw(key, member.value),
        }
    }
    named.finish()
}

/// A result by which a modern server asks something, with its questions as its person may see them.
pub(crate) fn in_result(server: &ServerName, result: RawJson) -> RawJson {
    let Some(questions) = result.member("inputRequests").filter(RawJson::is_object) else { return result };
    let mut named = ObjectWriter::new();
    for member in scan::members(questions.as_str()).into_iter().flatten().map_while(Result::ok) {
        let Some(key) = member.key() else { continue };
        let question = RawJson::part_of(questions.shared(), member.value);
        let kind = question.member_str("method").and_then(|method| QuestionKind::of_method(&method));
        let question = match (kind, question.member("params")) {
            (Some(kind), Some(params)) => with_all(&question, "params", of_server(server, kind, &params).as_str()),
            _ => question,
        };
        named.add_raw(&key, question);
    }
    with_all(&result, "inputRequests", &named.into_text())
}

/// The object with one value for a member, wherever and however often it is written.
fn with_all(object: &RawJson, key: &str, value: &str) -> RawJson {
    let mut written = ObjectWriter::new();
    for member in scan::members(object.as_str()).into_iter().flatten().map_while(Result::ok) {
        let Some(name) = member.key() else { continue };
        written.add_raw(&name, if name == key { value } else { member.value });
    }
    written.finish()
}

/// A form's schema with the texts that people read made safe. What is sent back, such as the values of a choice, stays.
fn relabelled(value: &str, depth: u32) -> String {
    let Some(depth) = depth.checked_sub(1) else { return value.to_owned() };
    match (scan::members(value), scan::elements(value)) {
        (Ok(members), _) => {
            let mut written = ObjectWriter::new();
            for member in members.map_while(Result::ok) {
                let Some(key) = member.key() else { continue };
                let is_label = LABELS.contains(&&*key);
                written.add_raw(&key, if is_label { labels(member.value) } else { relabelled(member.value, depth) });
            }
            written.into_text()
        }
        (_, Ok(elements)) => {
            let elements = elements.map_while(Result::ok).map(|element| relabelled(element, depth));
            RawJson::array(elements).as_str().to_owned()
        }
        _ => value.to_owned(),
    }
}

/// A text that people read, or a list of them. A field that is merely called `title` is a schema, and gone through.
fn labels(value: &str) -> String {
    let label = |text: &str| {
        RawJson::assembled(text.to_owned()).parse::<String>().ok().map(|text| quoted(&one_line(&text, MAX_LABEL)))
    };
    if let Some(text) = label(value) {
        return text;
    }
    match scan::elements(value) {
        Ok(elements) => {
            let texts = elements.map_while(Result::ok).map(|text| label(text).unwrap_or_else(|| text.to_owned()));
            RawJson::array(texts).as_str().to_owned()
        }
        Err(_) => relabelled(value, MAX_DEPTH),
    }
}

fn one_line(text: &str, limit: usize) -> String {
    let folded = several_lines(text, limit);
    folded.replace('\n', " ")
}

/// The text without what cannot be seen, with few line breaks, cut, and without our signature.
fn several_lines(text: &str, limit: usize) -> String {
    let (mut shown, mut length, mut breaks) = (String::new(), 0, 0);
    let (mut space, mut line_break) = (false, false);
    for character in text.chars() {
        if character.is_whitespace() {
            space = true;
            line_break |= character != '\t' && breaks_lines(character);
            continue;
        }
        if is_invisible(character) {
            continue;
        }
        if length >= limit {
            shown.push('…');
            break;
        }
        if space && !shown.is_empty() {
            let breaks_here = line_break && breaks < MAX_LINE_BREAKS;
            breaks += usize::from(breaks_here);
            shown.push(if breaks_here { '\n' } else { ' ' });
            length += 1;
        }
        (space, line_break) = (false, false);
        shown.push(character);
        length += 1;
    }
    unsigned(&shown)
}

/// The text with our signature broken wherever it stands as a word, in whatever letters look like it.
fn unsigned(text: &str) -> String {
    let mut letters: Vec<(usize, usize, char)> = Vec::new();
    for (start, character) in text.char_indices() {
        let mut buffer = [0; 4];
        let decomposed =
            DecomposingNormalizerBorrowed::new_nfkd().normalize(character.encode_utf8(&mut buffer)).into_owned();
        let end = start + character.len_utf8();
        letters.extend(decomposed.chars().filter(|part| !is_mark(*part)).map(|part| (start, end, alike(part))));
    }
    let is_letter =
        |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(|(_, _, letter)| letter.is_alphanumeric());
    let (mut result, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(word) = letters.get(at..at + SIGNATURE.len()) {
        let is_signature = word.iter().map(|(_, _, letter)| *letter).eq(SIGNATURE.chars());
        if is_signature && !is_letter(at.checked_sub(1)) && !is_letter(Some(at + SIGNATURE.len())) {
            let (start, end) = (word[0].0, word[SIGNATURE.len() - 1].1);
            result.push_str(text.get(copied..start).unwrap_or_default());
            result.push_str(UNSIGNED);
            copied = end;
            at += SIGNATURE.len();
        } else {
            at += 1;
        }
    }
    result.push_str(text.get(copied..).unwrap_or_default());
    result
}

/// The letter of our signature that a character looks like, or itself in lower case.
fn alike(character: char) -> char {
    match character {
        'һ' | 'Һ' | 'Н' | 'н' | 'Η' | 'հ' | 'ℎ' | 'Ꮒ' => 'h',
        'е' | 'Е' | 'Ε' | 'ε' | 'є' | 'Є' | 'ҽ' | 'ɛ' | 'ǝ' | '3' | '℮' | '€' => 'e',
        'I' | 'і' | 'І' | 'ӏ' | 'Ӏ' | 'Ι' | 'ι' | 'ı' | '1' | '|' | '!' | 'ǀ' | 'ا' | '∣' | 'ʟ' | 'ⅼ' | 'ł' | 'ɩ' => {
            'l'
        }
        'ν' | 'ѵ' | 'Ѵ' | 'υ' | 'ʋ' | '∨' | '⋁' | 'ᴠ' | 'ⅴ' => 'v',
        other => other.to_lowercase().next().unwrap_or(other),
    }
}

/// A mark that sits on the letter before it.
const fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

#[cfg(test)]
#[path = "named_questions_tests.rs"]
mod tests;
