//! Owners do not notice each other, whatever they keep.

use std::collections::HashMap;

use helve_model::{Owner, Principal, ServerName};
use proptest::prelude::*;
use tokio::time::advance;

use super::*;

const HOUR: Duration = Duration::from_secs(3_600);

fn owner(principal: usize, server: usize) -> Owner {
    Owner::new(Principal::token(principal), ServerName::new(format!("server{server}")).unwrap())
}

fn three() -> OwnerStore<u64> {
    OwnerStore::new(Bounds { entries: 3, bytes: 1_000, time: HOUR })
}

#[test]
fn an_owner_loses_only_its_own_and_the_longest_unused_first() {
    let owned = three();
    let (ours, theirs) = (owner(0, 0), owner(1, 0));
    for (number, name) in ["a", "b", "c"].iter().enumerate() {
        owned.keep(&ours, name, number as u64, 0);
    }
    for number in 0..10_000 {
        owned.keep(&theirs, &format!("n{number}"), number, 0);
    }
    assert_eq!(owned.get(&ours, "a"), Some(0));
    assert!(owned.has(&ours, "b") && !owned.has(&theirs, "b"), "looking at it does not use it");
    owned.keep(&ours, "d", 3, 0);
    assert_eq!(["a", "b", "c", "d"].map(|name| owned.get(&ours, name)), [Some(0), None, Some(2), Some(3)]);
    assert_eq!(owned.entries(), 6);
}

#[test]
fn a_name_that_is_kept_again_and_again_is_one() {
    let owned = three();
    let ours = owner(0, 0);
    owned.keep(&ours, "a", 1, 0);
    owned.keep(&ours, "b", 2, 0);
    for _ in 0..5_000 {
        owned.keep(&ours, "a", 3, 0);
    }
    assert_eq!((owned.get(&ours, "a"), owned.get(&ours, "b")), (Some(1), Some(2)));
}

#[test]
fn bytes_are_bounded_by_owner() {
    let owned = three();
    let ours = owner(0, 0);
    owned.keep(&ours, "small", 1, 10);
    owned.keep(&ours, "too large", 2, 1_000);
    assert_eq!((owned.get(&ours, "small"), owned.get(&ours, "too large")), (Some(1), None));
    owned.keep(&ours, "large", 3, 990);
    assert_eq!((owned.get(&ours, "small"), owned.get(&ours, "large")), (None, Some(3)));
    assert_eq!(owned.find(&ours.principal, "large"), Some((ours.server, 3)));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_used_is_forgotten() {
    let owned = three();
    let ours = owner(0, 0);
    owned.keep(&ours, "a", 1, 0);
    owned.keep(&ours, "b", 2, 0);
    advance(HOUR - Duration::from_secs(1)).await;
    assert_eq!(owned.get(&ours, "a"), Some(1));
    advance(Duration::from_secs(2)).await;
    assert_eq!((owned.get(&ours, "a"), owned.get(&ours, "b")), (Some(1), None));
    advance(HOUR + Duration::from_secs(1)).await;
    owned.sweep();
    assert_eq!(owned.entries(), 0);
}

proptest! {
    /// Each owner against a store of its own: whatever the others do, it finds the same.
    #[test]
    fn owners_do_not_notice_each_other(steps in prop::collection::vec((0..2_usize, 0..3_usize, 0..6_u8, any::<bool>(), 0..400_usize), 1..200)) {
        let together = three();
        let mut alone: HashMap<Owner, OwnerStore<u64>> = HashMap::new();
        for (number, (principal, server, name, keeps, bytes)) in steps.into_iter().enumerate() {
            let (owner, name) = (owner(principal, server), name.to_string());
            let own = alone.entry(owner.clone()).or_insert_with(three);
            if keeps {
                together.keep(&owner, &name, number as u64, bytes);
                own.keep(&owner, &name, number as u64, bytes);
            }
            prop_assert_eq!(together.get(&owner, &name), own.get(&owner, &name));
        }
    }

    /// Of several servers with one name the first has it, for as long as it claims it.
    #[test]
    fn the_first_server_of_a_name_stays(servers in prop::collection::vec(0..3_usize, 1..20)) {
        let owned = three();
        for server in &servers {
            owned.keep(&owner(0, *server), "shared", *server as u64, 0);
        }
        let (found, value) = owned.find(&Principal::token(0), "shared").unwrap();
        prop_assert_eq!(value as usize, servers[0]);
        prop_assert_eq!(found, owner(0, servers[0]).server);
        prop_assert_eq!(owned.find(&Principal::token(1), "shared"), None);
    }
}
