//! Which dialects there are, how each is recognised, and the table that says what its keys mean.
//!
//! One file per dialect; what they share is [`Shape`].

mod claude_code;
mod claude_desktop;
mod claude_loop;
mod claude_settings;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod goose;
pub(crate) mod helve;
mod kiro;
mod loom;
mod mcp_json;
mod mcporter;
mod opencode;
mod strawberry;
mod vscode;
mod windsurf;
mod zed;

use std::fmt;
use std::path::Path;

use helve_model::{HttpFlavour, ServerKey};

use crate::discover;
use crate::document::{Format, Node};
use crate::field::{Field, Known, Unit};
use crate::interpolate::Syntax;
use crate::reader::FileReader;

/// How an application writes its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Dialect {
    /// helve's own `helve.toml`.
    Helve,
    /// `.mcp.json` and its many relatives.
    McpJson,
    /// claude-loop's `mcp-config.json`.
    ClaudeLoop,
    /// loom's `mcp-config.toml`.
    Loom,
    /// strawberry's `settings.yaml`.
    Strawberry,
    /// Claude Code's `~/.claude.json`.
    ClaudeCode,
    /// Claude Code's `.claude/settings.json`: rules and switches, no servers.
    ClaudeSettings,
    /// Claude Desktop.
    ClaudeDesktop,
    /// VS Code.
    VsCode,
    /// Cursor.
    Cursor,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// Zed.
    Zed,
    /// goose.
    Goose,
    /// Windsurf.
    Windsurf,
    /// Cline.
    Cline,
    /// Copilot CLI.
    Copilot,
    /// Kiro.
    Kiro,
    /// mcporter.
    Mcporter,
}

/// How a dialect spells a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySpelling {
    /// The key.
    pub key: &'static str,
    /// What its number counts, where it is one.
    pub unit: Option<&'static str>,
}

/// What a dialect looks like.
pub(crate) struct Shape {
    /// What `--dialect` calls it.
    pub(crate) name: &'static str,
    /// What people call it.
    pub(crate) title: &'static str,
    pub(crate) format: Format,
    pub(crate) syntax: &'static Syntax,
    /// Where the servers are; the first that exists counts, and new servers go to the first.
    pub(crate) roots: &'static [&'static [&'static str]],
    /// Servers are a list of tables with a name each, instead of a table by name.
    pub(crate) list: bool,
    /// The file is about servers alone, so another application's root key in it is a mistake to mention.
    pub(crate) only_servers: bool,
    /// Every key is known, so an unknown one is a mistake.
    pub(crate) closed: bool,
    /// The keys of a server; of several with one meaning, the first is written.
    pub(crate) keys: &'static [Known],
    /// What an address without a type speaks.
    pub(crate) bare_url: HttpFlavour,
    /// What `type: http` speaks.
    pub(crate) http: HttpFlavour,
    /// What `type` is called for a program, Streamable HTTP and HTTP+SSE when a server is written; empty: left out.
    pub(crate) written_types: [&'static str; 3],
    pub(crate) read: fn(&mut FileReader<'_>, &Node),
}

impl Dialect {
    /// Every dialect.
    pub const ALL: &[Self] = &[
        Self::Helve,
        Self::McpJson,
        Self::ClaudeLoop,
        Self::Loom,
        Self::Strawberry,
        Self::ClaudeCode,
        Self::ClaudeSettings,
        Self::ClaudeDesktop,
        Self::VsCode,
        Self::Cursor,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
        Self::Zed,
        Self::Goose,
        Self::Windsurf,
        Self::Cline,
        Self::Copilot,
        Self::Kiro,
        Self::Mcporter,
    ];

    /// True for files that hold rules. Rules that cannot be read are not taken for none, so nothing is started while such a
    /// file is there and cannot be understood.
    #[must_use]
    pub const fn holds_rules(self) -> bool {
        matches!(self, Self::Helve | Self::ClaudeSettings)
    }

    pub(crate) const fn shape(self) -> &'static Shape {
        match self {
            Self::Helve => &helve::SHAPE,
            Self::McpJson => &mcp_json::SHAPE,
            Self::ClaudeLoop => &claude_loop::SHAPE,
            Self::Loom => &loom::SHAPE,
            Self::Strawberry => &strawberry::SHAPE,
            Self::ClaudeCode => &claude_code::SHAPE,
            Self::ClaudeSettings => &claude_settings::SHAPE,
            Self::ClaudeDesktop => &claude_desktop::SHAPE,
            Self::VsCode => &vscode::SHAPE,
            Self::Cursor => &cursor::SHAPE,
            Self::Codex => &codex::SHAPE,
            Self::Gemini => &gemini::SHAPE,
            Self::Opencode => &opencode::SHAPE,
            Self::Zed => &zed::SHAPE,
            Self::Goose => &goose::SHAPE,
            Self::Windsurf => &windsurf::SHAPE,
            Self::Cline => &cline::SHAPE,
            Self::Copilot => &copilot::SHAPE,
            Self::Kiro => &kiro::SHAPE,
            Self::Mcporter => &mcporter::SHAPE,
        }
    }

    /// What `--dialect` calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.shape().name
    }

    /// What people call the application.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.shape().title
    }

