//! Owns what a server asks a model (`sampling/createMessage`) and what comes back: a typed view, lenient where a mistake
//! harms nobody, strict where the protocol asks for an error.

use std::collections::BTreeSet;
use std::fmt;

use helve_model::json::{ObjectWriter, RawJson, scan};
use helve_model::{ContentBlock, ContentBody, Definition as _, ToolDefinition};

use helve_model::text::{SHOWN_CHARACTERS, counted, folded, quoted};

/// Bytes of one request or result; pictures and sound count as they are written.
pub const MAX_SAMPLING_BYTES: usize = 16 * 1024 * 1024;
/// Messages of one request.
pub const MAX_SAMPLING_MESSAGES: usize = 1_000;
/// Blocks of content of one request or result, all messages together.
pub const MAX_SAMPLING_BLOCKS: usize = 4_000;
/// Tools of one request.
pub const MAX_SAMPLING_TOOLS: usize = 128;
/// Stop sequences of one request that are passed on.
pub const MAX_STOP_SEQUENCES: usize = 16;
/// Names of models that are looked at.
pub const MAX_MODEL_HINTS: usize = 20;
/// Tokens that one request may ask for.
pub const MAX_SAMPLING_TOKENS: u64 = 32_768;
/// Tokens where a request does not say how many.
pub const DEFAULT_SAMPLING_TOKENS: u64 = 4_096;

/// What a server asks a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SamplingRequest {
    /// The parameters as the server sent them, but for `maxTokens`, which is [`SamplingRequest::max_tokens`]: whoever
    /// passes this on asks for no more than was counted.
    pub raw: RawJson,
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// What the server wants the model to be told first.
    pub system_prompt: Option<String>,
    /// Most tokens to make; never more than [`MAX_SAMPLING_TOKENS`].
    pub max_tokens: u64,
    /// How much chance there is in it.
    pub temperature: Option<f64>,
    /// Texts that end the answer.
    pub stop_sequences: Vec<String>,
    /// Which model the server would like.
    pub model_preferences: ModelPreferences,
    /// What else the server would like the model to see.
    pub include_context: IncludeContext,
    /// Tools the model may call; the server runs them.
    pub tools: Vec<ToolDefinition>,
    /// Whether the model may, must or must not call tools; nothing if the server does not say.
    pub tool_choice: Option<ToolChoice>,
    /// Words for the provider, unread.
    pub metadata: Option<RawJson>,
    /// Which parts did not fit, and what became of them.
    pub warnings: Vec<String>,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SamplingMessage {
    /// The role.
    pub role: SamplingRole,
    /// What is said. One block and a list of one block are the same.
    pub content: Vec<SamplingContent>,
}

/// The role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SamplingRole {
    /// The user, or the server in the user's place.
    User,
    /// The model.
    Assistant,
}

/// One block of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SamplingContent {
    /// Text, a picture, sound, or a kind that does not exist yet.
    Content(ContentBlock),
    /// The model calls a tool.
    ToolUse(ToolUse),
    /// What the tool gave.
    ToolResult(ToolResult),
}

/// The model calls a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolUse {
    /// The block as it came.
    pub raw: RawJson,
    /// Which call it is.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub input: RawJson,
}

/// What a tool gave.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The block as it came.
    pub raw: RawJson,
    /// Which call it answers.
    pub tool_use_id: String,
    /// The blocks of content.
    pub content: Vec<ContentBlock>,
    /// The structured result.
    pub structured: Option<RawJson>,
    /// The tool failed.
    pub is_error: bool,
}

/// Which model a server would like: advice, never an order.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Parts of names, the best first.
    pub hints: Vec<String>,
    /// How much the price matters, from 0 to 1.
    pub cost_priority: Option<f64>,
    /// How much speed matters, from 0 to 1.
    pub speed_priority: Option<f64>,
    /// How much the quality matters, from 0 to 1.
    pub intelligence_priority: Option<f64>,
}

/// What else the model should see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IncludeContext {
    /// Nothing.
    #[default]
    None,
    /// What belongs to the asking server.
    ThisServer,
    /// What belongs to every server.
    AllServers,
}

/// Whether the model calls tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// At least one.
    Required,
    /// Not at all.
    None,
}

