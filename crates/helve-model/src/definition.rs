//! What a server says it offers: tools, resources, resource templates, prompts.
//!
//! Each is the raw JSON the server sent, plus the one field that identifies it. The rest is a view, opened on demand
//! and leniently: a field of the wrong type is a warning, an unknown field stays in the raw text.

use std::fmt;

use crate::ToolName;
use crate::fields::Fields;
use crate::json::RawJson;

/// A tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDefinition {
    name: ToolName,
    raw: RawJson,
}

/// A resource with a fixed URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceDefinition {
    uri: String,
    raw: RawJson,
}

/// A family of resources, by a URI template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceTemplateDefinition {
    uri_template: String,
    raw: RawJson,
}

/// A prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptDefinition {
    name: String,
    raw: RawJson,
}

/// An item of a list that has no usable identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenDefinition {
    /// What is wrong with it.
    pub problem: String,
}

/// A definition that can be read out of a list.
pub trait Definition: Sized {
    /// Takes one item of a list.
    ///
    /// # Errors
    /// When the item is not an object, or lacks the field that identifies it.
    fn from_raw(raw: RawJson) -> Result<Self, BrokenDefinition>;

    /// The definition exactly as the server sent it.
    fn raw(&self) -> &RawJson;
}

/// What a tool's definition says, where it says it well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolView {
    /// A name for people.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// The schema of its arguments.
    pub input_schema: Option<RawJson>,
    /// The schema of its structured result.
    pub output_schema: Option<RawJson>,
    /// What the server claims about its effects.
    pub annotations: ToolAnnotations,
    /// Pictures, unread.
    pub icons: Vec<RawJson>,
    /// `_meta`, unread.
    pub meta: Option<RawJson>,
    /// Which fields did not fit.
    pub warnings: Vec<String>,
}

/// A server's claims about a tool. They are claims: nothing proves them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolAnnotations {
    /// A name for people, in its older place.
    pub title: Option<String>,
    /// Changes nothing.
    pub read_only: Option<bool>,
    /// May destroy.
    pub destructive: Option<bool>,
    /// Doing it twice is doing it once.
    pub idempotent: Option<bool>,
    /// Reaches things outside the server.
    pub open_world: Option<bool>,
}

/// What the definition of a resource or a resource template says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceView {
    /// Its name.
    pub name: Option<String>,
    /// A name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Its type.
    pub mime_type: Option<String>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// Annotations, unread.
    pub annotations: Option<RawJson>,
    /// Pictures, unread.
    pub icons: Vec<RawJson>,
    /// `_meta`, unread.
    pub meta: Option<RawJson>,
    /// Which fields did not fit.
    pub warnings: Vec<String>,
}

/// What a prompt's definition says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptView {
    /// A name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What it takes.
    pub arguments: Vec<PromptArgument>,
    /// Pictures, unread.
    pub icons: Vec<RawJson>,
    /// `_meta`, unread.
    pub meta: Option<RawJson>,
    /// Which fields did not fit.
    pub warnings: Vec<String>,
}

/// One argument of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it means.
    pub description: Option<String>,
    /// Must be given.
    pub required: bool,
}

impl ToolDefinition {
    /// The server's name for the tool.
    #[must_use]
    pub const fn name(&self) -> &ToolName {
        &self.name
    }

    /// Opens the definition.
    #[must_use]
    pub fn view(&self) -> ToolView {
        let Some(mut fields) = Fields::of(&self.raw) else { return ToolView::default() };
        let mut view = ToolView {
            title: fields.take("title"),
            description: fields.take("description"),
            input_schema: fields.take_object("inputSchema"),
            output_schema: fields.take_object("outputSchema"),
            annotations: ToolAnnotations::default(),
            icons: fields.take_elements("icons"),
            meta: fields.take_object("_meta"),
            warnings: Vec::new(),
        };
        let annotations = fields.take_object("annotations");
        if let Some(mut claims) = annotations.as_ref().and_then(Fields::of) {
            view.annotations = ToolAnnotations {
                title: claims.take("title"),
                read_only: claims.take("readOnlyHint"),
                destructive: claims.take("destructiveHint"),
                idempotent: claims.take("idempotentHint"),
                open_world: claims.take("openWorldHint"),
            };
            for warning in claims.into_warnings() {
                fields.warn("annotations", &warning);
            }
        }
        if view.input_schema.is_none() && fields.raw("inputSchema").is_none() {
            fields.warn("inputSchema", "missing");
        }
        view.warnings = fields.into_warnings();
        view
    }
}

