//! Owns the measures of the pure crates: no process, no server, only work that is done again and again.

mod decide;
mod lazy;
mod load;
mod search;
mod validate;

use std::time::Instant;

use anyhow::Result;

use crate::report::Line;

/// A measure's name and how to take it, with the number of rounds.
type Measure = (&'static str, fn(usize) -> Result<Vec<Line>>);

pub(crate) const MEASURES: &[Measure] = &[
    ("load", load::measure),
    ("decide", decide::measure),
    ("validate", validate::measure),
    ("lazy", lazy::measure),
    ("search", search::measure),
];

/// Work to be timed: how often in a row, and what.
struct Work<'a> {
    times: usize,
    once: &'a mut dyn FnMut(),
}

/// The seconds that one piece of each work takes, round by round, beginning with another work each time.
/// A row is short, so that most rows are not interrupted on a busy machine.
fn rounds<const N: usize>(rounds: usize, mut works: [Work<'_>; N]) -> [Vec<f64>; N] {
    let mut seconds: [Vec<f64>; N] = std::array::from_fn(|_| Vec::with_capacity(rounds));
    for work in &mut works {
        (0..work.times).for_each(|_| (work.once)());
    }
    for round in 0..rounds {
        for step in 0..N {
            let index = (round + step) % N;
            if let (Some(work), Some(seconds)) = (works.get_mut(index), seconds.get_mut(index)) {
                let start = Instant::now();
                (0..work.times).for_each(|_| (work.once)());
                seconds.push(start.elapsed().as_secs_f64() / work.times as f64);
            }
        }
    }
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measure_gives_lines() {
        for (name, measure) in MEASURES {
            let lines = measure(1).unwrap();
            assert!(!lines.is_empty(), "{name}");
            assert!(lines.iter().all(|line| line.value.is_some_and(f64::is_finite)), "{lines:?}");
        }
    }

    #[test]
    fn works_take_turns() {
        let order = std::cell::RefCell::new(String::new());
        let (mut one, mut two) = (|| order.borrow_mut().push('1'), || order.borrow_mut().push('2'));
        let [first, second] = rounds(3, [Work { times: 1, once: &mut one }, Work { times: 2, once: &mut two }]);
        assert_eq!((first.len(), second.len()), (3, 3));
        assert_eq!(order.into_inner(), "122122221122");
    }
}
