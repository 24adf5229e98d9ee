//! Which texts name the same place: the spellings of a text that restricting patterns are matched with, and those that
//! a pattern which allows must match as well.
//!
//! Nothing here looks at the machine: `..` is taken back by its letters, links are not followed. A tool that can look
//! names its places itself: [`crate::ArgumentPlace`].

use std::borrow::Cow;

use helve_model::text::is_invisible;
use icu_normalizer::ComposingNormalizerBorrowed;

use crate::place::Directories;

/// How often percent-encoding is taken off.
pub(crate) const MAX_DECODINGS: usize = 3;

/// Gives every spelling of `text` to `visit`, `text` itself first; repeats are possible.
///
/// `joins`: also what a relative path is below the directories of the server; needless while no pattern could match it. Asked
/// where there is such a path, which most texts are not.
pub(crate) fn restricting(
    text: &str,
    directories: &Directories,
    joins: impl Fn() -> bool + Copy,
    visit: &mut impl FnMut(&str),
) {
    if is_plain(text) {
        return located(text, directories, joins, visit);
    }
    visit(text);
    let mut decoded = Cow::Borrowed(text);
    for round in 0..=MAX_DECODINGS {
        if round > 0 {
            visit(&decoded);
        }
        for variant in variants(&decoded) {
            normalised(&variant, &mut |normal| located(normal, directories, joins, visit));
        }
        match percent_decoded(&decoded) {
            Some(next) if round < MAX_DECODINGS => decoded = Cow::Owned(next),
            _ => break,
        }
    }
}

/// Gives every text to `visit` that a pattern must match besides `text` so as to allow it: the same place without
/// encoding and detours, in the letters it was written in.
///
/// `None` when no pattern can vouch for it: it holds a NUL, or stays encoded however often it is decoded.
pub(crate) fn allowing(text: &str, visit: &mut impl FnMut(&str)) -> Option<HasParent> {
    let mut has_parent = HasParent(has_parent_component(text));
    if is_plain(text) {
        return Some(has_parent);
    }
    let mut decoded = Cow::Borrowed(text);
    for round in 0..=MAX_DECODINGS {
        if decoded.contains('\0') {
            return None;
        }
        has_parent.0 |= has_parent_component(&decoded);
        direct(&decoded, visit);
        if decoded.contains('\\') {
            direct(&decoded.replace('\\', "/"), visit);
        }
        match percent_decoded(&decoded) {
            None => return Some(has_parent),
            Some(next) if round < MAX_DECODINGS => decoded = Cow::Owned(next),
            Some(_) => break,
        }
    }
    None
}

/// Whether some decoding of a text has a `..` component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HasParent(pub(crate) bool);

/// True when `..` stands as a whole component of the path that `text` may be.
pub(crate) fn has_parent_component(text: &str) -> bool {
    text.contains("..") && text.split(['/', '\\']).any(|component| component == "..")
}

/// A path without `.`, `//` and a slash at its end, and without `..` where a name stands before it.
pub(crate) fn without_detours(path: &str) -> Cow<'_, str> {
    let is_direct = |path: &str| {
        let inner = path.strip_prefix('/').unwrap_or(path);
        path == "/" || inner.split('/').all(|component| !matches!(component, "" | "." | ".."))
    };
    if is_direct(path) {
        return Cow::Borrowed(path);
    }
    let is_absolute = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for component in path.split('/') {
        match component {
            "" | "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => drop(kept.pop()),
            ".." if is_absolute => {}
            name => kept.push(name),
        }
    }
    let joined = kept.join("/");
    Cow::Owned(match (is_absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    })
}

/// A text in lower case and composed, without control and invisible characters: file systems disagree about all of them.
pub(crate) fn folded(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (b' '..0x7f).contains(&byte) && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(text);
    }
    if text.is_ascii() {
        return Cow::Owned(text.chars().filter(|c| !c.is_control()).map(|c| c.to_ascii_lowercase()).collect());
    }
    let lower: String = text.chars().filter(|c| !is_invisible(*c)).flat_map(char::to_lowercase).collect();
    Cow::Owned(ComposingNormalizerBorrowed::new_nfc().normalize(&lower).into_owned())
}

