//! Owns the attack on the gate: nothing an agent says reaches a server unless something decided that it may, and what is
//! allowed arrives.

use std::collections::HashSet;

use anyhow::{Result, ensure};
use helve_testkit::Scenario;
use helve_testkit::hostile::{self, Probe, Target};
use serde_json::{Value, json};

use super::Figure;
use super::arena::Arena;

/// Messages that are on their way at one time.
const AT_ONCE: usize = 64;

/// Nothing but tools may be used.
const TOOLS_ALONE: &str = "[[rules]]\ntool = \"*\"\nkind = \"resource\"\naction = \"deny\"\n\
    [[rules]]\ntool = \"*\"\nkind = \"prompt\"\naction = \"deny\"\n";

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
    let (mut sent, mut leaked, mut allowed, mut arrived) = (0, 0, 0, 0);
    for (number, policy) in POLICIES.iter().enumerate() {
        let eras = [Scenario::legacy(), Scenario::modern()];
        let tried = arena.tries(1, eras.len());
        for scenario in eras.into_iter().cycle().skip(number).take(tried) {
            let outcome = attack(arena, policy, &scenario)?;
            sent += outcome.sent;
            leaked += outcome.leaked;
            allowed += outcome.allowed;
            arrived += outcome.arrived;
        }
    }
    Ok(vec![
        Figure::none_of("undecided messages that reach a server", sent, leaked),
        Figure::all_of("allowed calls that arrive once, as they were sent", allowed, arrived),
    ])
}

struct Outcome {
    sent: usize,
    leaked: usize,
    allowed: usize,
    arrived: usize,
}

fn attack(arena: &Arena, policy: &Policy, scenario: &Scenario) -> Result<Outcome> {
    let danger = r#"{"name":"danger","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}"#;
    let scenario = scenario.clone().literal_tool(danger);
    let place = arena.place()?;
    let servers: String = ["one", "two"]
        .iter()
        .map(|name| place.server(name, scenario.clone(), &format!("{name}.log")) + policy.entry)
        .collect();
    place.write("home/.config/helve/helve.toml", &format!("{servers}\n{TOOLS_ALONE}{}", policy.rules))?;
    let mut agent = place.serve(&["--wait", "30s", "--prefix", "server"])?;
    let client = json!({"name": "attack", "version": "1"});
    let hello = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": client});
    agent.request("initialize", &hello)?;
    let target = Target {
        allowed: policy.allowed.map(str::to_owned),
        denied: policy.denied.to_owned(),
        resource: "test://text".to_owned(),
        prompt: "one__greet".to_owned(),
        batches: true,
    };
    let probes = hostile::probes(&target);
    for group in probes.chunks(AT_ONCE) {
        let mut open: HashSet<Value> = HashSet::new();
        for probe in group {
            agent.send(&probe.text)?;
            open.extend(probe.id.clone());
        }
        agent.answers(open)?;
    }
    agent.request("ping", &json!({}))?;
    agent.finish()?;
    let nothing: Vec<Probe> = probes.iter().map(|probe| Probe { arrives: false, ..probe.clone() }).collect();
    let wrong = hostile::judge(&probes, &place.frames("one.log"));
    let elsewhere = hostile::judge(&nothing, &place.frames("two.log"));
    let missing = wrong.iter().filter(|line| line.starts_with("arrived")).count();
    tell(wrong.iter().chain(&elsewhere));
    let allowed = probes.iter().filter(|probe| probe.arrives).count();
    ensure!(allowed > 0 || policy.allowed.is_none(), "there is something to allow");
    let leaked = wrong.len() + elsewhere.len() - missing;
    Ok(Outcome { sent: probes.len() - allowed, leaked, allowed, arrived: allowed - missing })
}

/// Which messages they were: the figures only count them.
#[expect(clippy::print_stderr, reason = "talk for the person at the terminal")]
fn tell<'a>(lines: impl Iterator<Item = &'a String>) {
    lines.for_each(|line| eprintln!("{line}"));
}
