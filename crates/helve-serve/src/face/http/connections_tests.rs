//! Which connection makes room for which.

use futures_util::FutureExt as _;

use super::*;

fn is_open(connection: &Connection) -> bool {
    connection.has_to_leave().now_or_never().is_none()
}

#[tokio::test(start_paused = true)]
async fn s8_connections_that_ask_nothing_make_room() {
    let connections = Arc::new(Connections::new(8));
    let asked = connections.add(1);
    drop(connections.ask(1, &Principal::token(1)).unwrap());
    let silent: Vec<Connection> = (2..=100).map(|number| connections.add(number)).collect();
    assert_eq!(lock(&connections.open).places.len(), 8);
    assert!(is_open(&asked) && !is_open(&silent[0]) && is_open(silent.last().unwrap()));
    drop((asked, silent));
    assert!(lock(&connections.open).places.is_empty() && lock(&connections.open).of.is_empty());
}

#[tokio::test(start_paused = true)]
async fn s8_a_principal_makes_room_for_itself() {
    let connections = Arc::new(Connections::new(8));
    let quiet = connections.add(1);
    drop(connections.ask(1, &Principal::token(1)).unwrap());
    // Idle ones go, the one idle longest first.
    let mut theirs = Vec::new();
    for number in 10..60 {
        theirs.push(connections.add(number));
        drop(connections.ask(number, &Principal::token(2)).unwrap());
        tokio::time::advance(std::time::Duration::from_millis(1)).await;
    }
    let open = theirs.iter().filter(|connection| is_open(connection)).count();
    assert!(is_open(&quiet) && open <= 4, "{open}");
    // Busy ones stay, and the next is refused.
    drop(theirs);
    let mut busy = Vec::new();
    let refused = (100..110).find_map(|number| {
        busy.push((connections.add(number), connections.ask(number, &Principal::token(2)).ok()));
        busy.last().is_some_and(|(_, asks)| asks.is_none()).then_some(busy.len())
    });
    assert_eq!(refused, Some(4));
    let another = connections.add(200);
    assert!(connections.ask(200, &Principal::token(3)).is_ok());
    assert!(is_open(&quiet) && is_open(&another));
}
