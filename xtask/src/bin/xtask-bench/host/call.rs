//! What a host adds to a bare call on the wire: the name, the arguments' schema, the rules, the record. And what a gateway
//! adds to that, with the agent's own side of it: the gate, the catalog, both ends of a stream.

use anyhow::Result;

use crate::bench::Bench;
use crate::callgrind::count_echo;
use crate::job::{Kind, Subject, Work};
use crate::peers::Peers;
use crate::report::{Goal, Line};

const INSTRUCTIONS: Goal = Goal::AtMost(7_500.0);
/// A tenth above what was reached: nobody knows what it should be, and more is noticed.
const GATEWAY: Goal = Goal::AtMost(37_500.0);
/// The same.
const GATE: Goal = Goal::AtMost(7_200.0);
const FLAT: Goal = Goal::AtMost(1.2);

pub(crate) fn measure(bench: &Bench, _peers: &Peers) -> Result<Vec<Line>> {
    let count = |kind| count_echo(&bench.job(Subject::new(kind), Work::Echo { calls: 0 }));
    let wire = count(Kind::Helve)?;
    let host = count(Kind::Host)?;
    let many = count(Kind::HostManyRules)?;
    let rmcp = count(Kind::Rmcp)?;
    let gateway = count(Kind::Gateway)?;
    let (added, added_by_many) = (host.instructions - wire.instructions, many.instructions - wire.instructions);
    let seen = format!(
        "{:.0} in all, the wire {:.0}, rmcp's wire {:.0}; {:.1} allocations above the wire's {:.1}",
        host.instructions,
        wire.instructions,
        rmcp.instructions,
        host.allocations - wire.allocations,
        wire.allocations
    );
    Ok(vec![
        Line::new("instructions of a host's call above the wire's, 1 rule", added, INSTRUCTIONS, seen),
        Line::new(
            "instructions of a host's call above the wire's, 1,000 rules",
            added_by_many,
            INSTRUCTIONS,
            format!("{:.0} in all; 50 of the rules name the tool and look at an argument", many.instructions),
        ),
        Line::new(
            "instructions of a host's call, 1,000 rules / 1 rule",
            many.instructions / host.instructions,
            FLAT,
            String::new(),
        ),
        Line::new(
            "instructions of a gateway's call above a host's, with both ends of the agent's stream",
            gateway.instructions - host.instructions,
            GATEWAY,
            format!(
                "{:.0} in all; {:.1} allocations above the host's",
                gateway.instructions,
                gateway.allocations - host.allocations
            ),
        ),
        Line::new(
            "instructions of the gate of it: a call and its answer checked whole",
            gateway.gate,
            GATE,
            String::new(),
        ),
    ])
}