/// The text with percent-encoding taken off once; `None` when there is none.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let escape = |at: usize| {
        let [b'%', high, low] = bytes.get(at..at + 3)? else { return None };
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        u8::try_from(digit(high)? * 16 + digit(low)?).ok()
    };
    if !text.contains('%') || (0..bytes.len()).all(|at| escape(at).is_none()) {
        return None;
    }
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match escape(at) {
            Some(escaped) => {
                decoded.push(escaped);
                at += 3;
            }
            None => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    shorten_overlong(&mut decoded);
    Some(String::from_utf8_lossy(&decoded).into_owned())
}

/// `C0 AE` and `E0 80 AE` are dots to decoders that do not look closely; the same for every other ASCII character.
fn shorten_overlong(bytes: &mut Vec<u8>) {
    let mut at = 0;
    while at < bytes.len() {
        match bytes.get(at..) {
            Some([lead @ (0xc0 | 0xc1), low @ 0x80..=0xbf, ..]) => {
                let short = (lead & 1) << 6 | (low & 0x3f);
                bytes.splice(at..at + 2, [short]);
            }
            Some([0xe0, middle @ (0x80 | 0x81), low @ 0x80..=0xbf, ..]) => {
                let short = (middle & 1) << 6 | (low & 0x3f);
                bytes.splice(at..at + 3, [short]);
            }
            _ => {}
        }
        at += 1;
    }
}

/// True when the text is its only spelling, but for where its server stands.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return true };
    if matches!(first, b'.' | b'~' | b' ') || matches!(last, b'/' | b' ') {
        return false;
    }
    // Without a way out before the end, which lets many bytes be looked at together.
    let is_ambiguous = |byte: &u8| !matches!(byte, b' '..=b'~') || matches!(byte, b'A'..=b'Z' | b'%' | b'\\' | b':');
    let has_ambiguous = bytes.iter().fold(false, |any, byte| any | is_ambiguous(byte));
    let behind = bytes.get(1..).unwrap_or_default();
    let is_detour = |(slash, next): (&u8, &u8)| *slash == b'/' && matches!(next, b'/' | b'.');
    let has_detour = bytes.iter().zip(behind).fold(false, |any, pair| any | is_detour(pair));
    !has_ambiguous && !has_detour
}

/// What different readers may take a text for: as it is, with slashes for backslashes, and up to a NUL.
fn variants(text: &str) -> Vec<Cow<'_, str>> {
    let trimmed = text.trim();
    let mut variants = vec![Cow::Borrowed(trimmed)];
    if trimmed.contains('\\') {
        variants.push(Cow::Owned(trimmed.replace('\\', "/")));
    }
    if let Some(end) = trimmed.find('\0') {
        let cut: Vec<_> =
            variants.iter().map(|variant| Cow::Owned(variant.get(..end).unwrap_or(variant).to_owned())).collect();
        variants.extend(cut);
    }
    variants
}

/// The normal forms of a text without encoding, each given to `visit` in lower case.
fn normalised(text: &str, visit: &mut impl FnMut(&str)) {
    // Browsers read an address without the line breaks and tabs in it.
    let text = folded(text);
    match scheme(&text) {
        Some(("file", rest)) => file_paths(rest, &mut |path| visit(&without_detours(path))),
        Some((scheme, rest)) if rest.starts_with("//") => addresses(scheme, rest, visit),
        _ => {
            visit(&without_detours(&text));
            // What `..` takes back behind `~` depends on where that is.
            if text.starts_with('~') {
                visit(&text);
            }
        }
    }
}

/// The scheme of a URI and what follows its colon.
pub(crate) fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    is_scheme.then_some((scheme, rest))
}

/// The paths that different readers find behind `file:`: with and without what may be a host, a query or a fragment.
pub(crate) fn file_paths(rest: &str, visit: &mut impl FnMut(&str)) {
    let without_query = rest.find(['?', '#']).and_then(|end| rest.get(..end));
    for rest in [Some(rest), without_query].into_iter().flatten() {
        match rest.strip_prefix("//") {
            None => visit(rest),
            Some(authority) if authority.starts_with('/') => visit(authority),
            Some(authority) => {
                let path = authority.find('/').and_then(|end| authority.get(end..)).unwrap_or("/");
                visit(path);
                if !authority.starts_with("localhost/") {
                    visit(authority);
                }
            }
        }
    }
}

