//! A host with a small shop of native tools, and engines for the Pythons of this machine.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve::{
    ApprovalAnswer, ApprovalRequest, Approver, BoxFuture, CallContext, CallRecord, Caller, FunctionTool, Host,
    Recorder, Toolbox,
};
use helve_code::{Engine, EngineSetup, Limits, Report, Runner};
use helve_wire::launch::WardenProgram;
use serde_json::{Value, json};

/// The example is a stage, and is built with the tests.
pub(crate) fn stage() -> WardenProgram {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.parent().and_then(|deps| deps.parent()).expect("a test lies below the target directory");
    WardenProgram { path: target.join("examples/run_program"), leading: vec!["warden".into()] }
}

/// The engine with this Python; `None` when it is not there, or nothing can be confined here.
#[expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "what is looked for on this machine and not found is told"
)]
pub(crate) async fn engine_with(python: Option<PathBuf>, limits: &Limits) -> Option<Engine> {
    let setup = EngineSetup::new(Some(stage())).with(|setup| {
        setup.python = python;
        setup.search_path = std::env::var_os("PATH");
        setup.home = std::env::home_dir();
    });
    match Engine::find(&setup, limits).await {
        Ok(engine) => Some(engine),
        Err(why) => {
            println!("not run: {why}");
            None
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Records(pub(crate) Mutex<Vec<CallRecord>>);

impl Recorder for Records {
    fn record(&self, call: &CallRecord) {
        self.0.lock().expect("no test panics with it").push(call.clone());
    }
}

/// Says what it was told to, and remembers what it was asked.
#[derive(Debug)]
pub(crate) struct Person {
    pub(crate) answer: ApprovalAnswer,
    pub(crate) asked: Mutex<Vec<String>>,
    pub(crate) thinks: Duration,
}

impl Approver for Person {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        self.asked.lock().expect("no test panics with it").push(request.name.to_string());
        Box::pin(async {
            tokio::time::sleep(self.thinks).await;
            self.answer.clone()
        })
    }
}

pub(crate) struct Shop {
    pub(crate) host: Host,
    pub(crate) runner: Runner,
    pub(crate) records: Arc<Records>,
    pub(crate) person: Arc<Person>,
}

impl Shop {
    pub(crate) async fn open(engine: Engine, limits: Limits, gate: bool) -> Self {
        Self::with_person(engine, limits, gate, ApprovalAnswer::Unavailable, Duration::ZERO).await
    }

    pub(crate) async fn with_person(
        engine: Engine,
        limits: Limits,
        gate: bool,
        answer: ApprovalAnswer,
        thinks: Duration,
    ) -> Self {
        let records = Arc::new(Records::default());
        let person = Arc::new(Person { answer, asked: Mutex::default(), thinks });
        let surroundings = helve::Surroundings::default()
            .with(|surroundings| surroundings.recorder = Some(Arc::clone(&records) as Arc<dyn Recorder>));
        let builder = Host::builder().surroundings(surroundings).toolbox(tools());
        let host = builder.approver(Shared(Arc::clone(&person))).start().await.expect("a host of native tools starts");
        let runner =
            if gate { Runner::new(&host, engine, limits) } else { Runner::without_gate(&host, engine, limits) };
        runner.offer(&host).expect("nobody else has the name");
        Self { host, runner, records, person }
    }

    pub(crate) async fn run(&self, source: &str) -> Report {
        self.runner.run(source, CallContext::new(Caller::Agent)).await.expect("the program is run")
    }

    /// The names of what was called, with how it ended.
    pub(crate) fn calls(report: &Report) -> Vec<String> {
        report.calls.iter().map(|call| format!("{} {:?}", call.tool, call.end)).collect()
    }
}

struct Shared(Arc<Person>);

impl Approver for Shared {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        self.0.approve(request)
    }
}

fn order(id: i64) -> Option<Value> {
    let names = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal", "ida", "joe"];
    let name = usize::try_from(id - 1).ok().and_then(|index| names.get(index))?;
    Some(json!({"id": id, "customer": name, "amount": id * 10}))
}

fn tools() -> Toolbox {
    let schema = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let integer = || json!({"type": "integer"});
    let text = || json!({"type": "string"});
    let orders = FunctionTool::with_schema(
        "orders",
        "Lists orders, five a page",
        schema(json!({"page": integer()}), &["page"]),
        |arguments: Value, _| async move {
            let page = arguments["page"].as_i64().unwrap_or(1);
            let orders: Vec<Value> = ((page - 1) * 5 + 1..=page * 5).filter_map(order).collect();
            helve::Structured(json!({"orders": orders, "next": if page < 2 { json!(page + 1) } else { Value::Null }}))
        },
    );
    let one = FunctionTool::with_schema(
        "order",
        "One order by its number",
        schema(json!({"id": integer()}), &["id"]),
        |arguments: Value, _| async move {
            let id = arguments["id"].as_i64().unwrap_or(0);
            order(id).map(helve::Structured).ok_or_else(|| format!("there is no order {id}"))
        },
    );
    let report =
        FunctionTool::with_schema("report", "A report as JSON text", schema(json!({}), &[]), |_: Value, _| async {
            "[ {\"name\": \"a\", \"value\": 1},  {\"name\": \"b\", \"value\": 2} ]\n ".to_owned()
        });
    let listing = FunctionTool::with_schema(
        "listing",
        "A list as Python writes it",
        schema(json!({}), &[]),
        |_: Value, _| async { "[{'name': 'a'}, {'name': 'b'}]".to_owned() },
    );
    let size = FunctionTool::with_schema(
        "size",
        "How many bytes a text has",
        schema(json!({"text": text()}), &["text"]),
        |arguments: Value, _| async move { helve::Structured(json!(arguments["text"].as_str().map_or(0, str::len))) },
    );
    let join = FunctionTool::with_schema(
        "join",
        "Joins two texts",
        schema(json!({"separator": text(), "left": text(), "right": text()}), &["left", "right"]),
        |arguments: Value, _| async move {
            let part = |key: &str| arguments[key].as_str().map(ToOwned::to_owned);
            let separator = part("separator").unwrap_or_else(|| "+".to_owned());
            format!("{}{separator}{}", part("left").unwrap_or_default(), part("right").unwrap_or_default())
        },
    );
    let slow = FunctionTool::with_schema(
        "slow",
        "Takes its time",
        schema(json!({"ms": integer()}), &["ms"]),
        |arguments: Value, _| async move {
            let milliseconds = arguments["ms"].as_u64().unwrap_or(0);
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            format!("{milliseconds}")
        },
    );
    let flaky = FunctionTool::with_schema(
        "flaky",
        "Works at the third attempt",
        schema(json!({"attempt": integer()}), &["attempt"]),
        |arguments: Value, _| async move {
            let attempt = arguments["attempt"].as_i64().unwrap_or(0);
            if attempt < 2 { Err("not yet".to_owned()) } else { Ok(format!("worked at {attempt}")) }
        },
    );
    let large = FunctionTool::with_schema(
        "large",
        "Numbers, so many bytes of them",
        schema(json!({"bytes": integer()}), &["bytes"]),
        |arguments: Value, _| async move {
            let bytes = usize::try_from(arguments["bytes"].as_u64().unwrap_or(0)).unwrap_or(0);
            format!("[{}7]", "7,".repeat(bytes / 2))
        },
    );
    // Writes, and says so: somebody has to be asked. The second destroys.
    let pay =
        FunctionTool::with_schema("pay", "Pays", schema(json!({"id": integer()}), &["id"]), |_: Value, _| async {
            "paid"
        })
        .annotated("readOnlyHint", false)
        .annotated("destructiveHint", false)
        .annotated("openWorldHint", false);
    let burn = FunctionTool::with_schema("burn", "Burns", schema(json!({}), &[]), |_: Value, _| async { "burnt" })
        .annotated("destructiveHint", true);
    Toolbox::new("shop")
        .with(orders.only_reads())
        .with(one.only_reads())
        .with(report.only_reads())
        .with(listing.only_reads())
        .with(size.only_reads())
        .with(join.only_reads())
        .with(slow.only_reads())
        .with(flaky.only_reads())
        .with(large.only_reads())
        .with(pay)
        .with(burn)
}
