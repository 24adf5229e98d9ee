//! Owns an agent of `helve serve` that asks many things at once and counts how many were answered.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::world::World;

/// A gateway, and the agent at its stdin.
#[derive(Debug)]
pub(super) struct Agent {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Agent {
    /// Starts one, and makes a first call, so that it is connected.
    pub(super) fn start(world: &World) -> Result<Self> {
        let mut command = world.command(&["serve", "--wait", "60s", "--prefix", "none"]);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let input = child.stdin.take().context("no stdin")?;
        let output = BufReader::new(child.stdout.take().context("no stdout")?);
        let mut agent = Self { child, input, output, next: 0 };
        let client = json!({"name": "soak", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        agent.say(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))?;
        agent.hear(0)?;
        agent.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        // Which answers once its servers are connected.
        agent.next += 1;
        let list = agent.next;
        agent.say(&json!({"jsonrpc": "2.0", "id": list, "method": "tools/list"}))?;
        agent.hear(list)?;
        let first = agent.ask(1)?;
        let answered = agent.answered(first, 1)?;
        if answered != 1 {
            bail!("the first call was not answered");
        }
        Ok(agent)
    }

    /// Makes so many calls at once; gives the number of the first.
    pub(super) fn ask(&mut self, calls: usize) -> Result<u64> {
        let first = self.next + 1;
        let mut text = String::new();
        for _ in 0..calls {
            self.next += 1;
            let params = json!({"name": "echo", "arguments": {"text": "hello"}});
            let call = json!({"jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params});
            text.push_str(&format!("{call}\n"));
        }
        self.input.write_all(text.as_bytes())?;
        self.input.flush()?;
        Ok(first)
    }

    /// How many of so many calls from the first on were answered with what they wanted.
    pub(super) fn answered(&mut self, first: u64, calls: usize) -> Result<usize> {
        let (mut seen, mut good) = (0, 0);
        while seen < calls {
            let message = self.message()?;
            if message["id"].as_u64().is_some_and(|id| id >= first) {
                seen += 1;
                good += usize::from(message["result"]["content"].to_string().contains("hello"));
            }
        }
        Ok(good)
    }

    fn say(&mut self, message: &Value) -> Result<()> {
        Ok(writeln!(self.input, "{message}")?)
    }

    fn hear(&mut self, id: u64) -> Result<Value> {
        loop {
            let message = self.message()?;
            if message["id"] == id {
                return Ok(message);
            }
        }
    }

    fn message(&mut self) -> Result<Value> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            bail!("the gateway is gone");
        }
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It ends by itself when its stdin does; who is in a hurry does not wait for that.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
