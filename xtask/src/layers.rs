//! Owns the table of absences: what each crate promises never to contain. `tidy` holds the tree to it.
//!
//! A crate exists to guarantee an absence. A new crate under `crates/` needs one line in [`LAYERS`], and the same words in ARCHITECTURE.md.

/// One line per crate.
pub(crate) const LAYERS: &[Layer] = &[
    Layer::new("helve-model", "I/O, async, clock")
        .free_of(&[RUNTIMES, NETWORK, PROCESSES, SYSTEM_CALLS, FILES, FACES])
        .silent_on(PURE),
    Layer::new("helve-policy", "I/O, async, clock")
        .free_of(&[RUNTIMES, NETWORK, PROCESSES, SYSTEM_CALLS, FILES, FACES])
        .silent_on(PURE),
    Layer::new("helve-render", "`jsonschema`, I/O, async")
        .free_of(&[RUNTIMES, NETWORK, PROCESSES, SYSTEM_CALLS, FILES, FACES, VALIDATORS])
        .silent_on(PURE),
    Layer::new("helve-schema", "fetching a $ref, network, files")
        .free_of(&[RUNTIMES, NETWORK, PROCESSES, SYSTEM_CALLS, FILES, FACES])
        .silent_on(PURE),
    Layer::new("helve-config", "processes, network, ambient environment or home")
        .free_of(&[RUNTIMES, NETWORK, PROCESSES, HOME, FACES])
        .silent_on(&[ASYNC, SOCKETS, CHILDREN, BORROWED_SOCKETS_AND_CHILDREN, SURROUNDINGS, PRINTING]),
    Layer::new("helve-sandbox", "MCP, policy, configuration, an async runtime, ambient environment or home")
        .free_of(&[
            RUNTIMES,
            NETWORK,
            PROCESSES,
            HOME,
            FACES,
            CONFIG_FILES,
            OTHER_SDKS,
            MCP,
            &["helve-policy", "helve-config"],
        ])
        .silent_on(&[ASYNC, CHILDREN, ENVIRONMENT, PRINTING]),
    Layer::new("helve-auth", "MCP, a terminal, a browser, files, configuration, ambient environment")
        .free_of(&[FACES, CONFIG_FILES, HOME, OTHER_SDKS, FILES, PROCESSES, MCP])
        .silent_on(&[CHILDREN, FILE_SYSTEM, SURROUNDINGS, PRINTING]),
    Layer::new("helve-wire", "policy decisions, config files, the environment, a face of its own")
        .free_of(&[FACES, CONFIG_FILES, HOME, OTHER_SDKS])
        .silent_on(&[ENVIRONMENT, PRINTING])
        .versions_under("src/era"),
    Layer::new("helve", "a terminal, listeners, ambient environment or home")
        .free_of(&[FACES, CONFIG_FILES, HOME, OTHER_SDKS])
        .silent_on(&[ENVIRONMENT, PRINTING]),
    Layer::new("helve-store", "HTTP, MCP, a clock, an `await`, a plain secret; SQL of the hub exists nowhere else")
        .free_of(&[RUNTIMES, NETWORK, PROCESSES, HOME, FACES, CONFIG_FILES, OTHER_SDKS, MCP])
        .silent_on(&[ASYNC, CLOCK, SOCKETS, CHILDREN, ENVIRONMENT, PRINTING]),
    Layer::new("helve-setup", "a terminal, clap, printing, listeners, ambient environment or home")
        .free_of(&[FACES, HOME, OTHER_SDKS, &["helve-serve", "helve-cli"]])
        .silent_on(&[ENVIRONMENT, PRINTING, OWN_STREAMS, LISTENERS, CLOCK_OF_THE_DAY]),
    Layer::new("helve-serve", "listeners, configuration, a terminal, ambient environment or home")
        .free_of(&[FACES, CONFIG_FILES, HOME, OTHER_SDKS])
        .silent_on(&[SOCKETS, BORROWED_SOCKETS, CHILDREN, SURROUNDINGS, PRINTING])
        .versions_under("src/era"),
    Layer::new("helve-page", "I/O, async, a clock, a decision; script or style inside a page")
        .free_of(&[RUNTIMES, NETWORK, PROCESSES, SYSTEM_CALLS, FILES, FACES])
        .silent_on(PURE),
    Layer::new("helve-hub", "listeners, SQL, HTML, a clock of its own, a terminal, ambient environment or home")
        .free_of(&[FACES, HOME, OTHER_SDKS, &["helve-cli"]])
        .silent_on(&[SOCKETS, BORROWED_SOCKETS, CHILDREN, SURROUNDINGS, PRINTING, OWN_STREAMS, CLOCK_OF_THE_DAY]),
    Layer::new("helve-cli", "protocol logic").free_of(&[OTHER_SDKS]).silent_on(&[PRINTING]),
    Layer::new("helve-builtin", "network, processes, ambient environment or home")
        .free_of(&[FACES, CONFIG_FILES, HOME, OTHER_SDKS])
        .silent_on(&[SOCKETS, CHILDREN, BORROWED_SOCKETS_AND_CHILDREN, SURROUNDINGS, PRINTING]),
    Layer::new(
        "helve-code",
        "policy decisions, a call that is not `PreparedCall::invoke`, network, processes but by a launcher",
    )
    .free_of(&[FACES, CONFIG_FILES, HOME, OTHER_SDKS, &["helve-serve", "helve-cli", "helve-config"]])
    .silent_on(&[SOCKETS, CHILDREN, ENVIRONMENT, PRINTING]),
    Layer::new("helve-python", "logic of its own: a terminal, listeners, printing, protocol")
        .free_of(&[FACES, OTHER_SDKS, &["helve-serve", "helve-cli"]])
        .silent_on(&[PRINTING, OWN_STREAMS, LISTENERS, SOCKETS]),
    Layer::new("helve-testkit", "helve-wire: it is the independent second opinion")
        .free_of(&[&["helve-wire", "helve-auth"]])
        .even_in_its_tests()
        .silent_on(&[PRINTING_TO_STDOUT])
        .versions_anywhere(),
];

