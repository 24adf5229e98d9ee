//! Owns how tools are handed to a model provider and how the provider's calls come back: one array that the provider
//! accepts whole, and for each call the tool it means with the arguments its server expects.
//!
//! A provider refuses a request for one bad tool among hundreds, so nothing is passed on unseen: what a provider does
//! not take is rewritten, or said in words in the description. Each rule stands beside the code that keeps it, with the
//! provider's documentation or, where that is silent, its error message.

mod anthropic;
mod back;
mod common;
mod gemini;
mod inline;
mod name;
mod openai;
mod repair;
mod strict;

use std::fmt;

pub use back::{CallProblem, ResolvedCall};

use crate::schema::json::{Json, Object};
use crate::tool_text::ToolText;
use helve_model::text::{SHOWN_CHARACTERS, folded, named, quoted};

/// A model provider's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Provider {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions, and the many interfaces made in its likeness.
    OpenAiChat,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Gemini's `parameters`: a small part of OpenAPI 3.0, taken by every model and by Vertex.
    Gemini,
    /// Gemini's newer `parametersJsonSchema`.
    GeminiJsonSchema,
}

/// Whether the provider should hold the model to the schema (OpenAI's `strict`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// No: the schema stays as the server wrote it.
    #[default]
    Off,
    /// Yes, for each tool whose schema can be said in the strict subset.
    WherePossible,
}

/// An array of tools for a provider, and the way back from its calls.
#[derive(Debug, Clone)]
pub struct ToolArray {
    provider: Provider,
    json: String,
    tools: Vec<OfferedTool>,
    notices: Vec<ProviderNotice>,
}

/// A tool as it is offered.
#[derive(Debug, Clone)]
struct OfferedTool {
    /// The name the provider sees.
    name: String,
    /// Which of the entries it is.
    index: usize,
    /// Properties under other names: the provider's, then the server's.
    renamed: Vec<(String, String)>,
    /// The server's schema, if the model was made to give every property and writes `null` for those it leaves out.
    filled: Option<String>,
}

/// Something a person may want to know about an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderNotice {
    /// Which of the entries it is about.
    pub index: usize,
    /// What it is.
    pub kind: NoticeKind,
}

/// What was done to a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoticeKind {
    /// The name was not legal and is now this one.
    Renamed(String),
    /// Another entry has the same name; this one is left out.
    Duplicate,
    /// A property's name was not legal and is now another one.
    RenamedProperty {
        /// As the server has it.
        from: String,
        /// As the provider sees it.
        to: String,
    },
    /// The schema could not be used; the tool is offered as taking any object.
    SchemaReplaced(String),
    /// Part of the schema was left out, and is said in words instead.
    Described(String),
    /// The description was too long and is cut.
    DescriptionCut,
    /// The tool cannot be offered as strict, for this reason.
    NotStrict(&'static str),
    /// There are more tools than the provider takes in one request.
    TooMany {
        /// The provider's limit.
        limit: usize,
    },
}

/// Makes the array for a provider. The tools come in the order of their names, whatever the order of the entries, so
/// that a provider's prompt cache sees the same text each time.
pub fn tool_array(provider: Provider, entries: &[ToolText<'_>], strictness: Strictness) -> ToolArray {
    let mut notices = Vec::new();
    let mut offers: Vec<(OfferedTool, Json)> = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let mut tell = |kind| notices.push(ProviderNotice { index, kind });
        let name = name::legal(entry.name, provider);
        if name != entry.name {
            tell(NoticeKind::Renamed(name.clone()));
        }
        let mut work = Work { provider, strictness, notices: Vec::new(), renamed: Vec::new(), filled: None };
        let json = work.tool(&name, entry);
        work.notices.into_iter().for_each(&mut tell);
        offers.push((OfferedTool { name, index, renamed: work.renamed, filled: work.filled }, json));
    }
    // The sort is stable: of two entries with one name the first stays.
    offers.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    offers.dedup_by(|(later, _), (earlier, _)| {
        let same = later.name == earlier.name;
        if same {
            notices.push(ProviderNotice { index: later.index, kind: NoticeKind::Duplicate });
        }
        same
    });
    let (tools, array): (Vec<OfferedTool>, Vec<Json>) = offers.into_iter().unzip();
    if let Some(limit) = tool_limit(provider)
        && let Some(first) = tools.get(limit)
    {
        notices.push(ProviderNotice { index: first.index, kind: NoticeKind::TooMany { limit } });
    }
    ToolArray { provider, json: wrapped(provider, array).to_text(), tools, notices }
}

impl ToolArray {
    /// The array as JSON text: the value of `tools` in the provider's request.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// What was changed, and what the provider will still refuse.
    pub fn notices(&self) -> &[ProviderNotice] {
        &self.notices
    }

    /// The names the provider sees, with the index of the entry each stands for.
    pub fn names(&self) -> impl Iterator<Item = (&str, usize)> {
        self.tools.iter().map(|tool| (tool.name.as_str(), tool.index))
    }
}

