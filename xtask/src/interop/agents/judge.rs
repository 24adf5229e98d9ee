//! Owns what a good visit of an agent is: for every step, what the agent has to have seen, and what the server.

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use crate::interop::servers::Era;

/// A step of a visit and what it has to come to.
type Check = (&'static str, fn(&Value, &Visitor<'_>) -> Result<()>);

/// The agent that visits, and what it finds the tools by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visitor<'a> {
    /// What the agent calls itself.
    pub(crate) name: &'a str,
    /// What stands before the names of servers: `hub__` where they are a hub's.
    pub(crate) place: &'a str,
}

/// In the order that agents take them.
const STEPS: &[Check] = &[
    ("list", list),
    ("call", call),
    ("read", read),
    ("progress", progress),
    ("cancel", cancel),
    ("subscribe", subscribe),
    ("appear", appear),
    ("sample", sample),
    ("elicit", elicit),
    ("roots", roots),
    ("close", close),
];

/// Judges what this agent saw and what was said to `everything` meanwhile. Says in a few words what was good;
/// every fault is in the error.
pub(crate) fn judge(visitor: Visitor<'_>, seen: &Value, wire: &[Value], era: Era) -> Result<String> {
    let version = version(&seen["connect"], era)?;
    let mut faults = Vec::new();
    for (step, check) in STEPS {
        let answer = &seen[*step];
        let judged = match answer["error"].as_str() {
            Some(error) => Err(anyhow::anyhow!("{error}")),
            None => check(answer, &visitor),
        };
        if let Err(fault) = judged {
            faults.push(format!("{step}: {fault:#}"));
        }
    }
    if !was_cancelled(wire) {
        faults.push("cancel: the server was not told".to_owned());
    }
    if let Some(message) = foreign(wire).filter(|_| era == Era::Legacy) {
        faults.push(format!("the server was told what its era does not know: {message}"));
    }
    if !faults.is_empty() {
        bail!("{version}: {}", faults.join("; "));
    }
    let steps: Vec<&str> = STEPS.iter().map(|(step, _)| *step).collect();
    Ok(format!("{version}: {}", steps.join(", ")))
}

fn version(connected: &Value, era: Era) -> Result<&str> {
    let Some(version) = connected.as_str() else { bail!("not connected: {connected}") };
    // Some clients keep it to themselves; those speak one era only.
    let is_right = match era {
        Era::Legacy => ["2025-11-25", "not told"].contains(&version),
        Era::Modern => version == "2026-07-28",
    };
    ensure!(is_right, "connected in the wrong era: {version}");
    Ok(version)
}

fn list(answer: &Value, visitor: &Visitor<'_>) -> Result<()> {
    for tool in ["everything__echo", "filesystem__read_text_file", "time__get_current_time"] {
        let is_it = |name: &str| name.strip_prefix(visitor.place) == Some(tool);
        ensure!(texts(&answer["tools"]).any(is_it), "{}{tool} is missing: {}", visitor.place, answer["tools"]);
    }
    ensure!(texts(&answer["prompts"]).any(|name| name.ends_with("args-prompt")), "prompts: {}", answer["prompts"]);
    let is_document = |uri: &str| uri.ends_with("architecture.md");
    ensure!(texts(&answer["resources"]).any(is_document), "resources: {}", answer["resources"]);
    Ok(())
}

fn call(answer: &Value, _visitor: &Visitor<'_>) -> Result<()> {
    ensure!(answer["echo"] == "Echo: größer", "echo: {}", answer["echo"]);
    ensure!(answer["read"] == "written", "read_text_file: {}", answer["read"]);
    says(&answer["time"], &["UTC"])
}

fn read(answer: &Value, _visitor: &Visitor<'_>) -> Result<()> {
    says(&answer["resource"], &["Resource 1"])?;
    says(&answer["prompt"], &["Oslo"])
}

/// In order and none left out. The SDK for TypeScript loses the last one where the result is right behind it.
fn progress(answer: &Value, _visitor: &Visitor<'_>) -> Result<()> {
    let reports: Vec<(f64, f64)> = serde_json::from_value(answer.clone())?;
    let all = [(1.0, 4.0), (2.0, 4.0), (3.0, 4.0), (4.0, 4.0)];
    ensure!(reports == all || reports == all[..3], "{answer}");
    Ok(())
}

fn cancel(answer: &Value, _visitor: &Visitor<'_>) -> Result<()> {
    ensure!(answer["refused"].is_string(), "it went on: {answer}");
    ensure!(answer["then"] == "Echo: still here", "the next call: {}", answer["then"]);
    Ok(())
}

fn subscribe(answer: &Value, _visitor: &Visitor<'_>) -> Result<()> {
    ensure!(answer["uri"].is_string() && answer["uri"] == answer["update"], "{answer}");
    Ok(())
}

fn appear(answer: &Value, visitor: &Visitor<'_>) -> Result<()> {
    let all = ["everything__trigger-sampling-request", "everything__trigger-elicitation-request"];
    let is_there = |tool: &&str| texts(answer).any(|name| name.strip_prefix(visitor.place) == Some(*tool));
    ensure!(all.iter().all(is_there), "tools for clients that can be asked are missing: {answer}");
    Ok(())
}

fn sample(answer: &Value, visitor: &Visitor<'_>) -> Result<()> {
    let name = visitor.name;
    says(&answer["asked"], &[&format!("hello from {name}")])?;
    says(&answer["text"], &[&format!("as scripted by {name}\"")])
}

fn elicit(answer: &Value, visitor: &Visitor<'_>) -> Result<()> {
    let name = visitor.name;
    says(&answer["asked"], &["Please provide inputs"])?;
    says(&answer["text"], &[&format!("Name: {name}\n"), "Favorite Integer: 42"])
}

fn roots(answer: &Value, _visitor: &Visitor<'_>) -> Result<()> {
    says(answer, &["1 total", "/scratch"])
}

fn close(answer: &Value, _visitor: &Visitor<'_>) -> Result<()> {
    ensure!(*answer == true, "{answer}");
    Ok(())
}

/// Was the server told that nobody wants the long calls any more? Each of its processes counts requests for itself.
fn was_cancelled(wire: &[Value]) -> bool {
    let is_long = |message: &&Value| message.pointer("/params/arguments/duration").is_some_and(|time| *time == 20);
    let long: Vec<&Value> = wire.iter().filter(is_long).map(|message| &message["id"]).collect();
    let of_long =
        |said: &&Value| said["method"] == "notifications/cancelled" && long.contains(&&said["params"]["requestId"]);
    !long.is_empty() && wire.iter().filter(of_long).count() == long.len()
}

/// A call between two of the legacy era that carries something of the modern one.
fn foreign(wire: &[Value]) -> Option<&Value> {
    wire.iter().filter(|message| message["method"] == "tools/call").find(|message| {
        let keys = message.pointer("/params/_meta").and_then(Value::as_object).into_iter().flatten();
        keys.into_iter().any(|(key, _)| key.starts_with("io.modelcontextprotocol/"))
    })
}

fn says(answer: &Value, words: &[&str]) -> Result<()> {
    let text = answer.as_str().unwrap_or_default();
    ensure!(words.iter().all(|word| text.contains(word)), "{answer}");
    Ok(())
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
