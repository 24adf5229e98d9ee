//! Which problems of a configuration a verb tells, and at what length: what it is about in full, what is missing from its
//! answer in one line, and the rest not at all. Each once.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use helve_config::{Code, Configuration, Diagnostic, Severity};
use helve_model::ServerName;
use helve_setup::file_of;

use crate::context::Context;
use crate::failure::Failure;
use crate::printer::Verbosity;

/// How much a problem matters to a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Matters {
    /// It is about what the verb is about.
    Much,
    /// Something may be missing because of it.
    Little,
    Not,
}

impl Context {
    /// Says what is wrong with a configuration that is used now as a whole. Which servers are not trusted is told by
    /// whoever wants them.
    pub(crate) fn report_problems(&self, configuration: &Configuration) {
        self.report_what_matters(configuration, |diagnostic| {
            if is_of_another_application(configuration, diagnostic) { Matters::Little } else { Matters::Much }
        });
    }

    /// The same for a verb that is about some servers: the problems of the others are none of its business, and neither is
    /// a broken file that none of them is in.
    pub(crate) fn report_problems_of(&self, configuration: &Configuration, is_meant: impl Fn(&ServerName) -> bool) {
        let meant = || configuration.servers.iter().filter(|server| is_meant(&server.name));
        let files: HashSet<&Path> = meant().filter_map(|server| file_of(&server.origin)).collect();
        let is_there = meant().next().is_some();
        self.report_what_matters(configuration, |diagnostic| match &diagnostic.server {
            Some(server) if is_meant(server) => Matters::Much,
            Some(_) => Matters::Not,
            None if !is_of_another_application(configuration, diagnostic) => Matters::Much,
            None if file_of(&diagnostic.origin).is_some_and(|file| files.contains(file)) => Matters::Much,
            None if is_there => Matters::Not,
            // The one that is meant may be in it.
            None => Matters::Much,
        });
    }

    /// True when a failure only says that a server cannot run whose mistakes the person has read already. JSON output
    /// has told nothing yet.
    pub(crate) fn has_told(&self, failure: &Failure) -> bool {
        let told = lock(&self.told);
        !self.printer.is_json()
            && failure.mistaken_server().is_some_and(|name| told.iter().any(|told| told.as_str() == name))
    }

    /// Says what is wrong with a configuration, as far as the person wants to hear it.
    pub(crate) fn report<'a>(&self, diagnostics: impl IntoIterator<Item = &'a Diagnostic>) {
        for diagnostic in diagnostics {
            self.printer.diagnostic(diagnostic);
        }
    }

    fn report_what_matters(&self, configuration: &Configuration, matters: impl Fn(&Diagnostic) -> Matters) {
        for diagnostic in configuration.diagnostics.iter().filter(|diagnostic| diagnostic.code != Code::Untrusted) {
            let is_told_all = self.printer.verbosity >= Verbosity::Verbose;
            let matters = if is_told_all { Matters::Much } else { matters(diagnostic) };
            // A host that runs on reads its files again and again.
            if matters == Matters::Not || !lock(&self.reported).insert(diagnostic.render()) {
                continue;
            }
            if diagnostic.severity == Severity::Error {
                lock(&self.told).extend(diagnostic.server.clone());
            }
            match matters {
                Matters::Little if diagnostic.severity >= Severity::Warning => {
                    let place = self.shown(&diagnostic.origin);
                    self.printer.warning(format!("{place}: {} (`helve doctor` says more)", diagnostic.message));
                }
                _ => self.printer.diagnostic(diagnostic),
            }
        }
    }
}

/// True for a problem with a whole file that is not helve's and holds no rules: at most its servers are missing.
fn is_of_another_application(configuration: &Configuration, diagnostic: &Diagnostic) -> bool {
    let Some(file) = file_of(&diagnostic.origin).filter(|_| diagnostic.server.is_none()) else { return false };
    let mut places = configuration.files.iter().map(|file| &file.place).chain(&configuration.unread);
    places.any(|place| place.path == file && !place.dialect.holds_rules())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
