//! Servers that break the rules, each as it was seen: it logs in, or the error says what to do.

use helve_auth::{Advice, CallbackHost, ConfiguredClient, ErrorKind, PkceDemand, ResourceChoice, Settings};
use helve_testkit::authority::{ChallengeKind, IssuerInRedirect, RegistrationKind, Switches, TokenShape};

use crate::support::{SaysYes, World};

/// Logs in, with what a person may have configured; the error's kind, words and advice if it does not work.
async fn outcome(
    switches: Switches,
    configure: impl FnOnce(&mut Settings),
) -> (World, Result<(), (ErrorKind, Option<Advice>, String)>) {
    let world = World::new(switches).await;
    let mut settings = world.settings();
    configure(&mut settings);
    let sign_in = world.sign_in_with(settings);
    let mut wish = world.wish();
    wish.time = Some(std::time::Duration::from_secs(2));
    let outcome = sign_in.login(&wish, &SaysYes).await;
    let outcome = match outcome {
        Ok(_) => world.authorization(&sign_in).await.map(|header| assert!(header.is_some())),
        Err(error) => Err(error),
    };
    let told = outcome.map_err(|error| {
        (error.kind().clone(), error.advice().cloned(), error.message().replace(&world.authority.base(), "BASE"))
    });
    (world, told)
}

async fn works(switches: Switches, configure: impl FnOnce(&mut Settings)) -> World {
    let (world, told) = outcome(switches, configure).await;
    assert_eq!(told, Ok(()));
    world
}

async fn fails(switches: Switches) -> (ErrorKind, Option<Advice>, String) {
    outcome(switches, |_| {}).await.1.unwrap_err()
}

fn nothing(_: &mut Settings) {}

#[tokio::test]
async fn q1_another_issuer_is_refused_unless_the_person_names_it() {
    let odd = || Switches { issuer: Some("https://auth.example".to_owned()), ..Switches::default() };
    let (kind, advice, words) = fails(odd()).await;
    assert_eq!(kind, ErrorKind::Unsafe);
    assert_eq!(advice, Some(Advice::NameIssuer { issuer: "https://auth.example".to_owned() }));
    assert_eq!(words, "the authorization server BASE calls itself https://auth.example: its metadata is not used");
    works(odd(), |settings| settings.issuer = Some("https://auth.example".to_owned())).await;
}

#[tokio::test]
async fn q2_the_slash_of_an_empty_path_is_not_another_issuer() {
    let world = World::new(Switches::default()).await;
    let issuer = format!("{}/", world.authority.base());
    world.authority.set(|switches| switches.issuer = Some(issuer));
    world.login(&world.sign_in()).await.unwrap();
    // `iss` is compared with the document's own spelling, letter by letter.
    let base = world.authority.base();
    world.authority.set(|switches| switches.issuer_in_redirect = IssuerInRedirect::Other(base));
    assert_eq!(*world.login(&world.sign_in()).await.unwrap_err().kind(), ErrorKind::Unsafe);
}

#[tokio::test]
async fn q3_q4_the_origin_is_a_resource_and_is_sent_as_it_is_written() {
    for suffix in ["", "/", "/mcp/"] {
        let world = World::new(Switches::default()).await;
        let resource = format!("{}{suffix}", world.authority.base());
        world.authority.set(|switches| switches.resource = Some(resource.clone()));
        world.login(&world.sign_in()).await.unwrap();
        for path in ["/authorize", "/token"] {
            let seen = world.authority.seen();
            let sent = seen.iter().find(|seen| seen.path == path).unwrap();
            assert_eq!(sent.parameters.get("resource"), Some(&resource), "{path}");
        }
    }
    let (kind, _, words) =
        fails(Switches { resource: Some("https://evil.example/mcp".to_owned()), ..Switches::default() }).await;
    assert_eq!(kind, ErrorKind::Unsafe);
    assert_eq!(
        words,
        "the server's metadata is about another resource, https://evil.example/mcp: nothing is sent there"
    );
}

#[tokio::test]
async fn q5_a_resource_that_is_refused_can_be_left_out() {
    let odd = || Switches { refuses_resource: true, ..Switches::default() };
    assert_eq!(fails(odd()).await.0, ErrorKind::TimedOut);
    works(odd(), |settings| settings.resource = ResourceChoice::Omitted).await;
}

