//! Owns the attack on the gate: nothing an agent says reaches a server unless something decided that it may, and what is
//! allowed arrives.

mod doors;

use anyhow::{Result, ensure};
use helve_testkit::hostile::{self, Probe, Target};
use helve_testkit::{HttpServer, Scenario};
use serde_json::{Value, json};

use super::Figure;
use super::arena::{Arena, Place};
use doors::{Agent, DOORS, Door, OWN_HEADER};

/// The two who come.
const TOKENS: [&str; 2] = ["the-first-one-0123456789abcdef", "the-second-one-0123456789abcdef"];

/// Of the messages one in so many is said in each run of every day, and another one in the next.
const QUICK_STEP: usize = 5;

/// Nothing but tools may be used.
const TOOLS_ALONE: &str = "[[rules]]\ntool = \"*\"\nkind = \"resource\"\naction = \"deny\"\n\
    [[rules]]\ntool = \"*\"\nkind = \"prompt\"\naction = \"deny\"\n";

/// How a server is reached, and its era.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Upstream {
    LegacyProgram,
    ModernProgram,
    LegacyHttp,
    ModernHttp,
}

const UPSTREAMS: [Upstream; 4] =
    [Upstream::LegacyProgram, Upstream::ModernProgram, Upstream::LegacyHttp, Upstream::ModernHttp];

/// A policy: what stands in each server's entry, the rules, the tool that may be called, and one that may not.
struct Policy {
    entry: &'static str,
    rules: &'static str,
    allowed: Option<&'static str>,
    denied: &'static str,
}

const POLICIES: [Policy; 6] = [
    Policy { entry: "", rules: "[[rules]]\ntool = \"*\"\naction = \"deny\"\n", allowed: None, denied: "one__danger" },
    Policy {
        entry: "",
        rules: "[[rules]]\ntool = \"one/echo\"\naction = \"allow\"\n[[rules]]\ntool = \"one/danger\"\naction = \"deny\"\n",
        allowed: Some("one__echo"),
        denied: "one__danger",
    },
    Policy {
        entry: "",
        rules: "[[rules]]\ntool = \"one/*\"\naction = \"allow\"\n[[rules]]\ntool = \"two/*\"\naction = \"deny\"\n",
        allowed: Some("one__echo"),
        denied: "two__echo",
    },
    Policy {
        entry: "readonly = true\ntools = [\"echo\"]\n",
        rules: "",
        allowed: Some("one__echo"),
        denied: "one__danger",
    },
    Policy {
        entry: "write_tools = [\"*\"]\ndisabled_tools = [\"danger\"]\n",
        rules: "",
        allowed: Some("one__echo"),
        denied: "one__danger",
    },
    Policy { entry: "", rules: "", allowed: None, denied: "one__danger" },
];

pub(crate) fn run(arena: &Arena) -> Result<Vec<Figure>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let _entered = runtime.enter();
    let (mut runs, mut sent, mut leaked, mut allowed, mut arrived) = (0, 0, 0, 0, 0);
    for (place, door) in DOORS.into_iter().enumerate() {
        for (number, policy) in POLICIES.iter().enumerate() {
            let turn = place + number;
            let tried = arena.tries(1, UPSTREAMS.len());
            for (round, upstream) in UPSTREAMS.into_iter().cycle().skip(turn).take(tried).enumerate() {
                // A pipe has one agent; over HTTP there are one and two.
                let counts: &[usize] = match (door.is_pipe(), arena.is_quick) {
                    (true, _) => &[1],
                    (false, true) => {
                        if turn % 2 == 0 {
                            &[1]
                        } else {
                            &[2]
                        }
                    }
                    (false, false) => &[1, 2],
                };
                for agents in counts {
                    let case = Case { policy, door, upstream, agents: *agents, call_tool: (turn + round) % 3 == 0 };
                    let step = arena.tries(QUICK_STEP, 1);
                    let outcome = case.attack(arena, &runtime, runs, step)?;
                    runs += 1;
                    sent += outcome.sent;
                    leaked += outcome.leaked;
                    allowed += outcome.allowed;
                    arrived += outcome.arrived;
                }
            }
        }
    }
    let what = format!("undecided messages that reach a server, {runs} kinds of agents, rules and servers");
    Ok(vec![
        Figure::none_of(&what, sent, leaked),
        Figure::all_of("allowed calls that arrive once, as they were sent", allowed, arrived),
    ])
}

/// One way to be attacked.
struct Case<'a> {
    policy: &'a Policy,
    door: Door,
    upstream: Upstream,
    agents: usize,
    call_tool: bool,
}

struct Outcome {
    sent: usize,
    leaked: usize,
    allowed: usize,
    arrived: usize,
}

