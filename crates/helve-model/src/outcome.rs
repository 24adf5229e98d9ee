//! What came back: the result of a tool, the contents of a resource, the messages of a prompt.
//!
//! Each keeps the raw result; everything else is read out of it when somebody asks.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::content::{ContentBlock, ContentBody, ResourceBody, ResourceContents, ResourceLink};
use crate::fields::Fields;
use crate::json::{ObjectWriter, RawJson, scan};

/// Searched for in every result.
static TRUE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("true"));

/// The result of a tool call. A tool that reports a failure of its own has an outcome too: see [`Outcome::is_error`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    raw: RawJson,
}

/// What a result holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeView {
    /// The tool ran and says that it failed.
    pub is_error: bool,
    /// The blocks of content, in order. A `content` that is one string counts as one block of text.
    pub content: Vec<ContentBlock>,
    /// The structured result, whatever JSON it is.
    pub structured: Option<RawJson>,
    /// `_meta` of the result.
    pub meta: Option<RawJson>,
}

/// The result of reading a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOutcome {
    raw: RawJson,
}

/// The result of getting a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptOutcome {
    raw: RawJson,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptMessage {
    /// The role: `user` or `assistant`.
    pub role: String,
    /// What is said.
    pub content: ContentBlock,
}

impl Outcome {
    /// The outcome a result object is.
    #[must_use]
    pub const fn new(raw: RawJson) -> Self {
        Self { raw }
    }

    /// A result that is one text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::new(ObjectWriter::new().array("content", [text_block(text)]).finish())
    }

    /// The tool ran and failed, for this reason.
    #[must_use]
    pub fn failure(reason: &str) -> Self {
        Self::new(ObjectWriter::new().array("content", [text_block(reason)]).flag("isError", true).finish())
    }

    /// A structured result, with the same as text beside it for those who read only text.
    #[must_use]
    pub fn structured(value: &RawJson, text: &str) -> Self {
        Self::new(ObjectWriter::new().array("content", [text_block(text)]).raw("structuredContent", value).finish())
    }

    /// The result exactly as the server sent it.
    #[must_use]
    pub const fn raw(&self) -> &RawJson {
        &self.raw
    }

    /// Opens the result: its syntax is checked, its blocks are read leniently.
    ///
    /// # Errors
    /// When what the server sent is not JSON.
    pub fn open(&self) -> Result<OutcomeView, serde_json::Error> {
        self.raw.check()?;
        let mut view = OutcomeView { is_error: false, content: Vec::new(), structured: None, meta: None };
        // Of duplicates the last counts, as in every common parser.
        for member in scan::members(self.raw.as_str()).into_iter().flatten().map_while(Result::ok) {
            let raw = || RawJson::part_of(self.raw.shared(), member.value);
            match member.raw_key {
                "isError" => view.is_error = member.value == "true",
                "content" => view.content = content(raw()),
                "structuredContent" => view.structured = Some(raw()),
                "_meta" => view.meta = Some(raw()),
                _ => {}
            }
        }
        Ok(view)
    }

    /// The tool ran and says that it failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        // Without a `true` anywhere no member can be true, and most results need not be gone through.
        TRUE.find(self.raw.as_str().as_bytes()).is_some()
            && self.raw.member("isError").is_some_and(|value| value.as_str() == "true")
    }
}

fn text_block(text: &str) -> RawJson {
    ObjectWriter::new().text("type", "text").text("text", text).finish()
}

impl OutcomeView {
    /// The same without what is for the user alone, where the server tells apart what is for whom: where no block is for
    /// the assistant by name, all of them are.
    #[must_use]
    pub fn for_assistant(mut self) -> Self {
        let audiences: Vec<Option<Vec<String>>> = self.content.iter().map(audience).collect();
        let names = |audience: &Option<Vec<String>>, role: &str| {
            audience.as_ref().is_some_and(|roles| roles.iter().any(|named| named == role))
        };
        if audiences.iter().any(|audience| names(audience, "assistant")) {
            let mut audiences = audiences.into_iter();
            let is_for_all = |audience: Option<Vec<String>>| names(&audience, "assistant") || !names(&audience, "user");
            self.content.retain(|_| audiences.next().is_none_or(is_for_all));
        }
        self
    }

