//! What an agent says it can do, as the wire understands it.

use helve_model::json::{RawJson, scan};
use helve_wire::ClientCapabilities;

/// Reads `capabilities` of `initialize`, or the metadata of a modern request.
pub(crate) fn read(capabilities: &RawJson) -> ClientCapabilities {
    let declared = |value: Option<RawJson>| value.is_some_and(|value| !matches!(value.as_str(), "null" | "false"));
    let part = |name: &str, part: &str| declared(capabilities.member(name).and_then(|value| value.member(part)));
    let has = |name: &str| declared(capabilities.member(name));
    let elicitation_url = part("elicitation", "url");
    ClientCapabilities {
        // Before there were two ways to ask, the form was meant.
        elicitation_form: part("elicitation", "form") || (has("elicitation") && !elicitation_url),
        elicitation_url,
        sampling: has("sampling"),
        sampling_tools: part("sampling", "tools"),
        roots: has("roots"),
        roots_list_changed: part("roots", "listChanged"),
        extensions: extensions(capabilities),
    }
}

fn extensions(capabilities: &RawJson) -> Vec<(String, RawJson)> {
    let Some(extensions) = capabilities.member("extensions") else { return Vec::new() };
    scan::members(extensions.as_str())
        .into_iter()
        .flatten()
        .map_while(Result::ok)
        .filter_map(|member| Some((member.key()?, RawJson::part_of(extensions.shared(), member.value))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capability_survives() {
        let check = |declared: &'static str, told: &str| {
            assert_eq!(read(&RawJson::from_static(declared)).to_json(), told);
        };
        check("{}", "{}");
        check(r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#);
        check(r#"{"elicitation":{"url":{}},"sampling":{}}"#, r#"{"elicitation":{"url":{}},"sampling":{}}"#);
        let all = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true},"extensions":{"x/y":{"z":1}}}"#;
        check(all, all);
    }
}
