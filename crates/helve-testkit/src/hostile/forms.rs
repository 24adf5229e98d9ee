//! Owns the forms of a hostile agent's messages.

use serde_json::{Value, json};

use super::{Arrival, Pending, Probe, Speech, Target, modern_meta, odd_spellings};

/// The members by which a request says that it is of the modern era.
const MODERN: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}"#;

/// Messages so far.
pub(super) struct Probes<'a> {
    target: &'a Target,
    pub(super) all: Vec<Probe>,
}

/// Is an answer waited for?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Comes,
    /// None comes, or nothing says that one does.
    NotAwaited,
}

use Answer::{Comes, NotAwaited};

impl<'a> Probes<'a> {
    pub(super) const fn new(target: &'a Target) -> Self {
        Self { target, all: Vec::new() }
    }

    /// Adds a message, made of its number and its id.
    fn add(&mut self, form: &'static str, answer: Answer, text: impl FnOnce(usize, &str) -> String) {
        let number = self.all.len();
        let id = format!("p{number}");
        let text = text(number, &json!(id).to_string());
        let headers = headers_of(&text);
        let id = (answer == Comes).then(|| json!(id));
        self.all.push(Probe { number, form, text, id, arrives: None, headers });
    }

    /// Parameters of the next message that name what is denied, in every way that a method could.
    fn params(&self) -> Value {
        let Target { denied, resource, prompt, .. } = self.target;
        let number = self.all.len();
        let mut params = json!({
            "name": denied, "uri": resource, "arguments": {"probe": number}, "taskId": "task-1",
            "ref": {"type": "ref/prompt", "name": prompt}, "argument": {"name": "who", "value": "x"},
            "level": "debug", "requestId": 1, "progressToken": 1, "probe": number,
        });
        if self.target.speech.is_modern() {
            params["_meta"] = modern_meta(&json!({}));
        }
        params
    }

    /// One method in every form; no rule allows any of it.
    pub(super) fn undecided(&mut self, method: &'static str) {
        let quoted = json!(method).to_string();
        // A subscription is answered when it ends.
        let comes = if method == "subscriptions/listen" { NotAwaited } else { Comes };
        self.as_messages(method, &quoted, comes);
        self.as_answers(method, &quoted);
        self.in_odd_envelopes(method, &quoted, comes);
        self.inside_others(method, &quoted, comes);
    }

