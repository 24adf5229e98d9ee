//! Owns the question whether one principal notices another at a gateway that both use: the same steps are taken in a world
//! with both and in worlds where each is alone, and every step has to look the same.
//!
//! A [`Case`] is what two principals do, interleaved, at three servers: `one` and `three` are of the modern era, `two` is a
//! legacy server that agents share; `one` and `two` are programs. [`Door`] is the way into one world. What differs is a leak: something of one that the
//! other saw, answered, used up or made go.

use serde_json::{Map, Value, json};

use crate::meta::TASKS_EXTENSION;

/// The servers of every world, by name; `two` speaks the legacy era alone.
pub const SERVERS: [&str; 3] = ["one", "two", "three"];

/// A rule has to say *ask* about this tool of `one`.
pub const ASKED_ABOUT: &str = "fail";

/// Steps of one case.
const STEPS: usize = 24;

/// Calls of one principal that are left open in one case.
const MOST_HELD: usize = 2;

/// A name of a task that nobody ever got.
const NOBODYS: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The way into one world.
pub trait Door {
    /// A request that is left open.
    type Held;

    /// Asks in the modern way; gives everything that came, the answer last.
    fn modern(&mut self, principal: usize, method: &str, params: Value) -> impl Future<Output = Vec<Value>>;

    /// The same in the principal's legacy session.
    fn legacy(&mut self, principal: usize, method: &str, params: Value) -> impl Future<Output = Vec<Value>>;

    /// Asks in the modern way and leaves the request open.
    fn hold(&mut self, principal: usize, method: &str, params: Value) -> impl Future<Output = Self::Held>;

    /// What has come for a request that was left open.
    fn heard(&mut self, held: &mut Self::Held) -> impl Future<Output = Vec<Value>>;

    /// How many calls have reached `three`, where that can be told.
    fn calls(&self) -> Option<usize>;
}

/// What two principals do, in this order.
#[derive(Debug, Clone)]
pub struct Case(Vec<(usize, Step)>);

#[derive(Debug, Clone, Copy)]
enum Step {
    Echo {
        server: usize,
        number: u64,
    },
    /// Brings answers that nobody asked for.
    EchoAnswering {
        server: usize,
        number: u64,
    },
    Progress {
        server: usize,
    },
    MakeTask {
        server: usize,
    },
    AskAboutTask {
        nth: usize,
        cancel: bool,
    },
    AskAboutForeignTask {
        nth: usize,
        cancel: bool,
    },
    /// `one` answers with a task of a name that the other principal got.
    ClaimTask {
        nth: usize,
    },
    ListTasks,
    Link {
        server: usize,
        uri: usize,
    },
    Read {
        uri: usize,
    },
    /// A server logs something that names no request.
    Log {
        server: usize,
    },
    /// A server asks before it answers.
    BeAsked {
        server: usize,
    },
    /// A rule asks before it lets a call pass.
    BeAskedByRule,
    Answer {
        nth: usize,
    },
    AnswerForeign {
        nth: usize,
    },
    Hold {
        server: usize,
    },
}

/// One world, and what its principals know in it.
#[derive(Debug)]
pub struct World<D: Door> {
    door: D,
    actors: [Actor<D::Held>; 2],
}

#[derive(Debug)]
struct Actor<H> {
    /// Names of tasks, and the servers that made them.
    tasks: Vec<(String, usize)>,
    /// Calls that wait for an answer, as they are made again.
    open: Vec<Value>,
    /// Names that a server claimed for its tasks.
    claimed: Vec<String>,
    /// Every state it ever got.
    states: Vec<String>,
    held: Vec<H>,
}

/// What a principal saw of a step.
#[derive(Debug)]
struct Seen {
    said: String,
    /// Whether the call reached its server, where that can be told.
    reached: Option<bool>,
}

impl Case {
    /// The case of this number; the same number gives the same case.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        Self((0..STEPS).map(|_| (random.below(2), random.step())).collect())
    }
}

impl<D: Door> World<D> {
    /// A world in which nothing has happened.
    pub fn new(door: D) -> Self {
        Self { door, actors: [Actor::default(), Actor::default()] }
    }

    /// The way in.
    pub const fn door(&self) -> &D {
        &self.door
    }

