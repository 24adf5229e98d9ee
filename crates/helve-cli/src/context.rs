//! What every verb is handed: the setup of the person, their terminal, the options, the printer.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};

use helve::{CallContext, CallSource, Door};
use helve_config::{Configuration, ConfiguredServer};
use helve_model::text::nearest;
use helve_model::{ErrorCode, Origin, ServerName};
use helve_policy::Caller;
use helve_setup::store::Stores;
use helve_setup::{Credentials, Environment, Notice, NoticeSink, Setup, SetupError};

use crate::console::Console;
use crate::failure::Failure;
use crate::options::GlobalOptions;
use crate::printer::Printer;
use crate::questions::Asked;
use crate::redact;
use crate::running::block_on;

/// An error about a name lists the others up to this many.
const MAX_LISTED_NAMES: usize = 12;

#[derive(Debug)]
pub(crate) struct Context {
    /// Itself, for work that another thread does.
    shared: Weak<Self>,
    pub(crate) setup: Arc<Setup>,
    pub(crate) env: Arc<Environment>,
    pub(crate) console: Console,
    pub(crate) options: GlobalOptions,
    pub(crate) printer: Printer,
    /// What came of the questions that servers asked.
    pub(crate) asked: Arc<Asked>,
    /// Held by whoever asks the person something, and by whoever draws on the terminal meanwhile.
    pub(crate) turn: Arc<Mutex<()>>,
    /// The servers whose mistakes the person has read.
    pub(crate) told: Mutex<Vec<ServerName>>,
    /// The problems of configurations that were told.
    pub(crate) reported: Mutex<HashSet<String>>,
}

/// Says notices on stderr.
#[derive(Debug)]
struct PrintedNotices(Printer);

impl NoticeSink for PrintedNotices {
    fn hear(&self, notice: Notice) {
        self.0.warning(notice.to_string());
        if let Some(hint) = notice.hint() {
            self.0.hint(self.0.words.say(&hint));
        }
    }
}

impl Context {
    pub(crate) fn new(environment: Environment, console: Console, options: GlobalOptions) -> Arc<Self> {
        let env = Arc::new(environment);
        let printer = Printer::new(&env, console, &options);
        let setup = Setup::new(Arc::clone(&env))
            .with_choices(options.choices())
            .with_notices(Arc::new(PrintedNotices(printer.clone())))
            .with_secret_listener(redact::remember);
        Arc::new_cyclic(|shared| Self {
            shared: Weak::clone(shared),
            setup: Arc::new(setup),
            env,
            console,
            options,
            printer,
            asked: Arc::default(),
            turn: Arc::default(),
            told: Mutex::default(),
            reported: Mutex::default(),
        })
    }

    /// Itself, for whoever outlives the call it was handed to.
    pub(crate) fn shared(&self) -> Option<Arc<Self>> {
        self.shared.upgrade()
    }

    /// The person's logins and secrets; `None` where nothing can be kept.
    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.setup.credentials()
    }

    /// Loads the configuration. What is wrong with it is for the caller to [report](Self::report_problems); only a file
    /// the person named has to be usable.
    pub(crate) fn load(&self) -> Result<Configuration, Failure> {
        let configuration = self.setup.read_configuration();
        self.printer.words.learn(&configuration);
        self.setup.check_named_files(&configuration)?;
        Ok(configuration)
    }

    /// The same for verbs that list or call: hubs of which nothing was heard for a while are asked which servers they have,
    /// and the person hears which are away.
    pub(crate) fn load_with_hubs(&self) -> Result<Configuration, Failure> {
        let mut configuration = self.load()?;
        let due = self.setup.hubs_due(&configuration);
        if !due.is_empty() {
            block_on(async {
                self.setup.look_at_hubs(&due).await;
                Ok(())
            })?;
            configuration = self.load()?;
        }
        self.setup.tell_away(&configuration);
        Ok(configuration)
    }

    /// Says which servers were not started because nobody trusts them.
    pub(crate) fn report_untrusted(&self, names: &[String]) {
        if !names.is_empty() {
            let names = names.join(", ");
            self.printer.warning(format!("not started, because nobody has trusted this project yet: {names}"));
            self.printer.hint("`helve trust` shows what would run, and asks");
        }
    }

    /// In whose name calls are made: a person's, who can be asked, or a script's.
    pub(crate) const fn caller(&self) -> Caller {
        if self.console.can_ask() { Caller::Person } else { Caller::Script }
    }

    /// A call made from this command line.
    pub(crate) fn call(&self) -> CallContext {
        CallContext::new(self.caller()).with(|context| context.source = CallSource::new(Door::CommandLine))
    }

    /// Where trust, approvals and pins are kept.
    pub(crate) fn stores(&self) -> Result<Stores, SetupError> {
        self.setup.stores()
    }

    /// The server a person means, or why there is none.
    pub(crate) fn server<'a>(
        &self,
        configuration: &'a Configuration,
        name: &str,
    ) -> Result<&'a ConfiguredServer, Failure> {
        configuration.select(name).ok_or_else(|| {
            let names: Vec<&str> = configuration.servers.iter().map(|server| server.name.as_str()).collect();
            let failure = Failure::new(ErrorCode::ServerNotFound, format!("there is no server `{name}`"));
            let failure = failure.at_server(name);
            match nearest(name, names.iter().copied()) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None if names.is_empty() => failure.hint("no server is configured: `helve add NAME -- COMMAND`"),
                None => failure.hint(format!("there are: {}", listed(&names))),
            }
        })
    }

    /// A place in a configuration, as a person would write it.
    pub(crate) fn shown(&self, origin: &Origin) -> String {
        self.env.shown_origin(origin)
    }

    /// What the configuration knows of the environment.
    pub(crate) fn environment(&self) -> &helve_config::Environment {
        self.setup.known_to_configuration()
    }

    /// Keeps an answer to `${input:id}` of a file for as long as helve runs.
    pub(crate) fn remember_answer(&self, file: &Path, id: &str, answer: &str) {
        self.setup.remember_answer(file, id, answer);
    }
}

fn listed(names: &[&str]) -> String {
    let mut text = names.iter().take(MAX_LISTED_NAMES).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_LISTED_NAMES {
        text.push_str(", …");
    }
    text
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
