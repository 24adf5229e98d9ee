//! What is asked for: a profile, what is added to it, and how much of it has to be enforced. The words for it are the
//! vocabulary's, [`helve_model::sandbox`].

use std::path::PathBuf;

use helve_model::sandbox::{Limits, Network, Profile};

/// How much may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// Somebody wrote `required`: everything, metadata of files included.
    All,
    /// What was written (a profile, a path, a host) has to be enforced; read-only mounts where they can be had.
    Written,
    /// What the machine has. Files are always enforced.
    Weaker,
}

/// What somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The profile.
    pub profile: Profile,
    /// Can be read besides.
    pub read: Vec<PathBuf>,
    /// Can be read and written besides, never executed.
    pub write: Vec<PathBuf>,
    /// Can be read, written and executed besides.
    pub exec: Vec<PathBuf>,
    /// The network; `None` as the profile has it.
    pub network: Option<Network>,
    /// Unix sockets may be made and connected to.
    pub unix: bool,
    /// What a process may use.
    pub limits: Limits,
    /// How much may be missing.
    pub demand: Demand,
    /// Whoever wrote the paths may name a protected place exactly, a person's own `~/.aws` for example.
    pub may_name_protected: bool,
}

impl Policy {
    /// A profile, and nothing besides.
    #[must_use]
    pub const fn new(profile: Profile) -> Self {
        Self {
            profile,
            read: Vec::new(),
            write: Vec::new(),
            exec: Vec::new(),
            network: None,
            unix: false,
            limits: Limits::NONE,
            demand: Demand::Written,
            may_name_protected: false,
        }
    }

    /// The network as it is asked for.
    #[must_use]
    pub fn network(&self) -> Network {
        match (&self.network, self.profile) {
            // An empty list of hosts is none.
            (Some(Network::Hosts(hosts)), _) if hosts.is_empty() => Network::None,
            (Some(network), _) => network.clone(),
            (None, Profile::Standard) => Network::All,
            (None, Profile::Offline | Profile::Strict) => Network::None,
        }
    }
}
