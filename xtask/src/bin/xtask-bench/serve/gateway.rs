//! Owns how gateways are started: ours and others, each as its documentation says, in a home of its own.

use std::fmt;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tempfile::TempDir;

/// How long a gateway may take to listen.
const STARTED_WITHIN: Duration = Duration::from_secs(60);

/// Between two looks whether it does.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// The peers as they are installed, with the reason where one is not.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Installed(Vec<(Manner, Result<PathBuf, String>)>);

/// A gateway's program and how it is used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Gateway {
    pub(super) manner: Manner,
    pub(super) program: PathBuf,
}

/// The columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Manner {
    /// No gateway: the thin echo server over HTTP.
    Direct,
    Helve,
    Supergateway,
    /// The npm package `mcp-proxy`.
    McpProxyNode,
    /// The Python package `mcp-proxy`.
    McpProxyPython,
    Fastmcp,
    /// A gateway on rmcp, typed, as its documentation says: on many threads, and on one.
    RelayMany,
    RelayOne,
}

/// What is behind a gateway.
#[derive(Debug, Clone)]
pub(super) enum Upstream {
    /// A program that the gateway starts.
    Stdio {
        program: PathBuf,
        arguments: Vec<String>,
    },
    Http {
        url: String,
    },
}

/// A gateway that listens; killed when dropped, and what it started ends with it.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    pub(super) url: String,
    home: TempDir,
}

impl FromStr for Installed {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text)
    }
}

impl Installed {
    pub(super) fn iter(&self) -> impl Iterator<Item = &(Manner, Result<PathBuf, String>)> {
        self.0.iter()
    }
}

impl Manner {
    pub(super) const fn is_peer(self) -> bool {
        !matches!(self, Self::Direct | Self::Helve)
    }

    /// Whether it has to be told where to listen; the others say it.
    const fn is_told_a_port(self) -> bool {
        matches!(self, Self::Supergateway | Self::McpProxyNode | Self::McpProxyPython | Self::Fastmcp)
    }
}

impl fmt::Display for Manner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Direct => "direct",
            Self::Helve => "helve",
            Self::Supergateway => "supergateway",
            Self::McpProxyNode => "npm mcp-proxy",
            Self::McpProxyPython => "Python mcp-proxy",
            Self::Fastmcp => "fastmcp",
            Self::RelayMany => "rmcp relay",
            Self::RelayOne => "rmcp relay on one thread",
        })
    }
}

