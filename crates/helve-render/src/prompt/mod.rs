//! Owns how a server's prompt becomes messages for a model provider: who speaks, what each provider carries, and what is
//! said in words because it does not carry it.
//!
//! A provider refuses a request for one bad block, so nothing is passed on unseen. A prompt is its server's text: it
//! never speaks as the system, whatever role it claims.

mod media;

use std::fmt;

use helve_model::{ContentBlock, ContentBody, PromptMessage, ResourceBody, ResourceContents, ResourceLink};

use media::Piece;

use crate::provider::{Provider, object};
use crate::schema::json::{Json, Object};
use helve_model::text::{SHOWN_CHARACTERS, folded, quoted};

/// Characters of a URI or a description that stand in a text for a model.
const WORDS_CHARACTERS: usize = 1_000;

/// The messages of a prompt for a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderMessages {
    json: String,
    notices: Vec<PromptNotice>,
}

/// Something a person may want to know about the messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptNotice {
    /// Which of the prompt's messages it is about.
    pub message: usize,
    /// What it is.
    pub kind: PromptNoticeKind,
}

/// What could not be carried as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptNoticeKind {
    /// A block is named in brackets, since the provider would refuse it.
    NotCarried {
        /// The block.
        what: String,
        /// Why.
        why: &'static str,
    },
    /// There was nothing to carry; the message is left out.
    Empty,
    /// The prompt claims a role that prompts do not have; it speaks as the user.
    UnknownRole(String),
    /// The provider wants the user to speak first, and may refuse these messages.
    StartsWithAssistant,
}

/// Makes the messages for a provider: the value of `messages` (Anthropic, Chat Completions), `input` (Responses) or
/// `contents` (Gemini).
pub fn provider_messages(provider: Provider, messages: &[PromptMessage]) -> ProviderMessages {
    let mut notices = Vec::new();
    let mut turns: Vec<Turn> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let mut tell = |kind| notices.push(PromptNotice { message: index, kind });
        let role = match message.role.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            other => {
                tell(PromptNoticeKind::UnknownRole(other.to_owned()));
                Role::User
            }
        };
        let Some(block) = block(provider, role, &message.content, &mut tell) else {
            tell(PromptNoticeKind::Empty);
            continue;
        };
        if turns.is_empty() && role == Role::Assistant && wants_user_first(provider) {
            tell(PromptNoticeKind::StartsWithAssistant);
        }
        match turns.last_mut() {
            Some(last) if last.role == role && joins_turns(provider) => last.blocks.push(block),
            _ => turns.push(Turn { role, blocks: vec![block] }),
        }
    }
    let turns = turns.into_iter().map(|turn| turn.into_json(provider)).collect();
    ProviderMessages { json: Json::Array(turns).to_text(), notices }
}

impl ProviderMessages {
    /// The messages as JSON text.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// What was left out or put into words.
    pub fn notices(&self) -> &[PromptNotice] {
        &self.notices
    }
}

impl fmt::Display for PromptNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {}: {}", self.message + 1, self.kind)
    }
}

