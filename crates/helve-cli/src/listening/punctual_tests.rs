//! A head that is late ends its connection; silence between requests does not (G3).

use std::sync::Arc;

use futures_util::FutureExt as _;
use helve::Host;
use helve_serve::face::http::{Guard, HttpFace};
use helve_serve::{Gateway, Options, Peer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

const WITHIN: Duration = Duration::from_secs(30);

#[tokio::test(start_paused = true)]
async fn g3_only_a_head_that_has_begun_can_be_late() {
    let host = Host::builder().start().await.unwrap();
    let face = Arc::new(HttpFace::new(Gateway::new(host.clone(), Options::default()), Guard::default()));
    let place = face.connected(Peer { connection: 1, user: None });
    let heads = Heads::new(&place);
    let is_late = async || tokio::time::timeout(Duration::from_secs(40), heads.late(WITHIN)).await.is_ok();
    assert!(is_late().await, "a connection that says nothing");

    heads.is_read();
    assert!(!is_late().await, "a connection between two requests");
    assert!(!is_late().await, "however long");

    let (near, mut far) = tokio::io::duplex(64);
    let mut noted = heads.noting(near);
    far.write_all(b"POST").await.unwrap();
    let mut buffer = [0; 8];
    assert_eq!(noted.read(&mut buffer).await.unwrap(), 4);
    assert!(heads.late(WITHIN).now_or_never().is_none());
    assert!(is_late().await, "one that begins and does not go on");
    host.shutdown().await;
}
