//! `x-mcp-header`: arguments of a tool that modern HTTP repeats in headers, so that intermediaries can route on them.

use helve_model::json::{RawJson, scan};
use helve_model::{Definition as _, ToolDefinition};

use crate::encode::quoted;

/// The header of one tool's argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    /// The way to the argument, from the outermost property inwards.
    path: Vec<String>,
    /// What follows `Mcp-Param-`.
    name: String,
}

/// How deep nested properties are searched for annotations.
const MAX_NESTING: usize = 16;

/// The headers a tool asks for.
///
/// # Errors
/// What is wrong with an annotation; such a tool must not be offered.
pub(crate) fn of_tool(tool: &ToolDefinition) -> Result<Vec<ParamHeader>, String> {
    let mut headers = Vec::new();
    if let Some(schema) = tool.raw().member("inputSchema")
        && schema.as_str().contains("x-mcp-header")
    {
        collect(&schema, &mut Vec::new(), &mut headers)?;
    }
    let mut names: Vec<String> = headers.iter().map(|header| header.name.to_ascii_lowercase()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair.first() == pair.last()) {
        Some(pair) => Err(format!("two arguments share the header {:?}", pair.first().map_or("", String::as_str))),
        None => Ok(headers),
    }
}

/// Headers and their values for these arguments; absent and `null` arguments have none.
pub(crate) fn values(headers: &[ParamHeader], arguments: &RawJson) -> Vec<(String, String)> {
    headers.iter().filter_map(|header| Some((header.header(), header.value(arguments)?))).collect()
}

/// The headers a tool asks for, each with the value it has to have for these arguments; `None`: it must not be there.
#[must_use]
pub fn mirrored(tool: &ToolDefinition, arguments: &RawJson) -> Vec<(String, Option<String>)> {
    let headers = of_tool(tool).unwrap_or_default();
    headers.iter().map(|header| (header.header(), header.value(arguments))).collect()
}

impl ParamHeader {
    fn header(&self) -> String {
        format!("Mcp-Param-{}", self.name)
    }

    fn value(&self, arguments: &RawJson) -> Option<String> {
        let mut value = arguments.clone();
        for key in &self.path {
            value = value.member(key)?;
        }
        match value.as_str() {
            "null" => None,
            text if text.starts_with('"') => value.parse().ok(),
            text => Some(text.to_owned()),
        }
    }
}

fn collect(schema: &RawJson, path: &mut Vec<String>, headers: &mut Vec<ParamHeader>) -> Result<(), String> {
    let Some(properties) = schema.member("properties").filter(RawJson::is_object) else { return Ok(()) };
    for member in scan::members(properties.as_str()).into_iter().flatten().map_while(Result::ok) {
        let Some(key) = member.key() else { continue };
        let property = RawJson::part_of(properties.shared(), member.value);
        path.push(key.into_owned());
        if let Some(annotation) = property.member("x-mcp-header") {
            headers.push(ParamHeader { path: path.clone(), name: check(&annotation, &property, path)? });
        } else if path.len() < MAX_NESTING {
            collect(&property, path, headers)?;
        }
        drop(path.pop());
    }
    Ok(())
}

/// Only a token may name a header, and only a string, an integer or a boolean may fill it.
fn check(annotation: &RawJson, property: &RawJson, path: &[String]) -> Result<String, String> {
    let place = quoted(&path.join("."));
    let name: String = annotation.parse().map_err(|_| format!("x-mcp-header of {place} is not a string"))?;
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(format!("x-mcp-header of {place} is {name:?}, which cannot name a header"));
    }
    match property.member_str("type").as_deref() {
        Some("string" | "integer" | "boolean") => Ok(name),
        _ => Err(format!("x-mcp-header of {place} stands on neither a string, an integer nor a boolean")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(properties: &str) -> ToolDefinition {
        let json = format!(r#"{{"name":"t","inputSchema":{{"type":"object","properties":{properties}}}}}"#);
        ToolDefinition::from_raw(RawJson::checked(json).unwrap()).unwrap()
    }

    #[test]
    fn values_come_from_the_arguments() {
        let tool = tool(
            r#"{"region":{"type":"string","x-mcp-header":"Region"},"deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"free":{"type":"string"}}"#,
        );
        let headers = of_tool(&tool).unwrap();
        let arguments = RawJson::checked(r#"{"region":"a\u0062 \n","deep":{"n":42},"free":"x"}"#).unwrap();
        assert_eq!(
            values(&headers, &arguments),
            [("Mcp-Param-Region".to_owned(), "ab \n".to_owned()), ("Mcp-Param-N".to_owned(), "42".to_owned())]
        );
        assert_eq!(values(&headers, &RawJson::checked(r#"{"region":null}"#).unwrap()), []);
    }

    #[test]
    fn broken_annotations() {
        let problem = |properties: &str| of_tool(&tool(properties)).unwrap_err();
        insta::assert_snapshot!(problem(r#"{"a":{"type":"string","x-mcp-header":""}}"#), @r#"x-mcp-header of "a" is "", which cannot name a header"#);
        insta::assert_snapshot!(problem(r#"{"a":{"type":"string","x-mcp-header":"My Region"}}"#), @r#"x-mcp-header of "a" is "My Region", which cannot name a header"#);
        insta::assert_snapshot!(problem(r#"{"a":{"type":"number","x-mcp-header":"A"}}"#), @r#"x-mcp-header of "a" stands on neither a string, an integer nor a boolean"#);
        insta::assert_snapshot!(problem(r#"{"a":{"type":"string","x-mcp-header":"My"},"b":{"type":"string","x-mcp-header":"mY"}}"#), @r#"two arguments share the header "my""#);
    }
}
