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

/// Before so much is done, nobody can say how long the rest takes.
const TELLING_PART: f64 = 0.02;

/// What was reported.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter {
    last: Arc<Mutex<Option<Reports>>>,
    is_shown: bool,
    turn: Arc<Mutex<()>>,
}

/// The last report, and the first: between them lies how fast it goes.
#[derive(Debug, Clone)]
struct Reports {
    first: (Instant, f64),
    last: (Instant, Progress),
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
            Arc::new(move |progress| {
                let (mut last, now) = (last.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
                let first = last.as_ref().map_or_else(|| (now, part(&progress).unwrap_or_default()), |last| last.first);
                *last = Some(Reports { first, last: (now, progress) });
            })
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
                    let left = last.as_ref().and_then(|reports| reports.left(Instant::now()));
                    let progress = last.as_ref().map(|reports| &reports.last.1);
                    write_talk(&format!("{CLEAR_LINE}{}", line(spinner, what, progress, left)));
                    frame += 1;
                    drawn.0 = true;
                }
            }
        }
    }
}

impl Reports {
    /// How long the rest takes at the speed so far; `None` while nobody can say.
    fn left(&self, now: Instant) -> Option<Duration> {
        let (done, begun) = (part(&self.last.1)?, self.first.1);
        let gained = done - begun;
        if gained < TELLING_PART || done >= 1.0 {
            return None;
        }
        let took = self.last.0.saturating_duration_since(self.first.0).as_secs_f64();
        let left = Duration::try_from_secs_f64(took / gained * (1.0 - done)).ok()?;
        Some(left.saturating_sub(now.saturating_duration_since(self.last.0)))
    }
}

/// How much of a known whole is done.
fn part(progress: &Progress) -> Option<f64> {
    let total = progress.total.filter(|total| *total > 0.0)?;
    Some((progress.progress / total).clamp(0.0, 1.0))
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

fn line(spinner: char, what: &str, progress: Option<&Progress>, left: Option<Duration>) -> String {
    let mut text = format!("{spinner} {}", text::one_line(what));
    let Some(progress) = progress else { return text };
    match part(progress) {
        Some(part) => {
            let full = (part * BAR as f64).round() as usize;
            let bar: String = (0..BAR).map(|index| if index < full { '=' } else { ' ' }).collect();
            text.push_str(&format!(" [{bar}] {:.0} %", part * 100.0));
        }
        None => text.push_str(&format!(" {}", progress.progress)),
    }
    if let Some(left) = left {
        text.push_str(&format!(", {} left", in_words(left)));
    }
    if let Some(message) = &progress.message {
        text.push(' ');
        text.push_str(&text::one_line(message));
    }
    text.chars().take(200).collect()
}

/// A time as people say it: the two largest units.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
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
        insta::assert_snapshot!(line('|', "files/index", None, None), @"| files/index");
        insta::assert_snapshot!(line('/', "files/index", Some(&report(3.0, Some(12.0), Some("c\u{1b}[2Jd"))), Some(Duration::from_millis(8_500))), @r"/ files/index [======                  ] 25 %, 9 s left c\u{1b}[2Jd");
        insta::assert_snapshot!(line('-', "files/index", Some(&report(7.0, None, None)), None), @"- files/index 7");
    }

    #[test]
    fn the_rest_takes_as_long_as_the_speed_so_far_says() {
        let begun = Instant::now();
        let after = |seconds: u64| begun + Duration::from_secs(seconds);
        let report = |progress: f64, total: Option<f64>| Progress {
            progress,
            total,
            message: None,
            raw: RawJson::empty_object(),
        };
        let reports = |last: (Instant, Progress)| Reports { first: (begun, 0.1), last };
        let left = |seconds: u64, now: u64, last: Progress| reports((after(seconds), last)).left(after(now));
        // Forty of a hundred in 20 s; the clock runs on between reports, and never below nothing.
        assert_eq!(left(20, 20, report(50.0, Some(100.0))), Some(Duration::from_secs(25)));
        assert_eq!(left(20, 30, report(50.0, Some(100.0))), Some(Duration::from_secs(15)));
        assert_eq!(left(20, 90, report(50.0, Some(100.0))), Some(Duration::ZERO));
        assert_eq!(left(20, 20, report(11.0, Some(100.0))), None);
        assert_eq!(left(20, 20, report(100.0, Some(100.0))), None);
        assert_eq!(left(20, 20, report(50.0, None)), None);
        assert_eq!(
            [9, 75, 3_700].map(|seconds| in_words(Duration::from_secs(seconds))),
            ["9 s", "1 min 15 s", "1 h 1 min"]
        );
    }
}