    /// What a file of this dialect calls a key of a server's entry, all spellings of it, the usual one first; empty where it
    /// has no such key.
    pub fn spellings(self, key: ServerKey) -> impl Iterator<Item = KeySpelling> {
        self.shape().keys.iter().filter_map(move |known| {
            let unit = match (known.field, key) {
                (Field::Tools, ServerKey::Tools)
                | (Field::WriteTools, ServerKey::WriteTools)
                | (Field::DisabledTools, ServerKey::DisabledTools) => None,
                (Field::CallTimeout(unit), ServerKey::CallTimeout)
                | (Field::StartupTimeout(unit), ServerKey::StartupTimeout) => Some(unit),
                _ => return None,
            };
            let unit = unit.map(|unit| match unit {
                Unit::Seconds => "seconds",
                Unit::Milliseconds | Unit::MillisecondsFromOneSecond => "milliseconds",
            });
            Some(KeySpelling { key: known.key, unit })
        })
    }

    /// The dialect of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|dialect| dialect.name() == name)
    }

    /// The format of a file in this dialect: the one its name promises where the dialect allows several.
    pub(crate) fn format_of(self, path: &Path) -> Format {
        let shape = self.shape();
        match Format::of(path) {
            // JSON is YAML, so a YAML dialect may be written as JSON.
            Format::Json if shape.format == Format::Yaml && path.extension().is_some_and(|end| end == "json") => {
                Format::Json
            }
            // Some write `.mcp.json` content into a `.yaml`.
            Format::Yaml if shape.format == Format::Json => Format::Yaml,
            _ => shape.format,
        }
    }

    /// The dialect of a file, by its place, else by its content.
    #[must_use]
    pub fn recognise(path: &Path, root: &Node) -> Option<Self> {
        by_place(path).or_else(|| by_content(path, root))
    }
}

impl Shape {
    /// The key that is written for a meaning.
    pub(crate) fn key_of(&self, field: Field) -> Option<&'static str> {
        self.keys.iter().find(|known| known.field == field).map(|known| known.key)
    }

    pub(crate) fn field_of(&self, key: &str) -> Option<Field> {
        self.keys.iter().find(|known| known.key == key).map(|known| known.field)
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Names that say it all.
fn by_place(path: &Path) -> Option<Dialect> {
    let name = path.file_name()?.to_str()?;
    let parent = path.parent().and_then(Path::file_name).and_then(|parent| parent.to_str()).unwrap_or("");
    let grandparent = path.parent().and_then(Path::parent).and_then(Path::file_name).and_then(|name| name.to_str());
    Some(match (parent, name) {
        (_, discover::PROJECT_FILE | discover::LOCAL_FILE) => Dialect::Helve,
        (_, ".mcp.json" | "mcp_servers.json" | ".mcp_servers.json" | "server_config.json") => Dialect::McpJson,
        (".claude-loop", _) => Dialect::ClaudeLoop,
        (".copilot", "mcp-config.json") | (".github", "mcp.json") => Dialect::Copilot,
        (_, ".claude.json") => Dialect::ClaudeCode,
        (".claude", "settings.json" | "settings.local.json") => Dialect::ClaudeSettings,
        (_, "claude_desktop_config.json") => Dialect::ClaudeDesktop,
        (".vscode" | "User", "mcp.json" | "settings.json") => Dialect::VsCode,
        (_, "devcontainer.json" | ".devcontainer.json") => Dialect::VsCode,
        (".cursor", "mcp.json") => Dialect::Cursor,
        (".codex" | ".grok", "config.toml") => Dialect::Codex,
        (".gemini", "settings.json") => Dialect::Gemini,
        (_, "opencode.json" | "opencode.jsonc" | "kilo.json") => Dialect::Opencode,
        (".zed" | "zed", "settings.json") => Dialect::Zed,
        ("goose" | ".goose", "config.yaml") => Dialect::Goose,
        ("windsurf" | "windsurf-next", "mcp_config.json") => Dialect::Windsurf,
        (_, "cline_mcp_settings.json") => Dialect::Cline,
        ("settings", "mcp.json") if grandparent == Some(".kiro") => Dialect::Kiro,
        (_, "mcporter.json" | "mcporter.jsonc") => Dialect::Mcporter,
        _ if name.ends_with(".code-workspace") => Dialect::VsCode,
        _ => return None,
    })
}

/// Root keys and shapes that only one dialect has.
fn by_content(path: &Path, root: &Node) -> Option<Dialect> {
    let has = |key: &str| root.get(key).is_some();
    let is_list = |keys: &[&str]| root.at(keys).is_some_and(Node::is_array);
    match Format::of(path) {
        Format::Toml if has("mcp_servers") => Some(Dialect::Codex),
        Format::Toml if is_list(&["servers"]) => Some(Dialect::Loom),
        Format::Toml => Some(Dialect::Helve),
        _ if is_list(&["mcp", "servers"]) => Some(Dialect::Strawberry),
        _ if has("extensions") && !has("mcpServers") && !has("context_servers") => Some(Dialect::Goose),
        _ if has("projects") && has("mcpServers") => Some(Dialect::ClaudeCode),
        _ if has("mcpServers") => Some(Dialect::McpJson),
        _ if has("context_servers") => Some(Dialect::Zed),
        _ if is_list(&["servers"]) => Some(Dialect::ClaudeLoop),
        _ if has("servers") || root.at(&["mcp", "servers"]).is_some() => Some(Dialect::VsCode),
        _ if has("mcp") => Some(Dialect::Opencode),
        _ if has("mcp_servers") => Some(Dialect::McpJson),
        _ => None,
    }
}
