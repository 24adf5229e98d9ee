//! Owns the script of a peer: which eras it speaks, what it offers, and in which ways it misbehaves.
//!
//! A [`Scenario`] is plain data. It is turned into JSON to reach the stdio binary, so the same script runs in process, as a
//! child and over HTTP.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::fault::{EndlessLine, ListFault, MixtureFault, Noise, OneAtATime, ProbeFault};
use crate::http_script::HttpScript;

/// The protocol versions of the legacy era, oldest first.
pub const LEGACY_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The protocol version of the modern era.
pub const MODERN_VERSION: &str = "2026-07-28";

/// The whole script of one peer. Every field has a default; [`Scenario::legacy`], [`Scenario::modern`] and
/// [`Scenario::dual`] are the usual starting points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// Which handshakes the peer understands.
    pub era: Era,
    /// Versions that `initialize` may agree on.
    pub legacy_versions: Vec<String>,
    /// Versions that a request's `_meta` may name.
    pub modern_versions: Vec<String>,
    /// Answer `initialize` with this version, whatever was asked: a peer from another time.
    pub forced_version: Option<String>,
    /// What a peer of both eras does once it has seen both handshakes on one connection.
    pub dual_rule: DualRule,
    /// Tools that ask fail in the modern era: they know only how to ask in the older one.
    pub asks_in_legacy_only: bool,
    /// The `instructions` text.
    pub instructions: Option<String>,
    /// Which tools, resources and prompts there are.
    pub contents: Contents,
    /// What the peer offers and declares.
    pub offers: Offers,
    /// Items per page of every list; `None` gives everything at once.
    pub page_size: Option<usize>,
    /// How many generated tools (`gen_0` …) stand in the list besides the built-in ones.
    pub generated_tools: usize,
    /// Size of one generated tool's definition in bytes.
    pub generated_tool_bytes: usize,
    /// Only the generated and the literal tools are listed (the built-in ones can still be called).
    pub hide_builtin_tools: bool,
    /// Tool definitions put into the list byte for byte (well formed or not), to check key order, unknown fields and
    /// broken items.
    pub literal_tools: Vec<String>,
    /// A way in which every list is wrong.
    pub list_fault: Option<ListFault>,
    /// For so many milliseconds a modern peer says that its lists count.
    pub list_ttl_ms: u64,
    /// Frames written byte for byte in answer to a method, with `$ID` replaced by the request's id. Newlines are not added.
    pub scripted: BTreeMap<String, String>,

    /// Exit with this status before doing anything.
    pub exit_at_once: Option<i32>,
    /// Wait this long before the first read.
    pub start_delay_ms: u64,
    /// Never read what the client writes.
    pub never_reads: bool,
    /// Do not leave when the client closes its side.
    pub ignores_eof: bool,
    /// Do not die of SIGTERM (and SIGINT, SIGHUP). Stdio only.
    pub ignores_sigterm: bool,
    /// Write one line without an end at the start.
    pub endless_line: Option<EndlessLine>,
    /// Write this many bytes to stderr at the start. Stdio only.
    pub stderr_at_start: u64,
    /// Write lines that are not protocol at the start.
    pub noise_at_start: Option<Noise>,
    /// Write such lines before and after every answer to `tools/call`.
    pub noise_around_calls: Option<Noise>,
    /// End lines with CR LF.
    pub crlf: bool,
    /// What becomes of `server/discover`.
    pub probe: ProbeFault,
    /// What becomes of `initialize`.
    pub initialize: ProbeFault,
    /// What a peer does with `initialize` after it has seen `server/discover` on the same connection.
    pub mixture: MixtureFault,
    /// Take every request and answer none.
    pub never_answers: bool,
    /// Answer every request this much later.
    pub answer_delay_ms: u64,
    /// A peer that cannot take a second request while one runs.
    pub one_at_a_time: Option<OneAtATime>,
    /// Append everything received to this file, one JSON object per line.
    pub record_to: Option<PathBuf>,
    /// How the HTTP forms answer, and their faults.
    pub http: HttpScript,
}

/// Which handshakes a peer understands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Era {
    /// `initialize` only.
    Legacy,
    /// `server/discover` and metadata in every request only.
    Modern,
    /// Both.
    #[default]
    Dual,
}

/// What a dual-era peer does once both handshakes have been made on one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DualRule {
    /// Each request is judged by its own metadata.
    #[default]
    EachRequest,
    /// The handshake answered last rules; requests of the other era are refused.
    LastHandshake,
    /// The first handshake rules, and the other one is refused: `server/discover` does not name the other era's versions.
    FirstHandshake,
}

/// Which tools, resources and prompts a peer has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contents {
    /// One for every behaviour and every fault.
    #[default]
    Toolbox,
    /// What the official conformance suite expects of a server under test.
    Fixture,
}

/// What the peer declares as its capabilities and answers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Offers {
    pub tools: bool,
    pub resources: bool,
    pub subscriptions: bool,
    pub prompts: bool,
    pub completions: bool,
    pub logging: bool,
    pub tasks: bool,
}

