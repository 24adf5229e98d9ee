//! Every method and notification of the protocol, of both eras and of the extensions that are known here, and what each
//! needs before it may be sent to a server.
//!
//! The tables are closed: what is not in them is sent to no server unless a person opened it by a rule
//! ([`crate::CallKind::Method`]), and no rule can open what [`is_reserved`].

use crate::protocol::{methods, notifications};

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
    core(methods::TOOLS_CALL, Need::Tool),
    core(methods::TOOLS_LIST, Need::Nothing),
    core(methods::RESOURCES_READ, Need::Resource("uri")),
    core(methods::PROMPTS_GET, Need::Prompt("name")),
    core(methods::PING, Need::Connection),
    core(methods::INITIALIZE, Need::Connection),
    core(methods::SERVER_DISCOVER, Need::Connection),
    core(methods::SUBSCRIPTIONS_LISTEN, Need::Connection),
    core(methods::LOGGING_SET_LEVEL, Need::Connection),
    core(methods::RESOURCES_LIST, Need::Nothing),
    core(methods::RESOURCE_TEMPLATES_LIST, Need::Nothing),
    core(methods::RESOURCES_SUBSCRIBE, Need::Resource("uri")),
    core(methods::RESOURCES_UNSUBSCRIBE, Need::Resource("uri")),
    core(methods::PROMPTS_LIST, Need::Nothing),
    core(methods::COMPLETION_COMPLETE, Need::Reference),
    extension(TASKS, methods::TASKS_GET, Need::Task("taskId")),
    extension(TASKS, methods::TASKS_RESULT, Need::Task("taskId")),
    extension(TASKS, methods::TASKS_UPDATE, Need::Task("taskId")),
    extension(TASKS, methods::TASKS_CANCEL, Need::Task("taskId")),
    extension(TASKS, methods::TASKS_LIST, Need::Nothing),
    extension(SKILLS, "skills/list", Need::Nothing),
    extension(SKILLS, "skills/get", Need::Resource("uri")),
    extension(SKILLS, methods::RESOURCES_DIRECTORY_READ, Need::Resource("uri")),
];

/// What a client may tell a server.
pub const CLIENT_NOTIFICATIONS: [Method; 4] = [
    core(notifications::INITIALIZED, Need::Connection),
    core(notifications::CANCELLED, Need::Connection),
    core(notifications::PROGRESS, Need::Connection),
    core(notifications::ROOTS_LIST_CHANGED, Need::Nothing),
];

/// What a server may tell a client.
pub const SERVER_NOTIFICATIONS: [Method; 11] = [
    core(notifications::PROGRESS, Need::Connection),
    core(notifications::MESSAGE, Need::Connection),
    core(notifications::CANCELLED, Need::Connection),
    core(notifications::SUBSCRIPTIONS_ACKNOWLEDGED, Need::Connection),
    core(notifications::RESOURCES_UPDATED, Need::Resource("uri")),
    core(notifications::TOOLS_LIST_CHANGED, Need::Nothing),
    core(notifications::RESOURCES_LIST_CHANGED, Need::Nothing),
    core(notifications::PROMPTS_LIST_CHANGED, Need::Nothing),
    core(notifications::ELICITATION_COMPLETE, Need::Nothing),
    extension(TASKS, notifications::TASKS, Need::Task("taskId")),
    extension(TASKS, notifications::TASKS_STATUS, Need::Task("taskId")),
];

/// What a server may ask of a client.
pub const QUESTIONS: [&str; 3] = [methods::ELICITATION_CREATE, methods::SAMPLING_CREATE_MESSAGE, methods::ROOTS_LIST];

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
        || is_below(&[methods::PING, methods::INITIALIZE])
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
