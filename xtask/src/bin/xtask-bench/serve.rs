//! Owns the measures of `helve serve`: an agent over HTTP, the gateway, and the thin echo server behind it, beside the
//! server without a gateway and beside other gateways.

mod abandoned;
mod agent;
mod calls;
mod gateway;
mod http;
mod job;
mod large;
mod rmcp;
mod start;
mod work;

use std::path::PathBuf;

use anyhow::Result;

pub(crate) use self::gateway::Installed;
use self::gateway::{Gateway, Manner};
use self::job::{Behind, BehindKind, Job, Sample, Work};
pub(crate) use self::work::run;
use crate::bench::in_child;
use crate::job::Era;
use crate::report::Line;
use crate::stats::{median, median_ratio};

/// A measure's name and how to take it.
type Measure = (&'static str, fn(&Serve) -> Result<Vec<Line>>);

pub(crate) const MEASURES: &[Measure] = &[
    ("calls", calls::measure),
    ("http", http::measure),
    ("large", large::measure),
    ("start", start::measure),
    ("abandoned", abandoned::measure),
    ("rmcp", rmcp::measure),
];

/// The surroundings of all measures.
#[derive(Debug)]
pub(crate) struct Serve {
    pub(crate) helve: PathBuf,
    /// The thin echo server.
    pub(crate) server: PathBuf,
    /// The server on rmcp.
    pub(crate) rmcp_server: PathBuf,
    /// The gateway on rmcp.
    pub(crate) relay: PathBuf,
    pub(crate) peers: Installed,
    pub(crate) rounds: usize,
    pub(crate) real_time: bool,
}

impl Serve {
    /// Lets the server alone, helve and the peers work in turn, once per round, beginning with another one each time.
    /// A subject without work is left out. A peer that fails is told as such; helve and the server alone must not.
    fn columns(&self, era: Era, work: impl Fn(Manner) -> Option<Work>) -> Result<Columns> {
        let behind = Behind { program: self.server.clone(), kind: BehindKind::Thin, era };
        self.interleaved(&behind, self.peers.iter().cloned(), work)
    }

    /// The same with a server on rmcp behind everybody, beside gateways on rmcp.
    fn rmcp_columns(&self, era: Era, work: impl Fn(Manner) -> Option<Work>) -> Result<Columns> {
        let behind = Behind { program: self.rmcp_server.clone(), kind: BehindKind::Rmcp, era };
        let relays = [Manner::RelayMany, Manner::RelayOne].map(|manner| (manner, Ok(self.relay.clone())));
        self.interleaved(&behind, relays, work)
    }

    fn interleaved(
        &self,
        behind: &Behind,
        peers: impl IntoIterator<Item = (Manner, Result<PathBuf, String>)>,
        work: impl Fn(Manner) -> Option<Work>,
    ) -> Result<Columns> {
        let ours = [(Manner::Direct, Ok(behind.program.clone())), (Manner::Helve, Ok(self.helve.clone()))];
        let mut columns: Vec<Column> = ours
            .into_iter()
            .chain(peers)
            .filter_map(|(manner, program)| Some(Column { manner, program, work: work(manner)?, samples: Vec::new() }))
            .collect();
        let count = columns.len();
        for round in 0..self.rounds {
            for step in 0..count {
                if let Some(column) = columns.get_mut((round + step) % count) {
                    self.turn(behind, column)?;
                }
            }
        }
        Ok(Columns(columns))
    }

    fn turn(&self, behind: &Behind, column: &mut Column) -> Result<()> {
        let Ok(program) = &column.program else { return Ok(()) };
        let gateway = Gateway { manner: column.manner, program: program.clone() };
        let job = Job { gateway, behind: behind.clone(), work: column.work.clone() };
        match in_child("serve-child", &job, self.real_time) {
            Ok(sample) => column.samples.push(sample),
            Err(error) if column.manner.is_peer() => column.program = Err(format!("{error:#}")),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Servers of both eras stand behind every gateway: names of lines say which, where it is the older one.
const ERAS: [(Era, &str); 2] = [(Era::Modern, ""), (Era::Legacy, ", legacy upstream")];

/// What everybody measured.
#[derive(Debug)]
struct Columns(Vec<Column>);

#[derive(Debug)]
struct Column {
    manner: Manner,
    /// The program, or why there are no numbers of it.
    program: Result<PathBuf, String>,
    work: Work,
    samples: Vec<Sample>,
}

impl Columns {
    fn helve(&self, field: impl Fn(&Sample) -> f64) -> f64 {
        self.median_of(Manner::Helve, field)
    }

    fn direct(&self, field: impl Fn(&Sample) -> f64) -> f64 {
        self.median_of(Manner::Direct, field)
    }

    /// The median over the rounds of helve's number by that of the server alone.
    fn over_direct(&self, field: impl Fn(&Sample) -> f64) -> f64 {
        median_ratio(&self.each(Manner::Helve, &field), &self.each(Manner::Direct, &field))
    }

    /// The median of every peer that has one.
    fn peers(&self, field: impl Fn(&Sample) -> f64) -> Vec<(Manner, f64)> {
        let able = self.0.iter().filter(|column| column.manner.is_peer() && column.program.is_ok());
        able.map(|column| (column.manner, self.median_of(column.manner, &field))).collect()
    }

    /// Everybody's number, ours first; who has none is named with the reason.
    fn seen(&self, field: impl Fn(&Sample) -> f64, show: impl Fn(f64) -> String) -> String {
        let mut seen = vec![show(self.helve(&field))];
        for column in self.0.iter().filter(|column| column.manner != Manner::Helve) {
            seen.push(match &column.program {
                Ok(_) => format!("{} {}", column.manner, show(self.median_of(column.manner, &field))),
                Err(why) => format!("{} none ({})", column.manner, brief(why)),
            });
        }
        seen.join(", ")
    }

    fn median_of(&self, manner: Manner, field: impl Fn(&Sample) -> f64) -> f64 {
        median(&mut self.each(manner, field))
    }

    fn each(&self, manner: Manner, field: impl Fn(&Sample) -> f64) -> Vec<f64> {
        let column = self.0.iter().find(|column| column.manner == manner);
        column.map(|column| column.samples.iter().map(field).collect()).unwrap_or_default()
    }
}

/// The last line of a reason says most.
fn brief(why: &str) -> &str {
    const CHARACTERS: usize = 120;
    let line = why.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    line.char_indices().nth(CHARACTERS).map_or(line, |(end, _)| line.get(..end).unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_fails_is_named() {
        let column = |manner, program: Result<PathBuf, String>, alone: &[f64]| {
            let samples = alone.iter().map(|alone| Sample { alone: *alone, ..Sample::default() }).collect();
            Column { manner, program, work: Work::Start, samples }
        };
        let columns = Columns(vec![
            column(Manner::Direct, Ok("echo".into()), &[1.0, 2.0, 3.0]),
            column(Manner::Helve, Ok("helve".into()), &[2.0, 4.0, 9.0]),
            column(Manner::Supergateway, Ok("node".into()), &[20.0]),
            column(Manner::Fastmcp, Err("Traceback\nno module\n".to_owned()), &[]),
        ]);
        let alone = |sample: &Sample| sample.alone;
        insta::assert_snapshot!(columns.seen(alone, |value| format!("{value} s")), @"4 s, direct 2 s, supergateway 20 s, fastmcp none (no module)");
        assert_eq!(columns.over_direct(alone), 2.0);
        assert_eq!(columns.peers(alone), [(Manner::Supergateway, 20.0)]);
    }
}
