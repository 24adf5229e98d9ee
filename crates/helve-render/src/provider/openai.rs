//! Owns OpenAI's rules for function tools, in both of its interfaces.

use super::{NoticeKind, Provider, Said, Strictness, Work, common, object, strict};
use crate::schema::json::{Json, Object};
use crate::tool_text::ToolText;

/// "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level"; the first three
/// are merged by [`common::plain_top`].
const BANNED_AT_TOP: [&str; 2] = ["enum", "not"];
/// "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024".
const MAX_DESCRIPTION: usize = 1024;

pub(super) fn tool(work: &mut Work, name: &str, entry: &ToolText<'_>, schema: Json, said: &mut Said) -> Json {
    let mut schema = common::plain_top(&schema, &BANNED_AT_TOP, said);
    let mut is_strict = false;
    if work.strictness == Strictness::WherePossible {
        match strict::strict(&schema) {
            Ok(strict) => {
                schema = strict;
                is_strict = true;
                work.filled = Some(entry.input_schema.to_owned());
            }
            Err(reason) => work.notices.push(NoticeKind::NotStrict(reason)),
        }
    }
    // "In context=('properties', 'paths'), array schema missing items".
    common::each(&mut schema, &mut with_items);
    let description = work.description(entry, std::mem::take(said), Some(MAX_DESCRIPTION)).map(Json::String);
    // Responses makes schemas strict by itself where it is not told; so it is always told.
    let function = [
        ("name", Some(name.into())),
        ("description", description),
        ("parameters", Some(schema.into())),
        ("strict", Some(is_strict.into())),
    ];
    match work.provider {
        Provider::OpenAiResponses => {
            let mut flat = object([("type", Some("function".into()))]);
            flat.extend(object(function));
            flat.into()
        }
        _ => object([("type", Some("function".into())), ("function", Some(object(function).into()))]).into(),
    }
}

fn with_items(schema: &mut Object) {
    let is_array = match schema.get("type") {
        Some(Json::String(kind)) => kind == "array",
        Some(Json::Array(kinds)) => kinds.contains(&"array".into()),
        _ => false,
    };
    if is_array && !schema.contains_key("items") {
        schema.insert("items".to_owned(), Object::new().into());
    }
}