    /// The step with its choice made, so that another world makes the same one.
    fn settled(&self, principal: usize, step: Step) -> Step {
        match step {
            Step::ClaimTask { nth } => {
                let many = self.actors[1 - principal].tasks.len();
                // With nobody's there is nothing to claim but what nobody has.
                Step::ClaimTask { nth: if many == 0 { usize::MAX - nth } else { nth % many } }
            }
            step => step,
        }
    }

    async fn take(&mut self, principal: usize, step: Step) -> Seen {
        let own = |number: usize, many: usize| if many == 0 { None } else { Some(number % many) };
        let before = self.door.calls();
        let (mut foreign, mut is_echo) = (NOBODYS.to_owned(), false);
        let heard = match step {
            Step::Echo { server, number } => {
                is_echo = server == 2;
                self.call(principal, server, "echo", json!({"x": number}), None).await
            }
            Step::EchoAnswering { server, number } => {
                let answers = json!({"inputResponses": {"name": {"action": "accept", "content": {"who": principal}}}});
                self.call(principal, server, "echo", json!({"x": number}), Some(answers)).await
            }
            Step::Progress { server } => {
                let token = json!({"_meta": {"progressToken": "mine"}});
                self.call(principal, server, "progress", json!({"steps": 3}), Some(token)).await
            }
            Step::MakeTask { server } => {
                let arguments = json!({"polls": 1, "text": format!("made for {principal}")});
                let heard = self.call(principal, server, "task", arguments, Some(json!({"task": {}}))).await;
                self.remember_task(principal, server, &heard);
                heard
            }
            Step::AskAboutTask { nth, cancel } => {
                let tasks = &self.actors[principal].tasks;
                let Some(task) = own(nth, tasks.len()).map(|index| tasks[index].clone()) else {
                    return Seen::nothing();
                };
                self.ask_about(principal, task.1, &task.0, cancel).await
            }
            Step::AskAboutForeignTask { nth, cancel } => {
                let tasks = &self.actors[1 - principal].tasks;
                let task = own(nth, tasks.len()).map_or_else(|| (NOBODYS.to_owned(), 0), |index| tasks[index].clone());
                foreign.clone_from(&task.0);
                self.ask_about(principal, nth % 3, &task.0, cancel).await
            }
            Step::ClaimTask { nth } => {
                let tasks = &self.actors[1 - principal].tasks;
                foreign = tasks.get(nth).map_or_else(|| format!("{nth:A>32}"), |(name, _)| name.clone());
                let claim = json!({"resultType": "task", "taskId": foreign, "status": "working", "ttlMs": null,
                    "createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z"});
                let heard = self.answering(principal, 0, &claim).await;
                self.remember_task(principal, 0, &heard);
                self.actors[principal].claimed.push(foreign.clone());
                heard
            }
            Step::ListTasks => self.door.legacy(principal, "tasks/list", json!({})).await,
            Step::Link { server, uri } => {
                let content = json!([{"type": "resource_link", "uri": format!("vendor://{uri}"), "name": "linked"}]);
                self.answering(principal, server, &json!({"resultType": "complete", "content": content})).await
            }
            Step::Read { uri } => {
                let read = json!({"uri": format!("vendor://{uri}"), "_meta": meta()});
                self.door.modern(principal, "resources/read", read).await
            }
            Step::Log { server } => {
                let log = json!({"jsonrpc": "2.0", "method": "notifications/message",
                    "params": {"level": "error", "data": format!("about {principal}")}});
                let arguments = json!({"text": format!("{log}\n"), "then_answer": true});
                self.call(principal, server, "raw", arguments, None).await
            }
            Step::BeAsked { server } => self.be_asked(principal, server, "ask", json!({"kind": "form"})).await,
            Step::BeAskedByRule => self.be_asked(principal, 0, ASKED_ABOUT, json!({"message": "as wanted"})).await,
            Step::Answer { nth } => {
                let count = self.actors[principal].open.len();
                let Some(index) = own(nth, count) else { return Seen::nothing() };
                let again = self.actors[principal].open.remove(index);
                self.door.modern(principal, "tools/call", again).await
            }
            Step::AnswerForeign { nth } => {
                let open = &self.actors[1 - principal].open;
                let Some(index) = own(nth, open.len()) else { return Seen::nothing() };
                let again = open[index].clone();
                self.door.modern(principal, "tools/call", again).await
            }
            Step::Hold { server } => {
                if self.actors[principal].held.len() < MOST_HELD {
                    let call = called(server, "sleep", json!({"ms": 600_000}), None);
                    let held = self.door.hold(principal, "tools/call", call).await;
                    self.actors[principal].held.push(held);
                }
                return Seen::nothing();
            }
        };
        let reached = self.door.calls().zip(before).filter(|_| is_echo).map(|(now, before)| now > before);
        Seen { said: self.as_seen_by(principal, &heard, &foreign), reached }
    }