/// What a model answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SamplingResult {
    /// The result exactly as it came.
    pub raw: RawJson,
    /// The role: the assistant, where none is named.
    pub role: SamplingRole,
    /// What is said.
    pub content: Vec<SamplingContent>,
    /// The model that said it; nothing if it is not named.
    pub model: Option<String>,
    /// Why it stopped, in the protocol's words or a provider's.
    pub stop_reason: Option<String>,
}

/// Why a request cannot be put to a model, or a result not to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SamplingProblem {
    /// It is not JSON; the words of the parser.
    Syntax(String),
    /// It is not an object.
    NotAnObject,
    /// There is more of something than is looked at.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
        /// The cap.
        limit: usize,
    },
    /// There is nothing to say to the model.
    NoMessages,
    /// A message cannot be read.
    Message {
        /// Which one, counted from 0.
        index: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A message has results of tools beside other content, which the protocol forbids.
    MixedToolResults {
        /// Which one, counted from 0.
        index: usize,
    },
    /// A call of a tool is not answered by the next message, as the protocol demands.
    ToolResultMissing {
        /// The call.
        id: String,
    },
    /// A result of a tool answers no call of the message before.
    ToolUseMissing {
        /// The call it names.
        id: String,
    },
    /// A result has no content.
    NoContent,
}

impl SamplingRequest {
    /// Reads the parameters of `sampling/createMessage`.
    ///
    /// # Errors
    /// When there is no conversation in it, when it is too large, or when calls and results of tools do not pair.
    pub fn read(params: &RawJson) -> Result<Self, SamplingProblem> {
        check_object(params)?;
        let mut warnings = Vec::new();
        let messages = messages(params)?;
        check_tool_pairs(&messages)?;
        let choice = params.member("toolChoice").filter(|choice| choice.as_str() != "null");
        let max_tokens = max_tokens(params, &mut warnings);
        Ok(Self {
            messages,
            system_prompt: params.member_str("systemPrompt"),
            max_tokens,
            temperature: number(params, "temperature"),
            stop_sequences: stop_sequences(params, &mut warnings),
            model_preferences: model_preferences(params, &mut warnings),
            include_context: include_context(params, &mut warnings),
            tools: tools(params, &mut warnings)?,
            tool_choice: choice.map(|choice| tool_choice(&choice, &mut warnings)),
            metadata: params.member("metadata").filter(RawJson::is_object),
            raw: with_max_tokens(params, max_tokens),
            warnings,
        })
    }

    /// Whether the server counts on tools. Without the right to, the protocol asks for an error.
    pub fn uses_tools(&self) -> bool {
        !self.tools.is_empty()
            || self.tool_choice.is_some()
            || self.raw.member("tools").is_some_and(|tools| tools.as_str() != "null")
    }

    /// The request in one line, for the person who is asked to allow it.
    pub fn summary(&self) -> String {
        let mut parts = vec![counted(self.messages.len(), "message", "messages")];
        if self.system_prompt.is_some() {
            parts.push("a system prompt".to_owned());
        }
        if !self.tools.is_empty() {
            parts.push(counted(self.tools.len(), "tool", "tools"));
        }
        parts.push(format!("up to {} tokens", self.max_tokens));
        let hints: Vec<String> = self.model_preferences.hints.iter().take(3).map(|hint| folded(hint, 40)).collect();
        if !hints.is_empty() {
            parts.push(format!("preferably by {}", hints.join(", ")));
        }
        let said = self.messages.iter().rev().flat_map(|message| &message.content).find_map(SamplingContent::text);
        let said = said.map(|text| format!(": {}", quoted(text, SHOWN_CHARACTERS * 2))).unwrap_or_default();
        format!("{}{said}", parts.join(", "))
    }
}

impl SamplingResult {
    /// Reads a result, of a model or of a program that stands in for one. A text alone counts as content.
    ///
    /// # Errors
    /// When it is not an object, too large, or has no content.
    pub fn read(result: &RawJson) -> Result<Self, SamplingProblem> {
        check_object(result)?;
        let content = result.member("content").and_then(|content| blocks(&content)).filter(|blocks| !blocks.is_empty());
        let content = content.ok_or(SamplingProblem::NoContent)?;
        check_count("blocks", content.len(), MAX_SAMPLING_BLOCKS)?;
        let role = result.member_str("role").and_then(|role| SamplingRole::of(&role));
        Ok(Self {
            content,
            role: role.unwrap_or(SamplingRole::Assistant),
            model: result.member_str("model"),
            stop_reason: result.member_str("stopReason"),
            raw: result.clone(),
        })
    }

