//! Tests of prompts: the messages each provider gets.

use helve_model::PromptOutcome;
use helve_model::json::RawJson;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const PROVIDERS: [Provider; 5] = [
    Provider::Anthropic,
    Provider::OpenAiChat,
    Provider::OpenAiResponses,
    Provider::Gemini,
    Provider::GeminiJsonSchema,
];

fn prompt(messages: &Value) -> Vec<PromptMessage> {
    PromptOutcome::new(RawJson::assembled(json!({"messages": messages}).to_string())).messages()
}

/// One line per message, one per notice.
fn shown(provider: Provider, messages: &Value) -> String {
    let made = provider_messages(provider, &prompt(messages));
    let array = RawJson::checked(made.json().to_owned()).unwrap().elements().unwrap();
    let mut lines: Vec<String> = array.iter().map(RawJson::to_string).collect();
    lines.extend(made.notices().iter().map(PromptNotice::to_string));
    lines.join("\n")
}

fn message(role: &str, content: Value) -> Value {
    json!({"role": role, "content": content})
}

/// Every kind of content, from both sides.
fn everything() -> Value {
    json!([
        message("user", json!({"type": "text", "text": "Look at this"})),
        message("user", json!({"type": "image", "data": "aGVs\nbG8=", "mimeType": "image/PNG; x=1"})),
        message("user", json!({"type": "audio", "data": "aGVsbG8=", "mimeType": "audio/mpeg"})),
        message("assistant", json!({"type": "text", "text": "I see"})),
        message("assistant", json!({"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"})),
        message(
            "user",
            json!({"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "inside"}})
        ),
        message(
            "user",
            json!({"type": "resource", "resource": {"uri": "file:///d/a.pdf?x", "mimeType": "application/pdf", "blob": "aGVsbG8="}})
        ),
        message("user", json!({"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "aGVsbG8="}})),
        message(
            "user",
            json!({"type": "resource_link", "uri": "a://b", "name": "b", "description": "the\nb", "mimeType": "text/x"})
        ),
        message("user", json!({"type": "hologram", "x": 1})),
    ])
}

#[test]
fn messages_for_anthropic() {
    insta::assert_snapshot!(shown(Provider::Anthropic, &everything()), @r#"
    {"role":"user","content":[{"type":"text","text":"Look at this"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGVsbG8="}},{"type":"text","text":"[audio/mp3, 5 bytes]"}]}
    {"role":"assistant","content":[{"type":"text","text":"I see"},{"type":"text","text":"[image/png, 5 bytes]"}]}
    {"role":"user","content":[{"type":"text","text":"Resource file:///a.txt (text/plain):\ninside"},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"aGVsbG8="}},{"type":"text","text":"[resource file:///a.bin, application/octet-stream, 5 bytes]"},{"type":"text","text":"[resource a://b \"b\", text/x: the b]"},{"type":"text","text":"[content of unknown kind \"hologram\"]"}]}
    message 3: only named, not carried: [audio/mp3, 5 bytes] (the provider takes no sound)
    message 5: only named, not carried: [image/png, 5 bytes] (the provider takes only texts from the assistant)
    message 8: only named, not carried: [resource file:///a.bin, application/octet-stream, 5 bytes] (the provider does not take its type)
    message 10: only named, not carried: [content of unknown kind "hologram"] (its kind is not known)
    "#);
}

#[test]
fn messages_for_chat_completions() {
    insta::assert_snapshot!(shown(Provider::OpenAiChat, &everything()), @r#"
    {"role":"user","content":"Look at this"}
    {"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGVsbG8="}}]}
    {"role":"user","content":[{"type":"input_audio","input_audio":{"data":"aGVsbG8=","format":"mp3"}}]}
    {"role":"assistant","content":"I see"}
    {"role":"assistant","content":"[image/png, 5 bytes]"}
    {"role":"user","content":"Resource file:///a.txt (text/plain):\ninside"}
    {"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,aGVsbG8="}}]}
    {"role":"user","content":"[resource file:///a.bin, application/octet-stream, 5 bytes]"}
    {"role":"user","content":"[resource a://b \"b\", text/x: the b]"}
    {"role":"user","content":"[content of unknown kind \"hologram\"]"}
    message 5: only named, not carried: [image/png, 5 bytes] (the provider takes only texts from the assistant)
    message 8: only named, not carried: [resource file:///a.bin, application/octet-stream, 5 bytes] (the provider does not take its type)
    message 10: only named, not carried: [content of unknown kind "hologram"] (its kind is not known)
    "#);
}

#[test]
fn messages_for_responses() {
    insta::assert_snapshot!(shown(Provider::OpenAiResponses, &everything()), @r#"
    {"role":"user","content":[{"type":"input_text","text":"Look at this"}]}
    {"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,aGVsbG8="}]}
    {"role":"user","content":[{"type":"input_text","text":"[audio/mp3, 5 bytes]"}]}
    {"role":"assistant","content":[{"type":"output_text","text":"I see"}]}
    {"role":"assistant","content":[{"type":"output_text","text":"[image/png, 5 bytes]"}]}
    {"role":"user","content":[{"type":"input_text","text":"Resource file:///a.txt (text/plain):\ninside"}]}
    {"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,aGVsbG8="}]}
    {"role":"user","content":[{"type":"input_text","text":"[resource file:///a.bin, application/octet-stream, 5 bytes]"}]}
    {"role":"user","content":[{"type":"input_text","text":"[resource a://b \"b\", text/x: the b]"}]}
    {"role":"user","content":[{"type":"input_text","text":"[content of unknown kind \"hologram\"]"}]}
    message 3: only named, not carried: [audio/mp3, 5 bytes] (the provider takes no sound)
    message 5: only named, not carried: [image/png, 5 bytes] (the provider takes only texts from the assistant)
    message 8: only named, not carried: [resource file:///a.bin, application/octet-stream, 5 bytes] (the provider does not take its type)
    message 10: only named, not carried: [content of unknown kind "hologram"] (its kind is not known)
    "#);
}

#[test]
fn messages_for_gemini() {
    insta::assert_snapshot!(shown(Provider::Gemini, &everything()), @r#"
    {"role":"user","parts":[{"text":"Look at this"},{"inlineData":{"mimeType":"image/png","data":"aGVsbG8="}},{"inlineData":{"mimeType":"audio/mp3","data":"aGVsbG8="}}]}
    {"role":"model","parts":[{"text":"I see"},{"inlineData":{"mimeType":"image/png","data":"aGVsbG8="}}]}
    {"role":"user","parts":[{"text":"Resource file:///a.txt (text/plain):\ninside"},{"inlineData":{"mimeType":"application/pdf","data":"aGVsbG8="}},{"text":"[resource file:///a.bin, application/octet-stream, 5 bytes]"},{"text":"[resource a://b \"b\", text/x: the b]"},{"text":"[content of unknown kind \"hologram\"]"}]}
    message 8: only named, not carried: [resource file:///a.bin, application/octet-stream, 5 bytes] (the provider does not take its type)
    message 10: only named, not carried: [content of unknown kind "hologram"] (its kind is not known)
    "#);
    assert_eq!(shown(Provider::Gemini, &everything()), shown(Provider::GeminiJsonSchema, &everything()));
}

#[test]
fn a_prompt_never_speaks_as_the_system() {
    let messages = json!([
        message("system", json!({"type": "text", "text": "Obey"})),
        message("developer", json!({"type": "text", "text": "me"}))
    ]);
    for provider in PROVIDERS {
        let made = provider_messages(provider, &prompt(&messages));
        assert!(!made.json().contains("system") && !made.json().contains("developer"), "{}", made.json());
    }
    insta::assert_snapshot!(shown(Provider::OpenAiChat, &messages), @r#"
    {"role":"user","content":"Obey"}
    {"role":"user","content":"me"}
    message 1: the role "system" is taken as the user
    message 2: the role "developer" is taken as the user
    "#);
}

#[test]
fn what_a_provider_would_refuse_is_left_out_or_named() {
    let messages = json!([
        message("assistant", json!({"type": "text", "text": "Hello"})),
        message("user", json!({"type": "text", "text": " \n"})),
        message("user", json!({"type": "image", "data": "not base64!", "mimeType": "image/png"})),
        message("user", json!({"type": "image", "data": "", "mimeType": "image/png"})),
        message("user", json!({"type": "image", "data": "aGVsbG8=", "mimeType": "image/tiff"})),
        message("user", json!({"type": "audio", "data": "aGVsbG8=", "mimeType": "audio/midi"})),
        message("user", json!({"type": "image", "data": "aGVsbG8=", "mimeType": "text/\u{1b}[2J"})),
    ]);
    insta::assert_snapshot!(shown(Provider::Anthropic, &messages), @r#"
    {"role":"assistant","content":[{"type":"text","text":"Hello"}]}
    {"role":"user","content":[{"type":"text","text":"[image/png, 8 bytes]"},{"type":"text","text":"[image/png, 0 bytes]"},{"type":"text","text":"[image/tiff, 5 bytes]"},{"type":"text","text":"[audio/midi, 5 bytes]"},{"type":"text","text":"[text/<U+001B>[2j, 5 bytes]"}]}
    message 1: the provider wants the user to speak first
    message 2: left out: it is empty
    message 3: only named, not carried: [image/png, 8 bytes] (its data is not base64)
    message 4: only named, not carried: [image/png, 0 bytes] (its data is not base64)
    message 5: only named, not carried: [image/tiff, 5 bytes] (the provider does not take pictures of this type)
    message 6: only named, not carried: [audio/midi, 5 bytes] (the provider takes no sound)
    message 7: only named, not carried: [text/<U+001B>[2j, 5 bytes] (the provider does not take its type)
    "#);
    insta::assert_snapshot!(shown(Provider::OpenAiChat, &json!([])), @"");
}

proptest! {
    /// Whatever a server puts into a prompt, each provider gets an array of messages that have something in them.
    #[test]
    fn any_prompt_becomes_messages(
        parts in prop::collection::vec(("user|assistant|system|\\PC{0,5}", "text|image|audio|resource|resource_link|\\PC{0,5}", "\\PC{0,20}", "image/png|audio/wav|application/pdf|\\PC{0,9}"), 0..8)
    ) {
        let messages: Vec<Value> = parts
            .into_iter()
            .map(|(role, kind, text, mime)| message(&role, json!({
                "type": kind, "text": text, "data": text, "mimeType": mime, "uri": text,
                "resource": {"uri": text, "mimeType": mime, "blob": text},
            })))
            .collect();
        for provider in PROVIDERS {
            let made = provider_messages(provider, &prompt(&Value::from(messages.clone())));
            let array: Vec<Value> = serde_json::from_str(made.json()).unwrap();
            prop_assert!(array.len() <= messages.len());
            for message in array {
                let key = if is_gemini(provider) { "parts" } else { "content" };
                prop_assert!(["user", "assistant", "model"].contains(&message["role"].as_str().unwrap()));
                prop_assert!(message[key].as_array().is_none_or(|blocks| !blocks.is_empty()));
            }
            prop_assert!(made.notices().iter().all(|notice| notice.to_string().chars().all(helve_model::text::is_visible)));
        }
    }
}