impl Default for Offers {
    fn default() -> Self {
        Self {
            tools: true,
            resources: true,
            subscriptions: true,
            prompts: true,
            completions: true,
            logging: true,
            tasks: true,
        }
    }
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            era: Era::Dual,
            legacy_versions: LEGACY_VERSIONS.iter().map(ToString::to_string).collect(),
            modern_versions: vec![MODERN_VERSION.to_string()],
            forced_version: None,
            dual_rule: DualRule::EachRequest,
            asks_in_legacy_only: false,
            instructions: Some("A fake server for tests".to_string()),
            contents: Contents::Toolbox,
            offers: Offers::default(),
            page_size: None,
            generated_tools: 0,
            generated_tool_bytes: 940,
            hide_builtin_tools: false,
            literal_tools: Vec::new(),
            list_fault: None,
            list_ttl_ms: 60_000,
            scripted: BTreeMap::new(),
            exit_at_once: None,
            start_delay_ms: 0,
            never_reads: false,
            ignores_eof: false,
            ignores_sigterm: false,
            endless_line: None,
            stderr_at_start: 0,
            noise_at_start: None,
            noise_around_calls: None,
            crlf: false,
            probe: ProbeFault::Normal,
            initialize: ProbeFault::Normal,
            mixture: MixtureFault::Fine,
            never_answers: false,
            answer_delay_ms: 0,
            one_at_a_time: None,
            record_to: None,
            http: HttpScript::default(),
        }
    }
}

impl Scenario {
    /// A peer that knows only `initialize`, in all four versions.
    pub fn legacy() -> Self {
        Self { era: Era::Legacy, ..Self::default() }
    }

    /// A peer that knows only `initialize`, in one version.
    pub fn legacy_version(version: &str) -> Self {
        Self { legacy_versions: vec![version.to_string()], ..Self::legacy() }
    }

    /// A peer that knows only 2026-07-28.
    pub fn modern() -> Self {
        Self { era: Era::Modern, ..Self::default() }
    }

    /// A peer that knows both eras.
    pub fn dual() -> Self {
        Self::default()
    }

    /// A peer that knows both eras, stays in the one it is greeted in, and can ask in the older one alone, as FastMCP 4 does.
    pub fn asks_in_legacy_only() -> Self {
        Self { asks_in_legacy_only: true, dual_rule: DualRule::FirstHandshake, ..Self::dual() }
    }

    /// The JSON text that the stdio binary takes as its argument.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn offers(mut self, offers: Offers) -> Self {
        self.offers = offers;
        self
    }

    pub fn page_size(mut self, items: usize) -> Self {
        self.page_size = Some(items);
        self
    }

    /// Lists `count` generated tools of about `bytes` bytes each.
    pub fn generated_tools(mut self, count: usize, bytes: usize) -> Self {
        self.generated_tools = count;
        self.generated_tool_bytes = bytes;
        self
    }

    pub fn hide_builtin_tools(mut self) -> Self {
        self.hide_builtin_tools = true;
        self
    }

    /// Adds a tool definition to the list, byte for byte.
    pub fn literal_tool(mut self, definition: &str) -> Self {
        self.literal_tools.push(definition.to_string());
        self
    }

    pub fn list_fault(mut self, fault: ListFault) -> Self {
        self.list_fault = Some(fault);
        self
    }

    /// Answers `method` with exactly these bytes; `$ID` becomes the request's id.
    pub fn scripted(mut self, method: &str, frame: &str) -> Self {
        self.scripted.insert(method.to_string(), frame.to_string());
        self
    }

    pub fn forced_version(mut self, version: &str) -> Self {
        self.forced_version = Some(version.to_string());
        self
    }

    pub fn dual_rule(mut self, rule: DualRule) -> Self {
        self.dual_rule = rule;
        self
    }

    pub fn exits_at_once(mut self, status: i32) -> Self {
        self.exit_at_once = Some(status);
        self
    }

    pub fn start_delay_ms(mut self, milliseconds: u64) -> Self {
        self.start_delay_ms = milliseconds;
        self
    }

    pub fn never_reads(mut self) -> Self {
        self.never_reads = true;
        self
    }

    pub fn ignores_eof(mut self) -> Self {
        self.ignores_eof = true;
        self
    }

    pub fn ignores_sigterm(mut self) -> Self {
        self.ignores_sigterm = true;
        self
    }

    pub fn endless_line(mut self, line: EndlessLine) -> Self {
        self.endless_line = Some(line);
        self
    }

    pub fn stderr_at_start(mut self, bytes: u64) -> Self {
        self.stderr_at_start = bytes;
        self
    }

    pub fn noise_at_start(mut self, noise: Noise) -> Self {
        self.noise_at_start = Some(noise);
        self
    }

    pub fn noise_around_calls(mut self, noise: Noise) -> Self {
        self.noise_around_calls = Some(noise);
        self
    }

    pub fn crlf(mut self) -> Self {
        self.crlf = true;
        self
    }

    /// What becomes of `server/discover`.
    pub fn probe(mut self, fault: ProbeFault) -> Self {
        self.probe = fault;
        self
    }

    /// What becomes of `initialize`.
    pub fn initialize(mut self, fault: ProbeFault) -> Self {
        self.initialize = fault;
        self
    }

    pub fn mixture(mut self, fault: MixtureFault) -> Self {
        self.mixture = fault;
        self
    }

    pub fn never_answers(mut self) -> Self {
        self.never_answers = true;
        self
    }

    pub fn answer_delay_ms(mut self, milliseconds: u64) -> Self {
        self.answer_delay_ms = milliseconds;
        self
    }

    pub fn one_at_a_time(mut self, rule: OneAtATime) -> Self {
        self.one_at_a_time = Some(rule);
        self
    }

    pub fn record_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.record_to = Some(path.into());
        self
    }

    pub fn http(mut self, script: HttpScript) -> Self {
        self.http = script;
        self
    }
}