impl Gateway {
    /// Starts it in front of `upstream`, and waits until it listens. `more` are arguments for helve.
    pub(super) fn start(&self, upstream: &Upstream, more: &[&str]) -> Result<Running> {
        let home = tempfile::tempdir()?;
        let port = free_port()?;
        let mut command = Command::new(&self.program);
        match self.manner {
            Manner::Direct => {
                let Upstream::Stdio { arguments, .. } = upstream else { bail!("a server has nothing behind it") };
                // Agents greet it as they greet gateways: a server that speaks to those in the newer era alone speaks both here.
                let options = arguments.iter().skip(1).filter(|word| *word != "modern");
                command.arg("http").args(options);
            }
            Manner::RelayMany | Manner::RelayOne => {
                command.arg(if self.manner == Manner::RelayMany { "many" } else { "one" }).args(upstream.words()?);
            }
            Manner::Helve => {
                let file = home.path().join("helve.toml");
                fs_err::write(&file, configuration(upstream))?;
                command.arg("--no-discover").arg("--config").arg(file);
                command.args(["serve", "--http", "127.0.0.1:0", "--prefix", "none"]).args(more);
            }
            Manner::Supergateway => {
                command.arg("--stdio").arg(upstream.words()?.join(" "));
                command.args(["--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none", "--port"]);
                command.arg(port.to_string());
            }
            Manner::McpProxyNode => {
                command.args(["--host", "127.0.0.1", "--server", "stream", "--port", &port.to_string(), "--"]);
                command.args(upstream.words()?);
            }
            Manner::McpProxyPython => {
                command.args(["--host", "127.0.0.1", "--port", &port.to_string(), "--"]);
                command.args(upstream.words()?);
            }
            Manner::Fastmcp => {
                let file = home.path().join("mcp.json");
                fs_err::write(&file, upstream.entry().to_string())?;
                command.arg("run").arg(file).args(["--transport", "http", "--host", "127.0.0.1", "--port"]);
                command.arg(port.to_string()).args(["--no-banner", "--log-level", "ERROR", "--skip-env"]);
            }
        }
        let log = fs_err::File::create(home.path().join("log"))?;
        command.env_clear().env("HOME", home.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.current_dir(home.path()).stdin(Stdio::null()).stderr(log.into_parts().0);
        if self.manner.is_told_a_port() {
            // What they say there is for nobody; some wait for a reader.
            command.stdout(Stdio::null());
            let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
            let mut running = Running { child, url: format!("http://127.0.0.1:{port}/mcp"), home };
            running.listens(port)?;
            return Ok(running);
        }
        // The server on rmcp serves until its input ends.
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let stdout = child.stdout.take().context("no stdout")?;
        let mut running = Running { child, url: String::new(), home };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        running.url = match line.trim().strip_prefix("listening on port ") {
            Some(port) => format!("http://127.0.0.1:{port}/mcp"),
            None if line.starts_with("http://") => line.trim().to_owned(),
            None => bail!("{} does not listen: {}", self.manner, running.last_words()),
        };
        Ok(running)
    }
}

impl Running {
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// What it said on its way out.
    pub(super) fn last_words(&self) -> String {
        let log = fs_err::read(self.home.path().join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        log.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned()
    }

    fn listens(&mut self, port: u16) -> Result<()> {
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended ({status}): {}", self.last_words());
            }
            if start.elapsed() > STARTED_WITHIN {
                bail!("it does not listen after {STARTED_WITHIN:?}: {}", self.last_words());
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Upstream {
    /// The program that a gateway starts, by which its processes are known.
    pub(super) fn program(&self) -> Option<&Path> {
        match self {
            Self::Stdio { program, .. } => Some(program),
            Self::Http { .. } => None,
        }
    }

    /// The command line, for gateways that start a program.
    fn words(&self) -> Result<Vec<String>> {
        match self {
            Self::Stdio { program, arguments } => {
                Ok(std::iter::once(program.display().to_string()).chain(arguments.iter().cloned()).collect())
            }
            Self::Http { .. } => bail!("it starts programs, and nothing else"),
        }
    }

    /// The entry of a configuration file that most applications understand.
    fn entry(&self) -> serde_json::Value {
        let entry = match self {
            Self::Stdio { program, arguments } => json!({"command": program, "args": arguments}),
            Self::Http { url } => json!({"url": url, "transport": "http"}),
        };
        json!({"mcpServers": {"echo": entry}})
    }
}

/// helve's own file: the server may be shared by all agents, and everything of it called.
fn configuration(upstream: &Upstream) -> String {
    // A JSON text is a TOML text too.
    let server = match upstream {
        Upstream::Stdio { program, arguments } => format!("command = {}\nargs = {}", json!(program), json!(arguments)),
        Upstream::Http { url } => format!("url = {}", json!(url)),
    };
    format!("[servers.echo]\n{server}\n\n[[rules]]\ntool = \"echo/*\"\naction = \"allow\"\n")
}

/// A port for a program that has to be told one.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_for_gateways() {
        let arguments = ["stdio", "--text", "10"].map(str::to_owned).to_vec();
        let stdio = Upstream::Stdio { program: "echo".into(), arguments };
        let http = Upstream::Http { url: "http://127.0.0.1:1/mcp".to_owned() };
        insta::assert_snapshot!(configuration(&stdio), @r#"
        [servers.echo]
        command = "echo"
        args = ["stdio","--text","10"]

        [[rules]]
        tool = "echo/*"
        action = "allow"
        "#);
        insta::assert_snapshot!(http.entry(), @r#"{"mcpServers":{"echo":{"transport":"http","url":"http://127.0.0.1:1/mcp"}}}"#);
        assert_eq!(stdio.words().unwrap(), ["echo", "stdio", "--text", "10"]);
        assert!(http.words().is_err());
    }

    #[test]
    fn what_is_installed_is_read() {
        let text = r#"[["supergateway", {"Ok": "bin/supergateway"}], ["fastmcp", {"Err": "no pip"}]]"#;
        let installed: Installed = text.parse().unwrap();
        let told: Vec<String> = installed.iter().map(|(manner, program)| format!("{manner} {program:?}")).collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        supergateway Ok("bin/supergateway")
        fastmcp Err("no pip")
        "#);
    }
}