/// The forms of an address with a host: without user, default port and fragment, with and without a query.
fn addresses(scheme: &str, rest: &str, visit: &mut impl FnMut(&str)) {
    let rest = rest.trim_start_matches('/');
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = plain_host(scheme, authority);
    let path = path.split('#').next().unwrap_or_default();
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let direct = without_detours(path);
    let direct = if direct == "/" || path.is_empty() { "" } else { &direct };
    visit(&format!("{scheme}://{host}{direct}"));
    if !query.is_empty() {
        visit(&format!("{scheme}://{host}{direct}{query}"));
    }
}

/// The host of an authority, with its port unless that is the scheme's own.
pub(crate) fn plain_host(scheme: &str, authority: &str) -> String {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let default = match scheme {
        "http" | "ws" => ":80",
        "https" | "wss" => ":443",
        "ftp" => ":21",
        _ => ":",
    };
    let host = host.strip_suffix(default).or_else(|| host.strip_suffix(':')).unwrap_or(host);
    match host.split_once(':') {
        Some((name, port)) if name.ends_with('.') => format!("{}:{port}", name.trim_end_matches('.')),
        Some(_) => host.to_owned(),
        None => host.trim_end_matches('.').to_owned(),
    }
}

/// The text without detours, and an address besides without a user before its host.
fn direct(text: &str, visit: &mut impl FnMut(&str)) {
    let Some((scheme, rest)) = scheme(text).and_then(|(scheme, rest)| Some((scheme, rest.strip_prefix("//")?))) else {
        return visit(&without_detours(text));
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (path, query) = path.split_at(path.find(['?', '#']).unwrap_or(path.len()));
    let mut straight = without_detours(path);
    // Behind a host a slash at the end means something.
    if path.ends_with('/') && straight != "/" {
        straight = Cow::Owned(format!("{straight}/"));
    }
    let straight = if path.is_empty() { "" } else { &straight };
    visit(&format!("{scheme}://{authority}{straight}{query}"));
    if let Some((_, host)) = authority.rsplit_once('@') {
        visit(&format!("{scheme}://{host}{straight}{query}"));
    }
}

/// A path in its normal form, and the same as seen from the directories of the server.
fn located(path: &str, directories: &Directories, joins: impl Fn() -> bool, visit: &mut impl FnMut(&str)) {
    visit(path);
    if directories.is_empty() {
        return;
    }
    if let Some(rest) = path.strip_prefix('~') {
        if let (Some(home), true) = (directories.home(), rest.is_empty() || rest.starts_with('/')) {
            absolute(&without_detours(&format!("{home}{rest}")), directories, visit);
        }
    } else if path.starts_with('/') {
        match behind_magic_link(path) {
            Some(("root", rest)) => absolute(if rest.is_empty() { "/" } else { rest }, directories, visit),
            Some((_, rest)) => directories
                .iter()
                .for_each(|directory| absolute(&without_detours(&format!("{directory}{rest}")), directories, visit)),
            None => below(path, directories, visit),
        }
    } else if path.starts_with("..") || joins() {
        for directory in directories.iter() {
            absolute(&without_detours(&format!("{directory}/{path}")), directories, visit);
        }
    }
}

fn absolute(path: &str, directories: &Directories, visit: &mut impl FnMut(&str)) {
    visit(path);
    below(path, directories, visit);
}

/// What an absolute path is below each directory that it is in.
fn below(path: &str, directories: &Directories, visit: &mut impl FnMut(&str)) {
    let relative = |directory: &str| match path.strip_prefix(directory)? {
        "" | "/" => Some("."),
        // What is below the root has no slash of its own behind it.
        rest if directory == "/" => Some(rest),
        rest => rest.strip_prefix('/'),
    };
    directories.iter().filter_map(relative).for_each(&mut *visit);
    match directories.home().and_then(relative) {
        Some(".") => visit("~"),
        Some(rest) => visit(&format!("~/{rest}")),
        None => {}
    }
}

/// `/proc/self/cwd` and `/proc/self/root` lead to where the server is; what follows them.
fn behind_magic_link(path: &str) -> Option<(&str, &str)> {
    let (process, rest) = path.strip_prefix("/proc/")?.split_once('/')?;
    if !matches!(process, "self" | "thread-self") && !process.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (link, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    matches!(link, "cwd" | "root").then_some((link, rest))
}

#[cfg(test)]
#[path = "place_spellings_tests.rs"]
mod tests;
