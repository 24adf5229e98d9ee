//! A program that embeds code mode: native tools as `device.MathMCP.add`, and itself as the stage that confines the worker.
//!
//! `cargo run -p helve-code --example run_program -- FILE.py`

#![expect(clippy::disallowed_methods, reason = "a program reads its own environment")]

use std::process::ExitCode;

use helve::{CallContext, Caller, FunctionTool, Host, Toolbox};
use helve_code::{Engine, EngineSetup, Limits, Runner};
use helve_wire::launch::WardenProgram;
use serde_json::{Value, json};

/// The word behind which this program is a warden.
const WARDEN: &str = "warden";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(word) if word == WARDEN => helve_wire::launch::warden::run(&[WARDEN], arguments),
        Some(file) => run(&file),
        None => ExitCode::FAILURE,
    }
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "an example shows what it does")]
async fn run(file: &std::ffi::OsStr) -> ExitCode {
    let worked = async {
        let add = json!({"properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]});
        let add = FunctionTool::with_schema("add", "Adds two numbers", add, |numbers: Value, _| async move {
            json!(numbers["a"].as_f64().unwrap_or(0.0) + numbers["b"].as_f64().unwrap_or(0.0))
        });
        let host = Host::builder().toolbox(Toolbox::new("math").with(add.only_reads())).start().await?;
        let stage = WardenProgram { path: std::env::current_exe()?, leading: vec![WARDEN.into()] };
        let setup = EngineSetup::new(Some(stage)).with(|setup| setup.search_path = std::env::var_os("PATH"));
        let limits = Limits::default();
        let runner = Runner::new(&host, Engine::find(&setup, &limits).await?, limits);
        runner.offer(&host)?;
        let report = runner.run(&fs_err::read_to_string(file)?, CallContext::new(Caller::Agent)).await?;
        Ok::<_, Box<dyn std::error::Error>>(report)
    };
    match worked.await {
        Ok(report) => {
            println!("{}", report.to_text(Limits::default().result_bytes));
            if report.error.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}
