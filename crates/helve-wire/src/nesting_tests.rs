//! A host in a circle hears of itself, and nobody else can make it be refused.

use std::time::Duration;

use super::{HOST_DIGITS, MAX_TRAIL, Nesting, REMEMBERED};

/// Does the one answer the other?
fn asks(one: &Nesting, other: &Nesting) -> bool {
    other.hears(one.below(), &one.trail())
}

#[tokio::test(start_paused = true)]
async fn s0_hosts_that_ask_each_other_are_cut_in_one_place() {
    let hosts = [Nesting::default(), Nesting::default(), Nesting::default()];
    let [first, second, third] = &hosts;
    assert!(asks(first, second) && asks(second, third));
    // It stays cut for as long as they try.
    for _ in 0..10 {
        assert!(!asks(third, first));
        tokio::time::advance(REMEMBERED / 2).await;
        assert!(asks(first, second) && asks(second, third));
    }
    // When the circle was opened, it is forgotten.
    tokio::time::advance(REMEMBERED + Duration::from_secs(1)).await;
    assert!(asks(third, first));
}

/// S21: what an agent that was let in says of its request can get that request refused, and nothing else.
#[tokio::test(start_paused = true)]
async fn s21_a_false_header_costs_its_own_request_alone() {
    let (gateway, upstream) = (Nesting::default(), Nesting::default());
    let before = gateway.below();
    assert!(!gateway.hears(4, "") && !gateway.hears(u32::MAX, ""));
    for depth in 0..=3 {
        assert!(gateway.hears(depth, &"0123456789abcdef0123456789abcdef,".repeat(100_000)));
        assert!(gateway.hears(depth, "x,,-1,99999999999999999999,é"));
    }
    assert_eq!(gateway.below(), before);
    assert!(asks(&gateway, &upstream));
    // However many hosts are made up, the trail stays short and ends with the one that asks.
    for made_up in 0..1_000_u128 {
        assert!(gateway.hears(1, &format!("{made_up:032x}")));
    }
    assert_eq!(gateway.trail().split(',').count(), MAX_TRAIL + 1);
    assert!(asks(&gateway, &upstream) && !asks(&upstream, &gateway));
}

#[test]
fn s0_a_host_knows_the_servers_and_hosts_it_was_started_through() {
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
    // A program that asks over HTTP whoever started it leads back there.
    assert!(!asks(&third, &first) && !asks(&third, &second) && !asks(&second, &first));
    assert!(!Nesting::new(0, "x,,-1,99999999999999999999").came_through(["wrapper"]));
    let many = Nesting::new(0, &"0000000000000001,00000000000000000000000000000001,".repeat(100_000));
    assert_eq!(many.variables(["x"])[1].1.len(), 2 * 17 + 2 * HOST_DIGITS + 1);
    assert_eq!(Nesting::new(u32::MAX, "").below(), u32::MAX);
}
