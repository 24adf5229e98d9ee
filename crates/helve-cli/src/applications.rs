//! The applications that `helve connect` knows: which file each reads, which command of its own changes that file, and what the person has to
//! do before it counts.

use helve_config::{FilePlace, discover};
use helve_model::Layer;
use serde_json::json;

use crate::context::Context;

/// One application.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Application {
    /// Its name, as the setting `import` has it.
    pub(crate) name: &'static str,
    /// What people call it.
    pub(crate) title: &'static str,
    /// Its own command line, where it has one for this.
    own: Option<OwnCommand>,
    /// What has to happen before it reads its file again.
    pub(crate) next: &'static str,
}

/// A command line by which an application changes its configuration itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnCommand {
    Claude,
    Codex,
    Code,
}

/// What an application is to start, or to reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A program and its arguments.
    Program(Vec<String>),
    /// An address.
    Address(String),
}

pub(crate) const ALL: &[Application] = &[
    Application {
        name: "claude-code",
        title: "Claude Code",
        own: Some(OwnCommand::Claude),
        next: "start Claude Code again, or type /mcp in a running one and reconnect",
    },
    Application {
        name: "claude-desktop",
        title: "Claude Desktop",
        own: None,
        next: "quit Claude Desktop, from its menu, and open it again",
    },
    Application { name: "cursor", title: "Cursor", own: None, next: "switch helve on in Cursor's settings, under MCP" },
    Application {
        name: "vscode",
        title: "VS Code",
        own: Some(OwnCommand::Code),
        next: "start the server in VS Code: \"MCP: List Servers\"",
    },
    Application { name: "codex", title: "Codex", own: Some(OwnCommand::Codex), next: "start Codex again" },
    Application { name: "gemini", title: "Gemini CLI", own: None, next: "start Gemini CLI again" },
    Application { name: "zed", title: "Zed", own: None, next: "Zed starts it by itself, once the file is saved" },
    Application {
        name: "windsurf",
        title: "Windsurf",
        own: None,
        next: "press refresh in Windsurf's list of MCP servers",
    },
    Application { name: "opencode", title: "opencode", own: None, next: "start opencode again" },
    Application { name: "goose", title: "goose", own: None, next: "start goose again" },
    Application { name: "cline", title: "Cline", own: None, next: "Cline starts it by itself" },
    Application { name: "copilot", title: "Copilot CLI", own: None, next: "start Copilot CLI again" },
    Application { name: "kiro", title: "Kiro", own: None, next: "Kiro starts it by itself, once the file is saved" },
];

impl Application {
    /// The application of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        ALL.iter().copied().find(|application| application.name == name)
    }

    /// The file it reads in this layer, whether it exists or not.
    pub(crate) fn file(self, context: &Context, layer: Layer) -> Option<FilePlace> {
        discover::file_of_application(context.environment(), self.name, layer)
    }

    /// The command line of its own that adds an entry, where the application is installed and can do so.
    pub(crate) fn add(self, context: &Context, layer: Layer, name: &str, entry: &Entry) -> Option<Vec<String>> {
        let words = match (self.own?, entry) {
            (OwnCommand::Claude, entry) => {
                let scope = if layer == Layer::Project { "project" } else { "user" };
                owned(["claude", "mcp", "add-json", "--scope", scope, name, &entry.as_json(None)])
            }
            (OwnCommand::Codex, Entry::Program(line)) if layer == Layer::User => {
                let mut words = owned(["codex", "mcp", "add", name, "--"]);
                words.extend(line.iter().cloned());
                words
            }
            (OwnCommand::Code, entry) if layer == Layer::User => {
                owned(["code", "--add-mcp", &entry.as_json(Some(name))])
            }
            _ => return None,
        };
        is_installed(context, &words).then_some(words)
    }

    /// The same for one that writes an entry back that was there once, given as JSON.
    pub(crate) fn put_back(self, context: &Context, layer: Layer, name: &str, entry: &str) -> Option<Vec<String>> {
        match self.own? {
            OwnCommand::Claude => {
                let scope = if layer == Layer::Project { "project" } else { "user" };
                let words = owned(["claude", "mcp", "add-json", "--scope", scope, name, entry]);
                is_installed(context, &words).then_some(words)
            }
            OwnCommand::Codex | OwnCommand::Code => None,
        }
    }

    /// The same for one that takes an entry away.
    pub(crate) fn remove(self, context: &Context, layer: Layer, name: &str) -> Option<Vec<String>> {
        let words = match self.own? {
            OwnCommand::Claude => {
                let scope = if layer == Layer::Project { "project" } else { "user" };
                owned(["claude", "mcp", "remove", "--scope", scope, name])
            }
            OwnCommand::Codex if layer == Layer::User => owned(["codex", "mcp", "remove", name]),
            OwnCommand::Codex | OwnCommand::Code => return None,
        };
        is_installed(context, &words).then_some(words)
    }
}

impl Entry {
    /// Its words, to know it again by.
    pub(crate) fn words(&self) -> Vec<String> {
        match self {
            Self::Program(words) => words.clone(),
            Self::Address(address) => vec![address.clone()],
        }
    }

    fn as_json(&self, name: Option<&str>) -> String {
        let mut entry = match self {
            Self::Program(words) => {
                let (command, arguments) = words.split_first().map_or(("", &[][..]), |(command, rest)| (command, rest));
                json!({"type": "stdio", "command": command, "args": arguments})
            }
            Self::Address(address) => json!({"type": "http", "url": address}),
        };
        if let Some(name) = name {
            entry["name"] = json!(name);
        }
        entry.to_string()
    }
}

fn is_installed(context: &Context, words: &[String]) -> bool {
    words.first().is_some_and(|program| context.env.find_program(program).is_some())
}

fn owned<const COUNT: usize>(words: [&str; COUNT]) -> Vec<String> {
    words.map(str::to_owned).into()
}
