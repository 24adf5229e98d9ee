//! The command line as clap sees it, and the spelling of times.

use std::time::Duration;

use clap::CommandFactory as _;

use super::{Cli, duration};

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn times() {
    for (text, milliseconds) in [("5s", 5_000), ("500ms", 500), ("2m", 120_000), ("1.5", 1_500), ("1h", 3_600_000)] {
        assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
    }
    for text in ["", "s", "5 s", "5d", "-1s", "0", "NaN", "inf", "1e400s"] {
        assert!(duration(text).is_err(), "{text}");
    }
}
