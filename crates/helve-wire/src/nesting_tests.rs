//! Two hosts in a circle count up until one of them is refused, and stay there.

use std::time::Duration;

use super::{Nesting, REMEMBERED};

#[tokio::test(start_paused = true)]
async fn s0_two_that_ask_each_other_are_cut_in_one_place() {
    let (left, right) = (Nesting::default(), Nesting::default());
    let mut answered = Vec::new();
    for _ in 0..6 {
        answered.push((right.hears(left.below()), left.hears(right.below())));
    }
    assert_eq!(answered, [(true, true), (true, false), (true, false), (true, false), (true, false), (true, false)]);
    // It stays cut for as long as they try.
    for _ in 0..10 {
        tokio::time::advance(REMEMBERED / 2).await;
        assert!(right.hears(left.below()) && !left.hears(right.below()));
    }
}

#[tokio::test(start_paused = true)]
async fn s0_a_circle_that_was_opened_is_forgotten() {
    let host = Nesting::new(1, "");
    assert_eq!(host.below(), 2);
    assert!(host.hears(3));
    assert_eq!(host.below(), 4);
    // A request from nearer does not lower the count of one from farther.
    assert!(host.hears(1));
    assert_eq!(host.below(), 4);
    tokio::time::advance(REMEMBERED + Duration::from_secs(1)).await;
    assert_eq!(host.below(), 2);
    assert!(!host.hears(4) && !host.hears(u32::MAX));
    assert_eq!(host.below(), 2);
    assert_eq!(Nesting::new(u32::MAX, "").below(), u32::MAX);
}

#[test]
fn s0_a_host_knows_the_servers_it_was_started_through() {
    let first = Nesting::default();
    assert!(!first.came_through(["wrapper"]));
    let [depth, trail] = first.variables(["wrapper", "a b"]);
    assert_eq!((depth.0, depth.1.as_str(), trail.0), ("HELVE_DEPTH", "1", "HELVE_TRAIL"));
    let second = Nesting::new(1, &trail.1);
    assert!(second.came_through(["wrapper", "a b"]));
    assert!(!second.came_through(["wrapper", "a", "b"]) && !second.came_through(["other"]));
    let [_, longer] = second.variables(["other"]);
    let third = Nesting::new(2, &longer.1);
    assert!(third.came_through(["wrapper", "a b"]) && third.came_through(["other"]));
    assert!(!Nesting::new(0, "x,,-1,99999999999999999999").came_through(["wrapper"]));
    assert_eq!(Nesting::new(0, &"1,".repeat(100_000)).variables(["x"])[1].1.len(), 9 * 16 + 8);
}