#[tokio::test]
async fn q6_without_registration_a_client_is_configured_or_asked_for() {
    let odd = || Switches { registration: RegistrationKind::Absent, ..Switches::default() };
    let (kind, advice, words) = fails(odd()).await;
    assert_eq!(
        (kind, words.as_str()),
        (ErrorKind::ClientNeeded, "the authorization server BASE registers no clients by itself")
    );
    assert!(matches!(advice, Some(Advice::RegisterClient { redirect, .. }) if redirect == "http://127.0.0.1/callback"));
    works(odd(), |settings| {
        settings.client = Some(ConfiguredClient { id: "configured".to_owned(), secret: None, key: None });
    })
    .await;
}

#[tokio::test]
async fn q7_a_registration_that_is_refused_is_shown_as_it_is() {
    let odd = || Switches { registration: RegistrationKind::OnlyNamed("Figma".to_owned()), ..Switches::default() };
    let (_, _, words) = fails(odd()).await;
    assert_eq!(words, "BASE/register does not register this client (403 Forbidden): This client is not on our list");
    works(odd(), |settings| settings.client_name = "Figma".to_owned()).await;
}

#[tokio::test]
async fn q8_a_secret_that_is_said_to_be_needless_is_shown_after_all() {
    works(Switches { registration: RegistrationKind::SecretButNone, ..Switches::default() }, nothing).await;
    let methods = |name: &str| Some(vec![name.to_owned()]);
    for method in ["client_secret_basic", "client_secret_post"] {
        let odd = Switches {
            registration: RegistrationKind::WithSecret,
            auth_methods: methods(method),
            ..Switches::default()
        };
        works(odd, nothing).await;
    }
}

#[tokio::test]
async fn q9_a_registration_that_was_forgotten_is_made_anew() {
    let world = World::new(Switches::default()).await;
    world.login(&world.sign_in()).await.unwrap();
    world.authority.forget_clients();
    let mut wish = world.wish();
    wish.time = Some(std::time::Duration::from_millis(300));
    assert_eq!(*world.sign_in().login(&wish, &SaysYes).await.unwrap_err().kind(), ErrorKind::TimedOut);
    world.login(&world.sign_in()).await.unwrap();
}

#[tokio::test]
async fn q10_q11_whatever_a_dead_login_is_answered_with_it_is_over() {
    for (unknown_client, dead_refresh) in [("invalid_grant", "invalid_grant"), ("invalid_client", "invalid_request")] {
        let world = World::new(Switches { unknown_client, dead_refresh, ..Switches::default() }).await;
        let sign_in = world.sign_in();
        world.login(&sign_in).await.unwrap();
        let sent = world.authorization(&sign_in).await.unwrap().unwrap();
        world.authority.end_access_tokens();
        world.authority.end_refresh_tokens();
        assert!(matches!(world.refused(&sign_in, Some(&sent)).await, helve_auth::Next::NeedsPerson(_)));
        world.login(&sign_in).await.unwrap();
    }
}

#[tokio::test]
async fn q13_a_port_that_is_taken_means_another_registration() {
    let world = World::new(Switches::default()).await;
    world.login(&world.sign_in()).await.unwrap();
    let seen = world.authority.seen();
    let redirect = &seen.iter().find(|seen| seen.path == "/authorize").unwrap().parameters["redirect_uri"];
    let address = redirect.strip_prefix("http://").unwrap().strip_suffix("/callback").unwrap();
    let taken = tokio::net::TcpListener::bind(address).await.unwrap();
    world.login(&world.sign_in()).await.unwrap();
    assert_eq!(world.authority.count("/register"), 2);
    drop(taken);
}

#[tokio::test]
async fn q14_localhost_by_name() {
    let odd = || Switches { redirect_prefix: Some("http://localhost:".to_owned()), ..Switches::default() };
    let (kind, _, words) = fails(odd()).await;
    assert_eq!(kind, ErrorKind::Refused("invalid_redirect_uri".to_owned()));
    assert_eq!(
        words,
        "BASE/register does not register this client (400 Bad Request): this redirect address is not allowed"
    );
    works(odd(), |settings| settings.callback.host = CallbackHost::Localhost).await;
}

