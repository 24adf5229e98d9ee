//! Owns the hub that is looked at: servers of every state, calls of today and of yesterday.

use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use helve_store::{Decided, Ended, Moment, NewCall, Store};
use serde_json::{Value, json};

use crate::attack::client::Client;
use crate::hub_stage::{HubHome, RunningHub};

/// The tool of the call that is looked for among those of yesterday.
pub(super) const YESTERDAYS_TOOL: &str = "archive/restore_backup";

/// The hub with its home.
#[derive(Debug)]
pub(super) struct Stage {
    home: HubHome,
    hub: RunningHub,
}

impl Stage {
    pub(super) fn set(helve: &Path, server: &Path) -> Result<Self> {
        let configuration = format!(
            "[servers.clock]\nbuiltin = \"time\"\n\n\
             [servers.files]\nbuiltin = \"filesystem\"\nroots = [\".\"]\n\n\
             [servers.echo]\ncommand = {}\nargs = [\"stdio\"]\nrecord = \"all\"\n\n\
             [servers.broken]\ncommand = \"/does/not/exist\"\n\n\
             [servers.resting]\ncommand = \"true\"\nenabled = false\n\n\
             [[rules]]\ntool = \"echo/*\"\naction = \"allow\"\n\n\
             [[rules]]\ntool = \"clock/*\"\naction = \"allow\"\n\n\
             [[rules]]\ntool = \"files/write*\"\naction = \"deny\"\n",
            json!(server)
        );
        let home = HubHome::new(helve, &configuration)?;
        fs_err::write(home.path("work/notes.txt"), "one line\n")?;
        remember(&home)?;
        let hub = home.start(&[])?;
        let stage = Self { home, hub };
        stage.call()?;
        Ok(stage)
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.hub.address)
    }

    pub(super) fn home(&self) -> &HubHome {
        &self.home
    }

    /// A new link that signs in.
    pub(super) fn link(&self) -> Result<String> {
        self.home.ask(&["link"])
    }

    pub(super) fn log(&self) -> String {
        self.home.log()
    }

    /// An agent on this machine.
    pub(super) fn agent(&self) -> Result<Client> {
        let mut agent = Client::connect(&self.hub.address, "")?;
        agent.initialize()?;
        Ok(agent)
    }

    /// An agent that calls every tool in every way it can end.
    fn call(&self) -> Result<()> {
        let mut agent = self.agent()?;
        let listed = agent.request("tools/list", &json!({}))?;
        let names: Vec<String> = listed["result"]["tools"]
            .as_array()
            .context("a list of tools")?
            .iter()
            .filter_map(|tool| Some(tool["name"].as_str()?.to_owned()))
            .collect();
        ensure!(names.iter().any(|name| name.starts_with("echo__")), "the echo server has no tools: {names:?}");
        for _ in 0..5 {
            for name in &names {
                agent.request("tools/call", &json!({ "name": name, "arguments": arguments(name) }))?;
            }
        }
        Ok(())
    }
}

fn arguments(name: &str) -> Value {
    match name {
        "echo__echo" | "echo__text" => json!({ "text": "hello", "path": "/srv/project" }),
        _ => json!({}),
    }
}

/// What happened before the hub was started.
fn remember(home: &HubHome) -> Result<()> {
    let store = Store::open(&home.store(), |_| {})?;
    let now = SystemTime::now();
    // The oldest first, as they were made.
    for minutes in (30..3_000_u64).rev().step_by(7) {
        let is_it = (1_500..1_507).contains(&minutes);
        let ended = if minutes % 11 == 0 { Ended::Failed } else { Ended::Done };
        let tool = if is_it { YESTERDAYS_TOOL } else { "archive/list_backups" };
        store.record(Box::new(NewCall {
            at: Moment::from(now - Duration::from_secs(minutes * 60)),
            host: "c1-earlier".to_owned(),
            number: minutes,
            principal: "token:nightly".to_owned(),
            agent: Some("cron 1".to_owned()),
            door: 5,
            server: Some("archive".to_owned()),
            tool: Some(tool.to_owned()),
            decision: Decided::Allow,
            rule: Some("rule `archive/*` (allow, user layer)".to_owned()),
            ended,
            took: 900 + minutes * 3,
            attempts: 1,
            bytes_in: 120,
            bytes_out: 4_000,
            ..NewCall::default()
        }));
    }
    // What waits is written before it is let go.
    drop(store);
    Ok(())
}
