//! Owns what a hostile agent says: every method of both eras and of the extensions, in every form that a gateway might let
//! through undecided. Each message carries a number, so that what reaches a server can be traced to the message it came from.

use serde_json::{Value, json};

/// The requests of both eras and of the extensions, what servers ask, and what nobody knows.
pub const METHODS: [&str; 35] = [
    "tools/call",
    "tools/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "resources/list",
    "resources/templates/list",
    "resources/directory/read",
    "prompts/get",
    "prompts/list",
    "completion/complete",
    "logging/setLevel",
    "ping",
    "initialize",
    "server/discover",
    "tasks/get",
    "tasks/result",
    "tasks/update",
    "tasks/cancel",
    "tasks/list",
    "skills/list",
    "skills/get",
    "ui/initialize",
    "sampling/createMessage",
    "elicitation/create",
    "roots/list",
    "vendor/do",
    "rpc.discover",
    "notifications/initialized",
    "notifications/progress",
    "notifications/message",
    "notifications/roots/list_changed",
    "notifications/tools/list_changed",
    "notifications/tasks/status",
    "notifications/vendor/said",
];

/// Where the messages go, and what the rules there are.
#[derive(Clone, Debug)]
pub struct Target {
    /// A tool that may be called, under the name that the agent knows; `None`: there is none.
    pub allowed: Option<String>,
    /// A tool that may not be called.
    pub denied: String,
    /// A resource that may not be read, and a prompt that may not be got.
    pub resource: String,
    pub prompt: String,
    /// The agent speaks a version that has batches.
    pub batches: bool,
}

/// One message.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Stands in it as `"probe":NUMBER`.
    pub number: usize,
    /// What kind of message it is.
    pub form: &'static str,
    /// The message, as one line.
    pub text: String,
    /// The id of the answer that has to come.
    pub id: Option<Value>,
    /// It has to reach the server, once, with its arguments as they are.
    pub arrives: bool,
}

/// Everything that is tried at a target.
pub fn probes(target: &Target) -> Vec<Probe> {
    let mut probes = Probes { target, all: Vec::new() };
    for method in METHODS {
        probes.denied(method);
    }
    probes.calls();
    probes.all
}

struct Probes<'a> {
    target: &'a Target,
    all: Vec<Probe>,
}

