//! Errors as Python gets them: one class for each code, which `helve._errors` defines.

use std::time::Duration;

use helve::{CallError, ErrorCode, Hint};
use helve_setup::SetupError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict as _, PyDict};

/// The code of what the machine refuses, for which no door has one.
const MACHINE: &str = "MACHINE";

/// What an exception is made of.
struct Parts<'a> {
    code: &'a str,
    message: String,
    server: Option<&'a str>,
    tool: Option<&'a str>,
    hints: &'a [Hint],
    may_have_run: bool,
    retry_after: Option<Duration>,
}

/// The exception that an error of a call is.
pub(crate) fn from_call(py: Python<'_>, error: &CallError) -> PyErr {
    raise(
        py,
        &Parts {
            code: error.code().as_str(),
            message: error.chain(),
            server: error.server().map(|server| server.as_str()),
            tool: error.tool().map(|tool| tool.as_str()),
            hints: error.hints(),
            may_have_run: error.may_have_run(),
            retry_after: error.retry_after(),
        },
    )
}

/// The exception that an error of a start is.
pub(crate) fn from_setup(py: Python<'_>, error: &SetupError) -> PyErr {
    let message = std::iter::once(error.message()).chain(error.causes().iter().map(String::as_str));
    raise(
        py,
        &Parts {
            code: error.code().map_or(MACHINE, ErrorCode::as_str),
            message: message.collect::<Vec<_>>().join(": "),
            server: error.server().map(|server| server.as_str()),
            tool: error.tool().map(|tool| tool.as_str()),
            hints: error.hints(),
            may_have_run: false,
            retry_after: None,
        },
    )
}

/// A host that cannot be used: closed, not started, or of another process.
pub(crate) fn unusable(py: Python<'_>, message: &str) -> PyErr {
    from_call(py, &CallError::new(ErrorCode::ServerUnavailable, message))
}

fn raise(py: Python<'_>, parts: &Parts<'_>) -> PyErr {
    let hints: Vec<String> = parts.hints.iter().map(Hint::to_string).collect();
    let made = classes(py).and_then(|make| {
        let details = [
            ("server", parts.server.into_pyobject(py)?.into_any()),
            ("tool", parts.tool.into_pyobject(py)?.into_any()),
            ("hints", hints.into_pyobject(py)?.into_any()),
            ("may_have_run", parts.may_have_run.into_pyobject(py)?.to_owned().into_any()),
            ("retry_after", parts.retry_after.map(|wait| wait.as_secs_f64()).into_pyobject(py)?.into_any()),
        ];
        let details: Bound<'_, PyDict> = details.into_py_dict(py)?;
        make.call((parts.code, parts.message.as_str()), Some(&details))
    });
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// What makes an exception of a code and its details.
fn classes(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = MAKE.get_or_try_init(py, || py.import("helve._errors")?.getattr("of_code").map(Bound::unbind))?;
    Ok(make.bind(py))
}

/// Every code there is.
#[pyfunction]
pub(crate) fn codes() -> Vec<&'static str> {
    ErrorCode::ALL.iter().map(|code| code.as_str()).collect()
}