/// Dependencies that only the named packages may ask for, in any section of their manifest.
pub(crate) const KEPT_TO: &[KeptTo] = &[
    KeptTo {
        dependency: "rmcp",
        packages: &["helve-testkit", "xtask"],
        because: "it is the peer we are measured against and tested with, not a part of the product",
    },
    KeptTo {
        dependency: "landlock",
        packages: &["helve-sandbox"],
        because: "what a program may touch is decided and applied in one place",
    },
    KeptTo {
        dependency: "seccompiler",
        packages: &["helve-sandbox", "xtask"],
        because: "what a program may touch is decided and applied in one place",
    },
];

/// Packages that may be a dev-dependency of the crates but never part of the product.
pub(crate) const DEVELOPMENT_ONLY: &[&str] = &["helve-testkit", "xtask"];

/// What only era modules say.
pub(crate) const COMPARES_VERSIONS: Words = &["protocol::version", "Era::Legacy", "Era::Modern"];

/// Every revision of the protocol; only `helve_model::protocol` spells them.
pub(crate) const PROTOCOL_VERSIONS: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// Words that no source file may contain: half-finished work does not land.
pub(crate) const UNFINISHED: Words = &["todo!", "unimplemented!", "dbg!"];

/// Longest source file, tests not counted.
pub(crate) const MAX_LINES: usize = 700;

/// What one crate promises.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) name: &'static str,
    /// The promise in words, as ARCHITECTURE.md has it.
    pub(crate) absence: &'static str,
    /// Packages it must not reach, not even through others.
    pub(crate) must_not_reach: &'static [Packages],
    /// Whether its dev-dependencies must not name them either.
    pub(crate) tests_too: bool,
    /// What its sources must not say.
    pub(crate) must_not_say: &'static [Words],
    pub(crate) versions: Versions,
}

impl Layer {
    const fn new(name: &'static str, absence: &'static str) -> Self {
        Self { name, absence, must_not_reach: &[], tests_too: false, must_not_say: &[], versions: Versions::Nowhere }
    }