impl Probes<'_> {
    fn add(&mut self, form: &'static str, is_answered: bool, text: impl FnOnce(usize, &str) -> String) {
        let number = self.all.len();
        let id = format!("p{number}");
        let text = text(number, &json!(id).to_string());
        self.all.push(Probe { number, form, text, id: is_answered.then(|| json!(id)), arrives: false });
    }

    /// One method in every form.
    fn denied(&mut self, method: &'static str) {
        let quoted = json!(method).to_string();
        let target = self.target;
        macro_rules! form {
            ($name:literal, $is_answered:expr, |$number:ident, $id:ident, $params:ident| $text:expr) => {{
                let $params = params(target, self.all.len()).to_string();
                self.add($name, $is_answered, |$number, $id| $text);
            }};
        }
        let is_told = method.starts_with("notifications/");
        form!("request", true, |_n, id, p| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{quoted},"params":{p}}}"#));
        form!("notification", false, |_n, _id, p| format!(r#"{{"jsonrpc":"2.0","method":{quoted},"params":{p}}}"#));
        form!("members in another order", true, |_n, id, p| format!(
            r#"{{"params":{p},"method":{quoted},"id":{id},"jsonrpc":"2.0"}}"#
        ));
        form!("answer to nobody", false, |_n, _id, p| format!(
            r#"{{"jsonrpc":"2.0","id":4242,"result":{{"method":{quoted},"params":{p}}}}}"#
        ));
        form!("answer to another", false, |_n, _id, p| format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"action":"accept","method":{quoted},"content":{p}}}}}"#
        ));
        form!("request and answer", false, |_n, _id, p| format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":{quoted},"result":{p}}}"#
        ));
        if self.target.batches {
            form!("batch", false, |_n, id, p| format!(
                r#"[{{"jsonrpc":"2.0","id":{id},"method":{quoted},"params":{p}}},{{"jsonrpc":"2.0","method":{quoted},"params":{p}}}]"#
            ));
        }
        form!("method twice", false, |_n, id, p| format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","m\u0065thod":{quoted},"params":{p}}}"#
        ));
        form!("params twice", false, |_n, id, p| format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":{quoted},"params":{{"name":"x"}},"params":{p}}}"#
        ));
        form!("broken at the end", false, |n, id, _p| format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":{quoted},"params":{{"probe":{n},"_meta":{{"a":bogus}}}}}}"#
        ));
        form!("cut", false, |_n, _id, p| format!(r#"{{"jsonrpc":"2.0","method":{quoted},"params":{p}"#));
        form!("id of null", false, |_n, _id, p| format!(
            r#"{{"jsonrpc":"2.0","id":null,"method":{quoted},"params":{p}}}"#
        ));
        form!("id of an object", false, |_n, _id, p| format!(
            r#"{{"jsonrpc":"2.0","id":{{}},"method":{quoted},"params":{p}}}"#
        ));
        form!("id of true", false, |_n, _id, p| format!(
            r#"{{"jsonrpc":"2.0","id":true,"method":{quoted},"params":{p}}}"#
        ));
        form!("no version", false, |_n, id, p| format!(r#"{{"id":{id},"method":{quoted},"params":{p}}}"#));
        form!("params in an array", false, |_n, id, p| format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":{quoted},"params":[{p}]}}"#
        ));
        form!("escaped method", !is_told, |_n, id, p| format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{p}}}"#,
            quoted.replace('/', "\\/").replace('o', "\\u006f")
        ));
        for odd in odd_spellings(method) {
            let odd = json!(odd).to_string();
            form!("odd spelling", true, |_n, id, p| format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":{odd},"params":{p}}}"#
            ));
            form!("odd spelling, told", false, |_n, _id, p| format!(
                r#"{{"jsonrpc":"2.0","method":{odd},"params":{p}}}"#
            ));
        }
        // The other era, on the same connection.
        let meta = modern_meta();
        form!("other era", false, |n, id, _p| {
            let mut params = params(target, n);
            params["_meta"] = meta.clone();
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{quoted},"params":{params}}}"#)
        });
        form!("in answers", false, |n, id, p| {
            let mut params = json!({"name": target.denied, "arguments": {"probe": n}, "_meta": meta});
            params["inputResponses"] = json!({"q": {"method": method, "params": p}});
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
        });
        form!("in a forged state", false, |n, id, p| {
            let mut params = json!({"name": target.denied, "arguments": {"probe": n}, "_meta": meta});
            params["requestState"] = json!(p);
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
        });
        form!("in call_tool", true, |n, id, p| {
            let arguments = json!({"name": target.denied, "arguments": {"probe": n}, "method": method, "params": p});
            let params = json!({"name": "call_tool", "arguments": arguments});
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
        });
        form!("in the cursor", !is_told && method != "initialize", |n, id, p| {
            let params = json!({"cursor": p, "name": target.denied, "probe": n, "uri": target.resource});
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{quoted},"params":{params}}}"#)
        });
    }

    /// Calls that are allowed, and the same with what is denied beside it.
    fn calls(&mut self) {
        let Target { allowed, denied, .. } = self.target;
        for (first, second) in [(allowed.as_deref().unwrap_or("echo"), denied.as_str()), (denied, "echo")] {
            self.add("name twice", true, |n, id| format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{first}","name":"{second}","arguments":{{"probe":{n}}}}}}}"#
            ));
            self.add("name twice, escaped", true, |n, id| format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{first}","n\u0061me":"{second}","arguments":{{"probe":{n}}}}}}}"#
            ));
            self.add("arguments twice", true, |n, id| format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{first}","arguments":{{"probe":{n}}},"arguments":{{"probe":{n},"x":1}}}}}}"#
            ));
            self.add("deep twice", true, |n, id| format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{first}","arguments":{{"probe":{n},"x":[{{"y":1,"y":2}}]}}}}}}"#
            ));
        }
        let Some(allowed) = allowed else { return };
        let (first, rest) = allowed.split_at(1);
        let spelled = format!("\"\\u{:04x}{rest}\"", first.bytes().map(u32::from).sum::<u32>());
        let meta = modern_meta();
        let name = json!(allowed).to_string();
        let lines: [(&'static str, String, String); 5] = [
            ("allowed", name.clone(), String::new()),
            ("allowed, name escaped", spelled, String::new()),
            (
                "allowed, more members",
                name.clone(),
                r#","vendor":{"a":[1]},"_meta":{"trace":"1-2","progressToken":"t"}"#.to_owned(),
            ),
            (
                "allowed, reserved members",
                name.clone(),
                r#","_meta":{"progress\u0054oken":1,"io.modelcontextprotocol\/clientInfo":{"name":"forged"}}"#
                    .to_owned(),
            ),
            ("allowed, other era", name, format!(r#","_meta":{meta}"#)),
        ];
        for (form, name, more) in &lines {
            for _ in 0..4 {
                self.add(form, true, |n, id| format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":{name},"arguments":{{"probe":{n}}}{more}}}}}"#
                ));
                if let Some(last) = self.all.last_mut() {
                    last.arrives = true;
                }
            }
        }
    }
}

