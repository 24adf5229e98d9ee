//! The pieces a result is made of: text, pictures, sound, resources, and kinds that do not exist yet.

use crate::fields::Fields;
use crate::json::RawJson;

/// One block of content: as it came, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentBlock {
    /// The block exactly as the server sent it.
    pub raw: RawJson,
    /// What it is.
    pub body: ContentBody,
}

/// What a block of content is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentBody {
    /// Text.
    Text(String),
    /// A picture.
    Image(Media),
    /// Sound.
    Audio(Media),
    /// A pointer to a resource.
    ResourceLink(ResourceLink),
    /// A resource, contents included.
    Resource(ResourceContents),
    /// A kind this version does not know, or a known kind that lacks what it needs. The raw block has it all.
    Unknown {
        /// The `type` it gave, if any.
        kind: Option<String>,
    },
}

/// Bytes with a type, in base 64 as they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Base 64.
    pub data: String,
    /// The type of the bytes.
    pub mime_type: String,
}

/// A pointer to a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceLink {
    /// Where it is.
    pub uri: String,
    /// What it is called.
    pub name: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Its type.
    pub mime_type: Option<String>,
}

/// The contents of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceContents {
    /// The contents exactly as the server sent them.
    pub raw: RawJson,
    /// Where they come from.
    pub uri: String,
    /// Their type.
    pub mime_type: Option<String>,
    /// The contents.
    pub body: ResourceBody,
}

/// What a resource holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes, in base 64 as they came.
    Blob(String),
}

impl ContentBlock {
    /// Opens one block. Nothing is refused: what cannot be read is [`ContentBody::Unknown`].
    #[must_use]
    pub fn from_raw(raw: RawJson) -> Self {
        let body = body(&raw);
        Self { raw, body }
    }
}

impl ResourceContents {
    /// Opens the contents of a resource; `None` when they lack a URI or have neither text nor blob.
    #[must_use]
    pub fn from_raw(raw: RawJson) -> Option<Self> {
        let mut fields = Fields::of(&raw)?;
        let body = match fields.take("text") {
            Some(text) => ResourceBody::Text(text),
            None => ResourceBody::Blob(fields.take("blob")?),
        };
        let (uri, mime_type) = (fields.take("uri")?, fields.take("mimeType"));
        Some(Self { uri, mime_type, body, raw })
    }
}

fn body(raw: &RawJson) -> ContentBody {
    let Some(mut fields) = Fields::of(raw) else { return ContentBody::Unknown { kind: None } };
    let known = match fields.text("type") {
        Some(r#""text""#) => fields.take("text").map(ContentBody::Text),
        Some(r#""image""#) => media(&mut fields).map(ContentBody::Image),
        Some(r#""audio""#) => media(&mut fields).map(ContentBody::Audio),
        Some(r#""resource_link""#) => link(&mut fields).map(ContentBody::ResourceLink),
        Some(r#""resource""#) => {
            fields.take_object("resource").and_then(ResourceContents::from_raw).map(ContentBody::Resource)
        }
        _ => None,
    };
    known.unwrap_or_else(|| ContentBody::Unknown { kind: fields.take("type") })
}

fn media(fields: &mut Fields<'_>) -> Option<Media> {
    Some(Media { data: fields.take("data")?, mime_type: fields.take("mimeType")? })
}

fn link(fields: &mut Fields<'_>) -> Option<ResourceLink> {
    Some(ResourceLink {
        uri: fields.take("uri")?,
        name: fields.take("name"),
        description: fields.take("description"),
        mime_type: fields.take("mimeType"),
    })
}
