//! The spellings of a pattern: what else a glob over places has to match so that no spelling of a place passes it.

use crate::glob::{escape, has_wildcard};
use crate::place_spellings::{MAX_DECODINGS, file_paths, folded, percent_decoded, plain_host, scheme};

/// A piece of a glob.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// A letter that means itself.
    Letter(char),
    /// A wildcard, a class or alternatives, as written.
    Wild(String),
}

type Component = Vec<Piece>;

/// The globs that a restricting pattern means, the one that was written first.
pub(crate) fn restricting(glob: &str) -> Vec<String> {
    let mut globs = vec![glob.to_owned()];
    let Some(pieces) = pieces(glob) else { return globs };
    let mut push = |pieces: &[Piece]| {
        let text = folded(&written(pieces)).into_owned();
        let says_something = text.contains(|letter| !matches!(letter, '*' | '?' | '/'));
        if says_something && !globs.contains(&text) {
            globs.push(text);
        }
    };
    for pieces in [decoded(&pieces), slashed(&decoded(&pieces))] {
        for place in places(&pieces) {
            place.each_form(&mut push);
        }
    }
    globs
}

/// The globs that the direct form of a text must match, where `glob` matches the text as it was written.
pub(crate) fn allowing(glob: &str) -> Vec<String> {
    let mut globs = vec![glob.to_owned()];
    let Some(pieces) = pieces(glob) else { return globs };
    for pieces in [pieces.clone(), slashed(&pieces)] {
        let text = written(&Place::of(&pieces).joined());
        if !globs.contains(&text) {
            globs.push(text);
        }
    }
    globs
}

/// True when a glob may match an absolute path that none of its relative spellings matches.
pub(crate) fn may_be_absolute(glob: &str) -> bool {
    glob.trim_start().starts_with(['/', '~', '[', '{', '\\', '%', '.'])
        || glob.trim_start_matches('*').starts_with('/')
        || glob.contains(':')
}

/// A glob taken apart: what stands before the path, and the path's components.
#[derive(Debug, Clone)]
struct Place {
    /// `/`, `scheme://host/`, or nothing.
    start: Vec<Piece>,
    components: Vec<Component>,
}

impl Place {
    fn of(pieces: &[Piece]) -> Self {
        let literal = leading_text(pieces);
        let authority = scheme(&literal).and_then(|(scheme, rest)| {
            let start = scheme.len() + "://".len();
            rest.strip_prefix("//").map(|rest| start + rest.find('/').unwrap_or(rest.len()))
        });
        // Letters and bytes are the same number here only up to the host's end, which is counted in letters.
        let start = authority.map_or(0, |end| literal.get(..end).map_or(0, |text| text.chars().count()));
        let (start, path) = pieces.split_at(start);
        let mut start = start.to_vec();
        if path.first() == Some(&Piece::Letter('/')) {
            start.push(Piece::Letter('/'));
        }
        let mut components: Vec<Component> = Vec::new();
        for component in path.split(|piece| *piece == Piece::Letter('/')) {
            match written(component).as_str() {
                "" | "." => {}
                ".." if components.last().is_some_and(is_name) => drop(components.pop()),
                ".." if components.is_empty() && !start.is_empty() => {}
                _ => components.push(component.to_vec()),
            }
        }
        Self { start, components }
    }

    fn joined(&self) -> Vec<Piece> {
        let path = self.components.join(&Piece::Letter('/'));
        match (self.components.is_empty(), self.start.is_empty()) {
            (true, true) => vec![Piece::Letter('.')],
            _ => self.start.iter().cloned().chain(path).collect(),
        }
    }

    /// The glob itself; the directory of which it means what is inside; and the same without wildcards that stand for
    /// no directory at all.
    fn each_form(&self, visit: &mut impl FnMut(&[Piece])) {
        let is_any = |component: &Component| matches!(written(component).as_str(), "*" | "**");
        let mut forms = vec![self.clone()];
        if self.start.is_empty() && self.components.first().is_some_and(is_any) {
            forms.push(Self { start: Vec::new(), components: self.components.iter().skip(1).cloned().collect() });
        }
        let inner = 1..self.components.len().saturating_sub(1);
        let is_inner_any = |index: usize| inner.contains(&index) && written(&self.components[index]) == "**";
        if (0..self.components.len()).any(is_inner_any) {
            let kept = (0..self.components.len()).filter(|index| !is_inner_any(*index));
            forms.push(Self {
                start: self.start.clone(),
                components: kept.map(|index| self.components[index].clone()).collect(),
            });
        }
        for form in forms.iter().filter(|form| !form.start.is_empty() || !form.components.is_empty()) {
            visit(&form.joined());
        }
        for mut form in forms.into_iter().filter(|form| form.components.last().is_some_and(is_any)) {
            while form.components.last().is_some_and(is_any) {
                form.components.pop();
            }
            if form.components.is_empty() && form.start.len() < 2 {
                continue;
            }
            let mut directory = form.joined();
            // A host is compared without the slash behind it.
            if directory.len() > 1 && directory.last() == Some(&Piece::Letter('/')) {
                directory.pop();
            }
            visit(&directory);
        }
    }
}

