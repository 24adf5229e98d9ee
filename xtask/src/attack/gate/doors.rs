//! Owns the ways in of a hostile agent: a pipe, Streamable HTTP in both eras, HTTP+SSE.

use std::collections::HashSet;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use helve_testkit::hostile::{HARMLESS, Probe, Speech, modern_meta};
use serde_json::{Value, json};

use crate::attack::arena::{Piped, Place};
use crate::attack::client::Client;
use crate::listening::Listening;

/// Messages that are on their way at one time.
const AT_ONCE: usize = 64;

/// The only version that has batches, and the only one of the oldest transport.
const WITH_BATCHES: &str = "2025-03-26";
const OLDEST: &str = "2024-11-05";

/// Every request over HTTP has a header that no server may get.
pub(super) const OWN_HEADER: (&str, &str) = ("x-probe", "said-by-the-agent");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    LegacyStream,
    ModernStream,
    LegacyHttp,
    ModernHttp,
    Sse,
}

pub(super) const DOORS: [Door; 5] =
    [Door::LegacyStream, Door::ModernStream, Door::LegacyHttp, Door::ModernHttp, Door::Sse];

/// One agent that has come in.
pub(super) enum Agent {
    Pipe(Piped),
    Http(Client),
    Sse { posts: Client, reads: Client },
}

impl Door {
    pub(super) const fn speech(self) -> Speech {
        match self {
            Self::LegacyStream | Self::LegacyHttp => Speech::Legacy,
            Self::Sse => Speech::WithoutBatches,
            Self::ModernStream => Speech::Modern,
            Self::ModernHttp => Speech::ModernWithHeaders,
        }
    }

    pub(super) const fn is_pipe(self) -> bool {
        matches!(self, Self::LegacyStream | Self::ModernStream)
    }

    /// The program with a pipe to its only agent.
    pub(super) fn by_pipe(self, place: &Place, arguments: &[&str]) -> Result<Agent> {
        let mut pipe = place.serve(arguments)?;
        if self == Self::LegacyStream {
            let client = json!({"name": "attack", "version": "1"});
            let hello = json!({"protocolVersion": WITH_BATCHES, "capabilities": {}, "clientInfo": client});
            pipe.request("initialize", &hello)?;
        }
        Ok(Agent::Pipe(pipe))
    }

    /// Comes in at the program that listens, as whoever has this token.
    pub(super) fn by_http(self, listening: &Listening, token: &str) -> Result<Agent> {
        let address = listening.url.strip_prefix("http://").and_then(|url| url.split_once('/'));
        let address = address.context("an address")?.0;
        let mut client = Client::connect(address, token)?;
        match self {
            Self::Sse => {
                let mut reads = client;
                let path = reads.open("/sse")?;
                let mut posts = Client::connect(address, token)?;
                posts.path = path;
                let mut agent = Agent::Sse { posts, reads };
                let client = json!({"name": "attack", "version": "1"});
                let hello = json!({"protocolVersion": OLDEST, "capabilities": {}, "clientInfo": client});
                agent.ask(self, "initialize", hello)?;
                return Ok(agent);
            }
            Self::LegacyHttp => client.initialize_as(WITH_BATCHES)?,
            _ => {}
        }
        Ok(Agent::Http(client))
    }
}

/// `helve serve --http` for these tokens.
pub(super) fn listening(place: &Place, arguments: &[&str], tokens: [&str; 2]) -> Result<Listening> {
    use std::os::unix::fs::PermissionsExt as _;
    let [first, second] = tokens;
    place.write("home/token", first)?;
    let file = place.root().join("home/token");
    // A token that others can read is refused.
    fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
    let file = file.to_str().context("a path that is text")?;
    let mut command: Command = place.command(&["serve", "--http", "0", "--token-file", file]);
    Listening::start(command.args(arguments).env("HELVE_SERVE_TOKEN", second))
}

impl Agent {
    /// Asks, in plain words, for everything that needs no decision, and makes one call where one is allowed.
    pub(super) fn ask_plainly(&mut self, door: Door, allowed: Option<&str>) -> Result<()> {
        for (method, params) in HARMLESS {
            let params: Value = serde_json::from_str(params)?;
            // On one stream both eras can be spoken.
            if door == Door::ModernStream {
                self.ask(Door::LegacyStream, method, params.clone())?;
            }
            self.ask(door, method, params)?;
        }
        match allowed {
            Some(tool) => self.ask(door, "tools/call", json!({"name": tool, "arguments": {"plain": 1}})),
            None => Ok(()),
        }
    }

    fn ask(&mut self, door: Door, method: &str, mut params: Value) -> Result<()> {
        if door.speech().is_modern() {
            params["_meta"] = modern_meta(&json!({}));
        }
        let text = json!({"jsonrpc": "2.0", "id": "plain", "method": method, "params": params}).to_string();
        let headers = (method.to_owned(), params["name"].as_str().map(str::to_owned));
        let id = Some(json!("plain"));
        self.say(door, &[Probe { number: 0, form: "plain", text, id, arrives: None, headers }])
    }

    /// Says all of this, and waits for the answers that have to come.
    pub(super) fn say(&mut self, door: Door, probes: &[Probe]) -> Result<()> {
        for group in probes.chunks(AT_ONCE) {
            let mut open: HashSet<Value> = HashSet::new();
            for probe in group {
                let is_taken = match self {
                    Self::Pipe(pipe) => pipe.send(&probe.text).map(|()| true)?,
                    Self::Http(client) => say_over_http(client, door, probe).map(|()| false)?,
                    Self::Sse { posts, .. } => {
                        let text = posts.written_text(&probe.text, &[OWN_HEADER]);
                        posts.send_text(&text)?;
                        posts.reply()?.status == 202
                    }
                };
                open.extend(probe.id.clone().filter(|_| is_taken));
            }
            match self {
                Self::Pipe(pipe) => pipe.answers(open)?,
                Self::Sse { reads, .. } => {
                    while !open.is_empty() {
                        let message: Value = serde_json::from_str(&reads.event()?)?;
                        if message.get("method").is_none() {
                            open.remove(&message["id"]);
                        }
                    }
                }
                Self::Http(_) => ensure!(open.is_empty(), "answers come with their requests"),
            }
        }
        Ok(())
    }

    /// Goes, and waits for the program to end where it ends with its agent.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Pipe(pipe) => pipe.finish(),
            Self::Http(_) | Self::Sse { .. } => Ok(()),
        }
    }
}

fn say_over_http(client: &mut Client, door: Door, probe: &Probe) -> Result<()> {
    let (method, name) = &probe.headers;
    // What cannot stand in a header is said in the body alone.
    let method = if method.bytes().all(|byte| byte.is_ascii_graphic()) { method.as_str() } else { "tools/call" };
    let mut headers = vec![OWN_HEADER];
    if door == Door::ModernHttp {
        headers.extend([("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)]);
        headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
    }
    let text = client.written_text(&probe.text, &headers);
    client.send_text(&text)?;
    if probe.id.is_some() { client.reply().map(drop) } else { client.reply_or_leave().map(drop) }
}
