//! Opening a server from options, and calling its tools the way a host does.

use std::path::Path;

use helve::{CallError, Tool, ToolContext, ToolFailure, Toolbox};
use helve_model::json::RawJson;
use helve_model::{
    BuiltinSpec, CallKind, ConfigText, Layer, Origin, Outcome, QualifiedName, ServerName, ServerSpec, TransportSpec,
};
use helve_policy::{Caller, Decision, Permit, Request, RuleSet};
use helve_schema::{ArgumentLimits, ArgumentVerdict, LazyValidator, OutputCheck, OutputVerdict, check_output};
use tempfile::TempDir;

/// A directory of its own with some files in it.
pub(crate) fn tree(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = directory.path().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
    }
    directory
}

pub(crate) fn spec(kind: &str, options: &[(&str, &[&str])]) -> ServerSpec {
    let options = options
        .iter()
        .map(|(name, values)| ((*name).to_owned(), values.iter().map(|value| ConfigText::literal(*value)).collect()))
        .collect();
    let transport = TransportSpec::Builtin(BuiltinSpec { kind: kind.to_owned(), options });
    let origin = Origin::File { path: Path::new("helve.toml").into(), line: 3, column: 1 };
    ServerSpec::new(ServerName::new("notes").unwrap(), transport, origin, Layer::User)
}

pub(crate) fn try_open(kind: &str, options: &[(&str, &[&str])], directory: &Path) -> Result<Toolbox, CallError> {
    let spec = spec(kind, options);
    let TransportSpec::Builtin(builtin) = &spec.transport else { panic!("not built in") };
    helve_builtin::open(&spec, builtin, directory)
}

pub(crate) fn open(kind: &str, options: &[(&str, &[&str])], directory: &Path) -> Toolbox {
    try_open(kind, options, directory).unwrap()
}

/// A server for the files of `directory`, to read.
pub(crate) fn files(directory: &TempDir) -> Toolbox {
    open("filesystem", &[], directory.path())
}

/// A server for the files of `directory`, to change.
pub(crate) fn writable(directory: &TempDir) -> Toolbox {
    open("filesystem", &[("writable", &["true"])], directory.path())
}

/// A permit, as everybody gets one: from a decision.
fn permit(toolbox: &Toolbox, tool: &str, arguments: &str) -> Permit {
    let request = Request {
        principal: helve_model::Principal::LOCAL,
        name: QualifiedName::new(toolbox.name().clone(), helve_model::ToolName::new(tool)),
        kind: CallKind::Tool,
        arguments: RawJson::checked(arguments).unwrap(),
    };
    match RuleSet::allow_all().decide(request) {
        Decision::Allow(permit) => permit,
        Decision::Ask(_) | Decision::Deny(_) => panic!("not allowed"),
    }
}

fn find<'a>(toolbox: &'a Toolbox, name: &str) -> &'a dyn Tool {
    let found = toolbox.tools().iter().find(|tool| tool.definition().name().as_str() == name);
    found.unwrap_or_else(|| panic!("no tool {name}")).as_ref()
}

/// Calls a tool. Arguments that a host would refuse are a mistake of the test; so is a result that breaks its promise.
pub(crate) async fn outcome(toolbox: &Toolbox, name: &str, arguments: &str) -> Result<Outcome, ToolFailure> {
    let tool = find(toolbox, name);
    let view = tool.definition().view();
    let input = LazyValidator::new(view.input_schema.unwrap().as_str().to_owned());
    assert_eq!(input.check(name, arguments, ArgumentLimits::default()), ArgumentVerdict::Valid, "{arguments}");
    let outcome = unchecked(toolbox, name, arguments).await?;
    let opened = outcome.open().unwrap();
    if let Some(schema) = &view.output_schema
        && !opened.is_error
    {
        let output = LazyValidator::new(schema.as_str().to_owned());
        let structured = opened.structured.as_ref().map(RawJson::as_str);
        assert_eq!(check_output(&output, structured, OutputCheck::Enforce), OutputVerdict::Accepted, "{structured:?}");
    }
    Ok(outcome)
}

/// Calls a tool with whatever arguments.
pub(crate) async fn unchecked(toolbox: &Toolbox, name: &str, arguments: &str) -> Result<Outcome, ToolFailure> {
    let permit = permit(toolbox, name, arguments);
    find(toolbox, name).call(&permit, &ToolContext::new(Caller::Agent)).await
}

/// What a call gave, as text: the result, `failed: …`, or `CODE: …`.
pub(crate) async fn call(toolbox: &Toolbox, name: &str, arguments: &str) -> String {
    told(outcome(toolbox, name, arguments).await)
}

pub(crate) fn told(outcome: Result<Outcome, ToolFailure>) -> String {
    match outcome {
        Ok(outcome) if outcome.is_error() => format!("failed: {}", outcome.open().unwrap().to_text()),
        Ok(outcome) => outcome.open().unwrap().to_text(),
        Err(failure) => format!("{}: {}", failure.code, failure.message),
    }
}

/// The structured result of a call.
pub(crate) async fn structured(toolbox: &Toolbox, name: &str, arguments: &str) -> String {
    match outcome(toolbox, name, arguments).await {
        Ok(outcome) => match outcome.open().unwrap().structured {
            Some(structured) => structured.as_str().to_owned(),
            None => panic!("{}", told(Ok(outcome))),
        },
        Err(failure) => panic!("{failure}"),
    }
}

/// `text` without the part that differs from run to run.
pub(crate) fn without(directory: &TempDir, text: &str) -> String {
    let real = fs_err::canonicalize(directory.path()).unwrap();
    text.replace(real.to_str().unwrap(), "[dir]").replace(directory.path().to_str().unwrap(), "[dir]")
}
