//! The listener, as browsers and strangers meet it.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

async fn asked(reception: &Reception, request: &str) -> String {
    let mut stream = TcpStream::connect(&reception.host).await.unwrap();
    stream.write_all(request.replace("HOST", &reception.host).as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn only_the_right_state_ends_the_wait() {
    let reception = Reception::open(&Callback::default(), None).await.unwrap();
    let is_mine = |answer: &RedirectAnswer| answer.state.as_deref() == Some("right");
    let strangers = async {
        let table = [
            ("GET /favicon.ico HTTP/1.1\r\nHost: HOST\r\n\r\n", "HTTP/1.1 404 Not Found"),
            ("GET /callback?code=c&state=wrong HTTP/1.1\r\nHost: HOST\r\n\r\n", "HTTP/1.1 400 Bad Request"),
            ("GET /callback HTTP/1.1\r\nHost: HOST\r\n\r\n", "HTTP/1.1 400 Bad Request"),
            ("GET /callback?state=right&state=right HTTP/1.1\r\nHost: HOST\r\n\r\n", "HTTP/1.1 400 Bad Request"),
            ("POST /callback?code=c&state=right HTTP/1.1\r\nHost: HOST\r\n\r\n", "HTTP/1.1 405 Method Not Allowed"),
            (
                "GET /callback?code=c&state=right HTTP/1.1\r\nHost: evil.example\r\n\r\n",
                "HTTP/1.1 421 Misdirected Request",
            ),
            ("GET /callback?code=c&state=right HTTP/1.1\r\n\r\n", "HTTP/1.1 421 Misdirected Request"),
        ];
        for (request, expected) in table {
            assert_eq!(asked(&reception, request).await, expected, "{request}");
        }
        for _ in 0..1_000 {
            let request = "GET /callback?code=c&state=guess HTTP/1.1\r\nHost: HOST\r\n\r\n";
            assert_eq!(asked(&reception, request).await, "HTTP/1.1 400 Bad Request");
        }
        asked(&reception, "GET /callback?code=yes&state=right HTTP/1.1\r\nHost: HOST\r\n\r\n").await
    };
    let both = async { tokio::join!(reception.wait(is_mine), strangers) };
    let (answer, page) = timeout(PATIENCE, both).await.unwrap();
    assert_eq!(answer.code.as_deref(), Some("yes"));
    assert_eq!(page, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn connections_that_say_nothing_keep_nobody_out() {
    let reception = Reception::open(&Callback::default(), None).await.unwrap();
    let browser = async {
        let mut silent = Vec::new();
        for _ in 0..CONNECTIONS * 3 {
            silent.push(TcpStream::connect(&reception.host).await.unwrap());
        }
        let page = asked(&reception, "GET /callback?code=yes&state=s HTTP/1.1\r\nHost: HOST\r\n\r\n").await;
        drop(silent);
        page
    };
    let both = async { tokio::join!(reception.wait(|answer| answer.state.is_some()), browser) };
    let (_, page) = timeout(PATIENCE, both).await.unwrap();
    assert_eq!(page, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn the_port_is_closed_afterwards() {
    let reception = Reception::open(&Callback::default(), None).await.unwrap();
    let host = reception.host.clone();
    drop(reception);
    assert!(TcpStream::connect(&host).await.is_err());
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let first = Reception::open(&Callback::default(), None).await.unwrap();
    let port = port_of(&first.redirect).unwrap();
    let callback = Callback { port: Some(port), ..Callback::default() };
    let error = Reception::open(&callback, None).await.unwrap_err();
    assert_eq!(error.advice(), Some(&Advice::FreePort { port }));
}
