//! Calls that wait for a person: from the click to the agent's answer, what a thousand of them hold while nobody clicks, and what
//! a call costs that nobody is asked about.

use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Figure, anonymous, percentile, processor};
use crate::attack::client::Client;
use crate::http::Http;
use crate::hub_stage::{HubHome, PATIENCE, RunningHub};
use crate::programs::{Profile, build};

/// Clicks, one after the other.
const CLICKS: usize = 300;

/// Tokens, and calls of each that wait: no principal has more questions than these.
const TOKENS: usize = 50;
const CALLS_OF_EACH: usize = 20;

/// For so long the hub is left alone with them.
const QUIET: Duration = Duration::from_secs(10);

/// Processor time is told in hundredths of a second: one of them may be anything's.
const ONE_TICK_MS: f64 = 10.0;

pub(super) fn measure(root: &Path, helve: &Path, server: &Path, counter: Option<&Path>) -> Result<Vec<Figure>> {
    let program = json!(server);
    let configuration = format!(
        "[servers.s0]\ncommand = {program}\nargs = [\"stdio\", \"--tools\", \"1\"]\n\n\
         [[rules]]\ntool = \"s0/echo\"\npattern = \"text=held*\"\naction = \"ask\"\nby = \"page\"\n\n\
         [[rules]]\ntool = \"*/*\"\naction = \"allow\"\n"
    );
    let home = HubHome::new(helve, &configuration)?;
    let hub = home.start(&[])?;
    let mut figures = clicks(&home, &hub)?;
    figures.extend(held(&home, &hub)?);
    figures.push(unasked(root, server, counter)?);
    Ok(figures)
}

fn call(text: &str) -> Value {
    json!({ "name": "s0__echo", "arguments": { "text": text, "path": "/srv" } })
}

/// Somebody who is signed in at the page.
struct Visitor {
    browser: Http,
    cookie: String,
    csrf: String,
}

impl Visitor {
    fn of(hub: &RunningHub) -> Result<Self> {
        let mut browser = hub.connect();
        let signed_in = browser.request("GET", &hub.link, &[], b"")?;
        let cookie = signed_in.header("set-cookie").and_then(|cookie| cookie.split(';').next());
        let cookie = cookie.context("the link signs nobody in")?.to_owned();
        let page = browser.request("GET", "/approvals", &[("cookie", &cookie)], b"")?.text();
        let csrf = page.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        let csrf = csrf.context("the page has no form")?.to_owned();
        Ok(Self { browser, cookie, csrf })
    }

    /// The one question that waits, and its caller with it.
    fn waiting(&mut self) -> Result<String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let reply = self.browser.request("GET", "/api/v1/approvals", &[("cookie", &self.cookie)], b"")?;
            let list: Value = serde_json::from_slice(&reply.body)?;
            if list["waiting"][0]["callers"] == 1 {
                return Ok(list["waiting"][0]["id"].as_str().context("no id")?.to_owned());
            }
            ensure!(Instant::now() < until, "nothing waits: {list}");
        }
    }

    fn allow(&mut self, id: &str) -> Result<()> {
        let headers = [("cookie", &*self.cookie), ("content-type", "application/x-www-form-urlencoded")];
        let body = format!("csrf={}", self.csrf);
        let reply = self.browser.request("POST", &format!("/approvals/{id}/allow"), &headers, body.as_bytes())?;
        ensure!(reply.status == 303, "the click was answered with {}: {}", reply.status, reply.text());
        Ok(())
    }
}

