//! The words of the protocol that more than one crate has to know: methods, error codes, keys of metadata, extensions, versions.
//! Each is spelled here and nowhere else; what a method needs is in [`crate::method`].

/// Codes of JSON-RPC errors, and those that the protocol adds.
pub mod code {
    use std::ops::RangeInclusive;

    /// What came is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// It is JSON, and no request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters are not those of the method. In the modern era also: what they name is not there.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something went wrong on the side of whoever answers.
    pub const SERVER_ERROR: i64 = -32000;
    /// In the legacy era: the resource is not there.
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// In the modern era: the headers of a request do not fit its body.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// In the modern era: the client did not declare what the request needs.
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// In the modern era: the version is not spoken.
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    /// A person has to open a page first.
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
    /// Codes that servers had for themselves before the modern era took its own.
    pub const LEGACY: RangeInclusive<i64> = -32019..=-32000;
    /// Codes that only the modern era has.
    pub const MODERN: RangeInclusive<i64> = -32099..=-32020;
}

/// Keys of `_meta` that are the protocol's own.
pub mod meta {
    /// The version of the protocol that a request is in.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// The asking side.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// What whoever asks can be asked.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// What is to be logged in the course of a request.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// The answering side.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The `subscriptions/listen` that a notification belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// The task that a message belongs to.
    pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
}

/// Extensions of the protocol.
pub mod extension {
    /// Calls that go on after their answer. The older era has them as a capability `tasks`.
    pub const TASKS: &str = "io.modelcontextprotocol/tasks";
    /// Instructions for models, kept as resources.
    pub const SKILLS: &str = "io.modelcontextprotocol/skills";
    /// Pages that tools bring along. They are resources; the extension has no methods at a server.
    pub const UI: &str = "io.modelcontextprotocol/ui";
}

/// Versions of the protocol. Code that compares them belongs into an era module.
pub mod version {
    /// The first, with HTTP+SSE.
    pub const V2024_11_05: &str = "2024-11-05";
    /// Streamable HTTP; the only one with batches.
    pub const V2025_03_26: &str = "2025-03-26";
    /// Structured results, and questions to people.
    pub const V2025_06_18: &str = "2025-06-18";
    /// Tasks; streams that begin with an event of their own.
    pub const V2025_11_25: &str = "2025-11-25";
    /// Stateless.
    pub const V2026_07_28: &str = "2026-07-28";

    /// The legacy era, newest first.
    pub const LEGACY: [&str; 4] = [V2025_11_25, V2025_06_18, V2025_03_26, V2024_11_05];
    /// The modern era, newest first.
    pub const MODERN: [&str; 1] = [V2026_07_28];
}

/// Methods of requests.
pub mod methods {
    /// Lists tools.
    pub const TOOLS_LIST: &str = "tools/list";
    /// Calls a tool.
    pub const TOOLS_CALL: &str = "tools/call";
    /// Lists resources.
    pub const RESOURCES_LIST: &str = "resources/list";
    /// Lists templates of resources.
    pub const RESOURCE_TEMPLATES_LIST: &str = "resources/templates/list";
    /// Reads a resource.
    pub const RESOURCES_READ: &str = "resources/read";
    /// In the legacy era: follows changes of a resource.
    pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
    /// In the legacy era: no longer follows changes of a resource.
    pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
    /// Of the extension for skills: reads a directory.
    pub const RESOURCES_DIRECTORY_READ: &str = "resources/directory/read";
    /// Lists prompts.
    pub const PROMPTS_LIST: &str = "prompts/list";
    /// Gets a prompt.
    pub const PROMPTS_GET: &str = "prompts/get";
    /// Asks what could stand for an argument.
    pub const COMPLETION_COMPLETE: &str = "completion/complete";
    /// In the legacy era: begins a session.
    pub const INITIALIZE: &str = "initialize";
    /// In the legacy era: asks whether the other side is there.
    pub const PING: &str = "ping";
    /// In the legacy era: says what is to be logged.
    pub const LOGGING_SET_LEVEL: &str = "logging/setLevel";
    /// In the modern era: asks a server what it is.
    pub const SERVER_DISCOVER: &str = "server/discover";
    /// In the modern era: listens for changes.
    pub const SUBSCRIPTIONS_LISTEN: &str = "subscriptions/listen";
    /// Asks how a task is doing.
    pub const TASKS_GET: &str = "tasks/get";
    /// In the legacy era: waits for the result of a task.
    pub const TASKS_RESULT: &str = "tasks/result";
    /// In the modern era: answers what a task asks.
    pub const TASKS_UPDATE: &str = "tasks/update";
    /// Ends a task.
    pub const TASKS_CANCEL: &str = "tasks/cancel";
    /// In the legacy era: lists tasks.
    pub const TASKS_LIST: &str = "tasks/list";
    /// A server asks the person.
    pub const ELICITATION_CREATE: &str = "elicitation/create";
    /// A server asks the model.
    pub const SAMPLING_CREATE_MESSAGE: &str = "sampling/createMessage";
    /// A server asks which directories there are to work in.
    pub const ROOTS_LIST: &str = "roots/list";
}

/// Methods of notifications.
pub mod notifications {
    /// In the legacy era: the session has begun.
    pub const INITIALIZED: &str = "notifications/initialized";
    /// A request is taken back.
    pub const CANCELLED: &str = "notifications/cancelled";
    /// How far a request has come.
    pub const PROGRESS: &str = "notifications/progress";
    /// A log message.
    pub const MESSAGE: &str = "notifications/message";
    /// A client has other directories to work in.
    pub const ROOTS_LIST_CHANGED: &str = "notifications/roots/list_changed";
    /// A server has other tools.
    pub const TOOLS_LIST_CHANGED: &str = "notifications/tools/list_changed";
    /// A server has other resources.
    pub const RESOURCES_LIST_CHANGED: &str = "notifications/resources/list_changed";
    /// A server has other prompts.
    pub const PROMPTS_LIST_CHANGED: &str = "notifications/prompts/list_changed";
    /// A resource has changed.
    pub const RESOURCES_UPDATED: &str = "notifications/resources/updated";
    /// A person is done with a page.
    pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
    /// In the modern era: what is listened for.
    pub const SUBSCRIPTIONS_ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
    /// In the modern era: a task is in another state.
    pub const TASKS: &str = "notifications/tasks";
    /// In the legacy era: a task is in another state.
    pub const TASKS_STATUS: &str = "notifications/tasks/status";
}
