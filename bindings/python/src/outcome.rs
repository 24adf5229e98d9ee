//! What a call came to, as Python sees it: opened when it is looked at, member by member.

use helve::{CallError, CallOutcome, Outcome};
use helve_model::OutcomeView;
use helve_model::json::{ObjectWriter, RawJson};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::value::loads;

/// What a tool answered.
#[pyclass(frozen, name = "Result", module = "helve")]
#[derive(Debug)]
pub(crate) struct CallResult {
    outcome: Outcome,
    server: Option<String>,
    tool: Option<String>,
    /// The name by which a model called it.
    called_as: Option<String>,
    /// The code of the error, where a model is told one.
    code: Option<&'static str>,
    duration: f64,
    from_cache: bool,
    warnings: Vec<String>,
    kept_in: Vec<std::path::PathBuf>,
}

impl CallResult {
    /// What a call produced.
    pub(crate) fn new(called: CallOutcome) -> Self {
        Self {
            server: Some(called.name.server.as_str().to_owned()),
            tool: Some(called.name.tool.as_str().to_owned()),
            called_as: None,
            code: called.outcome.is_error().then(|| helve::ErrorCode::ToolError.as_str()),
            duration: called.duration.as_secs_f64(),
            from_cache: called.from_cache,
            warnings: called.warnings,
            kept_in: called.kept_in,
            outcome: called.outcome,
        }
    }

    /// What a model is told of a call that failed: the code, what happened, and what the model itself can do. No rule, no file
    /// and nothing that is for the person.
    pub(crate) fn for_model(error: &CallError) -> Self {
        let told = error.to_agent();
        let mut text = format!("{}: {}", told.code(), told.chain());
        for hint in told.hints() {
            text.push('\n');
            text.push_str(&hint.to_string());
        }
        Self {
            outcome: Outcome::failure(&text),
            server: error.server().map(|server| server.as_str().to_owned()),
            tool: error.tool().map(|tool| tool.as_str().to_owned()),
            called_as: None,
            code: Some(error.code().as_str()),
            duration: 0.0,
            from_cache: false,
            warnings: Vec::new(),
            kept_in: Vec::new(),
        }
    }

    /// The same for the model that called it by this name.
    pub(crate) fn called_as(mut self, name: String) -> Self {
        self.called_as = Some(name);
        self
    }

    /// The structured value, or the text.
    pub(crate) fn value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.outcome.raw().member("structuredContent").filter(|value| value.as_str() != "null") {
            Some(structured) => loads(py, structured.as_str()),
            None => Ok(self.text()?.into_pyobject(py)?.into_any().unbind()),
        }
    }

    fn open(&self) -> PyResult<OutcomeView> {
        self.outcome.open().map_err(|error| PyValueError::new_err(format!("the server's answer is not JSON: {error}")))
    }

    fn member(&self, py: Python<'_>, key: &str) -> PyResult<Option<Py<PyAny>>> {
        self.outcome.raw().member(key).map(|member| loads(py, member.as_str())).transpose()
    }
}

#[pymethods]
impl CallResult {
    /// The result as one text: what is not text is named in brackets.
    #[getter]
    fn text(&self) -> PyResult<String> {
        Ok(self.open()?.for_assistant().to_text())
    }

    /// The blocks of content, as the server sent them.
    #[getter]
    fn content(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        self.open()?.content.iter().map(|block| loads(py, block.raw.as_str())).collect()
    }

    /// The structured value, where the tool gave one.
    #[getter]
    fn structured(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.member(py, "structuredContent")
    }

    /// `_meta` of the result.
    #[getter]
    fn meta(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.member(py, "_meta")
    }

    /// The tool says that it failed, or the model is told why the call did.
    #[getter]
    fn is_error(&self) -> bool {
        self.outcome.is_error()
    }

    /// The code of the failure, `None` where there is none.
    #[getter]
    fn code(&self) -> Option<&str> {
        self.code
    }

    /// The server, as it is configured.
    #[getter]
    fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// The tool, as its server calls it.
    #[getter]
    fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// How long the call took, in seconds.
    #[getter]
    fn duration(&self) -> f64 {
        self.duration
    }

    /// It was kept from an earlier call.
    #[getter(from_cache)]
    fn is_from_cache(&self) -> bool {
        self.from_cache
    }

    /// What is not as it should be.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Where a result that was too large is kept whole.
    #[getter]
    fn kept_in(&self) -> Vec<std::path::PathBuf> {
        self.kept_in.clone()
    }

    /// The whole result, as the server sent it.
    #[getter]
    fn raw(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        loads(py, self.outcome.raw().as_str())
    }

    /// The whole result as JSON, as the server sent it.
    fn to_json(&self) -> &str {
        self.outcome.raw().as_str()
    }

    /// The block that answers a model's call: `anthropic`, `openai` or `gemini`, which knows calls by the function's name.
    #[pyo3(signature = (call_id, provider = "anthropic"))]
    fn to_message(&self, py: Python<'_>, call_id: &str, provider: &str) -> PyResult<Py<PyAny>> {
        let text = self.text()?;
        let written = ObjectWriter::new();
        let message = match provider {
            "anthropic" => written
                .text("type", "tool_result")
                .text("tool_use_id", call_id)
                .text("content", &text)
                .raw("is_error", if self.is_error() { "true" } else { "false" }),
            "openai" => written.text("role", "tool").text("tool_call_id", call_id).text("content", &text),
            "gemini" => {
                let response = ObjectWriter::new().text(if self.is_error() { "error" } else { "result" }, &text);
                let name = self.called_as.as_deref().unwrap_or(call_id);
                written.object("functionResponse", ObjectWriter::new().text("name", name).object("response", response))
            }
            other => return Err(PyValueError::new_err(format!("there is no provider {other:?}"))),
        };
        loads(py, message.finish().as_str())
    }

    fn __str__(&self) -> PyResult<String> {
        self.text()
    }

    fn __repr__(&self) -> String {
        let name = match (&self.server, &self.tool) {
            (Some(server), Some(tool)) => format!("{server}/{tool}"),
            _ => "?".to_owned(),
        };
        match self.code {
            Some(code) => format!("<helve.Result of {name}: {code}>"),
            None => format!("<helve.Result of {name}: {} bytes>", self.outcome.raw().as_str().len()),
        }
    }
}

/// A JSON text that a program or a model wrote, as arguments.
///
/// # Errors
/// `INVALID_PARAMS` when it is not a JSON object.
pub(crate) fn arguments(text: &str) -> Result<RawJson, CallError> {
    let refused = |reason: String| CallError::new(helve::ErrorCode::InvalidParams, reason);
    if text.trim().is_empty() {
        return Ok(RawJson::empty_object());
    }
    let arguments =
        RawJson::checked(text).map_err(|error| refused(format!("the arguments are not valid JSON: {error}")))?;
    if arguments.is_object() { Ok(arguments) } else { Err(refused("the arguments are not a JSON object".to_owned())) }
}
