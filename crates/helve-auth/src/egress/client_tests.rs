//! Every spelling of a place inside, as every endpoint that a login asks, and names whose addresses change between two looks:
//! nobody is ever connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};

use http::StatusCode;
use secrecy::SecretString;
use tokio::net::TcpListener;

use super::*;
use crate::egress::policy::spellings_tests::spellings;

const PURPOSES: [Purpose; 7] = [
    Purpose::Notice,
    Purpose::ResourceMetadata,
    Purpose::ServerMetadata,
    Purpose::Registration,
    Purpose::Token,
    Purpose::Revocation,
    Purpose::Device,
];

/// Never the same address twice, and never one that may be asked.
#[derive(Default)]
struct Rebinding {
    asked: AtomicUsize,
}

impl Resolve for Rebinding {
    fn resolve(&self, _name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        const INSIDE: [IpAddr; 7] = [
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
            IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0x7f00, 1)),
            IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1)),
            IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        ];
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        let address = INSIDE.iter().cycle().nth(number % INSIDE.len()).copied();
        Box::pin(std::future::ready(Ok(address.into_iter().collect())))
    }
}

fn request(purpose: Purpose, url: Url) -> HttpRequest {
    let body = match purpose {
        Purpose::ResourceMetadata | Purpose::ServerMetadata => None,
        Purpose::Registration | Purpose::Notice => Some(Body::Json("{}".to_owned())),
        Purpose::Token | Purpose::Revocation | Purpose::Device => Some(Body::Form(SecretString::from("token=secret"))),
    };
    HttpRequest { purpose, url, headers: Vec::new(), body }
}

fn client(resolver: Arc<Rebinding>) -> EgressClient {
    let policy = Policy::for_server(&Url::parse("https://mcp.example.com/mcp").unwrap());
    EgressClient::with_resolver(policy, Certificates::default(), None, resolver).unwrap()
}

#[tokio::test]
async fn no_spelling_of_a_place_inside_is_connected_to_by_any_endpoint() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let client = client(Arc::default());
    let mut tried = 0;
    for spelling in spellings() {
        let Ok(mut url) = Url::parse(&spelling) else { continue };
        // Where somebody listens: a connection would be seen.
        let _: Result<(), ()> = url.set_port(Some(port));
        for purpose in PURPOSES {
            let error = client.send(request(purpose, url.clone())).await.unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::EgressDenied, "{purpose} at {url}");
            tried += 1;
        }
    }
    assert!(tried >= 1_500, "{tried}");
    assert!(connected(&listener).await.is_none(), "somebody was connected to");
}

#[tokio::test]
async fn a_name_that_leads_inside_is_connected_to_by_no_endpoint() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let resolver = Arc::new(Rebinding::default());
    let client = client(Arc::clone(&resolver));
    for number in 0..70 {
        for purpose in PURPOSES {
            let url = Url::parse(&format!("https://rebound-{number}.example.com:{port}/x")).unwrap();
            let error = client.send(request(purpose, url)).await.unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::EgressDenied, "{error}");
        }
    }
    assert_eq!(
        resolver.asked.load(Ordering::SeqCst),
        70 * PURPOSES.len(),
        "each was looked up once, and that look counted"
    );
    assert!(connected(&listener).await.is_none(), "somebody was connected to");
}

#[test]
fn no_redirect_leads_to_a_spelling_of_a_place_inside() {
    let from = Url::parse("https://auth.example.com/.well-known/oauth-authorization-server").unwrap();
    for spelling in spellings() {
        let Ok(location) = HeaderValue::from_str(&spelling) else { continue };
        let headers = [(LOCATION, location)].into_iter().collect();
        let answer = HttpAnswer { status: StatusCode::FOUND, headers, body: Bytes::new() };
        for purpose in PURPOSES {
            let to = redirected(&request(purpose, from.clone()), &from, &answer);
            assert!(to.is_err() || to.unwrap().origin() == from.origin(), "{purpose} to {spelling}");
        }
    }
}

/// A connection that came in, if one did.
async fn connected(listener: &TcpListener) -> Option<()> {
    let soon = std::time::Duration::from_millis(50);
    tokio::time::timeout(soon, listener.accept()).await.ok().map(|_| ())
}
