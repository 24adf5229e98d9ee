//! What an agent says it can do, as the wire understands it.

use helve_model::json::{ObjectWriter, RawJson, scan};
use helve_wire::{ClientCapabilities, QuestionKind};

/// Reads `capabilities` of `initialize`: besides what both eras have, tasks that the agent makes of questions.
pub(crate) fn of_session(capabilities: &RawJson) -> ClientCapabilities {
    let mut can = read(capabilities);
    if let Some(tasks) = capabilities.member("tasks").filter(|tasks| tasks.is_object() && tasks.check().is_ok()) {
        // A list would hold what the agent makes for other servers.
        let passed = ObjectWriter::new().members_of(&tasks, |name| name != "list");
        can.tasks = true;
        can.written.push(("tasks".to_owned(), passed.finish()));
    }
    can
}

/// Reads the capabilities of either era.
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
        tasks: false,
        extensions: capabilities.member("extensions").map_or_else(Vec::new, |extensions| members(&extensions)),
        written: members(capabilities).into_iter().filter_map(written).collect(),
    }
}

/// What an agent would have to be able to do to be asked this; `None` when it is.
pub(crate) fn missing_for(
    kind: Option<QuestionKind>,
    params: Option<&RawJson>,
    can: &ClientCapabilities,
) -> Option<&'static str> {
    let mode = params.and_then(|params| params.member_str("mode"));
    match (kind?, mode.as_deref()) {
        (QuestionKind::Elicitation, Some("url")) if !can.elicitation_url => Some(r#"{"elicitation":{"url":{}}}"#),
        (QuestionKind::Elicitation, None | Some("form")) if !can.elicitation_form => {
            Some(r#"{"elicitation":{"form":{}}}"#)
        }
        (QuestionKind::Sampling, _) if !can.sampling => Some(r#"{"sampling":{}}"#),
        (QuestionKind::Roots, _) if !can.roots => Some(r#"{"roots":{}}"#),
        (QuestionKind::Task(_), _) if !can.tasks => Some(r#"{"tasks":{}}"#),
        _ => None,
    }
}

/// A capability as servers are told of it.
fn written((name, value): (String, RawJson)) -> Option<(String, RawJson)> {
    let is_usable = value.is_object() && value.check().is_ok();
    match name.as_str() {
        // Read above, and where a session begins.
        "extensions" | "tasks" => None,
        "elicitation" | "sampling" | "roots" if !is_usable => None,
        "elicitation" if value.member("form").is_none() && value.member("url").is_none() => {
            Some((name, ObjectWriter::after(&value).object("form", ObjectWriter::new()).finish()))
        }
        _ => value.check().is_ok().then_some((name, value)),
    }
}

fn members(object: &RawJson) -> Vec<(String, RawJson)> {
    scan::members(object.as_str())
        .into_iter()
        .flatten()
        .map_while(Result::ok)
        .filter_map(|member| Some((member.key()?.into_owned(), RawJson::part_of(object.shared(), member.value))))
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
        let unknown = r#"{"elicitation":{"form":{"z":1}},"sampling":{"context":{},"tools":{}},"experimental":{"x":{}},"vendor":{"q":1}}"#;
        check(unknown, unknown);
        check(r#"{"elicitation":{"v":1},"roots":false,"tasks":{}}"#, r#"{"elicitation":{"v":1,"form":{}}}"#);
    }

    /// G4: servers are told of the tasks that an agent makes for them; a list of all of them is nobody's.
    #[test]
    fn g4_tasks_are_a_sessions() {
        let declared =
            r#"{"sampling":{},"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}}}}}"#;
        let can = of_session(&RawJson::from_static(declared));
        let told = r#"{"sampling":{},"tasks":{"cancel":{},"requests":{"sampling":{"createMessage":{}}}}}"#;
        assert_eq!((can.tasks, can.to_json()), (true, told.to_owned()));
        assert!(!of_session(&RawJson::from_static(r#"{"tasks":true}"#)).tasks);
    }
}
