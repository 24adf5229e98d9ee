//! Two principals with one engine and one spare, a thousand programs each at once: none has a value, a print, a variable, a
//! call or a record of another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result};
use futures_util::future::join_all;
use helve::{CallContext, CallRecord, Caller, FunctionTool, Host, Principal, Recorder, Surroundings, Toolbox};
use helve_code::{Engine, EngineSetup, Limits, Report, Runner};
use helve_wire::launch::WardenProgram;
use serde_json::{Value, json};

use crate::report::{Goal, Line};

const NAMES: [&str; 2] = ["ann", "robert"];

/// Marks what a program can reach with its own token, and says which tokens it found there.
const PROGRAM: &str = "\
import asyncio, collections, json
found = [getattr(place, 'mark') for place in (json, collections, asyncio, ToolError) if hasattr(place, 'mark')]
found += [name for name in dir() if name.startswith('secret_')]
json.mark = collections.mark = asyncio.mark = ToolError.mark = TOKEN
secret_ = TOKEN
print(TOKEN)
both = await asyncio.gather(device.SoakMCP.echo(text=TOKEN), device.SoakMCP.whose())
[TOKEN, found] + both
";

pub(crate) fn run(programs: usize) -> Result<Vec<Line>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(soak(programs))
}

/// Every call with the principal it was made for.
#[derive(Debug, Default)]
struct Records(Mutex<HashMap<String, usize>>);

impl Recorder for Records {
    fn record(&self, call: &CallRecord) {
        let name = call.name.as_ref().map(ToString::to_string).unwrap_or_default();
        let key = format!("{} {name}", call.principal.id());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
    }
}

async fn soak(programs: usize) -> Result<Vec<Line>> {
    let records = Arc::new(Records::default());
    let surroundings = Surroundings::default()
        .with(|surroundings| surroundings.recorder = Some(Arc::clone(&records) as Arc<dyn Recorder>));
    let host = Host::builder().surroundings(surroundings).toolbox(tools()).start().await?;
    let stage = WardenProgram { path: std::env::current_exe()?, leading: vec!["warden".into()] };
    let setup = EngineSetup::new(Some(stage)).with(|setup| setup.search_path = std::env::var_os("PATH"));
    let limits = Limits::default();
    let runner = Runner::new(&host, Engine::find(&setup, &limits).await?, limits);
    runner.offer(&host)?;
    let began = Instant::now();
    let all = NAMES.into_iter().zip([1, 2]).flat_map(|(name, id)| (0..programs).map(move |number| (name, id, number)));
    let made = join_all(all.map(|(name, id, number)| {
        let (runner, token) = (runner.clone(), format!("{name} {number}"));
        async move {
            let principal = Principal::connection(id);
            let context = CallContext::new(Caller::Agent).with(|context| context.principal = principal.clone());
            let source = PROGRAM.replace("TOKEN", &format!("'{token}'"));
            let report = Box::pin(runner.run(&source, context)).await?;
            Ok::<_, anyhow::Error>(wrong(&report, &token, principal.id()))
        }
    }))
    .await;
    let took = began.elapsed().as_secs_f64();
    let mut mixed: Vec<String> = Vec::new();
    for one in made {
        mixed.extend(one?);
    }
    let counts = records.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let expected = counts.values().all(|count| *count == programs) && counts.len() == 2 * 3;
    let seen = mixed.first().cloned().unwrap_or_else(|| format!("{} programs in {took:.1} s", 2 * programs));
    let recorded =
        format!("{} kinds of records, of {:?} each", counts.len(), counts.values().max().context("no record")?);
    host.shutdown().await;
    Ok(vec![
        Line::new("programs with something of another", mixed.len() as f64, Goal::Exactly(0.0), seen),
        Line::new("records of each principal as expected", f64::from(u8::from(expected)), Goal::Exactly(1.0), recorded),
    ])
}

/// What a program has that is not its own.
fn wrong(report: &Report, token: &str, principal: &str) -> Option<String> {
    let value: Value = report.value.parse().unwrap_or_default();
    let is_own = report.error.is_none()
        && value == json!([token, [], token, principal])
        && report.printed == format!("{token}\n")
        && report.calls.len() == 2;
    (!is_own).then(|| format!("{token}: {value}, printed {:?}, {:?}", report.printed, report.error))
}

fn tools() -> Toolbox {
    let echo = FunctionTool::with_schema(
        "echo",
        "Says it again",
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
        |arguments: Value, _| async move { arguments["text"].as_str().unwrap_or_default().to_owned() },
    );
    let whose = FunctionTool::with_schema(
        "whose",
        "Says for whom it was called",
        json!({"type": "object", "properties": {}}),
        |_: Value, context| async move { context.principal.id().to_string() },
    );
    Toolbox::new("soak").with(echo.only_reads()).with(whose.only_reads())
}
