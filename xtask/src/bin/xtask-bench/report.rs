//! Owns the shape of every benchmark's result: a table for people, one last line of JSON for machines.

use std::borrow::Cow;
use std::fmt;

use anyhow::Result;
use serde::Serialize;
use xtask::table;

/// What a number must reach.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
    Exactly(f64),
}

impl Goal {
    fn met_by(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
            Self::Exactly(wanted) => (value - wanted).abs() < f64::EPSILON,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(limit) => write!(formatter, "<= {limit}"),
            Self::AtLeast(limit) => write!(formatter, ">= {limit}"),
            Self::Exactly(wanted) => write!(formatter, "== {wanted}"),
        }
    }
}

/// One measure: the number that counts, its goal, and what was seen on the way.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: Cow<'static, str>,
    /// `None`: could not be measured with this candidate.
    pub(crate) value: Option<f64>,
    /// `None`: for information.
    pub(crate) goal: Option<Goal>,
    /// The absolute numbers behind it.
    pub(crate) seen: String,
}

impl Line {
    pub(crate) fn new(name: impl Into<Cow<'static, str>>, value: f64, goal: Goal, seen: String) -> Self {
        Self { name: name.into(), value: Some(value), goal: Some(goal), seen }
    }

    pub(crate) fn for_information(name: impl Into<Cow<'static, str>>, value: f64, seen: String) -> Self {
        Self { name: name.into(), value: Some(value), goal: None, seen }
    }

    pub(crate) fn unmeasured(name: impl Into<Cow<'static, str>>, goal: Goal, why: &str) -> Self {
        Self { name: name.into(), value: None, goal: Some(goal), seen: why.to_owned() }
    }

    /// Whether the goal is met; `None` if there is none.
    pub(crate) fn met(&self) -> Option<bool> {
        self.goal.map(|goal| self.value.is_some_and(|value| goal.met_by(value)))
    }
}

pub(crate) fn for_people(lines: &[Line]) -> String {
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|line| {
            vec![
                line.name.to_string(),
                line.value.map_or("-".to_owned(), |value| format!("{value:.3}")),
                line.goal.map_or(String::new(), |goal| goal.to_string()),
                match line.met() {
                    Some(true) => "met".to_owned(),
                    Some(false) => "MISSED".to_owned(),
                    None => String::new(),
                },
                line.seen.clone(),
            ]
        })
        .collect();
    table::render(&["measure", "value", "goal", "", "seen"], &["value"], &rows)
}

/// Every benchmark of the project ends with this line.
pub(crate) fn for_machines(lines: &[Line]) -> Result<String> {
    #[derive(Serialize)]
    struct Report<'a> {
        measures: Vec<Measure<'a>>,
    }
    #[derive(Serialize)]
    struct Measure<'a> {
        name: &'a str,
        ratio: Option<f64>,
        goal: String,
        met: bool,
    }
    let measures = lines.iter().filter_map(|line| {
        Some(Measure { name: &line.name, ratio: line.value, goal: line.goal?.to_string(), met: line.met()? })
    });
    Ok(serde_json::to_string(&Report { measures: measures.collect() })?)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn both_shapes() {
        let lines = [
            Line::new("echo / rmcp", 0.5612, Goal::AtMost(0.6), "13.1 µs, rmcp 23.1 µs".to_owned()),
            Line::new("connections", 2.0, Goal::Exactly(1.0), "2 for 1000 calls".to_owned()),
            Line::for_information("echo, modern", 1.1, "14.2 µs".to_owned()),
            Line::unmeasured("flood / rmcp", Goal::AtLeast(4.0), "takes one call at a time"),
        ];
        assert_snapshot!(for_people(&lines), @"
        measure       value  goal            seen
        echo / rmcp   0.561  <= 0.6  met     13.1 µs, rmcp 23.1 µs
        connections   2.000  == 1    MISSED  2 for 1000 calls
        echo, modern  1.100                  14.2 µs
        flood / rmcp      -  >= 4    MISSED  takes one call at a time
        ");
        assert_snapshot!(for_machines(&lines).unwrap(), @r#"{"measures":[{"name":"echo / rmcp","ratio":0.5612,"goal":"<= 0.6","met":true},{"name":"connections","ratio":2.0,"goal":"== 1","met":false},{"name":"flood / rmcp","ratio":null,"goal":">= 4","met":false}]}"#);
    }
}
