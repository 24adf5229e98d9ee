//! How one identity is written in each spelling, before clashes within a catalog are resolved.
//!
//! | spelling | form | escapes |
//! |---|---|---|
//! | `Slash` | `server/tool` | `%`, `/` and `:` of the server become `%25`, `%2F`, `%3A`; the tool stays as it is |
//! | `Colon` | `server:tool` | the same |
//! | `Provider` | `mcp__server__tool` | every character outside `[A-Za-z0-9_-]` becomes `_` |
//! | `Code` | `device.ServerMCP.tool` | server in PascalCase; a tool that is not an identifier is escaped, see [`code_identifier`] |
//!
//! A server of a hub has its place in front: `place/server/tool`, `place/server:tool`, `mcp__place__server__tool`,
//! `devices.place.ServerMCP.tool`. `device` never means one of a hub.
//!
//! No spelling of one kind can be mistaken for a spelling of another: the first `/` or `:` of a text tells `Slash`
//! from `Colon`, and neither `Provider` nor `Code` ever contains one.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::{PlaceName, QualifiedName, ServerName, ToolName};

/// The four ways a tool's name is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Spelling {
    /// `server/tool`: helve's own and that of prompt tags. Needs no table to read back.
    Slash,
    /// `server:tool`: the broker's.
    Colon,
    /// `mcp__server__tool`: what model providers accept.
    Provider,
    /// `device.ServerMCP.tool`: code mode's.
    Code,
}

impl Spelling {
    /// Every spelling.
    pub const ALL: [Self; 4] = [Self::Slash, Self::Colon, Self::Provider, Self::Code];

    /// This spelling of one identity, as it is when nothing else in the catalog clashes with it.
    ///
    /// `Slash` and `Colon` are injective as they stand; for the other two ask the catalog's [`super::NameTable`].
    #[must_use]
    pub fn render(self, name: &QualifiedName) -> String {
        let (server, tool) = (self.render_server(&name.server), self.render_tool(&name.tool));
        match self {
            Self::Slash => format!("{server}/{tool}"),
            Self::Colon => format!("{server}:{tool}"),
            Self::Provider => format!("{PROVIDER_PREFIX}{server}__{tool}"),
            Self::Code => format!("{}{server}.{tool}", code_prefix(&name.server)),
        }
    }

    /// The part of this spelling that stands for the server, with its place: `BraveSearchMCP` in code, `hub.GithubMCP` for
    /// one of a hub.
    #[must_use]
    pub fn render_server(self, server: &ServerName) -> String {
        let name = server.without_place();
        match (self, server.place()) {
            (Self::Slash | Self::Colon, _) => escaped(server).into_owned(),
            (Self::Provider, None) => provider_part(name),
            (Self::Provider, Some(place)) => format!("{place}__{}", provider_part(name)),
            (Self::Code, None) => format!("{}MCP", pascal_case(name)),
            (Self::Code, Some(place)) => format!("{place}.{}MCP", pascal_case(name)),
        }
    }

    /// The part of this spelling that stands for the tool.
    #[must_use]
    pub fn render_tool(self, tool: &ToolName) -> String {
        match self {
            Self::Slash | Self::Colon => tool.as_str().to_owned(),
            Self::Provider => provider_part(tool.as_str()),
            Self::Code => code_identifier(tool.as_str()),
        }
    }
}

/// What every `Provider` spelling begins with.
pub const PROVIDER_PREFIX: &str = "mcp__";

/// What every `Code` spelling of a local server's tool begins with.
pub const CODE_PREFIX: &str = "device.";

/// What every `Code` spelling of a tool in a place begins with.
pub const PLACED_CODE_PREFIX: &str = "devices.";

/// True when a text begins as the names in code do, local or not.
#[must_use]
pub fn is_code_spelling(text: &str) -> bool {
    text.starts_with(CODE_PREFIX) || text.starts_with(PLACED_CODE_PREFIX)
}

fn code_prefix(server: &ServerName) -> &'static str {
    if server.place().is_some() { PLACED_CODE_PREFIX } else { CODE_PREFIX }
}

/// True when a text, in whatever spelling, begins as the names of this server's tools do.
#[must_use]
pub fn begins_with_server(text: &str, server: &ServerName) -> bool {
    let spellings = [
        ("", Spelling::Slash.render_server(server), "/"),
        ("", Spelling::Colon.render_server(server), ":"),
        (PROVIDER_PREFIX, Spelling::Provider.render_server(server), "__"),
        (PROVIDER_PREFIX, function_server(server), "__"),
        (code_prefix(server), Spelling::Code.render_server(server), "."),
    ];
    spellings.into_iter().any(|(prefix, server, separator)| {
        let rest = text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix(&server));
        rest.is_some_and(|rest| rest.starts_with(separator))
    })
}

/// The name of a tool's function in Python and TypeScript: as model providers have it, but with what is not allowed in an
/// identifier escaped as in code.
#[must_use]
pub fn function_name(name: &QualifiedName) -> String {
    let (server, tool) = (function_server(&name.server), code_identifier(name.tool.as_str()));
    format!("{PROVIDER_PREFIX}{server}__{tool}")
}

fn function_server(server: &ServerName) -> String {
    let name = code_identifier(server.without_place());
    server.place().map_or_else(|| name.clone(), |place| format!("{place}__{name}"))
}

