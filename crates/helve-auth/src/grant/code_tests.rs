//! The checks on what comes back: the table of RFC 9207, and PKCE.

use super::*;
use crate::client::{AuthMethod, ClientOrigin};

fn found(names_itself: bool, pkce: Pkce) -> Found {
    let url = |path: &str| Url::parse(&format!("https://as.example{path}")).unwrap();
    Found {
        server: AuthorizationServer {
            issuer: "https://as.example".to_owned(),
            authorization_endpoint: Some(url("/authorize?tenant=1")),
            token_endpoint: url("/token"),
            registration_endpoint: None,
            revocation_endpoint: None,
            device_endpoint: None,
            scopes: None,
            auth_methods: None,
            pkce,
            names_itself,
            takes_documents: false,
            dpop_algorithms: Vec::new(),
        },
        resource: Some("https://a.example/mcp".to_owned()),
        resource_scopes: None,
        wants_dpop: false,
    }
}

fn begun(names_itself: bool) -> (Url, Pending) {
    let client = Client {
        id: "me".to_owned(),
        secret: None,
        key: None,
        method: AuthMethod::None,
        redirect: None,
        origin: ClientOrigin::Configured,
    };
    let found = found(names_itself, Pkce::Advertised);
    begin(&found, PkceDemand::Advertised, client, "http://127.0.0.1:7/callback", &["r".to_owned()], 0).unwrap()
}

fn answered(pending: &Pending, issuer: Option<&str>, error: Option<&str>) -> String {
    let answer = RedirectAnswer {
        code: Some("c".to_owned()),
        state: Some(pending.state.expose_secret().to_owned()),
        issuer: issuer.map(str::to_owned),
        error: error.map(str::to_owned),
        description: None,
    };
    match pending.code(&answer) {
        Ok(code) => code.expose_secret().to_owned(),
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

#[test]
fn whose_answer_it_is_comes_first() {
    let (_, announced) = begun(true);
    let (_, silent) = begun(false);
    assert_eq!(answered(&announced, Some("https://as.example"), None), "c");
    assert_eq!(answered(&silent, Some("https://as.example"), None), "c");
    assert_eq!(answered(&silent, None, None), "c");
    assert_eq!(
        answered(&announced, None, None),
        "Unsafe: the answer does not say who sent it, which https://as.example always does"
    );
    for pending in [&announced, &silent] {
        for wrong in ["https://evil.example", "https://as.example/", "https://AS.example", "", "https://as.example:443"]
        {
            let told = answered(pending, Some(wrong), None);
            assert!(told.starts_with("Unsafe: the answer comes from"), "{wrong}: {told}");
            // An error that somebody else sends is not shown as if it were the authorization server's.
            let told = answered(pending, Some(wrong), Some("access_denied"));
            assert!(told.starts_with("Unsafe: the answer comes from"), "{wrong}: {told}");
        }
    }
    assert_eq!(
        answered(&announced, Some("https://as.example"), Some("access_denied")),
        "Refused(\"access_denied\"): the authorization server https://as.example refuses (access_denied)"
    );
}

#[test]
fn an_answer_to_another_login_is_nobody_s() {
    let (_, pending) = begun(false);
    let answer = RedirectAnswer::from_query("code=c&state=other").unwrap();
    assert!(!pending.is_mine(&answer));
    assert_eq!(*pending.code(&answer).unwrap_err().kind(), ErrorKind::Unsafe);
}

#[test]
fn the_page_says_everything_once() {
    let (page, pending) = begun(true);
    let query: std::collections::BTreeMap<_, _> = page.query_pairs().into_owned().collect();
    assert_eq!(query["tenant"], "1", "what the endpoint has of its own stays");
    assert_eq!(query["client_id"], "me");
    assert_eq!(query["resource"], "https://a.example/mcp");
    assert_eq!(query["scope"], "r");
    assert_eq!(query["code_challenge"], hashed(pending.verifier.expose_secret()));
    assert_eq!(query["code_challenge_method"], "S256");
    assert_eq!(query["state"], pending.state.expose_secret());
    assert_eq!(page.query_pairs().count(), query.len());
}

#[test]
fn no_pkce_no_login() {
    let begin = |pkce, demand| {
        let (_, pending) = begun(false);
        begin(&found(false, pkce), demand, pending.client, "http://127.0.0.1:7/callback", &[], 0).map(|_| ())
    };
    let error = begin(Pkce::NotAdvertised, PkceDemand::Advertised).unwrap_err();
    assert_eq!((error.kind(), error.advice()), (&ErrorKind::Unsafe, Some(&Advice::AssumePkce)));
    begin(Pkce::NotAdvertised, PkceDemand::Assumed).unwrap();
    begin(Pkce::Undescribed, PkceDemand::Advertised).unwrap();
}

#[test]
fn what_is_remembered_is_read_back() {
    let (_, pending) = begun(true);
    let again = Pending::from_text(&pending.to_text()).unwrap();
    assert_eq!(again.to_text().expose_secret(), pending.to_text().expose_secret());
    assert!(!format!("{pending:?}").contains(pending.verifier.expose_secret()));
}
