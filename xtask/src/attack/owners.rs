//! Owns the attack on ownership: two tokens and three servers against each other. Every interleaving is done in a world with
//! both principals and in worlds where each is alone; what looks different was another's.

mod agent;

use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Context, Result, ensure};
use futures_util::FutureExt as _;
use helve_testkit::Scenario;
use helve_testkit::interference::{ASKED_ABOUT, Case, Door, SERVERS, World, differences};
use serde_json::{Value, json};

use super::Figure;
use super::arena::{Arena, Place};
use crate::listening::Listening;
use agent::{Agent, Held};

/// Interleavings in one world; then it is made anew, so that no list grows without end.
const CASES_OF_A_WORLD: usize = 100;

/// The two principals.
const TOKENS: [&str; 2] = ["the-first-of-two-long-tokens", "the-second-of-two-long-tokens"];

pub(crate) fn run(arena: &Arena) -> Result<Vec<Figure>> {
    let cases = arena.tries(60, 2_000);
    let mut noticed = Vec::new();
    for first in (0..cases).step_by(CASES_OF_A_WORLD) {
        let world = || Ok::<_, anyhow::Error>(World::new(Serving::start(arena)?));
        let (mut both, mut alone) = (world()?, [world()?, world()?]);
        for seed in first..cases.min(first + CASES_OF_A_WORLD) {
            // The agents here wait by blocking, so that nothing is ever left for later.
            let differing = differences(&Case::of(seed as u64), &mut both, &mut alone).now_or_never();
            let differing = differing.context("an agent waits for something else than the program")?;
            if let Some(example) = differing.first() {
                noticed.push(format!("case {seed}: {example}"));
            }
        }
    }
    let mut figure = Figure::none_of("interleavings in which one principal notices another", cases, noticed.len());
    if let Some(example) = noticed.first() {
        figure.reached = format!("{}; {}", figure.reached, example.chars().take(600).collect::<String>());
    }
    Ok(vec![figure, kept_results(arena)?])
}

/// The same call of two principals reaches its server twice, and of one principal once.
fn kept_results(arena: &Arena) -> Result<Figure> {
    let mut serving = Serving::start(arena)?;
    let call = json!({"name": "three__echo", "arguments": {"x": 77}});
    for principal in [0, 1, 0, 1] {
        let answer = serving.agents[principal].legacy("tools/call", &call)?.pop().unwrap_or_default();
        ensure!(answer["result"]["structuredContent"] == json!({"x": 77}), "{answer}");
    }
    let is_call = |frame: &&Value| frame["method"] == "tools/call";
    let reached = serving.place.frames("three.log").iter().filter(is_call).count();
    Ok(Figure {
        what: "results that are kept: calls that reach the server, of two from each principal".to_owned(),
        wanted: "2".to_owned(),
        reached: reached.to_string(),
        holds: reached == 2,
    })
}

/// One `helve serve --http` with its servers, and both principals.
struct Serving {
    place: Place,
    agents: [Agent; 2],
    /// Ended before its home goes.
    _program: Listening,
}

impl Serving {
    fn start(arena: &Arena) -> Result<Self> {
        let place = arena.place()?;
        let scenario = |name: &str| if name == SERVERS[1] { Scenario::legacy() } else { Scenario::modern() };
        let servers: String = SERVERS
            .iter()
            .map(|name| {
                let shared = if *name == SERVERS[1] { "shared = true\n" } else { "" };
                format!("{}{shared}\n", place.server(name, scenario(name), &format!("{name}.log")))
            })
            .collect();
        let settings = "[settings]\nresult_cache_seconds = 3600\n\
            cacheable_tools = [\"one/ask\", \"three/ask\", \"two/echo\", \"three/echo\"]\n";
        let rules = format!(
            "[[rules]]\ntool = \"one/{ASKED_ABOUT}\"\naction = \"ask\"\n\n[[rules]]\ntool = \"*\"\naction = \"allow\"\n"
        );
        place.write("home/.config/helve/helve.toml", &format!("{settings}\n{servers}\n{rules}"))?;
        place.write("home/token", TOKENS[0])?;
        let token = place.root().join("home/token");
        fs_err::set_permissions(&token, std::fs::Permissions::from_mode(0o600))?;
        let arguments = ["serve", "--http", "127.0.0.1:0", "--prefix", "server", "--wait", "30s", "--token-file"];
        let mut command = place.command(&arguments);
        let program = Listening::start(command.arg(&token).env("HELVE_SERVE_TOKEN", TOKENS[1]))?;
        let agents = [Agent::new(&program.url, TOKENS[0])?, Agent::new(&program.url, TOKENS[1])?];
        Ok(Self { place, agents, _program: program })
    }
}

/// What came, or the error as something that came: it differs from any answer.
fn heard(came: Result<Vec<Value>>) -> Vec<Value> {
    let mut came = came.unwrap_or_else(|error| vec![json!({"the attack failed": format!("{error:#}")})]);
    // Ids are counted anew in every world.
    for message in came.iter_mut().filter_map(Value::as_object_mut) {
        message.remove("id");
    }
    came
}

impl Door for Serving {
    type Held = Option<Held>;

    async fn modern(&mut self, principal: usize, method: &str, params: Value) -> Vec<Value> {
        heard(self.agents[principal].modern(method, &params))
    }

    async fn legacy(&mut self, principal: usize, method: &str, params: Value) -> Vec<Value> {
        heard(self.agents[principal].legacy(method, &params))
    }

    async fn hold(&mut self, principal: usize, method: &str, params: Value) -> Option<Held> {
        self.agents[principal].hold(method, &params).ok()
    }

    async fn heard(&mut self, held: &mut Option<Held>) -> Vec<Value> {
        match held {
            Some(held) => held.heard(),
            None => vec![json!("a call could not be left open")],
        }
    }

    fn calls(&self) -> Option<usize> {
        None
    }
}