/// From the click to when the agent has its answer: the call was sent before.
fn clicks(home: &HubHome, hub: &RunningHub) -> Result<Vec<Figure>> {
    let token = home.ask(&["token", "make", "clicked"])?;
    let mut agent = Client::connect(&hub.address, &token)?;
    agent.initialize()?;
    agent.request("tools/call", &call("first"))?;
    let mut visitor = Visitor::of(hub)?;
    let (ask, asked) = mpsc::channel::<usize>();
    let (tell, told) = mpsc::channel();
    let calling = std::thread::spawn(move || -> Result<()> {
        while let Ok(number) = asked.recv() {
            let answer = agent.request("tools/call", &call(&format!("held {number}")))?;
            let at = Instant::now();
            ensure!(answer["result"]["isError"] != true && answer.get("error").is_none(), "{answer}");
            tell.send(at).context("nobody listens")?;
        }
        Ok(())
    });
    let mut times = Vec::with_capacity(CLICKS);
    for number in 0..CLICKS {
        ask.send(number).context("the agent has gone")?;
        let id = visitor.waiting()?;
        let clicked = Instant::now();
        visitor.allow(&id)?;
        let answered = told.recv_timeout(PATIENCE).context("the call did not go on")?;
        times.push(answered.saturating_duration_since(clicked).as_secs_f64() * 1e3);
    }
    drop(ask);
    calling.join().map_err(|_| anyhow::anyhow!("the agent panicked"))??;
    let median = percentile(&mut times, 50);
    let seen = format!("p50 {median:.2} ms of {CLICKS}; with the way of the answer");
    Ok(vec![Figure::new("allow click to the agent's answer, p99 ms", percentile(&mut times, 99), 20.0, seen)])
}

/// A thousand calls that wait, above a thousand connections whose calls were answered.
fn held(home: &HubHome, hub: &RunningHub) -> Result<Vec<Figure>> {
    let mut agents = Vec::with_capacity(TOKENS * CALLS_OF_EACH);
    for number in 0..TOKENS {
        let token = home.ask(&["token", "make", &format!("held-{number}")])?;
        let mut first = Client::connect(&hub.address, &token)?;
        first.initialize()?;
        for _ in 1..CALLS_OF_EACH {
            agents.push(first.again()?);
        }
        agents.push(first);
    }
    for agent in &mut agents {
        agent.request("tools/call", &call("answered"))?;
    }
    let before = anonymous(hub.id())?;
    let idle = left_alone(hub.id())?;
    for (number, agent) in agents.iter_mut().enumerate() {
        let params = call(&format!("held call {number} of an agent"));
        // Connections of one session share its ids.
        let id = 1_000 + number;
        agent.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }), &[])?;
    }
    let started = Instant::now();
    let mut browser = hub.connect();
    let count = agents.len();
    loop {
        let metrics = browser.request("GET", "/metrics", &[], b"")?.text();
        let waiting = metrics.lines().find_map(|line| line.strip_prefix("helve_approvals_waiting "));
        if waiting.and_then(|waiting| waiting.parse().ok()) == Some(count) {
            break;
        }
        ensure!(started.elapsed() < PATIENCE, "{waiting:?} of {count} calls wait");
    }
    let asked = started.elapsed();
    let after = anonymous(hub.id())?;
    let used = left_alone(hub.id())?;
    #[expect(clippy::cast_precision_loss, reason = "a thousand")]
    let each = (after - before) / count as f64;
    let seen = format!("{count} calls of {TOKENS} tokens, {:.1} MB before; all wait after {asked:.1?}", before / 1e3);
    let quiet = format!("{used:.0} ms in {} s, {idle:.0} ms before anything waited", QUIET.as_secs());
    Ok(vec![
        Figure::new("a call that waits, KB", each, 20.0, seen),
        Figure::new("processor ms of all that wait, above idle", (used - idle).max(0.0), ONE_TICK_MS, quiet),
    ])
}

/// Processor time of a process while nothing is asked of it, in ms.
fn left_alone(process: u32) -> Result<f64> {
    let before = processor(process)?;
    std::thread::sleep(QUIET);
    Ok((processor(process)? - before) * 1e3)
}

/// Instructions of a call that nobody is asked about, with a queue for approvals and without.
fn unasked(root: &Path, server: &Path, counter: Option<&Path>) -> Result<Figure> {
    let counter = match counter {
        Some(counter) => counter.to_owned(),
        None => build(root, "xtask", Profile::Measure, &["xtask-bench"])?.remove(0),
    };
    let output = Command::new(counter)
        .args(["host", "--counts", "--only", "approvals", "--json", "--server"])
        .arg(server)
        .output()
        .context("cannot start the benchmark")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let last: Value = serde_json::from_str(said.lines().last().unwrap_or_default())
        .with_context(|| format!("{said}\n{}", String::from_utf8_lossy(&output.stderr)))?;
    let ratio = last["measures"][0]["ratio"].as_f64().context("no ratio")?;
    Ok(Figure::new("instructions of a call not asked about, approvals on / off", ratio, 1.02, ""))
}
