//! Instructions and allocations of one small stdio call.

use anyhow::Result;

use crate::bench::Bench;
use crate::callgrind::{count_echo, count_http};
use crate::job::{Era, Kind, Subject, Work};
use crate::report::{Goal, Line};

const INSTRUCTIONS: Goal = Goal::AtMost(0.25);
const ALLOCATIONS: Goal = Goal::AtMost(12.0);
const WITH_SECRETS: Goal = Goal::AtMost(1.02);
const FRESH_TOKEN: Goal = Goal::AtMost(1_500.0);
const FRESH_TOKEN_ALLOCATIONS: Goal = Goal::AtMost(2.0);

/// What it costs to keep five secrets out of what a server says, and to send the token of a login instead of one that is fixed.
pub(crate) fn measure_secrets(bench: &Bench) -> Result<Vec<Line>> {
    let small = |kind| count_echo(&bench.job(Subject::new(kind), Work::Echo { calls: 0 }));
    let (plain, secrets) = (small(Kind::Helve)?, small(Kind::HelveSecrets)?);
    let http = |kind| count_http(&bench.job(Subject::new(kind), Work::Http { calls: 0 }));
    let (fixed, signed_in) = (http(Kind::HelveFixedToken)?, http(Kind::HelveSignedIn)?);
    Ok(vec![
        Line::new(
            "instructions per call, five secrets / none",
            secrets.instructions / plain.instructions,
            WITH_SECRETS,
            format!("{:.0}, {:.0} without", secrets.instructions, plain.instructions),
        ),
        Line::new(
            "instructions per call, fresh token - fixed header",
            signed_in.instructions - fixed.instructions,
            FRESH_TOKEN,
            format!("{:.0}, {:.0} with a fixed one", signed_in.instructions, fixed.instructions),
        ),
        Line::new(
            "allocations per call, fresh token - fixed header",
            signed_in.allocations - fixed.allocations,
            FRESH_TOKEN_ALLOCATIONS,
            format!("{:.1}, {:.1} with a fixed one", signed_in.allocations, fixed.allocations),
        ),
    ])
}

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let count = |subject| count_echo(&bench.job(subject, Work::Echo { calls: 0 }));
    let ours = count(bench.candidate())?;
    let modern = count(bench.candidate().in_era(Era::Modern))?;
    let typed = count(Subject::new(Kind::HelveTyped))?;
    let rmcp = count(Subject::new(Kind::Rmcp))?;
    let seen = format!("{:.0}, rmcp {:.0}", ours.instructions, rmcp.instructions);
    let allocations = format!("rmcp {:.1}", rmcp.allocations);
    Ok(vec![
        Line::new("instructions per call / rmcp", ours.instructions / rmcp.instructions, INSTRUCTIONS, seen),
        Line::new("allocations per call", ours.allocations, ALLOCATIONS, allocations),
        Line::for_information(
            "instructions per call, answer opened / rmcp",
            typed.instructions / rmcp.instructions,
            format!("{:.0}, {:.1} allocations", typed.instructions, typed.allocations),
        ),
        Line::for_information(
            "instructions per call, modern / legacy",
            modern.instructions / ours.instructions,
            format!("{:.0}, {:.1} allocations", modern.instructions, modern.allocations),
        ),
    ])
}
