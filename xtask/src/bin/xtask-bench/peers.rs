//! Owns how other clients are run beside ours: each by its own program, as its people would write it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::stats::median;

/// The clients that are installed, by name; `{}` where there are none.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Peers(BTreeMap<String, Peer>);

/// One client.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Peer {
    /// The program and its first arguments.
    command: Vec<String>,
    manner: Manner,
}

/// How a client is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Manner {
    /// A script of ours on a library: `call|ready|hold COUNT SERVER ARGUMENTS…`, one number on stdout.
    Script,
    /// `mcporter`, with a configuration file.
    Mcporter,
}

impl std::str::FromStr for Peers {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text)
    }
}

impl Peers {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Peer)> {
        self.0.iter().map(|(name, peer)| (name.as_str(), peer))
    }

    /// The median of what each client measured in itself, where it can.
    pub(crate) fn each(
        &self,
        rounds: usize,
        measure: impl Fn(&Peer) -> Result<Option<f64>>,
    ) -> Result<Vec<(&str, f64)>> {
        let mut medians = Vec::new();
        for (name, peer) in self.iter() {
            let values: Result<Option<Vec<f64>>> = (0..rounds).map(|_| measure(peer)).collect();
            if let Some(mut values) = values.with_context(|| name.to_owned())? {
                medians.push((name, median(&mut values)));
            }
        }
        Ok(medians)
    }
}

impl Peer {
    /// A cold call of `echo` on a server that the client starts.
    pub(crate) fn call(&self, server: &Path, configuration: &Path, arguments: &[(&str, &str)]) -> Command {
        let mut command = self.program();
        match self.manner {
            Manner::Script => {
                command.args(["call", "1"]).arg(server).arg("stdio");
            }
            Manner::Mcporter => {
                command.arg("--config").arg(configuration).args(["call", "server0.echo"]);
                command.args(arguments.iter().map(|(key, value)| format!("{key}={value}")));
            }
        }
        command
    }

    /// A list of the tools of all configured servers, where the client has such a verb.
    pub(crate) fn list(&self, configuration: &Path) -> Option<Command> {
        (self.manner == Manner::Mcporter).then(|| {
            let mut command = self.program();
            command.arg("--config").arg(configuration).arg("list");
            command
        })
    }

    /// The seconds until so many servers are connected and listed.
    pub(crate) fn ready(&self, server: &Path, servers: usize, options: &[&str]) -> Result<Option<f64>> {
        self.script("ready", server, servers, options)
    }

    /// The resident bytes with so many connected servers.
    pub(crate) fn hold(&self, server: &Path, servers: usize) -> Result<Option<f64>> {
        self.script("hold", server, servers, &[])
    }

    fn script(&self, what: &str, server: &Path, servers: usize, options: &[&str]) -> Result<Option<f64>> {
        if self.manner != Manner::Script {
            return Ok(None);
        }
        let mut command = self.program();
        command.args([what, &servers.to_string()]).arg(server).arg("stdio").args(options);
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            bail!("{what} failed ({}): {text}", output.status);
        }
        let number = text.trim().parse().with_context(|| format!("{what} did not give a number: {text:?}"))?;
        Ok(Some(number))
    }

    fn program(&self) -> Command {
        let mut words = self.command.iter();
        let mut command = Command::new(words.next().map_or("false", String::as_str));
        command.args(words);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_run_in_its_manner() {
        let text = r#"{"script":{"command":["node","a.mjs"],"manner":"script"},"mcporter":{"command":["mcporter"],"manner":"mcporter"}}"#;
        let peers: Peers = text.parse().unwrap();
        let calls: Vec<String> = peers
            .iter()
            .map(|(_, peer)| format!("{:?}", peer.call(Path::new("echo"), Path::new("c.json"), &[("text", "hi")])))
            .collect();
        insta::assert_snapshot!(calls.join("\n"), @r#"
        "mcporter" "--config" "c.json" "call" "server0.echo" "text=hi"
        "node" "a.mjs" "call" "1" "echo" "stdio"
        "#);
    }
}
