//! What comes back from a page.

use super::*;

#[test]
fn a_whole_address_or_its_query_can_be_pasted() {
    let expected = |answer: Option<RedirectAnswer>| {
        let answer = answer.unwrap();
        assert_eq!((answer.code.as_deref(), answer.state.as_deref()), (Some("c"), Some("s")));
    };
    expected(RedirectAnswer::from_pasted("http://127.0.0.1:1/callback?code=c&state=s"));
    expected(RedirectAnswer::from_pasted("  \"http://127.0.0.1:1/callback?state=s&code=c&iss=x\"\n"));
    expected(RedirectAnswer::from_pasted("code=c&state=s"));
    expected(RedirectAnswer::from_pasted("?code=c&state=s"));
}

#[test]
fn a_code_alone_is_not_enough() {
    for text in ["c", "code=c", "http://127.0.0.1:1/callback", "state=s", "", &"x".repeat(10_000)] {
        assert_eq!(RedirectAnswer::from_pasted(text), None, "{text}");
    }
}

#[test]
fn a_parameter_twice_means_nothing() {
    assert_eq!(RedirectAnswer::from_query("code=a&code=b&state=s"), None);
    assert_eq!(RedirectAnswer::from_query("code=a&state=s&state=t"), None);
    assert!(RedirectAnswer::from_query("code=a&state=s&other=1&other=2").is_some());
}

#[test]
fn a_code_is_never_shown() {
    let answer = RedirectAnswer::from_query("code=hunter2&state=hunter3&error=access_denied").unwrap();
    assert_eq!(format!("{answer:?}"), r#"RedirectAnswer { error: Some("access_denied"), .. }"#);
}