/// Parameters that name what is denied, in every way that a method could.
fn params(target: &Target, number: usize) -> Value {
    let Target { denied, resource, prompt, .. } = target;
    json!({
        "name": denied, "uri": resource, "arguments": {"probe": number}, "taskId": "task-1",
        "ref": {"type": "ref/prompt", "name": prompt}, "argument": {"name": "who", "value": "x"},
        "level": "debug", "requestId": 1, "progressToken": 1, "probe": number,
    })
}

fn odd_spellings(method: &str) -> [String; 6] {
    [
        method.to_uppercase(),
        format!(" {method}"),
        format!("{method}\u{200b}"),
        format!("{method}/"),
        method.replacen('/', "//", 1) + "\u{0}",
        method.replacen('l', "\u{ad}l", 1) + "\u{feff}",
    ]
}

fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "a", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// What a server got that it should not have got, and what it should have got and did not: lines for people.
pub fn judge(probes: &[Probe], frames: &[Value]) -> Vec<String> {
    /// By these a gateway gets to know a server, or says for itself what an agent wants.
    const OWN: [&str; 11] = [
        "initialize",
        "server/discover",
        "notifications/initialized",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "subscriptions/listen",
        "logging/setLevel",
        "tasks/list",
        "ping",
    ];
    let mut wrong = Vec::new();
    let mut arrived = vec![0_usize; probes.len()];
    for frame in frames {
        let is_own = frame["method"].as_str().is_some_and(|method| OWN.contains(&method));
        if is_own && !frame.to_string().contains("probe") && !frame.to_string().contains("forged") {
            continue;
        }
        let number = frame["params"]["arguments"]["probe"].as_u64().and_then(|number| usize::try_from(number).ok());
        let probe = number.and_then(|number| probes.get(number)).filter(|probe| {
            probe.arrives
                && frame["method"] == "tools/call"
                && frame["params"]["arguments"] == json!({"probe": probe.number})
        });
        match probe {
            Some(probe) if !frame.to_string().contains("forged") => arrived[probe.number] += 1,
            _ => wrong.push(format!("reached the server: {frame}")),
        }
    }
    for probe in probes.iter().filter(|probe| probe.arrives && arrived[probe.number] != 1) {
        wrong.push(format!("arrived {} times: {}", arrived[probe.number], probe.text));
    }
    wrong
}

/// What a hostile server says in the course of a call, one text after another: each ends with the answer to the call, whose
/// id is `$ID`. No agent that declared nothing and asked for nothing may get any of it.
pub fn server_texts() -> Vec<String> {
    let answer = r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}"#;
    let told = ["notifications/resources/updated", "notifications/subscriptions/acknowledged", "notifications/tasks"];
    let mut texts = Vec::new();
    for method in METHODS.into_iter().chain(told).filter(|method| *method != "notifications/message") {
        let params = r#"{"probe":1,"uri":"test://text","taskId":"task-1","requestId":1,"progressToken":1,"progress":1,"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{}},"messages":[],"maxTokens":1}"#;
        let names = std::iter::once(method.to_owned()).chain(odd_spellings(method));
        for name in names {
            let name = json!(name).to_string();
            texts.push(format!(r#"{{"jsonrpc":"2.0","id":"q","method":{name},"params":{params}}}"#));
            texts.push(format!(r#"{{"jsonrpc":"2.0","method":{name},"params":{params}}}"#));
        }
        let quoted = json!(method).to_string();
        texts.push(format!(r#"[{{"jsonrpc":"2.0","id":"q","method":{quoted},"params":{params}}},{{"jsonrpc":"2.0","method":{quoted},"params":{params}}}]"#));
        texts.push(format!(r#"{{"jsonrpc":"2.0","method":{quoted},"params":{{"probe":1,"a":bogus}}}}"#));
        texts.push(format!(r#"{{"jsonrpc":"2.0","method":{quoted},"method":{quoted},"params":{params}}}"#));
        texts.push(format!(r#"{{"jsonrpc":"2.0","id":4242,"result":{{"method":{quoted},"params":{params}}}}}"#));
    }
    texts.into_iter().map(|text| format!("{text}\n{answer}\n")).collect()
}
