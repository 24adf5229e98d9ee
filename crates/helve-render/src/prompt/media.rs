//! Owns which pictures, sounds and documents each provider takes, and in what form.

use std::borrow::Cow;

use super::{Role, is_gemini, single};
use crate::provider::{Provider, object};
use crate::schema::json::Json;
use helve_model::text::{SHOWN_CHARACTERS, folded};

/// Bytes with a type, on their way to a provider.
pub(super) struct Piece<'a> {
    /// In lower case, without parameters, by its common name.
    mime_type: String,
    data: &'a str,
    /// Where it comes from, for a resource.
    uri: Option<&'a str>,
}

impl<'a> Piece<'a> {
    pub(super) fn of(mime_type: &str, data: &'a str, uri: Option<&'a str>) -> Self {
        let bare = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let mime_type = match bare.as_str() {
            "image/jpg" => "image/jpeg".to_owned(),
            "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "audio/wav".to_owned(),
            "audio/mpeg" => "audio/mp3".to_owned(),
            "audio/x-flac" => "audio/flac".to_owned(),
            "audio/x-aiff" => "audio/aiff".to_owned(),
            _ => bare,
        };
        Self { mime_type, data, uri }
    }

    /// In the provider's form, or why it does not take it.
    pub(super) fn carried(&self, provider: Provider, role: Role) -> Result<Json, &'static str> {
        let data = base64(self.data).ok_or("its data is not base64")?;
        let kind = self.mime_type.split('/').next().unwrap_or_default();
        // "assistant messages" take texts alone, but for Gemini, which makes pictures itself.
        if role == Role::Assistant && !is_gemini(provider) {
            return Err("the provider takes only texts from the assistant");
        }
        match (kind, self.mime_type.as_str()) {
            ("image", _) => self.image(provider, &data),
            ("audio", _) => self.audio(provider, &data),
            (_, "application/pdf") => Ok(self.document(provider, &data)),
            _ => Err("the provider does not take its type"),
        }
    }

    /// How it is named where it cannot be carried.
    pub(super) fn in_brackets(&self) -> String {
        let bytes = self.data.trim_end_matches('=').len() * 3 / 4;
        let mime_type = folded(&self.mime_type, SHOWN_CHARACTERS);
        match self.uri {
            Some(uri) => format!("[resource {}, {mime_type}, {bytes} bytes]", folded(uri, super::WORDS_CHARACTERS)),
            None => format!("[{mime_type}, {bytes} bytes]"),
        }
    }

    fn image(&self, provider: Provider, data: &str) -> Result<Json, &'static str> {
        let taken: &[&str] = match provider {
            Provider::Anthropic | Provider::OpenAiChat | Provider::OpenAiResponses => {
                &["image/png", "image/jpeg", "image/gif", "image/webp"]
            }
            Provider::Gemini | Provider::GeminiJsonSchema => {
                &["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"]
            }
        };
        if !taken.contains(&self.mime_type.as_str()) {
            return Err("the provider does not take pictures of this type");
        }
        Ok(match provider {
            Provider::Anthropic => block("image", "source", self.base64_source(data)),
            Provider::OpenAiChat => block("image_url", "image_url", single("url", self.data_url(data)).into()),
            Provider::OpenAiResponses => block("input_image", "image_url", self.data_url(data).into()),
            Provider::Gemini | Provider::GeminiJsonSchema => self.inline(data),
        })
    }

    fn audio(&self, provider: Provider, data: &str) -> Result<Json, &'static str> {
        let subtype = self.mime_type.split('/').nth(1).unwrap_or_default();
        match provider {
            Provider::Anthropic | Provider::OpenAiResponses => Err("the provider takes no sound"),
            Provider::OpenAiChat if matches!(subtype, "wav" | "mp3") => {
                let audio = object([("data", Some(data.into())), ("format", Some(subtype.into()))]);
                Ok(block("input_audio", "input_audio", audio.into()))
            }
            Provider::Gemini | Provider::GeminiJsonSchema
                if matches!(subtype, "wav" | "mp3" | "aiff" | "aac" | "ogg" | "flac") =>
            {
                Ok(self.inline(data))
            }
            Provider::OpenAiChat | Provider::Gemini | Provider::GeminiJsonSchema => {
                Err("the provider does not take sound of this type")
            }
        }
    }

    fn document(&self, provider: Provider, data: &str) -> Json {
        let file =
            || object([("filename", Some(self.file_name().into())), ("file_data", Some(self.data_url(data).into()))]);
        match provider {
            Provider::Anthropic => block("document", "source", self.base64_source(data)),
            Provider::OpenAiChat => block("file", "file", file().into()),
            Provider::OpenAiResponses => {
                let mut flat = object([("type", Some("input_file".into()))]);
                flat.extend(file());
                flat.into()
            }
            Provider::Gemini | Provider::GeminiJsonSchema => self.inline(data),
        }
    }

    fn base64_source(&self, data: &str) -> Json {
        object([
            ("type", Some("base64".into())),
            ("media_type", Some(self.mime_type.as_str().into())),
            ("data", Some(data.into())),
        ])
        .into()
    }

    fn inline(&self, data: &str) -> Json {
        let inline = object([("mimeType", Some(self.mime_type.as_str().into())), ("data", Some(data.into()))]);
        single("inlineData", inline).into()
    }

    fn data_url(&self, data: &str) -> String {
        format!("data:{};base64,{data}", self.mime_type)
    }

    /// The last segment of the URI: OpenAI wants a name for each file.
    fn file_name(&self) -> String {
        let path = self.uri.unwrap_or_default().split(['?', '#']).next().unwrap_or_default();
        let name = folded(path.rsplit('/').next().unwrap_or_default(), SHOWN_CHARACTERS);
        if name.is_empty() { "document.pdf".to_owned() } else { name }
    }
}

fn block(kind: &str, key: &str, value: Json) -> Json {
    object([("type", Some(kind.into())), (key, Some(value))]).into()
}

/// The data without white space, if it is base64 as the providers take it.
fn base64(data: &str) -> Option<Cow<'_, str>> {
    let data: Cow<'_, str> = if data.bytes().any(|byte| byte.is_ascii_whitespace()) {
        Cow::Owned(data.split_ascii_whitespace().collect())
    } else {
        Cow::Borrowed(data)
    };
    let digits = data.trim_end_matches('=');
    let padding = data.len() - digits.len();
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    (!digits.is_empty() && padding <= 2 && data.len().is_multiple_of(4) && digits.bytes().all(is_digit)).then_some(data)
}