/// Reads the `server/tool` spelling back without a table.
#[must_use]
pub fn parse_slash(text: &str) -> Option<QualifiedName> {
    let (server, tool) = text.split_once('/')?;
    if server.contains(':') {
        return None;
    }
    Some(QualifiedName::new(ServerName::new(unescape_server(server)?).ok()?, ToolName::new(tool)))
}

/// Reads `place/server/tool` and `place/server:tool` back. What has no word of a place in front is none of a hub; whether
/// there is such a place, and not a local server of its name, is the catalog's to say.
#[must_use]
pub fn parse_placed(text: &str) -> Option<QualifiedName> {
    let (place, rest) = text.split_once('/')?;
    let place = PlaceName::new(place).ok()?;
    let border = rest.find(['/', ':'])?;
    let (server, tool) = (rest.get(..border)?, rest.get(border + 1..)?);
    Some(QualifiedName::new(ServerName::placed(&place, unescape_server(server)?).ok()?, ToolName::new(tool)))
}

/// Reads `server/tool` and `place/server/tool` back, for somebody who knows which words are places.
#[must_use]
pub fn parse_written(text: &str, is_place: impl Fn(&str) -> bool) -> Option<QualifiedName> {
    match text.split_once('/') {
        Some((place, _)) if is_place(place) => parse_placed(text),
        _ => parse_slash(text),
    }
}

/// A server's name as it stands before the tool's.
pub(super) fn escaped(server: &ServerName) -> Cow<'_, str> {
    match (server.place(), escape_server(server.without_place())) {
        (None, name) => name,
        (Some(_), Cow::Borrowed(_)) => Cow::Borrowed(server.as_str()),
        (Some(place), Cow::Owned(name)) => Cow::Owned(format!("{place}/{name}")),
    }
}

fn escape_server(server: &str) -> Cow<'_, str> {
    if !server.bytes().any(|byte| matches!(byte, b'%' | b'/' | b':')) {
        return Cow::Borrowed(server);
    }
    let mut escaped = String::with_capacity(server.len());
    for character in server.chars() {
        match character {
            '%' => escaped.push_str("%25"),
            '/' => escaped.push_str("%2F"),
            ':' => escaped.push_str("%3A"),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

fn unescape_server(escaped: &str) -> Option<String> {
    let mut pieces = escaped.split('%');
    let mut server = String::from(pieces.next()?);
    for piece in pieces {
        let (character, rest) = match piece.split_at_checked(2)? {
            ("25", rest) => ('%', rest),
            ("2F", rest) => ('/', rest),
            ("3A", rest) => (':', rest),
            _ => return None,
        };
        server.push(character);
        server.push_str(rest);
    }
    Some(server)
}

/// What model providers accept in a name: letters, digits, `_` and `-`.
pub(super) fn provider_part(text: &str) -> String {
    text.chars()
        .map(
            |character| {
                if character.is_ascii_alphanumeric() || matches!(character, '_' | '-') { character } else { '_' }
            },
        )
        .collect()
}

/// `brave-search` → `BraveSearch`; empty when the name has no ASCII letter or digit.
fn pascal_case(server: &str) -> String {
    let mut pascal = String::with_capacity(server.len());
    for word in server.split(|character: char| !character.is_ascii_alphanumeric()) {
        let mut characters = word.chars();
        if let Some(first) = characters.next() {
            pascal.push(first.to_ascii_uppercase());
            pascal.push_str(characters.as_str());
        }
    }
    if pascal.starts_with(|character: char| character.is_ascii_digit()) {
        pascal.insert(0, '_');
    }
    pascal
}

/// A tool's name as an identifier that Python and TypeScript accept.
///
/// A plain identifier that is not a keyword stays as it is. Anything else is escaped: every character but ASCII letters
/// and digits, and a leading digit or the first letter of a keyword, becomes `_u` + hexadecimal code point + `_`;
/// the empty name becomes `_u_`. So `get-time` is `get_u2d_time`, and `class` is `_u63_lass`.
/// A plain identifier that already looks escaped is escaped as well, hence the form can be read back.
fn code_identifier(tool: &str) -> String {
    let keyword = CODE_KEYWORDS.contains(&tool);
    if !keyword && is_identifier(tool) && !looks_escaped(tool) {
        return tool.to_owned();
    }
    if tool.is_empty() {
        return "_u_".to_owned();
    }
    let mut escaped = String::with_capacity(tool.len() + 8);
    for (position, character) in tool.chars().enumerate() {
        let plain =
            if position == 0 { character.is_ascii_alphabetic() && !keyword } else { character.is_ascii_alphanumeric() };
        if plain {
            escaped.push(character);
        } else {
            // Writing into a String cannot fail.
            let _: std::fmt::Result = write!(escaped, "_u{:x}_", u32::from(character));
        }
    }
    escaped
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|character: char| character.is_ascii_alphabetic() || character == '_')
        && text.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
}

/// True when the text contains `_u`, any hexadecimal digits, `_`.
fn looks_escaped(text: &str) -> bool {
    text.match_indices("_u").any(|(position, _)| {
        let rest = text.get(position + 2..).unwrap_or_default();
        rest.trim_start_matches(|character: char| character.is_ascii_hexdigit()).starts_with('_')
    })
}

/// Words that cannot follow a dot in Python, in every version still in use.
pub(super) const CODE_KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];
