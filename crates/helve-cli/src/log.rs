//! Log lines of the libraries, on stderr, by target. Off unless asked for.

use std::str::FromStr as _;

use helve_setup::Environment;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::console::variable;
use crate::failure::Failure;
use crate::printer::{Printer, Verbosity};
use crate::redact::HidingStderr;

/// The crates whose lines `-v` is about.
const OWN_TARGET: &str = "helve";

/// Listens to what `HELVE_LOG` names, or to helve itself with `-v` and `-vv`.
pub(crate) fn start(env: &Environment, printer: &Printer) -> Result<(), Failure> {
    let filter = match (env.variable(variable::HELVE_LOG).filter(|filter| !filter.is_empty()), printer.verbosity) {
        (Some(filter), _) => Targets::from_str(filter).map_err(|error| {
            Failure::usage(format!("HELVE_LOG is not a log filter: {error}"))
                .hint("write targets with levels: HELVE_LOG=helve_wire=debug,helve=info")
        })?,
        (None, Verbosity::Verbose) => Targets::new().with_target(OWN_TARGET, LevelFilter::INFO),
        (None, Verbosity::Debug) => Targets::new().with_target(OWN_TARGET, LevelFilter::DEBUG),
        (None, Verbosity::Quiet | Verbosity::Normal) => return Ok(()),
    };
    let lines = fmt::layer()
        .with_writer(|| HidingStderr)
        // Colours would need a part of the library that is left out; asked for without it, it complains on stderr.
        .with_ansi(false)
        .with_timer(fmt::time::uptime());
    tracing_subscriber::registry().with(filter).with(lines).init();
    Ok(())
}