    fn as_messages(&mut self, method: &str, quoted: &str, comes: Answer) {
        let is_told = method.starts_with("notifications");
        let p = self.params();
        self.add("request", comes, |_, id| request(id, quoted, &p));
        let p = self.params();
        self.add("notification", NotAwaited, |_, _| format!(r#"{{"jsonrpc":"2.0","method":{quoted},"params":{p}}}"#));
        let p = self.params();
        self.add("members in another order", comes, |_, id| {
            format!(r#"{{"params":{p},"method":{quoted},"id":{id},"jsonrpc":"2.0"}}"#)
        });
        let p = self.params();
        self.add("batch", NotAwaited, |_, id| {
            format!(r#"[{},{{"jsonrpc":"2.0","method":{quoted},"params":{p}}}]"#, request(id, quoted, &p))
        });
        let p = self.params();
        let escaped = quoted.replace('/', "\\/").replace('o', "\\u006f");
        self.add("escaped method", if is_told { NotAwaited } else { comes }, |_, id| request(id, &escaped, &p));
        for odd in odd_spellings(method) {
            let odd = json!(odd).to_string();
            let p = self.params();
            self.add("odd spelling", Comes, |_, id| request(id, &odd, &p));
            let p = self.params();
            self.add("odd spelling, told", NotAwaited, |_, _| {
                format!(r#"{{"jsonrpc":"2.0","method":{odd},"params":{p}}}"#)
            });
        }
    }

    /// Answers to nobody, to another agent, and to whom nobody asked anything.
    fn as_answers(&mut self, method: &str, quoted: &str) {
        let p = self.params();
        self.add("answer to nobody", NotAwaited, |_, _| {
            format!(r#"{{"jsonrpc":"2.0","id":4242,"result":{{"method":{quoted},"params":{p}}}}}"#)
        });
        let p = self.params();
        self.add("request and answer", NotAwaited, |_, _| {
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":{quoted},"result":{p}}}"#)
        });
        let asked = match &self.target.pending {
            Some(Pending::Question(id)) => id.clone(),
            _ => json!(1),
        };
        for id in [asked.clone(), json!(asked.to_string()), json!(0)] {
            let p = self.params();
            self.add("answer to another", NotAwaited, |_, _| {
                format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept","method":{quoted},"content":{p}}}}}"#
                )
            });
        }
        if let Some(Pending::State(params)) = self.target.pending.clone() {
            self.add("another's state", NotAwaited, |n, id| {
                let mut params = params;
                let answers = params["inputResponses"].as_object_mut().into_iter().flat_map(|all| all.values_mut());
                answers.for_each(|answer| {
                    *answer = json!({"action": "accept", "method": method, "content": {"probe": n, "name": "forged"}});
                });
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
            });
        }
    }

    fn in_odd_envelopes(&mut self, method: &str, quoted: &str, comes: Answer) {
        for (form, id) in
            [("id of null", "null"), ("id of an object", "{}"), ("id of true", "true"), ("id of an array", "[1]")]
        {
            let p = self.params();
            self.add(form, NotAwaited, |_, _| request(id, quoted, &p));
        }
        for (form, id) in [("id with a fraction", "1.5e300"), ("id of a long number", "99999999999999999999999999")] {
            let p = self.params();
            self.add(form, NotAwaited, |_, _| request(id, quoted, &p));
        }
        let p = self.params();
        self.add("no version", NotAwaited, |_, id| format!(r#"{{"id":{id},"method":{quoted},"params":{p}}}"#));
        let p = self.params();
        self.add("another version", NotAwaited, |_, id| request(id, quoted, &p).replacen("2.0", "1.0", 1));
        let p = self.params();
        self.add("params in an array", NotAwaited, |_, id| request(id, quoted, &json!([p])));
        self.add("broken at the end", NotAwaited, |n, id| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{quoted},"params":{{"probe":{n},"_meta":{{"a":bogus}}}}}}"#)
        });
        let p = self.params();
        self.add("cut", NotAwaited, |_, _| format!(r#"{{"jsonrpc":"2.0","method":{quoted},"params":{p}"#));
        // Named twice, at every level.
        let p = self.params();
        self.add("method twice", NotAwaited, |_, id| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","m\u0065thod":{quoted},"params":{p}}}"#)
        });
        let p = self.params();
        self.add("id twice", NotAwaited, |_, id| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{quoted},"id":null,"params":{p}}}"#)
        });
        let p = self.params();
        self.add("params twice", NotAwaited, |_, id| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{quoted},"params":{{"name":"x"}},"params":{p}}}"#)
        });
        let doubled = |p: &Value, member: &str| {
            let text = p.to_string();
            format!("{{{member},{}", text.get(1..).unwrap_or_default())
        };
        for member in [
            r#""name":"ping""#,
            r#""uri":"test:\/\/open""#,
            r#""_meta":{},"_meta":{"a":1}"#,
            r#""a":[{"b":{"c":1,"c":2}}]"#,
        ] {
            let p = self.params();
            self.add("twice further in", NotAwaited, |_, id| {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{quoted},"params":{}}}"#, doubled(&p, member))
            });
        }
        // The other era, on the same connection.
        let mut p = self.params();
        if self.target.speech.is_modern() {
            p["_meta"] = json!({});
        } else {
            p["_meta"] = modern_meta(&json!({}));
        }
        self.add("other era", NotAwaited, |_, id| request(id, quoted, &p));
        let mut p = self.params();
        p["_meta"] = json!({
            "io.modelcontextprotocol/method": method, "method": method, "progressToken": {"probe": self.all.len()},
            "io.modelcontextprotocol/protocolVersion": "1999-01-01",
        });
        self.add("in the metadata", NotAwaited, |_, id| request(id, quoted, &p));
        if self.target.speech == Speech::ModernWithHeaders {
            for said in ["ping", "tools/list", ""] {
                let p = self.params();
                self.add("header that disagrees", comes, |_, id| request(id, quoted, &p));
                self.say(said, self.target.allowed.clone());
            }
        }
    }

    fn inside_others(&mut self, method: &str, quoted: &str, comes: Answer) {
        let Target { denied, resource, .. } = self.target;
        let meta = modern_meta(&json!({}));
        let p = self.params();
        self.add("in answers", NotAwaited, |n, id| {
            let mut params = json!({"name": denied, "arguments": {"probe": n}, "_meta": meta});
            params["inputResponses"] = json!({"q": {"method": method, "params": p}});
            request(id, r#""tools/call""#, &params)
        });
        let p = self.params();
        self.add("in a forged state", NotAwaited, |n, id| {
            let mut params = json!({"name": denied, "arguments": {"probe": n}, "_meta": meta});
            params["requestState"] = json!(p.to_string());
            request(id, r#""tools/call""#, &params)
        });
        let p = self.params();
        self.add("in call_tool", Comes, |n, id| {
            let mut params = p.clone();
            params["arguments"] = json!({"name": denied, "arguments": {"probe": n}, "method": method, "params": p});
            params["name"] = json!("call_tool");
            request(id, r#""tools/call""#, &params)
        });
        let p = self.params();
        self.add("in call_tool, as the tool", Comes, |n, id| {
            let mut params = p.clone();
            params["arguments"] = json!({"name": method, "arguments": {"name": denied, "probe": n}});
            params["name"] = json!("call_tool");
            request(id, r#""tools/call""#, &params)
        });
        let p = self.params();
        let is_answered = !method.starts_with("notifications") && method != "initialize";
        self.add("in the cursor", if is_answered { comes } else { NotAwaited }, |n, id| {
            let mut params = json!({"cursor": p.to_string(), "name": denied, "probe": n, "uri": resource});
            if let Some(meta) = p.get("_meta") {
                params["_meta"] = meta.clone();
            }
            request(id, quoted, &params)
        });
    }

    /// Calls that are allowed, and the same with what is denied beside it.
    pub(super) fn calls(&mut self) {
        let Target { allowed, denied, speech, .. } = self.target;
        let meta = if speech.is_modern() { format!(r#","_meta":{{{MODERN}}}"#) } else { String::new() };
        let call = |id: &str, params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{params}{meta}}}}}"#)
        };
        for (first, second) in [(allowed.as_deref().unwrap_or("echo"), denied.as_str()), (denied, "echo")] {
            for second_key in ["name", "n\\u0061me"] {
                self.add("name twice", NotAwaited, |n, id| {
                    call(id, &format!(r#""name":"{first}","{second_key}":"{second}","arguments":{{"probe":{n}}}"#))
                });
            }
            self.add("arguments twice", NotAwaited, |n, id| {
                call(id, &format!(r#""name":"{first}","arguments":{{"probe":{n}}},"arguments":{{"probe":{n},"x":1}}"#))
            });
            self.add("deep twice", NotAwaited, |n, id| {
                call(id, &format!(r#""name":"{first}","arguments":{{"probe":{n},"x":[{{"y":1,"y":2}}]}}"#))
            });
        }
        let Some(allowed) = allowed else { return };
        let (first, rest) = allowed.split_at(1);
        let escaped = format!("\"\\u{:04x}{rest}\"", first.bytes().map(u32::from).sum::<u32>());
        let name = json!(allowed).to_string();
        let plain = |n: usize| format!(r#"{{"probe":{n}}}"#);
        // What a parser would write otherwise.
        let odd = |n: usize| format!(r#"{{ "probe": {n}, "z":1E5,"a":[1.0 , "\u00e9\/"] }}"#);
        let named = |name: &str, arguments: &str| format!(r#""name":{name},"arguments":{arguments}"#);
        let nothing = json!({});
        for _ in 0..3 {
            self.allowed("allowed", |n| (named(&name, &plain(n)), plain(n)), "", &nothing);
            self.allowed("allowed, oddly written", |n| (named(&escaped, &odd(n)), odd(n)), "", &nothing);
            let vendor = |n: usize| (format!(r#"{},"vendor":{{"a":[1]}}"#, named(&name, &plain(n))), plain(n));
            let more = json!({"vendor": {"a": [1]}, "_meta": {"trace": "1-2"}});
            self.allowed("allowed, more members", vendor, r#""trace":"1-2","progressToken":"t""#, &more);
            if !speech.is_modern() {
                let forged = r#""progress\u0054oken":1,"io.modelcontextprotocol\/clientInfo":{"name":"forged"}"#;
                self.allowed("allowed, reserved members", |n| (named(&name, &plain(n)), plain(n)), forged, &nothing);
                self.allowed("allowed, other era", |n| (named(&name, &plain(n)), plain(n)), MODERN, &nothing);
            }
            if self.target.call_tool {
                let inside = |n: usize| (named(r#""call_tool""#, &format!("{{{}}}", named(&name, &odd(n)))), odd(n));
                self.allowed("allowed, in call_tool", inside, "", &nothing);
            }
        }
        if *speech == Speech::Legacy {
            self.add("allowed, in a batch", NotAwaited, |n, id| {
                let beside = call(id, &named(&json!(denied).to_string(), &plain(n)));
                format!("[{beside},{}]", call(&format!("\"b{n}\""), &named(&name, &plain(n))))
            });
            self.arrives(plain(self.all.len() - 1), &nothing);
        }
        if *speech == Speech::ModernWithHeaders {
            for (method, other) in
                [("tools/list", Some(allowed.clone())), ("tools/call", Some(denied.clone())), ("tools/call", None)]
            {
                self.add("allowed, but for its headers", Comes, |n, id| call(id, &named(&name, &plain(n))));
                self.say(method, other);
            }
        }
    }

    /// A call that has to arrive: its parameters without `_meta`, and its arguments; further members of `_meta`.
    fn allowed(&mut self, form: &'static str, written: impl Fn(usize) -> (String, String), meta: &str, more: &Value) {
        let era = if self.target.speech.is_modern() { MODERN } else { "" };
        let parts: Vec<&str> = [meta, era].into_iter().filter(|part| !part.is_empty()).collect();
        let meta = if parts.is_empty() { String::new() } else { format!(r#","_meta":{{{}}}"#, parts.join(",")) };
        let (params, arguments) = written(self.all.len());
        self.add(form, Comes, |_, id| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{params}{meta}}}}}"#)
        });
        self.arrives(arguments, more);
    }

    /// The last message has to arrive.
    fn arrives(&mut self, arguments: String, more: &Value) {
        if let Some(last) = self.all.last_mut() {
            last.arrives = Some(Arrival { arguments, more: more.clone() });
        }
    }

    /// The headers of the last message say this.
    fn say(&mut self, method: &str, name: Option<String>) {
        if let Some(last) = self.all.last_mut() {
            last.headers = (method.to_owned(), name);
        }
    }
}

fn request(id: &str, quoted: &str, params: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{quoted},"params":{params}}}"#)
}

/// Headers that agree with a body, as far as it can be read.
fn headers_of(text: &str) -> (String, Option<String>) {
    let message: Value = serde_json::from_str(text).unwrap_or_default();
    let method = message["method"].as_str().unwrap_or("tools/call");
    let named_by = match method {
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => "name",
    };
    (method.to_owned(), message["params"][named_by].as_str().map(str::to_owned))
}
