//! Owns which frameworks visit: the packages of each with their exact versions, and the script that drives it.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::install::{Pin, npm, python};

/// What all scripts in Python share.
const STEPS: &str = include_str!("../../interop/frameworks/steps.py");

/// One framework.
#[derive(Debug)]
pub(crate) struct Framework {
    pub(crate) name: &'static str,
    language: Language,
    pins: &'static [Pin],
    script: &'static str,
    /// What it cannot do by itself, or needs help with.
    pub(crate) remark: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Python,
    JavaScript,
}

/// Small and often used ones first: CI takes three of them.
pub(crate) const FRAMEWORKS: &[Framework] = &[
    Framework {
        name: "langchain",
        language: Language::Python,
        pins: &[("langchain-mcp-adapters", "0.3.2"), ("mcp", "1.30.0")],
        script: include_str!("../../interop/frameworks/langchain.py"),
        remark: "",
    },
    Framework {
        name: "openai-agents",
        language: Language::Python,
        pins: &[("openai-agents", "0.24.0"), ("mcp", "2.3.0")],
        script: include_str!("../../interop/frameworks/openai_agents.py"),
        remark: "does not hear progress",
    },
    Framework {
        name: "ai-sdk",
        language: Language::JavaScript,
        pins: &[("ai", "7.0.170"), ("@ai-sdk/mcp", "2.0.97")],
        script: include_str!("../../interop/frameworks/ai_sdk.mjs"),
        remark: "does not hear progress",
    },
    Framework {
        name: "pydantic-ai",
        language: Language::Python,
        pins: &[("pydantic-ai-slim[mcp]", "2.66.0"), ("mcp", "2.3.0")],
        script: include_str!("../../interop/frameworks/pydantic.py"),
        remark: "",
    },
    Framework {
        name: "mcp-use",
        language: Language::Python,
        pins: &[("mcp-use", "1.7.1"), ("mcp", "1.30.0")],
        script: include_str!("../../interop/frameworks/mcp_use.py"),
        remark: "does not hear progress",
    },
    Framework {
        name: "llama-index",
        language: Language::Python,
        pins: &[("llama-index-tools-mcp", "0.6.0"), ("mcp", "2.3.0")],
        script: include_str!("../../interop/frameworks/llama_index.py"),
        remark: "a session for each call",
    },
    Framework {
        name: "adk",
        language: Language::Python,
        pins: &[("google-adk[mcp]", "2.13.0"), ("mcp", "2.3.0")],
        script: include_str!("../../interop/frameworks/adk.py"),
        remark: "",
    },
];

impl Framework {
    /// The version of the framework itself.
    pub(crate) fn version(&self) -> &'static str {
        let wanted = if self.language == Language::JavaScript { 1 } else { 0 };
        self.pins.get(wanted).map_or("", |(_, version)| *version)
    }

    /// Installs it into a folder of its own below `directory`; gives the command that takes a plan.
    pub(crate) fn install(&self, directory: &Path) -> Result<Vec<PathBuf>> {
        let home = directory.join("frameworks").join(self.name);
        match self.language {
            Language::Python => {
                let interpreter = python(&home, self.pins)?.join("python");
                fs_err::write(home.join("steps.py"), STEPS)?;
                let script = home.join("visit.py");
                fs_err::write(&script, self.script)?;
                Ok(vec![interpreter, script])
            }
            Language::JavaScript => {
                npm(&home, self.pins)?;
                let script = home.join("visit.mjs");
                fs_err::write(&script, self.script)?;
                Ok(vec![PathBuf::from("node"), script])
            }
        }
    }
}
