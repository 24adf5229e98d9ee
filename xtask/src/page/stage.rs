//! Owns the hub that is looked at: servers of every state, calls of today and of yesterday, and those who call and are called.

use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use helve_store::{Decided, Ended, Moment, NewCall, Store};
use helve_testkit::authority::{Authority, Switches};
use helve_testkit::{HttpServer, Scenario};
use serde_json::{Value, json};

use crate::attack::client::Client;
use crate::hub_stage::{HubHome, RunningHub};

/// The tool of the call that is looked for among those of yesterday.
pub(super) const YESTERDAYS_TOOL: &str = "archive/restore_backup";

/// The server of the shop.
const ORDERS: &str = include_str!("orders.py");

/// The command line of it, where the hub was started.
pub(super) const ORDERS_COMMAND: &str = "python3 orders.py";

/// What a project brings that nobody has trusted yet.
const PROJECT: &str = "[servers.deploy]\ncommand = \"npx\"\nargs = [\"-y\", \"@acme/deploy-mcp\", \"--region\", \"eu\"]\n\n\
                       [servers.deploy.env]\nDEPLOY_TOKEN = \"${DEPLOY_TOKEN}\"\n";

/// The hub with its home, and the servers outside of it.
#[derive(Debug)]
pub(super) struct Stage {
    home: HubHome,
    hub: RunningHub,
    authority: Authority,
    far: HttpServer,
    /// Runs the two above.
    _runtime: tokio::runtime::Runtime,
}

impl Stage {
    pub(super) fn set(helve: &Path, server: &Path) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (authority, far) = runtime.block_on(async {
            let authority = Authority::start(&Scenario::modern(), Switches::default()).await?;
            Ok::<_, std::io::Error>((authority, Scenario::modern().serve_http().await?))
        })?;
        let home = HubHome::new(helve, "")?;
        fs_err::write(home.path("work/orders.py"), ORDERS)?;
        home.configure(&configuration(server, &authority.url()))?;
        fs_err::write(home.path("work/notes.txt"), "one line\n")?;
        fs_err::create_dir_all(home.path("work/.git"))?;
        fs_err::write(home.path("work/helve.toml"), PROJECT)?;
        remember(&home)?;
        let hub = home.start(&[])?;
        let stage = Self { home, hub, authority, far, _runtime: runtime };
        stage.call()?;
        Ok(stage)
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.hub.address)
    }

    pub(super) fn home(&self) -> &HubHome {
        &self.home
    }

    /// The address of a server that anybody may use.
    pub(super) fn far_address(&self) -> String {
        self.far.url()
    }

    /// The origin of the page where one signs in to the shop.
    pub(super) fn authority(&self) -> String {
        self.authority.base()
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
        "shop-assistant".clone_into(&mut agent.name);
        agent.initialize()?;
        Ok(agent)
    }

    /// A call that a rule wants asked about: it waits in a thread of its own.
    pub(super) fn held_call(&self, order: &str) -> Result<JoinHandle<Result<Value>>> {
        let mut agent = self.agent()?;
        let arguments = json!({ "order": order, "reason": "ordered twice" });
        Ok(std::thread::spawn(move || {
            agent.request("tools/call", &json!({ "name": "orders__cancel_order", "arguments": arguments }))
        }))
    }

    /// An agent that calls tools in every way a call can end.
    fn call(&self) -> Result<()> {
        let mut agent = self.agent()?;
        let listed = agent.request("tools/list", &json!({}))?;
        let listed = listed["result"]["tools"].as_array().context("a list of tools")?;
        ensure!(listed.iter().any(|tool| tool["name"] == "echo__echo"), "the echo server has no tools: {listed:?}");
        let calls = [
            ("orders__list_orders", json!({ "day": "2026-11-18" })),
            ("echo__echo", json!({ "text": "hello", "path": "/srv/project" })),
            ("echo__text", json!({ "text": "hello" })),
            ("clock__now", json!({ "timezone": "Europe/Lisbon" })),
            ("files__list_directory", json!({})),
            ("files__search_files", json!({ "pattern": "*.py" })),
            ("files__read_file", json!({ "path": "notes.txt" })),
            ("files__read_file", json!({ "path": "missing.txt" })),
            ("files__write_file", json!({ "path": "notes.txt", "content": "" })),
            ("files__list_directory", json!({ "depth": 3 })),
        ];
        for _ in 0..4 {
            for (name, arguments) in &calls {
                agent.request("tools/call", &json!({ "name": name, "arguments": arguments }))?;
            }
        }
        Ok(())
    }
}

fn configuration(server: &Path, authority: &str) -> String {
    format!(
        "# Servers of the shop, and tools of this machine\n\
         [servers.clock]\nbuiltin = \"time\"\n\n\
         [servers.files]\nbuiltin = \"filesystem\"\nroots = [\".\"]\n\n\
         [servers.echo]\ncommand = {}\nargs = [\"stdio\"]\nrecord = \"all\"\n\n\
         [servers.orders]\ncommand = \"python3\"\nargs = [\"orders.py\"]\n\n\
         [servers.billing]\nurl = \"{authority}\"\n\n\
         [servers.broken]\ncommand = \"/does/not/exist\"\n\n\
         [servers.resting]\ncommand = \"true\"\nenabled = false\n\n\
         [[rules]]\ntool = \"echo/*\"\naction = \"allow\"\n\n\
         [[rules]]\ntool = \"clock/*\"\naction = \"allow\"\n\n\
         # Money goes back: a person looks first\n\
         [[rules]]\ntool = \"orders/cancel_order\"\naction = \"ask\"\nby = \"page\"\n\n\
         [[rules]]\ntool = \"orders/*\"\naction = \"allow\"\n\n\
         [[rules]]\ntool = \"files/write*\"\naction = \"deny\"\n",
        json!(server)
    )
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
