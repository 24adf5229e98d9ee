//! Owns what a hostile agent says: every method of both eras and of the extensions, in every form that a gateway might let
//! through undecided. Each message carries a number, so that what reaches a server can be traced to the message it came from.
//!
//! What a server got is judged by [`difference`] from a run in which the agent said nothing of this; what hostile servers
//! say to agents is in [`servers`].

mod difference;
mod forms;
pub mod servers;

use serde_json::{Value, json};

pub use difference::difference;

/// The requests and notifications of both eras and of the extensions, in both directions, and what nobody knows.
pub const METHODS: [&str; 44] = [
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
    "subscriptions/listen",
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
    "notifications/cancelled",
    "notifications/progress",
    "notifications/message",
    "notifications/roots/list_changed",
    "notifications/tools/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/prompts/list_changed",
    "notifications/elicitation/complete",
    "notifications/subscriptions/acknowledged",
    "notifications/tasks",
    "notifications/tasks/status",
    "notifications/vendor/said",
    "notifications",
];

/// Requests that need no decision, with plain parameters: a gateway may ask its servers so, in words of its own.
pub const HARMLESS: [(&str, &str); 8] = [
    ("ping", "{}"),
    ("tools/list", "{}"),
    ("resources/list", "{}"),
    ("resources/templates/list", "{}"),
    ("prompts/list", "{}"),
    ("tasks/list", "{}"),
    ("skills/list", "{}"),
    ("logging/setLevel", r#"{"level":"debug"}"#),
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
    /// How the agent speaks.
    pub speech: Speech,
    /// Tools can be called through another one, which is `call_tool`.
    pub call_tool: bool,
    /// What another agent is being asked meanwhile.
    pub pending: Option<Pending>,
}

/// How an agent speaks to the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    /// With a handshake, in the version that has batches.
    Legacy,
    /// With a handshake, where there are no batches.
    WithoutBatches,
    /// Every request stands for itself.
    Modern,
    /// The same over HTTP, where headers repeat what the body says.
    ModernWithHeaders,
}

/// A question to another agent, open while the messages are sent.
#[derive(Clone, Debug)]
pub enum Pending {
    /// The id of the request by which it was asked.
    Question(Value),
    /// The parameters of the request that would answer it, the sealed state included.
    State(Value),
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
    /// What has to reach the server of it, once; `None`: nothing may.
    pub arrives: Option<Arrival>,
    /// The method and the name that headers say, where there are headers.
    pub headers: (String, Option<String>),
}

/// A call as the server gets it.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The arguments, byte for byte.
    pub arguments: String,
    /// The members of the parameters besides name and arguments, and of `_meta` what is not the protocol's own.
    pub more: Value,
}

/// Everything that is tried at a target.
pub fn probes(target: &Target) -> Vec<Probe> {
    let mut probes = forms::Probes::new(target);
    for method in METHODS {
        probes.undecided(method);
    }
    probes.calls();
    probes.all
}

/// One in `step` of the messages, from the `first` on, and every one that has to arrive.
pub fn sample(probes: Vec<Probe>, first: usize, step: usize) -> Vec<Probe> {
    probes.into_iter().filter(|probe| probe.arrives.is_some() || probe.number % step == first % step).collect()
}

impl Speech {
    /// Every request says what the agent is and can.
    pub const fn is_modern(self) -> bool {
        matches!(self, Self::Modern | Self::ModernWithHeaders)
    }
}

/// What a request of the modern era says of its agent.
pub fn modern_meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "a", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// Names that a reader might take for this method.
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