    /// The result as one text, for hosts that need a string: text as it is, everything else named in brackets.
    ///
    /// Without any content the structured result is given as JSON.
    #[must_use]
    pub fn to_text(&self) -> String {
        if self.content.is_empty() {
            return self.structured.as_ref().map_or_else(String::new, |value| value.as_str().to_owned());
        }
        let mut text = String::new();
        for (index, block) in self.content.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            describe(&mut text, &block.body);
        }
        text
    }
}

impl ReadOutcome {
    /// The outcome a result object is.
    #[must_use]
    pub const fn new(raw: RawJson) -> Self {
        Self { raw }
    }

    /// The result exactly as the server sent it.
    #[must_use]
    pub const fn raw(&self) -> &RawJson {
        &self.raw
    }

    /// The contents, in order; pieces that are not resource contents are left out (the raw result has them).
    #[must_use]
    pub fn contents(&self) -> Vec<ResourceContents> {
        elements(&self.raw, "contents").into_iter().filter_map(ResourceContents::from_raw).collect()
    }
}

impl PromptOutcome {
    /// The outcome a result object is.
    #[must_use]
    pub const fn new(raw: RawJson) -> Self {
        Self { raw }
    }

    /// The result exactly as the server sent it.
    #[must_use]
    pub const fn raw(&self) -> &RawJson {
        &self.raw
    }

    /// What the prompt is for.
    #[must_use]
    pub fn description(&self) -> Option<String> {
        self.raw.member_str("description")
    }

    /// The messages, in order; pieces that are not messages are left out (the raw result has them). A message with
    /// several blocks of content is as many messages of the same role.
    #[must_use]
    pub fn messages(&self) -> Vec<PromptMessage> {
        let mut messages = Vec::new();
        for raw in elements(&self.raw, "messages") {
            let Some(role) = Fields::of(&raw).and_then(|mut fields| fields.take::<String>("role")) else { continue };
            let blocks = match raw.member("content") {
                Some(block) if block.as_str().starts_with('{') => vec![ContentBlock::from_raw(block)],
                Some(blocks) => content(blocks),
                None => Vec::new(),
            };
            messages.extend(blocks.into_iter().map(|content| PromptMessage { role: role.clone(), content }));
        }
        messages
    }
}

/// Whom a block is for, where it says so.
fn audience(block: &ContentBlock) -> Option<Vec<String>> {
    block.raw.member("annotations")?.member("audience")?.parse().ok()
}

fn content(content: RawJson) -> Vec<ContentBlock> {
    if let Ok(blocks) = scan::elements(content.as_str()) {
        let block = |text| ContentBlock::from_raw(RawJson::part_of(content.shared(), text));
        return blocks.map_while(Result::ok).map(block).collect();
    }
    match content.parse() {
        Ok(text) => vec![ContentBlock { raw: content, body: ContentBody::Text(text) }],
        Err(_) => Vec::new(),
    }
}

fn elements(raw: &RawJson, key: &str) -> Vec<RawJson> {
    raw.member(key).and_then(|list| list.elements()).unwrap_or_default()
}

fn describe(text: &mut String, body: &ContentBody) {
    let named = match body {
        ContentBody::Text(own) => return text.push_str(own),
        ContentBody::Image(media) => format!("[image {}, {} bytes]", media.mime_type, decoded_length(&media.data)),
        ContentBody::Audio(media) => format!("[audio {}, {} bytes]", media.mime_type, decoded_length(&media.data)),
        ContentBody::ResourceLink(ResourceLink { uri, name: Some(name), .. }) => format!("[resource {uri} \"{name}\"]"),
        ContentBody::ResourceLink(ResourceLink { uri, name: None, .. }) => format!("[resource {uri}]"),
        ContentBody::Resource(contents) => match &contents.body {
            ResourceBody::Text(own) => return text.push_str(own),
            ResourceBody::Blob(data) => format!("[resource {}, {} bytes]", contents.uri, decoded_length(data)),
        },
        ContentBody::Unknown { kind: Some(kind) } => format!("[content of unknown kind {kind:?}]"),
        ContentBody::Unknown { kind: None } => "[content of unknown kind]".to_owned(),
    };
    text.push_str(&named);
}

