//! Streamable HTTP over TLS: who is trusted, and what a person reads when nobody is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::tests::{Client, Era, shown};
use super::*;
use crate::transport::http::fake::{json, read_request, result};
use crate::transport::http::proxy::Proxies;

struct TlsServer {
    url: String,
    certificate: Vec<u8>,
    connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

/// A server for `localhost` whose certificate nobody has signed but itself.
async fn serve() -> TlsServer {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned(), "server.test".to_owned()]).unwrap();
    let certificate = own.cert.der().clone();
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port());
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // A client that does not trust us hangs up.
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            count.fetch_add(1, Ordering::SeqCst);
            let mut buffer = Vec::new();
            while let Some(seen) = read_request(&mut stream, &mut buffer).await {
                stream.write_all(json(&result(seen.id())).as_bytes()).await.unwrap();
                stream.flush().await.unwrap();
            }
        }
    });
    TlsServer { url, certificate: certificate.to_vec(), connections, _tasks: tasks }
}

#[tokio::test]
async fn a_certificate_that_was_added_is_trusted() {
    let server = serve().await;
    let target = HttpTarget::new(&server.url).unwrap().with_root_certificate(server.certificate.clone());
    let client = Client::with(target, Era::Modern, &Limits::default());
    for _ in 0..100 {
        client.call().await.unwrap();
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn any_other_certificate_is_not() {
    let server = serve().await;
    let error = Client::new(&server.url, Era::Modern).call().await.unwrap_err();
    let origin = server.url.trim_end_matches("/mcp");
    insta::assert_snapshot!(shown(&error).replace(origin, "https://here"), @"
    TRANSPORT_ERROR (did not run): cannot connect to https://here: TLS failed: invalid peer certificate: UnknownIssuer
    check the server's certificate, or add the authority that signed it
    ");
    let other_name = server.url.replace("localhost", "127.0.0.1");
    let target = HttpTarget::new(&other_name).unwrap().with_root_certificate(server.certificate.clone());
    let error = Client::with(target, Era::Modern, &Limits::default()).call().await.unwrap_err();
    assert!(error.message().contains("TLS failed"), "{error}");
    assert!(!error.may_have_run());
}

#[tokio::test]
async fn a_certificate_that_is_none() {
    let target = HttpTarget::new("https://localhost/").unwrap().with_root_certificate(b"nonsense".to_vec());
    let dispatcher = Arc::new(Dispatcher::new(Arc::new(crate::NoHandler), &Limits::default()));
    let error = StreamableLink::new(target, dispatcher, &Limits::default()).unwrap_err();
    insta::assert_snapshot!(format!("{}: {error}", error.code()), @"CONFIG: a root certificate cannot be read");
}

#[tokio::test]
async fn a_server_that_speaks_no_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let plain = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        stream
    };
    let client = Client::new(&url, Era::Modern);
    let (answer, _stream) = tokio::join!(client.call(), plain);
    let origin = url.trim_end_matches('/');
    insta::assert_snapshot!(shown(&answer.unwrap_err()).replace(origin, "https://here"), @"
    TRANSPORT_ERROR (did not run): cannot connect to https://here: TLS failed: received corrupt message of type InvalidContentType
    check the server's certificate, or add the authority that signed it
    ");
}

/// A proxy that connects everybody to the same port of this machine, whatever they ask for, and remembers what that was.
async fn proxy(port: u16) -> (String, Arc<std::sync::Mutex<Vec<String>>>, JoinSet<()>) {
    use tokio::io::{AsyncReadExt as _, copy_bidirectional};
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://person:pass@{}", listener.local_addr().unwrap());
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (remembered, mut tasks) = (Arc::clone(&asked), JoinSet::new());
    tasks.spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            remembered.lock().unwrap().push(head.clone());
            let mut server = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            if head.starts_with("CONNECT") {
                stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
            } else {
                server.write_all(head.as_bytes()).await.unwrap();
            }
            drop(copy_bidirectional(&mut stream, &mut server).await);
        }
    });
    (address, asked, tasks)
}

fn port_of(url: &str) -> u16 {
    url::Url::parse(url).unwrap().port().unwrap()
}

#[tokio::test]
async fn a_proxy_sees_bytes_of_an_encrypted_server_and_is_told_who_asks() {
    let server = serve().await;
    let (address, asked, _tasks) = proxy(port_of(&server.url)).await;
    let proxies = Proxies::new(None, Some(&address), Some("other.test"));
    let target = |host: &str| {
        let url = server.url.replace("localhost", host);
        HttpTarget::new(&url).unwrap().with_root_certificate(server.certificate.clone()).with_proxies(proxies.clone())
    };
    let client = Client::with(target("server.test"), Era::Modern, &Limits::default());
    client.call().await.unwrap();
    let head = asked.lock().unwrap().join("").to_lowercase();
    assert!(head.starts_with("connect server.test:") && head.contains("proxy-authorization: basic"), "{head}");
    // The server has time for one connection.
    drop(client);
    // This machine's own servers, and those that were left out, are reached straight.
    Client::with(target("localhost"), Era::Modern, &Limits::default()).call().await.unwrap();
    let error = Client::with(target("other.test"), Era::Modern, &Limits::default()).call().await.unwrap_err();
    assert!(!error.message().contains("proxy"), "{error}");
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_proxy_is_told_where_an_open_server_is() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = Vec::new();
        while let Some(seen) = read_request(&mut stream, &mut buffer).await {
            stream.write_all(json(&result(seen.id())).as_bytes()).await.unwrap();
        }
    });
    let (address, asked, _tasks) = proxy(port).await;
    let target = HttpTarget::new("http://server.test/mcp?key=1").unwrap();
    let target = target.with_proxies(Proxies::new(Some(&address), None, None));
    Client::with(target, Era::Modern, &Limits::default()).call().await.unwrap();
    let head = asked.lock().unwrap().join("");
    assert!(head.starts_with("POST http://server.test/mcp?key=1 HTTP/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn a_proxy_that_is_away_is_named_and_one_of_another_kind_is_refused() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let target = |proxy: String| {
        HttpTarget::new("https://server.test/").unwrap().with_proxies(Proxies::new(None, Some(&proxy), None))
    };
    let error =
        Client::with(target(format!("http://{address}")), Era::Modern, &Limits::default()).call().await.unwrap_err();
    insta::assert_snapshot!(shown(&error).replace(&address.to_string(), "proxy:3128"), @"
    TRANSPORT_ERROR (did not run): cannot connect to https://server.test through the proxy proxy:3128: connection refused
    check the server's address, and that the server runs
    ");
    let dispatcher = Arc::new(Dispatcher::new(Arc::new(crate::NoHandler), &Limits::default()));
    let error =
        StreamableLink::new(target("socks5://proxy:1080".to_owned()), dispatcher, &Limits::default()).unwrap_err();
    insta::assert_snapshot!(
        format!("{}: {error}", error.code()),
        @"CONFIG: the proxy proxy:1080 is one for `socks5:`, which is not spoken here"
    );
}