    const fn free_of(mut self, packages: &'static [Packages]) -> Self {
        self.must_not_reach = packages;
        self
    }

    const fn even_in_its_tests(mut self) -> Self {
        self.tests_too = true;
        self
    }

    const fn silent_on(mut self, words: &'static [Words]) -> Self {
        self.must_not_say = words;
        self
    }

    const fn versions_under(mut self, directory: &'static str) -> Self {
        self.versions = Versions::Under(directory);
        self
    }

    const fn versions_anywhere(mut self) -> Self {
        self.versions = Versions::Anywhere;
        self
    }
}

/// Where a crate may spell out protocol versions.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Versions {
    Nowhere,
    Under(&'static str),
    Anywhere,
}

#[derive(Debug)]
pub(crate) struct KeptTo {
    pub(crate) dependency: &'static str,
    pub(crate) packages: &'static [&'static str],
    pub(crate) because: &'static str,
}

/// Names of packages as the registry spells them.
pub(crate) type Packages = &'static [&'static str];

/// Consecutive path segments (`std::env` also finds `use std::{env, fs}`), or a macro (`println!`).
pub(crate) type Words = &'static [&'static str];

const RUNTIMES: Packages = &["tokio", "mio", "async-std", "async-io", "smol", "futures-executor", "rayon"];
const NETWORK: Packages = &[
    "axum",
    "curl",
    "h2",
    "hyper",
    "hyper-util",
    "native-tls",
    "openssl",
    "reqwest",
    "rustls",
    "socket2",
    "tower-http",
    "ureq",
];
const PROCESSES: Packages = &["command-group", "nix", "process-wrap", "signal-hook", "sysinfo"];
const SYSTEM_CALLS: Packages = &["rustix"];
const FILES: Packages = &["fs-err", "notify", "tempfile", "walkdir"];
const HOME: Packages = &["dirs", "etcetera", "home"];
const FACES: Packages = &["axum", "clap", "ratatui", "crossterm"];
const CONFIG_FILES: Packages = &["helve-config", "jsonc-parser", "serde-saphyr", "toml", "toml_edit"];
/// What compiles schemas.
const VALIDATORS: Packages = &["helve-schema", "jsonschema", "referencing"];
const OTHER_SDKS: Packages = &["rmcp"];
/// Whatever speaks the protocol.
const MCP: Packages = &["helve", "helve-serve", "helve-wire"];

const PURE: &[Words] = &[ASYNC, CLOCK, SOCKETS, CHILDREN, FILE_SYSTEM, SURROUNDINGS, PRINTING];
const ASYNC: Words = &["async", "await"];
const CLOCK: Words = &["Instant::now", "SystemTime::now"];
const CLOCK_OF_THE_DAY: Words = &["SystemTime::now"];
/// The streams of a program, and what asks about a terminal.
const OWN_STREAMS: Words = &["io::stdin", "io::stdout", "io::stderr", "rustix::termios", "IsTerminal"];
const LISTENERS: Words = &["TcpListener", "UnixListener"];
const SOCKETS: Words = &["std::net", "std::os::unix::net"];
const CHILDREN: Words = &["std::process"];
const BORROWED_SOCKETS: Words = &["tokio::net"];
/// The same, from crates that a crate has for other things.
const BORROWED_SOCKETS_AND_CHILDREN: Words =
    &["tokio::net", "tokio::process", "rustix::net", "rustix::process", "helve_wire"];
const FILE_SYSTEM: Words = &["std::fs", "io::stdin", "io::stdout", "io::stderr"];
const SURROUNDINGS: Words = &["std::env"];
/// What is left of `std::env` for a crate that ships a program: its arguments.
const ENVIRONMENT: Words = &[
    "env::var",
    "env::var_os",
    "env::vars",
    "env::vars_os",
    "env::set_var",
    "env::remove_var",
    "env::home_dir",
    "env::current_dir",
    "env::temp_dir",
];
/// For a program whose stdout is its wire.
const PRINTING_TO_STDOUT: Words = &["print!", "println!"];
const PRINTING: Words = &["print!", "println!", "eprint!", "eprintln!"];