    /// A call in the era of its server.
    async fn call(
        &mut self,
        principal: usize,
        server: usize,
        tool: &str,
        arguments: Value,
        more: Option<Value>,
    ) -> Vec<Value> {
        let is_legacy = server == 1;
        let mut call = called(server, tool, arguments, more);
        if is_legacy {
            if let Some(meta) = call["_meta"].as_object_mut() {
                meta.retain(|key, _| key == "progressToken");
            }
            return self.door.legacy(principal, "tools/call", call).await;
        }
        if let Some(call) = call.as_object_mut() {
            call.remove("task");
        }
        self.door.modern(principal, "tools/call", call).await
    }

    /// Makes a server answer with these very members.
    async fn answering(&mut self, principal: usize, server: usize, result: &Value) -> Vec<Value> {
        let frame = format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{result}}}\n");
        self.call(principal, server, "raw", json!({"text": frame}), None).await
    }

    async fn be_asked(&mut self, principal: usize, server: usize, tool: &str, arguments: Value) -> Vec<Value> {
        let call = called(server, tool, arguments, None);
        let mut heard = self.door.modern(principal, "tools/call", call.clone()).await;
        let Some(result) = heard.last_mut().map(|answer| &mut answer["result"]) else { return heard };
        if result["resultType"] == "input_required" {
            let mut again = call;
            let state = result["requestState"].as_str().unwrap_or_default().to_owned();
            let mut answers = Map::new();
            for (key, question) in result["inputRequests"].as_object_mut().into_iter().flatten() {
                let content = json!({"decision": "once", "name": format!("answered by {principal}")});
                answers.insert(key.clone(), json!({"action": "accept", "content": content}));
                // The message names the file of the rule, which is another in each run.
                question["params"]["message"] = Value::Null;
            }
            again["requestState"] = json!(state);
            again["inputResponses"] = Value::Object(answers);
            self.actors[principal].open.push(again);
            self.actors[principal].states.push(state);
        }
        heard
    }

    async fn ask_about(&mut self, principal: usize, server: usize, task: &str, cancel: bool) -> Vec<Value> {
        let method = if cancel { "tasks/cancel" } else { "tasks/get" };
        if server == 1 {
            return self.door.legacy(principal, method, json!({"taskId": task})).await;
        }
        self.door.modern(principal, method, json!({"taskId": task, "_meta": meta()})).await
    }

    fn remember_task(&mut self, principal: usize, server: usize, heard: &[Value]) {
        let result = heard.last().map(|answer| &answer["result"]);
        let id = result.and_then(|result| result["taskId"].as_str().or(result["task"]["taskId"].as_str()));
        let tasks = &mut self.actors[principal].tasks;
        if let Some(id) = id.filter(|id| !tasks.iter().any(|(known, _)| known == id)) {
            tasks.push((id.to_owned(), server));
        }
    }

    /// What was heard, with names that are made anew in every world under the place they have here.
    fn as_seen_by(&self, principal: usize, heard: &[Value], foreign: &str) -> String {
        let mut said = heard.to_vec();
        for list in said.iter_mut().filter_map(|message| message.pointer_mut("/result/tasks")?.as_array_mut()) {
            // Servers list their tasks as they like.
            let place =
                |task: &Value| self.actors[principal].tasks.iter().position(|(name, _)| task["taskId"] == **name);
            list.sort_by_key(place);
        }
        let mut text = said.iter().map(|message| format!("{message}\n")).collect::<String>();
        let actor = &self.actors[principal];
        for (place, (name, _)) in actor.tasks.iter().enumerate() {
            text = text.replace(name, &format!("<task {place}>"));
        }
        for state in actor.states.iter().filter(|state| !state.is_empty()) {
            text = text.replace(state, "<state>");
        }
        for claimed in &actor.claimed {
            text = text.replace(claimed, "<foreign>");
        }
        text.replace(foreign, "<foreign>")
    }
}