/// One tool being made.
struct Work {
    provider: Provider,
    strictness: Strictness,
    notices: Vec<NoticeKind>,
    renamed: Vec<(String, String)>,
    filled: Option<String>,
}

impl Work {
    fn tool(&mut self, name: &str, entry: &ToolText<'_>) -> Json {
        let mut said = Said::default();
        let schema = match common::readable(entry.input_schema) {
            Ok(schema) => schema,
            Err(reason) => {
                self.notices.push(NoticeKind::SchemaReplaced(reason));
                common::any_object()
            }
        };
        match self.provider {
            Provider::Anthropic => anthropic::tool(self, name, entry, schema, &mut said),
            Provider::OpenAiChat | Provider::OpenAiResponses => openai::tool(self, name, entry, schema, &mut said),
            Provider::Gemini | Provider::GeminiJsonSchema => gemini::tool(self, name, entry, schema, &mut said),
        }
    }

    /// The description: the server's words, then what the schema cannot say any more.
    fn description(&mut self, entry: &ToolText<'_>, said: Said, limit: Option<usize>) -> Option<String> {
        let mut text = entry.description.or(entry.title).unwrap_or_default().trim().to_owned();
        for words in said.words {
            if !text.is_empty() {
                text.push(if text.ends_with(['.', '!', '?']) { ' ' } else { '\n' });
            }
            text.push_str(&words);
            self.notices.push(NoticeKind::Described(words));
        }
        if let Some(limit) = limit
            && text.chars().count() > limit
        {
            text = text.chars().take(limit.saturating_sub(1)).chain(['…']).collect();
            self.notices.push(NoticeKind::DescriptionCut);
        }
        (!text.is_empty()).then_some(text)
    }

    /// Renames the top-level properties whose names are not legal, keeping the way back.
    fn rename_properties(&mut self, schema: &mut Object, is_legal: impl Fn(&str) -> bool) {
        let Some(Json::Object(properties)) = schema.get_mut("properties") else { return };
        let taken: Vec<String> = properties.keys().cloned().collect();
        let mut renamed = Object::with_capacity(properties.len());
        for (from, mut property) in std::mem::take(properties) {
            if is_legal(&from) {
                renamed.insert(from, property);
                continue;
            }
            let to = name::legal_property(&from, &taken);
            common::say(&mut property, &format!("Called {} by the server.", named(&from)));
            self.notices.push(NoticeKind::RenamedProperty { from: from.clone(), to: to.clone() });
            self.renamed.push((to.clone(), from));
            renamed.insert(to, property);
        }
        *properties = renamed;
        if let Some(Json::Array(required)) = schema.get_mut("required") {
            for name in required {
                if let Some((to, _)) = self.renamed.iter().find(|(_, from)| name.as_str() == Some(from)) {
                    *name = Json::String(to.clone());
                }
            }
        }
    }
}

/// What a schema says that is now said in words.
#[derive(Debug, Default)]
struct Said {
    words: Vec<String>,
}

impl Said {
    fn say(&mut self, words: String) {
        if !self.words.contains(&words) {
            self.words.push(words);
        }
    }
}

/// An object from its members; those that are absent are left out.
pub(crate) fn object<const N: usize>(members: [(&str, Option<Json>); N]) -> Object {
    members.into_iter().filter_map(|(key, value)| value.map(|value| (key.to_owned(), value))).collect()
}

fn tool_limit(provider: Provider) -> Option<usize> {
    match provider {
        // "Invalid 'tools': array too long. Expected an array with maximum length 128".
        Provider::OpenAiChat | Provider::OpenAiResponses => Some(128),
        Provider::Anthropic | Provider::Gemini | Provider::GeminiJsonSchema => None,
    }
}

fn wrapped(provider: Provider, tools: Vec<Json>) -> Json {
    match provider {
        Provider::Anthropic | Provider::OpenAiChat | Provider::OpenAiResponses => Json::Array(tools),
        Provider::Gemini | Provider::GeminiJsonSchema if tools.is_empty() => Json::Array(Vec::new()),
        Provider::Gemini | Provider::GeminiJsonSchema => {
            Json::Array(vec![object([("functionDeclarations", Some(Json::Array(tools)))]).into()])
        }
    }
}

impl fmt::Display for NoticeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Renamed(name) => write!(f, "offered as {}: its own name is not legal there", named(name)),
            Self::Duplicate => f.write_str("left out: another tool has the same name"),
            Self::RenamedProperty { from, to } => write!(f, "property {} is offered as {}", named(from), named(to)),
            Self::SchemaReplaced(reason) => write!(f, "offered as taking any object: {reason}"),
            Self::Described(words) => write!(f, "said in words: {}", quoted(&folded(words, 200), 200)),
            Self::DescriptionCut => f.write_str("its description is cut to the provider's limit"),
            Self::NotStrict(reason) => write!(f, "not offered as strict: {}", folded(reason, SHOWN_CHARACTERS * 2)),
            Self::TooMany { limit } => {
                write!(f, "the provider takes {limit} tools; this one and all after it are more")
            }
        }
    }
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
