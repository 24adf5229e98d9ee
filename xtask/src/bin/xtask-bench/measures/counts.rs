//! Instructions and allocations of one small stdio call.

use anyhow::Result;

use crate::bench::Bench;
use crate::callgrind::count_echo;
use crate::job::{Era, Kind, Subject, Work};
use crate::report::{Goal, Line};

const INSTRUCTIONS: Goal = Goal::AtMost(0.25);
const ALLOCATIONS: Goal = Goal::AtMost(12.0);

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
