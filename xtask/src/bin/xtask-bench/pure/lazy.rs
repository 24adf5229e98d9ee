//! Ten thousand tools that nobody calls: their validators are made, their schemas are not compiled.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::Result;
use helve_schema::LazyValidator;

use super::validate::SCHEMA;
use super::{Work, rounds};
use crate::report::{Goal, Line};
use crate::stats::median;

const VALIDATORS: usize = 10_000;
const COMPILED: Goal = Goal::Exactly(0.0);

pub(crate) fn measure(count: usize) -> Result<Vec<Line>> {
    // Schemas of their own, as a listing leaves them behind.
    let schemas: Vec<Arc<str>> = (0..VALIDATORS)
        .map(|index| Arc::from(SCHEMA.replace("Repository owner", &format!("Repository owner {index}"))))
        .collect();
    let make = || -> Vec<_> { schemas.iter().map(|schema| LazyValidator::new(Arc::clone(schema))).collect() };
    let compiled = make().iter().filter(|validator| validator.is_read()).count();

    let [mut making] = rounds(count, [Work { times: 1, once: &mut || drop(black_box(make())) }]);
    let size = size_of::<LazyValidator<Arc<str>>>();
    Ok(vec![
        Line::for_information(
            "make 10,000 validators, ms",
            median(&mut making) * 1e3,
            format!("and drop them; {size} bytes each beside the schema's text"),
        ),
        Line::new(
            "schemas compiled by making 10,000 validators",
            compiled as f64,
            COMPILED,
            format!("compiled: {compiled}"),
        ),
    ])
}