#[tokio::test]
async fn q16_q18_tokens_in_odd_wrappings() {
    works(Switches { token_shape: TokenShape::Nested, ..Switches::default() }, nothing).await;
    works(Switches { token_shape: TokenShape::TextNumbers, nulls: true, ..Switches::default() }, nothing).await;
    let bad = [
        (TokenShape::OkFalse, "BASE/token refuses: invalid_code"),
        (TokenShape::EmptyToken, "BASE/token answered 200 OK, but without an access token"),
        (TokenShape::WrongTypes, "BASE/token answered 200 OK, but without an access token"),
        (TokenShape::Html, "BASE/token answered 200 OK, but not with a JSON object"),
        (TokenShape::Huge, "the token endpoint at BASE/token cannot be used: its answer is longer than 1 MiB"),
        (TokenShape::Broken, "BASE/token answered 500 Internal Server Error without saying why"),
    ];
    for (token_shape, words) in bad {
        assert_eq!(fails(Switches { token_shape, ..Switches::default() }).await.2, words);
    }
}

#[tokio::test]
async fn q17_without_a_lifetime_a_token_is_kept_until_it_is_refused() {
    let odd = Switches { lifetime: None, refresh_tokens: false, ..Switches::default() };
    let world = works(odd, nothing).await;
    let other = world.sign_in();
    let sent = world.authorization(&other).await.unwrap().unwrap();
    assert_eq!(other.facts().await.unwrap().unwrap().expires, None, "nothing is made up");
    assert!(matches!(world.refused(&other, Some(&sent)).await, helve_auth::Next::NeedsPerson(_)));
}

#[tokio::test]
async fn q19_scopes_that_are_refused_are_left_out_once() {
    let odd =
        Switches { refuses_scopes: true, resource_scopes: Some(vec!["openid".to_owned()]), ..Switches::default() };
    let world = works(odd, nothing).await;
    assert_eq!(world.authority.count("/authorize"), 2);
}

#[tokio::test]
async fn q21_a_refusal_without_words() {
    for challenge in [ChallengeKind::Absent, ChallengeKind::Bare] {
        let world = World::new(Switches { challenge, ..Switches::default() }).await;
        let mut wish = world.wish();
        wish.challenge = None;
        world.sign_in().login(&wish, &SaysYes).await.unwrap();
    }
}

#[tokio::test]
async fn q22_q23_metadata_is_not_needed_to_renew_and_the_resource_is_sent_again() {
    let world = World::new(Switches::default()).await;
    let sign_in = world.sign_in();
    world.login(&sign_in).await.unwrap();
    let sent = world.authorization(&sign_in).await.unwrap().unwrap();
    world.authority.set(|switches| {
        switches.server_metadata = false;
        switches.resource_metadata = false;
    });
    assert!(matches!(world.refused(&sign_in, Some(&sent)).await, helve_auth::Next::Repeat));
}

#[tokio::test]
async fn servers_of_the_first_revisions() {
    let mut wish_nothing = helve_auth::LoginWish::default();
    wish_nothing.time = Some(std::time::Duration::from_secs(10));
    for server_metadata in [true, false] {
        let world = World::new(Switches { resource_metadata: false, server_metadata, ..Switches::default() }).await;
        world.sign_in().login(&wish_nothing, &SaysYes).await.unwrap();
    }
    works(Switches { openid_only: true, ..Switches::default() }, nothing).await;
    works(Switches { resource_metadata_at_root: true, ..Switches::default() }, nothing).await;
}

#[tokio::test]
async fn no_pkce_no_login_unless_the_person_says_so() {
    let odd = || Switches { pkce: false, ..Switches::default() };
    let (kind, advice, _) = fails(odd()).await;
    assert_eq!((kind, advice), (ErrorKind::Unsafe, Some(Advice::AssumePkce)));
    works(odd(), |settings| settings.pkce = PkceDemand::Assumed).await;
}

#[tokio::test]
async fn a_document_instead_of_a_registration() {
    let odd = Switches { documents: true, ..Switches::default() };
    let document = "https://helve.example/client.json";
    let world = works(odd, |settings| settings.client_document = Some(document.parse().unwrap())).await;
    assert_eq!(world.authority.count("/register"), 0);
    let seen = world.authority.seen();
    assert_eq!(seen.iter().find(|seen| seen.path == "/token").unwrap().parameters["client_id"], document);
}

#[tokio::test]
async fn metadata_that_redirects_elsewhere_is_not_followed() {
    // Followed, the login would fail there; not followed, the document is taken for absent, and the fixed names of the first
    // revision work.
    for place in ["http://127.0.0.1:1/", "https://evil.example/", "http://169.254.169.254/latest/meta-data"] {
        works(Switches { metadata_redirect: Some(place.to_owned()), ..Switches::default() }, nothing).await;
    }
}
