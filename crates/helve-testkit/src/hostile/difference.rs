//! Owns the judgement of what reached a server: the difference between a run with hostile messages and one without.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{Arrival, Probe};

/// The prefix of metadata that is the protocol's own: what a gateway says there, it says for itself.
const RESERVED: &str = "io.modelcontextprotocol/";

/// What a server got besides what it got in the quiet run, but for each call that has to arrive, once and as it was sent; and
/// which calls did not arrive so. Lines for people: none when all is well.
///
/// The quiet run is the same in everything, but that the agent says only its handshake, and in plain words what needs no
/// decision. What a gateway says there for itself it may say again: a list is asked for twice when two ask for it. A request
/// that was made may be cancelled as well. Over HTTP a gateway also cancels requests that it gave up before the server read
/// them; that is its own doing as long as no agent named that id, so an id that a probe names must have been made before.
pub fn difference(probes: &[Probe], quiet: &[String], attacked: &[String]) -> Vec<String> {
    let quiet: HashSet<String> = quiet.iter().map(|frame| without_numbers(frame)).collect();
    let mut wrong = Vec::new();
    let mut arrived = vec![0_usize; probes.iter().map(|probe| probe.number + 1).max().unwrap_or_default()];
    let mut made = HashSet::new();
    let is_named = |id: &str| probes.iter().any(|probe| names_request(&probe.text, id));
    for frame in attacked {
        let is_quiet = quiet.contains(&without_numbers(frame));
        let is_of = |probe: &&Probe| probe.arrives.as_ref().is_some_and(|arrival| is_arrival(frame, arrival));
        match probes.iter().find(is_of) {
            _ if is_quiet => {}
            Some(probe) => arrived[probe.number] += 1,
            None if takes_back(frame).is_some_and(|id| made.contains(&id) || !is_named(&id)) => continue,
            None => {
                wrong.push(format!("reached the server: {frame}"));
                continue;
            }
        }
        made.extend(id_of(frame));
    }
    for probe in probes.iter().filter(|probe| probe.arrives.is_some() && arrived[probe.number] != 1) {
        wrong.push(format!("arrived {} times: {}", arrived[probe.number], probe.text));
    }
    wrong
}

/// A frame without what is another in each run: numbers that a client gives its requests, and its log level.
fn without_numbers(frame: &str) -> String {
    let Ok(mut message) = serde_json::from_str::<Value>(frame) else { return frame.to_owned() };
    if let Some(members) = message.as_object_mut() {
        members.remove("id");
    }
    if let Some(meta) = message.pointer_mut("/params/_meta").and_then(Value::as_object_mut) {
        meta.remove("progressToken");
        // From which level on a gateway wants logs it says for itself, and a list that it asks for again says it as it is then.
        meta.remove("io.modelcontextprotocol/logLevel");
    }
    message.to_string()
}

/// The id of a request, as JSON.
fn id_of(frame: &str) -> Option<String> {
    serde_json::from_str::<Value>(frame).ok()?.get("id").map(Value::to_string)
}

/// The id of the request that this frame takes back, if it does that and says nothing else.
fn takes_back(frame: &str) -> Option<String> {
    let message = serde_json::from_str::<Value>(frame).ok()?;
    let id = message.pointer("/params/requestId")?;
    let own = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    (message == own).then(|| id.to_string())
}

/// Does a message of an agent name this id as that of a request, wherever and however deep?
fn names_request(text: &str, id: &str) -> bool {
    let plain: String = text.chars().filter(|character| !character.is_whitespace() && *character != '\\').collect();
    plain.split("requestId\":").skip(1).any(|value| {
        let rest = value.trim_start_matches('"').strip_prefix(id);
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
    })
}

/// Is this frame the call that has to arrive, with its arguments byte for byte and nothing else of the agent's?
fn is_arrival(frame: &str, arrival: &Arrival) -> bool {
    let Ok(message) = serde_json::from_str::<Value>(frame) else { return false };
    let Some(params) = message["params"].as_object() else { return false };
    let mut rest = params.clone();
    rest.remove("arguments");
    let is_echo = rest.remove("name") == Some(json!("echo"));
    let own = |(key, _): &(String, Value)| key != "progressToken" && !key.starts_with(RESERVED);
    let meta: Map<String, Value> = match rest.remove("_meta") {
        Some(Value::Object(meta)) => meta.into_iter().filter(own).collect(),
        _ => Map::new(),
    };
    if !meta.is_empty() {
        rest.insert("_meta".to_owned(), Value::Object(meta));
    }
    let written = format!("\"arguments\":{}", arrival.arguments);
    message["method"] == "tools/call"
        && is_echo
        && !frame.contains("forged")
        && frame.contains(&written)
        && Value::Object(rest) == arrival.more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(number: usize) -> Probe {
        let arrival = Arrival { arguments: format!("{{\"probe\":{number}}}"), more: json!({}) };
        Probe {
            number,
            form: "",
            text: "the call".to_owned(),
            id: None,
            arrives: Some(arrival),
            headers: (String::new(), None),
        }
    }

    fn call(number: usize, more: &str) -> String {
        format!(r#"{{"id":9,"method":"tools/call","params":{{"name":"echo","arguments":{{"probe":{number}}}{more}}}}}"#)
    }

    #[test]
    fn what_is_no_call_of_theirs_is_told() {
        let list =
            |id: u32| format!(r#"{{"id":{id},"method":"tools/list","params":{{"_meta":{{"progressToken":{id}}}}}}}"#);
        let quiet = [list(1)];
        let judge = |frames: &[String]| difference(&[probe(3)], &quiet, frames);
        assert_eq!(judge(&[list(7), call(3, ""), list(8)]), Vec::<String>::new());
        assert_eq!(judge(&[list(7)]), ["arrived 0 times: the call"]);
        assert_eq!(judge(&[call(3, ""), call(3, "")]), ["arrived 2 times: the call"]);
        for other in [
            call(4, ""),
            call(3, r#","vendor":1"#),
            call(3, r#","_meta":{"a":"forged"}"#),
            list(1).replace("tools", "tasks"),
        ] {
            let wrong = judge(&[call(3, ""), other.clone()]);
            assert_eq!(wrong, [format!("reached the server: {other}")]);
        }
    }

    /// Of what was made, and of what no agent named.
    #[test]
    fn what_was_made_may_be_taken_back() {
        let theirs =
            Probe { text: r#"{"params": {"requestId" : 8, "a": "{\"requestId\":9}"}}"#.to_owned(), ..probe(3) };
        let judge = |frames: &[String]| difference(std::slice::from_ref(&theirs), &[], frames);
        let back = |more: &str, id: u32| {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}{more}}}}}"#)
        };
        assert_eq!(judge(&[call(3, ""), back("", 9)]), Vec::<String>::new());
        for other in [back("", 8), back(r#","reason":"theirs""#, 9)] {
            assert_eq!(judge(&[call(3, ""), other.clone()]), [format!("reached the server: {other}")]);
        }
        let early = [back("", 9), call(3, "")];
        assert_eq!(judge(&early), [format!("reached the server: {}", early[0])]);
        // No agent named 27 or 80: the gateway gave its own request up before the server read it.
        assert_eq!(judge(&[call(3, ""), back("", 27), back("", 80)]), Vec::<String>::new());
    }
}
