//! Owns the list of measures: one file each, every goal beside the code that measures it.

mod connect;
mod counts;
mod echo;
mod flood;
mod http;
mod idle;
mod large;
mod list;

use anyhow::Result;

use crate::bench::Bench;
use crate::report::Line;

/// A measure's name and how to take it.
type Measure = (&'static str, fn(&Bench) -> Result<Vec<Line>>);

/// Counts repeat on any machine: they gate.
pub(crate) const COUNTS: &[Measure] = &[
    ("counts", counts::measure),
    ("secrets", counts::measure_secrets),
    ("http-connections", http::measure_connections),
];

/// Timings and memory are for people.
pub(crate) const TIMINGS: &[Measure] = &[
    ("echo", echo::measure),
    ("flood", flood::measure),
    ("large", large::measure),
    ("list", list::measure),
    ("http", http::measure),
    ("idle", idle::measure),
    ("connect", connect::measure),
];

pub(crate) fn microseconds(seconds: f64) -> String {
    format!("{:.1} µs", seconds * 1e6)
}

pub(crate) fn milliseconds(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}

pub(crate) fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}