    /// The result as every revision of the protocol takes it: with a role and a model, and one block as itself, not as
    /// a list of one. Everything else that came is kept.
    pub fn to_json(&self) -> RawJson {
        let blocks: Vec<&str> = self.content.iter().map(|block| block.raw().as_str()).collect();
        let content = match blocks.as_slice() {
            [only] => (*only).to_owned(),
            several => RawJson::array(several).as_str().to_owned(),
        };
        let known = ObjectWriter::new()
            .text("role", self.role.name())
            .raw("content", content)
            .text("model", self.model.as_deref().unwrap_or("unknown"));
        known.members_of(&self.raw, |key| !["role", "content", "model"].contains(&key)).finish()
    }
}

impl SamplingRole {
    /// As the protocol writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }

    fn of(name: &str) -> Option<Self> {
        match name {
            "user" => Some(Self::User),
            "assistant" => Some(Self::Assistant),
            _ => None,
        }
    }
}

impl SamplingContent {
    /// The block as it came.
    pub fn raw(&self) -> &RawJson {
        match self {
            Self::Content(block) => &block.raw,
            Self::ToolUse(tool_use) => &tool_use.raw,
            Self::ToolResult(result) => &result.raw,
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Content(ContentBlock { body: ContentBody::Text(text), .. }) => Some(text),
            Self::Content(_) | Self::ToolUse(_) | Self::ToolResult(_) => None,
        }
    }
}

impl fmt::Display for SamplingProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(detail) => write!(f, "not valid JSON: {}", folded(detail, SHOWN_CHARACTERS * 2)),
            Self::NotAnObject => f.write_str("not an object"),
            Self::TooMany { what, count, limit } => write!(f, "{count} {what}, the limit is {limit}"),
            Self::NoMessages => f.write_str("the request has no messages"),
            Self::Message { index, what } => {
                write!(f, "message {}: {}", index + 1, folded(what, SHOWN_CHARACTERS * 2))
            }
            Self::MixedToolResults { index } => {
                write!(f, "message {}: results of tools stand beside other content", index + 1)
            }
            Self::ToolResultMissing { id } => {
                write!(f, "the call {} of a tool is not answered by the next message", quoted(id, SHOWN_CHARACTERS))
            }
            Self::ToolUseMissing { id } => write!(
                f,
                "a result answers the call {} of a tool, which the message before does not make",
                quoted(id, SHOWN_CHARACTERS)
            ),
            Self::NoContent => f.write_str("the result has no content"),
        }
    }
}

impl std::error::Error for SamplingProblem {}

fn check_object(json: &RawJson) -> Result<(), SamplingProblem> {
    check_count("bytes", json.as_str().len(), MAX_SAMPLING_BYTES)?;
    json.check().map_err(|error| SamplingProblem::Syntax(error.to_string()))?;
    if json.is_object() { Ok(()) } else { Err(SamplingProblem::NotAnObject) }
}

fn check_count(what: &'static str, count: usize, limit: usize) -> Result<(), SamplingProblem> {
    if count > limit { Err(SamplingProblem::TooMany { what, count, limit }) } else { Ok(()) }
}

fn messages(params: &RawJson) -> Result<Vec<SamplingMessage>, SamplingProblem> {
    let written = params.member("messages").and_then(|list| list.elements()).unwrap_or_default();
    if written.is_empty() {
        return Err(SamplingProblem::NoMessages);
    }
    check_count("messages", written.len(), MAX_SAMPLING_MESSAGES)?;
    let mut count = 0;
    let mut messages = Vec::with_capacity(written.len());
    for (index, message) in written.iter().enumerate() {
        let wrong = |what: &str| SamplingProblem::Message { index, what: what.to_owned() };
        let role = message.member_str("role").ok_or_else(|| wrong("it has no role"))?;
        let role = SamplingRole::of(&role).ok_or_else(|| wrong(&format!("the role {role:?} is not known")))?;
        let content = message.member("content").and_then(|content| blocks(&content));
        let content = content.ok_or_else(|| wrong("it has no content"))?;
        count += content.len();
        check_count("blocks", count, MAX_SAMPLING_BLOCKS)?;
        messages.push(SamplingMessage { role, content });
    }
    Ok(messages)
}

