//! `helve logs`: what a server logs, as it comes: its messages of the protocol, and its stderr where it is a program.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use helve::{Host, HostEvent};
use helve_model::json::RawJson;
use helve_setup::{Lifetime, Wanted};
use helve_wire::LogLevel;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::offer_requests::load_for_server;
use crate::printer::{Line, Style};
use crate::progress::Meter;
use crate::running::{Manner, with_host};
use crate::watching::log_json;

/// Between two looks at a server's stderr.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// As much of what was seen last as has to be found again, when older parts are gone.
const ANCHOR: usize = 256;

/// Print what a server logs, until Ctrl-C
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Servers of the newer protocol send log messages in the course of calls alone; of those, this shows their stderr.")]
pub(crate) struct Args {
    /// The server
    #[arg(value_name = "SERVER")]
    server: String,

    /// From which level on, debug to emergency
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = levels(), hide_possible_values = true)]
    level: LogLevel,

    /// End after so many lines
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

fn levels() -> impl TypedValueParser<Value = LogLevel> {
    PossibleValuesParser::new(LogLevel::ALL.map(LogLevel::as_str))
        .map(|word| LogLevel::from_word(&word).unwrap_or_default())
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<(), Failure> {
    let configuration = load_for_server(context, &args.server)?;
    let only = [args.server.clone()];
    let manner = Manner { lifetime: Lifetime::Long, ..Manner::default() };
    with_host(context, &configuration, Wanted::Only(&only), manner, async |host| follow(context, host, args).await)
}

async fn follow(context: &Context, host: &Host, args: &Args) -> Result<(), Failure> {
    let server = args.server.as_str();
    let mut events = host.changes();
    let setting = Box::pin(host.set_log_level(server, args.level));
    let mut stderr = Stderr::default();
    if let Err(error) = Meter::new(context).during(server, setting).await {
        let is_program = host.server_status(server).is_some_and(|report| report.transport == "stdio");
        let is_connected = host.server_status(server).is_some_and(|report| report.status.word() == "connected");
        if !(is_program && is_connected) {
            return Err(error.into());
        }
        context.printer.warning(format!("{}; its stderr is shown", error.chain()));
    }
    let mut left = args.count.unwrap_or(u64::MAX);
    // That it is connected by now is not news.
    while left > 0
        && let Some(event) = events.try_next()
    {
        if let HostEvent::Log { server: from, params } = event
            && from.as_str() == server
            && is_wanted(args.level, &params)
        {
            print_message(context, server, &params)?;
            left -= 1;
        }
    }
    let mut ticks = tokio::time::interval(LOOK_EVERY);
    while left > 0 {
        tokio::select! {
            event = events.next() => match event {
                Some(HostEvent::Log { server: from, params }) if from.as_str() == server => {
                    if is_wanted(args.level, &params) {
                        print_message(context, server, &params)?;
                        left -= 1;
                    }
                }
                Some(HostEvent::Status { server: from, status }) if from.as_str() == server => {
                    context.printer.say(&Line::styled(Style::Dim, format!("{server}: {status}")));
                }
                Some(HostEvent::Lost(count)) => {
                    context.printer.warning(format!("{count} events came too fast and are lost"));
                }
                Some(_) => {}
                None => return Ok(()),
            },
            _ = ticks.tick() => {
                let report = host.server_status(server);
                let text = report.and_then(|report| report.stderr).unwrap_or_default();
                for line in stderr.new_lines(&text) {
                    if left > 0 {
                        print_stderr(context, server, &line)?;
                        left -= 1;
                    }
                }
            }
        }
    }
    Ok(())
}

fn print_message(context: &Context, server: &str, params: &RawJson) -> Result<(), Failure> {
    let level = params.member_str("level").unwrap_or_else(|| "info".to_owned());
    let logger = params.member_str("logger");
    let data = params.member("data").unwrap_or_else(|| params.clone());
    if context.printer.is_json() {
        return context.printer.json_line(&log_json(server, &level, logger.as_deref(), &data));
    }
    let text = data.parse::<String>().unwrap_or_else(|_| data.as_str().to_owned());
    let style = match level.as_str() {
        "debug" | "info" => Style::Dim,
        "notice" => Style::Plain,
        "warning" => Style::Warning,
        _ => Style::Bad,
    };
    let from = logger.map(|logger| format!("{logger}: ")).unwrap_or_default();
    for line in text.lines() {
        let line = Line::styled(style, format!("{level:<9}")).then(Style::Plain, format!(" {from}{line}"));
        context.printer.line(&line)?;
    }
    Ok(())
}

fn print_stderr(context: &Context, server: &str, line: &str) -> Result<(), Failure> {
    if context.printer.is_json() {
        return context.printer.json_line(&json!({"server": server, "stderr": line}));
    }
    context.printer.line(&Line::styled(Style::Dim, format!("{:<9}", "stderr")).then(Style::Plain, format!(" {line}")))
}

/// What of a server's stderr was printed: the newest part is kept, older parts go.
#[derive(Debug, Default)]
struct Stderr {
    seen: String,
}

impl Stderr {
    /// The whole lines that are new. A line that is still being written waits for its end.
    fn new_lines(&mut self, newest: &str) -> Vec<String> {
        let whole = newest.rfind('\n').and_then(|end| newest.get(..=end)).unwrap_or_default();
        let start = self.seen.len().saturating_sub(ANCHOR);
        let start = (start..=self.seen.len()).find(|at| self.seen.is_char_boundary(*at)).unwrap_or(0);
        let anchor = self.seen.get(start..).unwrap_or_default();
        let fresh = match whole.strip_prefix(self.seen.as_str()) {
            Some(fresh) => fresh,
            None => whole.rfind(anchor).and_then(|at| whole.get(at + anchor.len()..)).unwrap_or(whole),
        };
        let lines = fresh.lines().map(ToOwned::to_owned).collect();
        self.seen = whole.to_owned();
        lines
    }
}

/// A server may send what nobody asked it for; what has no level that is known is shown.
fn is_wanted(from: LogLevel, params: &RawJson) -> bool {
    let level = params.member_str("level").and_then(|word| LogLevel::from_word(&word));
    level.is_none_or(|level| level >= from)
}

#[cfg(test)]
mod tests {
    use super::Stderr;

    #[test]
    fn every_line_of_stderr_is_printed_once() {
        let mut stderr = Stderr::default();
        assert!(stderr.new_lines("").is_empty());
        assert_eq!(stderr.new_lines("one\ntw"), ["one"]);
        assert_eq!(stderr.new_lines("one\ntwo\n"), ["two"]);
        assert!(stderr.new_lines("one\ntwo\n").is_empty());
        // The oldest lines are gone, and a new one has come.
        let long: String = (0..100).map(|number| format!("line {number}\n")).collect();
        assert_eq!(stderr.new_lines(&long).len(), 100);
        let newer: String = (50..101).map(|number| format!("line {number}\n")).collect();
        assert_eq!(stderr.new_lines(&newer), ["line 100"]);
        // Another process writes.
        assert_eq!(stderr.new_lines("fresh\n"), ["fresh"]);
    }
}
