//! Validating a typical call: its arguments parsed and checked against a tool's schema of about 900 bytes.

use std::hint::black_box;

use anyhow::{Result, ensure};
use helve_schema::{ArgumentLimits, ArgumentVerdict, LazyValidator};

use super::{Work, rounds};
use crate::report::{Goal, Line};
use crate::stats::median;

/// Microseconds.
const VALIDATING: Goal = Goal::AtMost(5.0);

/// As the tools of well-known servers have it: words for the model, a few types, an enum, a list, an object.
pub(crate) const SCHEMA: &str = r#"{"type":"object","properties":{"owner":{"type":"string","description":"Repository owner"},"repo":{"type":"string","description":"Repository name"},"query":{"type":"string","minLength":1,"description":"Search query, in the syntax of the issue search"},"state":{"type":"string","enum":["open","closed","all"],"default":"open","description":"Which issues to look at"},"labels":{"type":"array","items":{"type":"string"},"description":"Only issues with all of these labels"},"page":{"type":"integer","minimum":1,"default":1,"description":"Page number"},"perPage":{"type":"integer","minimum":1,"maximum":100,"default":30,"description":"Results per page"},"sort":{"type":"object","properties":{"by":{"type":"string","enum":["created","updated","comments"]},"descending":{"type":"boolean"}},"required":["by"],"additionalProperties":false}},"required":["owner","repo","query"],"additionalProperties":false}"#;

const ARGUMENTS: &str = r#"{"owner":"octocat","repo":"hello-world","query":"is:issue crash on start","state":"all","labels":["bug","help wanted"],"page":2,"perPage":50,"sort":{"by":"updated","descending":true}}"#;

pub(crate) fn measure(count: usize) -> Result<Vec<Line>> {
    let validator = LazyValidator::new(SCHEMA);
    let check =
        |validator: &LazyValidator<&str>| validator.check("search_issues", ARGUMENTS, ArgumentLimits::default());
    let verdict = check(&validator);
    ensure!(verdict == ArgumentVerdict::Valid, "our own arguments are refused: {verdict:?}");

    let compile = || {
        let validator = LazyValidator::new(SCHEMA);
        black_box(validator.unvalidated());
        drop(black_box(validator));
    };
    let [mut checking, mut compiling] = rounds(
        count,
        [
            Work { times: 1_000, once: &mut || drop(black_box(check(black_box(&validator)))) },
            Work { times: 5, once: &mut || compile() },
        ],
    );
    let seen = format!("{} bytes of arguments, {} of schema; parsing included", ARGUMENTS.len(), SCHEMA.len());
    Ok(vec![
        Line::new("validate a call, µs", median(&mut checking) * 1e6, VALIDATING, seen),
        Line::for_information(
            "compile that schema, µs",
            median(&mut compiling) * 1e6,
            "once, at the first call of the tool".to_owned(),
        ),
    ])
}