/// The places that a glob may mean: behind `file:` there are several, an address has its plain host.
fn places(pieces: &[Piece]) -> Vec<Place> {
    let literal = leading_text(pieces).to_ascii_lowercase();
    let rest_of = |taken: &str| pieces.get(taken.chars().count()..).unwrap_or_default();
    match scheme(&literal) {
        Some(("file", rest)) => {
            let mut starts: Vec<String> = Vec::new();
            file_paths(rest, &mut |path| starts.push(path.to_owned()));
            let behind = rest_of(&literal);
            let whole = |start: &String| letters(start).chain(behind.iter().cloned()).collect::<Vec<_>>();
            starts.iter().map(|start| Place::of(&whole(start))).collect()
        }
        Some((scheme, rest)) if rest.starts_with("//") => {
            let rest = rest.trim_start_matches('/');
            let Some(end) = rest.find('/').or_else(|| (literal.chars().count() == pieces.len()).then_some(rest.len()))
            else {
                return vec![Place::of(pieces)];
            };
            let (authority, path) = rest.split_at(end);
            let start = format!("{scheme}://{}{path}", plain_host(scheme, authority));
            let whole: Vec<Piece> = letters(&start).chain(rest_of(&literal).iter().cloned()).collect();
            vec![Place::of(&whole), Place::of(pieces)]
        }
        _ => vec![Place::of(pieces)],
    }
}

/// The pieces of a glob; `None` when brackets are not closed.
fn pieces(glob: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut characters = glob.chars();
    while let Some(character) = characters.next() {
        if let ('*', Some(Piece::Wild(stars))) = (character, pieces.last_mut())
            && stars.starts_with('*')
        {
            stars.push('*');
            continue;
        }
        pieces.push(match character {
            '\\' => Piece::Letter(characters.next()?),
            '*' => Piece::Wild("*".to_owned()),
            '?' => Piece::Wild("?".to_owned()),
            '[' => Piece::Wild(class(&mut characters)?),
            '{' => Piece::Wild(alternatives(&mut characters)?),
            ']' | '}' => return None,
            letter => Piece::Letter(letter),
        });
    }
    Some(pieces)
}

fn class(characters: &mut std::str::Chars<'_>) -> Option<String> {
    let mut text = "[".to_owned();
    let mut is_first = true;
    loop {
        let character = characters.next()?;
        text.push(character);
        match character {
            ']' if !is_first => return Some(text),
            '!' | '^' if is_first => continue,
            _ => is_first = false,
        }
    }
}

fn alternatives(characters: &mut std::str::Chars<'_>) -> Option<String> {
    let mut text = "{".to_owned();
    let mut depth = 1;
    while depth > 0 {
        let character = characters.next()?;
        text.push(character);
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            '\\' => text.push(characters.next()?),
            _ => {}
        }
    }
    Some(text)
}

fn letters(text: &str) -> impl Iterator<Item = Piece> {
    text.chars().map(Piece::Letter)
}

fn written(pieces: &[Piece]) -> String {
    let mut glob = String::new();
    for piece in pieces {
        match piece {
            Piece::Letter(letter) => glob.push_str(&escape(letter.encode_utf8(&mut [0; 4]))),
            Piece::Wild(text) => glob.push_str(text),
        }
    }
    glob
}

fn leading_text(pieces: &[Piece]) -> String {
    let letter = |piece: &Piece| match piece {
        Piece::Letter(letter) => Some(*letter),
        Piece::Wild(_) => None,
    };
    pieces.iter().map_while(letter).collect()
}

/// A name without wildcards, which `..` takes back.
fn is_name(component: &Component) -> bool {
    !has_wildcard(&written(component)) && written(component) != ".."
}

/// The glob with percent-encoding taken off its letters.
fn decoded(pieces: &[Piece]) -> Vec<Piece> {
    let mut result: Vec<Piece> = Vec::new();
    let mut rest = pieces;
    while !rest.is_empty() {
        let mut text = leading_text(rest);
        rest = rest.get(text.chars().count()..).unwrap_or_default();
        for _ in 0..MAX_DECODINGS {
            let Some(next) = percent_decoded(&text) else { break };
            text = next;
        }
        result.extend(letters(&text));
        if let Some((wild, behind)) = rest.split_first() {
            result.push(wild.clone());
            rest = behind;
        }
    }
    result
}

/// The glob with slashes for backslashes that mean themselves.
fn slashed(pieces: &[Piece]) -> Vec<Piece> {
    let slash = |piece: &Piece| if *piece == Piece::Letter('\\') { Piece::Letter('/') } else { piece.clone() };
    pieces.iter().map(slash).collect()
}

#[cfg(test)]
#[path = "glob_spellings_tests.rs"]
mod tests;