impl ResourceDefinition {
    /// Its URI.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Opens the definition.
    #[must_use]
    pub fn view(&self) -> ResourceView {
        resource_view(&self.raw)
    }
}

impl ResourceTemplateDefinition {
    /// Its URI template.
    #[must_use]
    pub fn uri_template(&self) -> &str {
        &self.uri_template
    }

    /// Opens the definition.
    #[must_use]
    pub fn view(&self) -> ResourceView {
        resource_view(&self.raw)
    }
}

impl PromptDefinition {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens the definition.
    #[must_use]
    pub fn view(&self) -> PromptView {
        let Some(mut fields) = Fields::of(&self.raw) else { return PromptView::default() };
        let mut view = PromptView {
            title: fields.take("title"),
            description: fields.take("description"),
            arguments: Vec::new(),
            icons: fields.take_elements("icons"),
            meta: fields.take_object("_meta"),
            warnings: Vec::new(),
        };
        for argument in fields.take_elements("arguments") {
            match prompt_argument(&argument) {
                Some(argument) => view.arguments.push(argument),
                None => fields.warn("arguments", "an argument without a name"),
            }
        }
        view.warnings = fields.into_warnings();
        view
    }
}

impl Definition for ToolDefinition {
    fn from_raw(raw: RawJson) -> Result<Self, BrokenDefinition> {
        let name = identity(&raw, "name")?;
        Ok(Self { name: ToolName::new(name), raw })
    }

    fn raw(&self) -> &RawJson {
        &self.raw
    }
}

impl Definition for ResourceDefinition {
    fn from_raw(raw: RawJson) -> Result<Self, BrokenDefinition> {
        Ok(Self { uri: identity(&raw, "uri")?, raw })
    }

    fn raw(&self) -> &RawJson {
        &self.raw
    }
}

impl Definition for ResourceTemplateDefinition {
    fn from_raw(raw: RawJson) -> Result<Self, BrokenDefinition> {
        Ok(Self { uri_template: identity(&raw, "uriTemplate")?, raw })
    }

    fn raw(&self) -> &RawJson {
        &self.raw
    }
}

impl Definition for PromptDefinition {
    fn from_raw(raw: RawJson) -> Result<Self, BrokenDefinition> {
        Ok(Self { name: identity(&raw, "name")?, raw })
    }

    fn raw(&self) -> &RawJson {
        &self.raw
    }
}

impl fmt::Display for BrokenDefinition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.problem)
    }
}

impl std::error::Error for BrokenDefinition {}

/// The string that identifies an item, found without opening the rest of it.
fn identity(raw: &RawJson, key: &str) -> Result<String, BrokenDefinition> {
    let broken = |problem: String| BrokenDefinition { problem };
    if !raw.is_object() {
        return Err(broken("not an object".to_owned()));
    }
    let value = raw.member(key).ok_or_else(|| broken(format!("no `{key}`")))?;
    value.parse().map_err(|error| broken(format!("`{key}` is not a string: {error}")))
}

fn resource_view(raw: &RawJson) -> ResourceView {
    let Some(mut fields) = Fields::of(raw) else { return ResourceView::default() };
    let mut view = ResourceView {
        name: fields.take("name"),
        title: fields.take("title"),
        description: fields.take("description"),
        mime_type: fields.take("mimeType"),
        size: fields.take("size"),
        annotations: fields.take_object("annotations"),
        icons: fields.take_elements("icons"),
        meta: fields.take_object("_meta"),
        warnings: Vec::new(),
    };
    view.warnings = fields.into_warnings();
    view
}

fn prompt_argument(raw: &RawJson) -> Option<PromptArgument> {
    let mut fields = Fields::of(raw)?;
    Some(PromptArgument {
        name: fields.take("name")?,
        title: fields.take("title"),
        description: fields.take("description"),
        required: fields.take("required").unwrap_or(false),
    })
}

#[cfg(test)]
#[path = "definition_tests.rs"]
mod tests;