/// How many bytes a base 64 text stands for.
fn decoded_length(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(json: &str) -> Outcome {
        Outcome::new(RawJson::checked(json).unwrap())
    }

    #[test]
    fn every_kind_of_content_as_text() {
        let outcome = outcome(
            r#"{"content":[{"type":"text","text":"hello"},{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"audio","data":"aGk","mimeType":"audio/wav"},{"type":"resource_link","uri":"a://b","name":"b"},{"type":"resource","resource":{"uri":"a://c","text":"inside"}},{"type":"resource","resource":{"uri":"a://d","blob":"aGk="}},{"type":"hologram","x":1},{"type":"text"},7],"messages":[],"tools":[],"contents":[]}"#,
        );
        insta::assert_snapshot!(outcome.open().unwrap().to_text(), @r#"
        hello
        [image image/png, 2 bytes]
        [audio audio/wav, 2 bytes]
        [resource a://b "b"]
        inside
        [resource a://d, 2 bytes]
        [content of unknown kind "hologram"]
        [content of unknown kind "text"]
        [content of unknown kind]
        "#);
        assert!(!outcome.is_error());
        assert_eq!(outcome.open().unwrap().content[6].raw.as_str(), r#"{"type":"hologram","x":1}"#);
    }

    /// C7: what is said beside a list does not break its JSON.
    #[test]
    fn what_is_for_the_user_alone_is_no_part_of_the_assistants_text() {
        let text =
            |blocks: &str| outcome(&format!(r#"{{"content":[{blocks}]}}"#)).open().unwrap().for_assistant().to_text();
        let block = |text: &str, audience: &str| {
            format!(r#"{{"type":"text","text":"{text}","annotations":{{"audience":{audience}}}}}"#)
        };
        let [list, aside, both] = [
            block("[1]", r#"["assistant"]"#),
            block("by the way", r#"["user"]"#),
            block("both", r#"["user","assistant"]"#),
        ];
        let plain = r#"{"type":"text","text":"plain"}"#;
        assert_eq!(text(&format!("{list},{aside}")), "[1]");
        assert_eq!(text(&format!("{aside},{both},{plain}")), "both\nplain");
        assert_eq!(text(&aside), "by the way", "nothing is for the assistant by name");
        assert_eq!(text(&format!("{plain},{aside}")), "plain\nby the way");
        assert_eq!(text(&format!("{list},{}", block("odd", "7"))), "[1]\nodd");
    }

    #[test]
    fn odd_results() {
        assert_eq!(outcome(r#"{"content":"just text","isError":true}"#).open().unwrap().to_text(), "just text");
        assert!(outcome(r#"{"content":"just text","isError":true}"#).is_error());
        assert_eq!(
            outcome(r#"{"structuredContent":{"b":1,"a":9223372036854775808}}"#).open().unwrap().to_text(),
            r#"{"b":1,"a":9223372036854775808}"#
        );
        assert_eq!(outcome("{}").open().unwrap().to_text(), "");
    }

    #[test]
    fn broken_syntax_is_an_error_when_opened() {
        let whole = bytestring::ByteString::from_static("{\"content\":[nonsense]}");
        assert!(Outcome::new(RawJson::part_of(&whole, &whole)).open().is_err());
    }

    #[test]
    fn resources_and_prompts() {
        let read = ReadOutcome::new(
            RawJson::checked(r#"{"contents":[{"uri":"a","text":"t"},{"uri":"b"},{"uri":"c","blob":""}]}"#).unwrap(),
        );
        assert_eq!(read.contents().len(), 2);
        let prompt = PromptOutcome::new(
            RawJson::checked(
                r#"{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"x"}},{}]}"#,
            )
            .unwrap(),
        );
        assert_eq!(prompt.description().as_deref(), Some("d"));
        assert_eq!(prompt.messages()[0].content.body, ContentBody::Text("x".into()));
        assert_eq!(prompt.messages().len(), 1);
    }
}
