//! Moments and calls as people read them.

use helve_page::view::{CallEnd, CallRow, Moment as Shown, Verdict};
use helve_store::{Call, Decided, Ended, Moment};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A moment as said now.
pub(crate) fn moment(at: Moment, now: Moment) -> Shown {
    let stamp = jiff::Timestamp::from_microsecond(at.micros()).unwrap_or_default();
    let said = if at > now {
        format!("in {}", span(at.since(now).as_secs()))
    } else {
        match now.since(at).as_secs() {
            0 => "now".to_owned(),
            seconds => format!("{} ago", span(seconds)),
        }
    };
    Shown { iso: stamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(), said }
}

/// So many seconds, in the unit that says it.
pub(crate) fn span(seconds: u64) -> String {
    match seconds {
        0..MINUTE => format!("{seconds} s"),
        MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        HOUR..DAY => format!("{} h", seconds / HOUR),
        _ => format!("{} d", seconds / DAY),
    }
}

/// So many bytes.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..1_024 => format!("{count} B"),
        1_024..1_048_576 => format!("{} KB", count >> 10),
        1_048_576..1_073_741_824 => format!("{} MB", count >> 20),
        _ => format!("{}.{} GB", count >> 30, ((count & ((1 << 30) - 1)) * 10) >> 30),
    }
}

/// One call of a list.
pub(crate) fn row(call: &Call, now: Moment) -> CallRow {
    let kept = &call.call;
    let tool = kept.tool.as_deref().and_then(|tool| tool.split_once('/')).map(|(_, tool)| tool.to_owned());
    CallRow {
        id: call.seq.to_string(),
        at: moment(kept.at, now),
        who: kept.principal.strip_prefix("token:").unwrap_or(&kept.principal).to_owned(),
        agent: kept.agent.clone().unwrap_or_default(),
        server: kept.server.clone().unwrap_or_default(),
        tool: tool.or_else(|| kept.asked.clone()).unwrap_or_default(),
        verdict: verdict(kept.decision),
        end: match kept.ended {
            Ended::Done | Ended::Cached => CallEnd::Answered,
            Ended::ToolError => CallEnd::ToolError,
            Ended::Refused => CallEnd::Refused,
            Ended::Failed if kept.code.as_deref() == Some("CANCELLED") => CallEnd::Cancelled,
            Ended::Failed => CallEnd::Failed,
        },
        code: kept.code.clone().unwrap_or_default(),
        took_us: kept.took,
        bytes_out: kept.bytes_out,
    }
}

pub(crate) const fn verdict(decided: Decided) -> Verdict {
    match decided {
        Decided::Allow => Verdict::Allow,
        Decided::Ask => Verdict::Ask,
        Decided::Deny => Verdict::Deny,
        Decided::Not => Verdict::Undecided,
    }
}