impl fmt::Display for PromptNoticeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotCarried { what, why } => {
                write!(f, "only named, not carried: {} ({why})", folded(what, SHOWN_CHARACTERS * 2))
            }
            Self::Empty => f.write_str("left out: it is empty"),
            Self::UnknownRole(role) => {
                write!(f, "the role {} is taken as the user", quoted(role, SHOWN_CHARACTERS))
            }
            Self::StartsWithAssistant => f.write_str("the provider wants the user to speak first"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

/// What one side says before the other speaks.
struct Turn {
    role: Role,
    blocks: Vec<Block>,
}

enum Block {
    Text(String),
    /// In the provider's own form.
    Other(Json),
}

impl Turn {
    fn into_json(self, provider: Provider) -> Json {
        let role = match (self.role, provider) {
            (Role::User, _) => "user",
            (Role::Assistant, Provider::Gemini | Provider::GeminiJsonSchema) => "model",
            (Role::Assistant, _) => "assistant",
        };
        let content = match self.blocks.as_slice() {
            // Many interfaces made in its likeness take a plain text alone.
            [Block::Text(text)] if provider == Provider::OpenAiChat => Json::from(text.as_str()),
            _ => Json::Array(self.blocks.into_iter().map(|block| block.into_json(provider, self.role)).collect()),
        };
        let key = if is_gemini(provider) { "parts" } else { "content" };
        object([("role", Some(role.into())), (key, Some(content))]).into()
    }
}

impl Block {
    fn into_json(self, provider: Provider, role: Role) -> Json {
        let text = match self {
            Self::Text(text) => text,
            Self::Other(json) => return json,
        };
        let kind = match (provider, role) {
            (Provider::Gemini | Provider::GeminiJsonSchema, _) => None,
            (Provider::OpenAiResponses, Role::User) => Some("input_text"),
            // "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'."
            (Provider::OpenAiResponses, Role::Assistant) => Some("output_text"),
            (Provider::Anthropic | Provider::OpenAiChat, _) => Some("text"),
        };
        object([("type", kind.map(Json::from)), ("text", Some(text.into()))]).into()
    }
}

/// The block as the provider takes it; what it does not take is named in brackets; nothing if it is empty.
fn block(
    provider: Provider,
    role: Role,
    content: &ContentBlock,
    tell: &mut impl FnMut(PromptNoticeKind),
) -> Option<Block> {
    let piece = match &content.body {
        ContentBody::Text(text) => return full(text.clone()),
        ContentBody::Resource(ResourceContents { uri, mime_type, body: ResourceBody::Text(text), .. }) => {
            return full(embedded(uri, mime_type.as_deref(), text));
        }
        ContentBody::ResourceLink(link) => return full(link_words(link)),
        ContentBody::Image(media) | ContentBody::Audio(media) => Piece::of(&media.mime_type, &media.data, None),
        ContentBody::Resource(ResourceContents { uri, mime_type, body: ResourceBody::Blob(data), .. }) => {
            Piece::of(mime_type.as_deref().unwrap_or("application/octet-stream"), data, Some(uri))
        }
        ContentBody::Unknown { kind } => {
            let what = match kind {
                Some(kind) => format!("[content of unknown kind {}]", quoted(kind, SHOWN_CHARACTERS)),
                None => "[content of unknown kind]".to_owned(),
            };
            tell(PromptNoticeKind::NotCarried { what: what.clone(), why: "its kind is not known" });
            return Some(Block::Text(what));
        }
    };
    match piece.carried(provider, role) {
        Ok(json) => Some(Block::Other(json)),
        Err(why) => {
            let what = piece.in_brackets();
            tell(PromptNoticeKind::NotCarried { what: what.clone(), why });
            Some(Block::Text(what))
        }
    }
}

/// "messages: text content blocks must be non-empty", "must contain non-whitespace text"; the others have little use
/// for an empty text either.
fn full(text: String) -> Option<Block> {
    (!text.trim().is_empty()).then_some(Block::Text(text))
}

fn embedded(uri: &str, mime_type: Option<&str>, text: &str) -> String {
    let uri = folded(uri, WORDS_CHARACTERS);
    match mime_type {
        Some(mime_type) => format!("Resource {uri} ({}):\n{text}", folded(mime_type, SHOWN_CHARACTERS)),
        None => format!("Resource {uri}:\n{text}"),
    }
}

fn link_words(link: &ResourceLink) -> String {
    let mut words = format!("[resource {}", folded(&link.uri, WORDS_CHARACTERS));
    if let Some(name) = &link.name {
        words.push(' ');
        words.push_str(&quoted(name, SHOWN_CHARACTERS * 2));
    }
    if let Some(mime_type) = &link.mime_type {
        words.push_str(", ");
        words.push_str(&folded(mime_type, SHOWN_CHARACTERS));
    }
    if let Some(description) = &link.description {
        words.push_str(": ");
        words.push_str(&folded(description, WORDS_CHARACTERS));
    }
    words.push(']');
    words
}

fn is_gemini(provider: Provider) -> bool {
    matches!(provider, Provider::Gemini | Provider::GeminiJsonSchema)
}

/// "messages: first message must use the \"user\" role"; Gemini: "Please ensure that multiturn requests alternate
/// between user and model".
fn wants_user_first(provider: Provider) -> bool {
    provider == Provider::Anthropic || is_gemini(provider)
}

/// Anthropic joins consecutive messages of one role itself; Gemini wants the roles to alternate.
fn joins_turns(provider: Provider) -> bool {
    provider == Provider::Anthropic || is_gemini(provider)
}

/// An object of one member.
fn single(key: &str, value: impl Into<Json>) -> Object {
    object([(key, Some(value.into()))])
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
