//! JSON as Python has it: read by Python's own parser, so that numbers, order and duplicates are what Python's users expect.

use helve_model::json::RawJson;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::mailbox::Answer;

/// A JSON text as Python's values.
pub(crate) fn loads(py: Python<'_>, json: &str) -> PyResult<Py<PyAny>> {
    static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let loads = LOADS.get_or_try_init(py, || py.import("json")?.getattr("loads").map(Bound::unbind))?;
    loads.call1(py, (json,))
}

/// An answer that is this JSON.
pub(crate) fn answer(json: RawJson) -> Answer {
    Box::new(move |py| loads(py, json.as_str()))
}
