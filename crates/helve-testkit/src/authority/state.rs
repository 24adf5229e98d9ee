//! Owns what an authorization server remembers: clients, codes, tokens, and what it was asked.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use super::switches::Switches;

/// One request, as it came.
#[derive(Clone, Debug)]
pub struct SeenRequest {
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// The members of its query or form.
    pub parameters: BTreeMap<String, String>,
    /// Its `Authorization` header.
    pub authorization: Option<String>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) switches: Switches,
    pub(crate) clients: HashMap<String, Client>,
    pub(crate) codes: HashMap<String, Code>,
    /// Access tokens that are good, with their login.
    pub(crate) access: HashMap<String, Grant>,
    /// Refresh tokens that are good.
    pub(crate) refresh: HashMap<String, Grant>,
    /// Refresh tokens that were used: whoever brings one again loses the login.
    pub(crate) used: HashMap<String, u64>,
    pub(crate) revoked: HashSet<u64>,
    pub(crate) seen: Vec<SeenRequest>,
    pub(crate) refreshes: usize,
    pub(crate) reuses: usize,
    /// Codes for people to type, by the code of the device.
    pub(crate) devices: HashMap<String, Device>,
    /// Questions about them that came too soon.
    pub(crate) hasty: usize,
    counter: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) secret: Option<String>,
    pub(crate) redirects: Vec<String>,
    /// The grants it was registered for.
    pub(crate) grants: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) client: String,
    pub(crate) redirect: String,
    pub(crate) challenge: String,
    pub(crate) resource: Option<String>,
    pub(crate) scope: Option<String>,
}

/// A code for a person to type.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) client: String,
    pub(crate) typed: String,
    pub(crate) resource: Option<String>,
    pub(crate) scope: Option<String>,
    pub(crate) is_approved: bool,
    /// When it may be asked about again, and how long that takes each time.
    pub(crate) not_before: Instant,
    pub(crate) pause: Duration,
    pub(crate) questions: usize,
}

/// One login.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) login: u64,
    pub(crate) client: String,
    pub(crate) resource: Option<String>,
    pub(crate) scope: Option<String>,
}

impl State {
    pub(crate) fn new(switches: Switches) -> Self {
        Self {
            switches,
            clients: HashMap::new(),
            codes: HashMap::new(),
            access: HashMap::new(),
            refresh: HashMap::new(),
            used: HashMap::new(),
            revoked: HashSet::new(),
            seen: Vec::new(),
            refreshes: 0,
            reuses: 0,
            devices: HashMap::new(),
            hasty: 0,
            counter: 0,
        }
    }

    /// A number that was not there before.
    pub(crate) fn next(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    pub(crate) fn end_access_tokens(&mut self) {
        self.access.clear();
    }

    pub(crate) fn end_refresh_tokens(&mut self) {
        self.refresh.clear();
    }

    /// A login is over: nothing of it is good any more.
    pub(crate) fn revoke(&mut self, login: u64) {
        self.revoked.insert(login);
        self.access.retain(|_, grant| grant.login != login);
        self.refresh.retain(|_, grant| grant.login != login);
    }
}
