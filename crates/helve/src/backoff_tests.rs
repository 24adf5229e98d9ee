//! How long a host waits, and how often it tries in a minute.

use std::time::Duration;

use super::{BASE, Backoff, CAP, GOOD_AFTER};

/// The middle of the jitter: waits as they stand in the table.
const MIDDLE: f64 = 0.5;

#[test]
fn waits_double_up_to_the_cap() {
    let mut backoff = Backoff::default();
    let waits: Vec<u128> = (0..10).map(|_| backoff.next(MIDDLE).as_millis()).collect();
    assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
}

#[test]
fn jitter_is_a_quarter_to_either_side() {
    assert_eq!(Backoff::default().next(0.0), BASE.mul_f64(0.75));
    assert_eq!(Backoff::default().next(1.0), BASE.mul_f64(1.25));
}

#[test]
fn only_a_connection_that_lasted_begins_anew() {
    let mut backoff = Backoff::default();
    for _ in 0..4 {
        backoff.next(MIDDLE);
    }
    assert!(!backoff.connected_for(GOOD_AFTER - Duration::from_millis(1)));
    assert_eq!(backoff.next(MIDDLE), Duration::from_secs(8));
    assert!(backoff.connected_for(GOOD_AFTER));
    assert_eq!(backoff.next(MIDDLE), BASE);
}

#[test]
fn years_of_failures_stay_at_the_cap() {
    let mut backoff = Backoff { failures: u32::MAX - 1 };
    for _ in 0..3 {
        assert_eq!(backoff.next(MIDDLE), CAP);
    }
    for failures in 0..100 {
        assert!(Backoff { failures }.next(MIDDLE) <= CAP);
    }
}

/// Most attempts within any minute of ten, when each connection ends after `lasting`.
fn most_in_a_minute(lasting: Duration, mut random: impl FnMut() -> f64) -> usize {
    let minute = Duration::from_secs(60);
    let mut backoff = Backoff::default();
    let mut attempts = Vec::new();
    let mut now = Duration::ZERO;
    while now < minute * 10 {
        attempts.push(now);
        now += lasting;
        backoff.connected_for(lasting);
        now += backoff.next(random());
    }
    let within = |start: &Duration| attempts.iter().filter(|at| (*start..*start + minute).contains(*at)).count();
    attempts.iter().map(within).max().unwrap()
}

#[test]
fn an_endpoint_that_closes_at_once_is_tried_at_most_twelve_times_a_minute() {
    for jitter in [0.0, 0.25, MIDDLE, 0.75, 1.0] {
        assert!(most_in_a_minute(Duration::ZERO, || jitter) <= 12, "jitter {jitter}");
    }
    for seed in 1..200_u64 {
        let mut state = seed;
        let random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        assert!(most_in_a_minute(Duration::ZERO, random) <= 12, "seed {seed}");
    }
    // The worst that can be: every connection lasts just long enough to count as good.
    assert!(most_in_a_minute(GOOD_AFTER, || 0.0) <= 12);
}