impl Case<'_> {
    fn attack(&self, arena: &Arena, runtime: &tokio::runtime::Runtime, first: usize, step: usize) -> Result<Outcome> {
        let target = Target {
            allowed: self.policy.allowed.map(str::to_owned),
            denied: self.policy.denied.to_owned(),
            resource: "test://text".to_owned(),
            prompt: "one__greet".to_owned(),
            speech: self.door.speech(),
            call_tool: self.call_tool,
            pending: None,
        };
        let probes = hostile::sample(hostile::probes(&target), first, step);
        let quiet = self.run(arena, runtime, &[])?;
        let attacked = self.run(arena, runtime, &probes)?;
        // Nothing of theirs is allowed at the other server.
        let nothing: Vec<Probe> = probes.iter().map(|probe| Probe { arrives: None, ..probe.clone() }).collect();
        let mut wrong = hostile::difference(&probes, &quiet.frames[0], &attacked.frames[0]);
        wrong.extend(hostile::difference(&nothing, &quiet.frames[1], &attacked.frames[1]));
        wrong.extend(attacked.headers.into_iter().filter(|headers| headers.contains(OWN_HEADER.1)));
        let missing = wrong.iter().filter(|line| line.starts_with("arrived")).count();
        if !wrong.is_empty() {
            let Self { policy, door, upstream, agents, .. } = self;
            tell(&format!("{door:?}, {upstream:?}, {agents} agents, denied {}", policy.denied), &wrong);
        }
        let allowed = probes.iter().filter(|probe| probe.arrives.is_some()).count();
        ensure!((allowed > 0) == self.policy.allowed.is_some(), "there is something to allow");
        let leaked = wrong.len() - missing;
        Ok(Outcome { sent: probes.len() - allowed, leaked, allowed, arrived: allowed - missing.min(allowed) })
    }

    /// Runs the program with agents that say this; everything else is the same each time.
    fn run(&self, arena: &Arena, runtime: &tokio::runtime::Runtime, probes: &[Probe]) -> Result<Log> {
        let place = arena.place()?;
        let (mut servers, mut listening) = (String::new(), Vec::new());
        for name in ["one", "two"] {
            let (entry, kept) = self.upstream.start(&place, runtime, name)?;
            servers.push_str(&entry);
            servers.push_str(self.policy.entry);
            listening.extend(kept);
        }
        let rules = self.policy.rules;
        place.write("home/.config/helve/helve.toml", &format!("{servers}\n{TOOLS_ALONE}{rules}"))?;
        let discover = if self.call_tool { "search" } else { "all" };
        let arguments = ["--wait", "30s", "--prefix", "server", "--discover", discover];
        if self.door.is_pipe() {
            let agent = self.door.by_pipe(&place, &arguments)?;
            self.converse(vec![agent], probes)?;
        } else {
            let program = doors::listening(&place, &arguments, TOKENS)?;
            let come = |token: &&str| self.door.by_http(&program, token);
            self.converse(TOKENS.iter().take(self.agents).map(come).collect::<Result<_>>()?, probes)?;
            program.stop()?;
        }
        Ok(Log::of(&place))
    }

    fn converse(&self, mut agents: Vec<Agent>, probes: &[Probe]) -> Result<()> {
        for agent in &mut agents {
            agent.ask_plainly(self.door, self.policy.allowed)?;
        }
        let count = agents.len();
        for (number, agent) in agents.iter_mut().enumerate() {
            let own: Vec<Probe> = probes.iter().filter(|probe| probe.number % count == number).cloned().collect();
            agent.say(self.door, &own)?;
        }
        for mut agent in agents {
            // By now all that was told before has been dealt with.
            agent.ask_plainly(self.door, self.policy.allowed)?;
            agent.finish()?;
        }
        Ok(())
    }
}

impl Upstream {
    /// The entry of a server, and what has to be kept for it to run.
    fn start(
        self,
        place: &Place,
        runtime: &tokio::runtime::Runtime,
        name: &str,
    ) -> Result<(String, Option<HttpServer>)> {
        let danger = r#"{"name":"danger","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}"#;
        let scenario = match self {
            Self::LegacyProgram | Self::LegacyHttp => Scenario::legacy(),
            Self::ModernProgram | Self::ModernHttp => Scenario::modern(),
        };
        let (scenario, record) = (scenario.literal_tool(danger), format!("{name}.log"));
        if matches!(self, Self::LegacyProgram | Self::ModernProgram) {
            return Ok((place.server(name, scenario, &record), None));
        }
        let scenario = scenario.record_to(place.root().join(record));
        let server = runtime.block_on(scenario.serve_http())?;
        Ok((format!("[servers.{name}]\nurl = {}\n", json!(server.url())), Some(server)))
    }
}

/// What the two servers got.
struct Log {
    frames: [Vec<String>; 2],
    headers: Vec<String>,
}

impl Log {
    fn of(place: &Place) -> Self {
        let entries = ["one.log", "two.log"].map(|record| {
            let text = fs_err::read_to_string(place.root().join(record)).unwrap_or_default();
            text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).collect::<Vec<Value>>()
        });
        let headers = entries.iter().flatten().filter_map(|entry| entry.get("http").map(Value::to_string)).collect();
        let frame = |entry: &Value| entry["frame"].as_str().map(str::to_owned);
        Self { frames: entries.each_ref().map(|entries| entries.iter().filter_map(frame).collect()), headers }
    }
}

/// Which messages they were: the figures only count them.
#[expect(clippy::print_stderr, reason = "talk for the person at the terminal")]
fn tell(case: &str, lines: &[String]) {
    lines.iter().for_each(|line| eprintln!("{case}: {line}"));
}