/// Takes the steps of a case in the world of both and in those where each is alone. Gives what differs.
pub async fn differences<D: Door>(case: &Case, both: &mut World<D>, alone: &mut [World<D>; 2]) -> Vec<String> {
    let mut differing = Vec::new();
    // In the end nobody owes an answer.
    let last = (0..2).flat_map(|principal| std::iter::repeat_n((principal, Step::Answer { nth: 0 }), STEPS));
    let steps: Vec<(usize, Step)> = case.0.iter().copied().chain(last).collect();
    for (number, (principal, step)) in steps.iter().enumerate() {
        let step = both.settled(*principal, *step);
        let together = both.take(*principal, step).await;
        let by_itself = match step {
            // Alone there is nobody to take it from.
            Step::AnswerForeign { .. } => {
                if !together.said.is_empty() && !together.said.contains("requestState was not given for this call") {
                    differing.push(format!("step {number}, {step:?}: {} went on with another's call", together.said));
                }
                continue;
            }
            _ => alone[*principal].take(*principal, step).await,
        };
        if together.said != by_itself.said {
            let (together, alone) = (together.said, by_itself.said);
            differing.push(format!("step {number}, {step:?} of {principal}: together {together} alone {alone}"));
        }
        if together.reached == Some(false) && by_itself.reached == Some(true) {
            differing.push(format!("step {number}, {step:?} of {principal}: answered from what the other one got"));
        }
    }
    for (principal, alone) in alone.iter_mut().enumerate() {
        for mut held in std::mem::take(&mut both.actors[principal].held) {
            let heard = both.door.heard(&mut held).await;
            if !heard.is_empty() {
                differing.push(format!("an open call of {principal} heard {heard:?}"));
            }
        }
        alone.actors[principal].held.clear();
    }
    differing
}

/// What a modern request carries.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": crate::MODERN_VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "a", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities":
            {"elicitation": {"form": {}}, "extensions": {TASKS_EXTENSION: {}}},
        "io.modelcontextprotocol/logLevel": "debug",
    })
}

fn called(server: usize, tool: &str, arguments: Value, more: Option<Value>) -> Value {
    let mut call = json!({"name": format!("{}__{tool}", SERVERS[server]), "arguments": arguments, "_meta": meta()});
    for (key, value) in more.as_ref().and_then(Value::as_object).into_iter().flatten() {
        match (key.as_str(), value.as_object(), call["_meta"].as_object_mut()) {
            ("_meta", Some(more), Some(meta)) => meta.extend(more.clone()),
            _ => call[key] = value.clone(),
        }
    }
    call
}

impl Seen {
    const fn nothing() -> Self {
        Self { said: String::new(), reached: None }
    }
}

impl<H> Default for Actor<H> {
    fn default() -> Self {
        Self { tasks: Vec::new(), open: Vec::new(), claimed: Vec::new(), states: Vec::new(), held: Vec::new() }
    }
}

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % bound
    }

    fn step(&mut self) -> Step {
        let server = self.below(3);
        let (modern, on_stream) = (2 * self.below(2), self.below(2));
        let (nth, number, uri, cancel) = (self.below(8), self.below(3) as u64, self.below(4), self.below(4) == 0);
        match self.below(16) {
            0 | 1 => Step::Echo { server, number },
            2 => Step::EchoAnswering { server: modern, number },
            3 => Step::Progress { server },
            4 | 5 => Step::MakeTask { server },
            6 => Step::AskAboutTask { nth, cancel },
            7 => Step::AskAboutForeignTask { nth, cancel },
            8 => Step::ClaimTask { nth },
            9 => Step::ListTasks,
            10 if cancel => Step::Hold { server: modern },
            10 => Step::Link { server: on_stream, uri },
            11 => Step::Read { uri },
            12 => Step::Log { server: on_stream },
            13 if cancel => Step::BeAskedByRule,
            13 => Step::BeAsked { server: modern },
            14 => Step::Answer { nth },
            _ => Step::AnswerForeign { nth },
        }
    }
}
