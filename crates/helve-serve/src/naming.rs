//! What agents see tools and prompts as: which prefix, and how two of one name are told apart.

use helve_model::name::{MAX_PROVIDER_NAME, Spelling, is_plain, unique_names};
use helve_model::{QualifiedName, ServerName};

/// How the names of several servers are put into one list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Naming {
    /// `mcp__server__tool`, for agents that put nothing in front of a name.
    Mcp,
    /// `server__tool`.
    #[default]
    Server,
    /// `text__server__tool`.
    Own(String),
    /// The tool's own name. Only where two servers have the same, it is `server__tool` for both.
    None,
}

impl Naming {
    /// The one that a word stands for: `mcp`, `server`, `none`, or a prefix of one's own.
    ///
    /// # Errors
    /// When the text has characters that model providers refuse in names.
    pub fn from_word(word: &str) -> Result<Self, String> {
        match word {
            "mcp" => Ok(Self::Mcp),
            "server" => Ok(Self::Server),
            "none" => Ok(Self::None),
            "" => Err("a prefix has at least one character; `none` is none".to_owned()),
            own if own.len() > MAX_OWN_PREFIX => Err(format!("a prefix has at most {MAX_OWN_PREFIX} characters")),
            own if own.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')) => {
                Ok(Self::Own(own.to_owned()))
            }
            _ => Err("a prefix has letters, digits, `_` and `-` only".to_owned()),
        }
    }

    /// True when a name can be that of a tool of this server; where names do not tell, of any.
    pub(crate) fn may_name(&self, name: &str, server: &ServerName) -> bool {
        let prefix = match self {
            Self::Mcp => "mcp__".to_owned(),
            Self::Server => String::new(),
            Self::Own(own) => format!("{own}__"),
            Self::None => return true,
        };
        let rest =
            name.strip_prefix(&prefix).and_then(|rest| rest.strip_prefix(&*Spelling::Provider.render_server(server)));
        rest.is_some_and(|rest| rest.starts_with("__"))
    }

    /// One name for each, none twice. The identities are sorted; what comes out depends on nothing but them.
    pub(crate) fn names(&self, identities: &[QualifiedName]) -> Vec<String> {
        let short = |name: &QualifiedName| {
            let (server, tool) =
                (Spelling::Provider.render_server(&name.server), Spelling::Provider.render_tool(&name.tool));
            format!("{server}__{tool}")
        };
        match self {
            Self::Mcp => unique_names(identities, |name| Spelling::Provider.render(name), is_plain, MAX_PROVIDER_NAME),
            Self::Server => unique_names(identities, short, is_plain, MAX_SERVED_NAME),
            Self::Own(prefix) => {
                unique_names(identities, |name| format!("{prefix}__{}", short(name)), is_plain, MAX_SERVED_NAME)
            }
            Self::None => bare(identities, short),
        }
    }
}

/// Most agents put `mcp__helve__` or the like in front of a name, and model providers take no more than 64 characters of
/// the whole.
const MAX_SERVED_NAME: usize = 50;

/// Room is left for a server, a tool and a hash.
const MAX_OWN_PREFIX: usize = 24;

/// The servers' own names, whatever they are: with one server nothing is changed at all.
fn bare(identities: &[QualifiedName], qualified: impl Fn(&QualifiedName) -> String) -> Vec<String> {
    // Whatever a hub has changes no local name.
    let sorted = |tools: &mut dyn Iterator<Item = &QualifiedName>| {
        let mut tools: Vec<String> = tools.map(|name| name.tool.to_string()).collect();
        tools.sort_unstable();
        tools
    };
    let all = sorted(&mut identities.iter());
    let local = sorted(&mut identities.iter().filter(|name| name.server.place().is_none()));
    let rivals = |name: &QualifiedName| if name.server.place().is_none() { &local } else { &all };
    let is_shared = |name: &QualifiedName| {
        let (tools, tool) = (rivals(name), name.tool.as_str());
        let from = tools.partition_point(|other| other.as_str() < tool);
        tools.get(from + 1).is_some_and(|next| next == tool)
    };
    let render = |name: &QualifiedName| {
        if !is_shared(name) {
            return name.tool.to_string();
        }
        let mut long = qualified(name);
        // Somebody may have a tool of just that name.
        while rivals(name).binary_search(&long).is_ok() {
            long.push('_');
        }
        long
    };
    unique_names(identities, render, |name| !is_shared(name), usize::MAX)
}

#[cfg(test)]
#[path = "naming_tests.rs"]
mod tests;
