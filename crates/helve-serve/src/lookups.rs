//! How often a request of an agent looks something up: everything that a call needs is looked up once, and handed on. Counted
//! in test builds alone.

/// What is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The tools that the agent sees.
    Catalog,
    /// What a host has.
    Snapshot,
    /// What a server said about itself.
    Greeting,
    /// The parameters of the request were gone through.
    Params,
}

/// Something was looked up.
#[cfg(not(test))]
#[inline]
pub(crate) const fn note(_: Lookup) {}

#[cfg(test)]
pub(crate) use counted::{counts, note};

#[cfg(test)]
mod counted {
    use std::cell::RefCell;

    use super::Lookup;

    thread_local! {
        static NOTED: RefCell<Vec<Lookup>> = const { RefCell::new(Vec::new()) };
    }

    pub(crate) fn note(lookup: Lookup) {
        NOTED.with_borrow_mut(|noted| noted.push(lookup));
    }

    /// What this thread has looked up since it was asked last: catalogs, snapshots, greetings, and how often parameters were
    /// gone through.
    pub(crate) fn counts() -> [usize; 4] {
        let noted = NOTED.take();
        [Lookup::Catalog, Lookup::Snapshot, Lookup::Greeting, Lookup::Params]
            .map(|lookup| noted.iter().filter(|noted| **noted == lookup).count())
    }
}

#[cfg(test)]
#[path = "lookups_tests.rs"]
mod tests;
