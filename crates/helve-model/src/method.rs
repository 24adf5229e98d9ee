//! Every method and notification of the protocol, of both eras and of the extensions that are known here, and what each
//! needs before it may be sent to a server.
//!
//! The tables are closed: what is not in them is sent to no server unless a person opened it by a rule
//! ([`crate::CallKind::Method`]), and no rule can open what [`is_reserved`].

/// A method that a client may send to a server, or a notification that one side may send to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// As it is written in a message.
    pub name: &'static str,
    /// What has to be decided before it is sent.
    pub need: Need,
    /// Where it is valid.
    pub of: MethodPart,
}

/// What has to be decided before a message is sent to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A permit for the tool that is named.
    Tool,
    /// A decision on the resource whose URI this member holds.
    Resource(&'static str),
    /// A decision on the prompt whose name this member holds.
    Prompt(&'static str),
    /// A decision on the prompt or the resource that `ref` names.
    Reference,
    /// The task that this member names has to be the sender's own.
    Task(&'static str),
    /// It belongs to one connection: helve says it for itself, and passes on nobody else's.
    Connection,
    /// Nothing: it reads what may be listed, or tells what harms nobody.
    Nothing,
}

/// What of the protocol a method belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MethodPart {
    /// The protocol itself.
    Core,
    /// An extension: valid only at servers that declared it.
    Extension(&'static str),
}

pub use crate::protocol::extension::{SKILLS, TASKS, UI};

/// By this a client of the modern era asks who a server is.
pub const DISCOVER: &str = "server/discover";

/// The extensions that are known here. Whatever else a server declares adds no method.
pub const EXTENSIONS: [&str; 3] = [TASKS, SKILLS, UI];

const fn core(name: &'static str, need: Need) -> Method {
    Method { name, need, of: MethodPart::Core }
}

const fn extension(of: &'static str, name: &'static str, need: Need) -> Method {
    Method { name, need, of: MethodPart::Extension(of) }
}

/// What a client may ask of a server. The most frequent first.
pub const REQUESTS: [Method; 23] = [
    core("tools/call", Need::Tool),
    core("tools/list", Need::Nothing),
    core("resources/read", Need::Resource("uri")),
    core("prompts/get", Need::Prompt("name")),
    core("ping", Need::Connection),
    core("initialize", Need::Connection),
    core("server/discover", Need::Connection),
    core("subscriptions/listen", Need::Connection),
    core("logging/setLevel", Need::Connection),
    core("resources/list", Need::Nothing),
    core("resources/templates/list", Need::Nothing),
    core("resources/subscribe", Need::Resource("uri")),
    core("resources/unsubscribe", Need::Resource("uri")),
    core("prompts/list", Need::Nothing),
    core("completion/complete", Need::Reference),
    extension(TASKS, "tasks/get", Need::Task("taskId")),
    extension(TASKS, "tasks/result", Need::Task("taskId")),
    extension(TASKS, "tasks/update", Need::Task("taskId")),
    extension(TASKS, "tasks/cancel", Need::Task("taskId")),
    extension(TASKS, "tasks/list", Need::Nothing),
    extension(SKILLS, "skills/list", Need::Nothing),
    extension(SKILLS, "skills/get", Need::Resource("uri")),
    extension(SKILLS, "resources/directory/read", Need::Resource("uri")),
];

/// What a client may tell a server.
pub const CLIENT_NOTIFICATIONS: [Method; 4] = [
    core("notifications/initialized", Need::Connection),
    core("notifications/cancelled", Need::Connection),
    core("notifications/progress", Need::Connection),
    core("notifications/roots/list_changed", Need::Nothing),
];

/// What a server may tell a client.
pub const SERVER_NOTIFICATIONS: [Method; 11] = [
    core("notifications/progress", Need::Connection),
    core("notifications/message", Need::Connection),
    core("notifications/cancelled", Need::Connection),
    core("notifications/subscriptions/acknowledged", Need::Connection),
    core("notifications/resources/updated", Need::Resource("uri")),
    core("notifications/tools/list_changed", Need::Nothing),
    core("notifications/resources/list_changed", Need::Nothing),
    core("notifications/prompts/list_changed", Need::Nothing),
    core("notifications/elicitation/complete", Need::Nothing),
    extension(TASKS, "notifications/tasks", Need::Task("taskId")),
    extension(TASKS, "notifications/tasks/status", Need::Task("taskId")),
];

/// What a server may ask of a client.
pub const QUESTIONS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

/// What begins so is the protocol's own: today, in another version, or in one to come.
const ROOTS: [&str; 13] = [
    "completion/",
    "elicitation/",
    "logging/",
    "prompts/",
    "resources/",
    "roots/",
    "rpc.",
    "sampling/",
    "server/",
    "skills/",
    "subscriptions/",
    "tasks/",
    "tools/",
];

/// The same of notifications: what follows `notifications/` may be a vendor's own, but for these.
const NOTIFICATION_ROOTS: [&str; 13] = [
    "notifications/cancelled",
    "notifications/elicitation",
    "notifications/initialized",
    "notifications/message",
    "notifications/progress",
    "notifications/prompts",
    "notifications/resources",
    "notifications/roots",
    "notifications/sampling",
    "notifications/skills",
    "notifications/subscriptions",
    "notifications/tasks",
    "notifications/tools",
];

/// The request of this name.
#[must_use]
pub fn request(name: &str) -> Option<&'static Method> {
    REQUESTS.iter().find(|method| method.name == name)
}

/// The notification of this name that a client may send.
#[must_use]
pub fn client_notification(name: &str) -> Option<&'static Method> {
    CLIENT_NOTIFICATIONS.iter().find(|method| method.name == name)
}

/// The notification of this name that a server may send.
#[must_use]
pub fn server_notification(name: &str) -> Option<&'static Method> {
    SERVER_NOTIFICATIONS.iter().find(|method| method.name == name)
}

/// Is this name the protocol's own, in whatever spelling? No rule can open it.
///
/// A server may trim what it reads, or not care for case, so names are compared without both, and without whatever cannot
/// be seen.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    let plain = plain(name);
    let is_below = |roots: &[&str]| {
        roots.iter().any(|root| {
            let root = root.trim_end_matches(['/', '.']);
            plain.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
        })
    };
    plain.is_empty()
        || plain == "notifications"
        || is_below(&["ping", "initialize"])
        || is_below(&ROOTS)
        || is_below(&NOTIFICATION_ROOTS)
}

/// A name in lower case, without white space, invisible characters, or a slash too many.
fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for character in name.chars().flat_map(char::to_lowercase).filter(char::is_ascii_graphic) {
        if character != '/' || !(plain.is_empty() || plain.ends_with('/')) {
            plain.push(character);
        }
    }
    let length = plain.trim_end_matches('/').len();
    plain.truncate(length);
    plain
}

#[cfg(test)]
#[path = "method_tests.rs"]
mod tests;