/// One block or a list of blocks; a text alone counts as a block.
fn blocks(content: &RawJson) -> Option<Vec<SamplingContent>> {
    match content.elements() {
        Some(list) => list.into_iter().map(object_or_text).collect(),
        None => object_or_text(content.clone()).map(|block| vec![block]),
    }
}

fn object_or_text(raw: RawJson) -> Option<SamplingContent> {
    if raw.is_object() {
        return Some(block(raw));
    }
    let text: String = raw.parse().ok()?;
    let raw = ObjectWriter::new().text("type", "text").raw("text", raw).finish();
    Some(SamplingContent::Content(ContentBlock { raw, body: ContentBody::Text(text) }))
}

/// A call or a result that lacks what it needs is content of an unknown kind.
fn block(raw: RawJson) -> SamplingContent {
    let known = match raw.member_str("type").as_deref() {
        Some("tool_use") => tool_use(&raw).map(SamplingContent::ToolUse),
        Some("tool_result") => tool_result(&raw).map(SamplingContent::ToolResult),
        _ => None,
    };
    known.unwrap_or_else(|| SamplingContent::Content(ContentBlock::from_raw(raw)))
}

fn tool_use(raw: &RawJson) -> Option<ToolUse> {
    let input = raw.member("input").filter(RawJson::is_object).unwrap_or_else(RawJson::empty_object);
    Some(ToolUse { id: raw.member_str("id")?, name: raw.member_str("name")?, input, raw: raw.clone() })
}

fn tool_result(raw: &RawJson) -> Option<ToolResult> {
    let content = raw.member("content").and_then(|content| content.elements()).unwrap_or_default();
    Some(ToolResult {
        tool_use_id: raw.member_str("toolUseId")?,
        content: content.into_iter().map(ContentBlock::from_raw).collect(),
        structured: raw.member("structuredContent"),
        is_error: raw.member("isError").is_some_and(|is_error| is_error.as_str() == "true"),
        raw: raw.clone(),
    })
}

/// Every call is answered by the very next message, which has nothing but results; no result answers anything else.
fn check_tool_pairs(messages: &[SamplingMessage]) -> Result<(), SamplingProblem> {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let results: BTreeSet<&str> = message.content.iter().filter_map(answered).collect();
        if !results.is_empty() && message.role != SamplingRole::User {
            let what = "results of tools are told by the user".to_owned();
            return Err(SamplingProblem::Message { index, what });
        }
        if !results.is_empty() && message.content.iter().any(|block| answered(block).is_none()) {
            return Err(SamplingProblem::MixedToolResults { index });
        }
        if let Some(id) = open.difference(&results).next() {
            return Err(SamplingProblem::ToolResultMissing { id: (*id).to_owned() });
        }
        if let Some(id) = results.difference(&open).next() {
            return Err(SamplingProblem::ToolUseMissing { id: (*id).to_owned() });
        }
        open = message.content.iter().filter_map(called).collect();
    }
    open.first().map_or(Ok(()), |id| Err(SamplingProblem::ToolResultMissing { id: (*id).to_owned() }))
}

fn answered(block: &SamplingContent) -> Option<&str> {
    if let SamplingContent::ToolResult(result) = block { Some(&result.tool_use_id) } else { None }
}

fn called(block: &SamplingContent) -> Option<&str> {
    if let SamplingContent::ToolUse(tool_use) = block { Some(&tool_use.id) } else { None }
}

fn max_tokens(params: &RawJson, warnings: &mut Vec<String>) -> u64 {
    let Some(wanted) = number(params, "maxTokens").filter(|wanted| *wanted >= 1.0) else {
        warnings.push(format!("maxTokens: not a number of tokens, {DEFAULT_SAMPLING_TOKENS} are taken"));
        return DEFAULT_SAMPLING_TOKENS;
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and what is too large becomes the largest, which is cut below"
    )]
    let wanted = wanted as u64;
    if wanted > MAX_SAMPLING_TOKENS {
        warnings.push(format!("maxTokens: {wanted} are more than the limit, {MAX_SAMPLING_TOKENS} are taken"));
    }
    wanted.min(MAX_SAMPLING_TOKENS)
}

