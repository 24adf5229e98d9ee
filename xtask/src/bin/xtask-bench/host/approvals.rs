//! What a call costs that nobody is asked about, where calls can be held for a person, beside the same where they cannot.

use anyhow::Result;

use crate::bench::Bench;
use crate::callgrind::count_echo;
use crate::job::{Kind, Subject, Work};
use crate::peers::Peers;
use crate::report::{Goal, Line};

const FREE: Goal = Goal::AtMost(1.02);

pub(crate) fn measure(bench: &Bench, _peers: &Peers) -> Result<Vec<Line>> {
    let count = |kind| count_echo(&bench.job(Subject::new(kind), Work::Echo { calls: 0 }));
    let (off, on) = (count(Kind::Gateway)?, count(Kind::GatewayApprovals)?);
    Ok(vec![Line::new(
        "instructions of a gateway's call that is not asked about, approvals on / off",
        on.instructions / off.instructions,
        FREE,
        format!(
            "{:.0} and {:.0}; {:.1} allocations more",
            on.instructions,
            off.instructions,
            on.allocations - off.allocations
        ),
    )])
}
