//! What we say we can do: what the servers behind us can.
//!
//! As long as a server is still connecting nobody knows, and everything is offered: an empty list is a truer answer later
//! than a capability that an agent was never told of.

use std::collections::BTreeMap;

use helve::Host;
use helve_model::json::{ObjectWriter, RawJson, scan};
use helve_model::protocol::extension;
use helve_model::{PendingReason, ServerStatus};
use helve_wire::Greeting;

use crate::reach::Reach;

/// What there is behind us.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Offering {
    resources: bool,
    /// Some of them can be subscribed to.
    subscribe: bool,
    prompts: bool,
    completions: bool,
    logging: bool,
    /// As the first server with tasks says it.
    tasks: Option<RawJson>,
    extensions: BTreeMap<String, RawJson>,
}

impl Offering {
    pub(crate) fn of(host: &Host) -> Self {
        let snapshot = host.snapshot();
        let unknown = Self {
            resources: true,
            subscribe: true,
            prompts: true,
            completions: true,
            logging: true,
            ..Self::default()
        };
        let mut offering = if are_all_connected(host) { Self::default() } else { unknown };
        for greeting in snapshot.servers().filter_map(|entry| entry.last_greeting()) {
            offering.add(&greeting);
        }
        offering
    }

    /// The same, with tasks of our own: calls that wait for a person become some.
    pub(crate) fn with_tasks(mut self, has_own: bool) -> Self {
        if has_own {
            self.extensions.entry(extension::TASKS.to_owned()).or_insert_with(RawJson::empty_object);
        }
        self
    }

    fn add(&mut self, greeting: &Greeting) {
        self.resources |= greeting.offers("resources");
        self.subscribe |= greeting.offers_part("resources", "subscribe");
        self.prompts |= greeting.offers("prompts");
        self.completions |= greeting.offers("completions");
        self.logging |= greeting.offers("logging");
        if self.tasks.is_none() && greeting.offers("tasks") {
            self.tasks = greeting.capabilities.member("tasks");
        }
        let extensions = greeting.capabilities.member("extensions").unwrap_or_else(RawJson::empty_object);
        for member in scan::members(extensions.as_str()).into_iter().flatten().map_while(Result::ok) {
            if let Some(name) = member.key() {
                let extension = || RawJson::part_of(extensions.shared(), member.value);
                self.extensions.entry(name.into_owned()).or_insert_with(extension);
            }
        }
    }

    /// For `initialize`.
    pub(crate) fn legacy(&self) -> RawJson {
        self.offered().optional("tasks", self.tasks.as_ref()).finish()
    }

    /// For `server/discover`.
    pub(crate) fn modern(&self) -> RawJson {
        if self.extensions.is_empty() {
            return self.offered().finish();
        }
        let named = |written: ObjectWriter, (name, settings): (&String, &RawJson)| written.raw(name, settings);
        self.offered().object("extensions", self.extensions.iter().fold(ObjectWriter::new(), named)).finish()
    }

    fn offered(&self) -> ObjectWriter {
        let changes = || ObjectWriter::new().flag("listChanged", true);
        let mut offered = ObjectWriter::new().object("tools", changes());
        if self.resources {
            let resources =
                if self.subscribe { ObjectWriter::new().flag("subscribe", true) } else { ObjectWriter::new() };
            offered = offered.object("resources", resources.flag("listChanged", true));
        }
        if self.prompts {
            offered = offered.object("prompts", changes());
        }
        for (is_offered, name) in [(self.completions, "completions"), (self.logging, "logging")] {
            if is_offered {
                offered = offered.object(name, ObjectWriter::new());
            }
        }
        offered
    }
}

/// Is no server just being connected?
fn are_all_connected(host: &Host) -> bool {
    host.status().iter().all(|report| report.status != ServerStatus::Pending(PendingReason::Connecting))
}

/// Is it known of every server which tools it has, from it or from an earlier run?
pub(crate) fn are_all_known(host: &Host) -> bool {
    let snapshot = host.snapshot();
    are_all_connected(host) || snapshot.servers().all(|entry| entry.last_greeting().is_some())
}

/// What the servers want a model to know: one server's words as they are, those of several under their names.
pub(crate) fn instructions(host: &Host, reach: &Reach) -> Option<String> {
    let snapshot = host.snapshot();
    let servers: Vec<_> = snapshot.servers().filter(|server| reach.hears(server.name())).collect();
    if let [only] = servers.as_slice() {
        return only.instructions().map(ToOwned::to_owned);
    }
    let told: Vec<String> =
        servers.iter().filter_map(|server| Some(format!("# {}\n{}", server.name(), server.instructions()?))).collect();
    (!told.is_empty()).then(|| told.join("\n\n"))
}