/// The parameters with this number of tokens, once; as they are where they say so already.
fn with_max_tokens(params: &RawJson, max_tokens: u64) -> RawJson {
    let members: Vec<_> = scan::members(params.as_str()).into_iter().flatten().map_while(Result::ok).collect();
    let (named, others): (Vec<_>, Vec<_>) = members.into_iter().partition(|member| member.key_is("maxTokens"));
    let max_tokens = max_tokens.to_string();
    if let [only] = named.as_slice()
        && only.value == max_tokens
    {
        return params.clone();
    }
    let mut written = ObjectWriter::new();
    for member in others {
        written.add_written(member.raw_key, member.value);
    }
    written.raw("maxTokens", max_tokens).finish()
}

fn number(params: &RawJson, key: &str) -> Option<f64> {
    params.member(key)?.parse().ok()
}

fn stop_sequences(params: &RawJson, warnings: &mut Vec<String>) -> Vec<String> {
    let written = params.member("stopSequences").and_then(|list| list.elements()).unwrap_or_default();
    let given = written.len();
    let mut stops: Vec<String> = written.iter().take(MAX_STOP_SEQUENCES).filter_map(|stop| stop.parse().ok()).collect();
    stops.retain(|stop| !stop.is_empty());
    if stops.len() < given {
        warnings.push(format!("stopSequences: {} of {given} are passed on", stops.len()));
    }
    stops
}

fn model_preferences(params: &RawJson, warnings: &mut Vec<String>) -> ModelPreferences {
    let Some(preferences) = params.member("modelPreferences").filter(RawJson::is_object) else {
        return ModelPreferences::default();
    };
    let mut priority = |key: &str| {
        let value = number(&preferences, key)?;
        if (0.0..=1.0).contains(&value) {
            return Some(value);
        }
        warnings.push(format!("modelPreferences: {key} is not between 0 and 1"));
        None
    };
    let hints = preferences.member("hints").and_then(|hints| hints.elements()).unwrap_or_default();
    ModelPreferences {
        cost_priority: priority("costPriority"),
        speed_priority: priority("speedPriority"),
        intelligence_priority: priority("intelligencePriority"),
        hints: hints.iter().take(MAX_MODEL_HINTS).filter_map(|hint| hint.member_str("name")).collect(),
    }
}

fn include_context(params: &RawJson, warnings: &mut Vec<String>) -> IncludeContext {
    match params.member_str("includeContext").as_deref() {
        None | Some("none") => IncludeContext::None,
        Some("thisServer") => IncludeContext::ThisServer,
        Some("allServers") => IncludeContext::AllServers,
        Some(other) => {
            warnings.push(format!("includeContext: {} is not known", quoted(other, SHOWN_CHARACTERS)));
            IncludeContext::None
        }
    }
}

fn tools(params: &RawJson, warnings: &mut Vec<String>) -> Result<Vec<ToolDefinition>, SamplingProblem> {
    let written = params.member("tools").and_then(|list| list.elements()).unwrap_or_default();
    check_count("tools", written.len(), MAX_SAMPLING_TOOLS)?;
    let mut tools = Vec::with_capacity(written.len());
    for (index, tool) in written.into_iter().enumerate() {
        match ToolDefinition::from_raw(tool) {
            Ok(tool) => tools.push(tool),
            Err(broken) => {
                warnings.push(format!("tools: tool {} is left out: {}", index + 1, folded(&broken.problem, 200)))
            }
        }
    }
    Ok(tools)
}

fn tool_choice(choice: &RawJson, warnings: &mut Vec<String>) -> ToolChoice {
    match choice.member_str("mode").as_deref() {
        None | Some("auto") => ToolChoice::Auto,
        Some("required") => ToolChoice::Required,
        Some("none") => ToolChoice::None,
        Some(other) => {
            warnings.push(format!("toolChoice: the mode {} is not known", quoted(other, SHOWN_CHARACTERS)));
            ToolChoice::Auto
        }
    }
}

#[cfg(test)]
#[path = "sampling_tests.rs"]
mod tests;
