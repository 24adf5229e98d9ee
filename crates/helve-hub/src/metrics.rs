//! Numbers for Prometheus, by the names of the MCP conventions; written by hand, because the format is ten lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use helve_model::QualifiedName;
use helve_model::sync::lock;
use helve_store::{Ended, Health};

/// Upper ends of the steps in which times are counted, in microseconds: those of the conventions, and four below.
const STEPS: [u64; 18] = [
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    120_000_000,
    300_000_000,
];

/// So many tools are told apart; what comes later is `_other`.
const MOST_TOOLS: usize = 10_000;

/// What was counted since the start.
#[derive(Debug, Default)]
pub struct Metrics {
    by_tool: Mutex<ByTool>,
    ends: [AtomicU64; 5],
}

#[derive(Debug, Default)]
struct ByTool {
    known: BTreeMap<QualifiedName, Counted>,
    /// Calls of what is not a tool, and of tools that came too late to be told apart.
    unknown: Counted,
    other: Counted,
}

#[derive(Debug, Default)]
struct Counted {
    steps: [u64; STEPS.len() + 1],
    errors: u64,
    micros: u64,
}

impl Metrics {
    /// A call ended.
    pub(crate) fn count(&self, name: Option<&QualifiedName>, ended: Ended, took: Duration) {
        if let Some(end) = self.ends.get(ended as usize) {
            end.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let mut by_tool = lock(&self.by_tool);
        let ByTool { known, unknown, other } = &mut *by_tool;
        let counted = match name {
            None => unknown,
            Some(name) if known.contains_key(name) || known.len() < MOST_TOOLS => {
                known.entry(name.clone()).or_default()
            }
            Some(_) => other,
        };
        let step = STEPS.partition_point(|end| *end < micros);
        if let Some(step) = counted.steps.get_mut(step) {
            *step += 1;
        }
        counted.micros = counted.micros.saturating_add(micros);
        counted.errors += u64::from(matches!(ended, Ended::Failed | Ended::ToolError | Ended::Refused));
    }

    /// The text that Prometheus reads.
    pub(crate) fn exposition(
        &self,
        health: &Health,
        servers: &[(String, bool)],
        agents: usize,
        approvals: u64,
    ) -> String {
        let mut text = String::new();
        let name = "mcp_server_operation_duration_seconds";
        let _ = writeln!(text, "# HELP {name} How long calls took.\n# TYPE {name} histogram");
        let by_tool = lock(&self.by_tool);
        let known = by_tool.known.iter().map(|(tool, counted)| (tool.to_string(), counted));
        let rest = [("_other".to_owned(), &by_tool.other), ("_unknown".to_owned(), &by_tool.unknown)];
        for (tool, counted) in known.chain(rest).filter(|(_, counted)| counted.steps.iter().any(|count| *count > 0)) {
            let labels = format!("mcp_method_name=\"tools/call\",gen_ai_tool_name=\"{}\"", label(&tool));
            let mut sum = 0;
            for (step, count) in counted.steps.iter().enumerate() {
                sum += count;
                let end = STEPS.get(step).map_or_else(|| "+Inf".to_owned(), |micros| seconds(*micros));
                let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{end}\"}} {sum}");
            }
            let _ = writeln!(text, "{name}_sum{{{labels}}} {}", seconds(counted.micros));
            let _ = writeln!(text, "{name}_count{{{labels}}} {sum}");
        }
        drop(by_tool);
        let _ = writeln!(text, "# HELP helve_calls_total Calls by how they ended.\n# TYPE helve_calls_total counter");
        for end in [Ended::Done, Ended::ToolError, Ended::Cached, Ended::Refused, Ended::Failed] {
            let count = self.ends.get(end as usize).map_or(0, |count| count.load(Ordering::Relaxed));
            let _ = writeln!(text, "helve_calls_total{{end=\"{}\"}} {count}", end.word());
        }
        let _ = writeln!(text, "# HELP helve_server_up Whether a server is connected.\n# TYPE helve_server_up gauge");
        for (server, is_up) in servers {
            let _ = writeln!(text, "helve_server_up{{server=\"{}\"}} {}", label(server), u8::from(*is_up));
        }
        for (name, kind, help, value) in [
            ("helve_agents", "gauge", "Sessions of agents.", agents as u64),
            ("helve_approvals_waiting", "gauge", "Calls that wait for a person.", approvals),
            ("helve_audit_queue", "gauge", "Calls that wait to be recorded.", health.waiting),
            ("helve_audit_recorded_total", "counter", "Calls that were recorded.", health.written),
            ("helve_audit_lost_total", "counter", "Calls that were not recorded.", health.lost),
        ] {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        }
        text
    }
}

fn seconds(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A label's value: what would end it is escaped.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_in_steps_and_labels_cannot_break_out() {
        let metrics = Metrics::default();
        metrics.count(None, Ended::Failed, Duration::from_micros(700));
        let health = Health { waiting: 1, written: 2, lost: 3, trouble: None, is_in_place: true };
        let text = metrics.exposition(&health, &[("a\"}\n".to_owned(), true)], 0, 4);
        assert!(text.contains("helve_approvals_waiting 4\n"), "{text}");
        assert!(text.contains("le=\"0.0005\"} 0\n") && text.contains("le=\"0.001\"} 1\n"), "{text}");
        assert!(text.contains("helve_audit_lost_total 3\n") && text.contains("{server=\"a\\\"}\\n\"} 1\n"), "{text}");
    }
}
