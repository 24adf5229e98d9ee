//! That something is going on: a spinner, or a bar once the server says how far it is. On a terminal only.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use helve_model::text;
use helve_wire::{Progress, ProgressCallback};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::context::Context;
use crate::printer::{CLEAR_LINE, Verbosity, write_talk};

/// What is over before this is not worth a spinner.
const SILENT_FOR: Duration = Duration::from_millis(400);
const EVERY: Duration = Duration::from_millis(100);
const FRAMES: [char; 4] = ['|', '/', '-', '\\'];
const BAR: usize = 24;

/// The last report.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter {
    last: Arc<Mutex<Option<Progress>>>,
    is_shown: bool,
    turn: Arc<Mutex<()>>,
}

impl Meter {
    pub(crate) fn new(context: &Context) -> Self {
        let is_shown = context.console.stderr_is_terminal
            && !context.printer.is_json()
            && context.printer.verbosity > Verbosity::Quiet;
        Self { last: Arc::default(), is_shown, turn: Arc::clone(&context.turn) }
    }

    /// For the call whose progress is shown.
    pub(crate) fn callback(&self) -> Option<ProgressCallback> {
        let last = Arc::clone(&self.last);
        self.is_shown.then(|| -> ProgressCallback {
            Arc::new(move |progress| *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress))
        })
    }

    /// Waits for `work`, showing that something is going on.
    pub(crate) async fn during<T>(&self, what: &str, work: impl Future<Output = T>) -> T {
        if !self.is_shown {
            return work.await;
        }
        let mut ticks = interval_at(Instant::now() + SILENT_FOR, EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut frame = 0;
        // However this ends: an interrupted future is only dropped.
        let mut drawn = Drawn(false);
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                result = &mut work => return result,
                _ = ticks.tick() => {
                    // Nobody draws over a question.
                    let Ok(_turn) = self.turn.try_lock() else { continue };
                    let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    let spinner = FRAMES[frame % FRAMES.len()];
                    write_talk(&format!("{CLEAR_LINE}{}", line(spinner, what, last.as_ref())));
                    frame += 1;
                    drawn.0 = true;
                }
            }
        }
    }
}

/// The line of a spinner, which does not stay. True when there is one.
struct Drawn(bool);

impl Drop for Drawn {
    fn drop(&mut self) {
        if self.0 {
            write_talk(CLEAR_LINE);
        }
    }
}

fn line(spinner: char, what: &str, progress: Option<&Progress>) -> String {
    let mut text = format!("{spinner} {}", text::one_line(what));
    let Some(progress) = progress else { return text };
    match progress.total {
        Some(total) if total > 0.0 => {
            let part = (progress.progress / total).clamp(0.0, 1.0);
            let full = (part * BAR as f64).round() as usize;
            let bar: String = (0..BAR).map(|index| if index < full { '=' } else { ' ' }).collect();
            text.push_str(&format!(" [{bar}] {:.0} %", part * 100.0));
        }
        _ => text.push_str(&format!(" {}", progress.progress)),
    }
    if let Some(message) = &progress.message {
        text.push(' ');
        text.push_str(&text::one_line(message));
    }
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use helve_model::json::RawJson;

    use super::*;

    #[test]
    fn a_bar_a_number_or_only_a_spinner() {
        let report = |progress: f64, total: Option<f64>, message: Option<&str>| Progress {
            progress,
            total,
            message: message.map(ToOwned::to_owned),
            raw: RawJson::empty_object(),
        };
        insta::assert_snapshot!(line('|', "files/index", None), @"| files/index");
        insta::assert_snapshot!(line('/', "files/index", Some(&report(3.0, Some(12.0), Some("c\u{1b}[2Jd")))), @r"/ files/index [======                  ] 25 % c\u{1b}[2Jd");
        insta::assert_snapshot!(line('-', "files/index", Some(&report(7.0, None, None))), @"- files/index 7");
    }
}
