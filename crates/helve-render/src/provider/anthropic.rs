//! Owns Anthropic's rules for tools.

use super::{Said, Work, common, object};
use crate::schema::json::Json;
use crate::tool_text::ToolText;

/// "input_schema does not support oneOf, allOf, or anyOf at the top level": those three are merged by
/// [`common::plain_top`] anyway, and nothing else is refused there.
const BANNED_AT_TOP: [&str; 0] = [];

pub(super) fn tool(work: &mut Work, name: &str, entry: &ToolText<'_>, schema: Json, said: &mut Said) -> Json {
    let mut schema = common::plain_top(&schema, &BANNED_AT_TOP, said);
    // "input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"; only the top is checked.
    work.rename_properties(&mut schema, |name| {
        (1..=64).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
    });
    let description = work.description(entry, std::mem::take(said), None);
    object([
        ("name", Some(name.into())),
        ("description", description.map(Json::String)),
        ("input_schema", Some(schema.into())),
    ])
    .into()
}
